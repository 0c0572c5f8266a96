"""Running a handler: whatever a program does, the result is one of four statuses and the gas used.

Invariant: no exception of a program leaves this module. Of exceptions' texts only that of Revert, which the program or
the host gives, is part of the result.
"""

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, cast

import msgspec

from network.plugin_errors import note_error
from scheduler import Rejected
from validators.actors.host import Host, Revert
from validators.actors.metering import CALL_CYCLES, Meter, OutOfGas
from validators.actors.world import Frame, World

MAX_ERROR_CHARS: Final = 128
"""A reason longer than this is cut in receipts."""


class Actor:
    """A program: a class whose named handlers take a payload and reach the chain through `self.host` alone.

    An instance lives for one call and keeps nothing; lasting data goes into the actor's storage. Only the methods named
    in `handlers` can be called from outside.
    """

    handlers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, host: Host) -> None:
        self.host = host


class Status(enum.IntEnum):
    """Outcomes of a call."""

    OK = 0
    REVERTED = 1
    """The program gave up, or a named error of the rules ended the call: its writes are discarded."""
    OUT_OF_GAS = 2
    """A limit was reached: as REVERTED, and all cycles count as used."""
    FAULT = 3
    """The program failed with an unexpected error, which is a bug in it: as REVERTED."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The end of a call. Unless the status is OK, `cells` is 0, and `events` and `answer` are empty."""

    status: Status
    error: str
    cycles: int
    cells: int
    events: tuple[msgspec.Struct, ...]
    answer: bytes = b""
    """The handler's return value, if it is bytes; most handlers return nothing."""


def call_handler(
    program: type[Actor] | None, world: World, frame: Frame, meter: Meter, *, handler: str, payload: bytes
) -> CallResult:
    """Run one handler of a program; None stands for an actor that does not exist. The caller discards writes."""
    host = Host(world, frame, meter)
    try:
        meter.use(CALL_CYCLES)
        answer = _find_handler(program, host, handler)(payload)
    except OutOfGas:
        return _failed(Status.OUT_OF_GAS, "OutOfGas", meter)
    except Revert as error:
        world.refused("call", error)
        return _failed(Status.REVERTED, str(error), meter)
    except Rejected as error:
        return _failed(Status.REVERTED, error.name, meter)
    except Exception as error:  # noqa: BLE001 - a bug must not stop a validator, and its text may differ by version
        note_error(error)
        return _failed(Status.FAULT, "", meter)
    if meter.exhausted or host.has_overstepped:
        return _failed(Status.REVERTED, "read-only", meter)
    reported = answer if isinstance(answer, bytes) else b""
    return CallResult(Status.OK, "", meter.cycles, meter.cells, tuple(host.events), reported)


def _find_handler(program: type[Actor] | None, host: Host, handler: str) -> Callable[[bytes], bytes | None]:
    if program is None:
        raise Revert("UnknownActor")
    if handler not in program.handlers:
        raise Revert("UnknownHandler")
    return cast("Callable[[bytes], bytes | None]", getattr(program(host), handler))


def _failed(status: Status, error: str, meter: Meter) -> CallResult:
    if meter.exhausted:
        status, error = Status.OUT_OF_GAS, "OutOfGas"
    # Surrogates cannot be encoded; a program's text may hold them.
    text = error[:MAX_ERROR_CHARS].encode("utf-8", "replace").decode("utf-8")
    return CallResult(status, text, meter.cycles, 0, ())


Programs = Mapping[str, type[Actor]]
"""Programs by the name under which genesis refers to them."""
