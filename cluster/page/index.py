"""The list of a folder's runs and of the pages beside them."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from checker.record.errors import on_one_line
from checker.record.manifest import MANIFEST, REPORT, read_manifest
from checker.record.run_directory import VERDICT
from checker.record.streams import read_document
from cluster.page.write import write_page
from report.page.campaign_rows import CampaignRows, IndexRow

INDEX: Final = "index.html"

RUNS_MAX: Final = 2_000
"""The most runs that are listed: those that were written last."""


class _Headline(msgspec.Struct):
    headline: str = ""


def write_index(runs: Path) -> None:
    """Write the list of a folder's runs into it."""
    write_page(runs / INDEX, lambda: index_of(runs))


def write_campaign(runs: Path, name: str, rows: Callable[[], CampaignRows]) -> list[str]:
    """Write a campaign's page and the list anew, and return the line that says where, if there is a page."""
    from report.page.render import campaign_page  # noqa: PLC0415 - templates cost a start 70 ms

    lines = write_page(runs / f"{name}.html", lambda: campaign_page(rows()))
    write_index(runs)
    return lines


def index_of(runs: Path) -> bytes:
    """Return the page that lists the runs of a folder; directories that are no runs are left out."""
    from report.page.render import index_page  # noqa: PLC0415 - templates cost a start 70 ms

    places = sorted(runs.iterdir()) if runs.is_dir() else []
    dated = [(-written_ns, place) for place in places for written_ns in _times_of(place)]
    rows = [row for _, place in sorted(dated)[:RUNS_MAX] for row in _row(runs, place)]
    pages = [place.name for place in places if place.name != INDEX and find_page(runs, place.name)]
    others = [IndexRow(name, name.removesuffix(".html"), "", "", "", "") for name in pages]
    note = "" if len(dated) <= RUNS_MAX else f"The last {RUNS_MAX:,} of {len(dated):,} runs are listed."
    return index_page(rows, others, note)


def find_page(runs: Path, *parts: str) -> Path | None:
    """Return the page at a path in a folder of runs; None for what is no page, cannot be read, or lies elsewhere."""
    is_run = len(parts) == 2 and parts[1] == REPORT
    is_page = len(parts) == 1 and parts[0].endswith(".html")
    if not (is_run or is_page) or any(part.startswith(".") or "\0" in part for part in parts):
        return None
    try:
        path = Path(os.path.realpath(runs.joinpath(*parts)))
        is_inside = path.is_relative_to(os.path.realpath(runs))
        return path if is_inside and path.is_file() and os.access(path, os.R_OK) else None
    except OSError:
        return None


def _times_of(place: Path) -> Iterator[int]:
    """Yield when a run was written, in nanoseconds; nothing for what is no run."""
    try:
        if not place.name.startswith(".") and (place / MANIFEST).is_file():
            yield (place / MANIFEST).stat().st_mtime_ns
    except OSError:
        return


def _row(runs: Path, place: Path) -> Iterator[IndexRow]:
    try:
        manifest = read_manifest(place)
        headline = msgspec.json.decode(read_document(place, VERDICT), type=_Headline).headline
    except Exception:  # noqa: BLE001 - whatever is in one directory hides no other
        return
    href = f"{place.name}/{REPORT}" if find_page(runs, place.name, REPORT) else ""
    name, text = on_one_line(manifest.scenario), on_one_line(headline)
    yield IndexRow(href, name, str(manifest.seed), on_one_line(manifest.verdict), text, manifest.digest[:16])
