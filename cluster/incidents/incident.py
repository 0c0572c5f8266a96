"""An incident as data, and its two scenarios: a file of `incidents/` with its source, figures, scale and expectations.

The file is TOML. `[scenario]` is the healthy side. `[planted]` is laid over it and plants the fault, most often a
mutant of the plug-in file beside it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from checker.families import CHECK_OF
from checker.record.root import PROJECT_ROOT
from cluster.incidents.figures import unknown_figure
from cluster.scenario.fields import Section, means
from cluster.scenario.load import merge, scenario_of
from cluster.scenario.messages import ScenarioError, validation_message
from cluster.scenario.model import Scenario, Title
from cluster.scenario.toml_file import UnreadableError, read_toml
from faults.nearest import did_you_mean

INCIDENT_DIRECTORY: Final = PROJECT_ROOT / "incidents"

SHAPES: Final = {
    "budget exit": "an exit for a spent budget skips a phase that every block owes",
    "fan-out": "one action makes work for thousands, due in one instant",
    "resume": "a chain resumes and acts on what was true before it stopped",
    "rare path": "only deferred, rolled-back or unusual work takes a path, and that path is wrong",
    "silent difference": "versions or machines differ, and nothing says so until a commitment shows it",
}
"""The shapes behind the incidents (docs/incidents.md), each in a sentence."""

Side = Literal["healthy", "planted"]


class Source(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The page that describes an incident."""

    chain: Annotated[Title, means("The chain.")]
    title: Annotated[Title, means("The title of the page.")]
    page: Annotated[Title, means("The page, or where it is found.")]
    date: Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d{2}(-\d{2})?)?\Z"), means("The day of the incident.")]


class Measure(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A figure: what the chain measured, and the figure of a run that stands beside it."""

    what: Annotated[Title, means("What is measured, with its unit.")]
    then: Annotated[int | float | Title, means("The figure of the source; text where it is no single number.")]
    here: Annotated[Title, means("The figure of the run; left out: none stands beside it.")] = ""
    side: Annotated[Side, means("The run that has the figure.")] = "healthy"


class KeptScale(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ratio that the small scenario keeps: of two measures, by their names."""

    kept: Annotated[Title, means("The kept ratio in words.")]
    ratio: Annotated[tuple[str, str], means("The measures: the first over the second.")]
    difference: Annotated[Title, means("Why the ratio here differs by more than a tenth.")] = ""


class ExpectedSide(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The end of a side: its verdict and failed checks."""

    verdict: Annotated[Title, means("The verdict.")] = "passed"
    fails: Annotated[tuple[str, ...], means("The checks that fail, as family/part.")] = ()


class BothExpected(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The ends of both sides."""

    planted: Annotated[ExpectedSide, means("The side with the fault.")]
    healthy: Annotated[ExpectedSide, means("The side without.")] = ExpectedSide()


class Incident(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An incident: what happened, its figures, and how a run without and with the fault has to end."""

    title: Annotated[Title, means("What happened, in a line.")]
    shape: Annotated[str, means("The shape behind it, one of `SHAPES`.")]
    fault: Annotated[Title, means("The planted fault, in a sentence.")]
    source: Source
    measured: dict[str, Measure]
    scale: KeptScale
    scenario: dict[str, Any]
    planted: dict[str, Any]
    expect: BothExpected
    seed: Annotated[int, means("The seed of both runs.")] = 0


class LoadedIncident(NamedTuple):
    """An incident with its name and the scenarios of its sides."""

    name: str
    incident: Incident
    sides: Mapping[Side, Scenario]


def incident_files(folder: Path = INCIDENT_DIRECTORY) -> dict[str, Path]:
    """Return the files of the incidents by name; modules have the same name, so that it has underscores on the disk."""
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("*.toml"))}


def read_incident(reference: str) -> Incident:
    """Return an incident by its name or file, without its scenarios; raises ScenarioError."""
    return _read(_find(reference))


def load_incident(reference: str) -> LoadedIncident:
    """Return an incident by its name or file, with its scenarios.

    Raises:
        ScenarioError: The file or one of its scenarios is invalid.
    """
    path = _find(reference)
    incident, name = _read(path), path.stem.replace("_", "-")
    base = {"name": name, "title": incident.title} | incident.scenario
    planted = deepcopy(base)
    # To the end, so that the run shows what the fault leads to.
    merge(planted, {"run": {"stop_at_failure": False}})
    merge(planted, {"name": f"{name}-planted", "title": incident.fault} | incident.planted)
    # Keys and addresses depend on the identifier: both sides have the same ones.
    planted["chain"] = {"id": name} | planted.get("chain", {})
    sides: dict[Side, Scenario] = {"healthy": scenario_of(base, path), "planted": scenario_of(planted, path)}
    for key, reason in _wrong_parts(incident, sides["healthy"]):
        raise ScenarioError(str(path), f"{key}: {reason}")
    return LoadedIncident(name, incident, sides)


def _find(reference: str) -> Path:
    known = incident_files()
    # A person types the number alone as well: `n03`.
    numbered = [path for name, path in known.items() if reference == name.partition("-")[0]]
    if reference in known or numbered:
        return known.get(reference) or numbered[0]
    path = Path(reference)
    if "\0" not in reference and path.suffix == ".toml" and path.exists():
        return path
    listed = f"there are {', '.join(known)}, or give a path to a .toml file"
    raise ScenarioError(reference[:60], f"no such incident{did_you_mean(reference, known)}; {listed}")


def _read(path: Path) -> Incident:
    try:
        raw = read_toml(path)
        incident = msgspec.convert(raw, Incident)
    except UnreadableError as error:
        raise ScenarioError(str(path), str(error)) from error
    except OSError as error:
        raise ScenarioError(str(path), f"cannot be read: {error.strerror}") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScenarioError(str(path), validation_message(str(error), raw, Incident)) from error
    for key, reason in _wrong_names(incident):
        raise ScenarioError(str(path), f"{key}: {reason}")
    return incident


def _wrong_names(incident: Incident) -> Iterator[tuple[str, str]]:
    """Yield each key whose value names nothing, with the reason."""
    if incident.shape not in SHAPES:
        yield "shape", f"no shape is named {incident.shape!r}; there are {', '.join(SHAPES)}"
    for name in incident.scale.ratio:
        measure = incident.measured.get(name)
        if measure is None:
            known = f"{did_you_mean(name, incident.measured)}; there are {', '.join(incident.measured)}"
            yield "scale.ratio", f"no measure is named {name!r}{known}"
        elif isinstance(measure.then, str) or not measure.here:
            yield f"measured.{name}", "a kept ratio needs a number of then and a figure of here"
    for side, expected in (("healthy", incident.expect.healthy), ("planted", incident.expect.planted)):
        for check in expected.fails:
            if check not in CHECK_OF:
                yield f"expect.{side}.fails", f"no check is named {check!r}{did_you_mean(check, CHECK_OF)}"
    if not incident.expect.planted.fails:
        yield "expect.planted.fails", "a planted fault has to be found by a check"


def _wrong_parts(incident: Incident, scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield each measure whose figure no run has, with the reason."""
    for name, measure in incident.measured.items():
        if measure.here and (reason := unknown_figure(measure.here, scenario)):
            yield f"measured.{name}.here", reason
