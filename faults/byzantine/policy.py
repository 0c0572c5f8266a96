"""Timer phases that do not do what the rules say, so that a leader can claim what comes of them.

All who execute its block come to other roots, and none of them may vote for it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias, cast, final

import msgspec

from scheduler import Basefees, BlockPhase, Lane, Moment, Parameters, PhaseResult, Policy, Timer, TimerConfig
from scheduler.tables import Ledger, Runner, TimerTables

TamperingKind: TypeAlias = Literal["", "due-set", "order", "clean-up"]


@final
class Tampering:
    """The rule that the timer phase of the block that is being built breaks; none while `kind` is empty.

    `due-set` fires none of the timers that are due, `order` fires them in the reverse order, `clean-up` removes none of
    the dead ones.
    """

    kind: TamperingKind = ""


def tampered_policies(honest: Mapping[str, type[Policy]], tampering: Tampering) -> dict[str, Callable[[], Policy]]:
    """Return policies that do as the true ones but for the tampering."""
    return {name: _tampered_policy(policy, tampering) for name, policy in honest.items()}


def _tampered_policy(honest: type[Policy], tampering: Tampering) -> Callable[[], Policy]:
    class TamperedPolicy:
        name: ClassVar[str] = honest.name
        has_ttl: ClassVar[bool] = honest.has_ttl
        has_budget: ClassVar[bool] = honest.has_budget
        default_config: ClassVar[TimerConfig] = honest.default_config
        config_type: ClassVar[type[Parameters] | None] = honest.config_type
        follows: ClassVar[tuple[str, ...]] = honest.follows

        def phases(self) -> tuple[BlockPhase, ...]:
            return honest().phases()

        def run_timers(
            self,
            *,
            moment: Moment,
            config: TimerConfig,
            basefees: Basefees,
            tables: TimerTables,
            ledger: Ledger,
            run: Runner,
            lane: Lane | None = None,
        ) -> PhaseResult:
            if tampering.kind == "due-set":
                config = msgspec.structs.replace(config, execution_lane_paused=True)
            elif tampering.kind == "clean-up":
                config = msgspec.structs.replace(config, gc_lane_paused=True)
            elif tampering.kind == "order":
                tables = cast("TimerTables", _Reversed(tables))
            return honest().run_timers(
                moment=moment, config=config, basefees=basefees, tables=tables, ledger=ledger, run=run, lane=lane
            )

    return TamperedPolicy


@final
class _Reversed:
    """Tables that give the waiting timers in the reverse order, and are the true ones in all else."""

    def __init__(self, tables: TimerTables) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> object:
        return getattr(self._tables, name)

    def collect(self, upto: int) -> Sequence[Timer]:
        return tuple(reversed(self._tables.collect(upto)))
