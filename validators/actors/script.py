"""The program `script-actor`: carries out a script, one host call after another, with arbitrary values.

The other programs call the host as it is meant to be called. A script calls it in every possible way: at each limit and
just beyond it, with timers of other actors, with malformed addresses, in a read-only call.
"""

from collections.abc import Callable
from functools import reduce
from inspect import Parameter, signature
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeAlias

import msgspec

from scheduler import Rejected
from validators.actors.agents import decode_context
from validators.actors.calls import Actor
from validators.actors.host import Revert
from validators.actors.orders import (
    NO_TERMS,
    Count,
    FeeTerms,
    Order,
    decode_order,
    put_count,
    require_own_timer,
    schedule_on_terms,
    watch_on_terms,
)

STEPS_MAX: Final = 64
"""The longest script."""

FEE_PARTS: Final = 1_000
TIP_PARTS: Final = 97
"""A script actor bids twice the lane's price and less than `FEE_PARTS`, with a tip below `TIP_PARTS`."""


class Step(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag_field="do"):
    """A step of a script: its name, then the values for the function of that name below."""


_STEPS: Final[dict[type[msgspec.Struct], Callable[..., None]]] = {}
"""The function of each kind of step. Values have the types of its parameters and are otherwise arbitrary."""


def step(act: Callable[..., None]) -> Callable[..., None]:
    """Let scripts call a function of an actor by its name."""
    _, *parameters = signature(act).parameters.values()
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        (it.name, it.annotation) if it.default is Parameter.empty else (it.name, it.annotation, it.default)
        for it in parameters
    ]
    _STEPS[msgspec.defstruct(act.__name__, fields, bases=(Step,), tag=act.__name__, frozen=True)] = act
    return act


@step
def put(actor: Actor, key: bytes, value: bytes) -> None:
    """Store a value."""
    actor.host.put(key, value)


@step
def copy(actor: Actor, source: bytes, target: bytes, skip: Count = 0) -> None:
    """Store the value at `source`, if there is one, under `target`, without its first `skip` bytes."""
    value = actor.host.get(source)
    if value is not None:
        actor.host.put(target, value[skip:])


@step
def delete(actor: Actor, key: bytes) -> None:
    """Delete a value."""
    actor.host.delete(key)


@step
def weigh(actor: Actor, key: bytes, address: bytes | None = None) -> None:
    """Store the balance of an address, the actor's own by default, in eight bytes under `key`."""
    put_count(actor, key, actor.host.balance(address))


@step
def read(actor: "ScriptActor", key: bytes, address: bytes | None = None) -> None:
    """Add the number in the first eight bytes of a value, the actor's own by default, to the bid of an agent."""
    actor.consulted += int.from_bytes((actor.host.get(key, address) or b"")[:8], "big")


@step
def pay(actor: Actor, to: bytes, amount: int) -> None:
    """Move units from the actor to an address."""
    actor.host.transfer(to, amount)


@step
def tell(actor: Actor, topic: str, data: bytes) -> None:
    """Emit an event."""
    actor.host.emit(topic, data)


@step
def schedule(  # noqa: PLR0917 - the fields of a step, in their order
    actor: Actor,
    name: bytes,
    delay: int,
    payload: bytes,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    ttl: int | None = None,
    terms: FeeTerms = NO_TERMS,
    pass_signer: bool = True,  # noqa: FBT001, FBT002 - as above
) -> None:
    """Schedule a call of the actor in `delay` units of time, and store the timer's name under `name`."""
    now = actor.host.now
    timer_id = schedule_on_terms(
        actor,
        now + delay,
        payload,
        terms,
        fee_payer=fee_payer,
        gas_limit=gas_limit,
        expires_at=None if ttl is None else now + ttl,
        pass_signer=pass_signer,
    )
    actor.host.put(name, timer_id)


@step
def watch(  # noqa: PLR0917 - the fields of a step, in their order
    actor: Actor,
    name: bytes,
    watched: tuple[tuple[bytes, bytes | None], ...],
    payload: bytes,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    ttl: int | None = None,
    terms: FeeTerms = NO_TERMS,
) -> None:
    """Schedule a call of the actor for a change of any watched value, and store its timer_id under `name`."""
    timer_id = watch_on_terms(
        actor,
        watched,
        payload,
        terms,
        fee_payer=fee_payer,
        gas_limit=gas_limit,
        expires_at=None if ttl is None else actor.host.now + ttl,
    )
    actor.host.put(name, timer_id)


@step
def extend(actor: Actor, name: bytes, delay: int) -> None:
    """Move the expiry of the timer whose name is stored under `name`, or is `name`, to `delay` from now."""
    actor.host.extend_timer(actor.host.get(name) or name, actor.host.now + delay)


@step
def cancel(actor: Actor, name: bytes) -> None:
    """Cancel the timer whose name is stored under `name`, or is `name`."""
    actor.host.cancel_timer(actor.host.get(name) or name)


@step
def send(actor: Actor, to: bytes, handler: str, payload: bytes, cycles: int) -> None:
    """Send a message."""
    actor.host.send(to, handler, payload, cycles)


@step
def hand(actor: Actor, name: bytes, to: bytes, cycles: int) -> None:
    """Send the value stored under `name` to another script actor, which notes it."""
    actor.host.send(to, "note", actor.host.get(name) or b"", cycles)


@step
def compute(actor: Actor, cycles: int) -> None:
    """Use cycles."""
    actor.host.compute(cycles)


@step
def fail(actor: Actor, reason: str) -> None:
    """Give up for a reason."""
    del actor
    raise Revert(reason)


if TYPE_CHECKING:
    AnyStep: TypeAlias = Step
else:
    AnyStep = reduce(or_, _STEPS)


class Script(Order, frozen=True):
    """The steps in order, and how the actor treats failures.

    With a `patience` of 0 the first refusal ends the call. With 1 refusals are emitted and skipped. With 2 every
    failure is skipped without an event.
    """

    traced_name: ClassVar[str] = "Script"

    steps: Annotated[tuple[AnyStep, ...], msgspec.Meta(max_length=STEPS_MAX)]
    patience: Annotated[int, msgspec.Meta(ge=0, le=2)] = 0


class ScriptActor(Actor):
    """Runs the scripts of transactions, of messages and of its timers' payloads, and a stored script as an agent."""

    handlers = ("run", "note", "handle_timer", "get_gas_bid")
    consulted = 0
    """The sum of the numbers that the call has read."""

    def run(self, payload: bytes) -> None:
        """Run a script for any caller."""
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
        """Run the stored script, and derive a bid from every number that the agent is given or reads."""
        self._run(decode_order(self.host.get(b"script") or b"", Script))
        context = decode_context(payload)
        total = self.consulted + sum(msgspec.structs.astuple(context))
        fee = 2 * context.basefee_lane_timer + total % FEE_PARTS
        return msgspec.msgpack.encode([fee, total % TIP_PARTS, context.basefee_cell, 0])

    def _run(self, script: Script) -> None:
        for each in script.steps:
            try:
                _STEPS[type(each)](self, *msgspec.structs.astuple(each))
            except (Rejected, Revert) as refusal:
                if script.patience == 0:
                    raise
                if script.patience == 1:
                    reason = refusal.name if isinstance(refusal, Rejected) else str(refusal)
                    self.host.emit("refused", reason.encode("utf-8"))
            except Exception:
                if script.patience < 2:
                    raise
