"""A scenario: cluster, chain, network, workload, faults and expectations, read from TOML.

A scenario file is data. Everything in it has a type and a range; what does not fit is refused with
the key and what is allowed, before anything runs. Times are whole virtual milliseconds in files
(``_ms``) and microseconds inside a run (``_us``).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from checker.mutants import CATALOGUE
from checker.record.root import PROJECT_ROOT
from cluster.scenario.chain_section import ActivationSection, ChainSection, Section
from cluster.scenario.costs_section import CostsSection
from cluster.scenario.expect_section import ExpectSection, expect_rules
from cluster.scenario.lane_section import LaneSection
from cluster.scenario.messages import explain_slip
from cluster.scenario.replicas_section import CHUNK_BYTES_MAX, OBSERVERS_MAX, Observer, ValidatorSection
from cluster.scenario.toml_file import UnreadableError, parse_toml, read_toml
from cluster.workloads.registry import Workload, sites_of
from faults import Fault, PlanError, all_over_ms, check_plan, resolve_regions, span_ms
from faults.nearest import did_you_mean
from network.latency import Latency, LatencyError
from network.regions import Region
from scheduler import MAX_U63, InvalidInput

REFERENCE_CHARACTERS_MAX = 1_000
"""A longer scenario name or path is a slip."""

NAME_CHARACTERS_MAX = 64
"""The longest name of a scenario, and of a fault, a workload or an observer."""

SETTING_CHARACTERS_MAX = 2_000
"""A longer --set is a slip."""

SCENARIO_DIRECTORY = PROJECT_ROOT / "scenarios"

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]
NotNegative = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
PartsPerMillion = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class ScenarioError(Exception):
    """Bad input: ``place`` says where (file and key), ``reason`` what is wrong and what is allowed."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class ClusterSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many validators, and how they sign."""

    validators: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4
    signatures: Literal["ed25519"] = "ed25519"


class ConsensusSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Timeouts of Simplex (specification of Simplex, section 1.2)."""

    leader_timeout_ms: Positive = 2_000
    certification_timeout_ms: Positive = 3_000
    timeout_retry_ms: Positive = 4_000
    fetch_timeout_ms: Positive = 1_000
    fetch_grace_ms: NotNegative = 200
    skip_timeout_ms: Positive = 12_000
    view_retention: Positive = 20


class SyncSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a validator that is far behind catches up: so many blocks behind, it joins from a peer's snapshot.

    A snapshot travels in pieces of about ``chunk_bytes``.
    """

    snapshot_gap_blocks: Positive = 256
    chunk_bytes: Annotated[int, msgspec.Meta(ge=1, le=CHUNK_BYTES_MAX)] = 1024 * 1024


class NetworkSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every link without a fault: latency, loss and reordering.

    With ``regions``, one for each validator, latencies are those between the regions, and ``latency_ms`` is not used.
    """

    distribution: Literal["fixed", "uniform", "normal", "exponential"] = "normal"
    latency_ms: Positive = 40
    jitter_ms: NotNegative = 10
    loss_ppm: PartsPerMillion = 0
    reorder_ppm: PartsPerMillion = 0
    reorder_extra_ms: NotNegative = 0
    regions: tuple[Region, ...] = ()
    regossip_ms: Positive = 2_000

    def latency(self, mean_us: int) -> Latency:
        """Return the distribution of a link with this mean, in microseconds; raises LatencyError."""
        return Latency(kind=self.distribution, mean_us=mean_us, jitter_us=self.jitter_ms * 1_000)


class RunSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a run is over, and what ends one that does not get there.

    With ``audit_reorgs`` all that a validator derives from its state is compared with what its log leads to each time
    it has dropped blocks or taken them back, and not only at the end.
    """

    until_height: Positive = 10
    until_drained: bool = False
    blocks_after_drain: NotNegative = 3
    time_limit_ms: Positive = 600_000
    step_limit: Positive = 50_000_000
    audit_reorgs: bool = False


EntryName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_. -]*\Z", max_length=NAME_CHARACTERS_MAX)]
Title = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f-\x9f]*\Z", max_length=500)]
"""What is printed; it steers no terminal."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole scenario, resolved: what a run directory keeps and a replay runs again."""

    name: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z", max_length=NAME_CHARACTERS_MAX)]
    title: Title
    requires: tuple[str, ...] = ()
    cluster: ClusterSection = ClusterSection()
    chain: ChainSection = ChainSection()
    consensus: ConsensusSection = ConsensusSection()
    sync: SyncSection = SyncSection()
    network: NetworkSection = NetworkSection()
    costs: CostsSection = CostsSection()
    validators: dict[str, ValidatorSection] = {}
    observers: dict[str, Observer] = {}
    workload: dict[EntryName, Workload] = {}
    faults: dict[EntryName, Fault] = {}
    expect: ExpectSection = ExpectSection()
    run: RunSection = RunSection()
    planted: dict[str, tuple[NotNegative, ...]] = {}
    """Known-bad variants (checker/planted) by name, and the replicas that have each."""

    @property
    def chain_id(self) -> str:
        """What keys and addresses of this chain are made from: a scenario under another name can be the same run."""
        return self.chain.id or self.name

    @property
    def replicas(self) -> int:
        """How many there are that keep the state: validators, then observers."""
        return self.cluster.validators + len(self.observers)

    @property
    def observers_by_number(self) -> dict[int, Observer]:
        """The observers' sections, by their numbers on the bus."""
        return dict(enumerate(self.observers.values(), self.cluster.validators))


def scenario_paths() -> list[Path]:
    """Return the scenario files that come with the project, by name."""
    return sorted(SCENARIO_DIRECTORY.glob("*.toml"))


def load_scenario(reference: str, settings: Sequence[str] = ()) -> Scenario:
    """Read a scenario by its name or path and apply ``key=value`` settings; raises ScenarioError."""
    path = _find(reference)
    try:
        raw = read_toml(path)
    except UnreadableError as error:
        raise ScenarioError(str(path), str(error)) from error
    except OSError as error:
        raise ScenarioError(str(path), f"cannot be read: {error.strerror}") from error
    for setting in settings:
        apply_setting(raw, setting)
    return convert_scenario(raw, str(path))


def convert_scenario(raw: object, place: str) -> Scenario:
    """Turn plain data into a checked scenario; raises ScenarioError."""
    try:
        scenario = msgspec.convert(raw, Scenario)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScenarioError(place, explain_slip(str(error), raw, Scenario)) from error
    try:
        scenario = _resolve(scenario)
    except InvalidInput as error:
        raise ScenarioError(place, f"chain.lane.{error.field}: {error.reason}") from error
    except PlanError as error:
        raise ScenarioError(place, str(error)) from error
    _check(scenario, place)
    return scenario


def _resolve(scenario: Scenario) -> Scenario:
    """Write out the defaults that depend on other keys."""
    chain = scenario.chain
    timers = chain.timers.resolved(chain.policy)
    lane = chain.lane.resolved() if chain.has_lane else chain.lane
    faults = resolve_regions(scenario.faults, scenario.network.regions)
    chain = msgspec.structs.replace(chain, timers=timers, lane=lane)
    return msgspec.structs.replace(scenario, chain=chain, faults=faults)


def encode_scenario(scenario: Scenario) -> bytes:
    """Return the resolved scenario as indented JSON with every default written out."""
    return msgspec.json.format(msgspec.json.encode(scenario), indent=2) + b"\n"


def decode_scenario(encoded: bytes, place: str) -> Scenario:
    """Read back ``encode_scenario``; raises ScenarioError."""
    try:
        raw = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ScenarioError(place, f"not JSON: {error}") from error
    return convert_scenario(raw, place)


def _find(reference: str) -> Path:
    if len(reference) > REFERENCE_CHARACTERS_MAX or "\0" in reference:
        raise ScenarioError(f"{reference[:40]!r}...", "is no scenario's name and no path")
    path = Path(reference)
    if path.suffix == ".toml" or "/" in reference:
        if not path.is_file():
            raise ScenarioError(reference, "no such scenario file")
        return path
    path = SCENARIO_DIRECTORY / f"{reference}.toml"
    if not path.is_file():
        known = [known.stem for known in scenario_paths()]
        reason = f"no such scenario{did_you_mean(reference, known)}; there are {', '.join(known)}"
        raise ScenarioError(reference, f"{reason}, or give a path to a .toml file")
    return path


def apply_setting(raw: dict[str, Any], setting: str) -> None:
    """Change one key of plain data by ``key=value``; raises ScenarioError."""
    key, separator, text = setting.partition("=")
    place = f"--set {setting}"
    if not separator or not key.strip():
        raise ScenarioError(place, "must read key=value, such as run.until_height=20")
    if len(setting) > SETTING_CHARACTERS_MAX or not setting.isprintable():
        raise ScenarioError(f"{place[:60]!r}", f"must be printable and at most {SETTING_CHARACTERS_MAX:,} characters")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    section: Any = raw
    *parents, last = key.strip().split(".")
    for parent in parents:
        section = section.setdefault(parent, {})
        if not isinstance(section, dict):
            raise ScenarioError(place, f"{parent} is a value, not a section")
    if last != "kind":
        _refuse_unknown_name(raw, parents, place)
    section[last] = value


def _refuse_unknown_name(raw: dict[str, Any], parents: Sequence[str], place: str) -> None:
    """Say that an entry of that name does not exist, where a setting would begin one without its kind."""
    if len(parents) == 2 and parents[0] in {"faults", "workload", "observers"} and not raw[parents[0]][parents[1]]:
        known = [name for name, entry in raw[parents[0]].items() if entry]
        named = f"{parents[1]!r}{did_you_mean(parents[1], known)}"
        raise ScenarioError(place, f"nothing in {parents[0]} is named {named}; there are {', '.join(known) or 'none'}")


def _check(scenario: Scenario, place: str) -> None:
    """Refuse what types cannot: unknown names, impossible plans, times that contradict each other."""
    try:
        check_plan(scenario.faults, scenario.cluster.validators, len(scenario.observers))
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
    for key, is_sound, reason in _rules(scenario):
        if not is_sound:
            raise ScenarioError(place, f"{key}: {reason}")


def _rules(scenario: Scenario) -> Sequence[tuple[str, bool, str]]:
    consensus, chain = scenario.consensus, scenario.chain
    rules: list[tuple[str, bool, str]] = [
        (
            "chain.block_interval_ms",
            chain.block_interval_ms < consensus.leader_timeout_ms,
            f"must be below consensus.leader_timeout_ms, which is {consensus.leader_timeout_ms}",
        ),
        (
            "consensus.certification_timeout_ms",
            consensus.certification_timeout_ms > consensus.leader_timeout_ms,
            f"must be above consensus.leader_timeout_ms, which is {consensus.leader_timeout_ms}",
        ),
        (
            "consensus.skip_timeout_ms",
            consensus.skip_timeout_ms > max(consensus.certification_timeout_ms, consensus.timeout_retry_ms),
            "must be above certification_timeout_ms and timeout_retry_ms",
        ),
    ]
    rules += [
        (
            f"chain.{name}",
            value >= chain.min_basefee,
            f"must be at least chain.min_basefee, which is {chain.min_basefee}",
        )
        for name, value in (("cycle_basefee", chain.cycle_basefee), ("cell_basefee", chain.cell_basefee))
    ]
    is_plain = chain.lane == LaneSection() and chain.activation == ActivationSection()
    rules.append(("chain.policy", chain.has_lane or is_plain, "chain.lane and chain.activation belong to eip1559"))
    rules += _network_rules(scenario)
    rules += _validator_rules(scenario)
    rules += _planted_rules(scenario)
    rules += expect_rules(scenario.expect, list(scenario.observers), list(scenario.workload))
    for site, workload in sites_of(scenario):
        reason = workload.problem(site)
        rules.append((f"workload.{site.name}", not reason, reason))
    return rules


def _network_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    network, validators = scenario.network, scenario.cluster.validators
    is_one_each = not network.regions or len(network.regions) == validators
    yield "network.regions", is_one_each, f"names {len(network.regions)} regions for {validators} validators"
    is_reordering = bool(network.reorder_ppm) == bool(network.reorder_extra_ms)
    yield "network.reorder_ppm", is_reordering, "reorder_ppm and reorder_extra_ms go together"
    try:
        network.latency(network.latency_ms * 1_000)
    except LatencyError as error:
        yield "network", False, str(error)
    limit_ms = scenario.run.time_limit_ms
    for name, fault in scenario.faults.items():
        stop_ms = span_ms(fault)[1]
        is_in_time = not fault.enabled or stop_ms < limit_ms
        yield f"faults.{name}", is_in_time, f"ends at {stop_ms}, not before run.time_limit_ms, which is {limit_ms}"
    again_ms = all_over_ms(scenario.faults, validators)
    reason = f"clocks of a quorum were ahead: true time is there at {again_ms}, not before run.time_limit_ms"
    yield "faults", again_ms < limit_ms, reason


def _planted_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    count = scenario.replicas
    for name, nodes in scenario.planted.items():
        reason = f"is no known bug{did_you_mean(name, CATALOGUE)}; they are {', '.join(CATALOGUE)}"
        yield f"planted.{name}", name in CATALOGUE, reason
        is_there = all(node < count for node in nodes)
        yield f"planted.{name}", is_there, f"this cluster has replicas 0 to {count - 1}"


def _validator_rules(scenario: Scenario) -> Iterator[tuple[str, bool, str]]:
    count = scenario.cluster.validators
    numbers = [str(node) for node in range(count)]
    for name in scenario.validators:
        yield f"validators.{name}", name in numbers, f"there is no such validator; they are 0 to {count - 1}"
    yield "observers", len(scenario.observers) <= OBSERVERS_MAX, f"are at most {OBSERVERS_MAX}"
    for table, sections_by_name in (("validators", scenario.validators), ("observers", scenario.observers)):
        for name, section in sections_by_name.items():
            can_undo = section.apply == "finalized" or section.retain_blocks > 0
            yield f"{table}.{name}.retain_blocks", can_undo, 'must be 1 or more where apply = "certified"'
            can_return = section.apply == "certified" or section.reapply == "write"
            yield f"{table}.{name}.reapply", can_return, 'is about blocks that are taken back: give apply = "certified"'


def sections(scenario: Scenario) -> Mapping[str, object]:
    """Return the resolved scenario as plain data, for listings."""
    plain: dict[str, object] = msgspec.to_builtins(scenario)
    return plain
