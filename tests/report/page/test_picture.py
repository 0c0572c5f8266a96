"""README's picture: it is of the run and of the page of today, and its command takes one."""

from report.page.render import run_page
from tests.picture import COMMAND, PICTURE, README, facts_in, facts_of_today, stamped, take
from tests.support.pages import made_rows


def test_the_picture_shows_the_run_and_the_page_of_today():
    facts = facts_in(PICTURE.read_bytes())

    assert {name: facts.get(name) for name in facts_of_today()} == facts_of_today(), f"take it anew: {COMMAND}"
    assert f"digest       {facts['digest']}" in README.read_text(encoding="utf-8")


def test_the_picture_is_of_a_size_that_a_page_of_text_can_have():
    assert 100_000 < PICTURE.stat().st_size < 400_000


def test_a_picture_is_taken_of_a_page_without_what_it_has_no_room_for():
    png = take(run_page([made_rows()]))
    wide, high = (int.from_bytes(png[place : place + 4], "big") for place in (16, 20))

    assert wide == 1_800
    # The whole page of this run is more than twice as high.
    assert 1_000 < high < 3_000


def test_facts_that_are_put_into_a_picture_can_be_read_from_it():
    png = stamped(take(run_page([made_rows()])), {"frozen": "ab", "page": "cd"})

    assert facts_in(png) == {"frozen": "ab", "page": "cd"}
