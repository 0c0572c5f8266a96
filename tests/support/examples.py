"""Examples of the pages in docs/extend: the tests run what a reader would copy."""

import re
import tomllib
from typing import Any

from checker.record.root import PROJECT_ROOT


def blocks_of(page: str, language: str) -> list[str]:
    """Return the fenced blocks of a language in a page of docs/extend."""
    text = (PROJECT_ROOT / "docs" / "extend" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def run_example(page: str) -> dict[str, Any]:
    """Run the Python blocks of a page as one module, and return its names."""
    names: dict[str, Any] = {"__name__": f"example_{page.partition('.')[0]}"}
    exec(compile("\n".join(blocks_of(page, "python")), page, "exec"), names)
    return names


def scenario_of(page: str) -> dict[str, Any]:
    """Return the plain data of the first scenario in a page."""
    return tomllib.loads(blocks_of(page, "toml")[0])
