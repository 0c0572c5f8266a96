"""Targets of references exist: rules that are cited, pages and files that are linked."""

import re
import subprocess

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.authoring.pages import scenario_groups
from cluster.scenario.load import head_comment, scenario_files

CITED = re.compile(r"(?<![\w-])([ABCDEFXKQ]-\d{1,2})(?![\w-])")
DEFINED = re.compile(r"^- \*\*([A-Z]-\d+)\*\* ", re.MULTILINE)
PAGE = re.compile(r"\bdocs/[a-z/-]+\.md\b")
SECTION = re.compile(r"\bsections? \d")
COMMENT_LINES_MAX = 6
LINKED = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")

WORD = re.compile(r"\S*\w\S*")

RESULTS_OF_CAMPAIGNS = ("mutants.md", "mutant-distances.md", "mutation-scan.md", "scenarios-by-engine.md")
GENERATED = (
    "causality.md",
    "findings.md",
    "reference.md",
    "events.md",
    "commands.md",
    "faults.md",
    "performance.md",
    *RESULTS_OF_CAMPAIGNS,
)
"""Pages that a command prints."""


def tracked(*suffixes):
    """Return the tracked files with one of the suffixes."""
    listed = subprocess.run(["git", "ls-files"], cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
    paths = [PROJECT_ROOT / name for name in listed.stdout.split()]
    return [path for path in paths if path.suffix in suffixes and path.exists()]


def rules():
    return DEFINED.findall((PROJECT_ROOT / "docs" / "rules.md").read_text(encoding="utf-8"))


def test_every_rule_that_is_cited_is_defined():
    cited = {
        code: path.relative_to(PROJECT_ROOT)
        for path in tracked(".py", ".md", ".toml")
        for code in CITED.findall(path.read_text(encoding="utf-8"))
    }

    assert len(cited) > 50
    assert {code: path for code, path in cited.items() if code not in rules()} == {}


def test_no_rule_is_defined_twice():
    assert len(rules()) == len(set(rules())) > 100


def test_code_cites_documents_that_are_here():
    """Sections are those of the two public proposals, and other documents are pages of `docs`."""
    sources = [path for path in tracked(".py", ".toml") if path.name != "test_fingerprint.py"]
    texts = [path.read_text(encoding="utf-8") for path in sources]
    missing = {page for text in texts for page in PAGE.findall(text) if not (PROJECT_ROOT / page).exists()}
    lines = [line.strip() for text in texts for line in text.splitlines() if SECTION.search(line)]

    assert missing == set()
    assert [line for line in lines if "CIP-" not in line] == []


@pytest.mark.parametrize("page", tracked(".md"), ids=lambda page: page.name)
def test_every_link_of_a_page_leads_to_a_file(page):
    links = [link for link in LINKED.findall(page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_scenario_is_listed_and_says_what_is_seen():
    listed = [name for names in scenario_groups().values() for name in names]
    comments = {name: head_comment(name) for name in scenario_files()}

    assert sorted(listed) == sorted(scenario_files())
    assert [name for name, comment in comments.items() if not comment.startswith("# ")] == []
    assert [name for name, comment in comments.items() if comment.count("\n") > COMMENT_LINES_MAX] == []


def test_documents_written_by_hand_stay_short():
    """All together 60,000 words, a page 5,000; a table's lines and a list's dashes are no words."""
    pages = [path for path in tracked(".md") if path.parent.name in {PROJECT_ROOT.name, "docs", "extend"}]
    words = {
        path.relative_to(PROJECT_ROOT): len(WORD.findall(path.read_text(encoding="utf-8")))
        for path in pages
        if path.name not in GENERATED
    }

    assert len(words) > 30
    assert {page: count for page, count in words.items() if count > 5_000} == {}
    assert sum(words.values()) <= 60_000
    assert len((PROJECT_ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split()) <= 2_500
    for page in RESULTS_OF_CAMPAIGNS:
        assert len(WORD.findall((PROJECT_ROOT / "docs" / page).read_text(encoding="utf-8"))) <= 800
