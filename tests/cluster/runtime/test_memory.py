"""The memory of a long run: what grows with each block goes to a temporary file, and no event shows it."""

import gc
import weakref

from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from network import spill
from validators.execution import Engine

PIECE_BYTES = 512
HOT_BYTES = 4 * PIECE_BYTES


def test_disks_and_log_keep_few_bytes_in_memory(monkeypatch):
    """With small pieces a short run shows what a long one would; its digest is that of the run in memory."""
    scenario = load_scenario("calm", ("run.until_height=8",))
    in_memory = Cluster(scenario, 0).run()
    monkeypatch.setattr(spill, "PIECE_BYTES", PIECE_BYTES)
    monkeypatch.setattr(spill, "HOT_BYTES", HOT_BYTES)
    cluster = Cluster(scenario, 0)
    spilled = cluster.run()
    assert spilled.trace.digest == in_memory.trace.digest
    assert spilled.trace.log == in_memory.trace.log
    assert len(spilled.trace.log) > 20 * HOT_BYTES
    assert spilled.trace.bytes_in_memory < HOT_BYTES
    for disk in cluster.disks:
        assert disk.used_bytes > 10 * HOT_BYTES
        assert disk.bytes_in_memory < 5 * HOT_BYTES


def test_a_crashed_validator_keeps_no_state_until_it_is_back(monkeypatch):
    """Without a collection: after an outage two states of each validator would stand side by side."""
    made, most = [], 0
    init = Engine.__init__

    def noted(engine, *arguments, **others):
        nonlocal most
        init(engine, *arguments, **others)
        made.append(weakref.ref(engine))
        engines = [each() for each in made]
        most = max(most, sum(each is not None and "_tree" in vars(each) for each in engines))

    monkeypatch.setattr(Engine, "__init__", noted)
    gc.disable()
    try:
        Cluster(load_scenario("rolling-restart"), 0).run()
    finally:
        gc.enable()

    assert len(made) > 4
    assert most == 4
