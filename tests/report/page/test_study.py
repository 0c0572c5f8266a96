"""The page of a study: its answer in words, its figures as a table, and its plots in a browser."""

import math
import re
from itertools import chain

import pytest

from report.page.pack import unpack
from report.page.render import study_page
from report.page.study_rows import Plot, Series, SpreadRow, describe_spread
from tests.support.browser import opened
from tests.support.pages import HOSTILE, tags_of, text_of
from tests.support.studies import made_study, spread

COLOURS = """() => [...document.querySelectorAll('[data-plot] canvas')].map((canvas) => {
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(data.buffer)).size;
})"""
NAMES = "() => [...document.querySelectorAll('.u-legend tr:not(.gone) .u-label')].map((each) => each.textContent)"


def data_of(page):
    """Return head and arrays of a page's data."""
    return unpack(re.search(rb'id="data-0">([^<]*)<', page)[1].decode())


def axis_of(*labels):
    """Return the scale of a plot with these labels, the places on it, and the labels in their order there."""
    plot = Plot("plot", "axis", labels, [Series("line", [spread(1.0)] * len(labels))])
    head, arrays = data_of(study_page(made_study()._replace(plots=(plot,))))
    return head["plots"][0]["scale"], list(arrays["x_0"]), head["plots"][0]["x"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.50234, 0.4812, 0.521), "0.502 [0.481, 0.521]"),
        ((12_345.6, 11_900, 12_700), "12,346 [11,900, 12,700]"),
        ((1.0, 0.5, 1.5), "1.0 [0.5, 1.5]"),
        ((7.0, 7.0, 7.0), "7 [7, 7]"),
        ((0.0, 0.0, 0.0), "0 [0, 0]"),
        ((0.25, 0.25, 0.25), "0.2500 [0.2500, 0.2500]"),
        ((1 / 3, 1 / 3 - 1e-15, 1 / 3), "0.3333 [0.3333, 0.3333]"),
        ((3e-9, 2e-9, 4e-9), "3e-09 [2e-09, 4e-09]"),
        ((2e15, 1e15, 3e15), "2e+15 [1e+15, 3e+15]"),
    ],
)
def test_an_interval_has_two_digits_of_its_width(values, text):
    assert describe_spread(SpreadRow(*values)) == text


def test_the_words_stand_in_their_order_without_scripts():
    page = study_page(made_study())
    order = re.findall(r'<section id="(\w+)">', page.decode())

    assert order == ["verdict", "findings", "plots", "arms", "validity", "facts"]
    assert text_of(page, "verdict") == (
        "Verdict Does hello gain by splitting?\nhello 16\npassed hello\nhello\nThe share rises.\nLimits\nhello\n"
    )
    assert "hello | holds\nhello | does not hold\nhello | unclear\n" in text_of(page, "findings")
    assert text_of(page, "validity", "facts").endswith("hello | at least 0.5 | 0.9\nFacts\nfingerprint | hello\n")


def test_each_arm_has_a_line_with_its_intervals():
    lines = text_of(study_page(made_study()), "arms").splitlines()

    assert lines[1] == "splits | weight | seeds | share | wait"
    assert lines[2] == "2 | actor | 20 | 0.100 [0.090, 0.110] | no value"
    assert lines[-1] == "200 | hello | 20 | 0.300 [0.270, 0.330] | 1,500 [1,350, 1,650]"
    assert len(lines) == 8


def test_a_hostile_name_adds_no_tag_and_is_shown():
    page = study_page(made_study(HOSTILE))

    assert tags_of(page) == tags_of(study_page(made_study()))
    for section in ("verdict", "findings", "arms", "validity", "facts"):
        assert HOSTILE in text_of(page, section)


@pytest.mark.parametrize(
    ("labels", "scale", "places"),
    [
        (("100", "2000"), "linear", [100, 2_000]),
        (("100", "2001"), "log", [100, 2_001]),
        (("1,000", "100", "10_000"), "log", [100, 1_000, 10_000]),
        (("0", "1000"), "linear", [0, 1_000]),
        (("-1", "1000"), "linear", [-1, 1_000]),
        (("1.5", "1", "2e1"), "linear", [1, 1.5, 20]),
        (("1", "1.0"), "ordinal", [0, 1]),
        (("1", "inf"), "ordinal", [0, 1]),
        (("1,2", "1,3"), "ordinal", [0, 1]),
        (("fifo", "1"), "ordinal", [0, 1]),
        ((), "linear", []),
    ],
)
def test_labels_that_are_numbers_stand_at_their_values(labels, scale, places):
    found = axis_of(*labels)

    assert found[:2] == (scale, places)
    assert sorted(found[2]) == sorted(labels)
    assert scale == "ordinal" or found[2] == sorted(labels, key=lambda label: float(re.sub("[,_]", "", label)))


def test_values_follow_their_labels_and_what_has_none_is_not_drawn():
    series = Series("line", [SpreadRow(3.0, 2.0, 4.0), None, SpreadRow(math.inf, 1.0, math.inf)])
    plot = Plot("plot", "axis", ("30", "20", "10"), [series])
    head, arrays = data_of(study_page(made_study()._replace(plots=(plot,))))
    drawn = {name: list(arrays[f"{name}_0_0"]) for name in SpreadRow._fields}

    assert {name: values[2] for name, values in drawn.items()} == {"mean": 3.0, "low": 2.0, "high": 4.0}
    assert all(map(math.isnan, chain.from_iterable(values[:2] for values in drawn.values())))
    assert head["plots"][0]["texts"] == [["inf [1, inf]", "no value", "3.0 [2.0, 4.0]"]]


class TestBrowser:
    """The page in a real browser."""

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_every_plot_is_drawn_with_its_series(self, scheme):
        with opened(study_page(made_study()), scheme=scheme) as page:
            page.keep(f"study-{scheme}")
            assert page.errors == []
            assert len(page.requests) == 1
            assert [count > 20 for count in page.run(COLOURS)] == [True] * 3
            assert page.run(NAMES) == ["splits", "actor", "hello", "splits", "actor", "policy", "share"]

    def test_the_cursor_reads_a_mean_with_its_interval(self):
        with opened(study_page(made_study())) as page:
            page.tab.locator("[data-plot='0'] .u-over").hover(position={"x": 1_000, "y": 50})
            page.drawn()
            shown = page.run("() => [...document.querySelectorAll('.u-value')].map((each) => each.textContent)")

        assert shown[:2] == ["200", "0.300 [0.270, 0.330]"]

    def test_a_line_that_is_switched_off_takes_its_interval_along(self):
        seen = []
        with opened(study_page(made_study())) as page:
            plot = "[data-plot='1']"
            seen.append(page.painted(f"{plot} canvas"))
            page.tab.click(f"{plot} .u-legend tr:nth-child(2) th")
            page.drawn()
            seen.append(page.painted(f"{plot} canvas"))
            off = page.run("() => document.querySelectorAll('.u-legend tr.u-off').length")

        assert off == 3
        assert seen[1] < seen[0]

    def test_a_plot_without_values_says_so(self):
        plots = (Plot("plot", "axis", ("1", "2"), [Series("line", [None, None])]), Plot("plot", "axis", (), []))
        with opened(study_page(made_study()._replace(plots=plots))) as page:
            said = page.run("() => [...document.querySelectorAll('[data-plot]')].map((each) => each.textContent)")

            assert page.errors == []
        assert said == ["No arm has a value."] * 2

    def test_hostile_names_run_nothing(self):
        with opened(study_page(made_study(HOSTILE))) as page:
            assert (page.dialogs, page.errors) == ([], [])
            assert page.run("() => document.images.length") == 0
            assert HOSTILE in page.run(NAMES)

    def test_the_scheme_of_the_browser_changes_the_plots(self):
        with opened(study_page(made_study())) as page:
            before = page.run("() => document.querySelector('[data-plot] canvas').toDataURL()")
            page.tab.emulate_media(color_scheme="dark")
            page.drawn()

            assert page.run("() => document.querySelector('[data-plot] canvas').toDataURL()") != before

    def test_it_fits_a_phone_and_is_read_without_scripts(self):
        wide = made_study("x" * 90)._replace(figures=("a" * 80, "b" * 80))
        with opened(study_page(wide), width=360) as page:
            assert not page.is_too_wide()
        with opened(study_page(wide), width=360, has_scripts=False) as page:
            assert page.tab.is_visible("text=The plots need scripts")
            assert not page.tab.is_visible("[data-plot]")
