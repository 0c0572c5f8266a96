"""The rules for the admission of timers: the rules of CIP-5, of which a policy's oracle overrides its own."""

from typing import Any, ClassVar

from checker.oracle.quotes import Fees, Quoted, Terms
from checker.oracle.records import TimerConfig
from checker.oracle.watches import Limits


class Admission:
    """The rules for new timers and new expiries in a block."""

    has_ttl: ClassVar[bool] = True
    """Whether a timer can expire."""
    can_extend: ClassVar[bool] = True
    """Whether the expiry of a timer can be moved."""
    default_agent: ClassVar[bytes | None] = None
    """The agent that a built-in program names if its order names no agent."""

    def ceiling(self, config: TimerConfig) -> int:
        """Return the greatest gas limit that a timer can be given, which is also the default."""
        return min(config.max_cycles_per_fire, config.lane_timer_cycles)

    def early_error(self, _fees: Fees, _fee_payer: bytes | None, _height: int) -> str:
        """Return the error of the arguments that this policy refuses first, or an empty string."""
        return ""

    def fill_in(
        self,
        _call: Any,  # noqa: ANN401 - the call imports this module
        _due: int,
        gas_limit: int | None,
        fees: Fees,
    ) -> tuple[int | None, Fees]:
        """Return gas limit and fees of a call, completed by the policy's agent; raises RevertedError."""
        return gas_limit, fees

    @property
    def watch_limits(self) -> Limits | None:
        """The limits of state triggers; None if the policy has no state triggers."""
        return None

    def locked(self, _fees: Fees) -> int:
        """Return the units that a new timer locks."""
        return 0

    def quote(self, _fees: Fees) -> Quoted:
        """Return the quote of a new timer, or the error that refuses it."""
        return Quoted(None)

    def insert(self, _call: Any, _asked: Any, _terms: Terms) -> bytes | None:  # noqa: ANN401
        """Admit a requested timer by the policy's own checks, and return its name; None for CIP-5's checks.

        The caller states the terms. Raises RevertedError.
        """
        return None

    def id_of(self, _call: Any, name: bytes) -> bytes:  # noqa: ANN401
        """Return the identifier of the timer that a call names; raises RevertedError."""
        return name

    def cancel(self, _call: Any, _timer_id: bytes) -> list[object] | None:  # noqa: ANN401
        """Remove a timer by the policy's own checks, and return the event; None for CIP-5's checks."""
        return None

    def call_error(self, _call: Any, _cycles: int) -> str:  # noqa: ANN401 - the call imports this module
        """Return the error of a message that a fire may not send, or an empty string."""
        return ""

    def release(self, timer: Any) -> None:  # noqa: ANN401
        """Give back the policy's holdings of a timer that governance removes."""

    def serve(self, _call: list[Any]) -> list[list[object]] | str:
        """Carry out a call on the queue of scheduled transactions, and return its events, or its error."""
        return "InvalidInput"
