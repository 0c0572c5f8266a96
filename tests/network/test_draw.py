"""Chance by names: what is dealt keeps its shares in any few seeds, and is still a matter of chance."""

from collections import Counter

from network.draw import Draw

DECK = ("often", "often", "often", "seldom", "never twice")


def dealt(seeds, name="engine"):
    return [Draw(seed).dealt(name, DECK) for seed in seeds]


def test_as_many_seeds_as_cards_are_dealt_every_card_once():
    for first in range(0, 100, len(DECK)):
        assert Counter(dealt(range(first, first + len(DECK)))) == Counter(DECK)


def test_the_order_of_a_deck_differs_by_turn_and_by_name():
    turns = [tuple(dealt(range(first, first + len(DECK)))) for first in range(0, 100, len(DECK))]

    assert len(dict.fromkeys(turns)) > 5
    assert dealt(range(100)) != dealt(range(100), "policy")


def test_a_seed_is_dealt_the_same_card_again():
    assert dealt(range(40)) == dealt(range(40))
