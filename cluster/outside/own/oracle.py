"""The oracle behind the calls of the protocol: a second implementation that shares no execution with the engine.

It keeps the whole state of each block that may still become final. On disk it keeps the final blocks, and the next life
executes them again from genesis. It gives no snapshots: a replica of the engine could not read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from checker.oracle.blocks import OracleChain, Result, is_signed
from checker.oracle.contents import Contents
from checker.oracle.headers import InvalidBlockError, present_of
from checker.oracle.reading import read_contents
from checker.oracle.records import (
    MAX_BLOCK_BYTES,
    Header,
    MalformedError,
    read_block,
    read_genesis,
    read_transaction,
    write,
)
from checker.oracle.replay import unknown_to_the_oracle
from checker.record.plain_files import read_plain
from cluster.outside.frames import Framing
from cluster.outside.own.application import GENESIS_BYTES_MAX, Fields, OwnApplication
from cluster.outside.own.events import EventTeller
from cluster.outside.own.scheduler_oracle import answer_by_oracle
from cluster.outside.own.state_oracle import answer_state
from validators.execution.receipts import TransactionReceipt, decode_receipt

NAME: Final = "stampede oracle"
FEATURES: Final = ("check", "forks", "entries", "describe", "transactions")


@dataclass(frozen=True, slots=True)
class _Made:
    """A block with the chain's state after it, and its answer."""

    chain: OracleChain
    payload: tuple[bytes, ...]
    answer: Fields


class OracleApplication(OwnApplication):
    """A life of the oracle as an application."""

    def __init__(self, framing: Framing, version: str) -> None:
        super().__init__(framing, version)
        self._directory: Path
        self._genesis: bytes
        self._teller: EventTeller
        self._made: dict[bytes, _Made] = {}
        self._final = b""
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
            "drop": self._drop,
            "entries": self._entries,
            "scheduler": lambda ask: self._run_timers(ask, answer_by_oracle),
        }

    def _hello(self, ask: Mapping[str, Any]) -> Fields:
        said = self._greet(ask, NAME, FEATURES)
        if ask["node"] is None:
            return said
        self._directory = Path(ask["directory"])
        if not ask["resume"]:
            return said
        if not self._file(0).exists():
            return said | {"height": None}
        # The genesis block is known only by its header, which is not the oracle's own in every test bed.
        first, _ = read_block(read_plain(self._file(0), MAX_BLOCK_BYTES))
        self._open(read_plain(self._directory / "genesis", GENESIS_BYTES_MAX), first)
        while self._file(height := self._header.height + 1).exists():
            header, payload = read_block(read_plain(self._file(height), MAX_BLOCK_BYTES))
            chain = self._made[self._final].chain.fork()
            self._keep(chain, tuple(payload), chain.execute(header, payload))
            self._settle(chain.digest)
        return said | {"height": self._header.height, "id": self._final, "root": self._header.state_root}

    def _begin(self, ask: Mapping[str, Any]) -> Fields:
        encoded = self._given_genesis(ask)
        unknown = unknown_to_the_oracle(read_genesis(encoded))
        if unknown:
            return {"error": f"the oracle does not know {unknown}"}
        self._open(encoded)
        return {"root": self._header.state_root, "events": [], "receipts": []}

    def _load(self, ask: Mapping[str, Any]) -> Fields:
        """Begin at a block whose state is one batch on an empty log."""
        header, entries = self._read_header(ask), self._loaded_entries(ask)
        contents = read_contents(dict(entries))
        if header.state_root == (root := contents.log.canonical_root()):
            self._open(self._given_genesis(ask), header, contents)
            if self._final != self._bytes(ask["id"]):
                return {"error": "load: the id is not the digest of the header"}
        return {"root": root}

    def _adopt(self, ask: Mapping[str, Any]) -> Fields:
        header = self._read_header(ask)
        if header.height == 0:
            self._open(self._genesis, header)
            self._put(self._directory / "genesis", self._genesis)
            # Last: a block at this place can be resumed.
            self._put(self._file(0), write([header, []]))
        return {}

    def _check(self, ask: Mapping[str, Any]) -> Fields:
        try:
            transaction = read_transaction(self._bytes(ask["transaction"]))
        except MalformedError as error:
            return {"refused": str(error)}
        return {"ok": True} if is_signed(transaction) else {"refused": "the signature is not the sender's"}

    def _propose(self, ask: Mapping[str, Any]) -> Fields:
        """Leave out invalid candidates one by one until none is left: the candidates before stay unchanged."""
        parent, draft = self._made[self._bytes(ask["parent"])].chain, self._read_header(ask)
        payload = list(map(self._bytes, ask["transactions"]))
        while True:
            chain = parent.fork()
            try:
                result = chain.execute(draft, payload)
            except InvalidBlockError as error:
                kind, _, place = error.what.partition(" ")
                if kind != "transaction":
                    raise
                del payload[int(place)]
            else:
                break
        chain.header = draft._replace(
            state_root=result.state_root, tx_root=result.tx_root, receipts_root=result.receipts_root
        )
        return {"payload": list(payload), **self._keep(chain, tuple(payload), result)}

    def _execute(self, ask: Mapping[str, Any]) -> Fields:
        known = self._made.get(self._bytes(ask["id"]))
        if known is not None:
            return known.answer
        chain = self._made[self._bytes(ask["parent"])].chain.fork()
        header, payload = self._read_header(ask), list(map(self._bytes, ask["payload"]))
        try:
            result = chain.execute(header, payload)
        except InvalidBlockError as error:
            return {"invalid": f"{error.what}: {error}"}
        if result.tx_root != header.tx_root:
            return {"invalid": "the payload is not that of the header's tx_root"}
        return self._keep(chain, tuple(payload), result)

    def _finalize(self, ask: Mapping[str, Any]) -> Fields:
        digest = self._bytes(ask["id"])
        path = [self._made[digest]]
        while (parent := path[-1].chain.header.parent) != self._final:
            path.append(self._made[parent])
        for made in reversed(path):
            header = made.chain.header
            self._put(self._file(header.height), write([header, made.payload]))
        self._settle(digest)
        return {}

    def _drop(self, ask: Mapping[str, Any]) -> Fields:
        gone = {self._bytes(ask["id"])}
        # Parents stand before their children.
        for digest, made in list(self._made.items()):
            if digest in gone or made.chain.header.parent in gone:
                gone.add(digest)
                del self._made[digest]
        return {}

    def _entries(self, ask: Mapping[str, Any]) -> Fields:
        after, values = self._bytes(ask["after"]), self._made[self._bytes(ask["id"])].chain.contents.log.values
        keys = sorted(key for key in values if key > after)
        return {"entries": [[key, values[key]] for key in keys[: ask["limit"]]]}

    # -- within --------------------------------------------------------------------------------

    @property
    def _header(self) -> Header:
        """The header of the final block."""
        return self._made[self._final].chain.header

    def _read_header(self, ask: Mapping[str, Any]) -> Header:
        return Header(**self._header_fields(ask["header"]))

    def _open(self, encoded: bytes, header: Header | None = None, contents: Contents | None = None) -> None:
        """Begin at genesis, whose header may differ from the oracle's own header, or at another block's state."""
        chain = OracleChain(read_genesis(encoded), encoded)
        if contents is not None:
            chain.contents, chain.units = contents, contents.units()
        chain.header = header or chain.header
        self._genesis, self._final = encoded, chain.digest
        self._made = {self._final: _Made(chain, (), {})}
        waiting = {timer_id.hex(): timer.due for timer_id, timer in chain.contents.timers.rows.items()}
        self._teller = EventTeller(self._final, present_of(chain.genesis, chain.header), waiting)

    def _keep(self, chain: OracleChain, payload: tuple[bytes, ...], result: Result) -> Fields:
        """Keep an executed block, and return its answer."""
        receipts = [write(receipt) for receipt in result.receipts]
        events: list[msgspec.Struct] = []
        for receipt in map(decode_receipt, receipts):
            events += receipt.events if isinstance(receipt, TransactionReceipt) else [receipt.event]
        told = self._teller.tell(
            chain.digest, events, parent=chain.header.parent, present=present_of(chain.genesis, chain.header)
        )
        counts = result.counts
        cycles = sum(counts[name] for name in ("cycles_used", "lane_cycles", "mailbox_cycles", "gc_cycles"))
        answer: Fields = {"root": result.state_root, "events": list(told), "receipts": list(receipts)}
        answer |= self._cost(lambda costs: costs.of_execution(cycles, len(result.changes), 0))
        self._made[chain.digest] = _Made(chain, payload, answer)
        return answer

    def _settle(self, digest: bytes) -> None:
        """Make a block final, and forget every other block that is not above it."""
        kept = {digest: self._made[digest]}
        for each, made in self._made.items():
            if made.chain.header.parent in kept:
                kept[each] = made
        self._made, self._final = kept, digest
        self._teller.finalize(digest)

    def _file(self, height: int) -> Path:
        return self._directory / f"block-{height}"

    def _put(self, path: Path, content: bytes) -> None:
        """Write a file that a killed process leaves complete or not at all."""
        new = self._directory / "new"
        new.write_bytes(content)
        new.replace(path)
