"""The check of a validator's parts, on specimens.

A run has the damage, the payers and the power cuts that its seed draws, and a mistake that takes three things at once
shows in none of hundreds. Here a journal, a file, a waiting set or an engine's vote is brought there by hand,
by a few draws of the run's own seed, and has to come out as the documents say. It is the code that the run has used:
what is wrong with it is wrong with the run's validators too. A seed of the swarm has more of them, and in each a few
engines agree on names of blocks without blocks.
"""

from collections.abc import Sequence
from typing import Final

from checker.checks.check import Check
from checker.checks.parts.engines.bare_agreement import bare_agreement
from checker.checks.parts.execution.block_trees import try_block_trees
from checker.checks.parts.execution.books import try_books
from checker.checks.parts.execution.choices import try_choices
from checker.checks.parts.execution.guaranteed import try_guarantees
from checker.checks.parts.execution.headers import try_headers
from checker.checks.parts.execution.lanes import try_lanes
from checker.checks.parts.execution.timer_tables import try_timer_tables
from checker.checks.parts.execution.updates import try_updates
from checker.checks.parts.execution.waiting import try_waiting
from checker.checks.parts.execution.waiting_lists import try_waiting_lists
from checker.checks.parts.mempool.gossips import try_gossip
from checker.checks.parts.mempool.intakes import try_intake
from checker.checks.parts.mempool.pools import try_pools
from checker.checks.parts.state.databases import try_states
from checker.checks.parts.state.state_roots import try_state_roots
from checker.checks.parts.storage.barriers import try_barriers
from checker.checks.parts.storage.journals import try_journals
from checker.checks.parts.storage.reopened_logs import try_reopened_logs
from checker.checks.parts.storage.stored_files import try_files
from checker.checks.parts.sync.exchanges import try_exchanges
from checker.checks.parts.sync.finality import try_finality
from checker.checks.parts.sync.followed import try_followed_blocks
from checker.checks.parts.sync.followed_goals import try_followed_goals
from checker.checks.parts.sync.snapshot_joins import try_snapshot_joins
from checker.checks.parts.sync.snapshot_servers import try_serving
from checker.checks.parts.trial import Trial, Turn, draws_of, turns_of
from checker.checks.rules.registry import RULES
from checker.results import CheckResult
from network.chance import Chance
from validators.consensus.registry import ENGINES

TRIALS: Final = (
    Turn(try_waiting),
    Turn(try_journals, every=5),
    Turn(try_files, every=5),
    Turn(try_states, every=5),
    Turn(try_followed_blocks),
    Turn(try_finality, every=2),
    Turn(try_guarantees),
    Turn(try_barriers),
    Turn(try_headers, every=2),
    Turn(try_reopened_logs, every=3),
    Turn(try_intake),
    Turn(try_pools, every=2),
    Turn(try_lanes),
    Turn(try_choices),
    Turn(try_timer_tables, every=2),
    Turn(try_updates, every=2),
)
"""Trials of every run, whatever its engine is."""

LONG_TRIALS: Final = (
    Turn(try_block_trees, every=2),
    Turn(try_waiting_lists, every=3),
    Turn(try_snapshot_joins, every=3),
    Turn(try_serving, every=3),
    Turn(try_state_roots, every=4),
    Turn(try_exchanges, every=3),
    Turn(try_followed_goals, every=2),
    Turn(try_gossip, every=4),
    Turn(try_books, every=5),
)
"""Trials of runs of the swarm, whatever their engine is: together they cost as much as a short run."""

ENGINES_ALONE: Final = {name: Turn(bare_agreement(ENGINES[name], rules)) for name, rules in RULES.items()}
"""By engine the trial of runs of the swarm in which a few of them agree on the names of blocks."""


def find_trials(seed: int, engine: str) -> Sequence[Trial]:
    """Return the trials of any run with this seed."""
    return turns_of((*TRIALS, *RULES[engine].trials), seed)


def find_long_trials(seed: int, engine: str) -> Sequence[Trial]:
    """Return what a run of the swarm with this seed tries besides."""
    return turns_of((*LONG_TRIALS, ENGINES_ALONE[engine]), seed)


class Parts(Check):
    """Journals, files, states, waiting sets, blocks and votes do on specimens what their documents say."""

    name = "parts"

    def not_asked(self) -> str:
        """Return a reason where there is no seed to draw specimens by, or the run has not come to a block."""
        if self.run.test_bed is None:
            return "there is no seed to draw specimens by"
        return "" if len(self.run.chain) else "no block became final"

    def finish(self) -> CheckResult:
        """Return the result."""
        assert self.run.test_bed is not None, "a check that is not asked has no end"
        seed = self.run.test_bed.seed
        trials = (*find_trials(seed, self.run.engine), *self.run.trials)
        with self.run.watched(lambda: self.tally.compared, "a specimen of the check parts"):
            for trial in trials:
                self._try(trial, seed)
        return self.tally.result(f"{self.tally.compared:,} answers of parts on {len(trials)} specimens were right")

    def _try(self, trial: Trial, seed: int) -> None:
        name = trial.__name__
        try:
            for what, holds in trial(draws_of(Chance(seed), name)):
                self.tally.require(holds, f"tried on a specimen, a part of a validator is wrong: {what}", trial=name)
        # A part that is wrong may raise anything.
        except Exception as error:  # noqa: BLE001 - told as the failure that it is
            self.tally.fail(f"tried on a specimen, a part of a validator breaks: {error!r}", trial=name)
