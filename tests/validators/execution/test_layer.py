"""The project's own engine keeps the contract of an execution layer, and validators ask for no more."""

from tests.support.chain_harness import SENDERS, TEST_PROGRAMS, make_genesis, pay
from tests.validators.execution.layer_contract import LayerContract
from validators.execution import ApplyMode
from validators.restored import EMPTY_LOG
from validators.settings import make_engine


class TestTheEngine(LayerContract):
    def open(self, log=EMPTY_LOG, *, applies_early=False, blocks=()):
        mode = ApplyMode(apply="certified" if applies_early else "finalized")
        return make_engine(make_genesis(), lambda _: True, log, programs=TEST_PROGRAMS, apply_mode=mode)

    def transaction(self, nonce, variant=0):
        return pay(0, nonce, SENDERS[1 + variant], 10 + nonce)

    def test_its_tables_are_its_own(self):
        engine = self.open()

        assert engine.tables is engine
