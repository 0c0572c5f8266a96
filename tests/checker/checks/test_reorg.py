"""Reorg: what the check counts, and what the split scenarios really do."""

import pytest

from checker.checks.reorg import Reorg
from checker.expected import Expectations, ReorgCounts
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.events import events_of_type, read_event
from tests.support.checks import make_run, show
from tests.support.cluster_runs import check_named, result_of
from tests.support.events import logged
from tests.support.keystones import third_of
from tests.support.mutation import WITH_CATALOGUE
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, CertificateHeld, Reported, Voted

CHAIN_VIEWS = (9, 10, 11, 13, 14, 15, 17, 18, 19)


def watch(*events, **expected):
    """Return the result for (node, kind, height, name) events; a fifth value is its time."""
    check = Reorg(make_run(expect=Expectations(reorg=ReorgCounts(**expected))))
    for node, kind, height, name, *at_us in events:
        digest = name.encode() * 32
        values = (height, height, digest, b"root") if kind == "finalized" else (height, digest)
        show(check, logged(*(at_us or [0]), node, kind, *values))
    return check.finish()


class TestReorganizations:
    def test_heights_dropped_at_once_are_the_depth(self):
        """Two siblings of one height are one height; a later finalization counts anew."""
        events = [
            (0, "finalized", 1, "a"),
            *[(0, "rolled-back", height, name) for height, name in ((1, "b"), (1, "c"))],
        ]
        more = [(0, "rolled-back", 2, "d"), (0, "finalized", 2, "e"), (0, "rolled-back", 3, "f")]

        result = watch(*events, *more, rolled_back_depth=2)

        evidence = dict(result.evidence)
        assert (result.status, evidence["validators"]) == ("passed", 1)
        assert (evidence["rolled_back"], evidence["rolled_back_depth"]) == (4, 2)

    def test_less_than_promised_is_inconclusive(self):
        """In number or in depth."""
        dropped = [(node, "rolled-back", 1, "b") for node in range(3)]

        assert watch(*dropped, rolled_back=4).status == "inconclusive"
        assert watch(*dropped, rolled_back_depth=2).status == "inconclusive"
        assert watch(*dropped, rolled_back=3).status == "passed"

    def test_a_final_block_that_is_rolled_back_is_a_failure(self):
        """The failure is the same for any validator that finalized it, before or after."""
        for events in (
            [(0, "finalized", 1, "a"), (1, "rolled-back", 1, "a")],
            [(1, "rolled-back", 1, "a"), (0, "finalized", 1, "a")],
        ):
            result = watch(*events, rolled_back=1)
            assert (result.status, result.exit_class) == ("failed", "safety")
            assert "validator 1 rolled back block" in result.summary

    def test_heights_undone_at_once_are_one_rewind(self):
        """Another instant, or a height that does not go on downwards, is another rewind."""
        events = [(0, "rewound", 5, "e"), (0, "rewound", 4, "d"), (0, "rewound", 4, "x"), (0, "rewound", 3, "c", 1)]

        evidence = dict(watch(*events, undone=4).evidence)

        assert (evidence["undone"], evidence["undone_depth"]) == (4, 2)
        assert watch(*events, undone=5).status == "inconclusive"
        assert watch(*events, undone_depth=3).status == "inconclusive"

    def test_a_return_is_what_was_undone_at_once_and_becomes_final_there(self):
        """Blocks that are final on another validator only do not count."""
        undone = [(0, "rewound", 2, "b"), (0, "rewound", 1, "a")]
        final = [(0, "finalized", 1, "a"), (0, "finalized", 2, "b")]
        elsewhere = [(1, *event[1:]) for event in final]

        assert dict(watch(*undone, *final, returned=2).evidence)["returned"] == 2
        assert watch(*undone, *elsewhere, returned=1).status == "inconclusive"

    def test_undoing_a_final_block_is_a_failure(self):
        """On the validator that had made it final."""
        result = watch((0, "finalized", 1, "a"), (0, "rewound", 1, "a"), undone=1)

        assert (result.status, result.exit_class) == ("failed", "safety")
        assert "validator 0 undid block" in result.summary


def events_of(name, seed=0):
    events = []
    Cluster(load_scenario(name), seed, hooks=RunHooks(on_event=events.append)).run()
    return events


def is_nullify(event, view):
    voted = read_event(event, Voted)
    return voted is not None and (voted.vote, voted.view) == ("nullify", view)


def is_notarization(event, view):
    held = read_event(event, CertificateHeld)
    return held is not None and (held.certificate, held.view) == ("notarization", view)


def test_certified_split_rolls_a_block_back_and_executes_its_sibling():
    """Two validators leave view 9 by its notarization, two by its nullification; all execute both blocks."""
    events = events_of("certified-split")

    executed = {
        (event.node, body.height, body.view, body.digest) for event, body in events_of_type(events, BlockExecuted)
    }
    dropped = {(event.node, body.height, body.digest) for event, body in events_of_type(events, BlockRolledBack)}
    final = {(event.node, body.height, body.digest) for event, body in events_of_type(events, BlockFinalized)}
    ((height, digest),) = {(height, digest) for _, height, digest in dropped}
    assert {node for node, _, _ in dropped} == {0, 1, 2, 3}
    for node in range(4):
        (sibling,) = [name for who, high, name in final if (who, high) == (node, height)]
        assert sibling != digest
        assert {(node, height, 9, digest), (node, height, 10, sibling)} <= executed
    entries = [
        (event.node, body.certificate) for event, body in events_of_type(events, CertificateHeld) if body.view == 9
    ]
    before = {(node, kind) for node, kind in entries[:4]}
    assert before == {(1, "notarization"), (3, "notarization"), (0, "nullification"), (2, "nullification")}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.soak
def test_certified_split_deep_nullifies_and_then_certifies_in_each_view(seed):
    """A quorum votes to nullify before anybody holds the notarization; the leader of view 20 never holds one."""
    events = events_of("certified-split-deep", seed)

    for view in CHAIN_VIEWS:
        kinds = [
            (event.node, event.kind)
            for event in events
            if event.node in {1, 2, 3} and (is_nullify(event, view) or is_notarization(event, view))
        ]
        first = next(place for place, (_, kind) in enumerate(kinds) if kind == "certificate")
        assert {node for node, _ in kinds[:first]} == {1, 2, 3}, view
        reports = [body for _, body in events_of_type(events, Reported) if body.view == view]
        assert {report.activity for report in reports} == {"TimedOut"}
    certificates = [body for event, body in events_of_type(events, CertificateHeld) if event.node == 0]
    held = {each.view for each in certificates}
    notarized = {each.view for each in certificates if each.certificate == "notarization"}
    assert set(range(9, 20)) <= held
    assert not set(range(9, 20)) & notarized
    deepest = [body.height for event, body in events_of_type(events, BlockRolledBack) if event.node == 1]
    assert len(deepest) == 9
    assert sorted(deepest) == list(range(min(deepest), min(deepest) + 9))


@pytest.mark.parametrize(
    ("name", "setting"),
    third_of(
        [
            ("certified-split", "faults.held-nullify.enabled=false"),
            ("certified-split-deep", "faults.blinded.enabled=false"),
        ]
    ),
)
@pytest.mark.soak
def test_a_split_scenario_that_splits_nothing_is_inconclusive(name, setting):
    """The promised reorganization is missed by its own check, whatever `requires` says."""
    result = result_of(name, setting, "requires=[]", "expect.rolled_back_min=28")

    assert check_named(result, "reorg").status == "inconclusive"
    assert result.exit_code == 3


def test_what_taking_back_leaves_wrong_is_seen_right_after_it():
    """Flags that rewinding does not restore: found in the midst of the run, at the block where the database stood."""
    result = result_of("deep-rewind", WITH_CATALOGUE, "mutants.flags-not-restored=[2]")
    check = check_named(result, "indexes")

    assert check.status == "failed"
    assert "validator 2, height 10 after a reorganization: activity flag of operation" in check.summary


@pytest.mark.soak
def test_comparing_after_each_reorganization_does_not_change_the_run():
    """The comparison looks at the structures and leaves them as they are; without one the promise is not kept."""
    looked, not_looked = (result_of("deep-rewind", f"run.audit_reorgs={value}") for value in ("true", "false"))

    assert looked.digest == not_looked.digest
    assert check_named(not_looked, "reorg").status == "inconclusive"
    assert "audited 0 (at least 5)" in check_named(not_looked, "reorg").summary


@pytest.mark.parametrize(("profile", "certified"), [("three-chain", 2), ("two-chain", 1)])
@pytest.mark.soak
def test_hotstuff_abandons_its_certified_blocks_and_one_proposal(profile, certified):
    """The greatest depth of each profile, and not one more; what was applied early is what was certified."""
    result = result_of("deep-reorg-hotstuff", f"consensus.hotstuff.profile={profile}")
    found = dict(check_named(result, "reorg").evidence)

    assert result.verdict == "passed", result.headline
    assert (found["rolled_back_depth"], found["undone_depth"]) == (certified + 1, certified)
