"""Replicas without new finality: the time of the last final block, the current view, and the awaited event."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from checker.explain.explanation import Stall
from faults.events import Crashed, Restarted
from network.events import Event, read_event
from validators.events import BlockExecuted, BlockFinalized, Booted, Entered, Halted, Reported, Voted

IDLE_VIEWS_MIN: Final = 3
"""Number of views without a new final block after which a replica counts as stalled."""


class Stalls(NamedTuple):
    """The stalled replicas of a run, and facts about the whole run."""

    stalls: list[Stall]
    replicas: int
    """The number of all replicas of the run."""
    end_us: int
    left_over: str
    """The reasons to leave views since the last final block; empty if no replica left a view."""


@dataclass(slots=True)
class _Replica:
    """The last steps of one replica."""

    height: int = 0
    since_us: int = 0
    view: int = 0
    leader: int = -1
    entered: dict[int, None] = field(default_factory=dict)
    """The views that the replica entered since its last final block."""
    executed: dict[int, None] = field(default_factory=dict)
    """The views whose block the replica executed since its last final block."""
    left: dict[int, str] = field(default_factory=dict)
    gone: str = ""


def find_stalls(events: Iterable[Event], view_word: str) -> Stalls:
    """Return the replicas for which finality stopped before the end of the run."""
    replicas: dict[int, _Replica] = {}
    votes: dict[int, dict[int, None]] = {}
    end_us = 0
    for event in events:
        end_us = max(end_us, event.at_us)
        if (crashed := read_event(event, Crashed)) is not None:
            replicas.setdefault(crashed.machine, _Replica()).gone = f"is down since {_seconds(event.at_us)}"
        elif (restarted := read_event(event, Restarted)) is not None:
            replicas.setdefault(restarted.machine, _Replica()).gone = ""
        elif event.node >= 0:
            if (vote := read_event(event, Voted)) is not None:
                votes.setdefault(vote.view, {})[event.node] = None
            _note(replicas, event)
    stalled = {
        node: replica
        for node, replica in sorted(replicas.items())
        if replica.gone or len(replica.entered) >= IDLE_VIEWS_MIN
    }
    reasons = Counter(reason for replica in stalled.values() for reason in dict(sorted(replica.left.items())).values())
    views = len({view for replica in stalled.values() for view in replica.left})
    said = (
        f"{views:,} {view_word}{'' if views == 1 else 's'} ended by {', '.join(sorted(reasons))} before"
        if reasons
        else ""
    )
    return Stalls(
        [
            Stall(
                validator=node,
                height=replica.height,
                since_us=replica.since_us,
                view=replica.view,
                leader=replica.leader,
                waits_for=replica.gone or _waits_for(replica, replicas, len(votes.get(replica.view, ())), view_word),
            )
            for node, replica in stalled.items()
        ],
        len(replicas),
        end_us,
        said,
    )


def _note(replicas: dict[int, _Replica], event: Event) -> None:
    """Record a step of a replica."""
    replica = replicas.get(event.node) or _Replica()
    if (block := read_event(event, BlockFinalized)) is not None:
        replica.height, replica.since_us = block.height, event.at_us
        for views in (replica.entered, replica.executed, replica.left):
            views.clear()
    elif (entered := read_event(event, Entered)) is not None:
        replica.view, replica.leader = entered.view, entered.leader
        replica.entered[entered.view] = None
    elif (executed := read_event(event, BlockExecuted)) is not None:
        replica.executed[executed.view] = None
    elif (report := read_event(event, Reported)) is not None:
        if report.detail and report.view in replica.entered:
            replica.left[report.view] = report.detail
    elif (halted := read_event(event, Halted)) is not None:
        replica.gone = f"halted at {_seconds(event.at_us)}: {halted.reason}"
    elif (booted := read_event(event, Booted)) is not None:
        replica.height = max(replica.height, booted.finalized_height)
    else:
        return
    replicas[event.node] = replica


def _waits_for(replica: _Replica, replicas: dict[int, _Replica], votes: int, view_word: str) -> str:
    place = f"waits in {view_word} {replica.view}"
    if replica.view in replica.executed:
        return f"{place} for votes ({votes} of {len(replicas)} replicas voted)"
    if replica.leader < 0:
        return f"{place} for a block"
    leader = replicas.get(replica.leader)
    gone = "" if leader is None or not leader.gone else f", which {leader.gone.partition(':')[0]}"
    return f"{place} for the block of leader {replica.leader}{gone}"


def _seconds(at_us: int) -> str:
    return f"{at_us / 1_000_000:,.3f} s"
