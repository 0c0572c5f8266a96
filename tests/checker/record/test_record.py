"""The run directory: complete or not there at all, and nothing in it can hurt its reader."""

import hashlib
import json

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.record.fingerprint import Code, this_code
from checker.record.manifest import MANIFEST, SCENARIO
from checker.record.run_directory import (
    BLOCKS,
    EVENTS,
    GENESIS,
    REQUIRED_FILES,
    ROOTS,
    DamagedRecordError,
    RecordExistsError,
    RecordReader,
    RecordWriter,
    describe_event,
    first_difference,
    iterate_events,
    read_blocks,
    read_genesis,
)
from network.events import Event
from tests.support.events import logged
from tests.support.records import DIGEST, LOG, ROOT, encode, finished
from validators.events import CertificateHeld


def fill(writer, log=None):
    return finished(writer, log=log)


@pytest.fixture
def run(tmp_path):
    with RecordWriter(tmp_path / "run") as writer:
        return fill(writer)


def replace(run, name, content, *, is_listed=True):
    """Put other content in a file; with `is_listed` the manifest says that it belongs there."""
    (run / name).write_bytes(content)
    if is_listed:
        manifest = json.loads((run / MANIFEST).read_text())
        digest = hashlib.sha256(content).hexdigest()
        manifest["files"][name] = {"size": len(content), "sha256": digest}
        if name == EVENTS:
            manifest["digest"] = digest
        (run / MANIFEST).write_text(json.dumps(manifest))


def damage_of(run, read=lambda reader: None):
    with pytest.raises(DamagedRecordError) as caught:
        read(RecordReader(run))
    assert "\n" not in str(caught.value)
    return caught.value


class TestRoundTrip:
    def test_what_was_written_is_read(self, run):
        """Every part comes back as it went in."""
        reader = RecordReader(run)

        assert (reader.scenario(), reader.genesis()) == (b"{}\n", b"genesis")
        assert [(block.height, block.block) for block in reader.blocks()] == [(1, b"one"), (2, b"two")]
        assert [(root.node, root.height) for root in reader.roots()] == [(3, 1)]
        assert [[event.at_us, event.node, event.kind, *event.values] for event in reader.events()] == LOG
        assert reader.verdict() == {"verdict": "passed", "checks": []}
        assert (reader.manifest.scenario, reader.manifest.seed) == ("calm", 7)

    def test_it_says_which_code_wrote_it(self, run):
        """Fingerprint, commit and Python; a record of the format before says the last alone."""
        code = RecordReader(run).manifest.code
        manifest = json.loads((run / MANIFEST).read_text()) | {"format": 1}
        del manifest["fingerprint"], manifest["commit"]
        (run / MANIFEST).write_text(json.dumps(manifest))

        assert code == this_code()
        assert RecordReader(run).manifest.code == Code(python=this_code().python)

    def test_files_beside_the_required_ones_are_covered(self, tmp_path):
        """A file that a run adds is in the manifest like everything else."""
        with RecordWriter(tmp_path / "run") as writer:
            writer.write_file("reopened.json", b"{}")
            run = fill(writer)
        replace(run, "reopened.json", b"[]", is_listed=False)

        assert damage_of(run).place == "reopened.json"

    def test_the_page_is_a_view_that_can_be_made_again(self, tmp_path):
        """It is no evidence, and an explanation replaces it without touching what is."""
        with RecordWriter(tmp_path / "run") as writer:
            writer.write_file("report.html", b"<p>")
            run = fill(writer)
        (run / "report.html").write_bytes(b"<p>explained")

        assert "report.html" not in RecordReader(run).manifest.files

    def test_an_unfinished_directory_serves_the_cold_replay(self, tmp_path):
        """Genesis and blocks can be read before there is a manifest."""
        with RecordWriter(tmp_path / "run") as writer:
            writer.write_genesis(b"genesis")
            writer.add_block(height=1, digest=DIGEST, root=ROOT, block=b"one")
            writer.flush()

            assert read_genesis(writer.directory) == b"genesis"
            assert [block.block for block in read_blocks(writer.directory)] == [b"one"]


class TestPlace:
    def test_nothing_is_left_of_an_unfinished_run(self, tmp_path):
        """A run that breaks off leaves neither a directory nor a half of one."""
        with RecordWriter(tmp_path / "run") as writer:
            writer.add_events(encode(LOG))

        assert list(tmp_path.iterdir()) == []

    def test_only_the_finished_directory_is_left(self, run, tmp_path):
        """The temporary sibling is gone after the end."""
        assert list(tmp_path.iterdir()) == [run]

    def test_a_run_directory_is_replaced(self, run, tmp_path):
        """A second run may have the first one's place."""
        with RecordWriter(run) as writer:
            fill(writer, encode(LOG[:1]))

        assert len(list(RecordReader(run).events())) == 1
        assert list(tmp_path.iterdir()) == [run]

    @pytest.mark.parametrize("name", ["notes.txt", MANIFEST])
    def test_a_foreign_directory_is_refused(self, tmp_path, name):
        """A directory that is not a run's is never overwritten, and nothing is written beside it."""
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / name).write_text("{}")

        with pytest.raises(RecordExistsError, match="holds no run"):
            RecordWriter(tmp_path / "run")
        assert [path.name for path in tmp_path.iterdir()] == ["run"]

    def test_a_file_in_its_place_is_refused(self, tmp_path):
        """Neither is a file."""
        (tmp_path / "run").write_text("mine")

        with pytest.raises(RecordExistsError):
            RecordWriter(tmp_path / "run")


class TestDamage:
    def test_a_missing_directory(self, tmp_path):
        """A path that does not exist is reported as such."""
        assert damage_of(tmp_path / "nowhere").reason == "no such run directory"

    @pytest.mark.parametrize("name", REQUIRED_FILES)
    def test_a_missing_file(self, run, name):
        """Each required file is missed by name."""
        (run / name).unlink()

        damage = damage_of(run)

        assert (damage.place, damage.reason) == (name, "missing")

    @pytest.mark.parametrize("name", REQUIRED_FILES)
    def test_a_changed_byte(self, run, name):
        """A byte that differs from the manifest's checksum is found before anything is read."""
        content = bytearray((run / name).read_bytes())
        content[len(content) // 2] ^= 1
        replace(run, name, bytes(content), is_listed=False)

        damage = damage_of(run)

        assert damage.place == name
        assert "SHA-256" in damage.reason

    def test_a_file_cut_short(self, run):
        """Sizes are compared first."""
        replace(run, EVENTS, encode(LOG)[:-1], is_listed=False)

        assert "bytes instead of" in damage_of(run).reason

    @pytest.mark.parametrize(
        "change",
        [
            {"kind": "other"},
            {"format": 3},
            {"fingerprint": "ab"},
            {"commit": "a b"},
            {"python": "\x1b[2J"},
            {"seed": "7"},
            {"seed": -1},
            {"digest": "zz"},
            {"more": 1},
            {"files": {}},
            {"files": {"../secret": {"size": 0, "sha256": "0" * 64}}},
            {"digest": "0" * 64},
        ],
    )
    def test_a_manifest_that_says_something_else(self, run, change):
        """Version, types, names and the digest of the log are all checked."""
        manifest = json.loads((run / MANIFEST).read_text()) | change
        (run / MANIFEST).write_text(json.dumps(manifest))

        assert damage_of(run).place == MANIFEST

    @pytest.mark.parametrize("content", [b"", b"[", b"\xff", b"[" * 100_000, b'{"kind":' * 5_000, b" " * 2_000_000])
    def test_a_manifest_that_is_no_manifest(self, run, content):
        """Garbage, deep nesting and oversize are one clear line."""
        (run / MANIFEST).write_bytes(content)

        assert damage_of(run).place == MANIFEST

    def test_a_verdict_that_is_no_object(self, run):
        """The verdict is a JSON object."""
        replace(run, "verdict.json", b"[" * 100_000)

        assert damage_of(run, lambda reader: reader.verdict()).place == "verdict.json"

    def test_a_stream_cut_inside_a_record(self, run):
        """A manifest that fits a truncated stream does not hide the truncation."""
        whole = encode(LOG)
        replace(run, EVENTS, whole[:-1])

        damage = damage_of(run, lambda reader: list(reader.events()))

        assert damage.place == f"{EVENTS} at byte {len(encode(LOG[:2]))}"
        assert "no whole record" in damage.reason

    @pytest.mark.parametrize(
        "record",
        [
            b"\xc1",
            b"\x93\x00\x00",
            b"\xc6\xff\xff\xff\xff",
            b"\xdd\xff\xff\xff\xff",
            b"\xdf\xff\xff\xff\xff",
            b"\x81\x01\x01",
            b"\xd6\xff\x00\x00\x00\x01",
            b"\xc7\x01\x05x",
            b"\x91" * 100_000,
            b"\x01",
            msgspec.msgpack.encode([1, 2]),
            msgspec.msgpack.encode(["1", 2, "vote"]),
            msgspec.msgpack.encode([-1, 2, "vote"]),
            msgspec.msgpack.encode([1, -2, "vote"]),
            msgspec.msgpack.encode([1, True, "vote"]),
            msgspec.msgpack.encode([1, 2, b"vote"]),
            msgspec.msgpack.encode([1, 2, "vote", 1.5]),
            msgspec.msgpack.encode([1, 2, "vote", {"a": 1}]),
            msgspec.msgpack.encode([1, 2, "vote", [[[[[1]]]]]]),
            b"\x93\x01\x02\xa2\xff\xff",
        ],
    )
    def test_an_event_that_is_none(self, run, record):
        """Wrong types, hostile lengths, nesting and extensions are refused with the byte where they begin."""
        good = encode(LOG)
        replace(run, EVENTS, good + record)

        damage = damage_of(run, lambda reader: list(reader.events()))

        assert damage.place == f"{EVENTS} at byte {len(good)}"

    def test_an_event_that_is_too_long(self, run):
        """One record may not need more memory than its limit."""
        replace(run, EVENTS, msgspec.msgpack.encode([1, 2, "vote", bytes(2 * 1024 * 1024)]))

        assert EVENTS in damage_of(run, lambda reader: list(reader.events())).place

    @pytest.mark.parametrize(
        "record",
        [
            [2, DIGEST, ROOT, b"two"],
            [1, DIGEST[:31], ROOT, b""],
            [1, DIGEST, ROOT],
            [1, DIGEST, ROOT, "text"],
            ["1", DIGEST, ROOT, b""],
            [1, DIGEST, ROOT, b"", 0],
        ],
    )
    def test_a_block_that_is_none(self, run, record):
        """Blocks have their four fields and ascend from height 1."""
        replace(run, BLOCKS, msgspec.msgpack.encode(record))

        assert damage_of(run, lambda reader: list(reader.blocks())).place == f"{BLOCKS} at byte 0"

    def test_a_root_that_is_none(self, run):
        """Roots have their four fields."""
        replace(run, ROOTS, msgspec.msgpack.encode([-1, 1, DIGEST, ROOT]))

        assert damage_of(run, lambda reader: list(reader.roots())).place == f"{ROOTS} at byte 0"

    @given(content=st.binary(max_size=200))
    def test_arbitrary_bytes_never_raise_anything_else(self, tmp_path_factory, content):
        """Whatever a stream holds, it is read or refused with one line."""
        directory = tmp_path_factory.mktemp("run")
        with RecordWriter(directory / "run") as writer:
            run = fill(writer, content)
        reader = RecordReader(run)
        try:
            events = list(reader.events())
        except DamagedRecordError as damage:
            message = str(damage)
            events = None

        if events is None:
            assert "\n" not in message
        else:
            again = msgpack.Unpacker(raw=False)
            again.feed(content)
            assert [[event.at_us, event.node, event.kind, *event.values] for event in events] == list(again)

    def test_directories_in_the_place_of_files(self, run):
        """A directory is not a file."""
        (run / GENESIS).unlink()
        (run / GENESIS).mkdir()

        assert damage_of(run).place == GENESIS

    def test_the_scenario_is_not_interpreted(self, run):
        """The scenario is handed out as bytes; its decoder checks it."""
        replace(run, SCENARIO, b"\x00")

        assert RecordReader(run).scenario() == b"\x00"


class TestFirstDifference:
    def test_equal_logs_have_none(self, run):
        """A log is equal to itself, read from memory or from disk."""
        assert first_difference(RecordReader(run).events(), iterate_events(encode(LOG))) is None

    def test_the_first_event_that_differs_is_shown_from_both_sides(self):
        """The index and both events, decoded, are reported."""
        other = [LOG[0], [5, 2, "vote", "nullify", 3, b""], LOG[2]]

        difference = first_difference(iterate_events(encode(LOG)), iterate_events(encode(other)))

        assert difference is not None
        assert difference.index == 1
        assert difference.first == f"0.000005 s validator 2 vote notarize 3 {DIGEST.hex()}"
        assert difference.second == "0.000005 s validator 2 vote nullify 3 "

    @pytest.mark.parametrize("is_first_shorter", [True, False])
    def test_a_log_that_ends_sooner_differs_there(self, is_first_shorter):
        """The end of the shorter log is the difference."""
        logs = [LOG[:2], LOG]
        first, second = logs if is_first_shorter else logs[::-1]

        difference = first_difference(iterate_events(encode(first)), iterate_events(encode(second)))

        assert difference is not None
        assert difference.index == 2
        assert "(no more events)" in (difference.first, difference.second)

    def test_encoded_and_decoded_events_compare(self):
        """A log may be given as encoded records; tuples and lists are the same thing in a log."""
        encoded = [msgspec.msgpack.encode(event) for event in LOG]
        decoded = [logged(*event) for event in LOG]
        tupled = [decoded[0], decoded[1], Event(9, 0, CertificateHeld("x", 3, b"", (0, 1, 2)))]

        assert first_difference(encoded, decoded) is None
        assert first_difference(decoded, tupled) is None

    def test_a_log_in_memory_that_is_cut_is_refused(self):
        """A torn log does not pass for a shorter one."""
        with pytest.raises(ValueError, match="no whole event"):
            list(iterate_events(encode(LOG)[:-1]))

    def test_long_values_are_cut_and_lists_are_shown(self):
        """A line stays a line."""
        line = describe_event(logged(1_500_000, -1, "fault", bytes(40), (1, "a")))

        assert line == f"1.500000 s supervisor fault {'00' * 32}...(40 bytes) [1 a]"
