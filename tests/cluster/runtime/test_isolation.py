"""Validators share nothing but the bus, and a validator whose memory is wrong is found and named."""

from dataclasses import replace
from functools import cache

import pytest

from tests.support.cluster_runs import applied_blocks, check_named, result_of
from tests.support.keystones import rest_in_soak
from validators.settings import ValidatorFactory, make_engine


def tampering_factory(*, after_height, key):
    """Return a factory whose validator changes one byte of one stored value in memory, after a height."""

    def make(*arguments):
        engine = make_engine(*arguments)
        finalize = engine.finalize

        def finalize_then_tamper(digest):
            finalization = finalize(digest)
            if engine.finalized.height == after_height:
                store = engine.database._store
                index = store.locations[key] - store.start
                encoded = bytearray(store.log[index])
                encoded[-1] ^= 1
                store.log[index] = bytes(encoded)
            return finalization

        engine.finalize = finalize_then_tamper
        return engine

    return ValidatorFactory(layer=make)


@cache
def untouched_key():
    """Return a state key that the calm run writes at genesis and never again."""
    run, applied = applied_blocks("calm")
    written = {key for _, executed in applied for key in executed.changes}
    engine = run.slots[0].validator.layer
    return next(key for key, _ in engine.database.items() if key not in written)


def test_every_validator_executes_every_block_on_its_own_objects():
    """Counted over finalized blocks: executions = validators x blocks."""
    run, applied = applied_blocks("calm")
    blocks = max(executed.header.height for _, executed in applied)

    common = [(node, executed) for node, executed in applied if executed.header.height <= 20]
    assert blocks >= 20
    assert len(common) == 4 * 20
    for attribute in ("batch", "changes", "summary", "block"):
        assert len({id(getattr(executed, attribute)) for _, executed in common}) == len(common), attribute
    engines = [slot.validator.layer for slot in run.slots]
    assert len({id(engine.database) for engine in engines}) == 4
    assert [slot.counts.executed for slot in run.slots] == [engine.finalized.height for engine in engines]


def test_changing_one_validators_state_changes_no_other():
    """Write into the memory of one; the others' values and roots stay."""
    run, _ = applied_blocks("calm")
    engines = [slot.validator.layer for slot in run.slots]
    before = [dict(engine.live_values()) for engine in engines]
    key = next(iter(before[2]))
    store = engines[2].database._store

    index = store.locations[key] - store.start
    store.log[index] = store.log[index][:-1] + bytes([store.log[index][-1] ^ 1])

    after = [dict(engine.live_values()) for engine in engines]
    assert after[2] != before[2]
    assert [after[node] for node in (0, 1, 3)] == [before[node] for node in (0, 1, 3)]


@pytest.mark.parametrize(("node", "after_height"), rest_in_soak([(0, 5), (0, 20), (2, 5), (2, 20)], [(0, 5), (2, 20)]))
def test_one_changed_byte_in_a_key_never_written_again_fails_the_run(node, after_height):
    """Early, the floor's raise carries it into a root and the validator halts; late, no root ever shows it."""
    key = untouched_key()

    result = result_of(
        "calm", "run.time_limit_ms=40_000", factories={node: tampering_factory(after_height=after_height, key=key)}
    )

    check = check_named(result, "live-values")
    assert (result.exit_code, check.status) == (1, "failed")
    assert dict(check.evidence)["validator"] == node
    assert dict(check.evidence)["key"] == key.hex()


def test_a_factory_is_given_to_the_chosen_validator_only():
    """Variants do not leak."""
    made = []

    def make(*arguments):
        made.append(1)
        return make_engine(*arguments)

    applied_blocks("calm", factories={1: replace(ValidatorFactory(), layer=make)})

    assert made == [1]
