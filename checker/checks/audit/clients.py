"""The clients of a run: they go round the validators, and a refused one tries the next validator a second later."""

from typing import Final

from checker.checks.audit.traffic import Fail, MessageLedger
from faults.events import TransactionSubmitted
from network.events import Event, Handlers

RETRY_US: Final = 1_000_000


class AuditedClients:
    """Transactions that clients hand in, each followed until a validator takes it.

    Args:
        validators: The number of validators; clients know of no others.
        traffic: Knows which machines are on.
        fail: Notes a failure.
    """

    def __init__(self, validators: int, traffic: MessageLedger, fail: Fail) -> None:
        self._validators = validators
        self._traffic = traffic
        self._fail = fail
        self._due: dict[tuple[int, int, bytes], int] = {}
        """Of refused transactions: by time, validator and digest, how many have to be handed in."""
        self._begun = 0
        self._doubtful: list[tuple[int, int, bytes]] = []
        """Of this instant: what was taken for a repetition, and may have been a copy whose turn it was."""
        self.submitted = 0

    @property
    def handlers(self) -> Handlers:
        """Every act of a client."""
        return {TransactionSubmitted: self.submit}

    def submit(self, event: Event, submitted: TransactionSubmitted) -> None:
        """Compare an act of a client with what is due, and with the validator's power."""
        now_us, node = event.at_us, submitted.validator
        key = now_us, node, submitted.digest
        self.submitted += 1
        if self._doubtful and self._doubtful[0][0] < now_us:
            self._doubtful.clear()
        turn = self._begun % self._validators
        if self._due.get(key):
            if node == turn:
                self._doubtful.append(key)
            self._settle(key)
        else:
            if node != turn and self._doubtful:
                # A client handed the same transaction in once more, just when another copy is to be repeated here.
                doubtful = self._doubtful.pop(0)
                self._due[doubtful] = self._due.get(doubtful, 0) + 1
                self._begun += 1
                turn = self._begun % self._validators
            self._begun += 1
            if node != turn:
                what = f"transaction {submitted.digest[:6].hex()} was handed to validator {node} at {now_us:,} us"
                self._fail(f"{what}; the turn was validator {turn}'s", validator=node, at_us=now_us)
        if submitted.outcome == "refused":
            following = now_us + RETRY_US, (node + 1) % self._validators, submitted.digest
            self._due[following] = self._due.get(following, 0) + 1
        elif not self._traffic.is_on[node]:
            self._fail(f"validator {node} took a client's transaction at {now_us:,} us while it was off")

    def _settle(self, key: tuple[int, int, bytes]) -> None:
        self._due[key] -= 1
        if not self._due[key]:
            del self._due[key]

    def finish(self, end_us: int) -> None:
        """Require that no refused transaction is left that was due before the run's last event."""
        for at_us, node, digest in self._due:
            if at_us < end_us:
                what = f"transaction {digest[:6].hex()} was refused, and not handed to validator {node} at {at_us:,} us"
                self._fail(what, validator=node, at_us=at_us)
