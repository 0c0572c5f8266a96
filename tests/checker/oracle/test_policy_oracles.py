"""A policy oracle in one file is all that the oracle needs of a policy: phase, table, configuration, place."""

from typing import NamedTuple

import pytest

from checker.oracle import blocks as oracle_blocks
from checker.oracle.calls import EMITTED, RevertedError
from checker.oracle.contents import OwnTable, plain_key
from checker.oracle.phases import PHASES
from checker.oracle.policies import POLICY_ORACLES, PolicyInBlock, PolicyOracle
from checker.oracle.records import PolicyEntry, write
from checker.oracle.replay import unknown_to_the_oracle
from checker.oracle.system import _configs_of
from checker.oracle.timers import DEFERRED, FIRED, SUMMARY, TimerPhase
from scheduler import POLICIES, Carry
from tests.support.oracle_bench import RICH, Bench, reported


class PairsConfig(NamedTuple):
    """The configuration of the policy `pairs`."""

    most: int = 2


CONFIG = OwnTable(lambda _: plain_key(0x80, b""), lambda _, row: list(row))
FIRES = OwnTable(lambda _: plain_key(0x81, b""), lambda _, row: [row])


class PairsPhase(TimerPhase):
    """A limit of timers in a block, and their number in the state."""

    def _fill_lane(self, candidates):
        most = self.contents.own(CONFIG).rows[None].most
        for timer in candidates[:most]:
            self._attempt(timer)
        return candidates[most:]

    def close(self, used_cycles):
        """Count the fires of the chain."""
        assert used_cycles == self.lane_cycles
        fired = self.contents.own(FIRES)
        fired.put(None, (fired.get(None) or 0) + self.fired)


class PairsInBlock(PolicyInBlock):
    """One block of the policy."""

    def timer_phase(self, present, parent_now, proposer):
        """Return the phase."""
        return PairsPhase(self.start.contents, present, parent_now, self.start.basefees, proposer)


class PairsOracle(PolicyOracle):
    """Timers come out two by two."""

    name = "pairs"
    follows = ("fifo",)

    def open(self, start):
        """Return the policy in a block."""
        return PairsInBlock(start)

    def read_config(self, encoded):
        """Return the defaults, the only configuration that genesis can state."""
        assert not encoded
        return PairsConfig()

    def config_table(self, contents):
        """Return the table of the configuration."""
        return contents.own(CONFIG)

    def config_of(self, fields):
        """Return the configuration, None for less than one timer."""
        return PairsConfig(*fields) if fields[0] >= 1 else None

    def key_of(self, name):
        """Return the key of a field."""
        return f"pairs.{name}"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setitem(POLICY_ORACLES, "pairs", PairsOracle())
    made = Bench({"a": RICH}, policy="pairs")
    for number in range(3):
        made.add(f"t{number}", "a", 1)
    return made


def test_the_phase_of_a_policy_oracle_is_the_blocks(bench):
    assert reported(1, bench.run_block()) == ["t0", "t1"]
    assert reported(1, bench.run_block()) == ["t2"]


def test_a_table_of_a_policy_oracle_is_in_the_state(bench):
    bench.run_block()

    assert bench.result.changes[plain_key(0x81, b"")] == write([2])
    assert bench.contents.log.values[plain_key(0x80, b"")] == write([2])


def test_a_fork_has_a_table_of_its_own(bench):
    bench.run_block()
    other = bench.contents.fork()
    bench.run_block()

    assert (other.own(FIRES).rows[None], bench.contents.own(FIRES).rows[None]) == (2, 3)


def test_governance_knows_the_fields_of_a_policy_oracle(bench):
    encoded = b"\x81\xaapairs.most\x01"

    assert [config for _, config in _configs_of(encoded, bench.contents)][-1] == PairsConfig(1)
    with pytest.raises(RevertedError, match="InvalidInput"):
        _configs_of(b"\x81\xaapairs.most\x00", bench.contents)
    with pytest.raises(RevertedError, match="InvalidInput"):
        _configs_of(encoded, Bench({"a": RICH}).contents)


def test_a_policy_oracle_says_what_it_may_follow(bench):
    def activated_after(first):
        entries = [PolicyEntry(1, first), PolicyEntry(5, "pairs")]
        return unknown_to_the_oracle(bench.chain.genesis._replace(policies=entries))

    assert activated_after("fifo") == ""
    assert activated_after("eip1559") == "an activation of pairs after eip1559"


class MergingPhase(TimerPhase):
    """Collects in a prologue, and fires one timer before each transaction; the last transaction comes first."""

    def prologue(self):
        """Collect."""
        self.ready = self._waiting()
        self.present.collected.update((timer.timer_id, timer) for timer in self.ready)

    def merge(self, transactions):
        """Fire, then let the next transaction run."""
        for index in reversed(range(len(transactions))):
            self._attempt(self.ready.pop(0))
            yield index

    def run(self):
        """Report those that are left."""
        self._report(self.ready, {timer.timer_id: "lane_full" for timer in self.ready})

    def end_block(self):
        """Say that the block ends."""
        self.events.append([EMITTED, bytes(20), "end", b""])


class MergingOracle(PolicyOracle):
    """Timers between transactions."""

    name = "merging"

    def open(self, start):
        """Return the policy in a block, with a prologue."""
        rules = PolicyInBlock(start)
        rules.phases = lambda: ("promotion", "prologue", *PHASES[1:])
        rules.timer_phase = lambda *about: MergingPhase(start.contents, *about[:2], start.basefees, about[2])
        return rules


def test_an_oracle_may_have_a_prologue_and_fire_between_transactions(monkeypatch):
    """As `aptos` does: each receipt stands where it happened, and who is collected is too late for a transaction."""
    monkeypatch.setitem(POLICY_ORACLES, "merging", MergingOracle())
    monkeypatch.setattr(oracle_blocks, "is_signed", lambda _: True)
    bench = Bench({"a": RICH, "b": RICH}, policy="merging", program="script-actor")
    for number in range(3):
        bench.add(f"t{number}", "a", 1)
    script = write([[["cancel", b"t2"], ["cancel", b"none"]], 1])
    bench.run_block([bench.transaction("b", "note", b"first", 1), bench.transaction("a", "run", script, 0)])
    receipts = bench.result.receipts

    assert [receipt[1][0] if receipt[0] else "transaction" for receipt in receipts] == [
        *(FIRED, "transaction", FIRED, "transaction", DEFERRED, SUMMARY, EMITTED)
    ]
    refused = [event[3] for receipt in receipts if receipt[0] == 0 for event in receipt[-1]]
    assert refused == [b"AlreadyCollected", b"UnknownTimer"]
    assert [name for name, _ in bench.result.phases][:4] == ["promotion", "prologue", "transactions", "timers"]


def test_every_built_in_policy_has_an_oracle():
    policies = {name: policy() for name, policy in POLICIES.items()}
    built_in = {
        name: tuple(other for other in policies if isinstance(policy.carry(policies[other]), Carry))
        for name, policy in policies.items()
    }

    assert {policy.name: policy.follows for policy in POLICY_ORACLES.values()} == built_in
