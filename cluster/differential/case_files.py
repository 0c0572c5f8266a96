"""Files of differential cases: JSON, bytes in hexadecimal after `0x`, written atomically, read as untrusted input.

A text that begins with `0x` or a backslash has a backslash in front.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from checker.oracle.policies import POLICY_ORACLES
from checker.oracle.records import MalformedError
from checker.record.errors import ReportedError
from checker.record.places import OwnFile, write_own
from checker.record.plain_files import UnsuitableFileError, read_plain
from cluster.differential.cases import BlockCase, Case, ChainCase
from cluster.differential.stages import chain_at_genesis
from scheduler import POLICIES, InvalidInput
from validators.execution.errors import InvalidGenesisError
from validators.execution.genesis import check_genesis

FORMAT: Final = "stampede differential case 1"
BYTES_MAX: Final = 8 * 1024 * 1024
"""The longest case file."""

DEPTH_MAX: Final = 24
"""The deepest nesting of lists and tables."""

OWN: Final = OwnFile(f'{{"format":"{FORMAT}"'.encode(), "case that this program wrote")
_HEX: Final = "0x"


class CaseError(ReportedError):
    """A case file that cannot be judged: its path, the place in it, and what is allowed there."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class CaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case with its file's data: the failure, the attempts that made it small (0: not shrunk), the program."""

    format: str
    shows: str = ""
    attempts: int = 0
    made_by: str = ""
    case: Case


def write_case(path: Path, file: CaseFile) -> None:
    """Write a case, in the place of a case or of nothing; raises ForeignFileError, or OSError with the path."""
    write_own(path, msgspec.json.encode(_shown(msgspec.to_builtins(file, builtin_types=(bytes,)))) + b"\n", OWN)


def read_case(path: Path) -> CaseFile:
    """Return the case of a file; raises CaseError, or OSError where the file system refuses."""
    try:
        raw = _read(msgspec.json.decode(read_plain(path, BYTES_MAX)), 0)
        file = msgspec.convert(raw, CaseFile, builtin_types=(bytes,))
    except UnsuitableFileError as error:
        raise CaseError(path, error.reason) from None
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise CaseError(path, f"{place.rstrip('`')}: {reason}" if place else reason) from None
    except InvalidInput as error:
        raise CaseError(path, f"case.{error}") from None
    except (ValueError, RecursionError) as error:
        raise CaseError(path, f"not a case file, which is JSON: {error}") from None
    if file.format != FORMAT:
        raise CaseError(path, f"format: {file.format[:60]!r} is not {FORMAT!r}")
    if reason := _reason_against(file.case):
        raise CaseError(path, reason)
    return file


def _shown(value: Any) -> Any:  # noqa: ANN401 - plain data
    """Return plain data in a form that JSON can hold."""
    if isinstance(value, bytes):
        return f"{_HEX}{value.hex()}"
    if isinstance(value, str):
        return f"\\{value}" if value.startswith((_HEX, "\\")) else value
    if isinstance(value, dict):
        return {key: _shown(inner) for key, inner in value.items()}
    return [_shown(inner) for inner in value] if isinstance(value, list | tuple) else value


def _read(value: Any, depth: int) -> Any:  # noqa: ANN401 - plain data
    """Return plain data of a file with its bytes; raises ValueError."""
    if depth > DEPTH_MAX:
        raise ValueError(f"more than {DEPTH_MAX} lists and tables within each other")
    if isinstance(value, str):
        if value.startswith(_HEX):
            return bytes.fromhex(value[len(_HEX) :])
        return value.removeprefix("\\")
    if isinstance(value, dict):
        return {key: _read(inner, depth + 1) for key, inner in value.items()}
    return [_read(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def _reason_against(case: Case) -> str:
    """Return the place of a statement that no chain can have, and the allowed values; empty if there is none."""
    unknown = [entry.policy for entry in case.genesis.policies if entry.policy not in POLICY_ORACLES]
    if unknown:
        return f"case.genesis: policy {unknown[0][:60]!r} is none of {', '.join(POLICY_ORACLES)}"
    try:
        check_genesis(case.genesis, POLICIES)
        chain_at_genesis(case.genesis)
    except (InvalidGenesisError, MalformedError) as error:
        return f"case.genesis: {error}"
    return _against_chain(case) if isinstance(case, ChainCase) else _against_block(case)


def _against_chain(case: ChainCase) -> str:
    mode = case.mode
    for name, most in (("retain_blocks", 64), ("prune_every", 64), ("rebuild_indexes_every", 64)):
        least = int(name == "retain_blocks")
        if not least <= getattr(mode, name) <= most:
            return f"case.mode.{name}: {getattr(mode, name)} is not within {least}..{most}"
    views, times = [0], [case.genesis.timestamp_ms]
    for place, block in enumerate(case.blocks):
        here = f"case.blocks[{place}]"
        if block.parent > place:
            return f"{here}.parent: {block.parent} is no block before it, 0 (genesis) to {place}"
        if block.proposer >= len(case.genesis.validators):
            return f"{here}.proposer: {block.proposer} is not below {len(case.genesis.validators)}"
        if any(index >= len(case.transactions) for index in block.offered):
            return f"{here}.offered: a place is not below {len(case.transactions)}"
        if block.view <= views[block.parent] or block.timestamp_ms <= times[block.parent]:
            return f"{here}: view and timestamp_ms must be above those of its parent"
        views.append(block.view)
        times.append(block.timestamp_ms)
    return ""


def _against_block(case: BlockCase) -> str:
    policy = case.genesis.policies[-1]
    if case.proposer >= len(case.genesis.validators):
        return f"case.proposer: {case.proposer} is not below {len(case.genesis.validators)}"
    if case.slot <= case.parent_slot or case.height < policy.height:
        return f"case.slot, case.height: must be above parent_slot, and at least {policy.height}"
    if (case.queue is not None) != (policy.policy == "aptos"):
        return f"case.queue: a case of aptos has one and no other, and this is of {policy.policy}"
    return _against_config(case, policy.policy) or _against_timers(case, policy.policy)


def _against_config(case: BlockCase, policy: str) -> str:
    if case.own_config is None:
        return ""
    try:
        config = POLICY_ORACLES[policy].read_config(msgspec.msgpack.encode(case.own_config))
    except MalformedError as error:
        return f"case.own_config: {error}"
    return f"case.own_config: {policy} has no parameters of its own" if config is None else ""


def _against_timers(case: BlockCase, policy: str) -> str:
    latest = case.parent_now + case.genesis.calendar.ring_size - 1
    for place, timer in enumerate(case.timers):
        if not 1 <= timer.due <= latest:
            return f"case.timers[{place}].due: {timer.due} is not within 1..{latest}"
        if policy == "aptos" and (timer.quote is None or timer.quote.fee is None):
            return f"case.timers[{place}].quote: an entry of aptos states its price"
    is_twice = len({timer.timer_id for timer in case.timers}) < len(case.timers)
    return "case.timers: two have one timer_id" if is_twice else ""
