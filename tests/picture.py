"""README's picture of a page: `python -m tests.picture` runs the default scenario and writes docs/outage-storm.png.

What is shown is the run's own page in the machine's own browser, without what no picture has room for. The picture says
in its own bytes which run and which page it shows, and a test compares both with those of today.
"""

import hashlib
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from checker.record.manifest import REPORT
from checker.record.root import PROJECT_ROOT
from cluster.cli.options import DEFAULT_SCENARIO
from cluster.scenario.load import load_scenario
from report.page.render import ASSETS
from tests.frozen import read_frozen
from tests.support.browser import browser
from tests.support.cluster_runs import judge

PICTURE = PROJECT_ROOT / "docs" / f"{DEFAULT_SCENARIO}.png"

README = PROJECT_ROOT / "README.md"

COMMAND = "python -m tests.picture"

WIDTH, SCALE = 900, 2

SHOWN = ("verdict",)
"""Panes in the picture."""

HIDDEN = ("section", ".bar", "footer", ".note")

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def take(page):
    """Return the picture of a page, given as bytes, as a PNG."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, REPORT)
        path.write_bytes(page)
        # The page's policy forbids any style but its own.
        context = browser().new_context(
            viewport={"width": WIDTH, "height": 600}, device_scale_factor=SCALE, color_scheme="light", bypass_csp=True
        )
        try:
            tab = context.new_page()
            tab.goto(path.as_uri())
            tab.wait_for_selector("html[data-ready]")
            tab.add_style_tag(content=_style())
            tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            return tab.screenshot(full_page=True)
        finally:
            context.close()


def _style():
    shown = ", ".join(f"section#{pane}" for pane in SHOWN)
    hidden = ", ".join(HIDDEN)
    return f"{hidden} {{ display: none !important }} {shown} {{ display: block !important; padding: .4rem 1rem }}"


def stamped(png, facts):
    """Return a PNG with facts in its text, by their names."""
    first_end = len(SIGNATURE) + 25
    return png[:first_end] + b"".join(_text(name, text) for name, text in facts.items()) + png[first_end:]


def _text(name, text):
    body = b"tEXt" + f"stampede-{name}\0{text}".encode("latin-1")
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))


def facts_in(png):
    """Return the facts in a PNG."""
    assert png.startswith(SIGNATURE), "not a PNG"
    facts, place = {}, len(SIGNATURE)
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        if png[place + 4 : place + 8] == b"tEXt":
            name, _, text = png[place + 8 : place + 8 + length].decode("latin-1").partition("\0")
            facts[name.removeprefix("stampede-")] = text
        place += length + 12
    return facts


def facts_of_today():
    """Return the facts of the picture that would be taken today, without its run: that one's short form is frozen."""
    page = hashlib.sha256()
    for path in sorted(ASSETS.iterdir()):
        page.update(path.name.encode() + b"\0" + path.read_bytes())
    return {"frozen": read_frozen()[DEFAULT_SCENARIO].digest, "page": page.hexdigest()}


def main():
    """Run the default scenario, take the picture of its page, and write it."""
    with tempfile.TemporaryDirectory() as folder:
        result = judge(load_scenario(DEFAULT_SCENARIO, ()), runs=Path(folder), has_page=True)
        png = take((result.directory / REPORT).read_bytes())
    PICTURE.write_bytes(stamped(png, {**facts_of_today(), "digest": result.digest.hex()}))
    sys.stdout.write(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes, of digest {result.digest.hex()}\n")


if __name__ == "__main__":
    main()
