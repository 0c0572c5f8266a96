"""The policies of `stampede-study-rules`: each follows its rule, and is the built-in one in all else."""

import subprocess
import sys
from collections import Counter
from functools import partial

import msgspec
import pytest

from checker.record.root import PROJECT_ROOT
from cluster.scenario.load import convert_scenario
from cluster.scenario.plugins import load_plugins
from scheduler import InvalidInput, LaneConfig, TimerConfig, TimerFired, policies
from scheduler.bias_records import BiasConfig
from scheduler.policies import POLICIES, BiasAuction
from tests.support.bias_bench import BiasBench
from tests.support.chain_harness import ALICE, BALANCE, STORM, advance, make_engine, make_genesis, order, propose
from tests.support.cluster_runs import judge_in_process
from tests.support.keystones import first_of
from tests.support.lane_chains import GAS, HEARTS, beat
from validators.actors import StormOrder
from validators.execution import GenesisActor, PolicyEntry

PLUGIN = "stampede-study-rules"
NAMES = ("bias-observed", "eip1559-ema", "eip1559-grace", "fifo-grace")


@pytest.fixture(autouse=True)
def own():
    """Return the parameters of a policy of the plug-in, which this process knows for the length of a test."""
    load_plugins([PLUGIN])
    return lambda name, **fields: POLICIES[name].config_type(**fields)


def genesis_of(policy, config=None, **timers):
    """Return a genesis in slot time with hearts and a storm maker."""
    makers = [GenesisActor(heart, "heartbeat", ALICE, BALANCE) for heart in HEARTS]
    return make_genesis(
        policies=(PolicyEntry(1, policy, b"" if config is None else msgspec.msgpack.encode(config)),),
        timebase="slot",
        actors=(*makers, GenesisActor(STORM, "storm-maker", ALICE, BALANCE)),
        timer_config=TimerConfig(**({"max_cells_per_fire": 2_000} | timers)),
    )


def fired(executed):
    """Return the actors whose timers fired in a block, in order."""
    return [event.actor for event in executed.events if isinstance(event, TimerFired)]


def storm(nonce, count, ttl):
    """Return a transaction that schedules timers for the next slot."""
    return order(0, nonce, STORM, "make", StormOrder(count, 1, 0, 1, ttl, GAS))


class TestEma:
    """Three quick hearts and a slow one compete for a lane with room for two."""

    def run(self, policy, config, blocks=40):
        """Return the blocks, the fires of each heart, and the engine."""
        engine = make_engine(genesis_of(policy, config, lane_timer_cycles=2 * GAS))
        tips = [beat(heart, heart, 1, max_priority_fee_per_cycle=300) for heart in range(3)]
        tips.append(beat(3, 3, 5, max_priority_fee_per_cycle=200))
        done = [advance(engine, () if index else tips) for index in range(blocks)]
        counts = Counter(HEARTS.index(actor) for each in done for actor in fired(each))
        return done, counts, engine

    def test_blocks_that_move_all_the_way_fire_as_without_smoothing(self, own):
        plain, counts, _ = self.run("eip1559", LaneConfig())
        smoothed, same, _ = self.run("eip1559-ema", own("eip1559-ema", smoothing=(1, 1)))

        assert [each.receipts for each in smoothed] == [each.receipts for each in plain]
        assert same == counts

    def test_a_slow_median_gives_the_quiet_actor_no_boost(self, own):
        """Its median stays near 1, so that whoever fired once weighs 1."""
        _, plain, _ = self.run("eip1559", LaneConfig())
        _, slow, _ = self.run("eip1559-ema", own("eip1559-ema", smoothing=(1, 10**6)))

        assert plain[3] > 2 * slow[3]

    def test_the_smoothed_median_moves_by_its_share(self, own):
        config = own("eip1559-ema", smoothing=(1, 10))
        done, _, engine = self.run("eip1559-ema", config, blocks=12)
        smoothed, *_ = (table for table in POLICIES["eip1559-ema"].tables if table.name == "smoothed median")
        expected, fires = 0, Counter()
        for each in done:
            counts = sorted(fires.values()) or [0]
            doubled = counts[(len(counts) - 1) // 2] + counts[len(counts) // 2]
            expected += (doubled * 10**6 - expected) // 10
            fires.update(fired(each))

        assert expected > 10**6
        assert msgspec.msgpack.decode(engine.database.get(smoothed.key())) == [expected]

    @pytest.mark.parametrize("share", [(0, 1), (2, 1), (1, 0)])
    def test_a_share_beyond_its_range_is_refused(self, share, own):
        with pytest.raises(InvalidInput, match="smoothing"):
            own("eip1559-ema", smoothing=share)


class TestObserved:
    """Windows of two blocks, in a lane with room for four fires."""

    def lambdas(self, kind, config, *, bids, late=0):
        """Return lambda after each of two windows, in whose blocks timers with these bids fire, `late` blocks late."""
        bench = BiasBench(TimerConfig(lane_timer_cycles=4 * GAS, max_cells_per_fire=0), config)
        bench.kind, found = kind, []
        for height in range(1, 5):
            for index, bid in enumerate(bids):
                actor = bytes([height, index]) * 10
                bench.ledger.credit(actor, 10**9)
                bench.carried(actor, due=max(height - late, 1), bid=bid, gas_limit=GAS)
            assert bench.run(height).fired == len(bids)
            found.append(bench.books.lambda_)
        return found[1::2]

    def config(self, own, **fields):
        return own("bias-observed", lambda_window_blocks=2, **fields)

    @pytest.mark.parametrize(
        ("bids", "expected"),
        [((0, 10, 10), [87_500, 76_562]), ((0, 9, 11, 11), [100_000, 100_000]), ((0, 0, 9, 11), [87_500, 76_562])],
    )
    def test_lambda_falls_where_most_fires_bid_no_more_than_the_reserve(self, bids, expected, own):
        assert self.lambdas(POLICIES["bias-observed"], self.config(own), bids=bids) == expected

    def test_lambda_rises_where_waits_are_long_and_bids_are_not_low(self, own):
        found = self.lambdas(POLICIES["bias-observed"], self.config(own, target_wait=0), bids=(11, 12), late=1)

        assert found == [112_500, 126_562]

    def test_the_built_in_loop_differs_in_its_reason_to_fall_alone(self, own):
        """A value that does not decay lets it fall whatever was bid."""
        plain = BiasConfig(lambda_window_blocks=2, value_decay=(0, 1))
        observed = self.config(own, value_decay=(0, 1))

        assert self.lambdas(BiasAuction, plain, bids=(11, 12)) == [87_500, 76_562]
        assert self.lambdas(POLICIES["bias-observed"], observed, bids=(11, 12)) == [100_000, 100_000]

    def test_a_count_of_a_window_ends_with_it(self, own):
        """A quarter of the second window's fires bid low; both windows together would be above the share."""
        kind, config = POLICIES["bias-observed"], self.config(own, low_bid_share=(1, 4))
        bench = BiasBench(TimerConfig(lane_timer_cycles=4 * GAS, max_cells_per_fire=0), config)
        bench.kind, found = kind, []
        for height, bids in enumerate([(0, 0), (0, 0), (0, 11, 11, 11), (0, 11, 11, 11)], start=1):
            for index, bid in enumerate(bids):
                bench.ledger.credit(bytes([height, index]) * 10, 10**9)
                bench.carried(bytes([height, index]) * 10, due=height, bid=bid, gas_limit=GAS)
            bench.run(height)
            found.append(bench.books.lambda_)

        assert found == [100_000, 87_500, 87_500, 87_500]


@pytest.mark.parametrize(("plain", "policy"), [("fifo", "fifo-grace"), ("eip1559", "eip1559-grace")])
class TestGrace:
    """A grace of three blocks after a gap of more than five slots."""

    def chain(self, policy, own, **options):
        config = own(policy, gap_slots=5, grace_blocks=3) if policy.endswith("grace") else None
        config = LaneConfig() if policy == "eip1559" else config
        engine = make_engine(genesis_of(policy, config), **options)
        return engine, partial(advance, engine)

    def test_without_a_gap_blocks_are_those_of_the_built_in_policy(self, plain, policy, own):
        receipts = []
        for name in (plain, policy):
            _, block = self.chain(name, own)
            done = [block([beat(0, 0), storm(1, 4, 3)]), *(block(after_ms=5_000) for _ in range(5))]
            receipts.append([each.receipts for each in done])

        assert receipts[0] == receipts[1]

    def test_after_a_gap_no_timer_fires_while_transactions_run(self, plain, policy, own):
        _, block = self.chain(policy, own)
        block([beat(0, 0)])
        gap = block([storm(1, 4, 100)], after_ms=6_000)
        found = [gap, *(block() for _ in range(4)), block(after_ms=6_000)]

        assert [each.summary.fired for each in found] == [0, 0, 0, 5, 1, 0]
        assert [each.summary.waiting_live for each in found[:3]] == [1, 5, 5]

    def test_a_gap_within_a_grace_begins_another(self, plain, policy, own):
        _, block = self.chain(policy, own)
        block([beat(0, 0)])
        found = [block(after_ms=after_ms) for after_ms in (6_000, 1_000, 6_000, 1_000, 1_000, 1_000)]

        assert [each.summary.fired for each in found] == [0, 0, 0, 0, 0, 1]

    def test_dead_timers_are_removed_in_a_grace(self, plain, policy, own):
        _, block = self.chain(policy, own)
        block([storm(0, 4, 3)])
        gap = block(after_ms=6_000)

        assert (gap.summary.fired, gap.summary.expired) == (0, 4)

    def test_a_branch_without_the_gap_fires(self, plain, policy, own):
        engine, block = self.chain(policy, own)
        block([beat(0, 0)])
        slow, quick = propose(engine, after_ms=6_000), propose(engine)
        children = [propose(engine, parent=parent.digest) for parent in (slow, quick)]

        assert [each.summary.fired for each in (slow, quick, *children)] == [0, 1, 0, 1]

    def test_a_restart_within_a_grace_goes_on_with_it(self, plain, policy, own):
        engine, block = self.chain(policy, own)
        done = [block([beat(0, 0)]), block(after_ms=6_000)]
        operations = [operation for each in done for operation in each.operations]
        again, _ = self.chain(policy, own, operations=operations, header=engine.finalized)
        built = propose(engine)

        assert built.summary.fired == 0
        assert again.execute(built.block).digest == built.digest


def scenario_of(policy, **chain):
    return {
        "name": "small",
        "title": "a blackout under a proposed rule",
        "plugins": [PLUGIN],
        "oracle": "off",
        "chain": {"policy": policy, "timers": {"lane_timer_cycles": 60_000}, **chain},
        "workload": {"pulse": {"kind": "heartbeats", "actors": 8}},
        "faults": {"dark": {"kind": "blackout", "validators": [0, 1, 2, 3], "at_ms": 6_000, "restart_ms": 16_000}},
        "run": {"until_height": 12},
    }


@pytest.mark.parametrize(
    ("policy", "chain"),
    first_of(
        [
            ("eip1559-grace", {"policy_parameters": {"gap_slots": 5, "grace_blocks": 3}}),
            ("fifo-grace", {"policy_parameters": {"gap_slots": 5, "grace_blocks": 3}}),
            ("eip1559-ema", {"policy_parameters": {"smoothing": [1, 5]}, "lane": {"fairness_window_blocks": 5}}),
            ("bias-observed", {"policy_parameters": {"low_bid_share": [1, 3], "lambda_window_blocks": 4}}),
        ]
    ),
)
def test_four_validators_agree_under_a_proposed_rule(policy, chain):
    found = judge_in_process(convert_scenario(scenario_of(policy, **chain), "small.toml"))

    assert (found.verdict, found.headline.endswith("no oracle judged it")) == ("passed", True)


def test_the_lane_has_its_section_and_the_rule_its_parameters():
    raw = scenario_of("eip1559-ema", policy_parameters={"smoothing": [1, 5]}, lane={"fairness_window_blocks": 7})
    chain = convert_scenario(raw, "small.toml").chain
    config = msgspec.msgpack.decode(chain.policies()[0].config, type=POLICIES["eip1559-ema"].config_type)

    assert (config.smoothing, config.fairness_window_blocks) == ((1, 5), 7)
    assert chain.policy_parameters == {"smoothing": (1, 5)}


def test_each_policy_says_that_no_oracle_judges_it():
    assert [name for name in NAMES if "without oracle" not in POLICIES[name].__doc__] == []


def test_a_policy_has_the_tables_of_the_one_that_it_derives_from_alone():
    class Borrowed(POLICIES["fifo"]):
        name = "borrowed"
        tables = POLICIES["bias-auction"].tables

    with pytest.raises(ValueError, match="plug-ins have 0x80 to 0xff"):
        policies.register_policy(Borrowed)


def test_a_clone_finds_the_plugin_without_an_installation(tmp_path):
    (tmp_path / "small.toml").write_text(
        'name = "small"\ntitle = "a"\nplugins = ["stampede-study-rules"]\noracle = "off"\n'
        '[chain]\npolicy = "fifo-grace"\n[workload.pulse]\nkind = "heartbeats"\nactors = 1\n'
    )
    command = [sys.executable, str(PROJECT_ROOT / "run_cluster.py"), "check", "small.toml"]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
