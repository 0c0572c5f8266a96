"""The cost of a plan before it is run: blocks, events, memory and seconds, from arithmetic alone.

The coefficients were fitted on 2026-11-29 to the processor time of judged runs: calm with 4 to 100 validators,
outage-storm, congestion and ten more scenarios. A further fit used calm with links cut and opened every millisecond and
a restart every 10 ms. On one core with CPython 3.11, the seconds of these runs are right within a factor of two. Blocks
and events are right for every shipped scenario but for the exceptions that tests/test_scenarios.py names.

No workload and no edge of a fault is built: the estimate for a plan of 10^8 timers takes no longer.
"""

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Final, NamedTuple

from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.scenario.sections.longest_chain import LongestChainSection
from cluster.workloads.kinds.governance import Governance
from cluster.workloads.submission import Volume
from faults import Fault, all_over_ms
from faults.kinds.wording import join
from faults.quorums import Spell, spells_of
from network.topology import MILLION
from network.words import counted
from validators.consensus.registry import ENGINES

SECONDS_WARNED: Final = 600
"""A run that may take longer than this gets a warning."""

SECONDS_MAX: Final = 86_400
"""A plan that would take more than a day is refused."""

MEMORY_WARNED: Final = 8 << 30
"""A run that may need more memory than this, in bytes, gets a warning."""

MEMORY_MAX: Final = 256 << 30
"""A plan that would need more memory than this, in bytes, is refused."""

_LOST_MOST_PPM: Final = 900_000
"""The most lost views of a million in an estimate: certificates are fetched repeatedly."""

_BLOCKS_AFTER_EDGE: Final = 2
"""The fewest blocks of a run after the end of its faults."""

_EVENTS_PER_TRANSACTION: Final = 3
_MICROSECONDS_PER_EVENT: Final = 35
_MICROSECONDS_PER_BLOCK: Final = 5_000
"""Of a block on a replica: building or executing it, and judging it."""

MICROSECONDS_PER_TIMER: Final = 140
"""Half of it for its arrival, and half for its departure."""

_MICROSECONDS_PER_EDGE: Final = 30
"""Of a fault: a link that is cut, a pause that ends."""

_MICROSECONDS_PER_OUTAGE: Final = 1_100
_EVENTS_PER_OUTAGE: Final = 12
"""Of a storm of restarts; a start reads its disk again."""

_HEALING_MS: Final = 20_000
"""Until finality has come back after the last fault, as an estimate."""

_BASE_SECONDS: Final = 1
_BASE_BYTES: Final = 70 << 20
_BYTES_PER_EVENT: Final = 450
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
    replicas, course = scenario.replicas, _course_of(scenario)
    total = _volume_of(scenario, course.end_ms)
    per_view = ENGINES[scenario.consensus.engine].events_per_view
    events = scenario.cluster.validators * replicas * per_view * course.views
    events += replicas * _EVENTS_PER_TRANSACTION * total.transactions
    faults = _enabled(scenario).values()
    outages = sum(fault.outages(replicas) for fault in faults)
    edges = sum(fault.moments() for fault in faults) + 2 * outages
    microseconds = events * _MICROSECONDS_PER_EVENT + replicas * course.blocks * _MICROSECONDS_PER_BLOCK
    microseconds += replicas * total.timers * MICROSECONDS_PER_TIMER
    microseconds += edges * _MICROSECONDS_PER_EDGE + outages * _MICROSECONDS_PER_OUTAGE
    events += edges + outages * _EVENTS_PER_OUTAGE
    memory = _BASE_BYTES + events * _BYTES_PER_EVENT
    memory += replicas * (total.timers * _BYTES_PER_TIMER + total.payload_bytes * _COPIES_OF_A_PAYLOAD)
    return PlanCost(course.blocks, *total, events, memory, _BASE_SECONDS + microseconds // 1_000_000)


def refuse_impossible(scenario: Scenario, cost: PlanCost) -> None:
    """Raise ScenarioError for a plan that no machine can finish."""
    run, chain = scenario.run, scenario.chain
    reachable = run.time_limit_ms // chain.block_interval_ms
    if run.until_height > reachable:
        reason = f"is out of reach: with chain.block_interval_ms = {chain.block_interval_ms} run.time_limit_ms allows"
        raise ScenarioError("run.until_height", f"{reason} for {reachable:,} blocks")
    if cost.seconds > SECONDS_MAX or cost.memory_bytes > MEMORY_MAX:
        most = f"the most is {SECONDS_MAX:,} s and {MEMORY_MAX >> 30} GiB"
        raise ScenarioError(scenario.name, f"costs too much: {cost.describe()}; {most}")


def guesses_of(scenario: Scenario) -> Iterator[str]:
    """Yield each unknown on which the estimate of blocks depends, because only the run shows it."""
    faults = _enabled(scenario)
    anchored = [name for name, fault in faults.items() if fault.anchor is not None]
    vague = [name for name, fault in faults.items() if fault.lost_views_ppm(scenario.cluster.validators)]
    if anchored:
        yield f"when {join(anchored)} {'begins' if len(anchored) == 1 else 'begin'}"
    if vague:
        yield f"how many views {join(vague)} {'costs' if len(vague) == 1 else 'cost'}"
    if scenario.expect.fails:
        yield "the effects of its expected failures"


def cost_warnings(scenario: Scenario, cost: PlanCost) -> Iterator[str]:
    """Yield the parts of the cost that may surprise."""
    if cost.seconds > SECONDS_WARNED:
        yield f"may take {cost.seconds:,} s, more than {SECONDS_WARNED} s"
    if cost.memory_bytes > MEMORY_WARNED:
        yield f"may need {cost.memory_bytes >> 30:,} GiB of memory, more than {MEMORY_WARNED >> 30} GiB"
    if cost.events > scenario.run.step_limit:
        yield f"may be ended by run.step_limit, which is {scenario.run.step_limit:,}"
    yield from _idle_timers(scenario)


def _idle_timers(scenario: Scenario) -> Iterator[str]:
    """Yield each workload without a timer that comes due or leaves before the run ends."""
    chain = scenario.chain
    unit, unit_ms = ("slot", chain.slot_ms) if chain.timebase == "slot" else ("height", chain.block_interval_ms)
    # A fault with an anchor may come later than in the estimate, and after its last fault a run goes on.
    edge_ms = all_over_ms(scenario.faults, scenario.cluster.validators)
    last = max(_course_of(scenario).end_ms, edge_ms + _HEALING_MS * bool(edge_ms)) // unit_ms
    dues = {name: each.first_due(unit_ms) for name, each in scenario.workload.items() if each.enabled}
    known = {name: due for name, due in dues.items() if due is not None}
    # A run that waits for its drain continues beyond its height.
    late = {} if scenario.run.until_drained else {name: due for name, due in known.items() if due > last}
    is_governed = any(isinstance(each, Governance) and each.enabled for each in scenario.workload.values())
    for name, due in late.items():
        workload = scenario.workload[name]
        # Governance may cancel timers, and other timers of the storm come due.
        is_meant = workload.may_be_idle or (is_governed and not workload.is_recurring)
        if not is_meant or len(late) == len(known):
            first = f"the first could at {unit} {due:,}, the run ends at {last:,}"
            yield f"no timer of workload {name} comes due or leaves: {first}"


class _Course(NamedTuple):
    """The final blocks and the views of a run, and its end in virtual milliseconds."""

    blocks: int
    views: int
    end_ms: int


def _course_of(scenario: Scenario) -> _Course:
    """Return the course of a run: until its faults are over, then to its height, and until it is drained."""
    rhythm, run = Rhythm.of(scenario), scenario.run
    edge_ms = min(edge_ms_of(scenario), run.time_limit_ms)
    blocks = views = 0.0
    for lasts_ms, present, lost_ppm in stretches_of(scenario, rhythm, edge_ms):
        more_views = lasts_ms / rhythm.view_ms(present, lost_ppm)
        views += more_views
        blocks += more_views * rhythm.share_of_blocks(present, lost_ppm)
    # In an engine of slots, the last blocks are not final yet.
    depth = scenario.finality_depth or 0
    at_edge = max(int(blocks) - depth, 0)
    wanted = max(run.until_height, at_edge + _BLOCKS_AFTER_EDGE * bool(edge_ms))
    if run.until_drained:
        wanted = max(
            run.until_height,
            at_edge + storm_timers_of(scenario, edge_ms) // removals_of(scenario) + run.blocks_after_drain,
        )
    wanted = min(wanted, run.time_limit_ms // rhythm.block_ms)
    left = max(wanted + depth - int(blocks), 0)
    return _Course(wanted, max(int(views) + left, 1), edge_ms + left * rhythm.block_ms)


class Rhythm(NamedTuple):
    """The times of an engine's views: with a block, without a block, and repeatedly without a quorum.

    `quorum` is None where the engine has slots.
    """

    validators: int
    quorum: int | None
    block_ms: int
    timeout_ms: int
    retry_ms: int
    loss_ppm: int

    @classmethod
    def of(cls, scenario: Scenario) -> "Rhythm":
        """Return the rhythm of a scenario's engine on its links."""
        validators, consensus, network = scenario.cluster.validators, scenario.consensus, scenario.network
        if scenario.finality_depth is not None:
            own = consensus.longest_chain or LongestChainSection()
            slot_ms = own.slot_ms * MILLION // (MILLION - own.empty_slot_share_ppm)
            return cls(validators, None, slot_ms, slot_ms, slot_ms, network.loss_ppm)
        # A proposal, its votes and one further exchange: a leader that waits for no interval is no faster.
        block_ms = max(scenario.chain.block_interval_ms, 3 * network.latency_ms)
        timeout_ms, retry_ms = consensus.certification_timeout_ms, consensus.timeout_retry_ms
        return cls(
            validators, scenario.electorate.quorum, block_ms, timeout_ms, max(timeout_ms, retry_ms), network.loss_ppm
        )

    def share_of_blocks(self, present: int, lost_ppm: int) -> float:
        """Return the share of views with a block, by the number of agreeing validators and the share of lost views."""
        if self.quorum is not None and present < self.quorum:
            return 0
        lost = min(lost_ppm + self.loss_ppm, _LOST_MOST_PPM) if self.quorum is not None else 0
        return present / self.validators * (MILLION - lost) / MILLION

    def view_ms(self, present: int, lost_ppm: int) -> float:
        """Return the average duration of a view, over views with and without a block."""
        share = self.share_of_blocks(present, lost_ppm)
        if not share:
            return self.retry_ms
        return share * self.block_ms + (1 - share) * self.timeout_ms


def stretches_of(scenario: Scenario, rhythm: Rhythm, edge_ms: int) -> Iterator[tuple[int, int, int]]:
    """Yield each stretch until the faults are over: its length, the agreeing validators, the lost views (ppm)."""
    faults, origins = _enabled(scenario), _origins_ms(scenario)
    spells: list[Spell] = []
    for moved in dict.fromkeys((0, *origins.values())):
        own = [fault for name, fault in faults.items() if origins.get(name, 0) == moved]
        spells += [spell.moved(moved) for spell in spells_of(own, scenario.electorate)]
    unsettled = [
        (*fault.bounds(), ppm) for fault in faults.values() if (ppm := fault.lost_views_ppm(rhythm.validators))
    ]
    # Where clocks were ahead of true time, the chain waits for true time after the last fault.
    faulty_ms = max((fault.bounds()[1] for fault in faults.values()), default=0)
    times = [*((spell.start_ms, spell.stop_ms) for spell in spells), *((begin, end) for begin, end, _ in unsettled)]
    edges = {0, edge_ms, faulty_ms, *chain.from_iterable(times)}
    for start_ms, stop_ms in pairwise(sorted(edge for edge in edges if 0 <= edge <= edge_ms)):
        lost_ppm = sum(ppm for begin_ms, end_ms, ppm in unsettled if begin_ms <= start_ms < end_ms)
        spell = next((each for each in spells if each.start_ms <= start_ms < each.stop_ms), None)
        lasts_ms, whole = stop_ms - start_ms, rhythm.validators if start_ms < faulty_ms else 0
        if spell is None:
            yield lasts_ms, whole, lost_ppm
            continue
        is_dark = spell.is_dark(rhythm.quorum)
        so_ms = lasts_ms * spell.share_ppm // MILLION
        yield so_ms, 0 if is_dark else spell.agreeing, lost_ppm
        yield lasts_ms - so_ms, whole, lost_ppm


def storm_timers_of(scenario: Scenario, edge_ms: int) -> int:
    """Return the most timers that are left dead: timers of self-scheduling actors fire."""
    slots = edge_ms // scenario.chain.slot_ms
    storms = (each for each in scenario.workload.values() if each.enabled and not each.is_recurring)
    return sum(each.volume(slots).timers for each in storms)


def removals_of(scenario: Scenario) -> int:
    """Return how many dead timers a block removes, by the budget of genesis."""
    return max(scenario.chain.timers.config().gc_budget, 1)


def microseconds_of_view(scenario: Scenario) -> int:
    """Return the approximate real time of a view."""
    per_pair = ENGINES[scenario.consensus.engine].events_per_view * _MICROSECONDS_PER_EVENT
    return scenario.replicas * (scenario.cluster.validators * per_pair + _MICROSECONDS_PER_BLOCK)


def _volume_of(scenario: Scenario, end_ms: int) -> Volume:
    slots = end_ms // scenario.chain.slot_ms
    volumes = [workload.volume(slots) for workload in scenario.workload.values() if workload.enabled]
    return Volume(*(sum(column) for column in zip(*volumes, strict=True))) if volumes else Volume()


def _enabled(scenario: Scenario) -> dict[str, Fault]:
    return {name: fault for name, fault in scenario.faults.items() if fault.enabled}


def _origins_ms(scenario: Scenario) -> dict[str, int]:
    """Return when the anchors of faults come, as an estimate: in the middle of the time of waiting for them."""
    anchors = {name: fault.anchor for name, fault in _enabled(scenario).items() if fault.anchor is not None}
    return {name: (anchor.from_ms + anchor.by_ms) // 2 for name, anchor in anchors.items()}


def edge_ms_of(scenario: Scenario) -> int:
    """Return when the faults are over, as an estimate; this includes the effect of clocks that were ahead."""
    return all_over_ms(scenario.faults, scenario.cluster.validators, _origins_ms(scenario))
