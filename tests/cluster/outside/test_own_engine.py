"""The project's own engine behind the protocol: the blocks, roots and receipts are those of the engine in process."""

import sys
from itertools import islice

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.blocks import ChainStart
from cluster.outside.conformance.script import STEPS, play
from cluster.outside.frames import FRAMINGS
from cluster.outside.home import ApplicationHome, ApplicationPlan
from cluster.outside.layer import OutsideLayer
from cluster.outside.process import Launch
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from scheduler import POLICIES
from tests.support.keystones import rest_in_soak
from validators.execution import ProposalContext
from validators.execution.blocks import decode_transaction, encode_header
from validators.identity import TransactionVerifier
from validators.restored import EMPTY_LOG, RestoredLog
from validators.settings import make_engine
from validators.storage import FinalizedEntry


def launch(framing):
    command = (sys.executable, "-m", "stampede_testbed.application", "--framing", framing)
    return Launch(command=command, folder=PROJECT_ROOT, framing=FRAMINGS[framing])


@pytest.mark.soak
@pytest.mark.parametrize("framing", FRAMINGS)
def test_it_passes_every_step_of_the_script(framing):
    results = list(play(launch(framing), {}))

    assert [(each.step, each.status) for each in results] == [(step.name, "passed") for step in STEPS], results


def home_of(genesis, framing, directory):
    start = ChainStart(
        chain=genesis.chain_id,
        timestamp_ms=genesis.timestamp_ms,
        timebase=genesis.timebase,
        slot_ms=genesis.slot_ms,
    )
    plan = ApplicationPlan(
        launch=launch(framing),
        node=0,
        validators=len(genesis.validators),
        start=start,
        parameters={"genesis": msgspec.msgpack.encode(genesis)},
        retain_blocks=8,
    )
    return ApplicationHome(plan, directory)


class Pair:
    """The engine in process and behind the protocol, which build the same blocks from the same transactions."""

    def __init__(self, policy, directory):
        cluster = Cluster(load_scenario("calm", (f"chain.policy={policy}",)), 0)
        self.genesis = cluster.genesis
        self.home = home_of(self.genesis, "msgpack", directory)
        self.own = make_engine(self.genesis, TransactionVerifier())
        self.outside = OutsideLayer(self.home, self.genesis, EMPTY_LOG)
        self._submitted = (decode_transaction(each.encoded) for each in cluster.submissions)

    def build(self, parent, view, after_ms):
        """Have both build a block, and return it from both."""
        known = self.own.executed(parent)
        before = self.own.finalized if known is None else known.header
        context = ProposalContext(
            parent=parent, view=view, proposer=view % 4, timestamp_ms=before.timestamp_ms + after_ms
        )
        offered = list(islice(self._submitted, 6))
        mine = self.own.propose(context, offered)
        return mine, self.outside.propose(context, [msgspec.msgpack.encode(each) for each in offered])


def outcome(made):
    return made.digest, made.root, made.receipts, made.block


@pytest.mark.parametrize("policy", rest_in_soak(POLICIES, ["fifo-free"]))
def test_its_blocks_are_those_of_the_engine_in_process(policy, tmp_path):
    """Two branches, an outage of a minute on one with its storm, a reorganization, and a restart."""
    pair = Pair(policy, tmp_path / "directory")
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
        applied = pair.outside.finalize(chain[2].digest).applied
        log = [FinalizedEntry(each.header.height, each.digest, encode_header(each.header), ()) for each in applied]
        again = OutsideLayer(pair.home, pair.genesis, RestoredLog(entries=log))
        assert [outcome(again.execute(each.block)) for each in chain[3:]] == [outcome(each) for each in chain[3:]]
    finally:
        pair.home.kill()
