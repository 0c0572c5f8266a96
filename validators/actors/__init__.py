"""Actors: programs as Python classes, the metered host API that is all they can reach, and what it costs."""

from validators.actors.calls import Actor, CallResult, Programs, Status, call_handler
from validators.actors.heartbeat import Heartbeat, HeartbeatOrder
from validators.actors.host import Emitted, Frame, Host, Revert, World
from validators.actors.liquidation_bot import LiquidationBot, PositionOrder, PriceOrder
from validators.actors.metering import Meter, OutOfGas
from validators.actors.oracle_feed import FeedOrder, OracleFeed, Submission
from validators.actors.programs import PROGRAMS
from validators.actors.storm_maker import CancelOrder, StormMaker, StormOrder, storm_payload

__all__ = [
    "PROGRAMS",
    "Actor",
    "CallResult",
    "CancelOrder",
    "Emitted",
    "FeedOrder",
    "Frame",
    "Heartbeat",
    "HeartbeatOrder",
    "Host",
    "LiquidationBot",
    "Meter",
    "OracleFeed",
    "OutOfGas",
    "PositionOrder",
    "PriceOrder",
    "Programs",
    "Revert",
    "Status",
    "StormMaker",
    "StormOrder",
    "Submission",
    "World",
    "call_handler",
    "storm_payload",
]
