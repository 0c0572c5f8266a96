"""The links between nodes, as a networkx graph; for start-up and reports only.

The graph is directed: a link has its own latency and losses in each direction. The bus copies it into plain dicts, so
that networkx (slow, and unordered where it suits it) is on no hot path. It is imported where a graph is made: half the
commands make none, and it is a tenth of every start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from network.latency import Latency
from network.queues import UplinkClass
from network.types import Micros, NodeId

if TYPE_CHECKING:
    import networkx as nx

Link: TypeAlias = tuple[NodeId, NodeId]

MILLION: Final = 1_000_000


class TopologyError(ValueError):
    """The description fits no set of nodes and links."""


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """The effect of one direction of a link on messages.

    Attributes:
        latency: how long a message takes.
        loss_ppm: how many of a million messages are lost.
        reorder_ppm: how many of a million are held back, so that later messages overtake them.
        reorder_extra_us: how long they are held back, beyond their latency.
        is_fifo: whether messages arrive in the order of their sending: a late message delays all later messages.
    """

    latency: Latency
    loss_ppm: int = 0
    reorder_ppm: int = 0
    reorder_extra_us: Micros = 0
    is_fifo: bool = False

    def __post_init__(self) -> None:
        check_rates(self.loss_ppm, self.reorder_ppm, self.reorder_extra_us)


def check_rates(loss_ppm: int, reorder_ppm: int, reorder_extra_us: Micros) -> None:
    """Refuse rates outside 0..1,000,000 and negative delays.

    Raises:
        TopologyError: a value is out of range.
    """
    if not (0 <= loss_ppm <= MILLION and 0 <= reorder_ppm <= MILLION and reorder_extra_us >= 0):
        raise TopologyError(
            f"rates must lie in 0..{MILLION} and delays must not be negative; "
            f"got loss_ppm={loss_ppm}, reorder_ppm={reorder_ppm}, reorder_extra_us={reorder_extra_us}"
        )


def build_topology(
    nodes: int,
    default: Latency | LinkSpec,
    overrides: Mapping[Link, LinkSpec] | None = None,
    *,
    uplink: Sequence[UplinkClass] = (),
    twins: Mapping[NodeId, NodeId] = MappingProxyType({}),
) -> "nx.DiGraph[NodeId]":
    """Link each of `nodes` nodes (ids from 0) to every other; the edge attribute "link" is a `LinkSpec`.

    The graph's attribute "uplink" has the classes of every node's uplink.

    Args:
        nodes: the number of nodes, at least 1.
        default: the latency of a lossless link, or a whole link.
        overrides: replaces the link of a direction, by (source, destination).
        uplink: the classes of the line that each node's links share; none: no such line.
        twins: nodes that send and receive under the number of another node, their identity; the node attribute
            "identity" has it. The machines of one identity have no link.

    Raises:
        TopologyError: there are no nodes, or an override names a link that does not exist.
    """
    import networkx as nx  # noqa: PLC0415 - see above

    if nodes < 1:
        raise TopologyError(f"a topology needs at least 1 node; got {nodes}")
    spec = LinkSpec(default) if isinstance(default, Latency) else default
    graph: nx.DiGraph[NodeId] = nx.DiGraph(uplink=tuple(uplink))
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from((s, d, {"link": spec}) for s in range(nodes) for d in range(nodes) if s != d)
    for (source, destination), link in sorted((overrides or {}).items(), key=lambda item: item[0]):
        if not graph.has_edge(source, destination):
            raise TopologyError(f"no link {source}->{destination} among {nodes} nodes")
        graph.edges[source, destination]["link"] = link
    for node, identity in twins.items():
        graph.nodes[node]["identity"] = identity
        graph.remove_edges_from([(node, identity), (identity, node)])
    return graph
