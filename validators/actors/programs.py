"""The programs of every chain, by name, and the programs added by plug-ins."""

from types import MappingProxyType
from typing import Final

from validators.actors.agents import ChaosAgent, DefaultAgent, LiquidationAgent, RiskAgent
from validators.actors.calls import Actor, Programs
from validators.actors.game import GameLoop, GamePlayer
from validators.actors.heartbeat import Heartbeat
from validators.actors.liquidation_bot import LiquidationBot
from validators.actors.oracle_feed import OracleFeed
from validators.actors.script import ScriptActor
from validators.actors.storm_maker import StormMaker
from validators.actors.subscription import Merchant, Subscription

_PROGRAMS: Final[dict[str, type[Actor]]] = {
    "heartbeat": Heartbeat,
    "storm-maker": StormMaker,
    "oracle-feed": OracleFeed,
    "liquidation-bot": LiquidationBot,
    "game-loop": GameLoop,
    "game-player": GamePlayer,
    "subscription": Subscription,
    "merchant": Merchant,
    "default-agent": DefaultAgent,
    "risk-agent": RiskAgent,
    "liquidation-agent": LiquidationAgent,
    "chaos-agent": ChaosAgent,
    "script-actor": ScriptActor,
}

PROGRAMS: Final[Programs] = MappingProxyType(_PROGRAMS)
"""Programs by the name under which genesis refers to them."""

_PLUGINS: Final[dict[str, str]] = {}
"""The plug-in of each program that comes from a plug-in."""


def add_actor(name: str, program: type[Actor], plugin: str) -> None:
    """Add a plug-in's program; raises ValueError if the name is taken, or the object is no program.

    Genesis names programs, and only a workload of the scenario puts them there. So a program that another scenario of
    this process has loaded changes nothing.
    """
    if not (isinstance(program, type) and issubclass(program, Actor)):
        raise ValueError(f"actor {name!r} of {plugin} must be a subclass of Actor")  # noqa: TRY004 - as for a name
    if missing := [handler for handler in program.handlers if not hasattr(program, handler)]:
        raise ValueError(f"actor {name!r} of {plugin} lists handlers that it does not define: {', '.join(missing)}")
    if _PROGRAMS.setdefault(name, program) is not program:
        raise ValueError(f"actor {name!r} of {plugin} has a name taken by {_PLUGINS.get(name, 'the test bed')}")
    _PLUGINS.setdefault(name, plugin)
