"""The machine's own chromium, driven by Playwright: started once in a test process, without a network."""

import atexit
import shutil
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from checker.record.root import PROJECT_ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome")

ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)

WAIT_MS = 30_000

KEPT = PROJECT_ROOT / "runs" / "screenshots"


@cache
def browser():
    """Return the browser; skips the test where the machine has none."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.skip("no chromium on this machine: the page is not tried in a browser")
    driver = sync_playwright().start()
    started = driver.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
    atexit.register(driver.stop)
    atexit.register(started.close)
    return started


class OpenPage:
    """A page in a tab of its own; `requests`, `errors` and `dialogs` are those since it was opened."""

    def __init__(self, tab):
        self.tab = tab
        self.requests, self.errors, self.dialogs = [], [], []
        tab.set_default_timeout(WAIT_MS)
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        tab.on("dialog", self._dismiss)

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def run(self, expression, argument=None):
        """Return what an expression comes to in the page."""
        return self.tab.evaluate(expression, argument)

    def drawn(self):
        """Wait until what was asked is drawn: two frames."""
        self.run("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, *keys):
        """Press keys one after the other."""
        for key in keys:
            self.tab.keyboard.press(key)
        self.drawn()

    def text(self, selector):
        """Return the text of an element."""
        return self.tab.text_content(selector)

    def painted(self, selector):
        """Return the number of colours in a canvas."""
        return self.run(
            "(selector) => { const canvas = document.querySelector(selector);"
            " const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
            " return new Set(new Uint32Array(data.buffer)).size; }",
            selector,
        )

    def blocks(self, selector, *, columns, rows):
        """Return the mean colour of each block of a canvas, row by row; a flat list of red, green and blue."""
        return self.run(
            "([selector, columns, rows]) => { const small = document.createElement('canvas');"
            " small.width = columns; small.height = rows; const pen = small.getContext('2d');"
            " pen.imageSmoothingQuality = 'high'; pen.drawImage(document.querySelector(selector), 0, 0, columns, rows);"
            " return [...pen.getImageData(0, 0, columns, rows).data].filter((_, place) => place % 4 < 3); }",
            [selector, columns, rows],
        )

    def keep(self, name):
        """Keep a picture of the page in `runs/screenshots`, for people."""
        self.tab.screenshot(path=KEPT / f"{name}.png", full_page=True)

    def pixel(self, selector, x, y):
        """Return the colour of a canvas at a place."""
        return self.run(
            "([selector, x, y]) => document.querySelector(selector).getContext('2d')"
            ".getImageData(x, y, 1, 1).data.join()",
            [selector, x, y],
        )

    def is_too_wide(self):
        """Return whether the page scrolls sideways."""
        return self.run("() => document.documentElement.scrollWidth > document.documentElement.clientWidth")


@contextmanager
def opened(content, *, address="", width=1_200, scheme="light", has_scripts=True):
    """Open the bytes of a page as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        path.write_bytes(content)
        context = browser().new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=has_scripts
        )
        try:
            page = OpenPage(context.new_page())
            page.tab.goto(f"{path.as_uri()}{address}")
            if has_scripts and b"data-0" in content:
                page.tab.wait_for_selector("html[data-ready]")
                page.drawn()
            yield page
        finally:
            context.close()
