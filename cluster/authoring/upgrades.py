"""Drawn upgrades: some validators come back with another build, one by one or at once, and perhaps go back."""

from collections.abc import Mapping, Sequence
from typing import Final

from cluster.scenario.sections.application import MAIN
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw
from validators.consensus.quorum import faults_of

BACK_PERCENT: Final = 30
"""Percentage of seeds in which the validators go back to the first build."""


_TURN_MAX_MS: Final = 1_000
_DOWN_MS: Final = (200, 1_500)


def draw_upgrade(
    draw: Draw, builds: Sequence[str], validators: int, differ_from: Mapping[str, int]
) -> dict[str, Plain]:
    """Draw an upgrade: one fault, or two where validators go back.

    Args:
        draw: The chance of the seed.
        builds: The builds besides the first one.
        validators: The number of validators.
        differ_from: By build the height from which it may differ, if the scenario states one.
    """
    build = draw.one_of("upgrade.build", builds)
    from_height, faulty_max = differ_from.get(build, 0), faults_of(validators)
    # Where rules change, a quorum has to follow: at most f validators stay with the first build, or go back to it.
    least = validators - faulty_max if from_height else 1
    count = draw.one_of("upgrade.count", (least, max(least, validators - 1), validators, validators))
    order = draw.some_of("upgrade.validators", range(validators), count)
    every_ms = draw.one_of("upgrade.every_ms", (0, 300, _TURN_MAX_MS))
    at_ms = draw.between("upgrade.at_ms", FAULTS_FROM_MS, FAULTS_UNTIL_MS // 2 - 1_500)
    down_ms = draw.between("upgrade.down_ms", *_DOWN_MS)
    upgrade = {
        "kind": "replace",
        "build": build,
        "validators": order,
        "at_ms": at_ms,
        "restart_ms": at_ms + down_ms,
        "every_ms": every_ms,
        "from_height": from_height,
    }
    returning = order[: faulty_max - (validators - count)] if from_height else order
    earliest_ms, latest_ms = at_ms + down_ms + count * every_ms + 1, FAULTS_UNTIL_MS - _DOWN_MS[1]
    if not returning or earliest_ms > latest_ms or not draw.chance("upgrade.goes_back", BACK_PERCENT):
        return {"upgrade": upgrade}
    back_ms = draw.between("upgrade.back_ms", earliest_ms, latest_ms)
    back = {**upgrade, "build": MAIN, "validators": returning, "from_height": 0}
    return {"upgrade": upgrade, "back": {**back, "at_ms": back_ms, "restart_ms": back_ms + down_ms}}


def left_behind(upgrade: Mapping[str, Plain], validators: int) -> tuple[int, ...]:
    """Return the validators that a drawn upgrade with a stated height leaves on the first build, or brings back."""
    if not upgrade["upgrade"]["from_height"]:
        return ()
    upgraded, back = upgrade["upgrade"]["validators"], upgrade.get("back", {}).get("validators", ())
    return tuple(node for node in range(validators) if node not in upgraded or node in back)
