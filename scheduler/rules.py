"""The scheduler's coverage points: branches of the rules (docs/rules.md) that a campaign has to reach.

A cell says that a rule took this branch and that its effect stayed: what a refused or reverted call did counts for
nothing. `Admission`, `PhaseResult` and `PolicyInBlock` report the cells that were reached as plain data. Nothing reads
them in a run: they are in no state, no receipt, no trace and no digest. The page `rule-coverage` lists all cells.

Rejected: counting lines or branches of the code. A refactoring would change them, and most say nothing of the rules.
"""

import enum
import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Self, TypeAlias

SWARM: Final = "swarm"
"""Promises a cell: a campaign of drawn scenarios has to reach it. Other promises are names of scenarios."""

UNPROMISED: Final = "no campaign yet"
"""Promises nothing: chance reaches the cell too rarely, or nothing that is shipped does."""


_TRIGGERS: Final = "state-triggers"


class CoveragePoint(enum.Enum):
    """The base of the enums of cells; each room has one, and every member a name of its own.

    Attributes:
        code: The rule that the cell is a branch of (docs/rules.md), or the page in docs that has it.
        sentence: The thing that happened.
        promised_by: `swarm`, or the name of the scenario that reaches the cell in every run; or `UNPROMISED`.
    """

    def __init__(self, code: str, sentence: str, promised_by: str = SWARM) -> None:
        self.code = code
        self.sentence = sentence
        self.promised_by = promised_by

    # Enum's own hash is a Python function of the name, which costs more than the rest of a hit.
    __hash__ = object.__hash__

    @property
    def label(self) -> str:
        """The name in results, tables and pages."""
        return self.name.lower().replace("_", "-")


class RefusalPoint(CoveragePoint):
    """The base of the enums of refusals: a cell that says by the words of its text which refusal it is.

    Attributes:
        words: The text of the refusal, with `*` for what differs from one to the next.
        expression: The same as a regular expression.
    """

    def __init__(self, words: str, sentence: str, promised_by: str = SWARM) -> None:
        super().__init__("rule-coverage.md", sentence, promised_by)
        self.words = words
        self.expression = ".*".join(map(re.escape, words.split("*")))

    @classmethod
    def named(cls, text: str) -> Self | None:
        """Return the refusal with this text, None where none of these has it."""
        alternatives, cells = _alternatives(cls)
        found = alternatives.fullmatch(text)
        # The group that matched says which cell it is; the first of several that could, as they stand in the enum.
        return None if found is None or found.lastindex is None else cells[found.lastindex - 1]


@cache
def _alternatives(cells: type[CoveragePoint]) -> tuple[re.Pattern[str], tuple[Any, ...]]:
    """Return one pattern with a group for each cell: a pattern of its own for each would be tried one by one."""
    members: tuple[Any, ...] = tuple(cells)
    return re.compile("|".join(f"({cell.expression})" for cell in members), re.DOTALL), members


Reach: TypeAlias = Callable[[CoveragePoint], None]
"""Notes a cell as reached; the sink of whoever cannot return its cells. Nothing that calls it reads it."""


def unheard(_cell: CoveragePoint) -> None:
    """Note nothing: the sink of parts that nobody watches."""


@enum.unique
class CallRule(CoveragePoint):
    """Branches of the rules for calls about timers: scheduling, extending, cancelling, governance."""

    PAYER_IS_SENDER = "C-14", "The sender of a call pays for the timer of its actor."
    GAS_LIMIT_DEFAULT = "K-5", "A timer states no gas limit and gets the greatest one."
    GAS_LIMIT_AT_CEILING = "Q-18", "A stated gas limit is the greatest one admitted."
    EXPIRY_AT_LIMIT = "C-14", "A stated expiry is the latest one allowed."
    EXPIRY_BEFORE_DUE = "Q-38", "A timer expires before it is due, and can never fire."
    NO_EXPIRY = "C-10", "A timer of a policy without a time to live keeps none of the expiry stated."
    DUE_NEXT = "X-2", "A timer is due at the very next height or slot."
    HEIGHT_SHARED = "C-7", "A timer joins others of its height."
    LAST_PLACE_TAKEN = "C-11", "A timer is the last one that its actor may have."
    INDEX_FREE = "K-36", "A timer pays no cells for its place in the index."
    LAST_CALL_SENT = "K-39", "A fire under `fifo-free` sends the last message that it may.", "deferred-calls"
    TIP_AND_TIER = "A-18", "A call states a tip beside a tier, and the tip holds."
    TIER_ECONOMY = "A-18", "The tier economy sets a tip."
    TIER_STANDARD = "A-18", "The tier standard sets a tip."
    TIER_FAST = "A-18", "The tier fast sets a tip."
    TIER_URGENT = "A-18", "The tier urgent sets a tip."
    FEES_UNSTATED = "A-27", "A call states neither fee nor tip, and both are defaults from then on."
    FEE_DEFAULT_FROZEN = "Q-12", "A call states a tip alone, and its fee is the default from then on."
    FEES_OPEN = "Q-12", "A timer without an agent leaves a fee open until it fires."
    AGENT_FOR_BOTH = "A-15", "A timer leaves fee and tip to its agent."
    AGENT_FOR_TIP = "Q-12", "A timer states its fee and leaves the tip to its agent."
    AGENT_UNNEEDED = "Q-12", "A timer names an agent and leaves it nothing to decide."
    TIP_CLAMPED = "A-13", "A tip above the room of its fee is clamped."
    FEE_AT_PRICE = "A-13", "A greatest fee is just the lane's price, which leaves no room for a tip."
    BID_IGNORED = "A-14", "A bid is ignored before it is refused."
    EXTENDED = "C-14", "An owner moves an expiry further away."
    SHORTENED = "C-14", "An owner moves an expiry nearer."
    EXTENSION_CLAMPED = "C-14", "A new expiry is clamped to the longest time to live."
    EXTENDED_OVERDUE = "Q-19", "A timer is extended while it is overdue, and keeps its place."
    EXTENDED_FOR_NOTHING = "C-10", "A timer that never expires is extended."
    EXTENDED_BY_GOVERNANCE = "A-20", "A system deployer moves an expiry."
    CANCELLED_BEFORE_DUE = "Q-28", "An owner cancels a timer that is not due."
    CANCELLED_ON_DUE = "Q-28", "An owner cancels a timer in the block that it is due in."
    CANCELLED_DEFERRED = "Q-28", "An owner cancels a timer that was deferred."
    PLACE_FREED = (
        "Q-31",
        "A timer takes the last place of its actor, which its own transaction freed by cancelling.",
        UNPROMISED,
    )
    CANCELLED_BY_TIMER = "Q-28", "A handler cancels a later timer while timers fire."
    GOVERNANCE_CANCELLED = "A-20", "A system deployer cancels a timer that is not overdue."
    GOVERNANCE_CANCELLED_DEFERRED = "A-20", "A system deployer cancels a timer that was deferred."
    GOVERNANCE_CANCELLED_GONE = "A-20", "A system deployer cancels a timer that has left already."
    CONFIG_REPLACED = "A-20", "A system deployer replaces the timer configuration as a whole."
    PARAMETERS_CHANGED = "A-20", "A system deployer changes parameters by their keys."


@enum.unique
class PhaseRule(CoveragePoint):
    """Branches of the rules of the timer phase that policies share."""

    FIRED_DEFERRED = "X-5", "A timer fires that an earlier block deferred."
    CARRIED_BEFORE_NEW = "Q-19", "A deferred timer and one that is newly due fire in the same block."
    FIRE_REVERTED = "Q-21", "A fire reverts, costs what it used, and the timer is gone."
    FIRE_USED_UP = "C-8", "A fire uses its gas limit to the last cycle."
    FIRE_JUST_ENOUGH = "C-8", "A fire succeeds with just the cycles that it needs."
    FIRED_ON_EXACT_BALANCE = "A-7", "A payer has just the greatest cost of a fire, and no unit more."
    FIRED_FREE = "C-10", "A timer fires for nothing."
    EXPIRED = "Q-38", "A timer is removed past its expiry."
    EXPIRED_UNATTEMPTED = "Q-21", "A timer is past its expiry in the first block that could fire it."
    INSOLVENT = "A-3", "A timer is removed because its payer cannot cover its greatest cost."
    INSOLVENT_AT_TURN = "A-8", "A payer that could pay at the start of the phase cannot at its timer's turn."
    GC_BUDGET_SPENT = "Q-20", "Dead timers wait because the GC lane's budget is spent."
    GC_LANE_PAUSED = "A-19", "Dead timers wait because the GC lane is paused."
    LANE_PAUSED = "A-19", "Live timers wait because the execution lane is paused."
    LANE_FULL = "X-4", "A live timer waits because the lane has no room for it."
    OVER_CAP = "Q-18", "A timer waits whose gas limit is above what a fire may have now."
    BELOW_BASEFEE = "Q-8", "A timer waits whose greatest fee is below the lane's price."
    LIMIT_FITS_EXACTLY = "Q-17", "A gas limit is just the room that the lane has left."
    FIRST_BLOCKS_REST = "Q-30", "A timer that does not fit blocks one behind it that would."
    BOTH_LANES_BUSY = "A-19", "A block removes timers in the GC lane and fires others in the execution lane."


@enum.unique
class LaneRule(CoveragePoint):
    """Branches of the rules of the timer lane (CIP-1)."""

    AGENT_DECIDED = "A-15", "An agent answered, and its answer decided what the fire paid."
    AGENT_BELOW_PRICE = "Q-8", "An agent answered with a fee below the lane's price, and its timer waits."
    AGENT_INSOLVENT = "A-8", "An agent answered with more than its timer's payer can cover."
    AGENT_FAILED = "Q-13", "An agent is missing or failed, and its timer has the defaults."
    AGENT_OVERRAN = "Q-13", "An agent used up its cycles, and its timer has the defaults."
    AGENT_ABSURD = "Q-13", "An agent's answer is malformed or out of range, and its timer has the defaults."
    AGENT_NOT_ASKED = "Q-13", "A block has asked as many agents as it may."
    DEFAULTS_AT_FIRE = "A-16", "A timer fires at the defaults of its block."
    TIP_PAID = "A-7", "A fire pays a tip."
    TIPLESS_FIRED = "A-23", "A timer without a tip fires because the lane has room."
    TIP_CUT_BY_FEE = "A-5", "A fire pays less than its tip because its greatest fee leaves no more."
    MISFIT_PASSED_OVER = "Q-17", "A timer that does not fit is passed over, and one behind it fires."
    MISFIT_STOPPED = "K-34", "A timer that does not fit ends the selection."
    LIMIT_ACCOUNTED = "K-34", "A fire takes its whole limit off the lane, though it used less."
    SETTLED_LITERALLY = "K-4", "A fire pays no lane basefee, by the literal reading."
    SETTLED_BY_PAGE = "E-6", "A fire pays no lane basefee, and its tip is cut by the cycle basefee.", "intro-page"
    TIE_BY_ID = "K-11", "Two timers of one actor and one priority fire in the order of identifiers."
    TIE_BY_AGE = "Q-15", "Two timers of one actor and one priority fire in the order of age."
    TIE_BY_APPEND = "E-7", "Of two timers of one actor and one priority the carried one fires last.", "auction-readings"
    WEIGHT_MULTIPLIED = "A-5", "A weight puts a timer before another actor's of a higher priority."
    WEIGHT_ADDED = "Q-15", "The same by weights that add to the priority."
    WEIGHT_LOWEST = "A-11", "An actor competes with the lowest weight."
    WEIGHT_BETWEEN = "A-11", "An actor competes with a weight between the lowest and the highest."
    WINDOW_MOVED = "Q-14", "Fires leave the fairness window."
    SUBJECT_PRUNED = "A-12", "The last fires of an actor leave the window, and its counter the state."
    SUBJECT_OWNER = "Q-16", "A fire counts under the owner of its actor."
    MEDIAN_MEAN = "Q-11", "An even number of tips has the mean of its middle two as median."
    MEDIAN_LOWER = "Q-11", "An even number of tips has the lower of its middle two as median."
    MEDIAN_UPPER = "Q-11", "An even number of tips has the upper of its middle two as median."
    PRICE_ROSE = "A-4", "The lane basefee rises by less than its greatest step."
    PRICE_ROSE_MOST = "A-4", "The lane basefee rises by its greatest step."
    PRICE_ROSE_BY_ONE = "Q-3", "The lane basefee rises by 1 because its step is floored to 0."
    PRICE_FELL = "A-4", "The lane basefee falls by less than its greatest step."
    PRICE_FELL_MOST = "Q-7", "The lane basefee falls by its greatest step."
    PRICE_AT_FLOOR = "Q-3", "The lane basefee would fall below its floor and stands there."
    PRICE_LIFTED = "Q-3", "A raised floor lifts the lane basefee."
    PRICE_AT_CEILING = "A-4", "The lane basefee would rise above its ceiling and stands there."
    PRICE_BY_CLASSIC_SLOPE = "Q-1", "The lane basefee moves by the classic slope."
    PRICE_MULTIPLIED = "A-26", "A timer fires at a price that is not the basefee because of the multiplier."
    OPENED_AT_CYCLE_BASEFEE = "Q-4", "The lane's first price is the cycle basefee."
    OPENED_AT_INITIAL = "Q-4", "The lane's first price is the one that is configured."
    PENDING_FIRED = "A-22", "A timer fires that was scheduled before the lane was activated."
    DEFAULT_LIMIT_LOWERED = "K-5", "A timer with a default gas limit fires under a lower one than it was given."
    CURSOR_WRAPPED = "Q-20", "The walk for dead timers goes on at the first timer after the last one."
    CURSOR_STOPPED = "Q-20", "The walk for dead timers ends at the number that a block may look at."
    CURSOR_SPENT = "Q-20", "The walk for dead timers ends because the GC lane's budget is spent."
    DELAY_FORCED = "E-7", "A timer that was put off too often fires first."
    DELAY_FORCED_ANSWERED = "E-7", "A timer that was put off too often fires first, at its agent's bid."
    DELAY_FORCED_MISFIT = "Q-34", "A timer is to be forced and does not fit."
    DELAY_CANCELLED = "Q-34", "A timer that was put off too often is cancelled with a penalty."
    PENALTY_PARTIAL = "Q-34", "A payer has less than the penalty of a cancellation.", "short-penalty"
    PAYER_BANKRUPT = "A-8", "A payer can cover none of its timers."
    PAYER_SPLIT = "A-8", "A payer can cover some of its timers and not others."
    FUNDS_TOO_LATE = (
        "A-8",
        "A payer gets during the phase what it lacked at its start, too late for its timer.",
        "funded-by-a-fire",
    )


@enum.unique
class AuctionRule(CoveragePoint):
    """Branches of the rules of the GBA auction (the older CIP-1)."""

    DEFAULT_AGENT_ASKED = "Q-48", "A timer that names no agent is bid for by the default agent.", "activation-pairs"
    STATED_FEE_HOLDS = "Q-54", "A timer that another policy left keeps the fee that it states.", "activation-pairs"
    FAILING_AGENT_WAITS = "Q-48", "A timer waits because its agent is missing or failed.", "auction-agents"
    OVERRUNNING_AGENT_WAITS = "Q-48", "A timer waits because its agent used up its cycles.", "auction-agents"
    ABSURD_AGENT_WAITS = (
        "Q-48",
        "A timer waits because its agent's answer is malformed or out of range.",
        "auction-agents",
    )
    UNASKED_WAITS = "Q-48", "A timer waits because the block has asked as many agents as it may.", "auction-agents"
    ASKING_RESUMED = "Q-48", "A block asks first behind the timer that was asked last.", "auction-agents"
    ASKING_WRAPPED = "Q-48", "Asking goes on at the first timer after the last one.", "auction-agents"
    UNPAYABLE_UNASKED = (
        "Q-48",
        "A timer is not asked for since its payer could not cover it at any bid.",
        "auction-agents",
    )
    TIP_CUT_TO_ROOM = "B-4", "An effective tip is cut to the room that the greatest fee leaves.", "auction-readings"
    TIP_ABOVE_ROOM = "B-4", "A timer waits because its greatest fee does not cover its tip.", "activation-pairs"
    FUNDS_MISSING = "B-10", "A timer waits because its payer could not cover it at the start.", "activation-pairs"
    FUNDS_SPENT = "B-10", "A timer waits because its payer cannot cover it at its turn any more.", "auction-readings"
    TIE_BY_WEIGHT = "B-8", "Of two timers with equal tips the one of the greater weight stands first.", "auction-slices"
    EQUAL_WEIGHTS = "B-8", "Of two timers with equal tips and weights identifier or sequence decides.", "auction-slices"
    CARRIED_BEHIND_NEW = (
        "E-7",
        "Of two timers with equal tips and weights the carried one stands last.",
        "auction-readings",
    )
    FIRED_IN_SLICE = "Q-50", "A timer fires within its actor's slice.", "auction-slices"
    SLICE_EXCEEDED = "Q-50", "A timer does not fit its actor's slice, and a lower tip fires first.", "auction-slices"
    FIRED_FROM_REST = "Q-50", "A timer fires out of what the slices left over.", "auction-slices"
    SLICE_REMAINDER = "Q-44", "A slice gets a cycle by its remainder.", "auction-slices"
    BUDGET_OVERSHOT = "K-12", "The last fire goes over the budget, by the literal reading.", "auction-readings"
    TIMERS_FIRST = "K-1", "Timers fire before the transactions of their block.", "auction-readings"
    CANCELLED_BEHIND_PHASE = "K-1", "A transaction cancels a timer that this block left waiting.", "auction-readings"
    EPOCHS_SKIPPED = "Q-47", "An epoch begins, and not a block stood in the one before.", "auction-rollover"
    WEIGHT_ROSE = "B-6", "A weight rises towards its score.", "auction-rollover"
    WEIGHT_FELL = "B-6", "A weight falls towards its score.", "auction-rollover"
    WEIGHT_AT_LEAST = "B-7", "A weight stands at its lower bound.", "auction-rollover"
    WEIGHT_AT_MOST = "B-7", "A weight stands at its upper bound.", "auction-rollover"
    WEIGHT_OF_STARVED = "B-7", "An actor deferred too often has the starvation floor as weight.", "auction-rollover"
    WEIGHT_DECAYED = "B-7", "A weight is read that decayed since it was written.", "auction-rollover"
    WEIGHT_RESET = "B-9", "A weight is read as that of a new actor since governance reset it.", "auction-rollover"
    WEIGHT_RESCALED = "B-9", "A weight is read as governance rescaled it.", "auction-rollover"


@enum.unique
class BiasRule(CoveragePoint):
    """Branches of the rules of the bias auction."""

    BID_LOCKED = "D-9", "A call locks a bid.", "bids-in-a-storm"
    BID_BY_AGENT = "D-12", "An agent bids in the call that schedules.", "bids-after-outage"
    WON_BY_BIAS = "D-2", "A timer wins before one whose bid per cycle is greater.", "bias-aging"
    WON_WITHOUT_BID = "D-9", "A timer without a bid fires.", "bias-aging"
    PRICED_BY_RUNNER_UP = "D-5", "A winner pays more than the reserve and less than its bid.", "vcg-night"
    PAID_BID = "Q-24", "A winner pays its whole bid: by first price, or because more was asked.", "vcg-night"
    PAID_RESERVE = "D-7", "A winner pays the reserve, below its bid.", "bids-in-a-storm"
    ACTOR_PASSED_OVER = "D-4", "A timer is passed over because its actor won as often as it may.", "bids-after-outage"
    BLOCK_CAPPED = "D-4", "As many timers win as a block may fire, and one more competes.", "bids-after-outage"
    ROOM_SHORT = "D-4", "A timer is left out because its limit exceeds the room that is left.", "vcg-night"
    WON_BEHIND_MISFIT = "Q-24", "A timer wins behind one that did not fit.", "vcg-night"
    BID_OF_INSOLVENT = "Q-46", "A timer is found insolvent at its turn, and its bid returned.", "bids-in-a-storm"
    INSOLVENT_STAYED = "Q-46", "A timer is found insolvent at its turn, and waits for the GC lane.", "bids-after-outage"
    WAITED_BY_BLOCKS = "Q-45", "A wait in blocks is shorter than it is in slots.", "bids-after-outage"
    BIAS_FLOORED = "Q-22", "A timer wins whose bias is the floor of an exponential.", "bias-aging"
    BIAS_SATURATED = "Q-22", "A timer wins whose bias grows no more.", UNPROMISED
    LAMBDA_FELL = "Q-51", "A window closes, and lambda falls.", "lambda-loop"
    LAMBDA_ROSE = "Q-51", "A window closes, and lambda rises.", "lambda-loop"
    LAMBDA_STAYED = "Q-51", "A window closes, and lambda stays as it is.", "lambda-loop"


@enum.unique
class WatchRule(CoveragePoint):
    """Branches of the rules of state-triggered timers."""

    WATCHED = "D-11", "A timer comes in that waits for a change instead of a height.", _TRIGGERS
    KEY_SHARED = "Q-52", "A timer watches a key that another one watches.", _TRIGGERS
    KEYS_SEVERAL = "Q-52", "A timer watches several keys.", _TRIGGERS
    TRIGGERED = "K-41", "A change triggers a timer, which competes from the next block on.", _TRIGGERS
    HIT_NOBODY = "D-11", "A hit comes to a place whose timer has left or was triggered before.", _TRIGGERS
    HIT_TOO_LATE = "K-42", "A hit comes to a timer that expires with the block, or has expired.", _TRIGGERS
    HIT_WAITS = "D-11", "A hit waits because the block has looked at as many places as it may.", _TRIGGERS
    HIT_RESUMED = "D-11", "A block goes on with a hit that an earlier one left.", _TRIGGERS
    HIT_WIDENED = "D-11", "A key changes again while its hit waits, which then holds for new watchers too.", _TRIGGERS
    WATCH_CANCELLED = "Q-52", "A timer is cancelled that watches.", _TRIGGERS
    WATCH_EXPIRED = "Q-52", "A timer expires because no change came.", _TRIGGERS
    WAITED_FROM_HIT = "K-45", "A block that is not the first of its slot triggers a timer.", "woken-by-anybody"
    TRIGGER_DROPPED = "Q-52", "A block that triggered a timer is dropped for another one.", _TRIGGERS
    TRIGGERED_WHILE_PAUSED = "Q-52", "A change triggers a timer while the execution lane is paused.", _TRIGGERS


@enum.unique
class AptosRule(CoveragePoint):
    """Branches of the rules of scheduled transactions (AIP-125)."""

    RAN_AHEAD = "F-10", "An entry runs ahead of a transaction of the same price or a lower one.", "aptos-storm"
    RAN_BEHIND = "F-10", "An entry runs behind the last transaction, whose price was higher.", "aptos-storm"
    RAN_BEFORE = "Q-49", "Entries run before all transactions.", "aptos-boundaries"
    PAID_OWN_PRICE = "F-6", "A run pays its own greatest price at the end of its block.", "aptos-storm"
    PAID_LESS = (
        "F-6",
        "A run pays less than its greatest price, because no other transaction pays more.",
        "aptos-boundaries",
    )
    PAID_LEAST = "Q-36", "A run without another transaction in its block pays the least price.", "aptos-boundaries"
    TIE_BY_HASH = (
        "Q-41",
        "Of two entries with one time and price the later one is ready first, by its hash.",
        "aptos-boundaries",
    )
    READY_LIMIT_SPENT = "F-5", "An entry waits because as many are ready as a block takes.", "aptos-boundaries"
    ROOM_TAKEN = "Q-42", "A ready entry waits because the block has no room for it beside its transactions.", UNPROMISED
    SERVICE_STANDS = "F-12", "An entry waits because the service is not active.", "aptos-boundaries"
    DEPOSIT_RETURNED = "Q-40", "An entry leaves without a run, and its whole deposit returns.", "aptos-boundaries"
    PRICE_BEFORE_TIME = "K-24", "A dearer entry is taken before one that is due earlier.", "aptos-boundaries"
    KEYS_REMOVED = "F-7", "A prologue removes the keys of what ran in the block before.", "aptos-storm"
    EXPIRED_COUNTED = "Q-37", "An expired entry takes a place of the block's limit.", "aptos-boundaries"
    EXPIRED_AT_TURN = "Q-37", "An entry is found expired when its turn comes.", "aptos-flood"
    EXPIRED_BY_BLOCKS = "K-38", "An entry expires because too many blocks have passed.", "aptos-blocks"
    EXPIRED_WAITS = "Q-37", "More entries are expired than a block removes.", "aptos-storm"
    AUTHORIZATION_EXPIRED = "K-25", "An entry is dropped because its token holds no more.", "aptos-reschedule"
    NUMBER_RAISED = "K-25", "An owner raises an authorization number.", "aptos-reschedule"
    EXPIRY_STATED = "Q-53", "An entry states an expiry of its own.", "aptos-reschedule"
    RESCHEDULED = "F-11", "A run inserts an entry.", "aptos-reschedule"
    SENDER_WITHHELD = "K-37", "An entry runs whose handler sees no sender.", "aptos-boundaries"
    CANCELLED_EARLY = "F-3", "A sender cancels an entry before its time.", "aptos-storm"
    CANCELLED_READY = "F-3", "A sender cancels an entry that is due.", "aptos-storm"
    PASSED_OVER = "Q-49", "A ready entry is gone when its turn comes, or the service is not active.", "aptos-storm"
    PAUSED = "F-12", "Governance pauses the service.", "aptos-shutdown"
    RELEASED = "F-12", "Governance releases a paused service.", "aptos-shutdown"
    SHUTDOWN_STARTED = "F-8", "Governance starts a shutdown.", "aptos-shutdown"
    SHUTDOWN_BATCH = "F-8", "A batch of a shutdown returns deposits.", "aptos-shutdown"
    SHUTDOWN_COMPLETE = "F-8", "A shutdown completes with its last entry.", "aptos-shutdown"
    REINITIALIZED = "F-8", "Governance starts a service again that was shut down.", "aptos-shutdown"


SCHEDULER_RULES: Final[tuple[type[CoveragePoint], ...]] = (
    *(CallRule, PhaseRule, LaneRule, AuctionRule, BiasRule, WatchRule, AptosRule),
)
"""The enums of this package."""
