"""The pages of the documents, which the wheel has too: their names, texts and first sentences."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from checker.record.root import PROJECT_ROOT

DOCUMENTS: Final = PROJECT_ROOT / "docs"

_BESIDE: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages at the root of the project."""

_COPIED: Final = ("ci/stampede.yml",)
"""Files of the documents that are no pages; a reader copies them."""

_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_FIRST: Final = re.compile(r"# [^\n]+\n\n(.+?\.)(?=\s)", re.DOTALL)
"""The first sentence below the heading of a page."""

_HEADING: Final = re.compile(r"^### (.+)$")
_LISTED: Final = re.compile(r"^- \[`([\w/-]+)`\]")


def page_paths() -> dict[str, Path]:
    """Return the files of the pages by their names: the path under `docs` without its ending."""
    found = {path.relative_to(DOCUMENTS).with_suffix("").as_posix(): path for path in DOCUMENTS.rglob("*.md")}
    found |= {name: DOCUMENTS / name for name in _COPIED}
    found |= {Path(name).stem: PROJECT_ROOT / name for name in _BESIDE}
    return dict(sorted(found.items()))


def page_name(typed: str) -> str:
    """Return the name of a page that may be typed as the path that another page or a message gives."""
    return typed.removeprefix("./").removeprefix("docs/").removesuffix(".md")


def sentence_of(text: str) -> str:
    """Return the first sentence of a page without the addresses of links, of a file to copy its first line."""
    found = _FIRST.match(text)
    first = found[1] if found else text.partition("\n")[0].removeprefix("# ")
    return " ".join(_LINK.sub(r"\1", first).split())


def scenario_groups() -> Mapping[str, list[str]]:
    """Return the names of scenarios under the headings by what they show, as the page of the scenarios lists them."""
    groups: dict[str, list[str]] = {}
    heading = ""
    for line in (DOCUMENTS / "scenarios.md").read_text(encoding="utf-8").splitlines():
        if found := _HEADING.match(line):
            heading = found[1]
        elif found := _LISTED.match(line):
            groups.setdefault(heading, []).append(found[1])
    return groups
