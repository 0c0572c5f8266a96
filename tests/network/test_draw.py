"""Chance by names: what is dealt keeps its shares in any few seeds, and is still a matter of chance."""

import itertools
from collections import Counter

import pytest

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


def test_successive_cards_of_a_seed_and_the_next_are_those_of_one_deck():
    deck = tuple(range(7))
    drawn = [card for seed in range(14) for card in Draw(seed).next_of("behaviour", deck, 2)]

    assert all(Counter(drawn[at : at + 7]) == Counter(deck) for at in range(0, 28, 7))
    assert drawn[:7] != drawn[7:14]


class TestHand:
    """The seeds of one card."""

    def hands(self, card):
        return [Draw(seed).hand("policy", DECK) for seed in range(200) if Draw(seed).dealt("policy", DECK) == card]

    def test_successive_seeds_with_a_card_are_given_every_value_in_turn(self):
        values = [hand.one_of("fee", (1, 2, 3)) for hand in self.hands("often")]
        starts = [start for start in range(3) if all(len({*values[at : at + 3]}) == 3 for at in range(start, 117, 3))]

        assert len(values) == 120
        assert len(starts) == 1

    def test_two_choices_of_two_values_meet_in_every_pair(self):
        pairs = Counter((hand.one_of("fee", (1, 2)), hand.one_of("tip", (1, 2))) for hand in self.hands("often"))

        assert min(pairs.values()) > 15
        assert len(pairs) == 4

    def test_the_seeds_of_two_cards_are_not_given_the_same_values(self):
        """The values that one card has in its turn are not those of the other one as well."""
        names = [f"choice {number}" for number in range(12)]
        given = [
            [[hand.one_of(name, (1, 2, 3)) for name in names] for hand in self.hands(card)[:10]]
            for card in ("often", "seldom")
        ]

        assert all(one != other for one, other in zip(*given, strict=True))

    def test_what_is_not_chosen_from_a_list_is_drawn_as_without_a_hand(self):
        assert Draw(3).hand("policy", DECK).between("height", 1, 99) == Draw(3).between("height", 1, 99)

    @pytest.mark.parametrize(
        ("percent", "seeds", "true"), [(12, 8, 1), (30, 10, 3), (50, 2, 1), (75, 4, 3), (100, 1, 1)]
    )
    def test_a_chance_comes_true_as_often_as_it_should_in_a_few_seeds(self, percent, seeds, true):
        drawn = [hand.chance("storm", percent) for hand in self.hands("often")]
        starts = [
            start
            for start in range(seeds)
            if all(sum(drawn[at : at + seeds]) == true for at in range(start, len(drawn) - seeds, seeds))
        ]

        assert starts

    @pytest.mark.parametrize("percent", [3, 97])
    def test_a_chance_too_small_for_a_few_seeds_is_neither_never_nor_always(self, percent):
        drawn = [hand.chance("rare", percent) for hand in self.hands("often")]

        assert sorted(dict.fromkeys(drawn)) == [False, True]

    def test_a_hand_deals_its_seeds_cards_of_another_deck(self):
        lists = [hand.dealt("list", ("few", "many", "many")) for hand in self.hands("often")]

        assert all(Counter(lists[at : at + 3]) == {"few": 1, "many": 2} for at in range(0, 120, 3))

    def test_the_seeds_of_a_card_within_a_hand_are_given_every_value_in_turn(self):
        inner = ("few", "many", "many")
        many = [hand.hand("list", inner) for hand in self.hands("often") if hand.dealt("list", inner) == "many"]
        values = [hand.one_of("fee", (1, 2)) for hand in many]

        assert len(values) == 80
        assert sum(before == after for before, after in itertools.pairwise(values)) <= 40
        # The first turn may be cut.
        assert abs(values.count(1) - values.count(2)) <= 2
