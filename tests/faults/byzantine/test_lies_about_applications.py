"""Byzantine validators before somebody else's application: lies about bodies, and no claim about rules of our chain."""

import sys
from types import SimpleNamespace

import pytest

from checker.record.streams import iterate_events
from cluster.authoring.fault_levels import with_faults
from cluster.outside.blocks import next_header, sealed_block
from cluster.outside.new import EXAMPLES
from cluster.runtime.genesis import keys_of
from cluster.runtime.replicas import adversaries_of
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.swarm.byzantine import draw_byzantine
from cluster.swarm.engines.registry import DRAWN_ENGINES, draw_engine_stratum
from cluster.swarm.faults import is_sound
from faults import Byzantine
from faults.byzantine.adversary import Outgoing
from faults.byzantine.blocks import FOREIGN_YEARS_AHEAD_MS
from faults.byzantine.registry import ADVERSARIES
from faults.events import Tampered
from network.chance import Chance
from network.draw import Draw
from network.events import events_of_type
from network.types import NO_LABEL
from tests.support.adversaries import ME, OTHERS, adversary_with
from tests.support.chain_harness import make_genesis
from tests.support.cluster_runs import judge
from validators.execution import ProposalContext
from validators.execution.blocks import (
    Header,
    block_digest,
    decode_sealed,
    decode_transaction,
    encode_header,
    encode_sealed,
)
from validators.messages import BlockRelay, SnapshotChunk, SnapshotOffer, SnapshotRequest
from validators.state import Snapshot, mmr_root

BODY = (b"pay alice bob 1", b"", b"pay bob carol 2", b"remind dave 3")
CLAIMS = ("append", "drop", "repeat", "flip")
LEDGER = (sys.executable, str(EXAMPLES / "python" / "ledger.py"))
OWN = f"{sys.executable} -m stampede_testbed.application"


class OpaqueLayer:
    """A layer whose blocks have every candidate as it is; its roots stand for those of an execution."""

    finalized_digest = b"f" * 32
    finalized = Header(0, 4, 0, 4, bytes(32), 0, 10, 4_000, bytes(32), bytes(32), bytes(32))
    tables = None

    def propose(self, context, candidates):
        draft = next_header(
            self.finalized,
            view=context.view,
            proposer=context.proposer,
            timestamp_ms=context.timestamp_ms,
            slot_ms=400,
        )
        block = sealed_block(draft, list(candidates), root=b"s" * 32, receipts=b"r" * 32)
        return SimpleNamespace(block=block, digest=block_digest(block), header=block.header)

    def executed(self, _digest):
        return None


class Liar:
    """An adversary before an `OpaqueLayer`, with one behaviour."""

    def __init__(self, behaviour, seed=0, *, is_foreign=True, **fields):
        self.adversary = adversary_with(behaviour, seed=seed, is_foreign=is_foreign, **fields)
        made = self.adversary.over(lambda _genesis, _verify, _log: OpaqueLayer(), bytes)
        self.layer = made(make_genesis(), lambda _transaction: True)

    def propose(self, body=BODY, view=5):
        """Return the true block of a view, and the blocks that leave in its place."""
        context = ProposalContext(parent=self.layer.finalized_digest, view=view, proposer=ME, timestamp_ms=5_000)
        true = self.adversary.propose(self.layer, context, iter(body)).block
        sent = self.adversary.tamper(Outgoing(OTHERS, BlockRelay(encode_sealed(true, b"")), NO_LABEL))
        return true, [decode_sealed(each.message.block).block for each in sent]

    @property
    def said(self):
        return [kind for kind, _to in self.adversary.wire.notes]


def is_change(claim, true, lied):
    """Whether a body is another one in just the way of a claim."""
    shorter = [(*true[:place], *true[place + 1 :]) for place in range(len(true))]
    if claim == "append":
        return lied[:-1] == true and len(lied[-1]) == 32
    if claim == "drop":
        return lied in shorter
    if claim == "repeat":
        return true in [(*lied[:place], *lied[place + 1 :]) for place in range(len(lied))] and set(lied) == set(true)
    (differing,) = [pair for pair in zip(true, lied, strict=True) if pair[0] != pair[1]]
    return len(differing[0]) == len(differing[1]) and sum(a != b for a, b in zip(*differing, strict=True)) == 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_body_is_changed_as_claimed_and_committed_to(claim, seed):
    liar = Liar("forge-body", seed, what=claim)
    true, (lied,) = liar.propose()

    assert is_change(claim, true.transactions, lied.transactions)
    assert lied.header.tx_root == mmr_root(lied.transactions)
    assert (lied.header.state_root, lied.header.receipts_root) == (true.header.state_root, true.header.receipts_root)
    assert liar.said == [f"BlockRelay {claim}"]


@pytest.mark.parametrize(("claim", "body"), [*((claim, ()) for claim in CLAIMS), ("flip", (b"", b""))])
def test_without_an_entry_to_change_one_is_appended(claim, body):
    liar = Liar("forge-body", what=claim)
    true, (lied,) = liar.propose(body)

    assert is_change("append", true.transactions, lied.transactions)
    assert liar.said == ["BlockRelay append"]


@pytest.mark.parametrize(
    ("behaviour", "claims"),
    [("forge-body", CLAIMS), ("forge-block", ("state-root", "receipts-root", "height", "parent", "body"))],
)
def test_only_claims_that_apply_have_their_turn(behaviour, claims):
    liar = Liar(behaviour)
    for view in range(5, 5 + 2 * len(claims)):
        liar.propose(view=view)

    said = [each.removeprefix("BlockRelay ") for each in liar.said]
    first = claims.index(said[0])
    assert said == [*claims[first:], *claims[:first]] * 2


def test_a_client_of_our_engine_behind_the_protocol_is_not_spoilt():
    """Its transactions are encoded, and verified where nobody reaches: one without funds is in the body instead."""
    liar = Liar("forge-body", is_foreign=False, what="unsigned")
    true, (lied,) = liar.propose()

    assert lied.transactions[:-1] == true.transactions == BODY
    assert decode_transaction(lied.transactions[-1]).nonce == 0


def test_a_seed_tells_the_same_lies_again():
    lies = [[Liar("forge-body", seed, what="drop").propose()[1] for _ in range(2)] for seed in range(12)]

    assert all(one == again for one, again in lies)
    assert len({one[0].transactions for one, _again in lies}) == len(BODY)


def test_the_second_block_of_an_equivocator_has_the_same_entries():
    """Nobody but the application can read them."""
    liar = Liar("equivocate")
    true, lied = liar.propose()

    assert true in lied
    assert [each.transactions for each in lied] == [BODY, BODY]
    assert len({block_digest(each) for each in lied}) == 2
    assert len(liar.adversary.wire.given) == 1


def test_an_absurd_time_is_a_number_that_every_event_can_hold():
    _true, (lied,) = Liar("skew-timestamps", what="absurd").propose()

    assert lied.header.timestamp_ms == FOREIGN_YEARS_AHEAD_MS
    assert FOREIGN_YEARS_AHEAD_MS * 2 < (1 << 53) - 1


@pytest.mark.parametrize("operations", [(b"",), (b"", b"x"), (b"x",)])
def test_pieces_of_any_length_can_be_forged(operations):
    """An application may answer with an empty piece; what stays as it was is not said to be forged."""
    liar = Liar("forge-answers", what="snapshots")
    for _ in range(6):
        liar.adversary.wire.notes.clear()
        true = SnapshotChunk(b"d" * 32, 0, operations)
        (sent,) = liar.adversary.tamper(Outgoing((2,), true, NO_LABEL))
        assert (sent.message == true) == (not liar.said)


def test_a_snapshot_without_a_witness_has_none_to_cut():
    liar = Liar("forge-snapshot", what="witness")
    liar.adversary.hear(2, SnapshotRequest(0))
    header = encode_header(OpaqueLayer.finalized)
    offer = SnapshotOffer(header, None, Snapshot(1, 0, 0, b"r" * 32, b"", (), ()), 1)

    assert liar.adversary.tamper(Outgoing((2,), offer, NO_LABEL))[0].message == offer
    assert liar.said == []


# -- plans -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    """A scenario with the Python ledger."""
    path = tmp_path / "theirs.toml"
    path.write_text(
        f'name = "theirs"\ntitle = "a ledger with a liar"\n[application]\ncommand = {list(LEDGER)}\n'
        '[chain]\ntimebase = "slot"\n[workload.calls]\nkind = "application"\ncount = 150\nevery_ms = 140\n'
    )
    return str(path)


def lie(name, behaviour, what="", span_ms=(1_000, 5_000), node=1):
    start_ms, stop_ms = span_ms
    parts = f'kind="byzantine", validator={node}, behaviour="{behaviour}", what="{what}"'
    return f"faults.{name}={{{parts}, start_ms={start_ms}, stop_ms={stop_ms}}}"


@pytest.mark.parametrize(
    ("behaviour", "what", "knows"),
    [
        ("forge-body", "nonce", "append, drop, repeat, flip"),
        ("forge-block", "order", "state-root, receipts-root, height, parent, body"),
        ("forge-snapshot", "witness", "header, header-cut, stale, root, operations"),
    ],
)
def test_a_claim_about_rules_of_our_chain_is_refused(file, behaviour, what, knows):
    with pytest.raises(ScenarioError) as refused:
        load_scenario(file, [lie("it", behaviour, what)])

    said = (
        f"faults.it.what: {what} is about the rules of the project's own chain; with an application {behaviour} knows"
    )
    assert f"{said} {knows}" in str(refused.value)


def test_claims_about_applications_are_theirs_alone(file):
    assert load_scenario(file, [lie("it", "forge-body", "drop")]).faults["it"].what == "drop"
    with pytest.raises(ScenarioError, match="forge-body knows nonce, balance"):
        load_scenario("calm", [lie("it", "forge-body", "drop")])


def test_our_engine_behind_the_protocol_keeps_the_claims_of_our_chain():
    assert load_scenario("calm", [lie("it", "forge-body", "nonce")], OWN).faults["it"].what == "nonce"


@pytest.mark.parametrize("engine", ADVERSARIES)
def test_the_swarm_draws_no_claim_about_our_chain(file, engine):
    """The scenario of a seed in which it drew such a claim would be refused."""
    scenario = load_scenario(file, [f'consensus.engine="{engine}"'])
    drawn = [with_faults(scenario, "swarm", seed).faults for seed in range(120)]

    lies = [fault for faults in drawn for fault in faults.values() if isinstance(fault, Byzantine)]
    assert {lie.behaviour for lie in lies} >= {"forge-body", "forge-block"}


def test_each_claim_that_is_drawn_about_an_application_is_kept():
    engine = DRAWN_ENGINES["simplex"]._replace(is_foreign=True)
    plans = [draw_byzantine(draw_engine_stratum(Draw(seed), engine.name), 4, engine) for seed in range(800)]

    assert all(is_sound(plan, 4, engine) for plan in plans)
    drawn = {fault["what"] for plan in plans for fault in plan.values() if fault.get("behaviour") == "forge-body"}
    assert drawn & {*CLAIMS}


def test_an_adversary_knows_whose_application_it_is(file):
    lies = [lie("it", "forge-body")]
    theirs, ours = load_scenario(file, lies), load_scenario("calm", lies, OWN)
    made = [adversaries_of(each, keys_of(each), Chance(0))[1] for each in (theirs, ours)]

    assert [each.is_foreign for each in made] == [True, False]


# -- runs --------------------------------------------------------------------------------------

WINDOWS = ((1_000, 6_000), (6_000, 11_000), (11_000, 16_000), (16_000, 21_000))
PLANS = {
    "bodies": [("forge-body", claim) for claim in CLAIMS],
    "blocks": [("equivocate", ""), ("forge-block", "state-root"), ("silent-leader", ""), ("skew-timestamps", "absurd")],
}


@pytest.mark.parametrize("plan", PLANS)
def test_honest_replicas_survive_who_lies_about_an_application(file, plan):
    """Each lie leaves the liar's machine, and the three others keep one root at every height."""
    lies = [lie(f"lie{place}", *PLANS[plan][place], span_ms=span_ms) for place, span_ms in enumerate(WINDOWS)]
    required = ", ".join(f'"lie{place}"' for place in range(len(WINDOWS)))
    result = judge(load_scenario(file, [*lies, f"requires=[{required}]", "run.until_height=24"]))

    tampered = [each for _, each in events_of_type(iterate_events(bytes(result.log)), Tampered)]
    assert result.verdict == "passed", result.headline
    assert "3 validators beside 1 Byzantine hold one state root" in result.headline
    assert [row.status for row in result.validators] == ["voter", "byzantine", "voter", "voter"]
    assert {each.behaviour for each in tampered} == {f"lie{place}" for place in range(len(WINDOWS))}
    if plan == "bodies":
        forms = {each.label.removeprefix("BlockRelay ") for each in tampered if each.label.startswith("BlockRelay ")}
        assert forms == set(CLAIMS)
