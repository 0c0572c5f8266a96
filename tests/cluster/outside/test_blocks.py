"""The virtual time of a block of an application: as it states, or by transactions and bytes as the scenario has it."""

import pytest

from cluster.outside.blocks import OutsideBlock
from cluster.scenario.load import load_scenario
from validators.execution.blocks import Block, Header

PRICES = ("costs.block_us=1000", "costs.transaction_us=100", "costs.payload_kib_us=10", "costs.verify_signature_us=1")


@pytest.mark.parametrize(
    ("payload", "stated", "settings", "cost_us"),
    [
        ((bytes(1_024), b"x"), None, PRICES, 1_000 + 200 + 20 + 3),
        ((), None, PRICES, 1_003),
        ((b"x",), 7, PRICES, 1_010),
        ((b"x",), None, (), 500 + 20 + 2 + 3 * 60),
    ],
)
def test_a_block_costs_what_it_states_or_by_the_scenarios_prices(payload, stated, settings, cost_us):
    header = Header(1, 1, 0, 1, bytes(32), 0, 1, 1_000, *[bytes(32)] * 3)
    block = OutsideBlock(
        block=Block(header, payload), digest=b"", header=header, receipts=(), events=(), cost_stated_us=stated
    )

    assert block.cost_us(load_scenario("calm", settings).costs.costs(), 3) == cost_us
