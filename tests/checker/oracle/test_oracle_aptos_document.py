"""The tests of AIP-125's own code on a chain, with the oracle beside it: each by its number in our list of them.

The figures of the document are held in tests/conformance; here each story goes through blocks, and every receipt, key
and root is the oracle's. A token's expiry on the way in (14) shows at the turn: what is inserted has a new token.
"""

from collections import Counter

import pytest

from scheduler import TransactionFailed
from scheduler.aptos_records import DEPOSITS
from tests.support.queue_plans import CLERKS, run, run_queue, script, sending
from tests.support.racers import consult
from validators.execution import decode_receipt
from validators.execution.blocks import CancelAll, SystemControlService
from validators.execution.receipts import Emitted, TransactionReceipt

A, B = CLERKS[:2]
GAS = 3_000


def put(price=200, delay=1, payload=b"", name=b"a", payer=None):
    """Return a clerk's step that inserts an entry."""
    return ["schedule", name, delay, payload, payer, GAS, None, [price]]


def told(*steps, actor=A):
    """Return a transaction in which a clerk does this, and goes on behind what is refused."""
    return 0, run(actor, list(steps), {})


def serve(action, batch=0):
    return 0, sending(SystemControlService(action, batch))


def block(*wanted, after_ms=1_000):
    return list(wanted), after_ms


REVOKED = 0, sending(CancelAll(A))
AGAIN = script([put(300)])
NEXT = block()
LATER = block(after_ms=25_000)
FAR = 20

CASES = {
    1: (
        [
            block(told(*(put(price) for price in (200, 300, 100)))),
            block(told(*(put(delay=2) for _ in range(3))), told(*(put(delay=6) for _ in range(2)), actor=B)),
            *[NEXT] * 3,
            LATER,
        ],
        {"ready_limit": 2, "cancel_lead_ms": 0},
        {"TransactionScheduled": 8, "TimerFired": 6, "Expired": 2},
    ),
    2: ([block(told(put(delay=0)))], {}, {"EINVALID_TIME": 1}),
    3: ([block(told(put(payer=B)))], {}, {"EINVALID_SIGNER": 1}),
    4: (
        [block(told(put(delay=FAR), ["hand", b"a", B, 9_000])), block(told(["cancel", b"noted"], actor=B))],
        {},
        {"EINVALID_SIGNER": 1},
    ),
    5: ([block(serve("start_shutdown"), told(put()))], {}, {"EUNAVAILABLE": 1, "ShutdownEvent": 1}),
    6: (
        [
            block(told(*(put() for _ in range(6))), told(*(put() for _ in range(6)), actor=B)),
            block(serve("start_shutdown"), *[serve("continue_shutdown")] * 3),
            block(serve("re_initialize"), told(put())),
        ],
        {"ready_limit": 4, "shutdown_batch": 3},
        {"TimerFired": 4, "Shutdown": 8, "ShutdownEvent": 2, "TransactionScheduled": 13},
    ),
    7: (
        [block(told(put(delay=2)), serve("pause")), NEXT, block(serve("unpause")), NEXT],
        {},
        {"ServiceStatusChanged": 2, "TimerFired": 1},
    ),
    8: ([block(serve("pause"), serve("pause"))], {}, {"EINVALID_PAUSE_ATTEMPT": 1}),
    9: ([block(serve("unpause"))], {}, {"EINVALID_UNPAUSE_ATTEMPT": 1}),
    10: ([block(serve("pause"), told(put()))], {}, {"EUNAVAILABLE": 1}),
    11: (
        [block(told(put(), put())), NEXT, NEXT],
        {"token_lifetime_ms": 11_000},
        {"TransactionScheduled": 2, "TimerFired": 2},
    ),
    12: ([block(told(put(delay=FAR), ["cancel", b"a"]))], {}, {"TransactionCancelled": 1}),
    13: ([block(told(put(300, delay=FAR))), block(told(["cancel", b"a"]))], {}, {"TransactionCancelled": 1}),
    14: ([block(told(put(delay=2))), NEXT, NEXT], {"token_lifetime_ms": 2_000}, {"AuthExpired": 1}),
    15: ([block(told(put(delay=2)))], {"token_lifetime_ms": 999}, {"EAUTH_TOKEN_INSUFFICIENT_DURATION": 1}),
    16: (
        [block(told(put(payload=AGAIN), put(delay=2))), block(REVOKED), NEXT, NEXT],
        {},
        {"AuthorizationRaised": 1, "AuthExpired": 2, "TimerFired": 1},
    ),
    17: ([block(REVOKED)], {}, {"EAUTH_NUM_NOT_FOUND": 1}),
    18: ([block(told(put(payload=AGAIN))), NEXT, NEXT, NEXT], {}, {"TransactionScheduled": 2, "TimerFired": 2}),
    19: ([block(told(put(payload=AGAIN))), NEXT, NEXT], {"token_reschedules": False}, {"EAUTH_NUM_MISMATCH": 1}),
    20: (
        [block(told(put(200), put(300))), NEXT, block(serve("start_shutdown"), serve("continue_shutdown"))],
        {"base_gas": 0},
        {"TimerFired": 2, "ShutdownEvent": 2},
    ),
    21: (
        [block(told(*(put(delay=2) for _ in range(3)))), block(REVOKED), NEXT],
        {},
        {"AuthorizationRaised": 1, "AuthExpired": 3},
    ),
    22: ([block(told(put(300), put(300), put(200))), NEXT, NEXT], {"profile": "early"}, {"TimerFired": 3}),
    23: ([block(told(put(payload=script([["fail", "no"]], 0)))), NEXT, NEXT], {}, {"TimerFired": 1, "Failed": 1}),
    24: (
        [block(told(put(), ["cancel", b"a"])), NEXT, block(told(["cancel", b"a"]))],
        {},
        {"ECANCEL_TOO_LATE": 1, "TimerFired": 1, "UnknownTimer": 1},
    ),
    25: ([block(told(put(delay=FAR))), block(told(["cancel", b"a"])), LATER], {}, {"TransactionCancelled": 1}),
    26: ([block(told(put(300, delay=FAR), ["cancel", b"a"]))], {"profile": "aip"}, {"TransactionCancelled": 1}),
    27: ([block(told(put(payload=script([["pay", DEPOSITS, 5]], 0)))), NEXT, NEXT], {}, {"Failed": 1}),
    28: (
        [block(told(put(payload=AGAIN))), NEXT, NEXT, NEXT],
        {"profile": "aip"},
        {"TransactionScheduled": 2, "TimerFired": 2},
    ),
}
"""Blocks, parameters beside those of `latest`, and how often what is told of then."""


def happenings(chain):
    """Return how often each event, each code of a failure and each refusal stands in the receipts of some blocks."""
    found = Counter()
    for receipt in (decode_receipt(encoded) for executed in chain for encoded in executed.receipts):
        is_call = isinstance(receipt, TransactionReceipt)
        for event in receipt.events if is_call else (receipt.event,):
            found[type(event).__name__] += 1
            if isinstance(event, TransactionFailed):
                found[event.code.value] += 1
            elif isinstance(event, Emitted):
                found[event.data.decode(errors="replace").split(":")[0]] += 1
        found[receipt.error.split(":")[0] if is_call else ""] += 1
    return found


@pytest.mark.parametrize("number", CASES)
def test_the_oracle_agrees_with_each_story_of_the_document(number):
    plan, own, expected = CASES[number]
    timers = {"max_timers_per_actor": 64, "max_cells_per_fire": 600}
    genesis, chain = run_queue(plan, {"profile": "latest"} | own, timers=timers)
    result = consult(genesis, chain)

    found = happenings(chain)
    assert {name: found[name] for name in expected} == expected, found
    assert result.status == "passed", result.summary


def test_every_story_is_told():
    assert list(CASES) == list(range(1, 29))
