"""Proof files: what `prove` writes, `verify` accepts; what was changed, cut or made up is refused with one line."""

import hashlib
import json
import shutil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.cli.main import main
from cluster.cli.options import command_line
from cluster.inspect.proofs import ProofError, decode_proof, encode_proof, find_difference, find_flaw, prove, show_value
from cluster.inspect.state_keys import parse_state_key
from tests.support.cluster_runs import result_of
from tests.support.proof_bytes import flip
from tests.support.properties import examples
from validators.execution import schema
from validators.state import Database

HEIGHT = 3
BURNED = schema.BURNED.key()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the directory of a short run."""
    return result_of("calm", "run.until_height=4", runs=tmp_path_factory.mktemp("runs")).directory


@pytest.fixture(scope="module")
def proof(run):
    """Return the proof of the burned total."""
    return prove(run, HEIGHT, BURNED)


@pytest.fixture
def file(tmp_path, proof):
    """Return the path of a proof file that holds."""
    path = tmp_path / "proof.json"
    path.write_bytes(encode_proof(proof))
    return path


def say(capsys, *arguments):
    """Run a command line in this process; return exit code, standard output and standard error."""
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def refused(capsys, *arguments):
    """Return the one line with which a command line is refused as bad input."""
    code, out, err = say(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1, err
    return err


class TestProving:
    def test_a_file_holds_key_value_and_the_recorded_header(self, run, proof):
        """It survives writing and reading, and is of the run."""
        read = decode_proof(encode_proof(proof))

        assert read == proof
        assert (find_flaw(read), find_difference(read, run)) == ("", "")
        assert msgspec.msgpack.decode(read.value)[0] > 0

    def test_genesis_has_proofs_too(self, run):
        """Height 0 is a height like the others."""
        proof = prove(run, 0, BURNED)

        assert (find_flaw(proof), find_difference(proof, run)) == ("", "")
        assert msgspec.msgpack.decode(proof.value) == [0]

    def test_the_command_writes_a_file_that_verify_accepts(self, run, tmp_path, capsys):
        """Both say what is proved, decoded; verify says what it compared with."""
        path = tmp_path / "fees.json"
        code, out, _ = say(capsys, "prove", run, HEIGHT, "fee-market", "--out", path)
        assert (code, out.splitlines()[-1]) == (0, f"check it with: {command_line(['verify', str(path)])}")
        root = json.loads(say(capsys, "verify", path, "--json")[1])["state_root"]

        code, out, err = say(capsys, "verify", path, "--run", run, "--root", root.upper())

        assert (code, err) == (0, "")
        assert out.startswith(f"valid: fee market is [800 800] at height {HEIGHT} of calm\n")
        assert out.endswith(f"compared with root {root} and run {run}\n")

    def test_both_commands_answer_in_json(self, run, tmp_path, capsys):
        """One object each, with the same content."""
        path = tmp_path / "fees.json"

        written = json.loads(say(capsys, "prove", run, HEIGHT, "fee-market", "--out", path, "--json")[1])
        checked = json.loads(say(capsys, "verify", path, "--json")[1])

        assert written.pop("file") == str(path)
        assert (checked.pop("valid"), checked.pop("reason"), checked.pop("compared_with")) == (True, "", [])
        assert written == checked

    @pytest.mark.parametrize(
        ("height", "key", "expected"),
        [
            ("9", "burned", "has no height 9; it goes from 0 to 4"),
            ("3", "account:" + 40 * "0", "has no value at height 3; of this table there are"),
            ("3", "long-storage", "KEY 'long-storage' is not 64 hexadecimal digits; a key is 64"),
            ("3", 64 * "f", "this table is empty then, others are not: account, actor"),
            ("3", "account", "has 0 parts after the table; write account:ADDRESS"),
            ("3", "burned:1", "'burned:1' has 1 part after the table; write burned"),
            ("3", "bucket:-1", "DUE '-1' is not a whole number from 0 to 2^63 - 1"),
            ("3", "bucket:9223372036854775808", "is not a whole number"),
            ("3", "storage:" + 40 * "a" + ":abc", "BYTES 'abc' is not an even number of hexadecimal digits"),
            ("3", "purse:1", "'purse:1' names no table; a key is 64 hexadecimal digits, or one of account:ADDRESS"),
        ],
    )
    def test_what_is_not_there_is_refused_with_what_is(self, height, key, expected, run, tmp_path, capsys):
        """Exit 2, and nothing is written."""
        assert expected in refused(capsys, "prove", run, height, key, "--out", tmp_path / "proof.json")
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_no_proof_is_not_overwritten(self, run, file, capsys):
        """A proof file is."""
        assert say(capsys, "prove", run, 2, "burned", "--out", file)[0] == 0
        file.write_text("precious")

        assert "no proof file; give another path" in refused(capsys, "prove", run, 2, "burned", "--out", file)
        assert file.read_text() == "precious"

    def test_a_run_that_cannot_be_replayed_is_a_damaged_record(self, run, tmp_path, capsys):
        """A block changed together with the manifest's hash of it."""
        copy = tmp_path / "copy"
        shutil.copytree(run, copy)
        blocks = bytearray((copy / "blocks.msgpack").read_bytes())
        blocks[blocks.index(prove(run, 2, BURNED).header.state_root)] ^= 1
        place = blocks.index(prove(run, 2, BURNED).header.state_root)
        blocks[place] ^= 1
        (copy / "blocks.msgpack").write_bytes(blocks)
        manifest = json.loads((copy / "manifest.json").read_text())
        manifest["files"]["blocks.msgpack"]["sha256"] = hashlib.sha256(blocks).hexdigest()
        (copy / "manifest.json").write_text(json.dumps(manifest))

        assert "blocks.msgpack at height 2: cannot be replayed" in refused(capsys, "prove", copy, 3, "burned")


class TestKeys:
    @pytest.mark.parametrize(
        ("text", "key"),
        [
            ("account:" + 20 * "0A", schema.account_key(bytes([10]) * 20)),
            ("actor:" + 20 * "0b", schema.actor_key(bytes([11]) * 20)),
            ("storage:" + 20 * "0b" + ":", schema.storage_key(bytes([11]) * 20, b"")),
            ("storage:" + 20 * "0b" + ":" + 10 * "ff", schema.storage_key(bytes([11]) * 20, bytes([255]) * 10)),
            ("storage:" + 20 * "0b" + ":" + 11 * "ff", schema.long_storage_key(bytes([11]) * 20, bytes([255]) * 11)),
            ("timer:" + 32 * "0c", schema.timer_key(bytes([12]) * 32)),
            ("bucket:12", schema.bucket_key(12)),
            ("bucket-entry:12:3", schema.bucket_entry_key(12, 3)),
            ("timer-counts:" + 20 * "0b", schema.timer_counts_key(bytes([11]) * 20)),
            ("fee-market", schema.FEE_MARKET.key()),
            ("burned", schema.BURNED.key()),
            ("timer-configuration", schema.TIMER_CONFIG.key()),
            (32 * "0d", bytes([13]) * 32),
        ],
    )
    def test_each_form_names_its_key(self, text, key):
        """Digits may be of either case."""
        assert parse_state_key(text) == key


class TestChanges:
    @examples(100)
    @given(data=st.data())
    def test_a_file_is_refused_after_any_single_bit_flip(self, proof, data):
        """Wherever it is: names, digits, spaces."""
        content = encode_proof(proof)
        bit = data.draw(st.integers(0, 8 * len(content) - 1))

        try:
            changed = decode_proof(flip(content, bit))
        except ProofError:
            return
        assert find_flaw(changed)

    @examples(100)
    @given(data=st.data())
    def test_a_bit_flip_is_refused_also_when_the_file_is_sealed_anew(self, proof, data):
        """In the proof, the key, the value or the state root."""
        part = data.draw(st.sampled_from(["proof", "key", "value", "state_root"]))
        owner = proof.header if part == "state_root" else proof
        content = getattr(owner, part)
        changed = flip(content, data.draw(st.integers(0, 8 * len(content) - 1)))
        forged = msgspec.structs.replace(owner, **{part: changed})
        forged = msgspec.structs.replace(proof, header=forged) if part == "state_root" else forged

        assert "does not lead" in find_flaw(decode_proof(encode_proof(forged)))

    def test_a_changed_digit_of_the_proof_is_invalid_and_no_bad_input(self, file, capsys):
        """Exit 1, and the reason."""
        document = json.loads(file.read_text())
        document["value"] = document["value"][:-1] + ("0" if document["value"][-1] != "0" else "1")
        file.write_text(json.dumps(document))

        code, out, err = say(capsys, "verify", file)

        assert (code, err) == (1, "")
        assert out == "invalid: the proof does not lead from key and value to the header's state root\n"

    def test_another_root_is_invalid(self, file, capsys):
        """The root of --root is the one that counts."""
        code, out, _ = say(capsys, "verify", file, "--root", 64 * "0")

        assert code == 1
        assert out.startswith("invalid: the header's state root is")

    @pytest.mark.parametrize(
        ("fields", "reason"),
        [({"timestamp_ms": 1}, "is not"), ({"height": 90}, "has no block at height 90")],
    )
    def test_a_header_that_is_not_the_recorded_one_is_invalid(self, fields, reason, proof, run, file, capsys):
        """It holds by itself, since any header can be made around a root."""
        header = msgspec.structs.replace(proof.header, **fields)
        forged = msgspec.structs.replace(proof, header=header, height=header.height)
        file.write_bytes(encode_proof(forged))

        assert say(capsys, "verify", file)[0] == 0
        code, out, _ = say(capsys, "verify", file, "--run", run)
        assert code == 1
        assert reason in out

    def test_another_chain_is_invalid(self, proof, run, file, capsys):
        """The name in the file is compared with the run's genesis."""
        file.write_bytes(encode_proof(msgspec.structs.replace(proof, chain_id="other")))

        code, out, _ = say(capsys, "verify", file, "--run", run)

        assert code == 1
        assert "speaks of the chain other" in out

    def test_a_height_that_is_not_the_headers_is_invalid(self, proof):
        """The file names it for the reader only."""
        forged = decode_proof(encode_proof(msgspec.structs.replace(proof, height=7)))

        assert find_flaw(forged) == f"the file speaks of height 7, its header of {HEIGHT}"


class TestHostileFiles:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\0" * 100,
            b"\xff\xfe",
            b"[]",
            b"{}",
            b'{"kind": "stampede-proof"}',
            b"[" * 100_000,
            b'{"kind":' * 50_000,
            b'{"header": "' + b"a" * 3_000_000 + b'"}',
        ],
        ids=["empty", "zeros", "no text", "array", "nothing in it", "half", "deep", "deep in it", "long"],
    )
    def test_what_is_no_proof_file_is_one_clear_line(self, content, file, capsys):
        """Exit 2."""
        file.write_bytes(content)

        assert f"{file}: not a proof file: " in refused(capsys, "verify", file)

    @pytest.mark.parametrize(
        ("field", "value", "reason"),
        [
            ("kind", "stampede-run", "stampede-run"),
            ("format", 2, "format"),
            ("chain_id", "a\nb", "chain_id"),
            ("chain_id", "\ud800", "not a proof file"),
            ("height", 1 << 63, "height"),
            ("height", -1, "height"),
            ("header", "9b01", "not a proof file"),
            ("header", "", "not a proof file"),
            ("key", "00", "key"),
            ("value", "A0", "value"),
            ("value", "abc", "not a proof file"),
            ("proof", "0x", "proof"),
            ("extra", 1, "extra"),
        ],
    )
    def test_a_field_that_cannot_be_is_named(self, field, value, reason, file, capsys):
        """Exit 2."""
        document = json.loads(file.read_text())
        document[field] = value
        file.write_text(json.dumps(document))

        assert reason in refused(capsys, "verify", file)

    def test_a_truncated_file_is_bad_input(self, file, capsys):
        """Wherever it ends; the line feed at the end carries nothing."""
        content = file.read_bytes()
        for length in range(0, len(content) - 1, 97):
            file.write_bytes(content[:length])
            refused(capsys, "verify", file)

    def test_a_file_that_is_too_long_is_not_read_to_its_end(self, file, capsys):
        """A sparse file of a terabyte takes no memory."""
        with file.open("r+b") as opened:
            opened.truncate(1 << 40)

        assert "longer than 16,777,216 bytes" in refused(capsys, "verify", file)

    def test_a_directory_and_a_device_are_no_files(self, tmp_path, capsys):
        """Nothing is read from them."""
        assert "is a folder, and no plain file" in refused(capsys, "verify", tmp_path)
        assert "is a device, and no plain file" in refused(capsys, "verify", "/dev/zero")

    @pytest.mark.parametrize(
        "value",
        [msgspec.msgpack.encode(["\x1b[2J\nvalid: all\u202e"]), b"\x91\xdb\xff"],
        ids=["cursor", "short"],
    )
    def test_a_value_cannot_write_to_the_terminal(self, value, proof, file, capsys):
        """A proof that holds, over an invented state."""
        database = Database()
        batch = database.batch()
        batch.write(BURNED, value)
        batch.merkleize()
        database.apply(batch)
        header = msgspec.structs.replace(proof.header, state_root=database.canonical_root)
        forged = msgspec.structs.replace(proof, header=header, value=value, proof=database.prove_key(BURNED))
        file.write_bytes(encode_proof(forged))

        code, out, _ = say(capsys, "verify", file)

        assert code == 0
        assert len(out.splitlines()) == 5
        assert out.replace("\n", "").isprintable()
        assert out.isascii()

    def test_a_value_of_any_depth_is_shown_or_called_undecodable(self):
        """Reading and printing give up at different depths; neither is a traceback."""
        shown = [show_value(b"\x91" * depth + b"\xc0") for depth in range(500, 1_200)]

        assert all(text.startswith(("[[[", "undecodable")) for text in shown)
