"""The page in a real browser: it asks nothing, draws every pane, and can be walked through by keyboard alone."""

import json
from array import array
from pathlib import Path

import pytest

from report.page.campaign_rows import CampaignRows, Group, SeedPoint, Table
from report.page.render import campaign_page, run_page
from report.page.rows import Columns, RunDifference
from tests.support.browser import opened
from tests.support.pages import HOSTILE, made_rows, with_curve

SHOWN = "(selector) => [...document.querySelectorAll(selector)].filter((each) => each.offsetParent).length"
PAINTED = "() => document.querySelector('[data-pane=tree] canvas').toDataURL()"
EVENTS = "() => document.querySelector('[data-pane=replicas] canvas').toDataURL()"
OF_MARKS = """(selector) => {
  const canvas = document.querySelector(selector), pen = canvas.getContext('2d');
  const all = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  let count = 0;
  for (let i = 0; i < all.length; i += 4) if (all[i] === 0xd8 && all[i + 1] === 0x1e && all[i + 2] === 0x5b) count++;
  return count;
}"""
IN_SIGHT = """() => {
  const list = document.querySelector('[data-pane=list]'), box = list.getBoundingClientRect();
  return [...list.querySelectorAll('tr[data-event]')].filter((row) => {
    const place = row.getBoundingClientRect();
    return place.top >= box.top && place.bottom <= box.bottom;
  }).map((row) => Number(row.cells[0].textContent));
}"""
CANVASES = (
    "[data-pane=overview] canvas",
    "[data-pane=matrix] canvas",
    "[data-pane=replicas] canvas",
    "[data-pane=tree] canvas",
    "[data-pane=storm] canvas",
)


@pytest.fixture(scope="module")
def content():
    return run_page([made_rows()])


@pytest.fixture
def page(content):
    with opened(content) as page:
        yield page
        assert page.errors == []


def test_it_asks_for_nothing_but_itself(page):
    page.press("]", "j", "d")

    assert len(page.requests) == 1
    assert page.requests[0].startswith("file:")


def test_every_picture_is_painted(page):
    assert [page.painted(selector) > 5 for selector in CANVASES] == [True] * len(CANVASES)


def test_a_divergence_is_selected_on_load(page):
    assert "height 3" in page.text("#where")


def test_one_cursor_moves_in_all_panes(page):
    page.press("[")

    cursors = page.run("() => [...document.querySelectorAll('[data-cursor]')].map((each) => each.dataset.cursor)")
    assert cursors == ["3000000", "2", "3000000", "2", "3000000"]


def test_a_long_time_without_a_block_is_folded_with_its_length(content):
    made = made_rows(heights=20)
    late = array("I", (1_000 * (1 + n + 200 * (n > 9)) for n in range(20)))
    rows = [row._replace(times=late) for row in made.matrix.rows]
    line = made.timeline._replace(end_us=230_000_000)
    long = made._replace(matrix=made.matrix._replace(rows=rows), timeline=line, faults=(), tree=made.tree)
    with opened(content) as short, opened(run_page([long])) as page:
        folds = [each.run("() => document.querySelector('[data-folds]').dataset.folds") for each in (short, page)]
        folded = "folded time: nothing is final" in page.text("[data-legend=overview]")

    assert (folds, folded) == (["", "201 s"], True)


def test_a_block_is_told_in_words_beneath_both_pictures(page):
    page.press("[")

    said = "height 2, root abababababab, proposer 0, 1 transaction, 1 timer fired or removed, final at 2.000 s"
    assert [page.text("[data-readout]"), page.text("[data-cell]")] == [said, said]


def test_sides_of_a_partition_have_names_and_shades_of_their_own():
    rows = made_rows()
    (fault,) = rows.faults
    seen = []
    for sides in ((), ((0,), (1,))):
        with opened(run_page([rows._replace(faults=(fault._replace(sides=sides),))])) as page:
            legend = page.text("[data-legend=overview]")
            seen.append([page.pixel("[data-pane=overview] canvas", 400, y) for y in (39, 65)])

    assert ("side A of hello: 0" in legend, "side B of hello: 1" in legend) == (True, True)
    assert len({*seen[0]}) == 1
    assert len({*seen[1]} - {*seen[0]}) == 2


def test_the_filter_leaves_exactly_what_it_names(page):
    counts = {"kind=vote": 3, "node=1": 3, "from=2&to=3": 4, "kind=vote&from=2": 2, "q=view+3": 2, "q=no+such": 0}
    found = {}
    for address in counts:
        page.run("(address) => { location.hash = address; }", address)
        page.drawn()
        found[address] = len(page.tab.query_selector_all("tr[data-event]"))
        assert page.text("[data-count]") == f"{found[address]} of 6 events pass the filter"

    assert found == counts


def test_a_name_leaves_what_says_it_in_every_pane_of_words():
    """The log has no timers: the lines of the drill-down say at which heights something happened to one."""
    rows = made_rows()
    lines = ("height 2, receipt 0: TimerScheduled timer_id=" + "cd" * 32, "  height 1: another")
    finding = rows.finding._replace(
        lines=lines, keys=(*rows.finding.keys, rows.finding.keys[0]._replace(name="cdcdcdcd"))
    )
    (family,) = rows.checks
    parts = (*family.parts, family.parts[0]._replace(summary="timer cdcdcdcd fired twice"))
    checks = (family._replace(parts=parts),)
    with opened(run_page([rows._replace(finding=finding, checks=checks)])) as page:
        before = page.run(PAINTED)
        page.press("/", *"cdcdcd", "Escape")
        events = [row.text_content() for row in page.tab.query_selector_all("tr[data-event]")]
        shown = [page.run(SHOWN, selector) for selector in ("ol.chain li", ".keyval", "tr.check")]
        changed = page.run(PAINTED) != before
        page.press("Escape")
        after = page.run(SHOWN, "tr.check")

    assert ["finalized" in event and "view 2" in event for event in events] == [True]
    assert (shown, changed, after) == ([1, 1, 1], True, 2)


def test_a_chain_of_slots_has_slots_in_its_list_and_its_tables():
    with opened(run_page([made_rows()._replace(view_word="slot")])) as page:
        page.run("() => { document.querySelector('[data-table=tree]').open = true; }")
        page.tab.wait_for_selector("[data-table=tree] td", state="attached")

        assert "slot 3" in page.text("[data-pane=list]")
        assert "view" not in page.text("[data-pane=list]")
        assert "slot" in page.text("[data-table=tree] tr")


@pytest.mark.parametrize(
    "chosen", ["h=1&t=1000000", "t=2000000&e=2", "t=2000000&w=1000000-4000000", "t=2000000&node=1"]
)
def test_the_events_follow_all_that_is_chosen(content, chosen):
    """The part that does not follow the cursor is painted once, and anew with another window or filter."""
    with opened(content, address="#t=2000000") as page:
        before = page.run(EVENTS)
        page.run("(address) => { location.hash = address; }", chosen)
        page.drawn()

        assert page.run(EVENTS) != before


def test_times_apart_are_drawn_in_the_row_of_their_replica(content):
    rows = made_rows()
    apart = rows._replace(timeline=rows.timeline._replace(apart=((0, 6_000_000, 9_000_000, "cut off"),)))
    seen = []
    for page_content in (content, run_page([apart])):
        with opened(page_content) as page:
            seen.append([page.pixel("[data-pane=replicas] canvas", 1_000, y) for y in (50, 90)])

    (without, other_row), (within, other_row_too) = seen
    assert within != without
    assert other_row == other_row_too


def test_the_list_shows_the_event_at_the_cursor():
    with opened(run_page([made_rows(events=600)]), address="#t=400000000") as page:
        seen = []
        for key in ("", "k", "j", "j"):
            page.press(*filter(None, [key]))
            seen.append(page.run(IN_SIGHT))

    assert [400.0 in times for times in seen] == [True] * 4
    assert all(len(times) < 30 for times in seen)


def test_the_address_has_the_cursor_once_it_rests(page):
    # Read in the page, as the pointer moves: on a slow machine the cursor rests before a test can ask.
    page.run("() => { document.onpointermove = () => { window.moving ??= location.hash } }")
    page.tab.locator("[data-pane=overview] canvas").hover(position={"x": 300, "y": 40})
    page.drawn()
    page.tab.wait_for_function("() => location.hash.includes('t=')")

    assert page.text("#where").split(",")[0].removesuffix(" s") != "5.000"
    assert page.run("() => window.moving") == ""


def test_the_filter_can_be_typed_and_cleared(page):
    page.press("/", "v", "o", "t", "e", "Escape")
    before = page.text("[data-count]")
    page.press("Escape")

    assert (before, page.text("[data-count]")) == ("3 of 6 events pass the filter", "6 of 6 events pass the filter")


def test_keys_alone_lead_from_an_event_to_the_cause(page):
    page.press("j", "j")
    selected = page.text("tr[aria-selected=true]")
    page.press("d")

    assert "vote" in selected
    assert page.run("() => document.activeElement.id") == "why"
    assert "execution" in page.text("#why .steps > li:last-child")


def test_the_back_button_returns_to_the_selection_before(page):
    page.press("]", "[", "[")
    page.tab.go_back()
    page.drawn()

    assert "height 3" in page.text("#where")


def test_an_address_opens_the_view_that_it_was_taken_from(content):
    with opened(content, address="#h=2&t=3000000&w=1000000-4000000") as page:
        assert page.text("#where") == "3.000 s, height 2"
        assert "of them in the window" in page.text("[data-count]")


def test_an_address_that_means_nothing_breaks_nothing(page):
    for address in ("h=-1&t=x&e=999999&w=9-1&run=7", "q=%00%ff&node=999", "roots"):
        page.run("(address) => { location.hash = address; }", address)
        page.press("j", "]")

    assert page.errors == []


def test_tables_stand_behind_the_pictures(page):
    for name in ("matrix", "tree", "storm"):
        page.run("(name) => { document.querySelector(`[data-table=${name}]`).open = true; }", name)
    page.tab.wait_for_selector("[data-table=storm] td", state="attached")

    rows = page.run(
        "() => [...document.querySelectorAll('[data-table]')].map((each) => each.querySelectorAll('tr').length)"
    )
    assert rows == [5, 5, 5]


def test_the_table_of_blocks_has_their_certificates():
    rows = made_rows(text="notarization")
    rows = rows._replace(timeline=rows.timeline._replace(kinds=("certificate", "vote")))
    with opened(run_page([rows])) as page:
        page.run("() => { document.querySelector('[data-table=tree]').open = true; }")
        page.tab.wait_for_selector("[data-table=tree] td", state="attached")
        cells = [row.text_content() for row in page.tab.query_selector_all("[data-table=tree] td:nth-child(7)")]

    assert cells == ["notarization"] * 3 + ["no certificate"]


def test_hostile_names_run_nothing(page):
    with opened(run_page([with_curve(made_rows(HOSTILE, text=HOSTILE), HOSTILE)])) as hostile:
        hostile.press("j", "]", "d")
        assert (hostile.dialogs, hostile.errors) == ([], [])
        assert len(hostile.requests) == 1
        assert hostile.run("() => document.images.length") == 0


def test_a_page_with_a_curve_opens_at_the_marked_message():
    """The log is limited to the interval around the rise, and a button lifts the limit."""
    rows = with_curve(made_rows())
    fates = {**rows.timeline.messages.arrays, "fate": array("B", [0, 1])}
    plain = rows._replace(timeline=rows.timeline._replace(messages=Columns(fates, "")))
    seen = []
    for made in (plain, rows):
        with opened(run_page([made])) as page:
            seen.append(page.run(OF_MARKS, "[data-pane=replicas] canvas"))
            assert page.text("[data-count]").endswith("2 of them in the window, from 0.800 s to 2.000 s")
            marked = [row.text_content() for row in page.tab.query_selector_all("tr.marked")]
            assert [row.split(".")[0] for row in marked] == ["1", "2"]
            assert page.text("tr[aria-selected=true]") == marked[0]
            assert page.painted("[data-pane=curve] canvas") > 5
            dot = page.run("() => document.querySelector('[data-pane=curve] canvas').clientWidth") * 0.155
            page.tab.locator("[data-pane=curve] canvas").hover(position={"x": dot, "y": 20})
            page.drawn()
            assert page.text("[data-readout]") == "turn 41: hello"
            page.tab.click("[data-lift]")
            page.drawn()
            assert page.text("[data-count]") == "6 of 6 events pass the filter"
            assert not page.tab.is_visible("[data-lift]")
            assert page.errors == []

    assert seen[1] > seen[0] + 500


def test_without_scripts_the_verdict_is_there_and_no_dead_control(content):
    with opened(content, has_scripts=False) as page:
        assert page.tab.is_visible("text=Plan: what was promised, and what happened")
        assert not page.tab.is_visible("#f-text")
        assert not page.tab.is_visible("[data-zoom=in]")


def test_light_and_dark_are_two_schemes_in_text_and_pictures(content):
    seen = []
    for scheme in ("light", "dark"):
        with opened(content, scheme=scheme) as page:
            text = page.run("() => getComputedStyle(document.body).backgroundColor")
            seen.append((text, page.pixel("[data-pane=matrix] canvas", 8, 84)))

    assert seen[0][0] != seen[1][0]
    assert seen[0][1] != seen[1][1]


def test_paper_is_light_in_text_and_pictures(content):
    with opened(content) as light, opened(content, scheme="dark") as dark:
        before = dark.pixel("[data-pane=matrix] canvas", 8, 84)
        dark.tab.emulate_media(media="print")
        dark.drawn()

        on_paper = dark.pixel("[data-pane=matrix] canvas", 8, 84)
        assert on_paper == light.pixel("[data-pane=matrix] canvas", 8, 84) != before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pictures_look_as_they_did(content, scheme):
    """Where a change moves them on purpose, remove the file: it is written anew, and wants to be looked at."""
    golden = Path(__file__).with_name(f"blocks-{scheme}.json")
    with opened(content, scheme=scheme) as page:
        page.keep(scheme)
        seen = {selector: page.blocks(selector, columns=32, rows=12) for selector in CANVASES}
    if not golden.exists():
        golden.write_text(json.dumps(seen), encoding="utf-8")
        pytest.fail(f"{golden} is new: look at it, and add it")
    was = json.loads(golden.read_text(encoding="utf-8"))

    # Fonts and versions of the browser move letters and edges; a pane that is drawn otherwise moves many blocks.
    for selector in CANVASES:
        far = [abs(now - then) > 12 for now, then in zip(seen[selector], was[selector], strict=True)]
        assert sum(far) < len(far) // 20, selector


class TestPhone:
    def test_a_run_fits(self, content):
        with opened(content, width=360) as page:
            page.keep("phone")
            assert not page.is_too_wide()

    def test_a_run_with_a_curve_fits(self):
        with opened(run_page([with_curve(made_rows(), "x" * 90)]), width=360) as page:
            page.run("() => { document.querySelector('#verdict details').open = true; }")
            assert not page.is_too_wide()

    def test_two_runs_fit_below_each_other(self):
        difference = RunDifference("they part", (("digest", "ab" * 32, "cd" * 32),), 5, 3)
        with opened(run_page([made_rows(), made_rows("b")], difference, names=("A", "B")), width=360) as page:
            assert not page.is_too_wide()
            assert page.errors == []
            # The first event that differs is where the cursor stands.
            assert page.text("#where") == "0.000005 s, height 3"

    def test_a_campaign_fits(self):
        cells = tuple(SeedPoint(seed, "passed", -1, "", f"seed {seed}") for seed in range(300))
        group = Group(
            "safety: roots " + "x" * 90, 3, 7, "headline", "", ("run_cluster.py run calm --seed 7 --runs " + "y" * 80,)
        )
        table = Table("cells", tuple(f"column {place}" for place in range(20)), [["1"] * 20])
        rows = CampaignRows(
            "sweep of calm", "safety", "300 seeds", (("made by", "z" * 64),), cells, "", (group,), (table,)
        )
        with opened(campaign_page(rows), width=360) as page:
            assert not page.is_too_wide()
