"""What the workloads of a scenario came to: do their transactions stand in the chain, and did they succeed?

Judged from the blocks of the canonical chain. A required workload that was switched off, or of which a transaction is
missing or failed, did not show what the scenario promised; any other that is on has to have one transaction at least
that did something. Otherwise the run is inconclusive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

from checker.results import CheckResult, Tally
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TransactionReceipt, decode_receipt

NAME: Final = "workloads-effective"

OK_STATUS: Final = 0
"""The status of a receipt whose transaction succeeded."""


@final
@dataclass(frozen=True, slots=True)
class PromisedWorkload:
    """A workload that may not be idle.

    Attributes:
        name: What the scenario calls it.
        is_enabled: Whether it was on.
        is_required: Whether every transaction in `digests` must succeed, and not just any.
        digests: Hashes of its transactions.
        uncertain: Hashes of those that may fail; where there are no others, one of them must stand in the chain.
    """

    name: str
    is_enabled: bool
    is_required: bool
    digests: tuple[bytes, ...]
    uncertain: tuple[bytes, ...] = ()


def judge_workloads(promised: Sequence[PromisedWorkload], blocks: Iterable[tuple[int, Sequence[bytes]]]) -> CheckResult:
    """Judge the workloads.

    Args:
        promised: Those that may not be idle; not empty.
        blocks: For each block of the chain the number of its transactions, and its encoded receipts.
    """
    tally = Tally(NAME, "inconclusive")
    statuses = _statuses(blocks)
    lacking: list[str] = []
    counts: dict[str, int] = {}
    for workload in promised:
        tally.compared += len(workload.digests) if workload.is_required else 1
        if reason := _find_lack(workload, statuses):
            lacking.append(reason)
        counts[workload.name] = sum(statuses.get(digest) == OK_STATUS for digest in workload.digests)
    if lacking:
        return tally.inconclusive("; ".join(lacking))
    shown = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return tally.result(f"transactions succeeded, all of a required workload: {shown}", **counts)


def _find_lack(workload: PromisedWorkload, statuses: Mapping[bytes, int]) -> str:
    """Return what a workload lacks, nothing where it did what it had to."""
    found = [statuses[digest] for digest in workload.digests if digest in statuses]
    succeeded = found.count(OK_STATUS)
    is_tried = not workload.digests and any(digest in statuses for digest in workload.uncertain)
    if not workload.is_enabled:
        return f"required: {workload.name} is switched off"
    if workload.is_required and succeeded == len(workload.digests) and (succeeded or is_tried):
        return ""
    if not workload.is_required and (succeeded or is_tried):
        return ""
    missing = len(workload.digests) - len(found)
    counts = (
        f"{workload.name}: {succeeded} transactions succeeded, {len(found) - succeeded} failed, {missing} not there"
    )
    return f"required: {counts}" if workload.is_required else counts


def _statuses(blocks: Iterable[tuple[int, Sequence[bytes]]]) -> dict[bytes, int]:
    """Return the status of every transaction in the chain by its hash.

    Nothing but epoch maintenance has receipts before those of the transactions.
    """
    statuses: dict[bytes, int] = {}
    for count, receipts in blocks:
        for encoded in receipts[: count + 1]:
            try:
                receipt = decode_receipt(encoded)
            except InvalidEncodingError:
                continue
            if isinstance(receipt, TransactionReceipt):
                statuses[receipt.transaction] = receipt.status
    return statuses
