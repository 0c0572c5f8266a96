"""The cases of the workload `boundary-cases` about the queue of scheduled transactions: each refusal of its calls."""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final

from cluster.workloads.boundary.scripts import Attempt, Bench, Case, script_of, sent, timer
from scheduler import MAX_U63
from scheduler.aptos_keys import KEY_PARTS_BYTES
from scheduler.aptos_records import DEPOSITS, AptosConfig
from validators.execution.blocks import CancelAll, SystemControlService, Transfer

FAR: Final = 60
"""Slots to an entry that can always still be cancelled."""

GAS: Final = 3_000


def _insertions(bench: Bench) -> Iterable[Attempt]:
    """Entries that are too early, cheap, small, long or dear, or have a foreign payer or an early expiry."""
    own = bench.site.queue or AptosConfig()
    yield bench.run(
        timer(b"q", 0, gas=GAS),
        timer(b"q", FAR, gas=GAS, payer=bench.bookkeeper),
        timer(b"q", FAR, gas=GAS, terms=[own.min_price - 1]),
        timer(b"q", FAR, gas=own.min_gas - 1),
        *(timer(b"q", FAR, gas=GAS, ttl=ttl) for ttl in (FAR - 1, MAX_U63 // 2)),
        timer(b"q", FAR, gas=GAS, terms=[MAX_U63]),
        timer(b"q", MAX_U63 // bench.site.slot_ms, gas=GAS),
    )
    yield bench.run(timer(b"q", FAR, bytes(own.max_size_bytes), gas=GAS))
    yield bench.run(timer(b"q", FAR, gas=GAS), on=bench.poor)


def _cancellations(bench: Bench) -> Iterable[Attempt]:
    """Cancellations that are too late, by a stranger, by a part of the entry's key, or for extended entries."""
    yield bench.run(
        timer(b"near", 3, gas=GAS),
        ("cancel", b"near"),
        timer(b"far", FAR, gas=GAS),
        ("extend", b"far", FAR + 9),
        ("hand", b"far", bench.poor, 1_000),
        *(("copy", b"far", b"part", KEY_PARTS_BYTES), ("cancel", b"part"), ("extend", b"part", FAR + 9)),
    )
    yield bench.run(("cancel", b"noted"), on=bench.poor, pause_ms=1_300)


def _signers(bench: Bench) -> Iterable[Attempt]:
    """Entries whose handlers see no sender: the first asks for it, the second does not, the third does both."""
    inner = script_of(("tell", "ran", b""), timer(b"next", 2, gas=GAS, pass_signer=False))
    named = b'{"_handler":"run","_payload":"%b"}' % b64encode(inner)
    payloads = (b"", b'{"_handler":"note","_payload":"YWJj"}', named)
    yield bench.run(*(timer(b"s", 2, payload, gas=3 * GAS, pass_signer=False) for payload in payloads))


def _service(bench: Bench) -> Iterator[Attempt]:
    """Each instruction in another state of the service, and calls while the service is paused."""
    for action in ("unpause", "continue_shutdown", "re_initialize", "stop", "pause", "pause", "start_shutdown"):
        yield Attempt(SystemControlService(action, 0))
    yield bench.run(timer(b"q", FAR, gas=GAS), ("cancel", b"far"))
    yield Attempt(SystemControlService("unpause", 0))
    yield Attempt(SystemControlService("pause", 0), is_from_stranger=True)


def _numbers(bench: Bench) -> Iterator[Attempt]:
    """Authorization numbers that are raised by a stranger, for actors without a number, and by the owner."""
    yield Attempt(CancelAll(bench.scripted), is_from_stranger=True)
    yield sent(CancelAll(bench.poor))
    yield Attempt(CancelAll(bench.others["heartbeat"]))
    yield Attempt(CancelAll(bench.scripted))


def _reserved(bench: Bench) -> Iterator[Attempt]:
    """Units for the account of the deposits."""
    yield bench.run(("pay", DEPOSITS, 1))
    yield Attempt(Transfer(DEPOSITS, 1))


QUEUE_CASES: Final[tuple[Case, ...]] = (_insertions, _cancellations, _service, _numbers, _reserved, _signers)
"""Groups of transactions about the queue."""
