"""The rules that no run of a sweep reached, as its last lines and its page say them."""

from checker.coverage.registry import POINTS
from cluster.campaign.coverage import CoverageTable, untried_lines, untried_rules


def table_of(*labels):
    table = CoverageTable()
    table.add([(label, 1) for label in labels])
    return table


def test_rules_are_missed_in_the_rooms_that_a_run_came_to():
    untried = {point.label for point in untried_rules(table_of("price-rose"))}

    assert {"price-rose-by-one", "price-fell"} <= untried
    assert "price-rose" not in untried
    assert "payer-is-sender" not in untried


def test_refusals_are_nothing_that_a_run_has_to_reach():
    assert not any(hasattr(cell, "words") for cell in untried_rules(table_of(*list(POINTS)[:-1:2])))


def test_a_sweep_that_noted_no_rules_says_nothing_of_them():
    assert untried_lines(CoverageTable()) == []
    assert untried_lines(table_of(*POINTS)) == []


def test_the_line_counts_what_the_page_lists():
    table = table_of("price-rose")

    assert untried_lines(table)[0].startswith(f"{len(untried_rules(table))} rules not reached;")


def test_of_an_application_no_rule_of_our_own_chain_is_missed():
    missed = {point.label for point in untried_rules(table_of("chain-begun", "known-again", "branch-dropped"))}

    assert {"resumed-behind", "after-execute", "sent-again"} <= missed
    assert not missed & {"nonce-spent", "pool-kept", "rewound"}
