"""The bytes of scheduled transactions, written out from docs/state.md; and that each row of part F has its test."""

import hashlib
import re

import pytest

from checker.record.root import PROJECT_ROOT
from scheduler.aptos_records import QUEUE_ENTRY
from tests.support.queue_bench import QueueBench

A = bytes(range(1, 21))
PADDED = bytes(12) + A


def le8(number):
    return number.to_bytes(8, "little")


def be8(number):
    return number.to_bytes(8, "big")


FUNCTION = PADDED + b"\x0chandle_timer" + b"\x03abc"
TOKEN = b"\x01" + le8(2**63 - 1) + le8(1)


@pytest.mark.parametrize(
    ("profile", "tail"),
    [
        ("aip", b"\x01" + b"\x00" + FUNCTION + le8(0)),
        ("early", b"\x01" + b"\x00" + FUNCTION + le8(0)),
        ("latest", le8(10_000) + b"\x01" + FUNCTION + le8(0) + TOKEN),
    ],
)
def test_f1_an_entry_has_the_fields_of_the_structure(profile, tail):
    """Sender, time, gas, price, then `pass_signer` or the expiry, then the function with the token that it has."""
    bench = QueueBench({"profile": profile})
    bench.ledger.balances[A] = 10**12
    bench.at_ms(1_000)
    entry = bench.insert(A, 2, b"abc", price=300, gas=400)
    head = PADDED + le8(2_000) + le8(400) + le8(300)

    assert entry == hashlib.sha3_256(head + tail).digest()
    assert bench.state.of(QUEUE_ENTRY)[0].key == be8(2_000) + be8(2**64 - 1 - 300) + entry


def test_k37_the_signer_is_stated_in_the_bytes():
    bench = QueueBench()
    bench.ledger.balances[A] = 10**12
    bench.at_ms(1_000)
    entry = bench.insert(A, 2, b"abc", price=300, gas=400, pass_signer=False)
    head = PADDED + le8(2_000) + le8(400) + le8(300)

    assert entry == hashlib.sha3_256(head + b"\x00\x00" + FUNCTION + le8(0)).digest()
    assert not bench.state.of(QUEUE_ENTRY)[0].pass_signer


def test_every_rule_of_part_f_has_a_test_by_name():
    """The rules F-1 to F-13 of docs/rules.md, and tests of this folder."""
    page = (PROJECT_ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    rules = re.findall(r"^- \*\*F-(\d+)\*\* ", page, re.MULTILINE)
    found = sorted((PROJECT_ROOT / "tests" / "scheduler").glob("test_aptos*.py"))
    defined = "".join(path.read_text(encoding="utf-8") for path in found)

    assert rules == [str(number) for number in range(1, 14)]
    assert [number for number in rules if f"def test_f{number}_" not in defined] == []
