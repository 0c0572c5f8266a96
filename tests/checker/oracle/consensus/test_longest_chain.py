"""The specification of the longest chain agrees with the engine in runs and plays, which ask for all of its rules."""

from functools import cache
from pathlib import Path

import pytest

from checker.oracle.consensus import longest_chain
from checker.oracle.consensus.longest_chain import LongestChain
from cluster.scenario.load import load_scenario
from tests.support.consensus_calls import differences, recorded_lives
from tests.support.keystones import third_of
from tests.support.longest_chain_bench import block_on, chain_on, with_height
from tests.support.longest_chain_plays import Play, Player, config_of, sealed
from validators.consensus.interface import BlockArrived, Built, FloorAdopted, TimeoutReached
from validators.consensus.longest_chain import Burial, HeadResponse
from validators.consensus.longest_chain.slots import WAITING_MAX
from validators.consensus.longest_chain.tree import LOST_MAX

SOURCE = Path(longest_chain.__file__).read_text(encoding="utf-8")

PLAYS = range(32)


@cache
def play_of(seed):
    return Play(seed).lives


def wait_in_crowds():
    """Return the lives of a replica with more blocks of slots to come than may wait."""
    player = Player(config=config_of(depth=2))
    player.begin()
    for view in range(WAITING_MAX + 6, 2, -1):
        player.step(BlockArrived(1, block_on(None, view), b"unread"))
    player.enter(WAITING_MAX)
    player.enter(WAITING_MAX + 4)
    return player.lives


def lose_in_crowds():
    """Return the lives of a replica that has lost more blocks than it remembers."""
    player = Player(config=config_of(depth=2))
    player.begin()
    chain = chain_on(None, range(1, 6))
    player.enter(9)
    player.step(FloorAdopted(Burial(tuple(map(sealed, chain[:3])))))
    lost = [block_on(None, 1, salt=salt) for salt in range(1, LOST_MAX + 4)]
    for facts in lost:
        player.step(BlockArrived(1, facts, b"unread"))
    for parent in (*lost[:5], *lost[-2:]):
        player.step(BlockArrived(1, with_height(block_on(parent, 9), 4), b"unread"))
    return player.lives


def play_alone():
    """Return the lives of the only validator of a chain."""
    player = Player(config=config_of(depth=2), validators=1)
    player.begin()
    player.enter(1)
    player.begin(records=player.journal)
    player.enter(2)
    return player.lives


def skip_heights():
    """Return the lives of a replica that judges by headers, after a leader of a block five heights above genesis."""
    player = Player(4, config=config_of(depth=2), is_observer=True)
    player.begin()
    player.enter(20)
    chain, high = chain_on(None, range(1, 8)), with_height(block_on(None, 8), 5)
    player.take(high)
    player.judge((high.view, high.digest), None)
    player.adopt_floor(Burial(tuple(map(sealed, chain[1:4]))))
    for facts in chain[4:]:
        player.take(facts)
        while player.asked:
            player.judge(player.asked.pop(), None)
    return player.lives


def build_twice():
    """Return the lives of a leader whose application gives a block twice."""
    player = Player(1, config=config_of(depth=2))
    player.begin()
    player.enter(1)
    for _ in range(2):
        facts = block_on(None, 1)
        player.step(Built(1, facts.digest, facts))
    return player.lives


def join_twice():
    """Return the lives of a joiner that is ahead of a final block, and that then hears two equal answers."""
    player = Player(config=config_of(depth=3))
    chain = chain_on(None, range(1, 9))
    player.begin()
    player.enter(20)
    for facts in chain[:2]:
        player.take(facts)
        player.judge((facts.view, facts.digest), True)
    for first, peers in ((0, (1,)), (3, (3, 2))):
        answer = HeadResponse(sealed(chain[-1]), Burial(tuple(map(sealed, chain[first : first + 4]))))
        for peer in peers:
            player.receive(peer, answer)
        player.step(TimeoutReached("join", 1))
        player.begin(records=())
    return player.lives


STAGED = (wait_in_crowds, lose_in_crowds, play_alone, skip_heights, build_twice, join_twice)


# -- agreement -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", third_of(["longest-chain-joiners", "longest-chain-lottery"]))
def test_a_run_has_no_difference(name):
    found, calls, effects = differences(LongestChain, recorded_lives(load_scenario(name)))

    assert found == []
    assert calls > 1_000
    assert effects > 1_000


def test_drawn_plays_have_no_difference():
    found, calls, _ = differences(LongestChain, {seed: play_of(seed) for seed in PLAYS})

    assert found == []
    assert calls > 5_000


@pytest.mark.parametrize("stage", STAGED)
def test_a_staged_play_has_no_difference(stage):
    found, _, _ = differences(LongestChain, {0: stage()})

    assert found == []


# -- breaks --------------------------------------------------------------------------------------

BREAKS = [
    ("LC-1", '// config["slot_us"]', '// config["slot_us"] + 1'),
    ("LC-2", "return slot % validators", "return (slot + 1) % validators"),
    ("LC-3", "first * 1_000_000 // DRAW < empty_ppm", "first * 1_000_000 // DRAW < 0"),
    ("LC-3", "second * validators // DRAW", "second % validators"),
    ("LC-4", "self.set_alarm(self.first_slot)", "self.set_alarm(1)"),
    ("LC-5", "if slot < next_slot:", "if slot < self.entered:"),
    ("LC-6", "self.set_alarm(slot + 1)", "pass"),
    ("LC-7", "sha256(header).digest()", "sha256(header[1:]).digest()"),
    ("LC-8", 'verify(facts.proposer, b"stampede_SLOT"', 'verify(facts.proposer, b"stampede_SLOTS"'),
    ("LC-9", "leader == NOBODY or facts.proposer != leader", "False"),
    ("LC-9", "facts is None or facts.view <= 0 or facts.height <= 0", "facts is None"),
    ("LC-10", 'return "headers are not linked"', "pass"),
    ("LC-11", "facts.digest in self.here or facts.height <= self.final.height", "facts.digest in self.here"),
    ("LC-12", "answer.final and len(answer.final) <= self.depth", "False"),
    ("LC-12", "not self.is_round_open or answer.sender in self.answers", "not self.is_round_open"),
    ("LC-13", "calls.Answer(self.seal_fault(block, seal),", 'calls.Answer("",'),
    ("LC-14", "len(burial) > self.depth and", "len(burial) >= self.depth and"),
    ("LC-15", "calls.Answer(reason, self.signatures.verified - before)", "calls.Answer(reason, 1)"),
    ("LC-16", "slot > self.head.view", "True"),
    ("LC-16", "or self.is_observer or not self.may_lead", "or self.is_observer"),
    ("LC-17", "self.emit(calls.Relay(facts.digest, seal))", "self.effects[-1:-1] = [calls.Relay(facts.digest, seal)]"),
    ("LC-17", "        self.building = None\n        if", "        if"),
    ("LC-18", "last = self.entered + 1 if self.entered else self.first_slot", "last = self.entered + 1"),
    ("LC-18", "last = self.entered + 1 if self.entered else self.first_slot", "last = facts.view"),
    ("LC-19", "for _, digest in come:", "for _, digest in come[::-1]:"),
    ("LC-20", "_, furthest = max(", "_, furthest = min("),
    ("LC-21", "self.sealed[facts.view] = None", "pass"),
    ("LC-22", "facts.height <= self.final.height or facts.parent in self.lost", "facts.height <= self.final.height"),
    ("LC-22", "return facts.parent != self.final.digest", "return False"),
    ("LC-23", "losing += self.standing_on(each)", "pass"),
    ("LC-23", "while len(self.lost) > LOST_MAX:", "while False:"),
    ("LC-24", "parent.is_bad or not is_next(facts, parent.facts)", "parent.is_bad"),
    ("LC-24", "block.is_bad = not is_next(facts, self.final)", "pass"),
    ("LC-24", "bad += self.standing_on(each)", "pass"),
    ("LC-25", "if block.is_sound and not block.is_bad and block.facts.parent in found", "if block.is_sound"),
    ("LC-26", "facts.digest < other.digest", "facts.digest > other.digest"),
    ("LC-27", "(is_end or block.facts.parent in grounds)", "is_end"),
    ("LC-27", "(is_end or block.facts.parent in grounds)", "block.facts.parent in grounds"),
    ("LC-28", "for below in self.branch_of(digest)[:-1]:", "for below in ():"),
    ("LC-29", "for block in self.here.values():\n            block.is_asked = False", "pass"),
    ("LC-30", "(calls.Judged, calls.AskAgain, calls.TimeoutReached)", "(calls.Judged, calls.TimeoutReached)"),
    (
        "LC-30",
        "self.ask_for_better()\n            self.adopt_best()",
        "self.adopt_best()\n            self.ask_for_better()",
    ),
    ("LC-31", "return sum(block.facts.digest not in kept", "return sum(block.facts.digest in kept"),
    ("LC-32", "if len(branch) > self.depth:", "if len(branch) > self.depth + 1:"),
    ("LC-33", "sorted(self.here.values(), key=lambda block: block.facts.height), {}", "list(self.here.values()), {}"),
    ("LC-33", "if self.head.digest not in self.here:\n            self.head = facts", "self.head = facts"),
    ("LC-34", "if each > slot}", "}"),
    ("LC-35", "self.first_slot = max(self.first_slot, facts.view + 1)", "pass"),
    ("LC-35", "self.burial = read_burial(record)", "pass"),
    ("LC-36", 'self.config["fetch_timeout_us"]', "0"),
    ("LC-36", "is_lone = self.validators == 1 and self.me == 0", "is_lone = False"),
    ("LC-37", "self.may_lead = is_lone or not self.has_journal", "self.may_lead = True"),
    ("LC-37", "            self.may_lead = True\n", ""),
    ("LC-38", "if len(self.burial) > self.depth else None", "if self.burial else None"),
    ("LC-39", "self.arrive_sealed(answer.head)", "pass"),
    ("LC-40", "for sender in sorted(self.answers)]", "for sender in sorted(self.answers, reverse=True)]"),
    ("LC-40", "if self.is_round_open and number == self.round:", "if self.is_round_open:"),
    ("LC-41", "self.judges_by_headers = ok is None", "pass"),
    ("LC-42", "final.height > self.head.height and may_take", "may_take"),
    ("LC-42", "may_take = not self.burial or", "may_take = True or"),
    ("LC-43", "for sealed in burial[1:]:\n                self.arrive_sealed(sealed)", "pass"),
    ("LC-43", "if known_header(burial[0].header).height > self.final.height:", "if True:"),
    ("LC-44", "self.stand_on_own_state(digest)", "pass"),
    ("LC-45", "if not (is_far and not self.burial and self.is_round_open):", "if True:"),
]


def specification_with(old, new):
    """Return the specification with another text in one place."""
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times in the specification"
    names = {"__name__": longest_chain.__name__}
    exec(compile(SOURCE.replace(old, new), longest_chain.__file__, "exec"), names)
    return names["LongestChain"]


@cache
def staged_lives():
    return [stage() for stage in STAGED]


@pytest.mark.parametrize(("rule", "old", "new"), third_of(BREAKS), ids=[f"{each[0]}: {each[2]}" for each in BREAKS])
def test_another_rule_is_seen(rule, old, new):
    broken = specification_with(old, new)
    lives = [*staged_lives(), *map(play_of, PLAYS)]

    seen = next((found for each in lives for found in differences(broken, {0: each})[0]), None)

    assert seen is not None, f"{rule} with {new!r}: expected a difference in {len(lives)} plays, found none"


def test_every_rule_is_broken_once():
    named = {rule for rule, _, _ in BREAKS}

    assert named == {f"LC-{number}" for number in range(1, 46)}
