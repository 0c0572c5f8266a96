"""Cutting off a Byzantine validator: views and final blocks with and without `consensus.blocks_peers_ms`, under loss.

One of four validators tampers for 40 virtual seconds: it sends every third vote under another number, or votes for two
blocks of a view. Figures are of these seconds and the mean of several seeds: the views that validator 0 enters, and the
virtual milliseconds from one final block to the next.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from network.events import Event, read_event
from validators.events import BlockFinalized, Entered, PeerBlocked

SEEDS: Final = 3
SPAN_MS: Final = 40_000
LOSSES_PPM: Final = (0, 50_000, 200_000)
BLOCKED_MS: Final = (0, 4_000, 20_000)
LIARS: Final = (
    ("simplex", "impersonate", 3),
    ("simplex", "conflicting-votes", 1),
    ("hotstuff", "impersonate", 3),
    ("longest-chain", "impersonate", 3),
)
"""The engine, the behaviour, and once in how many votes it acts."""

Show = Callable[[str], None]


class Pace(NamedTuple):
    """The counts of a run until the end of its fault, at validator 0."""

    views: int
    blocks: int
    cuts: int


def run(show: Show = print) -> None:
    """Print a line for each engine, behaviour, loss and time for which a peer is cut off."""
    head = f"{'cut off, ms':>12}{'views':>8}{'ms a block':>12}{'cuts':>6}"
    show(f"one of four tampers for {SPAN_MS // 1_000} s, {SEEDS} seeds{'loss, %':>32}{head}")
    for engine, behaviour, every in LIARS:
        for loss_ppm in LOSSES_PPM:
            for blocked_ms in BLOCKED_MS:
                paces = list(_paces(engine, behaviour, every, loss_ppm=loss_ppm, blocked_ms=blocked_ms))
                views, blocks, cuts = (sum(each) / SEEDS for each in zip(*paces, strict=True))
                block_ms = f"{SPAN_MS / blocks:,.0f}" if blocks else "never"
                name = f"  {engine}, {behaviour}"
                show(f"{name:<48}{loss_ppm // 10_000:>20}{blocked_ms:>12,}{views:>8.0f}{block_ms:>12}{cuts:>6.0f}")


def _paces(engine: str, behaviour: str, every: int, *, loss_ppm: int, blocked_ms: int) -> Iterator[Pace]:
    fault = (
        f'faults={{it={{kind="byzantine", validator=1, behaviour="{behaviour}", every={every}, start_ms=0, '
        f"stop_ms={SPAN_MS}}}}}"
    )
    settings = (
        *(f"consensus.engine={engine}", f"consensus.blocks_peers_ms={blocked_ms}", f"network.loss_ppm={loss_ppm}"),
        *(fault, "run.until_height=1", "workload.payments.count=1"),
    )
    for seed in range(SEEDS):
        yield measure(settings, seed)


def measure(settings: tuple[str, ...], seed: int) -> Pace:
    """Return the counts of a run of `calm` with these settings."""
    cluster, views, blocks, cuts = Cluster(load_scenario("calm", settings), seed), 0, 0, 0

    def count(event: Event) -> None:
        nonlocal views, blocks, cuts
        if event.node == 0 and event.at_us < SPAN_MS * 1_000:
            views += read_event(event, Entered) is not None
            blocks += read_event(event, BlockFinalized) is not None
            cuts += read_event(event, PeerBlocked) is not None

    cluster.hooks = RunHooks(on_event=count)
    cluster.run()
    return Pace(views, blocks, cuts)


if __name__ == "__main__":
    run()
