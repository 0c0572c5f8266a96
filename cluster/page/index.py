"""The list of a folder's runs and of the pages beside them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from checker.record.errors import on_one_line
from checker.record.manifest import MANIFEST, REPORT, read_manifest
from checker.record.places import write_whole
from checker.record.run_directory import VERDICT, DamagedRecordError
from checker.record.streams import read_document
from report.page.campaign_rows import CampaignRows, IndexRow

INDEX: Final = "index.html"

RUNS_MAX: Final = 2_000
"""The most runs that are listed: those that were written last."""


class _Headline(msgspec.Struct):
    headline: str = ""


def write_index(runs: Path) -> None:
    """Write the list of a folder's runs into it; raises OSError."""
    write_whole(runs / INDEX, index_of(runs))


def write_campaign(runs: Path, name: str, rows: CampaignRows) -> str:
    """Write a campaign's page and the list anew, and return a line that says where; or why there is no page."""
    from report.page.render import campaign_page  # noqa: PLC0415 - templates cost a start 70 ms

    path = runs / f"{name}.html"
    try:
        write_whole(path, campaign_page(rows))
        write_index(runs)
    except OSError as error:
        return f"no page: {path}: {error.strerror}"
    return f"page {path}"


def index_of(runs: Path) -> bytes:
    """Return the page that lists the runs of a folder; directories that are no runs are left out."""
    from report.page.render import index_page  # noqa: PLC0415 - templates cost a start 70 ms

    places = [place for place in runs.iterdir() if not place.name.startswith(".")] if runs.is_dir() else []
    directories = [place for place in places if (place / MANIFEST).is_file()]
    newest = sorted(directories, key=lambda place: (-(place / MANIFEST).stat().st_mtime_ns, place.name))[:RUNS_MAX]
    rows = [row for place in newest for row in _row(place)]
    pages = sorted(place.name for place in places if place.suffix == ".html" and place.name != INDEX)
    others = [IndexRow(name, name.removesuffix(".html"), "", "", "", "") for name in pages]
    note = "" if len(directories) <= RUNS_MAX else f"The last {RUNS_MAX:,} of {len(directories):,} runs are listed."
    return index_page(rows, others, note)


def _row(place: Path) -> Iterator[IndexRow]:
    try:
        manifest = read_manifest(place)
        headline = msgspec.json.decode(read_document(place, VERDICT), type=_Headline).headline
    except (DamagedRecordError, msgspec.MsgspecError, UnicodeError):
        return
    href = f"{place.name}/{REPORT}" if (place / REPORT).is_file() else ""
    name, text = on_one_line(manifest.scenario), on_one_line(headline)
    yield IndexRow(href, name, str(manifest.seed), on_one_line(manifest.verdict), text, manifest.digest[:16])
