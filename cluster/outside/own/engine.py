"""The execution engine behind the calls of the protocol: it gives answers' fields, and its caller makes frames."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from checker.record.plain_files import read_plain
from cluster.outside.conversation import FEATURES, PIECE_BYTES_MAX
from cluster.outside.frames import Framing
from cluster.outside.own.application import GENESIS_BYTES_MAX, Fields, OwnApplication
from cluster.outside.own.events import EventTeller
from cluster.outside.own.scheduler_engine import answer_by_engine
from cluster.outside.own.state_engine import answer_state
from cluster.runtime.directory_disk import DirectoryDisk
from scheduler import Timer
from validators.execution import (
    ApplyMode,
    Engine,
    Executed,
    Genesis,
    InvalidBlockError,
    InvalidEncodingError,
    ProposalContext,
)
from validators.execution.blocks import Block, Header, decode_transaction, encode_header, header_digest
from validators.execution.schema import TIMERS
from validators.identity import TransactionVerifier
from validators.restored import RestoredLog, StateBase
from validators.settings import make_engine
from validators.state import Database
from validators.storage import FinalizedEntry, FinalizedLog


class EngineApplication(OwnApplication):
    """A life of the engine as an application."""

    def __init__(self, framing: Framing, version: str) -> None:
        super().__init__(framing, version)
        self._verifier = TransactionVerifier()
        self._pieces: list[bytes] = []
        self._attempt: Executed | None = None
        # A block whose roots are not its header's is not kept; a reader of the difference asks for its entries.
        self._differing: tuple[bytes, Executed] | None = None
        self._genesis_file: Path
        self._genesis: Genesis
        self._engine: Engine
        self._log: FinalizedLog
        self._disk: DirectoryDisk
        self._teller: EventTeller
        self._calls |= {
            "hello": self._hello,
            "genesis": self._begin,
            "load": self._load,
            "state": lambda ask: {"answer": answer_state(ask["case"])},
            "adopted": self._adopt,
            "check": self._check,
            "propose": self._propose,
            "execute": self._execute,
            "finalize": self._finalize,
            # A dropped block is removed with the next final block; until then it may return, with the same answer.
            "drop": lambda _ask: {},
            "apply": self._apply,
            "rewind": self._rewind,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "entries": self._entries,
            "scheduler": lambda ask: self._run_timers(ask, answer_by_engine),
        }

    def _hello(self, ask: Mapping[str, Any]) -> Fields:
        said = self._greet(ask, "stampede", FEATURES)
        if ask["node"] is None:
            return said
        self._genesis_file = Path(ask["directory"]) / "genesis"
        # In a folder below its own, since a disk holds only plain files.
        self._disk = DirectoryDisk(Path(ask["directory"]) / "disk")
        self._log = FinalizedLog(self._disk)
        contents = self._log.recover()
        if not ask["resume"]:
            return said
        if not self._genesis_file.exists():
            return said | {"height": None}
        base = b"" if contents.base is None else contents.base.encoded
        self._open(read_plain(self._genesis_file, GENESIS_BYTES_MAX), RestoredLog(base, contents.entries))
        final = self._engine.finalized
        return said | {"height": final.height, "id": self._engine.finalized_digest, "root": final.state_root}

    def _begin(self, ask: Mapping[str, Any]) -> Fields:
        self._open(self._given_genesis(ask), RestoredLog())
        return {"root": self._engine.finalized.state_root, "events": [], "receipts": []}

    def _load(self, ask: Mapping[str, Any]) -> Fields:
        """Open the engine at a block whose state is one batch on an empty log."""
        header, entries = self._header(ask["header"]), self._loaded_entries(ask)
        if header_digest(header) != self._bytes(ask["id"]):
            return {"error": "load: the id is not the digest of the header"}
        database = Database()
        batch = database.batch()
        for key, value in entries:
            batch.write(key, value)
        batch.merkleize()
        database.apply(batch)
        # A block cannot stand on another root than its parent's header has; the test bed compares the roots.
        if database.canonical_root == header.state_root:
            base = msgspec.msgpack.encode(StateBase(encode_header(header), database.snapshot()))
            self._open(self._given_genesis(ask), RestoredLog(base))
        return {"root": database.canonical_root}

    def _adopt(self, ask: Mapping[str, Any]) -> Fields:
        header = self._header(ask["header"])
        if header.height == 0 and header != self._engine.finalized:
            # The test bed's chain begins with another header than the engine's own: the engine's state is put below
            # that header.
            base = msgspec.msgpack.encode(StateBase(encode_header(header), self._engine.snapshot()))
            self._log.install(height=0, encoded=base)
            self._open(msgspec.msgpack.encode(self._genesis), RestoredLog(base))
        if header.height == 0:
            self._keep()
        return {}

    def _check(self, ask: Mapping[str, Any]) -> Fields:
        try:
            transaction = decode_transaction(self._bytes(ask["transaction"]))
        except InvalidEncodingError as error:
            return {"refused": str(error)}
        return {"ok": True} if self._verifier(transaction) else {"refused": "the signature is not the sender's"}

    def _propose(self, ask: Mapping[str, Any]) -> Fields:
        header = ask["header"]
        context = ProposalContext(
            parent=self._bytes(ask["parent"]),
            view=header["view"],
            proposer=header["proposer"],
            timestamp_ms=header["timestamp_ms"],
        )
        candidates = [decode_transaction(self._bytes(each)) for each in ask["transactions"]]
        made = self._engine.propose(context, candidates)
        return {"payload": list(made.block.transactions), **self._told(made)}

    def _execute(self, ask: Mapping[str, Any]) -> Fields:
        header = self._header(ask["header"])
        self._attempt = None
        try:
            made = self._engine.execute(Block(header, tuple(map(self._bytes, ask["payload"]))))
        except InvalidBlockError as error:
            if self._attempt is None:
                return {"invalid": error.reason}
            # Only its roots differ from the header's roots: the test bed compares them.
            made = self._attempt
            self._differing = header_digest(header), made
        return self._told(made)

    def _finalize(self, ask: Mapping[str, Any]) -> Fields:
        digest = self._bytes(ask["id"])
        for made in self._engine.path_to(digest):
            entry = FinalizedEntry(made.header.height, made.digest, encode_header(made.header), made.log_entry)
            self._log.append(entry)
        self._disk.finish_sync(self._disk.begin_sync())
        self._engine.finalize(digest)
        self._teller.finalize(digest)
        return {}

    def _apply(self, ask: Mapping[str, Any]) -> Fields:
        self._engine.certify(self._bytes(ask["id"]))
        return {}

    def _rewind(self, ask: Mapping[str, Any]) -> Fields:
        self._engine.rewind_to_finalized()
        # The engine applies a block together with its ancestors, so that it stands at the requested block.
        if (to := self._bytes(ask["to"])) != self._engine.finalized_digest:
            self._engine.certify(to)
        return {}

    def _snapshot(self, ask: Mapping[str, Any]) -> Fields:
        if "piece" not in ask:
            base = StateBase(encode_header(self._engine.finalized), self._engine.snapshot())
            # With the genesis: the test bed does not send it to a process that restores.
            content = msgspec.msgpack.encode((msgspec.msgpack.encode(self._genesis), msgspec.msgpack.encode(base)))
            self._pieces = [content[at : at + PIECE_BYTES_MAX] for at in range(0, len(content), PIECE_BYTES_MAX)]
            return {"pieces": len(self._pieces)}
        return {"bytes": self._pieces[ask["piece"]]}

    def _restore(self, ask: Mapping[str, Any]) -> Fields:
        if ask["piece"] == 0:
            self._pieces = []
        self._pieces.append(self._bytes(ask["bytes"]))
        if len(self._pieces) < ask["of"]:
            return {}
        genesis, base = msgspec.msgpack.decode(b"".join(self._pieces), type=tuple[bytes, bytes])
        self._open(genesis, RestoredLog(base))
        self._log.install(height=self._engine.finalized.height, encoded=base)
        self._keep()
        return {"root": self._engine.database.canonical_root}

    def _entries(self, ask: Mapping[str, Any]) -> Fields:
        digest, after = self._bytes(ask["id"]), self._bytes(ask["after"])
        self._engine.rewind_to_finalized()
        values: dict[bytes, bytes | None] = dict(self._engine.database.items())
        for made in self._path_to(digest):
            values |= made.changes
        found = sorted((key, value) for key, value in values.items() if value is not None and key > after)
        return {"entries": [[key, value] for key, value in found[: ask["limit"]]]}

    def _path_to(self, digest: bytes) -> list[Executed]:
        """Return the blocks from the final one up to a block, which may be the last one with differing roots."""
        if digest == self._engine.finalized_digest:
            return []
        if self._differing is not None and digest == self._differing[0]:
            made = self._differing[1]
            return [*self._path_to(made.header.parent), made]
        return self._engine.path_to(digest)

    def _keep(self) -> None:
        """Keep the genesis for the next life, once a block can be resumed."""
        self._disk.finish_sync(self._disk.begin_sync())
        self._genesis_file.write_bytes(msgspec.msgpack.encode(self._genesis))

    def _header(self, told: Mapping[str, Any]) -> Header:
        return Header(**self._header_fields(told))

    def _open(self, encoded: bytes, log: RestoredLog) -> None:
        """Open the engine at a log."""
        genesis = msgspec.msgpack.decode(encoded, type=Genesis)
        mode = ApplyMode(apply="certified", retain_blocks=self._hail["retain_blocks"])
        engine = make_engine(genesis, self._verifier, log, apply_mode=mode)
        engine.on_executed = self._note
        self._genesis, self._engine = genesis, engine
        waiting = {
            timer.timer_id.hex(): timer.due
            for key, stored in engine.database.items()
            if key[0] == TIMERS.code
            for timer in (msgspec.msgpack.decode(stored, type=Timer),)
        }
        self._teller = EventTeller(engine.finalized_digest, self._present(engine.finalized), waiting)

    def _note(self, executed: Executed) -> None:
        self._attempt = executed

    def _told(self, made: Executed) -> Fields:
        present = self._present(made.header)
        events = self._teller.tell(made.digest, made.events, parent=made.header.parent, present=present)
        told: Fields = {"root": made.root, "events": list(events), "receipts": list(made.receipts)}
        return told | self._cost(lambda costs: made.cost_us(costs, 0))

    def _present(self, header: Header) -> int:
        return header.slot if self._genesis.timebase == "slot" else header.height
