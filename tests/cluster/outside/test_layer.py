"""An outside application behind the seam keeps the contract of an execution layer, and is held to what it has kept."""

import sys

import msgspec
import pytest

from cluster.outside.blocks import ChainStart
from cluster.outside.conversation import PAYLOAD_BYTES_MAX
from cluster.outside.home import ApplicationHome, ApplicationPlan, ForgottenBlockError
from cluster.outside.layer import OutsideLayer, WrongAnswerError
from cluster.outside.life import PLAIN_HOST, ApplicationHost
from cluster.outside.new import EXAMPLES
from cluster.outside.process import ApplicationLostError, Launch
from tests.support.applications import bad_command
from tests.support.chain_harness import make_genesis
from tests.validators.execution.layer_contract import LayerContract, build, entries_of
from validators.execution import InvalidBlockError, LostBlockError
from validators.execution.blocks import Block, encode_sealed
from validators.messages import TRANSACTION_BYTES_MAX
from validators.restored import EMPTY_LOG, RestoredLog
from validators.state import ForgedSnapshot, mmr_root

GENESIS = make_genesis()
LEDGER = (sys.executable, str(EXAMPLES / "python" / "ledger.py"))
START = ChainStart(
    chain=GENESIS.chain_id, timestamp_ms=GENESIS.timestamp_ms, timebase=GENESIS.timebase, slot_ms=GENESIS.slot_ms
)


@pytest.fixture
def homes(tmp_path):
    """Return a function that returns the home of a command; all processes are killed at the end."""
    made = []

    def home(command=LEDGER, retain_blocks=8, host=PLAIN_HOST):
        launch = Launch(command=command, folder=tmp_path, call_timeout_ms=10_000)
        plan = ApplicationPlan(
            launch=launch, node=0, validators=4, start=START, parameters={"it": 7}, retain_blocks=retain_blocks
        )
        made.append(ApplicationHome(plan, tmp_path / f"home-{len(made)}" / "directory", host))
        return made[-1]

    yield home
    for each in made:
        each.kill()


def reopened(home, log=EMPTY_LOG, blocks=()):
    """Return the layer of the next life of a home."""
    kept = {each.digest: encode_sealed(each.block, b"") for each in blocks}
    return OutsideLayer(home, GENESIS, log._replace(find_block=kept.get))


def some_chain(layer, blocks=3):
    return TestAnApplication().chain_of(layer, blocks)


class TestAnApplication(LayerContract):
    command = LEDGER

    @pytest.fixture(autouse=True)
    def _begin(self, homes):
        self.homes, self.made = homes, []

    def open(self, log=EMPTY_LOG, *, applies_early=False, blocks=()):
        self.made.append(self.homes(self.command, retain_blocks=8 if applies_early else 0))
        return reopened(self.made[-1], log, blocks)

    def transaction(self, nonce, variant=0):
        return b"pay alice %s %d" % ((b"bob", b"carol")[variant], 10 + nonce)


class TestOneThatGoesForward(TestAnApplication):
    """Branches have processes of their own; this one ends where it is asked to go back."""

    command = bad_command("forward")
    test_what_is_applied_early_is_taken_back_for_another_branch = None

    def test_the_process_of_the_winner_goes_on_alone(self):
        layer = self.open()
        chain, other = self.chain_of(layer, 2), build(layer, layer.genesis_digest, view=9)
        above = build(layer, other.digest, view=10)
        home = self.made[-1]
        assert len(list(home.directory.parent.iterdir())) > 1
        layer.finalize(above.digest)

        assert [path.name for path in home.directory.parent.iterdir()] == [home.directory.name]
        again = reopened(home, RestoredLog(entries=entries_of([other, above])))
        assert again.finalized_digest == above.digest
        assert build(again, above.digest, view=11).root
        assert layer.executed(chain[0].digest) is None

    def test_a_block_below_a_tip_becomes_final_in_a_process_of_its_own(self):
        layer = self.open()
        chain = self.chain_of(layer, 3)
        layer.finalize(chain[0].digest)

        assert build(layer, chain[2].digest, view=9).header.height == 4


class Offers(ApplicationHost):
    """Hears the transactions of each proposal."""

    def __init__(self):
        self.offered = []

    def before_call(self, asked):
        self.offered += [asked.fields["transactions"]] if "transactions" in asked.fields else []


class TestOffers:
    def test_the_transactions_of_a_block_below_are_not_offered_again(self, homes):
        heard = Offers()
        layer = reopened(homes(host=heard))
        first, second = b"pay alice bob 10", b"pay alice bob 11"
        below = build(layer, layer.genesis_digest, transactions=[first])
        build(layer, below.digest, transactions=[first, second], view=2)

        assert heard.offered == [[first], [second]]
        layer.finalize(below.digest)
        build(layer, below.digest, transactions=[first], view=3)
        assert heard.offered[2] == [first]


class TestLives:
    def test_a_process_for_a_moment_that_says_no_hello_leaves_nothing(self, homes):
        home = homes(bad_command("banner"))

        with pytest.raises(ApplicationLostError, match="is no JSON"), home.scratch():
            pass
        assert [path.name for path in home.directory.parent.iterdir()] == ["directory"]

    def test_it_goes_on_where_it_was_killed(self, homes):
        home = homes()
        layer = reopened(home)
        chain = some_chain(layer)
        layer.finalize(chain[1].digest)
        again = reopened(home, RestoredLog(entries=entries_of(chain[:2])))

        assert again.finalized_digest == chain[1].digest
        assert again.execute(chain[2].block).root == chain[2].root

    def test_one_that_is_behind_executes_what_it_lacks(self, homes):
        """The log was written before the application was asked to finalize."""
        home = homes()
        layer = reopened(home)
        chain = some_chain(layer)
        layer.finalize(chain[0].digest)
        again = reopened(home, RestoredLog(entries=entries_of(chain)), chain)

        assert again.finalized_digest == chain[2].digest
        assert again.execute(build(again, chain[2].digest, view=9).block)

    def test_a_block_that_it_lacks_and_nobody_has_is_said(self, homes):
        home = homes()
        chain = some_chain(reopened(home))

        with pytest.raises(LostBlockError, match="the block of height 1 that has to be executed again is lost"):
            reopened(home, RestoredLog(entries=entries_of(chain)))

    def test_one_that_is_ahead_of_a_damaged_log_begins_anew(self, homes):
        home = homes()
        layer = reopened(home)
        chain = some_chain(layer)
        layer.finalize(chain[2].digest)
        again = reopened(home, RestoredLog(entries=entries_of(chain[:1])), chain)

        assert again.finalized_digest == chain[0].digest
        assert again.execute(chain[1].block).root == chain[1].root

    def test_a_height_that_it_has_forgotten_is_found(self, homes):
        """The bug writes every other final block only."""
        home = homes(bad_command("forgets"))
        layer = reopened(home)
        chain = some_chain(layer)
        layer.finalize(chain[0].digest)

        with pytest.raises(
            ForgottenBlockError,
            match=r"kept height 0 with root \w+ over a restart; height 1 with",
        ):
            reopened(home, RestoredLog(entries=entries_of(chain[:1])))

    def test_another_root_than_that_of_the_log_is_found(self, homes):
        chain = some_chain(reopened(homes()), 8)

        with pytest.raises(WrongAnswerError, match=r"comes to state_root .* gives 0000.* at height 7"):
            reopened(homes(bad_command("lies")), RestoredLog(entries=entries_of(chain)), chain)

    def test_a_lie_is_an_invalid_block_to_who_executes_truly(self, homes):
        layer, liar = reopened(homes()), reopened(homes(bad_command("lies")))
        chain = some_chain(layer, 7)
        for made in chain[:6]:
            liar.execute(made.block)

        with pytest.raises(InvalidBlockError, match=r"state_root .* where executing gives 0000") as refused:
            liar.execute(chain[6].block)
        assert refused.value.own_root == bytes(32)
        assert liar.executed(chain[6].digest) is None

    def test_a_payload_that_it_calls_invalid_is(self, homes):
        layer = reopened(homes())
        (made,) = some_chain(layer, 1)
        header = msgspec.structs.replace(made.header, view=5)

        with pytest.raises(InvalidBlockError, match="transactions are not those"):
            layer.execute(msgspec.structs.replace(made.block, header=header, transactions=(b"it",)))

    @pytest.mark.parametrize(
        "payload", [(b"x" * (PAYLOAD_BYTES_MAX - 1), b"xx"), (b"x" * (TRANSACTION_BYTES_MAX + 1),)]
    )
    def test_a_payload_that_no_leader_may_build_is_invalid_unasked(self, homes, payload):
        """A frame may have no room for it, and that is no death of the application."""
        home = homes()
        layer = reopened(home)
        (made,) = some_chain(layer, 1)
        header = msgspec.structs.replace(made.header, view=5, tx_root=mmr_root(payload))
        home.kill()

        with pytest.raises(InvalidBlockError, match="more than 1,048,576 bytes"):
            layer.execute(Block(header, payload))

    def test_a_death_is_told_with_its_request(self, homes):
        layer = reopened(homes(bad_command("dies")))
        *sound, deadly = some_chain(reopened(homes()), 5)
        for made in sound:
            layer.execute(made.block)

        with pytest.raises(ApplicationLostError, match="`execute`: it ended with exit status 3"):
            layer.execute(deadly.block)

    def test_a_snapshot_of_made_up_bytes_harms_nobody(self, homes):
        layer = reopened(homes())
        (made,) = some_chain(layer, 1)
        layer.finalize(made.digest)
        forged = msgspec.structs.replace(layer.snapshot(), operations=(b"it",))

        with pytest.raises(ForgedSnapshot, match="the application is lost over it"):
            layer.verify_snapshot(layer.finalized, forged)
        assert build(layer, layer.finalized_digest, view=9).root

    def test_nothing_is_left_of_a_home(self, homes, tmp_path):
        home = homes()
        layer = reopened(home)
        layer.verify_snapshot(layer.finalized, layer.snapshot())
        home.kill()

        assert [path.name for path in home.directory.parent.iterdir()] == ["directory"]
