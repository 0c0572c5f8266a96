"""The adapters of the golden cases for inputs that no published case has, but another file may."""

import pytest

from tests.conformance import queue_adapters
from tests.conformance.lifecycle_adapters import ADAPTERS


@pytest.mark.parametrize("system", ["A", "C"])
def test_an_insolvency_states_the_cost_and_the_balance(system):
    found = ADAPTERS["solvency"]({"balance": 3_699_999, "max_cost": 3_700_000}, system)

    event = {"name": "TimerCancelledInsufficientFunds", "required": 3_700_000, "available": 3_699_999}
    assert found == {"fires": False, "event": event}


def test_a_delay_belongs_to_a_fire_by_its_index():
    """The fire with index 1, counted from 0, is two blocks late, and those after it follow from there."""
    found = ADAPTERS["heartbeat"]({"deploy_block": 0, "interval": 10, "delays": {"1": 2}, "fires": 4}, "C")

    assert found == [10, 22, 32, 42]


@pytest.mark.parametrize("last", [0x01, 0x0F])
def test_an_address_of_the_system_pays_for_nothing(last):
    inputs = {"actor": "aa" * 20, "tx_sender": "bb" * 20, "fee_payer": bytes(19).hex() + f"{last:02x}"}

    assert ADAPTERS["fee_payer"](inputs, "C") == "InvalidInput: system"


@pytest.mark.parametrize(
    ("height", "way"),
    [(1_500, [[1_000, "epoch[4]"], [1_440, "ring[220]"]]), (1_255, [[1_000, "ring[231]"]])],
)
def test_a_height_is_promoted_when_its_epoch_begins(height, way):
    """One that is in range of the ring when it is scheduled is there at once (K-32)."""
    inputs = {"height": height, "ring": 256, "epoch_len": 360, "epoch_horizon": 13, "scheduled_at": 1_000}

    assert queue_adapters.ADAPTERS["promotion"](inputs, "E") == way
