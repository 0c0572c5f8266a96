"""The reference of commands, read off their parsers: as a program it prints docs/commands.md."""

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from checker.record.program import SCRIPT
from cluster.cli.main import COMMANDS, load_command
from cluster.cli.options import Parser

_PAGE_HEAD: Final = """\
# Commands

Every command with its options and an example.
`python -m cluster.reference.commands > docs/commands.md` writes this page from the code; do not edit it. An installed
`stampede` takes the same as `run_cluster.py`. Without a command the default scenario runs."""

_EXIT_CODES: Final = """\
## Exit codes

0 passed, or failed as expected; 1 safety; 2 bad input; 3 inconclusive; 4 liveness; 5 not deterministic;
6 environment; 130 interrupted."""

_EXAMPLE: Final = "example: "


def page() -> Iterator[str]:
    """Yield the lines of docs/commands.md."""
    yield from _PAGE_HEAD.splitlines()
    for name, (_, summary) in COMMANDS.items():
        yield from ("", f"## `{name}`", "", f"{summary[0].upper()}{summary[1:]}.", "")
        yield from _command(name)
    yield from ("", *_EXIT_CODES.splitlines())


def _command(name: str) -> Iterator[str]:
    module = load_command([name])
    assert module is not None, f"{name} is a command"
    parser = Parser(prog=f"{SCRIPT} {name}", add_help=False)
    module.fill_parser(parser)
    notes, _, example = (parser.epilog or "").partition(_EXAMPLE)
    if notes.strip():
        yield from (f"{notes[0].upper()}{notes[1:].strip()}", "")
    # The parser's own list: there is no public list of its actions.
    yield from (_argument(action) for action in parser._actions)  # noqa: SLF001
    if example:
        yield from ("", f"    {example.strip()}")


def _argument(action: argparse.Action) -> str:
    named = ", ".join(f"`{name}`" for name in action.option_strings)
    value = "" if action.nargs == 0 else _value_of(action)
    shown = f"{named} {value}".strip() if named else value
    # The defaults that matter stand in the sentences; `%%` is argparse's own.
    return f"- {shown}: {(action.help or '').replace('%%', '%')}"


def _value_of(action: argparse.Action) -> str:
    if isinstance(action, argparse.BooleanOptionalAction):
        return ""
    name = action.metavar or ("" if action.choices is None else "|".join(map(str, action.choices)))
    shown = f"`{name or action.dest.upper()}`"
    return f"[{shown}]" if action.nargs == "?" else shown


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
