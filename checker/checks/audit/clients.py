"""The clients of a run: they go round the validators, and a refused one tries the next validator a second later."""

from itertools import takewhile
from typing import Final

from checker.checks.audit.traffic import Fail, MessageLedger
from faults.events import TransactionSubmitted
from network.events import Event, Handlers

RETRY_US: Final = 1_000_000

Act = tuple[int, bytes]
"""The validator and the digest of a transaction that is handed in."""


class AuditedClients:
    """Transactions that clients hand in, each followed until a validator takes it.

    What comes again stands behind all that is new in its instant, in the order in which it was refused. So an instant
    is compared when it is over: one transaction may be in it several times, new and again.

    Args:
        validators: The number of validators; clients know of no others.
        traffic: Knows which machines are on.
        fail: Notes a failure.
    """

    def __init__(self, validators: int, traffic: MessageLedger, fail: Fail) -> None:
        self._validators = validators
        self._traffic = traffic
        self._fail = fail
        self._due: dict[int, list[Act]] = {}
        """Acts that have to come again, by their time."""
        self._at_us = 0
        self._acts: list[Act] = []
        """The acts of that time."""
        self._begun = 0
        self.submitted = 0

    @property
    def handlers(self) -> Handlers:
        """Every act of a client."""
        return {TransactionSubmitted: self.submit}

    def submit(self, event: Event, submitted: TransactionSubmitted) -> None:
        """Note an act of a client, compare the instant before it, and the validator's power."""
        now_us, node = event.at_us, submitted.validator
        if now_us != self._at_us:
            self._settle_until(now_us)
            self._at_us = now_us
        self.submitted += 1
        self._acts.append((node, submitted.digest))
        if submitted.outcome == "refused":
            following = (node + 1) % self._validators, submitted.digest
            self._due.setdefault(now_us + RETRY_US, []).append(following)
        elif not self._traffic.is_on[node]:
            self._fail(f"validator {node} took a client's transaction at {now_us:,} us while it was off")

    def finish(self, end_us: int) -> None:
        """Compare the instants before the run's last event or act; in that one, the run may end between two acts."""
        last_us = max(end_us, self._at_us)
        self._settle_until(last_us)
        due = self._due.get(last_us, [])
        self._compare(last_us, self._acts[: self._new(self._acts, due)], [])

    def _settle_until(self, end_us: int) -> None:
        """Compare the noted instant, and find what should have come again since, up to a time that is not over."""
        if self._at_us < end_us:
            self._compare(self._at_us, self._acts, self._due.pop(self._at_us, []))
            self._acts = []
        for at_us in [*takewhile(lambda due_us: due_us < end_us, self._due)]:
            self._compare(at_us, [], self._due.pop(at_us))

    def _compare(self, at_us: int, acts: list[Act], due: list[Act]) -> None:
        new = self._new(acts, due)
        for node, digest in due[len(acts) - new :]:
            what = f"transaction {digest[:6].hex()} was refused, and not handed to validator {node} at {at_us:,} us"
            self._fail(what, validator=node, at_us=at_us)
        for node, digest in acts[:new]:
            turn = self._begun % self._validators
            self._begun += 1
            if node != turn:
                what = f"transaction {digest[:6].hex()} was handed to validator {node} at {at_us:,} us"
                self._fail(f"{what}; the turn was validator {turn}'s", validator=node, at_us=at_us)

    @staticmethod
    def _new(acts: list[Act], due: list[Act]) -> int:
        """Return the number of acts before the greatest end of them with which what is due begins."""
        least = max(0, len(acts) - len(due))
        return next(at for at in range(least, len(acts) + 1) if acts[at:] == due[: len(acts) - at])
