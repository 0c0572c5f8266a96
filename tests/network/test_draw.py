"""Chance by names: a stratified draw keeps its shares in any few seeds, and is still a matter of chance."""

import itertools
from collections import Counter

import pytest

from network.draw import Draw

STRATA = ("often", "often", "often", "seldom", "never twice")


def stratified(seeds, name="engine"):
    return [Draw(seed).stratified(name, STRATA) for seed in seeds]


def test_as_many_seeds_as_cards_are_dealt_every_card_once():
    for first in range(0, 100, len(STRATA)):
        assert Counter(stratified(range(first, first + len(STRATA)))) == Counter(STRATA)


def test_the_order_of_a_deck_differs_by_turn_and_by_name():
    turns = [tuple(stratified(range(first, first + len(STRATA)))) for first in range(0, 100, len(STRATA))]

    assert len(dict.fromkeys(turns)) > 5
    assert stratified(range(100)) != stratified(range(100), "policy")


def test_a_seed_is_stratified_the_same_card_again():
    assert stratified(range(40)) == stratified(range(40))


def test_successive_cards_of_a_seed_and_the_next_are_those_of_one_deck():
    strata = tuple(range(7))
    drawn = [value for seed in range(14) for value in Draw(seed).next_of("behaviour", strata, 2)]

    assert all(Counter(drawn[at : at + 7]) == Counter(strata) for at in range(0, 28, 7))
    assert drawn[:7] != drawn[7:14]


class TestHand:
    """The seeds of one value."""

    def strata(self, value):
        return [
            Draw(seed).stratum("policy", STRATA)
            for seed in range(200)
            if Draw(seed).stratified("policy", STRATA) == value
        ]

    def test_successive_seeds_with_a_card_are_given_every_value_in_turn(self):
        values = [stratum.one_of("fee", (1, 2, 3)) for stratum in self.strata("often")]
        starts = [start for start in range(3) if all(len({*values[at : at + 3]}) == 3 for at in range(start, 117, 3))]

        assert len(values) == 120
        assert len(starts) == 1

    def test_two_choices_of_two_values_meet_in_every_pair(self):
        pairs = Counter(
            (stratum.one_of("fee", (1, 2)), stratum.one_of("tip", (1, 2))) for stratum in self.strata("often")
        )

        assert min(pairs.values()) > 15
        assert len(pairs) == 4

    def test_the_seeds_of_two_cards_are_not_given_the_same_values(self):
        """The values that one stratum has in its turn are not those of the other one as well."""
        names = [f"choice {number}" for number in range(12)]
        given = [
            [[stratum.one_of(name, (1, 2, 3)) for name in names] for stratum in self.strata(value)[:10]]
            for value in ("often", "seldom")
        ]

        assert all(one != other for one, other in zip(*given, strict=True))

    def test_what_is_not_chosen_from_a_list_is_drawn_as_without_a_stratum(self):
        assert Draw(3).stratum("policy", STRATA).between("height", 1, 99) == Draw(3).between("height", 1, 99)

    @pytest.mark.parametrize(
        ("percent", "seeds", "true"), [(12, 8, 1), (30, 10, 3), (50, 2, 1), (75, 4, 3), (100, 1, 1)]
    )
    def test_a_chance_comes_true_as_often_as_it_should_in_a_few_seeds(self, percent, seeds, true):
        drawn = [stratum.chance("storm", percent) for stratum in self.strata("often")]
        starts = [
            start
            for start in range(seeds)
            if all(sum(drawn[at : at + seeds]) == true for at in range(start, len(drawn) - seeds, seeds))
        ]

        assert starts

    @pytest.mark.parametrize("percent", [3, 97])
    def test_a_chance_too_small_for_a_few_seeds_is_neither_never_nor_always(self, percent):
        drawn = [stratum.chance("rare", percent) for stratum in self.strata("often")]

        assert sorted(dict.fromkeys(drawn)) == [False, True]

    def test_a_hand_deals_its_seeds_cards_of_another_deck(self):
        lists = [stratum.stratified("list", ("few", "many", "many")) for stratum in self.strata("often")]

        assert all(Counter(lists[at : at + 3]) == {"few": 1, "many": 2} for at in range(0, 120, 3))

    def test_the_seeds_of_a_card_within_a_hand_are_given_every_value_in_turn(self):
        inner = ("few", "many", "many")
        many = [
            stratum.stratum("list", inner)
            for stratum in self.strata("often")
            if stratum.stratified("list", inner) == "many"
        ]
        values = [stratum.one_of("fee", (1, 2)) for stratum in many]

        assert len(values) == 80
        assert sum(before == after for before, after in itertools.pairwise(values)) <= 40
        # The first turn may be cut.
        assert abs(values.count(1) - values.count(2)) <= 2
