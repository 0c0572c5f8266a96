"""Engine and oracle behind the protocol: the blocks, roots and receipts are those of the engine in process."""

import sys
from itertools import islice

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.blocks import ChainStart
from cluster.outside.conformance.script import STEPS, play
from cluster.outside.frames import FRAMINGS
from cluster.outside.home import ApplicationHome, ApplicationPlan
from cluster.outside.hosting.own import own_parameters
from cluster.outside.layer import OutsideLayer
from cluster.outside.own.events import EventTeller
from cluster.outside.process import Launch
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from scheduler import POLICIES
from tests.support.keystones import rest_in_soak
from validators.costs import Costs
from validators.execution import ProposalContext
from validators.execution.blocks import decode_transaction, encode_header
from validators.identity import TransactionVerifier
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import make_engine
from validators.storage import FinalizedEntry

COSTS = Costs()

LACKING = {"engine": (), "oracle": ("early", "snapshot", "restore")}
"""The features that each of them has not."""


def launch(framing, engine="engine"):
    command = (sys.executable, "-m", "stampede_testbed.application", "--framing", framing, "--engine", engine)
    return Launch(command=command, folder=PROJECT_ROOT, framing=FRAMINGS[framing])


@pytest.mark.soak
@pytest.mark.parametrize("engine", LACKING)
@pytest.mark.parametrize("framing", FRAMINGS)
def test_it_passes_every_step_of_the_script(framing, engine):
    results = list(play(launch(framing, engine), {}))

    asked = {step.name: not set(LACKING[engine]) & set(step.needs) for step in STEPS}
    statuses = {name: "passed" if is_asked else "not asked" for name, is_asked in asked.items()}
    assert [(each.step, each.status) for each in results] == list(statuses.items()), results


def home_of(genesis, launched, directory):
    start = ChainStart(
        chain=genesis.chain_id,
        timestamp_ms=genesis.timestamp_ms,
        timebase=genesis.timebase,
        slot_ms=genesis.slot_ms,
    )
    plan = ApplicationPlan(
        launch=launched,
        node=0,
        validators=len(genesis.validators),
        start=start,
        parameters=own_parameters(genesis, COSTS),
        retain_blocks=8,
    )
    return ApplicationHome(plan, directory)


STORM = tuple(
    f"workload.storm.{item}"
    for item in (
        *("kind=storm", "actors=3", "unfunded_actors=1", "timers_per_actor=10", "timers_per_transaction=5"),
        *("start_ms=0", "every_ms=10", "first_slot=3", "spread_slots=4", "ttl_slots=5"),
    )
)
"""Timers that an outage of a minute leaves dead."""


class Pair:
    """The engine in process and behind the protocol, which build the same blocks from the same transactions."""

    def __init__(self, policy, engine, directory):
        cluster = Cluster(load_scenario("calm", (f"chain.policy={policy}", *STORM)), 0)
        self.genesis = cluster.genesis
        self.home = home_of(self.genesis, launch("msgpack", engine), directory)
        self.own = make_engine(self.genesis, TransactionVerifier())
        self.outside = OutsideLayer(self.home, self.genesis, EMPTY_LOG)
        self._teller = EventTeller(self.own.finalized_digest, self._present(self.own.finalized), {})
        self._submitted = (decode_transaction(each.encoded) for each in cluster.submissions)

    def build(self, parent, view, after_ms):
        """Have both build a block, and return it from both."""
        known = self.own.executed(parent)
        before = self.own.finalized if known is None else known.header
        context = ProposalContext(
            parent=parent, view=view, proposer=view % 4, timestamp_ms=before.timestamp_ms + after_ms
        )
        # The second of each is invalid, and is left out.
        offered = [each for each in islice(self._submitted, 6) for _ in range(2)]
        mine = self.own.propose(context, offered)
        made = self.outside.propose(context, [msgspec.msgpack.encode(each) for each in offered])
        told = self._teller.tell(mine.digest, mine.events, parent=parent, present=self._present(mine.header))
        assert list(made.events) == list(told)
        return mine, made

    def _present(self, header):
        return header.slot if self.genesis.timebase == "slot" else header.height


def outcome(made):
    return made.digest, made.root, made.receipts, made.block, made.cost_us(COSTS, 1)


BEHIND = [(policy, engine) for engine in LACKING for policy in POLICIES]


@pytest.mark.parametrize(("policy", "engine"), rest_in_soak(BEHIND, [("fifo-free", "engine"), ("fifo", "oracle")]))
def test_its_blocks_are_those_of_the_engine_in_process(policy, engine, tmp_path):
    """Two branches, an outage of a minute on one with its storm, a reorganization, and a restart."""
    pair = Pair(policy, engine, tmp_path / "directory")
    try:
        assert (pair.outside.genesis_digest, pair.outside.finalized) == (pair.own.genesis_digest, pair.own.finalized)
        chain, parent = [], pair.own.finalized_digest
        for place, after_ms in enumerate((2_000, 2_000, 60_000, 2_000, 2_000)):
            mine, made = pair.build(parent, place + 1, after_ms)
            assert outcome(made) == outcome(mine)
            parent = made.digest
            chain.append(made)
        loser, made = pair.build(chain[0].digest, 9, 3_000)
        assert outcome(made) == outcome(loser)
        pair.own.finalize(chain[2].digest)
        applied = pair.outside.finalize(chain[2].digest).applied
        for parent in (chain[3], chain[4]):
            mine, made = pair.build(parent.digest, 10, 3_000)
            assert outcome(made) == outcome(mine)
            chain.append(made)
        log = [FinalizedEntry(each.header.height, each.digest, encode_header(each.header), ()) for each in applied]
        again = OutsideLayer(pair.home, pair.genesis, RestoredLog(entries=log))
        assert [outcome(again.execute(each.block)) for each in chain[3:]] == [outcome(each) for each in chain[3:]]
    finally:
        pair.home.kill()


def test_a_life_that_came_back_tells_deferrals_in_the_same_order():
    """It has read the waiting timers from the state, in the order of that."""
    told = []
    for waiting in ({"aa": 5, "bb": 5, "cc": 9}, {"cc": 9, "bb": 5, "aa": 5}):
        teller = EventTeller(b"parent", 4, waiting)
        told.append(teller.tell(b"block", (), parent=b"parent", present=5))

    assert told[0] == told[1]
    assert [event["timer"] for event in told[0]] == ["aa", "bb"]
