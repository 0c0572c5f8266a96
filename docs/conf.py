"""The site of the documents, which Sphinx makes of the same Markdown that reads well without it (`make site`)."""

from typing import Any

PAGES = {
    "Begin": (
        *("tutorial", "scenarios", "scenarios-by-policy", "scenarios-by-engine", "page", "live", "explain"),
        "causality",
    ),
    "How to": (
        *("campaigns", "studies", "incidents", "tools", "exports", "replicas", "application", "upgrade", "fixtures"),
        "extend/README",
    ),
    "Reference": ("commands", "reference", "study-keys", "faults", "workloads", "events", "invariants", "mutants"),
    "The chain": ("chain", "programs", "state", "storage", "rules"),
    "The policies": ("spec", "gba-auction", "bias-auction", "scheduled-transactions"),
    "Agreement": ("simplex", "hotstuff", "longest-chain", "byzantine"),
    "The design": ("design", "glossary", "dependencies", "performance", "comparison", "not-verified"),
    "Answers": ("choosing-parameters", "findings"),
    "What runs found": ("faults-at-work", "fault-catalogues", "rule-coverage", "mutation-scan", "mutant-distances"),
}
"""The pages of `docs` under the headings of the menu; a test holds that none is missing."""

project = "Stampede"
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/extend/*.md", "fixtures/README.md"]
html_theme = "furo"
html_title = "Stampede"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
myst_heading_anchors = 4


def add_menu(_app: object, name: str, source: list[str]) -> None:
    """Append the menu to the first page, and the pages below another to its page: Markdown by itself has no menu."""
    if name == "README":
        for heading, pages in PAGES.items():
            source[0] += _tree([f"docs/{page}" for page in pages], f":caption: {heading}")
        source[0] += _tree(["CONTRIBUTING", "CHANGELOG"], ":caption: Changes")
    elif name == "docs/fixtures":
        source[0] += _tree(["../fixtures/README"])
    elif name == "docs/extend/README":
        source[0] += _tree(["*"], ":glob:")


def _tree(pages: list[str], *options: str) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", *options, "", *pages, "```", ""])


def setup(app: Any) -> None:  # noqa: ANN401 - Sphinx' own class, which nothing but the site needs
    """Have Sphinx ask for the menu."""
    app.connect("source-read", add_menu)
