"""The clients of a run: they use the validators in turn, and try the next validator a second after a refusal."""

from typing import Final

from checker.checks.audit.messages import AuditedMessages, Fail
from faults.events import TransactionSubmitted
from network.events import Event, Handlers

RETRY_US: Final = 1_000_000

Act = tuple[int, bytes]
"""The validator and the digest of a submitted transaction."""


class AuditedClients:
    """Transactions that clients submit, each followed until a validator takes it.

    Within an instant, refused transactions come behind all new transactions, in the order of the refusals. An instant
    may have a transaction twice, new and again, so it is compared when it is over; the run's last instant is not.
    """

    def __init__(self, validators: int, messages: AuditedMessages, fail: Fail) -> None:
        self._validators = validators
        self._messages = messages
        self._fail = fail
        self._due: dict[int, list[Act]] = {}
        """Submissions that have to come again, by their time."""
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
        """Note an act of a client, and compare the instants before it and the validator's power."""
        now_us, node = event.at_us, submitted.validator
        self.settle(now_us)
        self._at_us = now_us
        self.submitted += 1
        self._acts.append((node, submitted.digest))
        if submitted.outcome == "refused":
            following = (node + 1) % self._validators, submitted.digest
            self._due.setdefault(now_us + RETRY_US, []).append(following)
        elif not self._messages.is_on[node]:
            self._fail("", f"validator {node} took a client's transaction at {now_us:,} us while it was off", now_us)

    def settle(self, now_us: int) -> None:
        """Compare the instants that are over."""
        for at_us in sorted({self._at_us: None, **self._due}):
            if at_us >= now_us:
                return
            acts, self._acts = (self._acts, []) if at_us == self._at_us else ([], self._acts)
            due = self._due.pop(at_us, [])
            new = acts[: max(0, len(acts) - len(due))]
            again = acts[len(new) :]
            for place, (node, digest) in enumerate(due):
                if again[place : place + 1] != [(node, digest)]:
                    missing = f"was refused, and not handed to validator {node} at {at_us:,} us"
                    self._fail("", f"transaction {digest[:6].hex()} {missing}", at_us)
            for node, digest in new:
                turn = self._begun % self._validators
                self._begun += 1
                if node != turn:
                    handed = f"was handed to validator {node} at {at_us:,} us; the turn was validator {turn}'s"
                    self._fail("", f"transaction {digest[:6].hex()} {handed}", at_us)
