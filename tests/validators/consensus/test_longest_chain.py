"""The longest chain alone: slots, seals, fork choice, finality by depth, restarts, joining."""

import pytest

from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.cluster_runs import result_of
from tests.support.longest_chain_bench import (
    GENESIS,
    VALIDATORS,
    Lone,
    block_on,
    chain_on,
    config_of,
    of_type,
    seal_of,
    with_height,
)
from tests.support.simplex_bench import KeyedHashScheme
from validators.consensus.interface import (
    STALE,
    Adopt,
    AlarmReached,
    Append,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    CorruptRecordError,
    Finalized,
    Judge,
    Received,
    Relay,
    ReportActivity,
    Send,
    SetAlarm,
    TimeoutReached,
)
from validators.consensus.longest_chain import Announcement, Burial, HeadRequest, HeadResponse, SealedHeader
from validators.consensus.longest_chain.kind import LONGEST_CHAIN
from validators.consensus.longest_chain.sealing import check_seal, verify_finality
from validators.consensus.longest_chain.slots import WAITING_MAX


def sealed(facts):
    return SealedHeader(facts.header, seal_of(facts))


def burial_of(*blocks):
    return Burial(tuple(map(sealed, blocks)))


# -- slots ---------------------------------------------------------------------------------------


def test_each_slot_begins_with_an_alarm_of_the_wall_clock():
    lone = Lone()
    assert of_type(lone.effects, SetAlarm) == [SetAlarm("slot", 1, 1_000_000)]

    assert of_type(lone.enter(1), SetAlarm) == [SetAlarm("slot", 2, 2_000_000)]
    assert of_type(lone.enter(9, late_us=70), SetAlarm) == [SetAlarm("slot", 10, 10_000_000)]


def test_a_clock_that_was_set_back_enters_no_slot_twice():
    lone = Lone(me=2, slot=6)
    again = lone.step(AlarmReached("slot", 7, 2_000_000))

    assert of_type(again, Build) == []
    assert of_type(again, SetAlarm) == [SetAlarm("slot", 7, 7_000_000)]


def test_a_leader_seals_its_block_before_it_leaves():
    lone = Lone(me=1)
    assert of_type(lone.enter(1), Build) == [Build(1, BlockRef(0, GENESIS))]

    facts = block_on(None, 1)
    found = lone.built(facts)
    announcement = Announcement(sealed(facts))
    assert found[:3] == [Append(announcement), Relay(facts.digest, seal_of(facts)), Send(None, announcement)]
    assert lone.head == facts


def test_a_leader_whose_block_is_not_built_seals_nothing():
    lone = Lone(me=1, slot=1)

    assert lone.step(Built(1, None)) == []


def test_an_earlier_life_that_sealed_a_slot_keeps_the_next_from_it():
    journal = [Announcement(sealed(block_on(None, 5)))]
    lone = Lone(me=1, records=journal)
    lone.step(TimeoutReached("join", 1))

    assert lone.engine.position.view == 6
    assert of_type(lone.enter(5), Build) == []
    assert of_type(lone.enter(9), Build) == [Build(9, BlockRef(0, GENESIS))]


def test_a_restarted_leader_asks_for_heads_before_it_leads():
    lone = Lone(me=1, records=[Announcement(sealed(block_on(None, 5)))])
    assert of_type(lone.effects, Send) == [Send(None, HeadRequest())]

    assert of_type(lone.enter(9), Build) == []
    lone.step(TimeoutReached("join", 1))
    assert len(of_type(lone.enter(13), Build)) == 1


def test_a_block_of_a_slot_to_come_waits_for_it():
    lone = Lone(slot=3)
    near, far = block_on(None, 4), block_on(None, 5)

    assert of_type(lone.take(far), Adopt) == []
    assert of_type(lone.take(near), Adopt) != []
    second = block_on(near, 6)
    lone.take(second)
    assert lone.head == near
    lone.enter(5)
    assert lone.head == second


def test_blocks_that_wait_are_bounded_and_the_furthest_go():
    lone = Lone(slot=1)
    lone.take(*(block_on(None, view) for view in range(WAITING_MAX + 100, 50, -1)))

    assert lone.engine.statistics()["blocks_waiting"] == WAITING_MAX
    lone.enter(60)
    assert lone.head.height == 1


# -- fork choice ---------------------------------------------------------------------------------


def test_the_greatest_height_is_followed_and_then_the_first_digest():
    first, second = sorted((block_on(None, 1, salt=salt) for salt in (1, 2)), key=lambda each: each.digest)
    for order in ((first, second), (second, first)):
        lone = Lone(slot=2)
        lone.take(*order)
        assert lone.head == first
    lone.take(higher := block_on(second, 2))
    assert lone.head == higher
    assert of_type(lone.effects, Adopt)[-1] == Adopt(BlockRef(2, higher.digest), 2, 1)


def test_a_branch_is_followed_only_when_it_is_complete():
    chain = chain_on(None, (1, 2, 3))
    lone = Lone(slot=3)
    lone.silent_about = chain[2].digest
    lone.take(chain[2], chain[0])
    assert lone.head == chain[0]
    lone.take(chain[1])
    assert lone.head == chain[1]

    lone.judge(chain[2], ok=True)
    assert lone.head == chain[2]


def test_what_the_application_refuses_is_never_followed_nor_built_on():
    lone = Lone(slot=3)
    bad = block_on(None, 1)
    lone.silent_about = bad.digest
    lone.take(bad)
    lone.judge(bad, ok=False)
    lone.take(block_on(bad, 2))

    assert lone.head.height == 0


@pytest.mark.parametrize("wrong", [block_on(block_on(None, 2), 2), with_height(block_on(block_on(None, 2), 3), 5)])
def test_a_block_that_does_not_follow_its_parent_is_not_followed(wrong):
    lone = Lone(slot=3)
    lone.take(block_on(None, 2), wrong)

    assert lone.head.height == 1


def test_a_branch_below_the_final_block_is_never_followed():
    lone = Lone(slot=30, depth=3)
    lone.take(*chain_on(None, range(1, 6)))
    assert lone.final.height == 2

    lone.take(*chain_on(None, range(7, 20)))
    assert lone.head.height == 5


def test_a_follower_by_headers_trusts_no_head_beside_its_final_block():
    """It is told of final blocks by its peers, and remembers the blocks of branches that lost to its own."""
    ours, theirs = chain_on(None, range(1, 8)), chain_on(None, range(2, 28, 2), salt=1)
    lone = Lone(me=VALIDATORS, depth=2, slot=30)
    lone.take(*ours, *theirs[:3])
    final = lone.final
    lone.judge(ours[-1], ok=None)
    lone.silent_about = theirs[-1].digest
    lone.step(Received(1, HeadResponse(sealed(theirs[-1]), burial_of(*theirs[-3:]))))
    assert lone.final == final

    lone.take(*theirs[3:])
    found = lone.step(TimeoutReached("join", lone.engine._joining._round))

    assert of_type(found, Finalized) == []
    assert lone.final == final


def test_two_seals_of_one_leader_and_slot_are_evidence_once():
    lone = Lone(slot=2)
    first, second, third = (block_on(None, 1, salt=salt) for salt in range(3))
    lone.take(first)
    found = lone.take(second)
    assert of_type(found, ReportActivity) == [
        ReportActivity("ConflictingBlocks", 1, 1, "", (Announcement(sealed(first)), Announcement(sealed(second))))
    ]
    assert of_type(lone.take(third), ReportActivity) == []


# -- finality ------------------------------------------------------------------------------------


def test_a_block_is_final_when_it_is_deep_enough_and_not_before():
    chain = chain_on(None, range(1, 6))
    lone = Lone(slot=9, depth=3)
    lone.take(*chain[:3])
    assert lone.engine.finality is None

    found = lone.take(chain[3])
    assert of_type(found, Finalized) == [Finalized(burial_of(*chain[:4]))]
    assert of_type(found, Append) == [Append(burial_of(*chain[:4]))]
    lone.take(chain[4])
    assert lone.final == chain[1]


def test_a_proof_takes_the_depth_of_sealed_and_linked_headers():
    chain = chain_on(None, range(1, 6))
    scheme = KeyedHashScheme(0)

    def proves(burial):
        return verify_finality(scheme, burial, VALIDATORS, config_of(3))

    assert proves(burial_of(*chain[:4]))
    assert not proves(burial_of(*chain[:3]))
    assert not proves(burial_of(chain[0], chain[1], chain[3], chain[4]))
    forged = SealedHeader(chain[3].header, seal_of(chain[2]))
    assert not proves(Burial((*burial_of(*chain[:3]).chain, forged)))
    beside = block_on(chain[1], chain[2].view, salt=1)
    assert not proves(burial_of(*chain[:2], beside, chain[3]))


def test_a_restart_keeps_what_was_final():
    chain = chain_on(None, range(1, 6))
    lone = Lone(slot=9, depth=3)
    lone.take(*chain)
    codec = LONGEST_CHAIN.records
    journal = [codec.decode(codec.encode(each.record)) for each in of_type(lone.effects, Append)]

    again = Lone(depth=3, records=journal)
    assert again.final == chain[1]
    assert (lone.engine.finality.is_proved, again.engine.finality.is_proved) == (True, False)
    again.enter(9)
    again.take(*chain_on(None, range(20, 30)))
    assert again.head == chain[1]
    again.take(*chain[2:])
    assert again.head == chain[4]


def test_an_own_slot_that_was_pruned_away_is_no_stale_memory():
    """A leader of few slots: the entry of its last one is far below the final block, and no disk has it any more."""
    final = block_on(None, 30)
    burial = Burial((SealedHeader(final.header, seal_of(final)),))
    lone = Lone(me=1, records=[Announcement(sealed(block_on(None, 5))), burial])

    derived = lone.engine.derived([], burial)
    assert derived.kept == derived.rebuilt
    above = Announcement(sealed(block_on(final, 33)))
    derived = Lone(me=1, records=[burial, above]).engine.derived([], burial)
    assert derived.kept != derived.rebuilt


def test_a_record_that_is_none_is_corrupt():
    with pytest.raises(CorruptRecordError):
        LONGEST_CHAIN.records.decode(b"\x00")
    with pytest.raises(CorruptRecordError):
        LONGEST_CHAIN.records.decode(LONGEST_CHAIN.records.encode(Announcement(SealedHeader(b"x", b""))))


# -- messages ------------------------------------------------------------------------------------


def test_only_the_leader_of_a_slot_seals_its_block():
    config = config_of()
    facts = block_on(None, 3)
    stranger = block_on(None, 3, proposer=1)
    scheme = KeyedHashScheme(0)

    assert check_seal(scheme, facts, seal_of(facts), VALIDATORS, config=config).ok
    assert check_seal(scheme, stranger, seal_of(stranger), VALIDATORS, config=config).reason == "wrong leader"
    assert check_seal(scheme, facts, seal_of(stranger), VALIDATORS, config=config).reason == "invalid seal"
    assert check_seal(scheme, block_on(None, 0), b"", VALIDATORS, config=config).reason == "malformed header"


def test_an_announcement_has_the_application_fetch_the_block():
    lone = Lone(slot=3)
    facts = block_on(None, 2)
    announcement = Announcement(sealed(facts))
    assert lone.engine.check(2, announcement).ok

    assert len(of_type(lone.step(Received(2, announcement)), Judge)) == 1
    assert lone.engine.check(2, announcement).reason == STALE


def test_a_peer_is_told_the_head_and_the_proof_of_what_is_final():
    chain = chain_on(None, range(1, 5))
    lone = Lone(slot=9, depth=3)
    assert of_type(lone.step(Received(2, HeadRequest())), Send) == []

    lone.take(*chain)
    answer = HeadResponse(sealed(chain[3]), burial_of(*chain))
    assert lone.step(Received(2, HeadRequest())) == [Send(2, answer)]


def test_a_new_replica_trusts_the_greatest_head_that_it_hears_of():
    short, long = chain_on(None, range(1, 9)), chain_on(None, range(1, 20), salt=5)
    lone = Lone(slot=30, depth=3)
    for sender, chain in ((2, short), (3, long)):
        answer = HeadResponse(sealed(chain[-1]), burial_of(*chain[-4:]))
        assert lone.engine.check(sender, answer).ok
        lone.step(Received(sender, answer))
        assert lone.engine.check(sender, answer).reason == STALE
    found = lone.step(TimeoutReached("join", 1))

    assert of_type(found, Finalized) == [Finalized(burial_of(*long[-4:]))]
    assert of_type(found, ReportActivity)[0].activity == "TrustedOnFirstSight"
    assert lone.final == long[-4]


@pytest.mark.parametrize(("headers", "reason"), [(4, ""), (3, "too few headers on the final block")])
def test_a_final_block_that_is_not_deep_enough_is_refused(headers, reason):
    """One validator alone seals a block of its own slot, and would be trusted."""
    lone = Lone(3, slot=1)
    chain = chain_on(None, range(1, 9))
    answer = HeadResponse(sealed(chain[-1]), burial_of(*chain[-headers:]))

    assert lone.engine.check(1, answer).reason == reason


def test_a_replica_with_a_final_block_trusts_no_other():
    own, foreign = chain_on(None, range(1, 6)), chain_on(None, range(1, 25), salt=5)
    lone = Lone(slot=30, depth=3)
    lone.take(*own)
    lone.step(Received(3, HeadResponse(sealed(foreign[-1]), burial_of(*foreign[-4:]))))

    assert of_type(lone.step(TimeoutReached("join", 1)), Finalized) == []
    assert lone.final == own[1]


def test_blocks_of_the_disk_and_of_peers_are_taken_alike():
    lone = Lone(slot=3)
    facts = block_on(None, 2)

    assert of_type(lone.step(BlockArrived(0, facts, seal_of(facts))), Adopt) == [Adopt(BlockRef(2, facts.digest), 1, 0)]


# -- the seam ------------------------------------------------------------------------------------


def test_a_depth_below_the_plans_longest_disturbance_is_refused():
    settings = ("consensus.longest_chain.finality_depth=26", "consensus.longest_chain.slot_ms=500")
    with pytest.raises(ScenarioError, match=r"finality_depth: must be 30 or more with these faults"):
        load_scenario("partition-heal", ('consensus.engine="longest-chain"', *settings))
    assert load_scenario("k-too-small").finality_depth == 8
    assert load_scenario("deep-reorg-longest").finality_depth == 138


def test_its_settings_belong_to_no_other_engine():
    with pytest.raises(ScenarioError, match=r'longest_chain: is of the engine "longest-chain"'):
        load_scenario("calm", ("consensus.longest_chain.slot_ms=500",))


def test_clocks_that_are_set_move_the_slots_of_a_cluster():
    """A leader whose clock is ahead by 20 slots is heard only when the others' clocks come near."""
    clock = 'faults.ahead={kind="clock-offset", validators=[1], start_ms=4_200, stop_ms=8_900, offset_ms=20_000}'
    result = result_of("calm", 'consensus.engine="longest-chain"', clock, "run.until_height=14")

    assert result.verdict == "passed", result.headline
    assert {hit.point: hit.hits for hit in result.rules}["slots-slept-through"] >= 1
