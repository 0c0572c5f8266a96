"""The benchmark of the page: it measures a page of several hundred events to its end."""

import pytest

from benchmarks.bench_page import measure
from report.page.render import run_page
from tests.support.browser import browser
from tests.support.pages import made_rows


@pytest.mark.soak
def test_a_page_is_painted_used_and_walked(tmp_path):
    page = tmp_path / "report.html"
    page.write_bytes(run_page([made_rows(events=600)]))

    paint_ms, usable_ms, longest_ms = measure(browser(), page)

    assert paint_ms > 0
    assert usable_ms > 0
    assert longest_ms >= 0
