"""The command `verify`: whether a proof file holds. Exit codes: 0 valid; 1 invalid; 2 bad input."""

import argparse
from pathlib import Path
from string import hexdigits
from typing import Final

from cluster.cli.commands.records.prove import describe, lines_of
from cluster.cli.options import Parser, describe_command, print_json, print_lines
from cluster.inspect.proofs import find_difference, find_flaw, read_proof

EXIT_INVALID: Final = 1

_ROOT_DIGITS: Final = 64


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_verify,
        description="Check a proof file: exit code 0 valid, 1 invalid, 2 bad input.",
        notes="Without --root and --run nothing says that the file's header is of a chain that you know.",
        example="verify burned.json --run runs/calm-0",
    )
    parser.add_argument("file", type=Path, metavar="PROOF_FILE", help="a file that prove wrote")
    parser.add_argument("--run", type=Path, metavar="RUN_DIRECTORY", help="a recorded run that must have the header")
    parser.add_argument("--root", type=_root, metavar="HEX", help="the state root that the header must have")


def _root(text: str) -> bytes:
    if len(text) != _ROOT_DIGITS or not set(text) <= set(hexdigits):
        raise argparse.ArgumentTypeError(f"{text!r} is not a root: {_ROOT_DIGITS} hexadecimal digits")
    return bytes.fromhex(text)


def run_verify(options: argparse.Namespace) -> int:
    """Check a proof file and say what it proves."""
    proof = read_proof(options.file)
    flaw = find_flaw(proof)
    compared: list[str] = []
    if not flaw and options.root is not None:
        compared.append(f"root {options.root.hex()}")
        if proof.header.state_root != options.root:
            flaw = f"the header's state root is {proof.header.state_root.hex()}, not {options.root.hex()}"
    if not flaw and options.run is not None:
        compared.append(f"run {options.run}")
        flaw = find_difference(proof, options.run)
    if options.json:
        print_json({"valid": not flaw, "reason": flaw, "compared_with": compared, **describe(proof)})
    elif flaw:
        print_lines([f"invalid: {flaw}"])
    else:
        # The state root is only as good as where it comes from, so this is always said.
        trust = " and ".join(compared) or "nothing: --root or --run ties its header to a chain"
        lines = lines_of(proof)
        print_lines([f"valid: {lines[0]}", *lines[1:], f"compared with {trust}"])
    return EXIT_INVALID if flaw else 0
