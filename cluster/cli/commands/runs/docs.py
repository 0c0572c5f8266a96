"""The command `docs`: the pages of the documents, which the installed package has too."""

import argparse
import sys

from cluster.authoring.pages import page_name, page_paths, sentence_of
from cluster.cli.listing import name_lines, named
from cluster.cli.options import Parser, describe_command, print_json, print_lines


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        print_page,
        description="Print a page of the documents in Markdown; without a name, list all pages.",
        notes="the name may also be the path that another page gives.",
        example="docs tutorial",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="a page (default: list all)")


def print_page(options: argparse.Namespace) -> int:
    """Print a page or the list of all, and return 0; raises UnknownNameError."""
    pages = page_paths()
    if options.name is None:
        rows = [(name, sentence_of(path.read_text(encoding="utf-8"))) for name, path in pages.items()]
        if options.json:
            print_json({"pages": [{"name": name, "sentence": sentence} for name, sentence in rows]})
        else:
            print_lines([*name_lines(rows)])
        return 0
    name = page_name(options.name)
    text = named(name, pages, "docs").read_text(encoding="utf-8")
    if options.json:
        print_json({"name": name, "text": text})
    else:
        sys.stdout.write(text)
    return 0
