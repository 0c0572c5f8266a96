"""The oracle names the first difference between a chain and what was made of it: block, receipt, key, root, budget."""

import msgspec
import pytest

from checker.oracle.contents import Contents
from checker.oracle.replay import OracleBlock, judge_oracle
from tests.support.oracle_runs import run_chain, write_crowded
from validators.execution.blocks import decode_block, encode_block

HEIGHT = 6
"""The height that tests change; its block has timers of every kind."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run's genesis and blocks, as plain values."""
    genesis, chain = run_chain(write_crowded(tmp_path_factory.mktemp("oracle")))
    blocks = [
        OracleBlock(
            encode_block(executed.block),
            list(executed.receipts),
            dict(executed.changes),
            msgspec.structs.asdict(executed.summary),
        )
        for executed in chain
    ]
    return msgspec.msgpack.encode(genesis), blocks


def judge_with(recorded, height, **changes):
    """Judge the chain with some fields of one block replaced."""
    genesis, blocks = recorded
    changed = list(blocks)
    changed[height - 1] = changed[height - 1]._replace(**changes)
    return judge_oracle(genesis, changed)


def with_header(recorded, **fields):
    """Judge the chain with some fields of one header replaced."""
    block = decode_block(recorded[1][HEIGHT - 1].block)
    header = msgspec.structs.replace(block.header, **fields)
    return judge_with(recorded, HEIGHT, block=encode_block(msgspec.structs.replace(block, header=header)))


def evidence_of(result):
    assert result.status == "failed"
    assert (result.name, result.exit_class) == ("oracle", "safety")
    return dict(result.evidence)


class TestReceipts:
    def test_a_changed_receipt_is_named_with_its_timer_and_both_values(self, recorded):
        """Height, index, event, timer, and the field on both sides."""
        receipts = list(recorded[1][HEIGHT - 1].receipts)
        index, event = next(
            (index, fields[1])
            for index, fields in enumerate(map(msgspec.msgpack.decode, receipts))
            if fields[0] == 1 and fields[1][0] == 1
        )
        burned = event[7]
        receipts[index] = msgspec.msgpack.encode([1, [*event[:7], burned + 1, *event[8:]]])

        result = judge_with(recorded, HEIGHT, receipts=receipts)

        evidence = evidence_of(result)
        assert (evidence["what"], evidence["height"], evidence["timer"]) == ("receipts", HEIGHT, event[1].hex())
        place = f"receipt {index}, TimerFired of timer {event[1].hex()}, burned"
        assert f"{place} is {burned} by the oracle and {burned + 1} in the run" in result.summary

    def test_a_missing_receipt_is_absent(self, recorded):
        """The last one of the block was left out."""
        result = judge_with(recorded, HEIGHT, receipts=recorded[1][HEIGHT - 1].receipts[:-1])

        assert evidence_of(result)["what"] == "receipts"
        assert "and absent in the run" in result.summary

    def test_a_receipt_too_many_is_absent_by_the_oracle(self, recorded):
        """Bytes that are not a receipt can be shown, too."""
        result = judge_with(recorded, HEIGHT, receipts=[*recorded[1][HEIGHT - 1].receipts, b"\xc1"])

        assert "no receipt is absent by the oracle and c1 in the run" in result.summary

    def test_the_first_field_of_a_transaction_that_differs_is_named(self, recorded):
        """A receipt with many events would hide it."""
        receipts = list(recorded[1][0].receipts)
        fields = msgspec.msgpack.decode(receipts[0])
        receipts[0] = msgspec.msgpack.encode([*fields[:7], fields[7] + 1, fields[8]])

        result = judge_with(recorded, 1, receipts=receipts)

        assert f"tip is {fields[7]} by the oracle and {fields[7] + 1} in the run" in result.summary


class TestChanges:
    def test_a_changed_value_is_named_with_its_key_decoded(self, recorded):
        """An account's balance is one unit off."""
        changes = dict(recorded[1][HEIGHT - 1].changes)
        key = next(key for key in changes if key[0] == 1)
        balance, nonce = msgspec.msgpack.decode(changes[key])
        changes[key] = msgspec.msgpack.encode([balance + 1, nonce])

        result = judge_with(recorded, HEIGHT, changes=changes)

        evidence = evidence_of(result)
        assert (evidence["what"], evidence["key"]) == ("changes", key.hex())
        expected = f"account {key[1:21].hex()}, balance is {balance} by the oracle and {balance + 1} in the run"
        assert expected in result.summary

    def test_a_timer_that_was_not_written_is_named(self, recorded):
        """The key is a hash; the record tells whose it is."""
        changes = dict(recorded[1][0].changes)
        key = next(key for key in sorted(changes) if key[0] == 5)
        timer_id = msgspec.msgpack.decode(changes.pop(key))[0].hex()

        result = judge_with(recorded, 1, changes=changes)

        assert evidence_of(result)["timer"] == timer_id
        assert f"of timer {timer_id} is [timer_id={timer_id} actor=" in result.summary
        assert "not written in the run" in result.summary

    def test_a_key_that_no_rule_writes_is_named(self, recorded):
        """One more than the oracle has; it comes first by its key."""
        changes = dict(recorded[1][HEIGHT - 1].changes) | {bytes(32): b"\x90"}

        result = judge_with(recorded, HEIGHT, changes=changes)

        assert "unknown table" in result.summary
        assert "is not written by the oracle and [] in the run" in result.summary


class TestBlocks:
    @pytest.mark.parametrize("name", ["tx_root", "receipts_root", "state_root"])
    def test_another_root_in_the_header_is_named(self, recorded, name):
        """With equal receipts and changes only the roots can tell."""
        result = with_header(recorded, **{name: bytes(32)})

        assert evidence_of(result)["what"] == "roots"
        assert f"height {HEIGHT}: {name} is " in result.summary

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("version", 2),
            ("height", 9),
            ("consensus_epoch", 1),
            ("view", 0),
            ("parent", bytes(32)),
            ("proposer", 4),
            ("slot", 0),
            ("timestamp_ms", 1),
        ],
    )
    def test_a_header_that_breaks_a_rule_is_named(self, recorded, name, value):
        """Each field that a rule speaks of."""
        result = with_header(recorded, **{name: value})

        assert evidence_of(result)["what"] == "header"
        assert f"its {name} {value!r} breaks" in result.summary

    def test_a_signature_that_is_not_the_senders_is_named(self, recorded):
        """The block's first transaction has no valid signature."""
        block = decode_block(recorded[1][0].block)
        fields = msgspec.msgpack.decode(block.transactions[0])
        forged = msgspec.msgpack.encode([*fields[:8], bytes(64)])
        changed = msgspec.structs.replace(block, transactions=(forged, *block.transactions[1:]))

        result = judge_with(recorded, 1, block=encode_block(changed))

        assert evidence_of(result)["what"] == "transaction"
        assert "transaction 0 is not valid: its signature is not valid" in result.summary

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"cycles_limit": 999}, "cycles_limit is below 1000"),
            ({"cells_limit": 1}, "cells_limit is below"),
            ({"cycles_limit": 10_000_001}, "cycles_limit is above the 10000000"),
            ({"cells_limit": 10_000_001}, "cells_limit is above the 10000000"),
            ({"max_fee_per_cycle": 799}, "max_fee_per_cycle is below 800"),
            ({"max_fee_per_cell": 799}, "max_fee_per_cell is below 800"),
            ({"priority_fee_per_cycle": 1_000_001}, "priority fee is above"),
            ({"nonce": 1}, "nonce 1 is not 0"),
            ({"max_fee_per_cycle": 2**62}, "charge is above"),
        ],
    )
    def test_a_transaction_that_may_not_stand_there_is_named(self, recorded, changes, reason):
        """Each rule of validity but the signature, which is checked last."""
        block = decode_block(recorded[1][0].block)
        names = ["public_key", "nonce", "cycles_limit", "cells_limit", "max_fee_per_cycle", "max_fee_per_cell"]
        names += ["priority_fee_per_cycle", "call", "signature"]
        fields = dict(zip(names, msgspec.msgpack.decode(block.transactions[0]), strict=True)) | changes
        encoded = msgspec.msgpack.encode(list(fields.values()))
        changed = msgspec.structs.replace(block, transactions=(encoded,))

        result = judge_with(recorded, 1, block=encode_block(changed))

        assert evidence_of(result)["what"] == "transaction"
        assert reason in result.summary

    @pytest.mark.parametrize(
        "block",
        [b"", b"\xc1", b"\x93\x00\x00\x00", b"\x92\x90\x90", b"\x81\x90\x90", b"\x91" * 5_000, b"\x92\xa1\xff\x90"],
    )
    def test_what_is_no_block_is_a_finding(self, recorded, block):
        """Whatever the bytes are, the answer is a result and not an exception."""
        result = judge_with(recorded, HEIGHT, block=block)

        assert evidence_of(result)["what"] == "block"

    def test_another_encoding_of_the_same_block_is_refused(self, recorded):
        """An integer in a longer form: one content has one encoding."""
        block = recorded[1][0].block
        assert block[:3] == b"\x92\x9b\x01"

        result = judge_with(recorded, 1, block=block[:2] + b"\xcc\x01" + block[3:])

        assert "not the canonical encoding" in result.summary


class TestBudgets:
    @pytest.mark.parametrize(
        "name", ["lane_cycles", "gc_cycles", "cycles_used", "waiting_dead", "waiting_live", "tips"]
    )
    def test_a_count_that_differs_is_named(self, recorded, name):
        """The number of waiting timers is in no receipt."""
        counts = dict(recorded[1][HEIGHT - 1].counts)
        counts[name] += 1

        result = judge_with(recorded, HEIGHT, counts=counts)

        assert evidence_of(result)["what"] == "budgets"
        assert f"{name} is {counts[name] - 1} by the oracle and {counts[name]} in the run" in result.summary

    def test_an_unknown_count_is_left_out(self, recorded):
        """Validators may say more than the oracle knows."""
        counts = dict(recorded[1][HEIGHT - 1].counts) | {"epochs": 3}

        assert judge_with(recorded, HEIGHT, counts=counts).status == "passed"


class TestWholeChain:
    def test_an_unchanged_chain_passes(self, recorded):
        """And says what was compared."""
        result = judge_oracle(*recorded)

        assert result.status == "passed"
        assert result.compared > 500

    def test_no_blocks_are_inconclusive(self, recorded):
        """A comparison of no blocks has shown nothing."""
        assert judge_oracle(recorded[0], []).status == "inconclusive"

    def test_the_first_difference_wins(self, recorded):
        """Later differences are consequences of the first."""
        genesis, blocks = recorded
        broken = [block._replace(receipts=[]) if height >= HEIGHT else block for height, block in enumerate(blocks, 1)]

        assert evidence_of(judge_oracle(genesis, broken))["height"] == HEIGHT

    def test_a_genesis_that_cannot_be_read_fails(self):
        """At height 0."""
        assert evidence_of(judge_oracle(b"\x90", []))["height"] == 0

    def test_another_genesis_shows_in_the_first_block(self, recorded):
        """The first block's parent is the digest of block 0, which commits to genesis and its state."""
        genesis, blocks = recorded
        fields = msgspec.msgpack.decode(genesis)
        fields[14][0][1] += 1

        result = judge_oracle(msgspec.msgpack.encode(fields), blocks)

        assert evidence_of(result)["height"] == 1
        assert "its parent" in result.summary

    @pytest.mark.parametrize(
        ("field", "value"),
        [(10, [[1, "sealed-bids", b""]]), (10, [[1, "fifo", b""], [9, "fifo-free", b""]]), (15, None)],
    )
    def test_what_the_oracle_does_not_know_is_inconclusive(self, recorded, field, value):
        """A policy or a program without a restatement cannot be judged."""
        fields = msgspec.msgpack.decode(recorded[0])
        if value is None:
            fields[15][0][1] = "casino"
        else:
            fields[field] = value

        result = judge_oracle(msgspec.msgpack.encode(fields), recorded[1])

        assert result.status == "inconclusive"
        assert "does not know" in result.summary

    def test_an_oracle_that_contradicts_itself_says_so(self, monkeypatch, recorded):
        """Its tables encoded anew have to be the values that its log has gathered."""
        encode_all = Contents.encode_all
        monkeypatch.setattr(Contents, "encode_all", lambda self: encode_all(self) | {bytes(32): b""})

        result = judge_oracle(*recorded)

        assert evidence_of(result)["what"] == "audit"
        assert "the oracle contradicts itself" in result.summary

    def test_audits_become_rare_as_the_log_grows(self, monkeypatch, recorded):
        """With one at every height each operation would be hashed as often as there are blocks after it."""
        monkeypatch.setattr("checker.oracle.replay.AUDIT_BLOCKS", 1)

        figures = dict(judge_oracle(*recorded).evidence)

        assert 1 < figures["audits"] < figures["heights"]
        assert figures["operations"] < figures["operations_audited"] <= 4 * figures["operations"]

    def test_an_oracle_whose_kept_bitmap_is_wrong_says_so(self, monkeypatch, recorded):
        """A bit that changes behind the tree's back shows when the root is worked out from scratch."""
        encode_all = Contents.encode_all

        def flip_a_bit(self):
            self.log._activity.clear(self.log._commit)
            return encode_all(self)

        monkeypatch.setattr(Contents, "encode_all", flip_a_bit)

        result = judge_oracle(*recorded)

        assert evidence_of(result)["what"] == "audit"
        assert "the canonical root from scratch" in result.summary
