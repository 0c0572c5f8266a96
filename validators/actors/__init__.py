"""Actors: programs as Python classes, the metered host API through which they reach everything, and its prices."""

from validators.actors.agents import ABSURD_ANSWERS, ChaosAgent, FeedRiskOrder, RiskAgent, RiskOrder
from validators.actors.calls import Actor, CallResult, Programs, Status, call_handler
from validators.actors.game import GameLoop, GameOrder, GamePlayer
from validators.actors.heartbeat import Heartbeat, HeartbeatOrder
from validators.actors.host import Host, Revert
from validators.actors.liquidation_bot import LiquidationBot, PositionOrder, PriceOrder
from validators.actors.metering import Meter, OutOfGas
from validators.actors.oracle_feed import FeedOrder, OracleFeed, Submission
from validators.actors.orders import FeeTerms
from validators.actors.programs import PROGRAMS
from validators.actors.script import ScriptActor
from validators.actors.storm_maker import CancelOrder, StormMaker, StormOrder, storm_due, storm_payload
from validators.actors.subscription import Merchant, PlanOrder, Subscription
from validators.actors.world import Emitted, Frame, MessageSent, SendRequest, World

__all__ = [
    "ABSURD_ANSWERS",
    "PROGRAMS",
    "Actor",
    "CallResult",
    "CancelOrder",
    "ChaosAgent",
    "Emitted",
    "FeeTerms",
    "FeedOrder",
    "FeedRiskOrder",
    "Frame",
    "GameLoop",
    "GameOrder",
    "GamePlayer",
    "Heartbeat",
    "HeartbeatOrder",
    "Host",
    "LiquidationBot",
    "Merchant",
    "MessageSent",
    "Meter",
    "OracleFeed",
    "OutOfGas",
    "PlanOrder",
    "PositionOrder",
    "PriceOrder",
    "Programs",
    "Revert",
    "RiskAgent",
    "RiskOrder",
    "ScriptActor",
    "SendRequest",
    "Status",
    "StormMaker",
    "StormOrder",
    "Submission",
    "Subscription",
    "World",
    "call_handler",
    "storm_due",
    "storm_payload",
]
