"""The guarantees of each policy, restated: checks ask a policy's own word for it what they have to hold it to.

A policy that takes a guarantee back silences those checks in every run, and nothing else shows it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from scheduler import POLICIES, Guarantees, Parameters
from scheduler.aptos_records import AptosConfig
from scheduler.gba_records import AuctionConfig
from scheduler.lane import LaneConfig
from tests.properties.draws import Asked, Draw

Guaranteed: TypeAlias = tuple[Parameters | None, Guarantees]

_IN_ORDER: Final = Guarantees(in_order=True, clears_dead=True, fills_lane=True, caps_by_limit=True)
_FROM_THE_LANE: Final = 100_000


def check_guarantees(draw: Draw) -> Asked:
    """Yield what is asked of the guarantees of policies, and whether it is so."""
    for name, restate in GUARANTEED.items():
        own, expected = restate(draw)
        found = POLICIES[name]().guarantees(own)
        yield f"policy {name} guarantees other things than its document", found == expected


def _lane(draw: Draw) -> Guaranteed:
    classification, account = ("eager", "cursor")[draw(2)], ("use", "limit")[draw(2)]
    cap = 1 + draw(_FROM_THE_LANE)
    own = LaneConfig(
        max_cycles_per_fire_auction_phase=cap,
        classification=cast("Any", classification),
        packing_account=cast("Any", account),
    )
    return own, Guarantees(
        # A cursor classifies only what it comes to, and a lane that is packed by limits has room that nobody uses.
        clears_dead=classification == "eager",
        fills_lane=account == "use",
        caps_by_limit=True,
        attempt_cycles_max=cap,
    )


def _auction(draw: Draw) -> Guaranteed:
    budget, phase = ("hard", "literal")[draw(2)], ("after", "before")[draw(2)]
    own = AuctionConfig(budget=cast("Any", budget), timer_phase=cast("Any", phase))
    return own, Guarantees(
        clears_dead=True,
        fills_lane=True,
        caps_by_limit=True,
        overshoots=budget == "literal",
        timers_first=phase == "before",
    )


def _queue(draw: Draw) -> Guaranteed:
    expiry, limit, counts_ids = ("own_limit", "counted", "at_run")[draw(3)], 1 + draw(9), bool(draw(2))
    own = AptosConfig(expiry=cast("Any", expiry), expire_limit=limit, counts_ids=counts_ids)
    return own, Guarantees(
        shares_block=True,
        has_gc_lane=False,
        returns_ids=not counts_ids,
        dead_per_block=limit if expiry == "own_limit" else None,
    )


GUARANTEED: Final[Mapping[str, Callable[[Draw], Guaranteed]]] = {
    "fifo": lambda _draw: (None, _IN_ORDER),
    "fifo-free": lambda _draw: (None, _IN_ORDER),
    "eip1559": _lane,
    "gba-auction": _auction,
    "bias-auction": lambda _draw: (None, Guarantees(clears_dead=True, caps_by_limit=True)),
    "aptos": _queue,
}
"""By policy, parameters of it and what it guarantees with these."""
