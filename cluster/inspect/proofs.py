"""Proof files: a key and its value at one height of a recorded run, with all that is needed to check them.

A file is a JSON object (`ProofDocument`). It holds a block's header and a key-value proof that leads to the header's
state root. The file does not tie the header to a chain: a verifier compares the header with a trusted root or run.
Files are not trusted: reading takes bounded memory, and a malformed file raises ProofError.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from checker.record.cold_replay import load_genesis, replay_heights
from checker.record.errors import ReportedError
from checker.record.places import OwnFile
from checker.record.plain_files import UnsuitableFileError, read_plain
from checker.record.run_directory import DamagedRecordError, RecordReader, read_final_blocks
from checker.tables import TABLE_NAMES, describe_key, describe_value
from cluster.verdict.replay import naming_changed_code
from validators.execution import (
    Engine,
    Header,
    InvalidBlockError,
    InvalidEncodingError,
    InvalidGenesisError,
    UnknownParentError,
)
from validators.execution.blocks import Uint, decode_header, encode_header, header_digest
from validators.state import AbsentKey, verify_key

FORMAT: Final = 1
"""The version of the form of a proof file."""

PROOF: Final = OwnFile(b'{\n  "kind": "stampede-proof",', "proof file")

FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest proof file in bytes: a value comes from a transaction of at most 2 MiB, two digits for each byte."""

_SHOWN_CHARACTERS: Final = 2_000
_SHOWN_KEYS: Final = 3

Hexadecimal = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]*\Z")]
Hexadecimal32 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


class ProofError(ReportedError):
    """A proof cannot be made for a request, or a file is not a proof; the message is a single line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class ProofDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A proof file. Bytes stand in lower-case hexadecimal digits.

    Attributes:
        kind: Marks a file as a proof of this program.
        format: Version of this layout; a reader refuses every other version.
        chain_id: The chain's name in its genesis.
        height: The header's height.
        header: The block's encoded header (docs/chain.md).
        key: The state key (docs/state.md).
        value: The encoded value.
        proof: The key-value proof (docs/state.md).
        digest: SHA-256 of the msgpack array of all other fields in this order, so that an accident shows.
    """

    kind: Literal["stampede-proof"] = "stampede-proof"
    format: Literal[1] = FORMAT
    chain_id: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z", max_length=64)]
    height: Uint
    header: Hexadecimal
    key: Hexadecimal32
    value: Hexadecimal
    proof: Hexadecimal
    digest: Hexadecimal32


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """A proof file as bytes and header."""

    chain_id: str
    height: int
    header: Header
    key: bytes
    value: bytes
    proof: bytes
    is_whole: bool = True

    @property
    def block(self) -> bytes:
        """The digest of the block."""
        return header_digest(self.header)


def prove(directory: Path, height: int, key: bytes) -> Proof:
    """Replay a recorded run up to a height and prove a key's value there.

    Raises:
        CodeChangedError: Other code wrote the record, and this code cannot replay it.
        DamagedRecordError: The run directory cannot be used, or its blocks cannot be replayed.
        ProofError: The run has no such height, or the state no such key.
    """
    reader = RecordReader(directory)
    with naming_changed_code(reader):
        engine = _replay_to(reader, height)
    try:
        proof = engine.database.prove_key(key)
    except AbsentKey:
        raise ProofError(f"{show_key(key)} has no value at height {height}; {_present_keys(engine, key)}") from None
    value = engine.database.get(key)
    assert value is not None, "what is proved has a value"
    return Proof(
        chain_id=load_genesis(directory).chain_id,
        height=height,
        header=engine.finalized,
        key=key,
        value=value,
        proof=proof,
    )


def find_flaw(proof: Proof) -> str:
    """Return why a proof does not hold by itself, or nothing."""
    if not verify_key(proof.proof, proof.header.state_root, proof.key, proof.value):
        return "the proof does not lead from key and value to the header's state root"
    if proof.height != proof.header.height:
        return f"the file speaks of height {proof.height}, its header of {proof.header.height}"
    if not proof.is_whole:
        return "the file's digest is not that of its content"
    return ""


def find_difference(proof: Proof, directory: Path) -> str:
    """Return in what a proof differs from a recorded run, or nothing; raises DamagedRecordError or CodeChangedError."""
    reader = RecordReader(directory)
    with naming_changed_code(reader):
        chain_id = load_genesis(directory).chain_id
        recorded = _recorded_header(reader, proof.header.height)
    if proof.chain_id != chain_id:
        return f"the file speaks of the chain {proof.chain_id}, {directory} is a run of {chain_id}"
    if recorded is None:
        return f"{directory} has no block at height {proof.header.height}"
    if recorded != proof.header:
        return f"block {proof.block.hex()} is not {directory}'s {header_digest(recorded).hex()} at this height"
    return ""


def encode_proof(proof: Proof) -> bytes:
    """Return the file of a proof."""
    document = ProofDocument(
        chain_id=proof.chain_id,
        height=proof.height,
        header=encode_header(proof.header).hex(),
        key=proof.key.hex(),
        value=proof.value.hex(),
        proof=proof.proof.hex(),
        digest=bytes(32).hex(),
    )
    sealed = msgspec.structs.replace(document, digest=_digest_of(document))
    return msgspec.json.format(msgspec.json.encode(sealed), indent=2) + b"\n"


def read_proof(path: Path) -> Proof:
    """Return the proof in a file, unverified; raises ProofError if the file is not a proof."""
    try:
        return decode_proof(read_plain(path, FILE_BYTES_MAX))
    except FileNotFoundError:
        raise ProofError(f"{path}: no such proof file") from None
    except UnsuitableFileError as error:
        raise ProofError(str(error)) from None
    except ProofError as error:
        raise ProofError(f"{path}: {error}") from None


def decode_proof(content: bytes) -> Proof:
    """Decode the content of a proof file; raises ProofError."""
    try:
        document = msgspec.json.decode(content, type=ProofDocument, strict=True)
        return Proof(
            chain_id=document.chain_id,
            height=document.height,
            header=decode_header(bytes.fromhex(document.header)),
            key=bytes.fromhex(document.key),
            value=bytes.fromhex(document.value),
            proof=bytes.fromhex(document.proof),
            is_whole=document.digest == _digest_of(document),
        )
    # An odd number of digits is a ValueError, and so is text that is no UTF-8.
    except (msgspec.MsgspecError, ValueError, RecursionError, InvalidEncodingError) as error:
        raise ProofError(f"not a proof file: {error}") from None


def show_key(key: bytes) -> str:
    """Return table and identity of a key."""
    return _printable(describe_key(key))


def show_value(value: bytes) -> str:
    """Return a value's fields as text that is safe to print."""
    try:
        return _printable(describe_value(value))
    except RecursionError:
        return f"undecodable, {len(value)} bytes"


def _printable(text: str) -> str:
    # Names in the state come from transactions, so characters that would move a terminal's cursor are escaped.
    escaped = text if text.isascii() and text.isprintable() else ascii(text)[1:-1]
    return escaped if len(escaped) <= _SHOWN_CHARACTERS else f"{escaped[:_SHOWN_CHARACTERS]}... (cut)"


def _digest_of(document: ProofDocument) -> str:
    fields = msgspec.structs.astuple(document)[:-1]
    return hashlib.sha256(msgspec.msgpack.encode(fields)).hexdigest()


def _replay_to(reader: RecordReader, height: int) -> Engine:
    reached = -1
    try:
        for engine in replay_heights(reader.path):
            reached = engine.finalized.height
            if reached == height:
                return engine
    except (InvalidBlockError, InvalidEncodingError, InvalidGenesisError, UnknownParentError) as error:
        place = f"blocks.msgpack at height {reached + 1}" if reached >= 0 else "genesis.msgpack"
        raise DamagedRecordError(reader.path, place, f"cannot be replayed: {error}") from None
    raise ProofError(f"{reader.path} has no height {height}; it goes from 0 to {reached}")


def _recorded_header(reader: RecordReader, height: int) -> Header | None:
    if height == 0:
        return _replay_to(reader, 0).finalized
    return next((block.header for record, block in read_final_blocks(reader.path) if record.height == height), None)


def _present_keys(engine: Engine, absent: bytes) -> str:
    """Say which keys there are instead: some of the same table, or the tables."""
    keys = [key for key, _ in engine.database.items()]
    same = [key for key in keys if key[0] == absent[0]]
    if same:
        some = ", ".join(f"{key.hex()} ({show_key(key)})" for key in same[:_SHOWN_KEYS])
        return f"of this table there are {len(same):,}: {some}{', ...' if len(same) > _SHOWN_KEYS else ''}"
    tables = sorted({TABLE_NAMES.get(key[0], "unknown") for key in keys})
    return f"this table is empty then, others are not: {', '.join(tables)}"
