"""Measure `curve` by the listed bugs: `python -m tests.causality [NAME ...]`.

For each bug `curve` prints a rise and draws. A row compares these with the draw that set the bug off: turn of the draw,
rise, turns between the two, place of the draw among the printed draws, and seconds, shrinking included. Where each of
several messages would have avoided the bug, the row has the message nearest to the rise.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from checker.record.root import PROJECT_ROOT
from cluster.causality.continuations import NEVER, with_reseed
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from faults.events import Crashed
from network.events import Delivered, Dropped, Event, Sent
from network.queues import COPY_SHIFT
from tests.causality.cases import ALWAYS, BASE, HOLDER, PLUGIN, TRIGGERED, Case, always
from validators.events import Entered

COMMAND = [sys.executable, str(PROJECT_ROOT / "run_cluster.py")]


class Trigger(NamedTuple):
    """The turn whose draw set a bug off, and the message that the draw was for: sender, receiver and ordinal.

    A crash has no message.
    """

    turn: int
    link: tuple[int, int, int] | None


class Noted(NamedTuple):
    """An event with the turn that it is of."""

    turn: int
    event: Event


def triggers_of(case: Case, scenario: Scenario, seed: int) -> list[Trigger]:
    """Run a scenario and return the draws that set its bug off, each of which alone could have avoided it."""
    import stampede_triggers

    events: list[Noted] = []
    lit: list[int] = []
    cluster = Cluster(
        with_reseed(scenario, *NEVER), seed, hooks=RunHooks(on_event=lambda event: events.append(Noted(turn(), event)))
    )

    def turn() -> int:
        return len(cluster.chance.times_us)

    stampede_triggers.WHEN_LIT[:] = [lambda: lit.append(turn())]
    cluster.run()
    return [_trigger(each) for each in _causes(case, events, lit[0]) if each] if lit else []


def _trigger(found: Noted) -> Trigger:
    body = found.event.body
    link = (found.event.node, body.destination, body.ordinal) if isinstance(body, (Sent, Dropped)) else None
    return Trigger(found.turn, link)


def _causes(case: Case, events: list[Noted], lit: int) -> list[Noted | None]:
    before = [each for each in events if each.turn <= lit]
    match case.cause:
        case "crashed":
            return [each for each in before if isinstance(each.event.body, Crashed)][-1:]
        case "dropped":
            lost = [
                each
                for each in before
                if isinstance(each.event.body, Dropped) and each.event.body.destination == HOLDER
                if _sent(events, each.event.node, HOLDER, each.event.body.ordinal, case.labels) is not None
            ]
            return lost[-1:]
        case "late":
            views = [each.event.body.view for each in before if _is_of(each.event, Entered, HOLDER)]
            sent = (
                _send_of(events, each) for each in events if each.turn > lit and _is_of(each.event, Delivered, HOLDER)
            )
            late = (each for each in sent if each and each.turn <= lit and each.event.body.label in case.labels)
            # Any of the messages under way would have been enough.
            return [each for each in late if each.event.body.view == views[-1]]
        case "entered":
            # The holder judges the block of a leader: that leader entered the view at some turn.
            views = [each.event.body.view for each in before if _is_of(each.event, Entered, HOLDER)]
            entered = [
                each.turn
                for each in before
                if isinstance(each.event.body, Entered) and each.event.body.view == views[-1]
                if each.event.node == each.event.body.leader
            ]
            got = [each for each in before if each.turn <= entered[0]]
            return [_last_sent(events, got, views[-1] % 4, ("Notarize", "Notarization"))]
        case "delivered":
            return [_last_sent(events, before, HOLDER, case.labels)]


def _last_sent(events: list[Noted], before: list[Noted], node: int, labels: tuple[str, ...]) -> Noted | None:
    got = [
        each
        for each in before
        if _is_of(each.event, Delivered, node) and (not labels or each.event.body.label in labels)
    ]
    return _send_of(events, got[-1])


def _is_of(event: Event, kind: type, node: int) -> bool:
    return isinstance(event.body, kind) and event.node == node


def _send_of(events: list[Noted], got: Noted) -> Noted | None:
    body = got.event.body
    return _sent(events, body.source, got.event.node, body.ordinal & ((1 << COPY_SHIFT) - 1), ())


def _sent(events: list[Noted], source: int, destination: int, ordinal: int, labels: tuple[str, ...]) -> Noted | None:
    for each in events:
        body = each.event.body
        is_it = isinstance(body, Sent) and each.event.node == source
        if is_it and (body.destination, body.ordinal) == (destination, ordinal):
            return each if not labels or body.label in labels else None
    return None


def measured(settings: Sequence[str], seed: int, place: Path) -> tuple[dict[str, Any], Scenario, float]:
    """Run a scenario and its curve as a user would; return the curve, the plan that it is of, and the seconds."""
    options = [part for setting in settings for part in ("--set", setting)]
    started = time.perf_counter()
    run = ["run", BASE, "--seed", str(seed), "--runs", str(place), "--quiet", *options]
    subprocess.run([*COMMAND, *run], capture_output=True, check=False)
    record = next(each for each in place.iterdir() if (each / "verdict.json").exists())
    found = subprocess.run([*COMMAND, "curve", "--json", str(record)], capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if found.returncode:
        return {"error": found.stderr.strip()[-200:]}, load_scenario(BASE, settings), seconds
    told = json.loads(found.stdout)
    smallest = "" if told["note"] else next(map(str, place.glob("*-shrunk.toml")), "")
    return told, load_scenario(smallest) if smallest else load_scenario(BASE, settings), seconds


def _place_among(draws: list[dict[str, Any]], triggers: list[Trigger]) -> str:
    """Return the place of the draw that set a bug off among the draws of `curve`; `no` if the draw is not there."""
    links = [(f"{link[0]}->{link[1]}", link[2]) for _, link in triggers if link]
    for place, draw in enumerate(draws, 1):
        is_of_fault = draw["purpose"].startswith(("restart-storm", "torn"))
        if (draw["subject"], draw["ordinal"]) in links if links else is_of_fault:
            return f"{place} of {len(draws)}"
    return f"no, of {len(draws)}"


def rows(names: list[str]) -> Iterator[str]:
    """Yield a line for each bug, as soon as it is measured."""
    for case in TRIGGERED:
        if not names or case.name in names:
            with TemporaryDirectory() as place:
                found, plan, seconds = measured(case.options, case.seed, Path(place))
                rise = found.get("curves", {}).get("chance", {}).get("rise")
                triggers = triggers_of(case, plan, case.seed)
            turns = [turn for turn, _ in triggers]
            turn = min(turns, key=lambda turn: abs(turn - rise[0]), default=None) if rise else None
            away = "" if turn is None else rise[0] - turn
            named = _place_among(found.get("draws", []), triggers)
            columns = f"trigger {turn!s:>6}  rise {rise!s:>16}  away {away!s:>5}  named {named:>8}  {seconds:6.0f} s"
            yield f"{case.name:<26} {columns}  {found.get('error', '')}"
    for name in ALWAYS:
        if not names or name in names:
            with TemporaryDirectory() as place:
                found, _, seconds = measured(always(name), 0, Path(place))
            said = found.get("curves", {}).get("chance", {}).get("unavoidable")
            yield f"{name:<26} unavoidable {said!s:<6} {found.get('error', '')}  {seconds:6.0f} s"


if __name__ == "__main__":
    sys.path.insert(0, str(PLUGIN))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")])
    for row in rows(sys.argv[1:]):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
