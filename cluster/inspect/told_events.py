"""The events that the application of a recorded run told for the run's blocks, from the recorded answers."""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from checker.record.run_directory import RecordReader
from cluster.outside.answers import AnswerFields, Event
from cluster.outside.conversation import ROOT_BYTES
from cluster.outside.frames import FRAMINGS, FrameError, Framing
from cluster.outside.hosting.calls import NO_ANSWER, CallRecord, CallStep, read_content
from cluster.scenario.load import decode_scenario
from cluster.verdict.replay import naming_changed_code, recorded_calls


class ToldEvents:
    """The events of each block by its id and root, as the first replica with this root told them.

    Args:
        record: The calls of the run.
        framings: By build, the form of its frames.
    """

    def __init__(self, record: CallRecord, framings: Mapping[str, Framing]) -> None:
        self._contents = record.contents
        self._framings = framings
        self._told: dict[tuple[bytes, bytes], tuple[Event, ...]] = {}
        self.at_genesis: tuple[Event, ...] = ()
        for node, steps in sorted(record.steps.items()):
            if node >= 0:
                self._read(steps)

    def of(self, digest: bytes, root: bytes) -> tuple[Event, ...] | None:
        """Return the events of a block, None where no replica came to this root of it."""
        return self._told.get((digest, root))

    def _read(self, steps: list[CallStep]) -> None:
        # A final block was executed by a quorum, so the proposer's own answer adds nothing.
        framings: dict[int, Framing] = {}
        for step in steps:
            if step.what == "begin":
                framings[step.process] = self._framings[step.build]
            if step.answer == NO_ANSWER or step.names not in {("genesis",), ("execute",)}:
                continue
            framing = framings[step.process]
            answer = self._fields(step.answer, framing)
            # An unusable answer told nothing: the run has lost the application over it, or the block is invalid.
            with suppress(FrameError):
                root, events = answer.byte_string("root", ROOT_BYTES), answer.events()
                if step.names == ("genesis",):
                    self.at_genesis = self.at_genesis or events
                else:
                    self._told.setdefault((self._fields(step.request, framing).byte_string("id"), root), events)

    def _fields(self, place: int, framing: Framing) -> AnswerFields:
        return AnswerFields(read_content(framing, self._contents[place]), framing)


def told_events_of(reader: RecordReader) -> ToldEvents | None:
    """Return the events of a record's application; None for a run of this project's own engine, in or out of process.

    Raises:
        CallRecordError: The record of the calls cannot be read.
        CodeChangedError: Other code wrote the record, and this code cannot read its scenario.
        ScenarioError: This code wrote it, and the scenario cannot be read.
    """
    calls = recorded_calls(reader)
    if calls is None:
        return None
    with naming_changed_code(reader):
        section = decode_scenario(reader.scenario(), str(reader.path)).foreign_application
    if section is None:
        return None
    return ToldEvents(calls, {build.name: FRAMINGS[build.framing] for build in section.all_builds})


def told_blocks(reader: RecordReader, told: ToldEvents) -> Iterator[tuple[int, tuple[Event, ...]]]:
    """Yield the height and events of each final block, after those of genesis.

    Raises:
        LookupError: No recorded answer has a block's root.
    """
    yield 0, told.at_genesis
    for record in reader.blocks():
        events = told.of(record.digest, record.root)
        if events is None:
            raise LookupError(f"height {record.height}: no recorded answer has the block's root")
        yield record.height, events
