"""The schema of all records that are stored or sent, read off their types: as a program it writes docs/records.txt.

The file is compared before it is written. Where a record of a group differs and the group's version does not, the file
stays, and the program names the constant to raise (exit code 1).
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_origin

import msgspec
from msgspec import inspect

from checker.oracle.consensus.calls import TAGGED
from checker.record import manifest, run_directory, stream_files, streams
from checker.record.fingerprint import Code
from checker.record.root import PROJECT_ROOT
from checker.results import CheckResult
from cluster.campaign.corpus import folder
from cluster.differential import case_files
from cluster.fixtures import cases, state_form
from cluster.fixtures.chain_forms import BlockAnswer, BlockInput, HistoryAnswer, HistoryInput
from cluster.fixtures.scheduler_form import SchedulerAnswer, SchedulerInput
from cluster.inspect import proofs
from cluster.outside.hosting import calls
from cluster.reference.events import below, events_by_room
from cluster.runtime import data_directory
from network.events import TraceEvent
from scheduler.policies import PLUG_IN_TAGS
from validators import restored
from validators.actors.orders import Order
from validators.consensus.registry import ENGINES
from validators.execution import BlockSummary, blocks
from validators.execution.genesis import Genesis
from validators.execution.receipts import Receipt
from validators.execution.schema import all_tables
from validators.messages import message_types
from validators.storage import files
from validators.storage.journal import JournalHead

PATH: Final = PROJECT_ROOT / "docs" / "records.txt"

_HEAD: Final = """\
# Every record that is stored or sent, by the version that it belongs to: form, fields in order, types, defaults.
# `python -m cluster.reference.records` writes this file. It refuses a changed record whose version is not new.
# A new name that leaves every byte in place needs no version: write the name here by hand.
# A form is closed where a reader refuses unknown fields. Numbers of a default are as JSON writes them, bytes in base64.
# Layouts without a type are in docs/storage.md (frames), docs/state.md (operations, proofs) and docs/application.md."""

PLACES: Final = "places"
"""The name of the lines that say where a group's types stand."""

_NOTHING: Final = "nothing"

Lines: TypeAlias = dict[str, list[str]]
"""The lines of a group by record, each `name: text`."""


class RecordGroup(NamedTuple):
    """Records that share a version.

    Attributes:
        name: Its name, unique.
        module: The module of its version.
        constant: The name of its version.
        kinds: Types that stand for themselves.
        places: By the place where a type stands, the type; or its text, where msgspec cannot read it.
        grows: Whether readers skip unknown records, and lacking fields at the end that have a default.
    """

    name: str
    module: ModuleType
    constant: str
    kinds: Sequence[Any] = ()
    places: Mapping[str, Any] = MappingProxyType({})
    grows: bool = False

    @property
    def file(self) -> str:
        """The file of its version."""
        return self.module.__name__.replace(".", "/") + ".py"

    @property
    def version(self) -> str:
        """Its version as text."""
        return repr(getattr(self.module, self.constant))


def groups() -> Iterator[RecordGroup]:
    """Yield all groups. Tables of the code give the types, so that an added message or table is in its group."""
    for engine in ENGINES.values():
        yield RecordGroup(f"messages of {engine.name}", blocks, "VERSION", message_types(engine))
    kinds = (Genesis, blocks.Transaction, blocks.Block, blocks.SealedRecord, Receipt)
    seals = {f"seal of {engine.name}": engine.seal for engine in ENGINES.values() if engine.seal is not None}
    yield RecordGroup("blocks", blocks, "VERSION", kinds, seals)
    own = (kind for kind in below(Order) if kind.__module__.startswith("validators."))
    yield RecordGroup("orders of built-in programs", blocks, "VERSION", tuple(own))
    tables = [table for code, table in all_tables().items() if code not in PLUG_IN_TAGS]
    yield RecordGroup("state", blocks, "VERSION", places={f"0x{it.code:02x} {it.name}": it.record for it in tables})
    yield RecordGroup("data directory", data_directory, "FORMAT", places=_data_directory())
    yield RecordGroup("run directory", manifest, "FORMAT", places=_run_directory())
    events = [event for room in events_by_room().values() for event in room]
    yield RecordGroup("events of a run", manifest, "FORMAT", events, grows=True)
    yield RecordGroup("calls of an application", calls, "FORMAT", (calls.CallRecord,))
    yield RecordGroup("corpus", folder, "FORMAT", (folder.Listing,))
    yield RecordGroup("proof", proofs, "FORMAT", (proofs.ProofDocument,))
    yield RecordGroup("differential case", case_files, "FORMAT", (case_files.CaseFile,))
    asked = (state_form.StateInput, SchedulerInput, BlockInput, HistoryInput)
    answers = (*get_args(state_form.StateAnswer), SchedulerAnswer, BlockAnswer, HistoryAnswer)
    yield RecordGroup("case of the rules", cases, "FORMAT", (cases.Case, *asked, *answers))


def _data_directory() -> dict[str, Any]:
    journals = {
        f"journal of {engine.name}, {kind.__name__} after {prefix.hex() or _NOTHING}": kind
        for engine in ENGINES.values()
        for kind, prefix in engine.records.prefixes.items()
    }
    return {
        "stampede.json": data_directory.DirectoryManifest,
        "code.jsonl, as a map": Code,
        "watch": data_directory.WatchEntry,
        **{f"watch, values of {kind}": values for kind, values in data_directory.WATCH_ENTRIES.items()},
        **{f"watch-faults, values of {kind}": values for kind, values in data_directory.FAULT_ENTRIES.items()},
        "journal, head": JournalHead,
        **journals,
        "blocks": files.StoredBlock,
        "operations": files.FinalizedEntry,
        "snapshot": files.LogBase,
        "snapshot, encoded base": restored.StateBase,
    }


def _run_directory() -> dict[str, Any]:
    # Their fields alone: msgspec reads no union of named tuples.
    engine_calls = {
        f"{stream_files.ENGINE_CALLS}, {name}": ", ".join(signature(TAGGED[name]).parameters) for name in TAGGED
    }
    return {
        manifest.MANIFEST: manifest.Manifest,
        run_directory.VERDICT: run_directory.VerdictParts,
        f"{run_directory.VERDICT}, checks": tuple[CheckResult, ...],
        stream_files.BLOCKS: streams.BlockRecord,
        stream_files.BRANCHES: streams.BranchRecord,
        stream_files.ROOTS: streams.RootRecord,
        stream_files.SUMMARIES: BlockSummary,
        stream_files.WAITS: streams.WaitRecord,
        **engine_calls,
    }


class RecordWalk:
    """All records that a group's types lead to.

    Attributes:
        kinds: The types by name.
        lines: What the file says of the group.
    """

    def __init__(self, group: RecordGroup) -> None:
        self.kinds: dict[str, type[Any]] = {}
        records: Lines = {}
        self._records = records
        places = [
            f"{place}: {kind if isinstance(kind, str) else self._text(inspect.type_info(kind))}"
            for place, kind in sorted(group.places.items())
        ]
        for kind in group.kinds:
            self._text(inspect.type_info(kind))
        self.lines: Final[Lines] = {**({PLACES: places} if places else {}), **dict(sorted(records.items()))}

    def _named(self, kind: Any) -> str:  # noqa: ANN401 - types with a name have no common base
        cls = get_origin(kind.cls) or kind.cls
        name: str = cls.__name__
        known = self.kinds.setdefault(name, cls)
        assert known is cls, f"{cls} and {known} have one name in a group"
        if name not in self._records:
            lines = self._records[name] = [f"form: {_form(kind, cls)}"]
            if isinstance(kind, inspect.EnumType):
                lines += [f"{each.name}: {each.value!r}" for each in cls]
            else:
                lines += [f"{each.encode_name}: {self._text(each.type)}{_default(each)}" for each in kind.fields]
        return name

    def _text(self, kind: inspect.Type | inspect.Metadata) -> str:
        match kind:
            case inspect.StructType() | inspect.NamedTupleType() | inspect.DataclassType() | inspect.EnumType():
                base = self._named(kind)
            case inspect.Metadata(bare):
                base = self._text(bare)
            case inspect.UnionType(types):
                base = " | ".join(sorted(map(self._text, types)))
            case inspect.TupleType(items):
                base = f"tuple[{', '.join(map(self._text, items))}]"
            case inspect.VarTupleType(item) | inspect.ListType(item):
                base = f"array[{self._text(item)}]"
            case inspect.DictType(key, value):
                base = f"map[{self._text(key)}, {self._text(value)}]"
            case _:
                base = _plain(kind)
        limits = [f"{name}={getattr(kind, name)!r}" for name in _LIMITS if getattr(kind, name, None) is not None]
        return f"{base}({', '.join(limits)})" if limits else base


_LIMITS: Final = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")


def _plain(kind: inspect.Type) -> str:
    match kind:
        case inspect.LiteralType(values):
            return f"literal({', '.join(map(repr, values))})"
        case inspect.AnyType():
            return "any"
        case inspect.CustomType(cls) if cls is object:
            return "any"
        case inspect.NoneType() | inspect.BoolType() | inspect.IntType() | inspect.StrType() | inspect.BytesType():
            return type(kind).__name__.removesuffix("Type").lower()
        case _:
            raise TypeError(f"{kind} has no text in {PATH.name}")


def _form(kind: inspect.Type, cls: type[Any]) -> str:
    if not isinstance(kind, inspect.StructType):
        return type(kind).__name__.removesuffix("Type").lower()
    parts = ["array" if kind.array_like else "map"]
    if issubclass(cls, TraceEvent):
        parts.append(f"kind {cls.kind!r}")
    if kind.tag is not None:
        parts.append(f"tag {kind.tag!r}" if kind.array_like else f"{kind.tag_field} {kind.tag!r}")
    return ", ".join((*parts, "closed") if kind.forbid_unknown_fields else parts)


def _default(field: inspect.Field) -> str:
    if field.required:
        return ""
    is_made = field.default is msgspec.NODEFAULT
    value = field.default_factory() if is_made else field.default
    return f" = {msgspec.json.encode(value, order='sorted').decode()}"


def page(every: Sequence[RecordGroup]) -> Iterator[str]:
    """Yield the lines of docs/records.txt."""
    yield from _HEAD.splitlines()
    for group in every:
        yield from ("", f"== {group.name}: {group.constant} of {group.file} = {group.version}")
        for record, lines in RecordWalk(group).lines.items():
            yield from ("", record)
            yield from (f"  {line}" for line in lines)


def refusals(written: str, every: Sequence[RecordGroup]) -> list[str]:
    """Return a sentence for each record that differs from the written file without a new version of its group."""
    known = _read(written)
    found = []
    for group in every:
        version, before = known.get(group.name, ("", {}))
        if version != group.version:
            continue
        lines = RecordWalk(group).lines
        for record in sorted({**before, **lines}):
            difference = _difference(before.get(record, []), lines.get(record, []), grows=group.grows)
            if difference is not None:
                name, expected, other = difference
                place = f"{PATH.name}: {group.name}: {record}, {name}: expected {expected}, found {other}"
                found.append(f"{place}; a changed record needs a new version: raise {group.constant} in {group.file}")
    return found


def _read(written: str) -> dict[str, tuple[str, Lines]]:
    """Return version and lines of each group of a file."""
    read: dict[str, tuple[str, Lines]] = {}
    records: Lines = {}
    record = ""
    for line in written.splitlines():
        if line.startswith("== "):
            name, _, rest = line[3:].partition(": ")
            records = {}
            read[name] = rest.rpartition(" = ")[2], records
        elif line.startswith("  "):
            records.setdefault(record, []).append(line[2:])
        else:
            record = line
    return read


def _difference(before: list[str], now: list[str], *, grows: bool) -> tuple[str, str, str] | None:
    """Return the first difference: the name of the line, its text before, and its text now."""
    added = now[len(before) :]
    is_read = not added or (grows and (not before or all(" = " in line for line in added)))
    if is_read and before == now[: len(before)]:
        return None
    old, new = (dict(line.split(": ", 1) for line in lines) for lines in (before, now))
    name = next((name for name in (*old, *new) if old.get(name) != new.get(name)), None)
    if name is None:
        return "order", ", ".join(old), ", ".join(new)
    return name, old.get(name, _NOTHING), new.get(name, _NOTHING)


def write(path: Path, every: Sequence[RecordGroup]) -> int:
    """Write the file, unless a record differs without a new version; return the exit code."""
    refused = refusals(path.read_text(encoding="utf-8"), every) if path.exists() else []
    if refused:
        sys.stderr.write("".join(f"{sentence}\n" for sentence in refused))
        return 1
    path.write_text("".join(f"{line}\n" for line in page(every)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(write(PATH, tuple(groups())))
