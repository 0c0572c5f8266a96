"""The cost of a plan before it is run: blocks, events, memory and seconds, from arithmetic alone.

The coefficients were fitted on 2026-11-22 to `run --json` of calm (4, 10 and 16 validators), outage-storm, congestion
and calm with 500 actors, and to calm with links cut and opened every millisecond and a restart every 10 ms, on one core
with CPython 3.11; they are right within a factor of two there, which is all that a warning needs. No workload and no
edge of a fault is built: a plan of 10^8 timers is answered at once.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.workloads.kinds.governance import Governance
from cluster.workloads.submission import Volume
from report.words import counted

SECONDS_WARNED: Final = 600
"""A run that may take longer than this is warned of."""

SECONDS_MAX: Final = 86_400
"""A plan that would take more than a day is refused."""

MEMORY_WARNED: Final = 8 << 30
"""A run that may need more memory than this, in bytes, is warned of."""

MEMORY_MAX: Final = 256 << 30
"""A plan that would need more memory than this, in bytes, is refused."""

_EVENTS_PER_BLOCK_AND_PAIR: Final = 12
_EVENTS_PER_TRANSACTION: Final = 3
_MICROSECONDS_PER_EVENT: Final = 200
_MICROSECONDS_PER_TIMER: Final = 170
_MICROSECONDS_PER_EDGE: Final = 30
"""Of a fault: a link that is cut, a pause that ends."""

_MICROSECONDS_PER_OUTAGE: Final = 1_100
_EVENTS_PER_OUTAGE: Final = 12
"""Of a storm of restarts; a start reads its disk again."""

_HEALING_MS: Final = 20_000
"""Until finality has come back after the last fault, as far as an estimate goes."""

_BASE_SECONDS: Final = 1
_BASE_BYTES: Final = 70 << 20
_BYTES_PER_EVENT: Final = 700
_BYTES_PER_TIMER: Final = 5_000
_COPIES_OF_A_PAYLOAD: Final = 3
"""Transaction, state and log of each replica hold it."""


class PlanCost(NamedTuple):
    """The estimated cost of a plan; `timers` and `payload_bytes` count each timer once, not by replica."""

    blocks: int
    transactions: int
    timers: int
    payload_bytes: int
    events: int
    memory_bytes: int
    seconds: int

    def describe(self) -> str:
        """Return the estimate as one line."""
        memory = f"{self.memory_bytes / (1 << 20):,.0f} MiB"
        named = ((self.blocks, "blocks"), (self.transactions, "transactions"), (self.timers, "timers"))
        plan = ", ".join(counted(*each) for each in named)
        return f"{plan}; about {self.events:,} events, {memory} and {self.seconds:,} s"


def estimate_cost(scenario: Scenario) -> PlanCost:
    """Return the cost of a run of this scenario."""
    replicas, blocks = scenario.replicas, _blocks_of(scenario)
    slots = max(blocks, _edge_ms(scenario) // scenario.chain.slot_ms)
    volumes = [workload.volume(slots) for workload in scenario.workload.values() if workload.enabled]
    total = Volume(*(sum(column) for column in zip(*volumes, strict=True))) if volumes else Volume()
    events = replicas * replicas * _EVENTS_PER_BLOCK_AND_PAIR * blocks
    events += replicas * _EVENTS_PER_TRANSACTION * total.transactions
    faults = [fault for fault in scenario.faults.values() if fault.enabled]
    outages = sum(fault.outages(replicas) for fault in faults)
    edges = sum(fault.moments() for fault in faults) + 2 * outages
    microseconds = events * _MICROSECONDS_PER_EVENT + replicas * total.timers * _MICROSECONDS_PER_TIMER
    microseconds += edges * _MICROSECONDS_PER_EDGE + outages * _MICROSECONDS_PER_OUTAGE
    events += edges + outages * _EVENTS_PER_OUTAGE
    memory = _BASE_BYTES + events * _BYTES_PER_EVENT
    memory += replicas * (total.timers * _BYTES_PER_TIMER + total.payload_bytes * _COPIES_OF_A_PAYLOAD)
    return PlanCost(blocks, *total, events, memory, _BASE_SECONDS + microseconds // 1_000_000)


def refuse_impossible(scenario: Scenario, cost: PlanCost) -> None:
    """Raise ScenarioError for a plan that no machine brings to its end."""
    run, chain = scenario.run, scenario.chain
    reachable = run.time_limit_ms // chain.block_interval_ms
    if run.until_height > reachable:
        reason = f"is out of reach: with chain.block_interval_ms = {chain.block_interval_ms} run.time_limit_ms allows"
        raise ScenarioError("run.until_height", f"{reason} for {reachable:,} blocks")
    if cost.seconds > SECONDS_MAX or cost.memory_bytes > MEMORY_MAX:
        most = f"the most is {SECONDS_MAX:,} s and {MEMORY_MAX >> 30} GiB"
        raise ScenarioError(scenario.name, f"costs too much: {cost.describe()}; {most}")


def cost_warnings(scenario: Scenario, cost: PlanCost) -> Iterator[str]:
    """Yield what of the cost may surprise."""
    if cost.seconds > SECONDS_WARNED:
        yield f"may take {cost.seconds:,} s, more than {SECONDS_WARNED}"
    if cost.memory_bytes > MEMORY_WARNED:
        yield f"may need {cost.memory_bytes >> 30:,} GiB of memory, more than {MEMORY_WARNED >> 30}"
    if cost.events > scenario.run.step_limit:
        yield f"may be ended by run.step_limit, which is {scenario.run.step_limit:,}"
    yield from _idle_timers(scenario, cost.blocks)


def _idle_timers(scenario: Scenario, blocks: int) -> Iterator[str]:
    """Yield each workload of which no timer comes due or leaves before the run ends."""
    chain = scenario.chain
    unit, unit_ms = ("slot", chain.slot_ms) if chain.timebase == "slot" else ("height", chain.block_interval_ms)
    edge_ms = _edge_ms(scenario)
    # After its last fault a run goes on for some blocks.
    last = max(blocks * chain.block_interval_ms, edge_ms + _HEALING_MS * bool(edge_ms)) // unit_ms
    dues = {name: each.first_due(unit_ms) for name, each in scenario.workload.items() if each.enabled}
    known = {name: due for name, due in dues.items() if due is not None}
    # A run that waits for its timers to be drained goes on beyond its height.
    late = {} if scenario.run.until_drained else {name: due for name, due in known.items() if due > last}
    is_governed = any(isinstance(each, Governance) and each.enabled for each in scenario.workload.values())
    for name, due in late.items():
        workload = scenario.workload[name]
        # Timers may be there to be cancelled by governance, beside others that come due.
        is_meant = workload.may_be_idle or (is_governed and not workload.is_recurring)
        if not is_meant or len(late) == len(known):
            first = f"the first could at {unit} {due:,}, the run ends at {last:,}"
            yield f"no timer of workload {name} comes due or leaves: {first}"


def _blocks_of(scenario: Scenario) -> int:
    """Return how many blocks the run makes at least: to its height, and until its faults are over."""
    interval_ms = scenario.chain.block_interval_ms
    wanted = max(scenario.run.until_height, _edge_ms(scenario) // interval_ms)
    return min(wanted, scenario.run.time_limit_ms // interval_ms)


def _edge_ms(scenario: Scenario) -> int:
    return max((fault.bounds()[1] for fault in scenario.faults.values() if fault.enabled), default=0)
