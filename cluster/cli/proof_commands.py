"""The commands `prove` and `verify`: write a proof file for a key of a recorded run, and check one.

Exit codes: 0 written, or valid; 1 the proof does not hold; 2 bad input.
"""

import argparse
import sys
from pathlib import Path
from typing import Final

import msgspec

from checker.record.host import naming
from checker.record.program import program_name
from cluster.inspect.proofs import (
    Proof,
    ProofError,
    encode_proof,
    find_difference,
    find_flaw,
    prove,
    read_proof,
    show_key,
    show_value,
)
from cluster.inspect.state_keys import parse_state_key

EXIT_INVALID: Final = 1


def run_prove(options: argparse.Namespace) -> int:
    """Write a proof file and say what is in it."""
    try:
        key = parse_state_key(options.key)
    except ValueError as error:
        raise ProofError(str(error)) from None
    proof = prove(options.directory, options.height, key)
    path: Path = options.out or Path(f"proof-{proof.height}-{key.hex()[:16]}.json")
    _refuse_foreign(path)
    with naming(path):
        path.write_bytes(encode_proof(proof))
    if options.json:
        _print_json({"file": str(path), **_describe(proof)})
        return 0
    sys.stdout.write(f"{path}: {_sentence(proof)}\n{_places(proof)}\ncheck it with: {program_name()} verify {path}\n")
    return 0


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
        _print_json({"valid": not flaw, "reason": flaw, "compared_with": compared, **_describe(proof)})
    elif flaw:
        sys.stdout.write(f"invalid: {flaw}\n")
    else:
        # The state root is only as good as where it comes from, so this is always said.
        trust = " and ".join(compared) or "nothing: --root or --run ties its header to a chain"
        sys.stdout.write(f"valid: {_sentence(proof)}\n{_places(proof)}\ncompared with {trust}\n")
    return EXIT_INVALID if flaw else 0


def _sentence(proof: Proof) -> str:
    return f"{show_key(proof.key)} is {show_value(proof.value)} at height {proof.height} of {proof.chain_id}"


def _places(proof: Proof) -> str:
    return f"key {proof.key.hex()}\nblock {proof.block.hex()}\nstate root {proof.header.state_root.hex()}"


def _describe(proof: Proof) -> dict[str, object]:
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


def _print_json(answer: dict[str, object]) -> None:
    sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")


def _refuse_foreign(path: Path) -> None:
    """Raise ProofError where something else than a proof file would be overwritten."""
    if not path.exists():
        return
    try:
        read_proof(path)
    except ProofError:
        raise ProofError(f"{path} exists and is no proof file; give another --out or remove it") from None
