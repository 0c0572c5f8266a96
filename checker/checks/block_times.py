"""Block timestamps: each is later than its parent's, and no voter accepted a timestamp too far ahead of its own clock.

A block's time is its leader's clock, right or wrong, so there is no true value to compare with. The check requires that
a timestamp is above the parent's and gives the block's slot, and that the clock of each honest voter was near enough.
For an honest leader whose clock no fault touched, it also requires a timestamp between entering the view and voting, or
1 ms after the parent's. By then the block interval has to be over (`checker.checks.block_pace`). No other timestamp has
a lower limit: a leader may drag the time, which costs the chain slots but changes no state.
"""

from dataclasses import dataclass
from typing import Final

from checker.checks.block_pace import BlockPace
from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.rules.registry import RULES
from checker.results import CheckResult
from faults.events import ClockSet
from network.events import Event, Handlers
from network.types import MILLISECOND_US
from network.words import counted
from validators.events import Entered, Voted
from validators.execution.blocks import Header

_MILLION: Final = 1_000_000


@dataclass(slots=True)
class _Lead:
    """The lead of one wall clock over true time, and its greatest lead before the last setting."""

    since_us: int = 0
    offset_us: int = 0
    ppm: int = 0
    strobe_us: int = 0
    greatest_us: int = 0

    def drifted_us(self, at_us: int) -> int:
        return self.offset_us + (at_us - self.since_us) * self.ppm // _MILLION

    def greatest_until_us(self, at_us: int) -> int:
        """Return the greatest lead up to this time."""
        leads = (self.offset_us, self.drifted_us(at_us))
        return max(self.greatest_us, *leads, *(lead + self.strobe_us for lead in leads))


class BlockTimes(Check):
    """A block is later than its parent, in its timestamp's slot, and not too far ahead of its voters' clocks.

    Votes on blocks up to `earlier_height` are not checked: the clocks of that time are not known.
    """

    name = "block-times"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._accepts_block = RULES[run.engine].accepts_block
        self._slot_ms = run.rules.slot_ms
        self._parent_ms = run.rules.timestamp_ms
        self._leads: dict[int, _Lead] = {}
        self._votes: dict[bytes, dict[int, int]] = {}
        self._entered_us: dict[tuple[int, int], int] = {}
        self._pace = BlockPace(run, self.tally)
        self._furthest_ms = 0
        self._judged_votes = 0

    @property
    def handlers(self) -> Handlers:
        """Events of leaders entering views and waiting there, of votes and of clock settings."""
        return {ClockSet: self.clock, Entered: self.entered, Voted: self.vote, **self._pace.handlers}

    def clock(self, event: Event, setting: ClockSet) -> None:
        """The supervisor set a machine's clocks."""
        before = self._leads.get(setting.machine, _Lead())
        offset_us = before.drifted_us(event.at_us) if setting.offset_us is None else setting.offset_us
        greatest_us = before.greatest_until_us(event.at_us)
        self._leads[setting.machine] = _Lead(event.at_us, offset_us, setting.ppm, setting.strobe_us, greatest_us)

    def entered(self, event: Event, entered: Entered) -> None:
        """Remember when a leader entered its view, in this or an earlier life."""
        if entered.leader == event.node:
            self._entered_us.setdefault((entered.view, event.node), event.at_us)

    def vote(self, event: Event, vote: Voted) -> None:
        """Remember the greatest time that an accepting voter's clock can have shown by now."""
        if self._accepts_block(vote):
            lead_us = self._leads[event.node].greatest_until_us(event.at_us) if event.node in self._leads else 0
            self._votes.setdefault(vote.payload, {}).setdefault(event.node, event.at_us + lead_us)

    def settle(self, block: SettledBlock) -> None:
        """Check a final block's timestamp."""
        header = block.header
        time_ms, place = header.timestamp_ms, f"block of height {header.height}"
        self.tally.require(
            time_ms > self._parent_ms,
            f"{place} has timestamp {time_ms:,} ms; expected more than its parent's {self._parent_ms:,} ms",
            height=header.height,
        )
        self.tally.require(
            header.slot == time_ms // self._slot_ms,
            f"{place} has slot {header.slot}; expected slot {time_ms // self._slot_ms} by its timestamp {time_ms:,} ms",
            height=header.height,
        )
        votes = self._votes.pop(block.digest, {})
        self._judge_leader(header, votes.get(header.proposer))
        for node, clock_us in sorted(votes.items()) if header.height > self.run.earlier_height else ():
            # A leader votes for its own block although its clock may be behind the parent's.
            if node != header.proposer:
                self._judge_vote(node, clock_us // MILLISECOND_US, header)
        self._furthest_ms = max(self._furthest_ms, time_ms - self._parent_ms)
        self._parent_ms = time_ms

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"each block is at most {self._furthest_ms:,} ms later than its parent, and at most "
            f"{self.run.max_skew_ms:,} ms ahead of its voters' clocks ({counted(self._judged_votes, 'votes')})",
            votes=self._judged_votes,
            furthest_ms=self._furthest_ms,
        )

    def _judge_leader(self, header: Header, voted_us: int | None) -> None:
        """Require of a leader with a true clock the time at which it proposes, or 1 ms after the parent's timestamp."""
        entered_us = self._entered_us.pop((header.view, header.proposer), None)
        if voted_us is None or entered_us is None or header.proposer in self._leads:
            return
        if voted_us < entered_us:
            # A later life entered the view again; an earlier process had sent the vote.
            return
        next_ms = self._parent_ms + 1
        first_ms, last_ms = (max(at_us // MILLISECOND_US, next_ms) for at_us in (entered_us, voted_us))
        self.tally.require(
            first_ms <= header.timestamp_ms <= last_ms,
            f"the block of height {header.height} has timestamp {header.timestamp_ms:,} ms; expected {first_ms:,} to "
            f"{last_ms:,} ms, when its leader, validator {header.proposer}, proposed it",
            height=header.height,
            validator=header.proposer,
        )
        if header.height > self.run.earlier_height:
            self._pace.judge(header, self._parent_ms, entered_us)

    def _judge_vote(self, node: int, clock_ms: int, header: Header) -> None:
        self._judged_votes += 1
        self.tally.compared += 1
        if header.timestamp_ms > clock_ms + self.run.max_skew_ms:
            self.tally.fail(
                f"validator {node} voted for the block of height {header.height} with timestamp "
                f"{header.timestamp_ms:,} ms, but its clock had shown {clock_ms:,} ms at most",
                height=header.height,
                validator=node,
            )
