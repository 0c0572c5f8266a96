"""Reading another actor's storage: agents may, for a cell a byte, and nobody else (K-40)."""

import pytest

from checker.oracle.calls import RevertedError
from checker.oracle.gas import OutOfGasError
from scheduler import ZERO_ORIGIN
from tests.support.oracle_bench import Bench, address
from validators.actors import Frame, Host, Meter, OutOfGas, Revert

OWN, OTHER = b"\x01" * 20, b"\x02" * 20
VALUE = b"12345678"


class Storage:
    """A world with one value of another actor, and one of the actor's own."""

    def storage_get(self, actor, key):
        return {(OTHER, b"value"): VALUE, (OWN, b"value"): b"own"}.get((actor, key))

    def refused(self, what, error):
        self.last = (what, str(error))


def host(cells=8, *, is_read_only=True):
    meter = Meter(1_000, cells)
    return Host(Storage(), Frame(OWN, OWN, ZERO_ORIGIN, 0, is_read_only=is_read_only), meter), meter


def test_a_read_only_call_reads_another_actors_value_for_a_cell_a_byte():
    agent, meter = host()

    assert agent.get(b"value", OTHER) == VALUE
    assert (meter.cycles, meter.cells) == (50, 8)


def test_a_value_beyond_the_cells_of_the_call_is_not_read():
    agent, _ = host(cells=7)

    with pytest.raises(OutOfGas):
        agent.get(b"value", OTHER)


def test_what_is_not_there_costs_no_cells():
    agent, meter = host(cells=0)

    assert agent.get(b"nothing", OTHER) is None
    assert meter.cells == 0


def test_ones_own_storage_costs_no_cells():
    agent, meter = host()

    assert (agent.get(b"value"), agent.get(b"value", OWN), meter.cells) == (b"own", b"own", 0)


def test_a_handler_reads_its_own_storage_alone():
    handler, _ = host(is_read_only=False)

    assert handler.get(b"value", OWN) == b"own"
    with pytest.raises(Revert, match="own storage only"):
        handler.get(b"value", OTHER)


def oracle_call(cells, *, is_read_only=True):
    bench = Bench({"own": 0, "other": 0})
    bench.contents.storage.put((address("other"), b"value"), VALUE)
    call = bench.call("own")
    call.is_read_only, call.gas.cells_limit = is_read_only, cells
    return call


def test_the_oracle_charges_the_same():
    call = oracle_call(8)

    assert call.get(b"value", address("other")) == VALUE
    assert (call.gas.cycles, call.gas.cells) == (50, 8)
    with pytest.raises(OutOfGasError):
        oracle_call(7).get(b"value", address("other"))
    with pytest.raises(RevertedError, match="own storage only"):
        oracle_call(8, is_read_only=False).get(b"value", address("other"))
