"""Leader election: every view has the leader that the rotation gives it, and only that one's block is final in it."""

from typing import Final, final

from checker.checks.observations import read_event
from checker.results import CheckResult, Tally
from network.events import Event
from validators.events import Entered
from validators.execution.blocks import Header

EPOCH: Final = 0
"""The consensus epoch of every block: the validators never change."""


@final
class Leaders:
    """Leaders take turns: view v is led by validator (epoch + v) mod n, by whatever certificate it was entered.

    The rule is docs/design.md's, restated: a validator that waits for another leader than its peers do gives up views
    that are sound, and one that takes blocks from another leader lets somebody else speak for the chain.
    """

    def __init__(self, validators: int) -> None:
        self._tally = Tally("leaders", "safety")
        self._validators = validators
        self._led: dict[int, None] = {}

    def leader_of(self, view: int) -> int:
        """Return the validator whose turn a view is."""
        return (EPOCH + view) % self._validators

    def observe(self, event: Event) -> None:
        """A validator that enters a view says whom it takes for its leader."""
        if event.kind != "enter":
            return
        entered = read_event(event, Entered)
        expected = self.leader_of(entered.view)
        self._tally.compared += 1
        self._led[expected] = None
        if entered.leader != expected:
            self._tally.fail(
                f"validator {event.node} takes validator {entered.leader} for the leader of view {entered.view}, whose "
                f"turn is validator {expected}'s",
                validator=event.node,
                view=entered.view,
                leader=entered.leader,
            )

    def settle(self, header: Header) -> None:
        """Judge who proposed a final block."""
        expected = self.leader_of(header.view)
        self._tally.compared += 1
        if header.proposer != expected:
            self._tally.fail(
                f"the block of height {header.height} is validator {header.proposer}'s, and view {header.view} was "
                f"validator {expected}'s turn",
                height=header.height,
                view=header.view,
                validator=header.proposer,
            )

    def result(self) -> CheckResult:
        """Return what came of it."""
        return self._tally.result(
            f"{self._tally.compared:,} views entered and final blocks, {len(self._led)} validators had their turns"
        )
