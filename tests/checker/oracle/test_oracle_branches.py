"""The oracle executes what lost as well: a bug that all validators share on a dropped branch alone is seen."""

import msgspec
import pytest

from checker.oracle.branches import OracleBranch
from checker.oracle.replay import OracleBlock, judge_oracle
from checker.record.branches import BranchIndex
from checker.record.run_directory import BRANCHES, RecordReader
from cluster.inspect.explain_run import explain_run
from cluster.scenario.load import load_scenario
from scheduler import Basefees
from tests.support.cluster_runs import check_named, result_of
from tests.support.oracle_runs import run_chain, write_crowded
from validators.execution import InvalidBlockError, engine
from validators.execution.blocks import decode_block, encode_block, header_digest
from validators.execution.run import BlockRun

KEPT = 6
"""The height up to which the recorded chain counts as final; what is above counts as executed and not final."""

LOST_VIEW = 9
"""The view of `certified-split` whose block is executed by all validators and loses."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A run's genesis and blocks, as plain values."""
    genesis, chain = run_chain(write_crowded(tmp_path_factory.mktemp("oracle")))
    blocks = [
        OracleBlock(encode_block(executed.block), list(executed.receipts), dict(executed.changes)) for executed in chain
    ]
    return msgspec.msgpack.encode(genesis), blocks


def judge_above(recorded, *, change=lambda block: block, **verdict):
    """Judge the chain up to `KEPT`, with everything above it, its first block changed, as a branch."""
    genesis, blocks = recorded
    by_parent = {}
    for index, each in enumerate(blocks[KEPT:]):
        block = decode_block(each.block)
        changed = change(block) if index == 0 else block
        encoded = encode_block(changed)
        branch = OracleBranch(
            header_digest(changed.header), lambda encoded=encoded: encoded, **(verdict or {"kept_by": 2})
        )
        by_parent[block.header.parent] = [branch]
    return judge_oracle(genesis, blocks[:KEPT], lambda parent: by_parent.get(parent, ()))


def with_root(block):
    """Claim another state root."""
    return msgspec.structs.replace(block, header=msgspec.structs.replace(block.header, state_root=bytes(32)))


class TestWalk:
    def test_a_branch_is_executed_down_to_its_last_block(self, recorded):
        """Each block on a fork, and the chain itself goes on as if there had been none."""
        result = judge_above(recorded)

        assert result.status == "passed"
        assert dict(result.evidence)["branch_blocks"] == len(recorded[1]) - KEPT
        assert dict(result.evidence)["heights"] == KEPT

    def test_a_block_that_was_kept_must_have_the_roots_it_claims(self, recorded):
        """The first root that is not the oracle's is named, with the validator."""
        result = judge_above(recorded, change=with_root)

        assert result.status == "failed"
        assert f"height {KEPT + 1}: block " in result.summary
        assert "which validator 2 executed: state_root is " in result.summary

    def test_a_block_that_was_refused_must_be_invalid(self, recorded):
        """A validator that refuses what is valid stops a chain without breaking a root."""
        result = judge_above(recorded, refused_by=3, reason="of no particular reason")

        assert dict(result.evidence)["what"] == "refusal"
        assert "is valid by the oracle; validator 3 refused it: of no particular reason" in result.summary

    def test_a_block_that_is_rightly_refused_passes(self, recorded):
        """And nothing is built on it."""
        result = judge_above(recorded, change=with_root, refused_by=3, reason="its roots")

        assert result.status == "passed"
        assert dict(result.evidence)["branch_refusals"] == 1

    def test_a_final_block_that_somebody_refused_is_judged(self, recorded):
        """A validator that refuses a valid block is wrong, even if the others accepted it."""
        genesis, blocks = recorded
        parent = decode_block(blocks[0].block).header.parent
        digest = header_digest(decode_block(blocks[0].block).header)
        branch = OracleBranch(digest, lambda: blocks[0].block, kept_by=0, refused_by=1, reason="whatever")

        result = judge_oracle(genesis, blocks, lambda asked: [branch] if asked == parent else [])

        assert dict(result.evidence)["height"] == 1


class TestRuns:
    @pytest.mark.soak
    def test_a_shared_bug_on_a_dropped_branch_alone_is_found(self, monkeypatch):
        """All validators charge too much in the block that loses, and agree on it; the final chain is right."""
        build = BlockRun.__init__

        def charge_more(self, rules, **parts):
            build(self, rules, **parts)
            if parts["moment"].height == LOST_VIEW and parts["proposer"] == rules.genesis.validators[LOST_VIEW % 4]:
                self._basefees = Basefees(self._basefees.cycle + 1, self._basefees.cell)

        monkeypatch.setattr(BlockRun, "__init__", charge_more)

        result = result_of("certified-split", "run.until_height=14")

        assert [check.name for check in result.checks if check.status == "failed"] == ["oracle"]
        assert f"oracle: height {LOST_VIEW}: block " in result.headline
        explanation = explain_run(load_scenario("certified-split", ["run.until_height=14"]), 0, result.checks)[0]
        assert explanation.height == LOST_VIEW
        assert explanation.sides[0].has_oracle
        assert explanation.sides[0].validators == []

    def test_refusing_a_valid_block_everywhere_is_found(self, monkeypatch):
        """Its view is given up and the next leader's block becomes final: no root is wrong."""
        check_header = engine.check_header

        def refuse_one(header, parent, genesis):
            check_header(header, parent, genesis)
            if header.height == 5 and header.proposer == 1 and header.state_root != bytes(32):
                raise InvalidBlockError("an odd one")

        monkeypatch.setattr(engine, "check_header", refuse_one)

        result = result_of("calm", "run.until_height=8")

        assert check_named(result, "equal-roots").status == "passed"
        assert "is valid by the oracle" in check_named(result, "oracle").summary
        assert "an odd one" in check_named(result, "oracle").summary

    def test_the_record_keeps_every_executed_block_once(self, tmp_path):
        """Four validators executed them; a final one is in there as the losing one is."""
        result = result_of("certified-split", "run.until_height=12", runs=tmp_path)
        reader = RecordReader(result.directory)
        branches = list(reader.branches())
        final = [block.digest for block in reader.blocks()]

        assert reader.manifest.files[BRANCHES].sha256 == result.branches
        assert len({branch.digest for branch in branches}) == len(branches)
        assert set(final) < {branch.digest for branch in branches}
        assert dict(check_named(result, "oracle").evidence)["branch_blocks"] == len(branches) - len(final)

    @pytest.mark.soak
    def test_the_index_reads_a_block_when_it_is_asked_for(self, tmp_path):
        """From its place in the file; what the index holds is small."""
        result = result_of("certified-split", "run.until_height=12", runs=tmp_path)
        records = list(RecordReader(result.directory).branches())
        index = BranchIndex(result.directory)

        found = [branch for record in records for branch in index.executed_on(record.parent)]

        assert {branch.block() for branch in found} == {record.block for record in records}
