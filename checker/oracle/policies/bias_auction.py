"""The oracle of `bias-auction`: section 9 of CIP-5, in which a bid and a bias that grows with the wait compete."""

from collections.abc import Sequence
from typing import Any, ClassVar

from checker.oracle.bias import BiasPhase
from checker.oracle.bias_records import CONFIG, BiasConfig, bias_config_of, bias_key_of
from checker.oracle.bidding import ask
from checker.oracle.calls import Call, Present, RevertedError
from checker.oracle.contents import Contents, Table
from checker.oracle.escrow import BIDS, ESCROW
from checker.oracle.parameters import MAX_INTEGER
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.quotes import Fees
from checker.oracle.records import MalformedError, read
from checker.oracle.timers import TimerPhase
from checker.oracle.watches import Limits


class BiasAuctionInBlock(PolicyInBlock):
    """One block of the policy."""

    def __init__(self, start: BlockStart) -> None:
        super().__init__(start)
        self.config: BiasConfig = start.contents.own(CONFIG).rows[None]

    def fill_in(self, call: Call, due: int, gas_limit: int | None, fees: Fees) -> tuple[int | None, Fees]:
        """Return gas limit and fees of a call, with the bid that it locks; an agent fills missing values."""
        bid = fees.bid
        if fees.gba is not None and (bid is None or gas_limit is None):
            tip, limit = self._ask(call, due, fees.gba)
            gas_limit = limit or None if gas_limit is None else gas_limit
            if bid is None:
                ceiling = call.present.gas_limit_ceiling
                bid = min(tip * (ceiling if gas_limit is None else gas_limit), MAX_INTEGER)
        bid = bid or 0
        if 0 < bid < self.config.reserve:
            raise RevertedError("BidBelowReserve")
        return gas_limit, fees._replace(bid=bid)

    def locked(self, fees: Fees) -> int:
        """Return the bid that a new timer locks."""
        return fees.bid or 0

    @property
    def watch_limits(self) -> Limits | None:
        """The limits of state triggers."""
        config = self.config
        return Limits(config.max_watches_per_actor, config.max_keys_per_watch, config.max_triggers_per_block)

    def _ask(self, call: Call, due: int, agent: bytes) -> tuple[int, int]:
        """Return the tip and the gas limit that an agent names."""
        basefees, cycles = self.start.basefees, self.config.gba_call_cycles
        call.gas.use(cycles)
        context = (
            *(due, call.now, basefees.cycle, basefees.cell),
            *(self.config.reserve, call.contents.balance(call.actor)),
        )
        answer = ask(call.contents, call.present, agent, cycles, actor=call.actor, context=context)
        if answer.bid is None:
            raise RevertedError("AgentFailed")
        return answer.bid.max_priority_fee_per_cycle, answer.bid.max_priority_fee_per_cell

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the auction of the block."""
        return BiasPhase(
            self.start.contents,
            present,
            parent_now,
            self.start.basefees,
            proposer,
            config=self.config,
            activated_at=self.start.activated_at,
            is_in_slots=self.start.is_in_slots,
        )


class BiasAuctionOracle(PolicyOracle):
    """The auction of bids and bias."""

    name: ClassVar[str] = "bias-auction"
    follows: ClassVar[tuple[str, ...]] = ("fifo", "fifo-free")
    reserved: ClassVar[tuple[bytes, ...]] = (ESCROW,)

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return BiasAuctionInBlock(start)

    def audit(self, contents: Contents) -> str:
        """Return the contradiction of the escrow with the bids, empty if they agree."""
        held, locked = contents.balance(ESCROW), sum(bid for _, bid in contents.own(BIDS).rows.values())
        if held != locked:
            return f"the escrow holds {held}, bids are {locked}"
        places = contents.bucket_entries.rows
        stray = next(
            (place for place, (timer_id, _) in contents.own(BIDS).rows.items() if places.get(place) != timer_id), None
        )
        return f"a bid is at place {stray} without its timer" if stray else ""

    def read_config(self, encoded: bytes) -> BiasConfig:
        """Return the bias configuration; raises MalformedError."""
        config = bias_config_of(read(encoded, "the bias configuration"))
        if config is None:
            raise MalformedError("the bias configuration of genesis breaks a rule of its fields")
        return config

    def config_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the bias configuration."""
        return contents.own(CONFIG)

    def config_of(self, fields: Sequence[Any]) -> BiasConfig | None:
        """Return the bias configuration of these fields, None if a field breaks its rule."""
        return bias_config_of(fields)

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field."""
        return bias_key_of(name)
