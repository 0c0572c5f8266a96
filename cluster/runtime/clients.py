"""The clients of a run: they submit the workload's transactions, one validator after the other.

A validator that is down or recovering refuses a submission. The refusal is counted, and the client tries the next
validator a second later, as a real client would.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cluster.runtime.machines import MachineSlot
from cluster.workloads.submission import TimedTransaction
from faults.events import TransactionSubmitted
from network.kernel import Kernel
from network.trace import EventChain
from network.types import SUPERVISOR, EventKind

RETRY_US: Final = 1_000_000
"""Virtual microseconds after a refusal until the client tries again."""


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """Submissions that a validator accepted, and submissions that were refused."""

    submitted: int
    refused: int


class Clients:
    """Submits transactions at their times."""

    def __init__(self, kernel: Kernel, chain: EventChain, slots: Sequence[MachineSlot]) -> None:
        self._kernel = kernel
        self._chain = chain
        self._slots = slots
        self._ordinal = 0
        self._submitted = 0
        self._refused = 0

    def schedule(self, transactions: Iterable[TimedTransaction]) -> None:
        """Post every submission of the workload."""
        for index, timed in enumerate(transactions):
            # A run that goes on where another process ended resubmits what may be lost; submitting twice does no harm.
            self._post(max(timed.at_us, self._kernel.now_us), timed, index % len(self._slots))

    def statistics(self) -> ClientStatistics:
        """Return what has been submitted and refused so far."""
        return ClientStatistics(self._submitted, self._refused)

    def _post(self, at_us: int, timed: TimedTransaction, node: int) -> None:
        action = partial(self._submit, timed, node)
        # An event of the supervisor, not of the validator: it counts and traces for all clients. Actions of two
        # validators in one turn have no order.
        self._kernel.post(at_us, SUPERVISOR, EventKind.WORKLOAD, SUPERVISOR, self._ordinal, action)
        self._ordinal += 1

    def _submit(self, timed: TimedTransaction, node: int) -> None:
        slot = self._slots[node]
        if slot.is_serving and slot.port is not None and slot.port.submit(timed.encoded):
            self._submitted += 1
            self._chain.add(self._kernel.now_us, TransactionSubmitted("submitted", node, timed.digest))
            return
        self._refused += 1
        self._chain.add(self._kernel.now_us, TransactionSubmitted("refused", node, timed.digest))
        self._post(self._kernel.now_us + RETRY_US, timed, (node + 1) % len(self._slots))
