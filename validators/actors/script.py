"""The clerk: does what a script tells it, one call of the host after the other, with whatever values.

The other programs call the host as it is meant to be called. A script calls it in every way that there is: at each
limit and one beyond it, with timers of others, with addresses that are none, in a read-only call.
"""

from typing import Annotated, Final, TypeAlias, final

import msgspec

from scheduler import Rejected
from validators.actors.agents import BidContext
from validators.actors.calls import Actor
from validators.actors.host import Revert
from validators.actors.orders import NO_TERMS, FeeTerms, decode_order, put_count, require_own_timer, schedule_on_terms

STEPS_MAX: Final = 64
"""The longest script."""

FEE_PARTS: Final = 1_000
TIP_PARTS: Final = 97
"""A clerk's bid is twice the lane's price and less than so much, with a tip below so much."""


class Step(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag_field="do"):
    """One call of the host. Values are of the right type and otherwise any; times count from the present."""

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        raise NotImplementedError


@final
class Put(Step, frozen=True, tag="put"):
    """Store a value."""

    key: bytes
    value: bytes

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.put(self.key, self.value)


@final
class Copy(Step, frozen=True, tag="copy"):
    """Store what is stored under `source` under `target` too; nothing where there is nothing."""

    source: bytes
    target: bytes

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        value = clerk.host.get(self.source)
        if value is not None:
            clerk.host.put(self.target, value)


@final
class Delete(Step, frozen=True, tag="delete"):
    """Delete a value."""

    key: bytes

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.delete(self.key)


@final
class Weigh(Step, frozen=True, tag="weigh"):
    """Store the balance of an address, the actor's own by default, in eight bytes under `key`."""

    key: bytes
    address: bytes | None = None

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        put_count(clerk, self.key, clerk.host.balance(self.address))


@final
class Pay(Step, frozen=True, tag="pay"):
    """Move units from the actor to an address."""

    to: bytes
    amount: int

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.transfer(self.to, self.amount)


@final
class Tell(Step, frozen=True, tag="tell"):
    """Emit an event."""

    topic: str
    data: bytes

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.emit(self.topic, self.data)


@final
class Schedule(Step, frozen=True, tag="schedule"):
    """Schedule a call of the actor in `delay` units of time, and store its timer_id under `name`."""

    name: bytes
    delay: int
    payload: bytes
    fee_payer: bytes | None = None
    gas_limit: int | None = None
    ttl: int | None = None
    terms: FeeTerms = NO_TERMS

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        now = clerk.host.now
        timer_id = schedule_on_terms(
            clerk,
            now + self.delay,
            self.payload,
            self.terms,
            fee_payer=self.fee_payer,
            gas_limit=self.gas_limit,
            expires_at=None if self.ttl is None else now + self.ttl,
        )
        clerk.host.put(self.name, timer_id)


@final
class Extend(Step, frozen=True, tag="extend"):
    """Move the expiry of the timer stored under `name`, or with that identifier, to `delay` from now."""

    name: bytes
    delay: int

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        host = clerk.host
        host.extend_timer(host.get(self.name) or self.name, host.now + self.delay)


@final
class Cancel(Step, frozen=True, tag="cancel"):
    """Cancel the timer stored under `name`, or with that identifier."""

    name: bytes

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.cancel_timer(clerk.host.get(self.name) or self.name)


@final
class Send(Step, frozen=True, tag="send"):
    """Send a message."""

    to: bytes
    handler: str
    payload: bytes
    cycles: int

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.send(self.to, self.handler, self.payload, self.cycles)


@final
class Hand(Step, frozen=True, tag="hand"):
    """Send what is stored under `name` to another clerk, to be noted."""

    name: bytes
    to: bytes
    cycles: int

    def act(self, clerk: Actor) -> None:
        """Make the calls."""
        clerk.host.send(self.to, "note", clerk.host.get(self.name) or b"", self.cycles)


@final
class Compute(Step, frozen=True, tag="compute"):
    """Use cycles."""

    cycles: int

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        clerk.host.compute(self.cycles)


@final
class Fail(Step, frozen=True, tag="fail"):
    """Give up for a reason."""

    reason: str

    def act(self, clerk: Actor) -> None:
        """Make the call."""
        del clerk
        raise Revert(self.reason)


AnyStep: TypeAlias = (
    Put | Copy | Delete | Weigh | Pay | Tell | Schedule | Extend | Cancel | Send | Hand | Compute | Fail
)


@final
class Script(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Steps in their order, and how much goes wrong before the clerk gives up.

    With a `patience` of 0 the first refusal ends the call, with 1 refusals are told and passed over, with 2 whatever it
    is, without a word.
    """

    steps: Annotated[tuple[AnyStep, ...], msgspec.Meta(max_length=STEPS_MAX)]
    patience: Annotated[int, msgspec.Meta(ge=0, le=2)] = 0


@final
class Clerk(Actor):
    """Runs scripts: those of transactions and messages, of its timers' payloads, and one as an agent."""

    handlers = ("run", "note", "handle_timer", "get_gas_bid")

    def run(self, payload: bytes) -> None:
        """Run a script, whoever asks."""
        self._run(decode_order(payload, Script))

    def note(self, payload: bytes) -> None:
        """Remember a payload."""
        self.host.put(b"noted", payload)

    def handle_timer(self, payload: bytes) -> None:
        """Remember the payload, and run it if it is a script."""
        require_own_timer(self)
        self.host.put(b"fired", payload)
        try:
            script = decode_order(payload, Script)
        except Revert:
            return
        self._run(script)

    def get_gas_bid(self, payload: bytes) -> bytes:
        """Run the script that is stored, and bid what follows from every number that an agent is told."""
        self._run(decode_order(self.host.get(b"script") or b"", Script))
        context = decode_order(payload, BidContext)
        total = sum(msgspec.structs.astuple(context))
        fee = 2 * context.basefee_lane_timer + total % FEE_PARTS
        return msgspec.msgpack.encode([fee, total % TIP_PARTS, context.basefee_cell, 0])

    def _run(self, script: Script) -> None:
        for step in script.steps:
            try:
                step.act(self)
            except (Rejected, Revert) as refusal:
                if script.patience == 0:
                    raise
                if script.patience == 1:
                    reason = refusal.name if isinstance(refusal, Rejected) else str(refusal)
                    self.host.emit("refused", reason.encode("utf-8"))
            except Exception:
                if script.patience < 2:
                    raise
