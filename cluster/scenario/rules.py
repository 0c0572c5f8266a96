"""Rules across the keys of a scenario: unknown names, invalid plans, times that contradict each other."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Final

import msgspec

from checker.checks import fallible
from checker.checks.expected_reports import REPORTS, reports_of
from checker.coverage.engines import COVERED, rules_of_others
from checker.record.plugins import MUTANTS, MUTANTS_PLUGIN, WHERE_MUTANTS_ARE, plugins_with
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ENGINE_FORMS, ConsensusSection, RunSection, Scenario
from cluster.scenario.plugins import checks_with
from cluster.scenario.sections.application import MAIN, ApplicationSection
from cluster.scenario.sections.chain import ChainSection, is_of_lane
from cluster.scenario.sections.expect import ExpectSection, expect_rules
from cluster.scenario.sections.lane import LaneSection
from cluster.scenario.sections.longest_chain import DEPTH_MAX, EMPTY_SHARE_MAX_PPM, LongestChainSection
from cluster.scenario.sections.replicas import OBSERVERS_MAX, ReplicaSection
from cluster.workloads.opaque import OpaqueWorkload
from cluster.workloads.planned import sites_of
from faults import PlanError, all_over_ms, check_plan, kind_of
from faults.nearest import did_you_mean
from network.chance import DRAW_BITS
from network.latency import LatencyError
from network.words import counted
from scheduler import POLICIES
from validators.consensus.registry import ENGINES
from validators.messages import TRAFFIC


def check_scenario(scenario: Scenario, place: str) -> None:
    """Refuse contradictions that types cannot express; raises ScenarioError."""
    # First, because the file gives its own reason, and further missing features of an engine follow from it.
    _refuse(_not_for_rules(scenario), place)
    _refuse(_application_rules(scenario), place)
    try:
        check_plan(
            scenario.faults,
            scenario.cluster.validators,
            len(scenario.observers),
            engine=scenario.consensus.engine,
            is_foreign=scenario.foreign_application is not None,
        )
    except PlanError as error:
        raise ScenarioError(place, str(error)) from error
    for name in scenario.requires:
        if name not in scenario.faults and name not in scenario.workload:
            known = [*scenario.faults, *scenario.workload]
            named = f"{name!r}{did_you_mean(name, known)}"
            reason = f"requires: no fault or workload is named {named}; there are {', '.join(known) or 'none'}"
            raise ScenarioError(place, reason)
        if name in scenario.faults and name in scenario.workload:
            raise ScenarioError(place, f"requires: both a fault and a workload are named {name!r}; rename one")
        if (scenario.faults.get(name) or scenario.workload[name]).may_be_idle:
            raise ScenarioError(place, f"requires: {name!r} may be idle by its own words; leave one of the two out")
    _refuse(_rules(scenario), place)


def _refuse(rules: Iterable[tuple[str, bool, str]], place: str) -> None:
    for key, is_sound, reason in rules:
        if not is_sound:
            raise ScenarioError(place, f"{key}: {reason}")


def _not_for_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    for form, reason in scenario.not_for.items():
        yield f"not_for.{form}", form in ENGINE_FORMS, f"is no engine; there are {', '.join(ENGINE_FORMS)}"
        yield "consensus.engine", form not in scenario.engine_forms, f"{form} cannot show what this promises: {reason}"


CHAIN_KEYS: Final = ("id", "timebase", "slot_ms", "block_interval_ms", "max_skew_ms")
"""Keys of `[chain]` that a foreign application has as well: time, and the name of the chain."""

EXPECTED_OF_OURS: Final = ("storm", "activation_crossed_min", "audited_min", "counts", "at_most", "fired_by")
"""Keys of `[expect]` that count the timers and tables of the project's own chain."""

MUTANTS_OF_OURS: Final = ("scheduler", "execution", "state")
"""Areas of mutants that a foreign application replaces."""


def _application_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    """Yield the rules of a scenario with an application, and of transactions that only an application can read."""
    application = scenario.application
    if application is None:
        for key, _ in _named_builds(scenario):
            yield key, False, "is about an application: name one in [application] or by --application"
        for name, workload in scenario.workload.items():
            reason = "its transactions are for an application: name one in [application] or by --application"
            yield f"workload.{name}", not isinstance(workload, OpaqueWorkload), reason
        return
    yield from _build_rules(scenario, application)
    is_placed = not application.folder or Path(application.folder).is_absolute()
    yield "application.folder", is_placed, "must be an absolute path; left out, it is the scenario's folder"
    for key, reason in application.wrong_parameters():
        yield f"application.{key}", False, reason
    if not application.is_own:
        yield from _foreign_rules(scenario)


def _sections(scenario: Scenario) -> Iterator[tuple[str, ReplicaSection]]:
    """Yield the sections of replicas by their places."""
    for name, validator in scenario.validators.items():
        yield f"validators.{name}", validator
    for name, observer in scenario.observers.items():
        yield f"observers.{name}", observer


def _named_builds(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the places that name a build of the application, each with its name."""
    for place, replica in _sections(scenario):
        if replica.application is not None:
            yield f"{place}.application.build", replica.application.build
    for name, fault in scenario.faults.items():
        for build, _ in fault.installs():
            yield f"faults.{name}.build", build


def _build_rules(scenario: Scenario, application: ApplicationSection) -> Iterator[tuple[str, bool, str]]:
    """Yield the rules of an application's further builds."""
    yield f"application.builds.{MAIN}", MAIN not in application.builds, "is the build of [application] itself"
    known = [each.name for each in application.all_builds]
    for key, build in _named_builds(scenario):
        reason = f"no build is named {build!r}{did_you_mean(build, known)}; there are {', '.join(known)}"
        yield key, build in known, reason
    for place, replica in _sections(scenario):
        own = replica.application
        yield f"{place}.application.command", own is None or not own.command, "and build exclude each other"
    for each in application.all_builds[1:]:
        is_placed = not each.folder or Path(each.folder).is_absolute()
        yield f"application.builds.{each.name}.folder", is_placed, "must be an absolute path"


def _foreign_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    """Yield the rules of a scenario with a foreign application."""
    used = ", ".join(CHAIN_KEYS)
    for key in _changed_keys(scenario.chain):
        yield f"chain.{key}", key in CHAIN_KEYS, f"an application brings its own rules; of [chain] it has {used}"
    for name, workload in scenario.workload.items():
        reason = (
            f"{kind_of(workload)} is of the project's own chain; an application has the kinds application and lines"
        )
        yield f"workload.{name}", isinstance(workload, OpaqueWorkload), reason
    if scenario.mutants:
        from checker.mutants import mutants_with  # noqa: PLC0415 - few scenarios have any

        for name, mutant in mutants_with(scenario.plugins).items():
            reason = f"is a mutant of the project's own {mutant.area}, which an application replaces"
            yield f"mutants.{name}", name not in scenario.mutants or mutant.area not in MUTANTS_OF_OURS, reason
    for name in scenario.mutants_from_height:
        yield f"mutants_from_height.{name}", False, "follows the heights of the project's own execution"
    yield "run.audit_reorgs", not scenario.run.audit_reorgs, "is about the state of the project's own chain"
    for key in EXPECTED_OF_OURS:
        is_left_out = getattr(scenario.expect, key) == getattr(ExpectSection(), key)
        yield (
            f"expect.{key}",
            is_left_out,
            "counts events of the project's own chain, and an application has another chain",
        )
    consensus = [cell.label for covered in COVERED.values() for cell in covered.points]
    for name in scenario.expect.rules:
        reason = "is a rule of the project's own chain; of an application the rules of consensus are counted"
        yield f"expect.rules.{name}", name in consensus, reason


def _changed_keys(chain: ChainSection) -> Iterator[str]:
    """Yield the keys of a resolved chain whose values differ from a scenario without `[chain]`."""
    usual = ChainSection()
    usual = msgspec.structs.replace(
        usual, timers=usual.timers.resolved(usual.policy), calendar=usual.calendar.resolved(usual.profile)
    )
    for key in chain.__struct_fields__:
        ours, theirs = getattr(usual, key), getattr(chain, key)
        if isinstance(ours, msgspec.Struct):
            inner = ours.__struct_fields__
            yield from (f"{key}.{name}" for name in inner if getattr(ours, name) != getattr(theirs, name))
        elif ours != theirs:
            yield key


ENGINE_TIMES: Final = ("leader_timeout", "certification_timeout", "timeout_retry", "skip_timeout")
"""Times of `[consensus]` that not every engine uses, without their unit."""


def unused_times(engine: str) -> tuple[str, ...]:
    """Return the keys of `[consensus]` that an engine does not use."""
    used = signature(ENGINES[engine].configure).parameters
    return tuple(f"{name}_ms" for name in ENGINE_TIMES if f"{name}_us" not in used)


def _engine_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    """Yield the rules of keys, sections and expectations that belong to a single engine."""
    consensus, engine = scenario.consensus, scenario.consensus.engine
    own = consensus.hotstuff
    if own is not None:
        yield "consensus.hotstuff", engine == "hotstuff", f"belongs to the engine hotstuff, and the engine is {engine}"
        least_ms = consensus.certification_timeout_ms
        reason = f"must not be below consensus.certification_timeout_ms, which is {least_ms}"
        yield "consensus.hotstuff.view_timeout_max_ms", own.view_timeout_max_ms >= least_ms, reason
    yield from _time_rules(consensus, scenario.chain.block_interval_ms)
    for key, named, others in (
        ("reports", scenario.expect.reports, [name for name in REPORTS if name not in reports_of(engine)]),
        ("rules", scenario.expect.rules, rules_of_others(engine)),
    ):
        is_reachable = not named or any(name not in others for name in named)
        yield f"expect.{key}", is_reachable, f"{engine} knows no {' and no '.join(named)}"


def _time_rules(consensus: ConsensusSection, block_interval_ms: int) -> Iterator[tuple[str, bool, str]]:
    unused = unused_times(consensus.engine)
    used = [key for key in consensus.__struct_fields__ if key.endswith("_ms") and key not in unused]
    for key in unused:
        # A record has every default written out.
        is_left_out = getattr(consensus, key) == getattr(ConsensusSection(), key)
        yield f"consensus.{key}", is_left_out, f"{consensus.engine} does not use it; it uses {', '.join(used)}"
    first = next((key for key in ("leader_timeout_ms", "certification_timeout_ms") if key in used), None)
    if first is not None:
        first_ms = getattr(consensus, first)
        reason = f"must be below consensus.{first}, which is {first_ms}"
        yield "chain.block_interval_ms", block_interval_ms < first_ms, reason
    if "leader_timeout_ms" in used:
        leader_ms, certification_ms = consensus.leader_timeout_ms, consensus.certification_timeout_ms
        reason = f"must be above consensus.leader_timeout_ms, which is {leader_ms}"
        yield "consensus.certification_timeout_ms", certification_ms > leader_ms, reason
        is_last = consensus.skip_timeout_ms > max(certification_ms, consensus.timeout_retry_ms)
        yield "consensus.skip_timeout_ms", is_last, "must be above certification_timeout_ms and timeout_retry_ms"


def _rules(scenario: Scenario) -> Sequence[tuple[str, bool, str]]:
    consensus, chain = scenario.consensus, scenario.chain
    rules = [*_depth_rules(scenario), *_engine_rules(scenario)]
    rules += [
        (
            f"chain.{name}",
            value >= chain.min_basefee,
            f"must be at least chain.min_basefee, which is {chain.min_basefee}",
        )
        for name, value in (("cycle_basefee", chain.cycle_basefee), ("cell_basefee", chain.cell_basefee))
    ]
    owners = " and ".join(name for name, policy in POLICIES.items() if is_of_lane(policy.config_type))
    rules.append(("chain.policy", chain.has_lane or chain.lane == LaneSection(), f"chain.lane belongs to {owners}"))
    rules.append(("chain.state_triggers", chain.has_lane or not chain.state_triggers, f"belongs to {owners}"))
    rules += _network_rules(scenario)
    rules += _validator_rules(scenario)
    rules += _mutant_rules(scenario)
    made = checks_with(scenario.plugins, scenario.oracle)
    checks = fallible(check for check in made if check.applies_to(consensus.engine))
    numbers = list(map(str, range(scenario.cluster.validators)))
    rules += expect_rules(
        scenario.expect, list(scenario.observers), list(scenario.workload), checks, validators=numbers
    )
    rules += _arrival_rules(scenario)
    rules += _chance_rules(scenario.run)
    for site, workload in sites_of(scenario):
        reason = workload.problem(site)
        rules.append((f"workload.{site.name}", not reason, reason))
    return rules


def _depth_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    own, place = scenario.consensus.longest_chain, "consensus.longest_chain"
    if scenario.finality_depth is None:
        yield place, own is None, f'is of the engine "longest-chain"; this is {scenario.consensus.engine}'
        return
    least = (own or LongestChainSection()).least_depth(scenario.faults, scenario.cluster.validators)
    is_deep = scenario.finality_depth >= least or "agreement" in scenario.expect.fails
    reason = f"must be {least} or more with these faults, or 0 for that; with fewer, name agreement in expect.fails"
    yield f"{place}.finality_depth", is_deep, reason
    reason = f"its faults ask for {least} blocks, and {DEPTH_MAX} are the most; make them shorter, or slots longer"
    yield f"{place}.slot_ms", scenario.finality_depth <= DEPTH_MAX, reason
    if own is None:
        return
    for key in ("lottery_key", "empty_slot_share_ppm"):
        is_used = own.leaders == "lottery" or not getattr(own, key)
        yield f"{place}.{key}", is_used, 'is of leaders = "lottery"'
    is_bearable = own.empty_slot_share_ppm <= EMPTY_SHARE_MAX_PPM
    yield f"{place}.empty_slot_share_ppm", is_bearable, f"must be {EMPTY_SHARE_MAX_PPM:,} or less"


def _network_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    network, validators = scenario.network, scenario.cluster.validators
    is_one_each = not network.regions or len(network.regions) == validators
    yield (
        "network.regions",
        is_one_each,
        f"names {counted(len(network.regions), 'regions')} for {counted(validators, 'validators')}",
    )
    is_reordering = bool(network.reorder_ppm) == bool(network.reorder_extra_ms)
    yield "network.reorder_ppm", is_reordering, "reorder_ppm and reorder_extra_ms go together"
    shares = network.uplink_shares
    is_whole = not shares or (len(shares) == len(TRAFFIC) and sum(shares.values()) == 100)
    yield "network.uplink_shares", is_whole, f"must give {', '.join(TRAFFIC)} 100 per cent together"
    is_wide = not shares or network.uplink_bytes_per_second >= 100
    yield "network.uplink_bytes_per_second", is_wide, "must be at least 100 beside uplink_shares"
    try:
        network.latency(network.latency_ms * 1_000)
    except LatencyError as error:
        yield "network", False, str(error)
    limit_ms = scenario.run.time_limit_ms
    for name, fault in scenario.faults.items():
        stop_ms = fault.bounds()[1]
        is_in_time = not fault.enabled or stop_ms < limit_ms
        yield f"faults.{name}", is_in_time, f"ends at {stop_ms}, not before run.time_limit_ms, which is {limit_ms}"
    again_ms = all_over_ms(scenario.faults, validators)
    reason = f"clocks of a quorum were ahead: true time is there at {again_ms}, not before run.time_limit_ms"
    yield "faults", again_ms < limit_ms, reason


def _arrival_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    if scenario.expect.arrival is not None:
        yield from scenario.expect.arrival.check("expect.arrival", scenario.identities)


def _chance_rules(run: RunSection) -> Iterator[tuple[str, bool, str]]:
    """Yield the rules of changed chance."""
    turns = [turn for turn, _ in run.reseed]
    yield "run.reseed", turns == sorted(set(turns)), "names its turns in their order, each once"
    for key, words in (("reseed", run.reseed), ("redraw", run.redraw)):
        is_word = all(each[-1] < 1 << DRAW_BITS for each in words)
        yield f"run.{key}", is_word, "has a last number of 2^64 or more"
    draws = [each[:3] for each in run.redraw]
    yield "run.redraw", len(set(draws)) == len(draws), "names a draw twice"


def _mutant_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    if not scenario.mutants and not scenario.mutants_from_height:
        return
    from checker.mutants import mutants_with  # noqa: PLC0415 - few scenarios have any

    known, count = mutants_with(scenario.plugins), scenario.identities
    for name, nodes in scenario.mutants.items():
        is_known = name in known
        yield f"mutants.{name}", is_known, "" if is_known else _refuse_mutant(name, known, scenario.plugins)
        is_there = all(node < count for node in nodes)
        yield f"mutants.{name}", is_there, f"this cluster has replicas 0 to {count - 1}"
    for name in scenario.mutants_from_height:
        key = f"mutants_from_height.{name}"
        yield key, name in scenario.mutants, "is no mutant of this scenario: name it in [mutants] with its replicas"
        if name in known:
            constants = known[name].constants
            yield key, not constants, f"replaces {', '.join(constants)}, which is no function and has no height"
            yield key, not known[name].is_of_run, "is a mutant of the test bed itself, which executes no blocks"


def _refuse_mutant(name: str, known: Mapping[str, object], plugins: Sequence[str]) -> str:
    """Return why a scenario cannot name a mutant."""
    if others := plugins_with(MUTANTS, name):
        return f"is a known bug of the plug-in {others[0]}: add this plug-in to the scenario's plugins"
    refusal = f"is no known bug{did_you_mean(name, known)}; they are {', '.join(known)}"
    if MUTANTS_PLUGIN in plugins:
        return refusal
    return f"{refusal}; the plug-in {MUTANTS_PLUGIN} has many more; {WHERE_MUTANTS_ARE}"


def _validator_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    count = scenario.cluster.validators
    numbers = [str(node) for node in range(count)]
    for name in scenario.validators:
        yield f"validators.{name}", name in numbers, f"there is no validator of this number; they are 0 to {count - 1}"
    yield "observers", len(scenario.observers) <= OBSERVERS_MAX, f"are at most {OBSERVERS_MAX}"
    for table, sections_by_name in (("validators", scenario.validators), ("observers", scenario.observers)):
        for name, section in sections_by_name.items():
            can_undo = section.apply == "finalized" or section.retain_blocks > 0
            yield f"{table}.{name}.retain_blocks", can_undo, 'must be 1 or more where apply = "certified"'
            can_return = section.apply == "certified" or section.reapply == "write"
            yield f"{table}.{name}.reapply", can_return, 'concerns rewound blocks: set apply = "certified"'
