"""One digest: over Python versions, hash seeds, and the orders in which trio runs its tasks."""

import hashlib
import subprocess
from types import SimpleNamespace

import pytest

from checker.record.request_process import ProcessGoneError
from checker.record.root import PROJECT_ROOT
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import convert_scenario, decode_scenario, encode_scenario, load_scenario, with_reseeds
from cluster.verdict.determinism import (
    REPEAT_SHUFFLE,
    STOCK_SHUFFLE,
    RepeatWorker,
    compare_logs,
    repeat_in_fresh_process,
    seed_shuffle,
)
from network.chance import Chance
from tests.support.keystones import third_of

SETTINGS = ("run.until_height=12",)


@pytest.fixture(scope="module")
def turbulent():
    """A short scenario with a partition, a crash and a blackout, resolved."""
    scenario = load_scenario("rolling-restart")
    plain = {
        "name": "turbulent",
        "title": "partition, crash and blackout in a short run",
        "workload": {
            "pulse": {"kind": "heartbeats", "actors": 3},
            "payments": {"kind": "transfers", "accounts": 3, "count": 30},
        },
        "faults": {
            "split": {"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 2_500, "stop_ms": 6_000},
            "stop": {"kind": "crash", "validator": 2, "at_ms": 8_020, "restart_ms": 10_000},
            "dark": {"kind": "blackout", "validators": [0, 1, 2, 3], "at_ms": 12_041, "restart_ms": 15_000},
            "weather": {
                "kind": "links",
                "stop_ms": 9_000,
                "loss_ppm": 100_000,
                "reorder_ppm": 50_000,
                "reorder_extra_ms": 100,
            },
        },
        "run": {"until_height": 12},
    }
    assert scenario.cluster.validators == 4
    return encode_scenario(convert_scenario(plain, "turbulent"))


@pytest.fixture(scope="module")
def reference(turbulent):
    """The event log under this Python, hash seed 0 and trio's stock shuffle."""
    return repeat_in_fresh_process(turbulent, 3, hash_seed=0, shuffle=STOCK_SHUFFLE)


def digest_of(log):
    return hashlib.sha256(log).hexdigest()


def test_the_short_scenario_has_crashes_and_partitions(reference):
    """The run that is compared below has enough in it."""
    for kind in (b"crash", b"restart", b"drop", b"executed", b"finalized", b"vote"):
        assert kind in reference


@pytest.mark.parametrize(("hash_seed", "shuffle"), third_of([(1, 5), (2, 6), (77_777, STOCK_SHUFFLE)]))
def test_hash_seeds_and_task_orders_give_one_digest(hash_seed, shuffle, turbulent, reference):
    """Three hash seeds, two seeds of trio's shuffle, and stock trio."""
    log = repeat_in_fresh_process(turbulent, 3, hash_seed=hash_seed, shuffle=shuffle)

    assert digest_of(log) == digest_of(reference), compare_logs(reference, log).summary


@pytest.mark.parametrize("delivery", ["direct", "direct, now and then in reverse"])
def test_who_calls_the_handlers_does_not_show(delivery, turbulent, reference):
    """The kernel, in one order of nodes or another, or each validator's task, as in the processes above."""
    run = Cluster(decode_scenario(turbulent, "turbulent"), 3, delivery=delivery).run()

    assert run.trace.digest.hex() == digest_of(reference), compare_logs(reference, bytes(run.trace.log)).summary


def test_what_validators_share_does_not_show(turbulent, reference):
    """Each is charged for signatures and messages as if it had verified and decoded them itself."""
    runs = [Cluster(decode_scenario(turbulent, "turbulent"), 3, is_sharing=is_sharing).run() for is_sharing in (0, 1)]

    assert {run.trace.digest.hex() for run in runs} == {digest_of(reference)}
    assert len({tuple(slot.counts.refused for slot in run.slots) for run in runs}) == 1


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_python_versions_give_one_digest(version, turbulent, reference):
    """Each version for which `make test` found an interpreter; an absent one is named."""
    log = repeat_in_fresh_process(turbulent, 3, hash_seed=9, shuffle=STOCK_SHUFFLE, python=python_of(version))

    assert digest_of(log) == digest_of(reference), compare_logs(reference, log).summary


@pytest.mark.soak
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_python_versions_give_one_continuation(version, turbulent, reference):
    """With other chance from turn 500 on, in the middle of the partition."""
    changed = encode_scenario(with_reseeds(decode_scenario(turbulent, "turbulent"), [(500, 7)]))
    here = bytes(Cluster(decode_scenario(changed, "changed"), 3).run().trace.log)
    log = repeat_in_fresh_process(changed, 3, hash_seed=9, shuffle=STOCK_SHUFFLE, python=python_of(version))

    assert digest_of(log) == digest_of(here), compare_logs(here, log).summary
    assert here[:10_000] == reference[:10_000]
    assert here != reference


def python_of(version):
    """Return the interpreter of a Python version; skip where there is none."""
    python = PROJECT_ROOT / f".venv-{version}" / "bin" / "python"
    ours = PROJECT_ROOT / ".venv" / "bin" / "python"
    if not python.exists() and version_of(ours) == version:
        python = ours
    if not python.exists():
        pytest.skip(f"Python {version} is not on this machine")
    return str(python)


def version_of(python):
    """Return "3.N" of an interpreter."""
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@pytest.mark.soak
def test_another_seed_is_another_run(turbulent, reference):
    """The seed matters: the digest is not a constant."""
    log = repeat_in_fresh_process(turbulent, 4, hash_seed=0, shuffle=STOCK_SHUFFLE)

    assert digest_of(log) != digest_of(reference)


def test_two_runs_in_one_process_give_one_digest(turbulent, reference):
    """Nothing of a run is left behind for the next."""
    scenario = load_scenario("calm", SETTINGS)
    digests = [Cluster(scenario, 1).run().trace.digest for _ in range(2)]

    assert digests[0] == digests[1]


def test_the_first_event_that_differs_is_named(reference):
    """A log with one event changed is reported with index and both events."""
    scenario = load_scenario("calm", ("run.until_height=3",))
    first = bytes(Cluster(scenario, 1).run().trace.log)
    second = bytes(Cluster(scenario, 2).run().trace.log)

    check = compare_logs(first, second)

    assert check.status == "failed"
    assert "first difference at event" in check.summary
    assert compare_logs(first, first).status == "passed"


@pytest.fixture(scope="module")
def repeater():
    with RepeatWorker() as worker:
        yield worker


def recorded(seed, log=None):
    """Return a run as the comparison sees it: its scenario, its seed and its log."""
    scenario = load_scenario("calm", ("run.until_height=3",))
    found = log or Cluster(scenario, seed).run().trace.log
    return SimpleNamespace(scenario=scenario, seed=seed, log=found, calls=b"")


def test_one_process_repeats_one_run_after_another(repeater):
    """Each is the same as here, whatever that process has run before."""
    checks = [repeater.compare(recorded(seed)) for seed in (1, 2)]

    assert [check.status for check in checks] == ["passed", "passed"]
    assert checks[1].summary.endswith("in a process with 1 run before")


def test_a_repetition_that_differs_names_the_first_event(repeater):
    check = repeater.compare(recorded(1, recorded(2).log))

    assert check.status == "failed"
    assert check.summary.startswith("first difference at event ")


def test_a_process_that_is_gone_gives_no_result():
    worker = RepeatWorker()
    worker.close()

    with pytest.raises(ProcessGoneError, match="the process of cluster"):
        worker.compare(recorded(1))


def test_a_draw_does_not_depend_on_other_draws():
    """Chance is keyed: taking a fault out of a plan leaves every other draw as it was."""
    chance = Chance(7)
    before = chance.draw("latency", "1->3", 5)
    for ordinal in range(100):
        chance.draw("loss", "1->3", ordinal)

    assert chance.draw("latency", "1->3", 5) == before == Chance(7).draw("latency", "1->3", 5)


def test_this_trio_has_a_scheduler_seed():
    """Without it the check can only use the stock shuffle, and this test would show that."""
    code = f"from cluster.verdict.determinism import seed_shuffle; raise SystemExit(not seed_shuffle({REPEAT_SHUFFLE}))"
    python = str(PROJECT_ROOT / ".venv" / "bin" / "python")
    done = subprocess.run([python, "-c", code], cwd=PROJECT_ROOT, check=False)
    if done.returncode:
        pytest.skip("this trio has no private scheduler seed: task orders were varied by stock trio only")
    assert callable(seed_shuffle)
