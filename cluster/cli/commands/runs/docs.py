"""The command `docs`: the pages of the documents, which the installed package has too."""

import argparse
import sys

from cluster.authoring.pages import page_name, page_sentences, page_text
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
    sentences = page_sentences()
    if options.name is None:
        if options.json:
            print_json({"pages": [{"name": name, "sentence": sentence} for name, sentence in sentences.items()]})
        else:
            print_lines([*name_lines(sentences.items())])
        return 0
    name = page_name(options.name)
    named(name, sentences, "docs")
    text = page_text(name)
    if options.json:
        print_json({"name": name, "text": text})
    else:
        sys.stdout.write(text)
    return 0
