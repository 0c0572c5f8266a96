"""The site of the documents: its menu has every page, and nothing besides."""

import runpy

from checker.record.root import PROJECT_ROOT
from cluster.authoring.pages import MADE, page_paths

DOCS = PROJECT_ROOT / "docs"


def test_the_menu_has_every_page_once():
    pages = [page for part in runpy.run_path(str(DOCS / "conf.py"))["PAGES"].values() for page in part]

    assert sorted(pages) == sorted(
        [*(name for name in page_paths() if (DOCS / f"{name}.md").exists() and "/" not in name), *MADE, "extend/README"]
    )


def test_the_menu_is_added_to_the_first_page_and_to_no_other():
    add_menu = runpy.run_path(str(DOCS / "conf.py"))["add_menu"]
    first, other = ["# Stampede\n"], ["# Tutorial\n"]
    add_menu(None, "README", first)
    add_menu(None, "docs/tutorial", other)

    assert "\ndocs/tutorial\n" in first[0]
    assert other == ["# Tutorial\n"]
