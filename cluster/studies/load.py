"""Reads study files: settings, the arms of the axes, and every check before the first trial."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError, validation_message
from cluster.scenario.model import Scenario
from cluster.scenario.toml_file import UnreadableError, parse_toml, read_toml
from cluster.studies.figures import CHAIN_FIGURES, unknown_figure
from cluster.studies.study import Study, Value
from cluster.studies.tables import COLUMNS
from faults.nearest import did_you_mean

STUDY_DIRECTORY: Final = PROJECT_ROOT / "studies"

ARMS_MAX: Final = 1_000
"""The most arms of a study."""

_UNMEASURED: Final = (
    *("title", "question", "place", "limits", "answer", "axes", "validity", "findings", "plots", "quick", "seeds"),
)
"""The keys of a study that change nothing about a trial."""


class Arm(NamedTuple):
    """A choice of one value for each axis: the names of the values, and the study file with their settings."""

    values: tuple[str, ...]
    raw: dict[str, Any]

    @property
    def label(self) -> str:
        """The values in words."""
        return ", ".join(self.values)


class Trials(NamedTuple):
    """A loaded study: its name and place, the study, and its arms in canonical order."""

    name: str
    place: str
    study: Study
    arms: tuple[Arm, ...]


def study_files(folder: Path = STUDY_DIRECTORY) -> dict[str, Path]:
    """Return the study files of a folder by name."""
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_study(reference: str, settings: Sequence[str] = (), *, is_quick: bool = False) -> Trials:
    """Read a study by its name or path and apply `AXIS=VALUES` and `KEY=VALUE` settings.

    Raises:
        ScenarioError: The file, a setting, or the scenario of an arm is invalid.
    """
    path = _find(reference)
    try:
        raw = read_toml(path)
    except UnreadableError as error:
        raise ScenarioError(str(path), str(error)) from error
    except OSError as error:
        raise ScenarioError(str(path), f"cannot be read: {error.strerror}") from error
    place = str(path)
    study = _convert(raw, place)
    if is_quick:
        _make_quick(raw, study, place)
    for setting in settings:
        _apply(raw, setting)
    study = _convert(raw, place)
    arms = tuple(_arms(raw, study, place))
    _check(study, arms, place)
    return Trials(path.stem, place, study, arms)


def study_of_arm(raw: Mapping[str, Any], place: str) -> tuple[Study, Scenario]:
    """Return the study of an arm's settings, and its scenario; raises ScenarioError."""
    study = _convert(raw, place)
    name = Path(place).stem
    base = {"name": name if _is_name(name) else "study", "title": study.title, "oracle": "off"}
    return study, convert_scenario(base | deepcopy(study.scenario), f"{place}: scenario")


def _is_name(text: str) -> bool:
    return text.isascii() and text.replace("-", "").isalnum() and text.islower() and not text.startswith("-")


def _find(reference: str) -> Path:
    known = study_files()
    if reference in known:
        return known[reference]
    path = Path(reference)
    if "\0" not in reference and path.suffix == ".toml" and path.exists():
        return path
    listed = f"there are {', '.join(known)}, or give a path to a .toml file"
    raise ScenarioError(reference[:60], f"no such study{did_you_mean(reference, known)}; {listed}")


def _convert(raw: Mapping[str, Any], place: str) -> Study:
    try:
        return msgspec.convert(raw, Study)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ScenarioError(place, validation_message(str(error), raw, Study)) from error


def _make_quick(raw: dict[str, Any], study: Study, place: str) -> None:
    quick = study.quick
    raw["seeds"] = quick.seeds
    if quick.blocks is not None:
        raw["blocks"] = quick.blocks
    for name, values in quick.axes.items():
        _narrow(raw, name, [*values], f"{place}: quick.axes.{name}")
    for key, value in quick.set.items():
        _put(raw, key, value, f"{place}: quick.set.{key}")


def _apply(raw: dict[str, Any], setting: str) -> None:
    key, separator, text = setting.partition("=")
    place = f"--set {setting[:80]}"
    if not separator or not key.strip() or not setting.isprintable():
        raise ScenarioError(place, "must read AXIS=VALUE,VALUE or KEY=VALUE, such as blocks=100")
    name = key.strip()
    if name in raw.get("axes", {}):
        _narrow(raw, name, [_value(part) for part in text.split(",")], place)
    else:
        _put(raw, name, _value(text), place)


def _value(text: str) -> Any:  # noqa: ANN401 - a value of TOML
    try:
        return parse_toml(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text


def _narrow(raw: dict[str, Any], name: str, values: list[Any], place: str) -> None:
    """Give an axis other values; of an axis with cases only some cases may be kept."""
    axes = raw.get("axes", {})
    if name not in axes:
        raise ScenarioError(place, f"no axis is named {name!r}{did_you_mean(name, axes)}; there are {', '.join(axes)}")
    axis = axes[name]
    cases = axis.get("cases")
    if not cases:
        axis["values"] = values
        return
    for value in values:
        if str(value) not in cases:
            hint = did_you_mean(str(value), cases)
            raise ScenarioError(place, f"axis {name} has no case {value!r}{hint}; there are {', '.join(cases)}")
    axis["cases"] = {str(value): cases[str(value)] for value in values}


def _put(raw: dict[str, Any], key: str, value: object, place: str) -> None:
    section: Any = raw
    *parents, last = key.split(".")
    for parent in parents:
        section = section.setdefault(parent, {})
        if not isinstance(section, dict):
            raise ScenarioError(place, f"{parent} is a value, not a section")
    if parents[:1] == ["bidders"] and len(parents) == 2 and not section:
        known = [name for name, group in raw["bidders"].items() if group]
        hint = did_you_mean(parents[1], known)
        raise ScenarioError(place, f"no group is named {parents[1]!r}{hint}; there are {', '.join(known) or 'none'}")
    section[last] = value


def _arms(raw: Mapping[str, Any], study: Study, place: str) -> Iterator[Arm]:
    for name, axis in study.axes.items():
        if bool(axis.cases) == bool(axis.values) or bool(axis.values) != bool(axis.key):
            raise ScenarioError(place, f"axes.{name}: needs a key with values, or cases; not both")
    choices = [axis.choices() for axis in study.axes.values()]
    count = prod(map(len, choices))
    if count > ARMS_MAX:
        raise ScenarioError(place, f"axes: {count:,} arms, and at most {ARMS_MAX:,} are allowed")
    for values in product(*choices):
        settled = deepcopy(dict(raw))
        for (name, _), each, value in zip(study.axes.items(), choices, values, strict=True):
            for key, setting in each[value].items():
                _put(settled, key, setting, f"{place}: axes.{name}")
        # Texts and axes leave a trial as it is, so that a study with other texts finds its trials again.
        for key in _UNMEASURED:
            settled.pop(key, None)
        settled["figures"] = wanted_figures(study)
        yield Arm(values, settled)


def wanted_figures(study: Study) -> list[str]:
    """Return every figure that a study asks for, each once."""
    others = (each.figure for part in (study.validity, study.findings, study.plots) for each in part)
    return [*dict.fromkeys((*study.figures, *others))]


def as_document(arm: Arm) -> dict[str, Any]:
    """Return an arm as a whole study file again, so that a worker can read it."""
    bound = {"figure": arm.raw["figures"][0]}
    return arm.raw | {"title": "arm", "question": "-", "place": "-", "limits": "-", "validity": [bound]}


def _check(study: Study, arms: Sequence[Arm], place: str) -> None:
    """Refuse names of figures, groups and axes that do not exist, and every arm's scenario; raises ScenarioError."""
    reasons = chain(_wrong_groups(study), _wrong_figures(study), _wrong_axes(study), _wrong_sizes(study))
    for key, reason in reasons:
        raise ScenarioError(place, f"{key}: {reason}")
    for arm in arms:
        try:
            study_of_arm(as_document(arm), place)
        except ScenarioError as error:
            raise ScenarioError(f"arm {arm.label}" if arm.values else place, str(error)) from None


def _wrong_groups(study: Study) -> Iterator[tuple[str, str]]:
    for name, group in study.bidders.items():
        if group.reads and group.reads not in study.bidders:
            known = f"{did_you_mean(group.reads, study.bidders)}; there are {', '.join(study.bidders)}"
            yield f"bidders.{name}.reads", f"no group is named {group.reads!r}{known}"
        if group.worth[0] > group.worth[1]:
            yield f"bidders.{name}.worth", f"{group.worth[0]} is above {group.worth[1]}"
        if group.lead_max and group.lead_max < group.lead:
            yield f"bidders.{name}.lead_max", f"{group.lead_max} is below lead, which is {group.lead}"
    if study.engine == "cluster" and study.bidders:
        yield "bidders", 'bidders answer the chain block by block, and need engine = "chain"'


def _wrong_figures(study: Study) -> Iterator[tuple[str, str]]:
    groups = [*study.bidders, *study.scenario.get("workload", {})]
    named = [(f"figures[{index}]", figure) for index, figure in enumerate(study.figures)]
    named += [(f"validity[{index}].figure", each.figure) for index, each in enumerate(study.validity)]
    named += [(f"findings[{index}].figure", each.figure) for index, each in enumerate(study.findings)]
    named += [(f"plots[{index}].figure", each.figure) for index, each in enumerate(study.plots)]
    # A run on a network ends when its time is over, at no certain block.
    blocks = study.blocks if study.engine == "chain" else None
    for key, figure in named:
        if reason := unknown_figure(figure, groups, blocks):
            yield key, reason


def _wrong_axes(study: Study) -> Iterator[tuple[str, str]]:
    for name in study.axes:
        if name in (*COLUMNS, *CHAIN_FIGURES):
            yield f"axes.{name}", "a column of the table has that name; give the axis another"
    chosen: list[tuple[str, Iterable[str]]] = []
    chosen += [(f"validity[{index}].where", each.where) for index, each in enumerate(study.validity)]
    for index, each in enumerate(study.findings):
        chosen += [(f"findings[{index}].from", each.from_), (f"findings[{index}].to", each.to)]
    for index, drawing in enumerate(study.plots):
        chosen += [(f"plots[{index}].where", drawing.where), (f"plots[{index}].over", [drawing.over])]
    for key, names in chosen:
        for name in names:
            if name not in study.axes:
                known = f"{did_you_mean(name, study.axes)}; there are {', '.join(study.axes) or 'none'}"
                yield key, f"no axis is named {name!r}{known}"


def _wrong_sizes(study: Study) -> Iterator[tuple[str, str]]:
    if study.warmup_blocks >= study.blocks:
        yield "warmup_blocks", f"{study.warmup_blocks} must be below blocks, which is {study.blocks}"


def matching(study: Study, arms: Sequence[Arm], choice: Mapping[str, Value]) -> list[int]:
    """Return the arms with these values of axes, by index."""
    names = [*study.axes]
    wanted = [(names.index(name), str(value)) for name, value in choice.items()]
    return [index for index, arm in enumerate(arms) if all(arm.values[place] == value for place, value in wanted)]
