"""The cases of the workload `boundary-cases` about foreign storage: agents that read it, and calls that may not."""

from collections.abc import Iterable
from typing import Final

from cluster.workloads.boundary.scripts import NOBODY, Attempt, Bench, Case, Step, crowd_cycles, script_of, timer
from cluster.workloads.submission import Site

RATE: Final = b"rate"
RATES: Final = (1_234_567, 7_654_321)
"""Values that determine the bids of agents; the later value replaces the first."""


def budget_of(site: Site) -> int:
    """Return the cells of an agent: as many as its cycles, under the policy that gives it the most."""
    return max((getattr(own, "gba_call_cycles", 0) for own in site.others), default=0)


def readers_of(target: bytes) -> tuple[tuple[str, bytes, bytes], ...]:
    """Return agents that read another actor's storage, by program, with the key and value of their own storage."""
    scripts = (
        (("read", RATE, target),),
        (("read", b"nothing", target),),
        (("read", RATE, NOBODY),),
        (("read", RATE), ("read", b"script"), ("read", RATE, target)),
        # Exactly the cells that an agent has, and more.
        (("read", b"half", target),) * 2,
        (*(("read", b"half", target),) * 2, ("read", b"more", target)),
        (("read", RATE, b"short"),),
    )
    return tuple(("script-actor", b"script", script_of(*steps, patience=0)) for steps in scripts)


def _consulted(bench: Bench) -> Iterable[Attempt]:
    """Ask agents about values that are present, absent, without an owner, and of the greatest length; then anew."""
    slot_ms = bench.site.slot_ms
    half = b"\1" * (budget_of(bench.site) // 2)
    yield bench.run(_put_rate(0), ("put", b"half", half), ("put", b"more", b"\1\1"))
    yield from _asked(bench, slot_ms)
    yield bench.run(_put_rate(1), pause_ms=3 * slot_ms)
    yield from _asked(bench, slot_ms)


def _put_rate(place: int) -> Step:
    return ("put", RATE, RATES[place].to_bytes(8, "big"))


def _asked(bench: Bench, pause_ms: int) -> Iterable[Attempt]:
    """Name each agent for a timer: if an agent is asked immediately, the call pays for the agent's whole budget."""
    cycles_limit = crowd_cycles(bench, 1) + budget_of(bench.site)
    for place, agent in enumerate(bench.agents):
        step = timer(b"q", 2, gas=3_000, terms=[None, None, None, agent])
        yield bench.run(step, cycles_limit=cycles_limit, pause_ms=0 if place else pause_ms)


def _refused(bench: Bench) -> Iterable[Attempt]:
    """Calls that would read another actor's storage: in a transaction, a message and a fire."""
    steps = tuple(("read", RATE, owner) for owner in (None, bench.scripted, bench.poor, NOBODY, b"short"))
    script = script_of(*steps)
    yield bench.run(*steps)
    yield bench.run(*steps, on=bench.poor, patience=0)
    yield bench.run(("send", bench.poor, "run", script, 2_000), timer(b"r", 1, script, gas=4_000, terms=[100_000, 3]))


READ_CASES: Final[tuple[Case, ...]] = (_consulted, _refused)
"""Groups of transactions about the storage of other actors."""
