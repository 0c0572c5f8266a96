"""Scheduled transactions in their blocks: rows F-1 to F-13 of the rules, each by its name."""

import pytest

from scheduler import POLICIES, Basefees, Refusal, TimerConfig
from scheduler.aptos_keys import map_key
from scheduler.aptos_records import QUEUE_ENTRY
from scheduler.bias_records import SLOT_ROW, SLOT_ROWS
from scheduler.errors import (
    EAUTH_NUM_MISMATCH,
    EAUTH_NUM_NOT_FOUND,
    ECANCEL_TOO_LATE,
    EINVALID_PAUSE_ATTEMPT,
    EINVALID_SIGNER,
    EINVALID_TIME,
    EUNAVAILABLE,
    DuplicateTimer,
    InsufficientBalance,
    InvalidInput,
    Unauthorized,
    UnknownTimer,
)
from scheduler.events import ShutdownEvent, TransactionScheduled
from scheduler.policies.aptos import Aptos
from tests.support.queue_bench import QueueBench, Sent, config_of, counts, deferred, failed, fired

A, B, OWNER = (bytes([byte]) * 20 for byte in (0xAA, 0xBB, 0x99))
RICH = 10**12
QUICK = ((2_000, 1_999), (2_300, 2_000), (2_600, 2_300), (2_900, 2_600))
"""Times of four blocks of one slot, each with its parent's."""


def queue(profile="aip", room=(10**9, 10**9), **own):
    """Return a chain of a profile, at the time 1,000 ms, and two rich actors."""
    bench = QueueBench({"profile": profile, **own}, room=room)
    bench.ledger.balances.update({A: RICH, B: RICH})
    bench.at_ms(1_000)
    return bench


def burns(result):
    return {event.timer_id: event.burned for event in result.events if hasattr(event, "burned")}


class TestKeys:
    def test_f2_keys_order_by_time_then_price_then_the_id(self):
        bench = queue()
        cheap = bench.insert(A, 2, b"cheap", price=100)
        dear = bench.insert(A, 2, b"dear", price=300)
        equal = [bench.insert(A, 2, b"equal", price=200) for _ in range(4)]
        first = bench.insert(A, 3, b"late", price=900)
        result = bench.run(3_000)

        by_id = sorted(equal, key=lambda txn_id: int.from_bytes(txn_id, "little"))
        assert fired(result) == [dear, *by_id, cheap, first]

    @pytest.mark.parametrize("profile", ["aip", "early", "latest"])
    def test_k24_the_price_can_come_before_the_time(self, profile):
        bench = queue(profile, ready_order="price", ready_limit=3)
        old = bench.insert(A, 2, b"old", price=100)
        late, early = (bench.insert(A, due, b"dear", price=900) for due in (4, 3))
        middle = bench.insert(A, 3, b"middle", price=200)
        result = bench.run(4_000)

        assert fired(result) == [early, late, middle]
        assert fired(bench.run(5_000)) == [old]

    @pytest.mark.parametrize(("profile", "expected"), [("aip", 2), ("early", 0)])
    def test_k24_the_oldest_expire_first_where_expiry_is_apart(self, profile, expected):
        """Within the limit of all, the dear ones that are live come before the cheap ones that are expired."""
        bench = queue(profile, ready_order="price", ready_limit=2, expire_limit=2)
        old = [bench.insert(A, 2, price=price) for price in (300, 200, 100)]
        live = [bench.insert(A, 12, price=price) for price in (900, 800)]
        result = bench.run(12_200)

        assert fired(result) == live
        assert failed(result) == dict.fromkeys(old[:expected], "Expired")

    def test_q27_equal_insertions_collide_without_the_counter(self):
        bench = queue(counts_ids=False)
        bench.insert(A, 2, price=200)

        assert bench.insert(A, 2, price=300)
        with pytest.raises(DuplicateTimer):
            bench.insert(A, 2, price=200)


class TestCalls:
    def test_f3_only_the_sender_inserts_and_cancels(self):
        bench = queue()
        with pytest.raises(EINVALID_SIGNER):
            bench.insert(A, 2, fee_payer=B)
        entry = bench.insert(A, 2)

        with pytest.raises(EINVALID_SIGNER):
            bench.cancel(B, entry)
        event = bench.cancel(A, entry)
        assert (event.key, bench.keys, bench.held) == (map_key(2_000, 100, entry), 0, 0)

    def test_k37_inserting_returns_the_key_of_the_entry(self):
        bench = queue()
        entry = bench.insert(A, 2, price=300)

        assert bench.key == (2_000).to_bytes(8, "big") + (2**64 - 1 - 300).to_bytes(8, "big") + entry

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda key: key[16:],
            lambda key: map_key(3_000, 300, key[16:]),
            lambda key: map_key(2_000, 301, key[16:]),
            lambda key: key[:-1] + bytes([key[-1] ^ 1]),
            lambda key: key + b"\0",
            lambda key: key[1:],
            lambda _key: b"",
        ],
    )
    @pytest.mark.parametrize("profile", ["aip", "early", "latest"])
    def test_k37_a_key_that_differs_anywhere_names_no_entry(self, profile, spoil):
        bench = queue(profile)
        bench.insert(A, 2, price=300)
        spoilt = spoil(bench.key)

        for call in (lambda: bench.opened.cancel(A, spoilt), lambda: bench.opened.extend(A, spoilt, 9)):
            with pytest.raises(UnknownTimer):
                call()
        assert bench.held == bench.owed > 0

    def test_k37_a_key_names_nothing_once_its_entry_has_run(self):
        bench = queue()
        bench.insert(A, 2)
        bench.run(2_000)

        assert bench.keys == 1
        with pytest.raises(UnknownTimer):
            bench.opened.cancel(A, bench.key)

    @pytest.mark.parametrize(("profile", "unsigned"), [("aip", [b"x"]), ("early", [b"x"]), ("latest", [])])
    def test_k37_a_handler_sees_no_sender_unless_the_signer_is_passed(self, profile, unsigned):
        bench = queue(profile)
        bench.insert(A, 2, b"x", pass_signer=False)
        bench.insert(A, 2, b"y")
        bench.run(2_000)

        assert sorted(bench.ran) == [b"x", b"y"]
        assert bench.unsigned == unsigned

    def test_f3_an_entry_is_not_put_before_the_block_time(self):
        bench = queue()
        bench.at_ms(1_999)
        with pytest.raises(EINVALID_TIME):
            bench.insert(A, 1)

        assert bench.insert(A, 2)
        assert bench.events[1] == TransactionScheduled(1_999, bench.events[0].timer_id, A, 2_000, 1_000, 100, False)

    def test_f4_the_whole_deposit_is_held_from_the_insertion(self):
        bench = queue()
        bench.insert(A, 5, price=300, gas=1_000)

        assert (bench.held, bench.ledger.balance(A)) == (300_000, RICH - 300_000)

    @pytest.mark.parametrize(("price", "error"), [(2**40, InsufficientBalance), (2**62, InvalidInput)])
    def test_q40_a_deposit_that_is_missing_or_no_number_is_refused(self, price, error):
        bench = queue()
        with pytest.raises(error):
            bench.insert(A, 2, price=price)
        assert bench.keys == 0

    def test_an_expiry_is_fixed_and_nobody_extends_it(self):
        bench = queue()
        entry = bench.insert(A, 2)

        for extend in (
            lambda: bench.opened.extend(A, bench.key, 9),
            lambda: bench.opened.extend_by_governance(entry, 9),
        ):
            with pytest.raises(InvalidInput, match="fixed when it is inserted"):
                extend()

    def test_governance_cancels_with_the_deposit_returned(self):
        bench = queue()
        entry = bench.insert(A, 2)

        assert bench.opened.cancel_by_governance(entry).was_live
        assert (bench.held, bench.keys, bench.ledger.balance(A)) == (0, 0, RICH)


class TestBlock:
    def test_f5_expired_entries_leave_beside_the_ready_ones(self):
        """They have a bound of their own, so that they take no place of a live one (Q-37)."""
        bench = queue(ready_limit=2, expire_limit=3)
        old = [bench.insert(A, 2, price=900 - number) for number in range(5)]
        live = [bench.insert(A, 12, price=900 - number) for number in range(3)]
        result = bench.run(12_001)

        assert failed(result) == dict.fromkeys(old[:3], "Expired")
        assert fired(result) == live[:2]
        assert (result.waiting_live, result.waiting_dead) == (1, 2)
        assert deferred(result) == {live[2]: "ready_limit"}
        assert bench.held == bench.owed == bench.deposits_after_prologue - 1_000 * (900 + 899)

    @pytest.mark.parametrize(("now_ms", "codes"), [(12_000, []), (12_001, ["Expired"])])
    def test_q38_an_entry_expires_strictly_after_its_time(self, now_ms, codes):
        bench = queue()
        bench.insert(A, 2)

        assert list(failed(bench.run(now_ms)).values()) == codes

    @pytest.mark.parametrize("profile", ["aip", "early"])
    @pytest.mark.parametrize(("blocks", "codes"), [(3, []), (4, ["Expired"])])
    def test_k38_an_entry_expires_after_more_blocks_than_are_counted(self, profile, blocks, codes):
        """Whatever the time that they take; the first block that served the slot is none of those that are counted."""
        bench = queue(profile, expiry_by="blocks", expiry_blocks=3, expiry_ms=1)
        bench.insert(A, 2)
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)
        found = [bench.run(6_000 + 5_000 * number) for number in range(blocks + 1)]

        assert [failed(result) for result in found[:-1]] == [{}] * blocks
        assert list(failed(found[-1]).values()) == codes
        assert found[-1].waiting_live == 1 - len(codes)

    def test_k38_several_blocks_of_one_slot_count_one_by_one(self):
        bench = queue(expiry_by="blocks", expiry_blocks=2)
        bench.insert(A, 2)
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)
        found = [bench.run(now_ms, parent_ms=parent_ms) for now_ms, parent_ms in QUICK]

        assert [list(failed(result).values()) for result in found] == [[], [], [], ["Expired"]]

    def test_k38_no_count_of_blocks_is_for_ever(self):
        bench = queue(expiry_by="blocks", expiry_blocks=0)
        bench.insert(A, 2)
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)

        assert [failed(bench.run(3_000 + 1_000 * number)) for number in range(20)] == [{}] * 20

    def test_k38_rows_are_kept_while_an_entry_waits_and_blocks_are_counted(self):
        bench = queue(expiry_by="blocks", expiry_blocks=9)
        bench.run(1_000)
        assert (bench.state.of(SLOT_ROWS), bench.state.of(SLOT_ROW)) == ([], [])
        bench.insert(A, 2)
        bench.insert(A, 3)
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)
        for now_ms in (2_000, 3_000):
            bench.run(now_ms)
        assert [row.slot for row in bench.state.of(SLOT_ROW)] == [2, 3]

        bench.own = config_of({})
        bench.run(4_000)
        assert (bench.state.of(SLOT_ROWS), bench.state.of(SLOT_ROW)) == ([], [])

    def test_k38_a_count_of_blocks_needs_an_expiry_of_all(self):
        with pytest.raises(InvalidInput, match="blocks needs expiry apart or counted"):
            config_of({"profile": "latest", "expiry_by": "blocks"})

    def test_f5_expired_entries_take_places_in_early_and_latest(self):
        for profile in ("early", "latest"):
            bench = queue(profile, ready_limit=2)
            old = [bench.insert(A, 2, price=900 - number) for number in range(3)]
            live = bench.insert(A, 12)
            result = bench.run(12_100)

            assert failed(result) == dict.fromkeys(old[:2], "Expired"), profile
            assert fired(result) == [], profile
            assert fired(bench.run(13_100)) == [live], profile

    def test_f6_the_lesser_of_own_and_others_is_charged(self):
        bench = queue()
        rich, poor = bench.insert(A, 2, b"rich", price=300), bench.insert(A, 2, b"poor", price=150)
        result = bench.run(2_000, [Sent(290)])

        # A user's price is what it pays, basefee and tip: here 1 and 0.
        assert burns(result) == {rich: 150_000, poor: 150_000}
        assert (bench.held, bench.ledger.balance(A)) == (0, RICH - 300_000)

    def test_f6_a_users_price_counts_and_none_is_the_least(self):
        bench = queue()
        entry = bench.insert(A, 2, price=300)
        assert burns(bench.run(2_000, [Sent(290, 289)])) == {entry: 290_000}
        alone = bench.insert(A, 3, price=300)
        assert burns(bench.run(3_000)) == {alone: 100_000}

    def test_f6_the_own_price_is_charged_in_full_where_the_rule_is_gone(self):
        bench = queue("latest")
        entry = bench.insert(A, 2, price=300)

        assert burns(bench.run(2_000)) == {entry: 300_000}

    def test_f7_a_key_outlives_its_run_until_the_next_prologue(self):
        bench = queue()
        bench.insert(A, 2)
        bench.insert(A, 9)
        bench.run(2_000)
        assert (bench.keys, bench.marked, len(bench.tables.timers)) == (2, 1, 1)
        derived, carried = Aptos().derive(bench.state, 3), bench.carried
        bench.run(3_000)

        assert (derived, len(derived)) == (carried, 1)
        assert (bench.keys, bench.marked) == (1, 0)

    def test_f9_a_failed_run_pays_and_is_not_tried_again(self):
        bench = queue()
        entry = bench.insert(A, 2, b"x", price=200)
        bench.fails, bench.used = [b"x"], {b"x": 400}
        result = bench.run(2_000)

        assert failed(result) == {entry: "Failed"}
        assert burns(result) == {entry: 40_000}
        assert (bench.ledger.balance(A), fired(bench.run(3_000))) == (RICH - 40_000, [])

    def test_f10_entries_and_transactions_merge_by_price(self):
        """An entry goes before a transaction of its own price or a lower one; each list keeps its order."""
        bench = queue()
        for name, price in ((b"300", 300), (b"200", 200), (b"100", 100)):
            bench.insert(A, 2, name, price=price)
        bench.run(2_000, [Sent(301, 300), Sent(200, 199), Sent(250, 249), Sent(150, 149)])

        assert bench.order == [0, b"300", b"200", 1, 2, 3, b"100"]

    def test_f10_entries_run_before_all_in_early_and_latest(self):
        bench = queue("latest")
        bench.insert(A, 2, b"100", price=100)
        bench.run(2_000, [Sent(900, 899)])

        assert bench.order == [b"100", 0]

    def test_f11_a_run_may_insert_its_successor(self):
        bench = queue("latest")
        bench.insert(A, 2, b"first")
        bench.inside[b"first"] = lambda: bench.insert(A, 3, b"second")
        bench.run(2_000)
        bench.run(3_000)

        assert bench.ran == [b"first", b"second"]

    def test_f13_a_block_takes_a_hundred_entries(self):
        bench = queue()
        for _ in range(120):
            bench.insert(A, 2)
        result = bench.run(2_000)

        assert (result.fired, result.waiting_live, counts(result)) == (100, 20, {"ready_limit": 20})
        assert bench.run(3_000).fired == 20

    def test_q42_entries_share_the_room_of_the_block(self):
        """One that does not fit waits, and the next is tried; ahead of a transaction its limits are kept free."""
        bench = queue(room=(2_500, 10**9))
        large = bench.insert(A, 2, b"large", price=300, gas=2_000)
        bench.insert(A, 2, b"small", price=200, gas=1_000)
        result = bench.run(2_000, [Sent(100, 99, cycles_limit=1_000)])

        assert (bench.order, counts(result)) == ([b"small", 0], {"lane_full": 1})
        assert deferred(result) == {large: "lane_full"}

    def test_q53_cells_count_as_cycles(self):
        """At the ratio of the basefees, rounded up: four cells at two thirds of a cycle are three units of gas."""
        bench = queue()
        bench.basefees = Basefees(3, 2)
        bench.cells = 4
        bench.used[b""] = 100
        entry = bench.insert(A, 2)

        assert burns(bench.run(2_000)) == {entry: 100 * (100 + 3)}

    def test_a_ready_entry_can_be_cancelled_until_its_turn(self):
        bench = queue("early")
        second = None
        bench.insert(A, 2, b"first", price=300)
        second = bench.insert(A, 2, b"second", price=200)
        bench.inside[b"first"] = lambda: bench.cancel(A, second)
        result = bench.run(2_000)

        assert (bench.ran, result.waiting_live, bench.held) == ([b"first"], 0, 0)

    def test_an_entry_whose_cancellation_came_to_nothing_waits_on(self):
        """A call cancels it and reverts, so that the tables are as they were; its turn finds no room in the block."""
        bench = queue("early", room=(1_500, 10**9))
        waiting = None

        def cancel_in_vain():
            tables = (bench.tables.timers, bench.state.entries, bench.ledger.balances)
            before = [dict(each) for each in tables]
            bench.cancel(A, waiting)
            for table, kept in zip(tables, before, strict=True):
                table.update(kept)

        bench.insert(A, 2, b"first", price=300)
        waiting = bench.insert(A, 2, b"waiting", price=200)
        bench.inside[b"first"] = cancel_in_vain
        result = bench.run(2_000)

        assert (bench.ran, result.waiting_live, counts(result)) == ([b"first"], 1, {"lane_full": 1})

    def test_a_paused_lane_runs_nothing_and_expires_all_the_same(self):
        bench = queue()
        bench.config = TimerConfig(max_cells_per_fire=0, execution_lane_paused=True, gc_lane_paused=True)
        bench.insert(A, 2)
        result = bench.run(2_000)
        assert (result.fired, counts(result)) == (0, {"lane_full": 1})
        assert list(failed(bench.run(12_001)).values()) == ["Expired"]


class TestService:
    def test_f8_a_shutdown_returns_deposits_in_batches(self):
        bench = queue()
        entries = [bench.insert(A, 2 + number) for number in range(500)]
        bench.opened.control("start_shutdown", 0)
        with pytest.raises(EUNAVAILABLE):
            bench.insert(A, 9)
        batches = [bench.opened.control("continue_shutdown", 0) for _ in range(3)]

        assert [len(failed(batch)) for batch in batches] == [200, 200, 100]
        assert [txn_id for batch in batches for txn_id in failed(batch)] == entries
        assert batches[2][-1] == ShutdownEvent(complete=True)
        assert (bench.held, bench.keys, bench.ledger.balance(A)) == (0, 0, RICH)
        bench.opened.control("re_initialize", 0)
        assert bench.insert(A, 9)
        assert fired(bench.run(9_000))

    def test_f8_a_shutdown_in_the_midst_of_marked_keys_restarts(self):
        bench = queue()
        bench.insert(A, 2)
        bench.run(2_000)
        bench.opened.control("start_shutdown", 0)
        assert bench.opened.control("continue_shutdown", 0)[-1] == ShutdownEvent(complete=True)
        bench.opened.control("re_initialize", 0)
        bench.insert(A, 4)
        result = bench.run(4_000)

        assert (result.fired, bench.keys, bench.marked) == (1, 1, 1)

    def test_f12_entries_survive_a_pause(self):
        bench = queue()
        entry = bench.insert(A, 2)
        bench.opened.control("pause", 0)
        with pytest.raises(EINVALID_PAUSE_ATTEMPT):
            bench.opened.control("pause", 0)
        result = bench.run(30_000)
        assert (result.fired, result.expired, counts(result)) == (0, 0, {})
        assert result.waiting_dead == 1
        bench.opened.control("unpause", 0)

        assert failed(bench.run(31_000)) == {entry: "Expired"}

    def test_f12_a_pause_names_itself_as_the_reason(self):
        bench = queue()
        bench.insert(A, 2)
        bench.opened.control("pause", 0)

        assert counts(bench.run(2_000)) == {"unavailable": 1}


class TestTokens:
    def test_k25_tokens_and_the_cancel_window_belong_to_latest(self):
        bench = queue("latest")
        near, far = bench.insert(A, 11), bench.insert(A, 12)

        with pytest.raises(ECANCEL_TOO_LATE):
            bench.cancel(B, near)
        assert bench.cancel(A, far)
        assert bench.number(A) == 1

    def test_k25_a_raised_number_drops_entries_at_their_turn(self):
        bench = queue("latest")
        with pytest.raises(EAUTH_NUM_NOT_FOUND):
            bench.opened.cancel_all(OWNER, A, OWNER)
        old = bench.insert(A, 2)
        with pytest.raises(Unauthorized):
            bench.opened.cancel_all(B, A, OWNER)
        assert bench.opened.cancel_all(OWNER, A, OWNER).number == 2
        new = bench.insert(A, 2)
        result = bench.run(2_000)

        assert (failed(result), fired(result)) == ({old: "AuthExpired"}, [new])
        assert (bench.held, bench.owed) == (0, 0)

    def test_k25_a_token_that_forbids_rescheduling_has_the_number_zero(self):
        bench = queue("latest", token_reschedules=False)
        bench.insert(A, 2, b"first")
        refused = []

        def reschedule():
            with pytest.raises(EAUTH_NUM_MISMATCH) as error:
                bench.insert(A, 9)
            refused.append(error)

        bench.inside[b"first"] = reschedule
        bench.run(2_000)

        assert len(refused) == 1

    def test_k25_without_numbers_a_successor_has_no_token(self):
        bench = queue("latest")
        bench.insert(A, 2, b"first")
        bench.inside[b"first"] = lambda: bench.insert(A, 3, b"second")
        bench.own = config_of({"profile": "latest", "authorization": "none"})
        bench.run(2_000)

        assert sorted(entry.token is None for entry in bench.state.of(QUEUE_ENTRY)) == [False, True]

    def test_k25_an_entry_of_its_own_expiry_is_dropped_at_its_turn(self):
        bench = queue("latest")
        short, never = bench.insert(A, 2, expires_at=2), bench.insert(A, 2, expires_at=40)
        result = bench.run(3_000)

        assert (failed(result), fired(result)) == ({short: "Expired"}, [never])

    def test_no_other_profile_has_numbers(self):
        bench = queue()
        bench.insert(A, 2)
        with pytest.raises(InvalidInput):
            bench.opened.cancel_all(OWNER, A, OWNER)


@pytest.mark.parametrize("other", [name for name in POLICIES if name != "aptos"])
def test_no_policy_follows_aptos_or_is_followed_by_it(other):
    aptos, policy = Aptos(), POLICIES[other]()

    assert isinstance(aptos.carry(policy), Refusal)
    assert isinstance(policy.carry(aptos), Refusal)
