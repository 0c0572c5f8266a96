"""The pages of the documents, which the wheel has too: their names, texts and first sentences.

Pages that the code gives in a second are in no file: `docs` and `make site` make them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from checker.coverage.catalogue import page as coverage_page
from checker.record.root import PROJECT_ROOT
from cluster.authoring.policies_page import page as policies_page
from cluster.reference.studies import page as study_page

DOCUMENTS: Final = PROJECT_ROOT / "docs"

_BESIDE: Final = {
    "README": "README.md",
    "CHANGELOG": "CHANGELOG.md",
    "CONTRIBUTING": "CONTRIBUTING.md",
    "fixtures-forms": "fixtures/README.md",
}
"""Pages outside `docs` by their names."""

_COPIED: Final = ("ci/stampede.yml",)
"""Files of the documents that are no pages; a reader copies them."""

MADE: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "rule-coverage": coverage_page,
    "scenarios-by-policy": policies_page,
    "study-keys": study_page,
}
"""Pages that the code makes, by their names: the lines of each."""

_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_FIRST: Final = re.compile(r"# [^\n]+\n\n(.+?\.)(?=\s)", re.DOTALL)
"""The first sentence below the heading of a page."""

_FIRST_LINES: Final = 6
"""Lines of a page that hold its heading and its first sentence."""

_HEADING: Final = re.compile(r"^### (.+)$")
_LISTED: Final = re.compile(r"^- `([\w/-]+)`: ")


def page_paths() -> dict[str, Path]:
    """Return the files of the pages by their names: the path under `docs` without its ending."""
    found = {path.relative_to(DOCUMENTS).with_suffix("").as_posix(): path for path in DOCUMENTS.rglob("*.md")}
    # `make site` has written them.
    found = {name: path for name, path in found.items() if name not in MADE}
    found |= {name: DOCUMENTS / name for name in _COPIED}
    found |= {name: PROJECT_ROOT / place for name, place in _BESIDE.items()}
    return dict(sorted(found.items()))


def page_text(name: str) -> str:
    """Return the text of a page, by its name."""
    if name in MADE:
        return "".join(f"{line}\n" for line in MADE[name]())
    return page_paths()[name].read_text(encoding="utf-8")


def page_sentences() -> dict[str, str]:
    """Return the first sentence of each page, by name."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in page_paths().items()}
    # The first lines alone: the rest of a page that the code makes takes a second.
    texts |= {name: "\n".join(islice(lines(), _FIRST_LINES)) for name, lines in MADE.items()}
    return {name: sentence_of(text) for name, text in sorted(texts.items())}


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
