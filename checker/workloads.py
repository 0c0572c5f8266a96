"""What the workloads that a scenario requires came to: did their transactions stand in the chain, and succeed?

Judged from the blocks of the canonical chain. A workload that was switched off, or of which a transaction is missing or
failed, did not show what the scenario promised: the run is inconclusive.
"""

from collections.abc import Iterable, Sequence
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
    """A required workload: its name, whether it was on, and the hashes of the transactions that must succeed."""

    name: str
    is_enabled: bool
    digests: tuple[bytes, ...]


def judge_workloads(promised: Sequence[PromisedWorkload], blocks: Iterable[tuple[int, Sequence[bytes]]]) -> CheckResult:
    """Judge the required workloads.

    Args:
        promised: What the scenario requires; not empty.
        blocks: For each block of the chain the number of its transactions, and its encoded receipts.
    """
    tally = Tally(NAME, "inconclusive")
    statuses = _statuses(blocks)
    lacking: list[str] = []
    for workload in promised:
        found = [statuses[digest] for digest in workload.digests if digest in statuses]
        succeeded = found.count(OK_STATUS)
        tally.compared += len(workload.digests)
        if not workload.is_enabled:
            lacking.append(f"{workload.name} is switched off")
        elif succeeded < len(workload.digests) or not succeeded:
            failed = len(found) - succeeded
            missing = len(workload.digests) - len(found)
            lacking.append(f"{workload.name}: {succeeded} transactions succeeded, {failed} failed, {missing} not there")
    if lacking:
        return tally.inconclusive(f"required: {'; '.join(lacking)}")
    counts = {workload.name: len(workload.digests) for workload in promised}
    return tally.result(
        "every transaction of a required workload succeeded: "
        + ", ".join(f"{name} {count:,}" for name, count in counts.items()),
        **counts,
    )


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
