"""Why a call about a timer was refused, by the names of the specification.

Each error carries the values that decided, and reverts the call that asked. No error here is a bug of the validator:
a hostile program may raise every one of them.
"""

from typing import ClassVar


class Rejected(Exception):  # noqa: N818 - the specification names its errors without a suffix, and they derive from this
    """A schedule, extend or cancel call that the rules refuse."""

    name: ClassVar[str]
    """The error's name in receipts: the name in the specification, which renaming a class leaves alone."""


class HeightNotInFuture(Rejected):
    """The due height is not strictly above the current one."""

    name = "HeightNotInFuture"

    def __init__(self, due: int, now: int) -> None:
        super().__init__(f"due height {due} must be above the current {now}")


class PayloadTooLarge(Rejected):
    """The payload exceeds its limit in bytes."""

    name = "PayloadTooLarge"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"payload of {size} bytes exceeds {limit}")


class HandlerTooLong(Rejected):
    """The handler's name exceeds its limit in UTF-8 bytes."""

    name = "HandlerTooLong"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"handler name of {size} bytes exceeds {limit}")


class TooManyTimers(Rejected):
    """The actor already has as many live timers as one actor may have."""

    name = "TooManyTimers"

    def __init__(self, live: int, limit: int) -> None:
        super().__init__(f"{live} timers are live, the cap is {limit}")


class DuplicateTimer(Rejected):
    """A live timer already has this identifier."""

    name = "DuplicateTimer"

    def __init__(self, timer_id: bytes) -> None:
        super().__init__(f"timer {timer_id.hex()} exists")


class GasLimitTooHigh(Rejected):
    """The gas limit exceeds what one fire, or the whole lane, may use."""

    name = "GasLimitTooHigh"

    def __init__(self, gas_limit: int, limit: int) -> None:
        super().__init__(f"gas limit {gas_limit} exceeds {limit} cycles")


class TtlTooLong(Rejected):
    """The expiry lies beyond the longest time to live."""

    name = "TtlTooLong"

    def __init__(self, expires_at: int, latest: int) -> None:
        super().__init__(f"expiry {expires_at} is after the latest allowed, {latest}")


class TimerRejectedBelowBasefee(Rejected):
    """The greatest fee per cycle is below the lane's price now (A-13)."""

    name = "TimerRejectedBelowBasefee"

    def __init__(self, max_fee: int, price: int) -> None:
        super().__init__(f"max fee {max_fee} per cycle is below the lane basefee {price}")


class TimerArgDeprecated(Rejected):
    """The argument `bid` was withdrawn, and the time in which it is ignored is over (A-14)."""

    name = "TimerArgDeprecated"

    def __init__(self) -> None:
        super().__init__("bid is withdrawn: state max_fee_per_cycle and max_priority_fee_per_cycle")


class BidBelowReserve(Rejected):
    """The bid is above 0 and below the reserve (Q-25)."""

    name = "BidBelowReserve"

    def __init__(self, bid: int, reserve: int) -> None:
        super().__init__(f"bid {bid} is below the reserve {reserve}")


class BidNotCovered(Rejected):
    """The payer has less than the bid that it has to lock."""

    name = "BidNotCovered"

    def __init__(self, bid: int, available: int) -> None:
        super().__init__(f"bid {bid} exceeds balance {available}")


class AgentFailed(Rejected):
    """The agent that was to bid in the call is missing, failed, used up its cycles, or answered no bid (D-12)."""

    name = "AgentFailed"

    def __init__(self, agent: bytes, reason: str) -> None:
        super().__init__(f"agent {agent.hex()}: {reason}")


class TooManyWatches(Rejected):
    """The actor has as many timers that watch as one actor may have."""

    name = "TooManyWatches"

    def __init__(self, watching: int, limit: int) -> None:
        super().__init__(f"{watching} timers watch, the cap is {limit}")


class TooManyCalls(Rejected):
    """A fire sends more messages than it may, or one with more cycles than it may have (K-39)."""

    name = "TooManyCalls"


class ReservedAddress(Rejected):
    """The address belongs to the rules, and nobody may move units there."""

    name = "ReservedAddress"

    def __init__(self, address: bytes) -> None:
        super().__init__(f"address {address.hex()} is reserved")


class AgentRequired(Rejected):
    """The call names no agent, and agents bid for every timer of this policy (B-2)."""

    name = "AgentRequired"

    def __init__(self) -> None:
        super().__init__("name the agent that bids for the timer in gba")


class InvalidInput(Rejected):
    """An argument has no meaning here; `reason` says why in a word or two."""

    name = "InvalidInput"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class Unauthorized(Rejected):
    """Only the actor that owns a timer may change it, and only a system deployer may give system instructions."""

    name = "Unauthorized"

    def __init__(self, caller: bytes, right: str) -> None:
        super().__init__(f"{caller.hex()} {right}")


class UnknownTimer(Rejected):
    """No live timer has this identifier."""

    name = "UnknownTimer"

    def __init__(self, timer_id: bytes) -> None:
        super().__init__(f"no live timer {timer_id.hex()}")


class AlreadyCollected(UnknownTimer):
    """The timer phase has this timer on its list: too late to change or cancel it in this block (Q-28)."""

    name = "AlreadyCollected"


class InsufficientBalance(Rejected):
    """A sender has less than the deposit for its entry."""

    name = "InsufficientBalance"

    def __init__(self, balance: int, deposit: int) -> None:
        super().__init__(f"balance {balance} does not hold the deposit of {deposit}")


class Aborted(Rejected):
    """An error of the queue of scheduled transactions, with a code as Move has them: category << 16 | reason."""

    code: ClassVar[int]

    def __init__(self, why: str) -> None:
        super().__init__(why)


class EUNAVAILABLE(Aborted):
    """The service is not Active."""

    name = "EUNAVAILABLE"
    code = 851971


class EINVALID_SIGNER(Aborted):  # noqa: N801 - the name of the specification
    """An entry is its sender's alone, who pays for it."""

    name = "EINVALID_SIGNER"
    code = 327681


class EINVALID_TIME(Aborted):  # noqa: N801 - the name of the specification
    """The scheduled time is not after the block's."""

    name = "EINVALID_TIME"
    code = 65538


class ELOW_GAS_UNIT_PRICE(Aborted):  # noqa: N801 - the name of the specification
    """The greatest price is too low."""

    name = "ELOW_GAS_UNIT_PRICE"
    code = 65540


class ETOO_LOW_GAS_AMOUNT(Aborted):  # noqa: N801 - the name of the specification
    """The greatest amount of gas is too low."""

    name = "ETOO_LOW_GAS_AMOUNT"
    code = 65541


class ETXN_TOO_LARGE(Aborted):  # noqa: N801 - the name of the specification
    """The encoded transaction is too long."""

    name = "ETXN_TOO_LARGE"
    code = 65542


class ECANCEL_TOO_LATE(Aborted):  # noqa: N801 - the name of the specification
    """Too little time is left before the scheduled one."""

    name = "ECANCEL_TOO_LATE"
    code = 65549


class EAUTH_TOKEN_EXPIRED(Aborted):  # noqa: N801 - the name of the specification
    """The token has expired."""

    name = "EAUTH_TOKEN_EXPIRED"
    code = 65551


class EAUTH_TOKEN_INSUFFICIENT_DURATION(Aborted):  # noqa: N801 - the name of the specification
    """The token expires before the scheduled time; its code is that of one that has."""

    name = "EAUTH_TOKEN_INSUFFICIENT_DURATION"
    code = 65551


class EAUTH_NUM_MISMATCH(Aborted):  # noqa: N801 - the name of the specification
    """The token's number is not the sender's current one."""

    name = "EAUTH_NUM_MISMATCH"
    code = 65552


class EAUTH_NUM_NOT_FOUND(Aborted):  # noqa: N801 - the name of the specification
    """The sender has no authorization number."""

    name = "EAUTH_NUM_NOT_FOUND"
    code = 196609


class EINVALID_SHUTDOWN_START(Aborted):  # noqa: N801 - the name of the specification
    """A shutdown begins with an active service."""

    name = "EINVALID_SHUTDOWN_START"
    code = 196616


class EINVALID_SHUTDOWN_ATTEMPT(Aborted):  # noqa: N801 - the name of the specification
    """A shutdown goes on that has begun and is not complete."""

    name = "EINVALID_SHUTDOWN_ATTEMPT"
    code = 196617


class ESHUTDOWN_IN_PROGRESS(Aborted):  # noqa: N801 - the name of the specification
    """A service begins anew after a complete shutdown."""

    name = "ESHUTDOWN_IN_PROGRESS"
    code = 196618


class EINVALID_PAUSE_ATTEMPT(Aborted):  # noqa: N801 - the name of the specification
    """An active service can be paused."""

    name = "EINVALID_PAUSE_ATTEMPT"
    code = 196619


class EINVALID_UNPAUSE_ATTEMPT(Aborted):  # noqa: N801 - the name of the specification
    """A paused service can be released."""

    name = "EINVALID_UNPAUSE_ATTEMPT"
    code = 196620
