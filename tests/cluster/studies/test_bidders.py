"""The rules by which groups bid."""

import msgspec
import pytest

from cluster.studies.bidders import STRATEGIES, BidderGroup, bid_of


def bid(strategy, worth=100, clearing=0, ordinal=0, **others):
    group = msgspec.convert({"bids": strategy, **others}, BidderGroup)
    return bid_of(group, worth, clearing=clearing, ordinal=ordinal)


def test_every_strategy_has_a_sentence():
    assert set(STRATEGIES) == set(BidderGroup.__annotations__["bids"].__args__[0].__args__)


def test_truthful_bidders_bid_their_worth():
    assert bid("worth", worth=7) == 7


def test_shading_bidders_bid_a_part_of_their_worth():
    assert bid("shade", worth=90, percent=50) == 45


@pytest.mark.parametrize(("clearing", "expected"), [(0, 5), (40, 45), (98, 100), (300, 100)])
def test_responding_bidders_stay_a_step_above_the_last_price(clearing, expected):
    assert bid("respond", clearing=clearing, step=5) == expected


@pytest.mark.parametrize(("clearing", "expected"), [(40, 45), (98, 5), (300, 5)])
def test_outbidding_bidders_start_again_above_their_worth(clearing, expected):
    assert bid("outbid", clearing=clearing, step=5) == expected


@pytest.mark.parametrize(("clearing", "expected"), [(0, 5), (40, 35), (7, 5), (300, 100)])
def test_underbidding_bidders_go_a_step_below_the_last_price(clearing, expected):
    assert bid("underbid", clearing=clearing, step=5) == expected


def test_waiting_bidders_bid_for_every_second_timer():
    assert [bid("wait", worth=80, percent=50, ordinal=ordinal) for ordinal in range(4)] == [0, 40, 0, 40]


def test_a_tier_leaves_the_bid_to_the_chain():
    assert bid("tier") is None
