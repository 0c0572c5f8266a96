"""The drill-down: the field that differs, with both values."""

from checker.results import CheckResult
from cluster.page.explained import differing_fields, finding_of_checks


def test_only_fields_that_differ_are_named():
    found = differing_fields(["balance=5 nonce=0", "balance=7 nonce=0", "balance=6 nonce=0"])

    assert found == [("balance", ("5", "7", "6"))]


def test_a_field_may_have_blanks_in_its_value():
    found = differing_fields(["absent", "quote=Quote(tip=1 cap=2) due=3", "quote=Quote(tip=1 cap=9) due=3"])

    assert ("cap", ("", "2)", "9)")) in found


def test_a_value_without_fields_is_one_field():
    assert differing_fields(["absent", "12", "deleted"]) == [("value", ("absent", "12", "deleted"))]


def test_without_an_explanation_it_is_what_the_check_saw():
    check = CheckResult("supply", "failed", "safety", "height 3: too little", (("height", 3), ("found", 5)), 1)
    found = finding_of_checks([check], ())

    assert (found.headline, found.height, found.cause) == ("oracle/supply: height 3: too little", 3, "")
    assert found.lines == ("height: 3", "found: 5")


def test_nothing_is_found_where_all_passed():
    assert finding_of_checks([CheckResult("supply", "passed", "safety", "all there", (), 1)], ()) is None
