"""The plan of a run as its checks know it: when and where each fault is active, and the limits that were set.

It is plain data of the scenario. A check reads from it when no fault was active, and how long an act may take.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from checker.applications import ONE_BUILD, Builds
from validators.costs import Costs


class PlannedFault(NamedTuple):
    """An enabled fault: its name, its time, and the replicas that it names; without names it may hit all replicas.

    `stop_us` is the time at which all its effects are over, in the chain's time too. `pauses` says whether it holds
    back the events of its replicas, `slows` whether their work takes longer.
    """

    name: str
    start_us: int
    stop_us: int
    nodes: tuple[int, ...] = ()
    pauses: bool = False
    slows: bool = False


class PlannedRun(NamedTuple):
    """The plan of a run.

    Attributes:
        faults: The enabled faults.
        costs: The virtual time that work takes, and the limits on answers.
        block_interval_us: Leaders pace their blocks at this interval.
        leader_timeout_us: The time for which a view waits for its leader's proposal.
        certification_timeout_us: The time for which a view waits for a certified proposal.
        timeout_retry_us: The time after which an abandoned view is abandoned again.
        fetch_grace_us: The time before the first request for a block.
        fetch_timeout_us: The time in which a peer has to answer.
        regossip_us: The time after which pooled transactions are offered again.
        skip_timeout_us: No replica waits for a leader that was silent for this time.
        view_timeout_max_us: The longest wait of a view where waits double; 0 where they do not.
        slot_us: The length of a slot where views go by the clock; 0 where they do not.
        lottery_key: The key of the lottery that names the leaders, None where validators take turns.
        empty_slot_share_ppm: The slots of the lottery without a leader, in a million.
        snapshot_chunk_bytes: The size at which a piece of a snapshot closes, at the replica with the longest pieces.
        snapshot_gap_blocks: A validator offers no snapshot that is this many blocks older than its final block.
        snapshot_gaps: By replica, the distance in blocks from which it asks for a snapshot.
        blocks_peers_us: The time for which a replica cuts off a peer that broke a rule; 0 for never.
        latency_max_us: The longest time that a message is under way without a fault.
        is_lossy: Whether messages are lost or late without a fault.
        builds: The builds of the outside application.
        no_view_ends: Why no view can end even without a fault, or empty.
    """

    faults: Sequence[PlannedFault] = ()
    costs: Costs = Costs()
    block_interval_us: int = 0
    leader_timeout_us: int = 0
    certification_timeout_us: int = 0
    timeout_retry_us: int = 1
    fetch_grace_us: int = 0
    fetch_timeout_us: int = 1
    regossip_us: int = 1
    skip_timeout_us: int = 1
    view_timeout_max_us: int = 0
    slot_us: int = 0
    lottery_key: int | None = None
    empty_slot_share_ppm: int = 0
    snapshot_chunk_bytes: int = 0
    snapshot_gap_blocks: int = 1
    snapshot_gaps: tuple[int, ...] = ()
    blocks_peers_us: int = 0
    latency_max_us: int = 0
    is_lossy: bool = False
    builds: Builds = ONE_BUILD
    no_view_ends: str = ""

    def paused(self) -> dict[int, None]:
        """Return the replicas whose events are held back at any time."""
        return {node: None for fault in self.faults if fault.pauses for node in fault.nodes}

    def hindered(self) -> dict[int, None]:
        """Return the replicas that are paused, or whose work takes longer, at any time."""
        return {node: None for fault in self.faults if fault.pauses or fault.slows for node in fault.nodes}


NOT_PLANNED: Final = PlannedRun()
"""A run without faults, for the test of a check that asks for no plan."""
