"""The programs that every chain has, by name."""

from types import MappingProxyType
from typing import Final

from validators.actors.agents import ChaosAgent, RiskAgent
from validators.actors.calls import Programs
from validators.actors.game import GameLoop, GamePlayer
from validators.actors.heartbeat import Heartbeat
from validators.actors.liquidation_bot import LiquidationBot
from validators.actors.oracle_feed import OracleFeed
from validators.actors.script import ScriptActor
from validators.actors.storm_maker import StormMaker
from validators.actors.subscription import Merchant, Subscription

PROGRAMS: Final[Programs] = MappingProxyType(
    {
        "heartbeat": Heartbeat,
        "storm-maker": StormMaker,
        "oracle-feed": OracleFeed,
        "liquidation-bot": LiquidationBot,
        "game-loop": GameLoop,
        "game-player": GamePlayer,
        "subscription": Subscription,
        "merchant": Merchant,
        "risk-agent": RiskAgent,
        "chaos-agent": ChaosAgent,
        "clerk": ScriptActor,
    }
)
"""Programs by the name under which genesis refers to them."""
