"""The results of a sweep as a JUnit file and as annotations for GitHub."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from checker.record.places import OwnFile, write_own
from cluster.campaign.results_db import SeedResult
from report.visible import visible, visible_lines

JUNIT: Final = OwnFile(
    b"<?xml version='1.0' encoding='utf-8'?>\n<!-- seeds of a Stampede sweep -->\n", "JUnit file of a sweep"
)


def write_junit(path: Path, name: str, results: Iterable[SeedResult], repeat_of: Callable[[SeedResult], str]) -> None:
    """Write a test suite with a case for each seed, which names the failure and the command that repeats it.

    Raises:
        ForeignFileError: Another kind of file stands at the path.
        OSError: The file system refuses.
    """
    rows = list(results)
    failed = sum(bool(row.exit_code) for row in rows)
    suite = ET.Element(
        "testsuite", name=visible(name), tests=str(len(rows)), failures=str(failed), errors="0", skipped="0"
    )
    suite.set("time", f"{sum(row.milliseconds for row in rows) / 1_000:.3f}")
    for row in rows:
        case = ET.SubElement(suite, "testcase", classname=visible(name), name=f"seed {row.seed}")
        case.set("time", f"{row.milliseconds / 1_000:.3f}")
        if row.exit_code:
            failure = ET.SubElement(case, "failure", type=visible(row.verdict), message=visible(row.headline))
            page = f"\nrun directory: {row.directory}" if row.directory else ""
            failure.text = visible_lines(f"{row.headline}\nrepeat with: {repeat_of(row)}{page}")
    write_own(path, JUNIT.beginning + ET.tostring(suite, encoding="utf-8"), JUNIT)


def annotation_of(name: str, result: SeedResult, command: str) -> str:
    """Return the line that makes GitHub show a seed that failed beside the change."""
    title = _escaped(f"{name}, seed {result.seed}: {result.verdict}").replace(":", "%3A").replace(",", "%2C")
    said = _escaped(f"{result.headline}\nrepeat with: {command}")
    return f"::error title={title}::{said}"


def _escaped(text: str) -> str:
    return visible_lines(text).replace("%", "%25").replace("\n", "%0A")
