"""Bugs that one rare moment sets off, and that show two heights later: a validator pays too little back from then on.

The moment is the trigger, for example the request for a block whose relay was lost. Each bug has another trigger and
the same consequence, so the failure itself does not tell them apart.
"""

from collections.abc import Callable
from typing import Any, Final

from checker.mutants.mutant import settle_with
from scheduler import tally
from stampede_testbed.plugin.mutants import Mutant, mutant
from validators.consensus.longest_chain import tree
from validators.consensus.simplex import engine as simplex
from validators.consensus.simplex import timeouts
from validators.consensus.simplex.messages import Finalize
from validators.consensus.simplex.timeouts import TimeoutReason
from validators.execution.run import BlockRun
from validators.header_rules import HeaderRules
from validators.intake import Intake
from validators.recovery import RepairLog
from validators.sync.block_exchange import BlockExchange

HEIGHTS_LATER: Final = 2
"""Heights between the trigger and the first wrong refund."""

WHEN_LIT: Final[list[Callable[[], None]]] = []
"""Called at each trigger, for measurements: it knows the turn of the run."""

Light = Callable[[], None]
Replace = Callable[[Any, Light], Any]


def _set_off_by(target: tuple[object, str]) -> Callable[[Replace], Mutant]:
    """Return a decorator: a function that wraps the target and calls `light` at the trigger becomes a mutant."""

    def make(wrap: Replace) -> Mutant:
        def replace(original: Any, opened: Any, settle: Any) -> Any:
            height, wrong_from = 0, None

            def light() -> None:
                nonlocal wrong_from
                for note in WHEN_LIT if wrong_from is None else ():
                    note()
                wrong_from = height + HEIGHTS_LATER if wrong_from is None else wrong_from

            def open_run(run: BlockRun, *given: Any, moment: Any, **named: Any) -> None:
                nonlocal height
                height = moment.height
                opened(run, *given, moment=moment, **named)

            def credit(ledger: Any, address: bytes, amount: int) -> None:
                is_wrong = wrong_from is not None and height >= wrong_from and amount
                ledger.credit(address, amount - 1 if is_wrong else amount)

            return wrap(original, light), open_run, settle_with(settle, credit=credit)

        replace.__name__, replace.__doc__ = wrap.__name__, wrap.__doc__
        targets = (target, (BlockRun, "__init__"), (tally, "settle"))
        return mutant(*targets, area="execution", kills=("equal-roots",), cause="execution")(replace)

    return make


def _when(original: Any, light: Light, is_met: Callable[..., bool]) -> Any:
    """Return the original that calls `light` first where a condition on its arguments holds."""

    def call(*given: Any, **named: Any) -> Any:
        if is_met(*given, **named):
            light()
        return original(*given, **named)

    return call


@_set_off_by((BlockExchange, "retry"))
def block_was_missing(retry: Any, light: Light) -> Any:
    """Set off by the first request for a block whose relay did not arrive."""
    return _when(retry, light, lambda exchange, digest: digest in exchange._follower.missing())


@_set_off_by((timeouts, "give_up"))
def proposal_was_late(give_up: Any, light: Light) -> Any:
    """Set off by the first view that is given up because its leader's proposal is late."""
    return _when(give_up, light, lambda _view, reason, _config: reason is TimeoutReason.LEADER_TIMEOUT)


@_set_off_by((timeouts, "give_up"))
def certificate_was_late(give_up: Any, light: Light) -> Any:
    """Set off by the first view that is given up because its block is not certified in time."""
    return _when(give_up, light, lambda _view, reason, _config: reason is TimeoutReason.CERTIFICATION_TIMEOUT)


@_set_off_by((RepairLog, "found"))
def tail_was_torn(found: Any, light: Light) -> Any:
    """Set off by the first damaged record that a restart finds."""
    return _when(found, light, lambda _log, _damage: True)


@_set_off_by((simplex, "own_votes"))
def vote_had_no_certificate(own_votes: Any, light: Light) -> Any:
    """Set off by a restart between an own finalize and its certificate."""
    return _when(own_votes, light, lambda views: any(kept.own_finalize for kept in views.unfinalized()))


@_set_off_by((tree, "is_better"))
def tips_were_equal(is_better: Any, light: Light) -> Any:
    """Set off by the first two branches of one length."""
    return _when(is_better, light, lambda one, other: one.height == other.height and one.digest != other.digest)


@_set_off_by((Intake, "refuse"))
def message_was_damaged(refuse: Any, light: Light) -> Any:
    """Set off by the first message that cannot be decoded."""
    return _when(refuse, light, lambda _intake, message, _reason: message == "message")


@_set_off_by((Intake, "take"))
def message_came_twice(take: Any, light: Light) -> Any:
    """Set off by the first message that a peer's link delivers twice."""
    seen: dict[tuple[int, bytes], None] = {}

    def is_known(_intake: Any, delivery: Any, *_rest: Any) -> bool:
        key = (delivery.source, delivery.payload)
        is_again = key in seen
        seen[key] = None
        return is_again

    return _when(take, light, is_known)


@_set_off_by((simplex.Simplex, "_receive_vote"))
def finalize_overtook(receive: Any, light: Light) -> Any:
    """Set off by the first finalize that arrives before the votes which notarize its block."""
    return _when(
        receive,
        light,
        lambda engine, _sender, vote: isinstance(vote, Finalize) and vote.proposal.view >= engine.position.view,
    )


@_set_off_by((HeaderRules, "find_fault"))
def block_was_ahead(find_fault: Any, light: Light) -> Any:
    """Set off by the first block whose time is too far ahead of this validator's clock."""

    def find_and_look(*given: Any) -> Any:
        fault = find_fault(*given)
        if "is beyond" in fault:
            light()
        return fault

    return find_and_look
