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


def test_every_row_of_part_f_has_a_test_by_name():
    """Those of docs/spec.md stand in this folder, and no row from F-1 to F-13 is without one."""
    spec = (PROJECT_ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (F-\d+)[^\n]*`(test_f\d+_\w+)` \|$", spec, re.MULTILINE)
    found = sorted((PROJECT_ROOT / "tests" / "scheduler").glob("test_aptos*.py"))
    defined = "".join(path.read_text(encoding="utf-8") for path in found)

    assert {rule for rule, _ in rows} == {f"F-{number}" for number in range(1, 14)}
    named = {rule: name.split("_")[1] for rule, name in rows}
    assert named == {rule: rule.lower().replace("-", "") for rule in named}
    assert [name for _, name in rows if f"def {name}(" not in defined] == []
