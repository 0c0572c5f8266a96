"""The page in a browser: its bytes, its first paint, when it can be used, and its longest task while it is walked.

The budgets of the page: painted within 1 s, usable within 2 s for the default run, no task of 100 ms while scrubbing.
"""

import shutil
from collections.abc import Callable, Sequence
from operator import gt
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.figures import head_line
from checker.record.manifest import REPORT
from checker.record.places import scratch_directory
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline

Show: TypeAlias = Callable[[str], None]

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")

_SCENARIOS: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    ("outage-storm", ()),
    ("calm", ("run.until_height=20", "cluster.validators=16")),
    ("calm", ("run.until_height=5", "cluster.validators=64")),
    ("calm", ("run.until_height=2_000", "workload.pulse.actors=1", "run.time_limit_ms=4_000_000")),
)

_KEYS: Final = ("]", "]", "j", "j", "k", "[", "d", "]") * 5
"""Keys pressed one after the other: heights, events, the place that differs."""

_SCRUBS: Final = 30
"""Places over the lanes to which the mouse is moved, from left to right."""

_DRAWN: Final = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

PAINT_MS_MAX: Final = 1_000
USABLE_MS_MAX: Final = 2_000
TASK_MS_MAX: Final = 100

_WATCH: Final = """
window.tasks = [];
const note = (list) => { for (const each of list.getEntries()) tasks.push([each.startTime, each.duration]); };
new PerformanceObserver(note).observe({ type: 'longtask', buffered: true });
const wait = () => {
  const page = document.documentElement;
  if (page?.dataset.ready) { window.usable = performance.now(); page.dataset.usable = 'yes'; }
  else requestAnimationFrame(wait);
};
wait();
"""
"""Run before the page's own scripts: notes long tasks, and when the page says that it is ready."""


def run(show: Show = print) -> None:
    """Print the times of pages of 4, 16 and 64 validators and of 2,000 heights."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        show("not measured: no chromium on this machine")
        return
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where there is a browser

    measured = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--headless", "--no-sandbox"])
        show(f"page, Chromium {browser.version:<17} replicas heights    bytes  paint ms  usable ms  longest task ms")
        for name, settings in _SCENARIOS:
            scenario = load_scenario(name, settings)
            with scratch_directory("page") as scratch, LiveProgress(title="", is_quiet=True) as progress:
                result = run_pipeline(scenario, 0, runs=scratch, progress=progress)
                assert result.directory is not None, "a run that is kept has a directory"
                page = result.directory / REPORT
                paint_ms, usable_ms, task_ms = measure(browser, page)
                measured.append((paint_ms, usable_ms, task_ms))
                show(
                    f"  {name:<34}{scenario.replicas:>8}{len(result.chain):>8}{page.stat().st_size:>9,d}"
                    f"{paint_ms:>10.0f}{usable_ms:>11.0f}{task_ms:>17.0f}"
                )
        browser.close()
    show(_head(measured))


def _head(measured: Sequence[tuple[float, float, float]]) -> str:
    """Return the line for the head table: the dearest page in each of the three."""
    limits = (PAINT_MS_MAX, USABLE_MS_MAX, TASK_MS_MAX)
    dearest = [max(each[place] for each in measured) for place in range(len(limits))]
    text = f"{dearest[0] / 1_000:.1f} s, {dearest[1] / 1_000:.1f} s, {dearest[2]:.0f} ms at most"
    return head_line("page", text, is_missed=any(map(gt, dearest, limits)))


def measure(browser: Any, page: Path) -> tuple[float, float, float]:  # noqa: ANN401 - Playwright's, where it is there
    """Return when a page first painted and could be used, and its longest task while it is walked by keys and mouse."""
    tab = browser.new_page(viewport={"width": 1_200, "height": 800})
    tab.add_init_script(_WATCH)
    tab.goto(page.as_uri())
    # Not by a function that is asked again and again: the page's content policy forbids to make one of text.
    tab.wait_for_selector("html[data-usable]")
    usable_ms = tab.evaluate("window.usable")
    paint_ms = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    for key in _KEYS:
        tab.keyboard.press(key)
        tab.evaluate(_DRAWN)
    lanes = tab.locator("[data-pane=replicas] canvas").first
    lanes.scroll_into_view_if_needed()
    box = lanes.bounding_box()
    for step in range(_SCRUBS):
        tab.mouse.move(box["x"] + 60 + (box["width"] - 80) * step / _SCRUBS, box["y"] + 60)
        tab.evaluate(_DRAWN)
    for way in ("in", "left", "out"):
        tab.locator(f"[data-zoom={way}]").first.click()
        tab.evaluate(_DRAWN)
    # A task shorter than 50 ms is not told by the browser.
    longest_ms = tab.evaluate(f"Math.max(0, ...tasks.filter(([at]) => at > {usable_ms}).map(([, lasted]) => lasted))")
    tab.close()
    return paint_ms, usable_ms, longest_ms


if __name__ == "__main__":
    run()
