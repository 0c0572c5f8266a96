"""The refusals of a block: calls that the rules refuse, transactions that a leader leaves out, invalid blocks.

A call's text begins with the method of the host that refused; `instruct` is a system instruction, `call` a program.
"""

import enum
from typing import Final

from scheduler import CoveragePoint, RefusalPoint, Rejected

_CALLS: Final = "deferred-calls"
_TRIGGERS: Final = "state-triggers"
_QUEUE: Final = "aptos-boundaries"
_CHAINS: Final = "aptos-reschedule"


@enum.unique
class CallRefusal(RefusalPoint):
    """Refusals of calls, caught by their program or not."""

    DUE_NOT_IN_FUTURE = "schedule_timer HeightNotInFuture: *", "A timer is to be due now or earlier."
    DUE_TOO_FAR = "schedule_timer InvalidInput: height: *", "A timer's height is no number that the state can hold."
    TIMER_PAYLOAD_TOO_LARGE = "schedule_timer PayloadTooLarge: *", "A timer's payload is longer than it may be."
    GAS_LIMIT_TOO_HIGH = "schedule_timer GasLimitTooHigh: *", "A timer asks for more gas than a fire may use."
    TTL_TOO_LONG = "schedule_timer TtlTooLong: *", "A timer is to live longer than the chain allows."
    NUMBER_OF_TIMER = (
        "schedule_timer InvalidInput: *: * is not a number within*",
        "A timer's limit or fee is no number.",
    )
    FEE_PAYER_ZERO = "schedule_timer InvalidInput: fee_payer: zero", "The zero address is to pay for a timer."
    FEE_PAYER_SYSTEM = (
        "schedule_timer InvalidInput: fee_payer: system",
        "An address of the system is to pay for a timer.",
    )
    FEE_PAYER_THIRD_PARTY = (
        "schedule_timer InvalidInput: fee_payer: third party",
        "An address that is neither sender nor actor is to pay for a timer.",
    )
    TIER_UNKNOWN = "schedule_timer InvalidInput: priority_tier_hint: *", "A timer states a tier that there is not."
    FEE_BELOW_BASEFEE = "schedule_timer TimerRejectedBelowBasefee: *", "A greatest fee is below the lane's price."
    BID_WITHDRAWN = "schedule_timer TimerArgDeprecated: *", "A bid is stated after the time in which it is ignored."
    FEE_PAYER_NAMED = (
        "schedule_timer InvalidInput: fee_payer: the owner pays",
        "A timer of the GBA auction names a payer.",
    )
    BID_BELOW_RESERVE = (
        "schedule_timer BidBelowReserve: *",
        "A bid is above 0 and below the reserve.",
        "bids-after-outage",
    )
    BID_NOT_COVERED = (
        "schedule_timer BidNotCovered: *",
        "A payer has less than the bid that it has to lock.",
        "bids-after-outage",
    )
    AGENT_WITHOUT_BID = (
        "schedule_timer AgentFailed: *",
        "An agent that is to bid in the call fails or answers no bid.",
        "bids-after-outage",
    )
    TOO_MANY_WATCHES = "watch_timer TooManyWatches: *", "An actor has as many timers that watch as it may.", _TRIGGERS
    WATCHED_WRONGLY = (
        "watch_timer InvalidInput: watched: *",
        "A timer is to watch no key, too many keys or a key twice.",
        _TRIGGERS,
    )
    EXTENDED_WATCHING = (
        "* InvalidInput: expires_at: fixed while the timer watches",
        "The expiry of a timer that watches is to be moved.",
        _TRIGGERS,
    )
    RESERVED_BY_PROGRAM = "transfer ReservedAddress: *", "A program moves units to a reserved address.", _TRIGGERS
    RESERVED_BY_ACCOUNT = "transaction ReservedAddress: *", "An account moves units to a reserved address.", _TRIGGERS
    QUEUE_UNAVAILABLE = (
        "schedule_timer EUNAVAILABLE: *",
        "An entry is to come in while the service is not active.",
        _QUEUE,
    )
    QUEUE_PAYER_NAMED = "schedule_timer EINVALID_SIGNER: *", "An entry names another payer than its sender.", _QUEUE
    QUEUE_TIME_PAST = "schedule_timer EINVALID_TIME: *", "An entry's time is not after the block's.", _QUEUE
    QUEUE_PRICE_LOW = "schedule_timer ELOW_GAS_UNIT_PRICE: *", "An entry's price is too low.", _QUEUE
    QUEUE_GAS_LOW = "schedule_timer ETOO_LOW_GAS_AMOUNT: *", "An entry's gas is too little.", _QUEUE
    QUEUE_TOKEN_SHORT = (
        "schedule_timer EAUTH_TOKEN_INSUFFICIENT_DURATION: *",
        "A token expires before the entry's time.",
        _CHAINS,
    )
    QUEUE_NUMBER_WRONG = "schedule_timer EAUTH_NUM_MISMATCH: *", "A token's number is not the current one.", _CHAINS
    QUEUE_TOO_LARGE = "schedule_timer ETXN_TOO_LARGE: *", "An entry's encoding is too long.", _QUEUE
    QUEUE_TIME_TOO_FAR = (
        "schedule_timer InvalidInput: *: * slots exceed * ms",
        "A time in milliseconds is no number.",
        _QUEUE,
    )
    QUEUE_EXPIRY_BEFORE_TIME = (
        "schedule_timer InvalidInput: expires_at: * is before the time *",
        "An entry would expire before its time.",
        _QUEUE,
    )
    QUEUE_DEPOSIT_TOO_LARGE = "schedule_timer InvalidInput: deposit: * exceeds *", "A deposit is no number.", _QUEUE
    QUEUE_DEPOSIT_MISSING = "schedule_timer InsufficientBalance: *", "A sender has less than its deposit.", _QUEUE
    QUEUE_CANCEL_UNAVAILABLE = (
        "cancel_timer EUNAVAILABLE: *",
        "An entry is to be cancelled while the service is not active.",
        _QUEUE,
    )
    QUEUE_CANCEL_LATE = (
        "cancel_timer ECANCEL_TOO_LATE: *",
        "An entry is to be cancelled shortly before its time.",
        _QUEUE,
    )
    QUEUE_CANCEL_STRANGER = "cancel_timer EINVALID_SIGNER: *", "Another sender's entry is to be cancelled.", _QUEUE
    QUEUE_EXTENDED = (
        "* InvalidInput: expires_at: fixed when it is inserted",
        "An entry's expiry is to be moved.",
        _QUEUE,
    )
    SERVICE_PAUSE = "instruct EINVALID_PAUSE_ATTEMPT: *", "A service is to be paused that is not active.", _QUEUE
    SERVICE_UNPAUSE = (
        "instruct EINVALID_UNPAUSE_ATTEMPT: *",
        "A service is to be released that is not paused.",
        _QUEUE,
    )
    SERVICE_SHUTDOWN_START = (
        "instruct EINVALID_SHUTDOWN_START: *",
        "A service is to be shut down that is not active.",
        _QUEUE,
    )
    SERVICE_SHUTDOWN_CONTINUE = (
        "instruct EINVALID_SHUTDOWN_ATTEMPT: *",
        "A shutdown is to go on that is not under way.",
        _QUEUE,
    )
    SERVICE_REINITIALIZE = (
        "instruct ESHUTDOWN_IN_PROGRESS: *",
        "A service is to begin anew that is not shut down.",
        _QUEUE,
    )
    SERVICE_ACTION_UNKNOWN = (
        "instruct InvalidInput: action: * is none of *",
        "An action on the service is unknown.",
        _QUEUE,
    )
    SERVICE_MISSING = (
        "instruct InvalidInput: call: *",
        "A chain without a service, or without numbers, is told to use them.",
        _QUEUE,
    )
    NUMBER_NOT_INITIALIZED = (
        "instruct EAUTH_NUM_NOT_FOUND: *",
        "A number is to be raised that there is not.",
        _QUEUE,
    )
    NUMBER_OF_STRANGER = (
        "instruct Unauthorized: * does not own *actor*",
        "Another owner's number is to be raised.",
        _QUEUE,
    )
    TOO_MANY_TIMERS = "schedule_timer TooManyTimers: *", "An actor has as many timers as it may have."
    EXTENDED_UNKNOWN = "extend_timer UnknownTimer: *", "A timer that there is not is to be extended."
    EXTENDED_BY_STRANGER = (
        "extend_timer Unauthorized: * does not own timer *",
        "Another actor's timer is to be extended.",
    )
    EXTENDED_COLLECTED = "extend_timer AlreadyCollected: *", "A timer is to be extended that this block has collected."
    EXTENDED_INTO_PAST = (
        "extend_timer InvalidInput: expires_at: * is not above the current *",
        "A timer's expiry is to be moved to now or earlier.",
    )
    EXTENDED_EXPIRED = (
        "extend_timer InvalidInput: timer: expired at *",
        "A timer is to be extended that has expired.",
    )
    EXTENDED_BY_NO_NUMBER = "extend_timer InvalidInput: *: * is not a number within*", "An expiry is no number."
    CANCELLED_UNKNOWN = "cancel_timer UnknownTimer: *", "A timer that there is not is to be cancelled."
    CANCELLED_BY_STRANGER = (
        "cancel_timer Unauthorized: * does not own timer *",
        "Another actor's timer is to be cancelled.",
    )
    CANCELLED_COLLECTED = (
        "cancel_timer AlreadyCollected: *",
        "A timer is to be cancelled that this block has collected.",
    )
    MESSAGE_PAYLOAD_TOO_LARGE = "send PayloadTooLarge: *", "A message's payload is longer than it may be."
    MESSAGE_HANDLER_TOO_LONG = "send HandlerTooLong: *", "A message's handler has a name longer than it may be."
    MESSAGE_UNPAID = "send InvalidInput: cycles: * do not pay for a call*", "A message does not pay for its delivery."
    MESSAGE_TOO_GREEDY = "send GasLimitTooHigh: *", "A message asks for more than a block can deliver."
    MESSAGE_BEYOND_COUNT = (
        "send TooManyCalls: a fire may send * messages",
        "A fire under fifo-free sends more messages than it may.",
        _CALLS,
    )
    MESSAGE_BEYOND_CYCLES = (
        "send TooManyCalls: * cycles exceed *",
        "A fire under fifo-free sends a message with more cycles than it may have.",
        _CALLS,
    )
    MESSAGE_OF_NO_NUMBER = "send InvalidInput: *: * is not a number within*", "A message's cycles are no number."
    ADDRESS_MALFORMED = "* InvalidInput: *: * bytes where an address has *", "An address has another length."
    AMOUNT_MALFORMED = "transfer InvalidInput: *: * is not a number within*", "An amount to move is no number."
    WORK_MALFORMED = "compute InvalidInput: *: * is not a number within*", "Cycles of work are no number."
    OVERDRAWN = "transfer Revert: transfer of * exceeds balance *", "An actor moves more than it has."
    FOREIGN_STORAGE = "get Revert: own storage only", "A handler tries to read another actor's storage."
    READ_ONLY = "* Revert: read-only", "An agent tries to change something, and may go on."
    ACCOUNT_OVERDRAWN = "transaction Revert: InsufficientBalance", "An account moves more than it has."
    ACTOR_UNKNOWN = "call Revert: UnknownActor", "An actor is called that there is not."
    HANDLER_UNKNOWN = "call Revert: UnknownHandler", "A handler is called that an actor has not."
    NOT_THE_OWNER = "call Revert: not the owner", "A stranger gives an actor the order of an owner."
    PAYLOAD_UNWANTED = "call Revert: payload where none belongs", "A handler without a payload gets one."
    FIRED_BY_CALLER = "call Revert: not a timer of this actor", "A caller acts as if it were a timer."
    NOT_A_PLAYER = "call Revert: not a player", "A stranger makes a move in a game."
    ORDER_MALFORMED = "call Revert: not a *", "A payload is not the order that a handler takes."
    NOT_BEATING = "call Revert: does not beat", "A heartbeat is stopped that does not beat."
    NOT_SUBSCRIBED = "call Revert: no subscription", "A subscription is cancelled that there is not."
    NO_DEPLOYER = "instruct Unauthorized: * is no system deployer", "An account without the right instructs the system."
    INSTRUCTED_UNKNOWN = "instruct UnknownTimer: *", "An instruction names a timer that there is not."
    INSTRUCTED_INTO_PAST = (
        "instruct InvalidInput: expires_at: * is not above the current *",
        "An instruction moves an expiry to now or earlier.",
    )
    INSTRUCTED_EXPIRED = (
        "instruct InvalidInput: timer: expired at *",
        "An instruction extends a timer that has expired.",
    )
    UPDATE_KEYS_UNORDERED = (
        "instruct InvalidInput: config: keys are text, at least one of them, and ascend",
        "An update has keys out of order, of another type, or none.",
    )
    UPDATE_NOT_CANONICAL = (
        "instruct InvalidInput: config: not the canonical encoding",
        "An update is encoded otherwise.",
    )
    UPDATE_KEY_UNKNOWN = "instruct InvalidInput: *: no such key", "An update names a parameter that there is not."
    UPDATE_NOT_ABOVE_ZERO = "instruct InvalidInput: *: must be above zero", "A parameter is 0 that must not be."
    UPDATE_OUT_OF_BOUNDS = "instruct InvalidInput: *: * is not within *..*", "A parameter is beyond its bounds."
    UPDATE_NOT_ALLOWED = (
        "instruct InvalidInput: *: * must be *",
        "A parameter of an auction is beyond its bounds.",
    )
    UPDATE_OUT_OF_RANGE = "instruct InvalidInput: *: * is out of range", "A parameter of the lane is out of range."
    UPDATE_MALFORMED = (
        "instruct InvalidInput: config: *",
        "An update is no configuration, or has a value of another type.",
    )


@enum.unique
class TransactionRefusal(RefusalPoint):
    """Refusals of a leader: candidates that its block cannot hold, now or ever."""

    LEFT_OUT_NONCE = "nonce * where * comes next", "A leader leaves out a transaction whose turn it is not."
    LEFT_OUT_BALANCE = "balance * does not cover *", "A leader leaves out a transaction that its sender cannot pay."
    LEFT_OUT_OWN_COST = (
        "limits of * cycles and * cells do not cover its own",
        "A leader leaves out a transaction with too low a limit.",
    )
    LEFT_OUT_ROOM = (
        "limits exceed the * cycles and * cells left in the block",
        "A leader leaves out a transaction without room.",
    )
    LEFT_OUT_FEES = (
        "maximum fees * and * are below the basefees * and *",
        "A leader leaves out a transaction whose fees are below the basefees.",
    )
    LEFT_OUT_TIP = (
        "priority fee * exceeds the maximum *",
        "A leader leaves out a transaction whose tip is above its fee.",
    )


@enum.unique
class BlockRefusal(RefusalPoint):
    """Refusals of blocks, by the reason in the trace."""

    BLOCK_HEIGHT = "height * does not follow *", "A block's height does not follow its parent's."
    BLOCK_VERSION = "version * is not *", "A block has another version."
    BLOCK_EPOCH = "consensus epoch * is not 0", "A block is of another consensus epoch."
    BLOCK_TIME_NOT_AFTER = (
        "timestamp * is not after the parent's *",
        "A block's time is not after its parent's.",
    )
    BLOCK_SLOT = "slot * is not that of timestamp *", "A block's slot is not that of its time."
    BLOCK_STATE_ROOT = "state_root * where executing gives *", "A block claims another state root."
    BLOCK_RECEIPTS_ROOT = "receipts_root * where executing gives *", "A block claims another root of its receipts."
    BLOCK_TRANSACTION_MALFORMED = "transaction *: * of * bytes: *", "A block holds bytes that are no transaction."
    BLOCK_NONCE = "transaction *: nonce * where * comes next", "A block holds a transaction whose turn it is not."
    BLOCK_BALANCE = "transaction *: balance * does not cover *", "A block holds a transaction that nobody can pay."
    BLOCK_OWN_COST = (
        "transaction *: limits of * do not cover its own",
        "A transaction in a block has too low a limit.",
    )
    BLOCK_ROOM = "transaction *: limits exceed *", "A block holds more than it has room for."
    BLOCK_FEES = "transaction *: maximum fees * are below *", "A block holds a transaction below the basefees."
    BLOCK_TIP = "transaction *: priority fee * exceeds *", "A block holds a transaction whose tip is above its fee."
    BLOCK_SIGNATURE = (
        "transaction *: signature is not the sender's",
        "A block holds a transaction that is not signed.",
        "forged-snapshots",
    )
    BLOCK_OF_OTHER_VIEW = "view * of leader * is not that of the proposal", "A block is of another view than proposed."
    BLOCK_OF_OTHER_PARENT = "the parent is not that of the proposal", "A block has another parent than proposed."
    BLOCK_OF_OTHER_TIME = "time * is not of view *", "A block bears a time outside of its slot."


def refusal_of(what: str, error: Exception) -> CoveragePoint | None:
    """Return the coverage point of a refusal that execution meets; None for reasons that scripts and orders invent."""
    if what == "include":
        return TransactionRefusal.named(str(error))
    name = error.name if isinstance(error, Rejected) else type(error).__name__
    return CallRefusal.named(f"{what} {name}: {error}")
