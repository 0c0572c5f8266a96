"""Whether a run of the swarm got to the state to which its script leads: counted, and no expectation of the run."""

from cluster.runtime.cluster import Cluster
from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import BlockFacts
from faults.anchors.watch import AnchorWatch
from network.draw import SWARM
from network.events import Handlers
from validators.execution import Executed


class ScriptArrival:
    """Watches for the arrival of a run's script.

    Attributes:
        counts: By the script's name 1, or 0 before it has arrived; empty where the scenario begins with none.
    """

    def __init__(self, cluster: Cluster) -> None:
        awaited: dict[str, Anchor] = {}
        if cluster.scenario.name == SWARM:
            from cluster.swarm.prefixes.registry import script_of  # noqa: PLC0415 - no other scenario needs the swarm

            script = script_of(cluster.scenario, cluster.seed)
            awaited = {} if script is None else {script.name: script.arrival}
        self.counts = dict.fromkeys(awaited, 0)
        self._watch = AnchorWatch(awaited, self._come)

    @property
    def handlers(self) -> Handlers:
        """Events that the moment is read off: none without a script."""
        return self._watch.handlers

    def add(self, executed: Executed) -> None:
        """See the next final block."""
        if self._watch.awaits_blocks:
            self._watch.see_block(executed.header.height, BlockFacts.of(executed.summary, executed.events))

    def _come(self, name: str) -> None:
        self.counts[name] = 1
