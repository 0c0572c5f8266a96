"""The command `prove`: a proof file for a key of a recorded run's state."""

import argparse
from pathlib import Path

from checker.record.places import write_own
from checker.record.run_directory import RecordReader
from cluster.cli.options import Parser, command_line, describe_command, print_json, print_lines
from cluster.inspect.proofs import PROOF, Proof, ProofError, encode_proof, prove, show_key, show_value
from cluster.inspect.state_keys import KEY_FORMS, parse_state_key
from cluster.verdict.replay import refuse_foreign


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_prove,
        description="Replay a recorded run to a height and prove what a key of the state is there.",
        notes=f"KEY is {KEY_FORMS}. ADDRESS has 40 hexadecimal digits, TIMER_ID 64.",
        example="prove runs/calm-0 12 burned --out burned.json",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    parser.add_argument("height", type=_height, metavar="HEIGHT", help="a finalized height of the run, 0 for genesis")
    parser.add_argument("key", metavar="KEY", help="which entry of the state, see below")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the proof goes (default proof-HEIGHT-KEY.json)")


def _height(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(1 << 63)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height: a whole number from 0 on")
    return int(text)


def run_prove(options: argparse.Namespace) -> int:
    """Write a proof file and say what is in it."""
    try:
        key = parse_state_key(options.key)
    except ValueError as error:
        raise ProofError(str(error)) from None
    refuse_foreign(RecordReader(options.directory))
    proof = prove(options.directory, options.height, key)
    path: Path = options.out or Path(f"proof-{proof.height}-{key.hex()[:16]}.json")
    write_own(path, encode_proof(proof), PROOF)
    if options.json:
        print_json({"file": str(path), **describe(proof)})
        return 0
    lines = lines_of(proof)
    print_lines([f"{path}: {lines[0]}", *lines[1:], f"check it with: {command_line(['verify', str(path)])}"])
    return 0


def lines_of(proof: Proof) -> list[str]:
    """Return the proven value in a sentence, and where it stands."""
    return [
        f"{show_key(proof.key)} is {show_value(proof.value)} at height {proof.height} of {proof.chain_id}",
        f"key {proof.key.hex()}",
        f"block {proof.block.hex()}",
        f"state root {proof.header.state_root.hex()}",
    ]


def describe(proof: Proof) -> dict[str, object]:
    """Return a proof as `--json` prints it."""
    return {
        "chain_id": proof.chain_id,
        "height": proof.height,
        "block": proof.block.hex(),
        "state_root": proof.header.state_root.hex(),
        "key": proof.key.hex(),
        "key_text": show_key(proof.key),
        "value": proof.value.hex(),
        "value_text": show_value(proof.value),
        "proof_bytes": len(proof.proof),
    }
