"""The messages of the package: every file that it names is one that it has."""

import ast
import json
import re
import sys
import zipfile

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.authoring.pages import MADE
from cluster.cli.main import COMMANDS, load_command
from cluster.cli.options import Parser
from tests.support.wheel import install_wheel, run_installed

NAMED = re.compile(
    r"(?:docs|scenarios|requirements|tests|benchmarks|tools|examples)/[\w./-]*\w|\b(?:README|CONTRIBUTING|CHANGELOG)\b"
)
"""A file of the project, as a message may name it."""

OF_THE_READER = ("tests/...",)


def files_in(wheel):
    """Return the files of the package, as the project names them."""
    with zipfile.ZipFile(wheel) as archive:
        return {name.removeprefix("stampede_testbed/_app/") for name in archive.namelist()}


def texts_of(wheel):
    """Return the texts of the package's code with their places: all that it may print, no docstring."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".html", ".js")):
                yield name, archive.read(name).decode()
            elif name.endswith(".py"):
                yield from ((f"{name}:{line}", text) for line, text in strings_of(archive.read(name).decode()))


def strings_of(source):
    tree = ast.parse(source)
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.lineno, node.value


def help_of(command):
    parser = Parser(prog=f"stampede {command}")
    load_command([command]).fill_parser(parser)
    return parser.format_help()


def test_every_file_that_a_text_names_is_in_the_wheel(wheel):
    there = files_in(wheel)
    there |= {name.removesuffix(".md") for name in there}
    texts = list(texts_of(wheel))
    missing = [(place, name) for place, text in texts for name in NAMED.findall(text) if name not in there]

    assert len(texts) > 5_000
    assert missing == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_names_a_file_of_the_project(command):
    """It names the command that prints the page: a reader of the package does not know where its files are."""
    assert NAMED.findall(help_of(command)) == []


def test_every_page_that_the_code_names_has_a_place_in_the_wheel(wheel):
    """Also those of docstrings, which the schema of scenario files prints."""
    there = files_in(wheel)
    with zipfile.ZipFile(wheel) as archive:
        sources = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")]
    named = {name for source in sources for name in re.findall(r"\bdocs/[\w/-]+\.\w+", source)}

    assert len(named) > 20
    assert sorted(named - there) == []


@pytest.mark.soak
def test_the_command_prints_the_pages_of_the_wheel(wheel, tmp_path):
    """Each page that `docs` lists, and as the project has it."""
    install_wheel(wheel, tmp_path / "target")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1] + '/stampede_testbed/_app')\n"
        "from cluster.authoring.pages import page_paths\n"
        "import json; print(json.dumps({name: path.read_text('utf-8') for name, path in page_paths().items()}))"
    )
    target = tmp_path / "target"
    found = json.loads(run_installed(target, sys.executable, "-c", program, str(target), cwd=tmp_path).stdout)
    printed = run_installed(
        target, sys.executable, str(target / "bin" / "stampede"), "docs", "docs/extend/fault.md", cwd=tmp_path
    )

    project = {path.relative_to(PROJECT_ROOT).as_posix(): path for path in (PROJECT_ROOT / "docs").rglob("*.md")}
    pages = {name.removeprefix("docs/").removesuffix(".md"): path.read_text("utf-8") for name, path in project.items()}
    pages = {name: text for name, text in pages.items() if name not in MADE}
    assert {name: text for name, text in found.items() if name in pages} == pages
    assert sorted(found.keys() - pages.keys()) == [
        "CHANGELOG",
        "CONTRIBUTING",
        "README",
        "ci/stampede.yml",
        "fixtures-forms",
    ]
    assert printed.stdout == found["extend/fault"]
