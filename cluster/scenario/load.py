"""Reads a scenario by name or path, applies settings, checks it, and writes it out with every default resolved.

An invalid key is refused before anything runs, with the allowed values. A program of `[application]` has to exist only
where a scenario is read to be run: a record needs none.
"""

from collections.abc import Sequence
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from checker.record.plain_files import read_plain
from checker.record.plugins import canonical_names
from checker.record.program import program_name
from checker.record.root import PROJECT_ROOT
from cluster.scenario.aliases import rename_setting, report_once, with_new_names
from cluster.scenario.messages import ScenarioError, validation_message
from cluster.scenario.model import ENGINE_FORMS, Scenario, scenario_type, stated_forms
from cluster.scenario.plugins import PluginError, load_plugins
from cluster.scenario.rules import check_scenario, unused_times
from cluster.scenario.sections.chain import ChainSection, parameters_section
from cluster.scenario.sections.commands import place_commands, recorded_path, with_programs
from cluster.scenario.toml_file import BYTES_MAX, UnreadableError, parse_toml, read_toml
from cluster.workloads.opaque import Lines
from faults import PlanError, resolve_validators
from faults.nearest import did_you_mean
from scheduler import POLICIES, InvalidInput
from validators.consensus.registry import ENGINES

REFERENCE_CHARACTERS_MAX = 1_000
"""A longer scenario name or path is a mistake."""

SETTING_CHARACTERS_MAX = 2_000
"""A longer --set is a mistake."""

SCENARIO_DIRECTORY = PROJECT_ROOT / "scenarios"


def scenario_paths() -> list[Path]:
    """Return the scenario files of the project's own chain, by name: files in folders run an application."""
    return sorted(SCENARIO_DIRECTORY.glob("*.toml"))


def scenario_files() -> dict[str, Path]:
    """Return all scenario files of the project by their typed names, for example `application/outage`."""
    found = {path.relative_to(SCENARIO_DIRECTORY).with_suffix(""): path for path in SCENARIO_DIRECTORY.rglob("*.toml")}
    return dict(sorted((name.as_posix(), path) for name, path in found.items()))


def load_scenario(
    reference: str, settings: Sequence[str] = (), application: str | None = None, builds: Sequence[str] = ()
) -> Scenario:
    """Read a scenario by its name or path and apply ``key=value`` settings.

    Args:
        reference: The name or the path.
        settings: The settings.
        application: The command line of an application in the current folder, instead of the scenario's own.
        builds: The command lines of its further builds, as NAME=COMMAND.

    Raises:
        ScenarioError: The file or a setting is invalid, or the program of its application does not exist.
    """
    path = _find(reference)
    try:
        raw = with_new_names(read_toml(path), report_once)
    except UnreadableError as error:
        raise ScenarioError(str(path), str(error)) from error
    except OSError as error:
        raise ScenarioError(str(path), f"cannot be read: {error.strerror}") from error
    apply_settings(raw, settings)
    return scenario_of(raw, path, application, builds)


def scenario_of(
    raw: dict[str, Any], path: Path, application: str | None = None, builds: Sequence[str] = ()
) -> Scenario:
    """Turn the plain data of a file into a checked scenario whose programs and files are found from the file's folder.

    Raises:
        ScenarioError: The data are invalid, or the program of its application does not exist.
    """
    place_commands(raw, path, application, builds)
    # A second time: a setting may state an old value.
    scenario = convert_scenario(with_new_names(raw, report_once), str(path))
    return with_programs(_with_files(scenario, path), path, application, builds)


def head_comment(reference: str) -> str:
    """Return the comment at the head of a scenario file, which says what is seen; empty where there is none."""
    lines = read_plain(_find(reference), BYTES_MAX).decode().splitlines()
    return "".join(f"{line}\n" for line in takewhile(lambda line: line.startswith("#"), lines))


def _with_files(scenario: Scenario, path: Path) -> Scenario:
    """Return a scenario whose files of transactions have absolute paths."""
    folder = path.absolute().parent
    workload = {
        name: msgspec.structs.replace(each, path=recorded_path(folder / each.path)) if isinstance(each, Lines) else each
        for name, each in scenario.workload.items()
    }
    return msgspec.structs.replace(scenario, workload=workload)


def convert_scenario(raw: object, place: str) -> Scenario:
    """Turn plain data into a checked scenario; raises ScenarioError with the data's place."""
    # Only the user's own keys are worth a line, and a file and its settings have had theirs: this may be an old record.
    raw = with_new_names(raw, bool)
    try:
        plugins = load_plugins(_plugins_of(raw))
    except PluginError as error:
        raise ScenarioError(place, f"plugins: {error}") from error
    kind = scenario_type(plugins)
    try:
        scenario = msgspec.convert(raw, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScenarioError(place, validation_message(str(error), raw, kind)) from error
    if reason := scenario.chain.refusal():
        raise ScenarioError(place, f"chain.activation: {reason}")
    if reason := scenario.chain.timebase_refusal():
        raise ScenarioError(place, f"chain.timebase: {reason}")
    scenario = msgspec.structs.replace(scenario, chain=_resolve_chain(scenario.chain, place))
    for form in scenario.for_engine:
        if form not in ENGINE_FORMS:
            raise ScenarioError(place, f"for_engine.{form}: is no engine; there are {', '.join(ENGINE_FORMS)}")
    try:
        scenario = _resolve(scenario)
    except PlanError as error:
        raise ScenarioError(place, str(error)) from error
    check_scenario(scenario, place)
    return scenario


def _plugins_of(raw: object) -> tuple[str, ...]:
    """Return the plug-ins that data name; none if the list is invalid, which is reported later."""
    named = raw.get("plugins") if isinstance(raw, dict) else ()
    return tuple(name for name in named if isinstance(name, str)) if isinstance(named, list | tuple) else ()


def _resolve(scenario: Scenario) -> Scenario:
    """Write out the defaults that depend on other keys."""
    faults = resolve_validators(scenario.faults, scenario.network.regions, scenario.cluster.validators)
    plugins = canonical_names(scenario.plugins)
    # The tables of its own engine are merged by now, and a record runs on no other engine.
    return msgspec.structs.replace(scenario, faults=faults, plugins=plugins, for_engine={})


def _resolve_chain(chain: ChainSection, place: str) -> ChainSection:
    """Write out the defaults of the policy and its parameters; raises ScenarioError."""
    section = "calendar"
    try:
        calendar = chain.calendar.resolved(chain.profile)
        section = "lane"
        lane = chain.lane.resolved(chain.profile) if chain.has_lane else chain.lane
        section = "policy_parameters"
        parameters = chain.resolved_parameters()
    except InvalidInput as error:
        raise ScenarioError(place, f"chain.{section}.{error.field}: {error.reason}") from error
    except msgspec.ValidationError as error:
        kind = parameters_section(POLICIES[chain.policy].config_type)
        reason = validation_message(str(error), chain.policy_parameters, kind)
        raise ScenarioError(place, f"chain.policy_parameters of {chain.policy}: {reason}") from error
    timers = chain.timers.resolved(chain.policy)
    return msgspec.structs.replace(chain, timers=timers, calendar=calendar, lane=lane, policy_parameters=parameters)


def with_reseeds(scenario: Scenario, reseeds: Sequence[tuple[int, int]]) -> Scenario:
    """Return a scenario whose draws have other seeds from turns of the kernel on; raises ScenarioError."""
    if not reseeds:
        return scenario
    run = msgspec.structs.replace(scenario.run, reseed=tuple(sorted((*scenario.run.reseed, *reseeds))))
    changed = msgspec.structs.replace(scenario, run=run)
    check_scenario(changed, f"{scenario.name} with --reseed")
    return changed


def encode_scenario(scenario: Scenario) -> bytes:
    """Return the resolved scenario as indented JSON with every default written out."""
    return msgspec.json.format(msgspec.json.encode(scenario), indent=2) + b"\n"


def decode_scenario(encoded: bytes, place: str) -> Scenario:
    """Read back ``encode_scenario``; raises ScenarioError."""
    try:
        raw = msgspec.json.decode(encoded)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ScenarioError(place, f"not JSON: {error}") from error
    if isinstance(raw, dict) and isinstance(run := raw.get("run"), dict):
        # Every default was written out, so a record without the key is of a run that continued after a failure.
        run.setdefault("stop_at_failure", False)
    return convert_scenario(raw, place)


def _find(reference: str) -> Path:
    if len(reference) > REFERENCE_CHARACTERS_MAX or "\0" in reference:
        raise ScenarioError(f"{reference[:40]!r}...", "is no scenario's name and no path")
    path = Path(reference)
    is_path = path.suffix == ".toml" or "/" in reference
    if is_path and path.exists():
        return path
    known = scenario_files()
    if reference in known:
        return known[reference]
    hint = did_you_mean(reference, known)
    if is_path and not hint:
        raise ScenarioError(reference, "no such scenario file")
    listed = f"`{program_name()} scenarios` lists all"
    raise ScenarioError(reference, f"no such scenario{hint}; {listed}, or give a path to a .toml file")


def apply_settings(raw: dict[str, Any], settings: Sequence[str]) -> None:
    """Change plain data by ``key=value`` each; raises ScenarioError.

    The tables of the data for the engine come before the settings. If the settings change the engine, times of the
    other engine are left out, unless a setting states them: then they are refused.
    """
    # Twice: the settings name the engine, and they override the engine's tables.
    for setting in settings:
        apply_setting(raw, setting)
    if _lay_over(raw):
        for setting in settings:
            apply_setting(raw, setting)
    keys = [rename_setting(setting.partition("=")[0].strip().split(".")) for setting in settings]
    consensus = raw.get("consensus")
    if ["consensus", "engine"] in keys and isinstance(consensus, dict):
        # Any other value that a setting has put there is refused when the plan is read.
        engine = consensus.get("engine")
        for time in unused_times(engine) if isinstance(engine, str) and engine in ENGINES else ():
            if ["consensus", time] not in keys:
                consensus.pop(time, None)


def _lay_over(raw: dict[str, Any]) -> bool:
    """Merge the tables for the plain data's engine into the data; False if there are none."""
    tables, consensus = raw.get("for_engine"), raw.get("consensus", {})
    if not isinstance(tables, dict) or not isinstance(consensus, dict):
        return False
    laid = [tables[form] for form in stated_forms(consensus) if form in tables]
    for table in laid:
        merge(raw, table)
    return bool(laid)


def merge(section: dict[str, Any], over: object) -> None:
    """Change a section by the values of a second section, and nested sections in the same way; an empty one empties."""
    for key, value in over.items() if isinstance(over, dict) else ():
        if isinstance(value, dict) and value and isinstance(section.get(key), dict):
            merge(section[key], value)
        else:
            # Not the second section itself: settings that follow change this section.
            section[key] = deepcopy(value)


def apply_setting(raw: dict[str, Any], setting: str) -> None:
    """Change a key of plain data by ``key=value``; raises ScenarioError."""
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
    *parents, last = rename_setting(key.strip().split("."))
    for parent in parents:
        section = section.setdefault(parent, {})
        if not isinstance(section, dict):
            raise ScenarioError(place, f"{parent} is a value, not a section")
    if last != "kind":
        _refuse_unknown_name(raw, parents, place)
    section[last] = value


def _refuse_unknown_name(raw: dict[str, Any], parents: Sequence[str], place: str) -> None:
    """Refuse a setting that would create an unknown entry without its kind."""
    if len(parents) == 2 and parents[0] in {"faults", "workload", "observers"} and not raw[parents[0]][parents[1]]:
        known = [name for name, entry in raw[parents[0]].items() if entry]
        named = f"{parents[1]!r}{did_you_mean(parents[1], known)}"
        raise ScenarioError(place, f"nothing in {parents[0]} is named {named}; there are {', '.join(known) or 'none'}")
