"""Actors: programs as Python classes, the metered host API that is all they can reach, and what it costs."""

from validators.actors.calls import Actor, CallResult, Programs, Status, call_handler
from validators.actors.host import Emitted, Frame, Host, Revert, World
from validators.actors.metering import Meter, OutOfGas
from validators.actors.programs import PROGRAMS, Heartbeat, HeartbeatOrder, StormMaker, StormOrder

__all__ = [
    "PROGRAMS",
    "Actor",
    "CallResult",
    "Emitted",
    "Frame",
    "Heartbeat",
    "HeartbeatOrder",
    "Host",
    "Meter",
    "OutOfGas",
    "Programs",
    "Revert",
    "Status",
    "StormMaker",
    "StormOrder",
    "World",
    "call_handler",
]
