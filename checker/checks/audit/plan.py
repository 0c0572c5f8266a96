"""The plan of a run as plain data: what the audit is given beside the trace."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checker.checks.audit.draws import AuditedLatency
from network.regions import one_way_us

MILLISECOND_US: Final = 1_000

Link = tuple[int, int]
"""A sender and a receiver."""

Plain = Mapping[str, Any]
"""A fault or a section as its scenario file has it, with all defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestBedPlan:
    """A scenario as far as the test bed is concerned.

    Attributes:
        seed: The run's seed.
        nodes: The number of replicas on the bus; observers are numbered after the validators.
        validators: The number of validators.
        network: The section `network`.
        faults: The faults by name, in the order of the plan.
        reaches: By name, the parts of the test bed that a fault may touch; needed for faults of plug-ins.
        observers: By number, the section of each observer.
        payload_bytes_max: A longer message is dropped.
        is_whole: Whether the run begins at its beginning, and not where an earlier process ended.
    """

    __test__ = False

    seed: int
    nodes: int
    validators: int
    network: Plain
    faults: Mapping[str, Plain]
    observers: Mapping[int, Plain]
    payload_bytes_max: int
    reaches: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_whole: bool = True

    def enabled(self) -> dict[str, Plain]:
        """Return the faults that are put to work."""
        return {name: fault for name, fault in self.faults.items() if fault["enabled"]}

    def latency(self, link: Link) -> AuditedLatency:
        """Return the latency of a link without faults: of the cluster, or between the regions of its ends."""
        regions, network = self.network["regions"], self.network
        mean_us = network["latency_ms"] * MILLISECOND_US
        if regions:
            # Observers are spread over the regions like the validators.
            here, there = (regions[node % self.validators] for node in link)
            mean_us = one_way_us(here, there)
        return AuditedLatency(network["distribution"], mean_us, network["jitter_ms"] * MILLISECOND_US)


def windows_of(fault: Plain, on_key: str, off_key: str) -> list[tuple[int, int]]:
    """Return the times, in ms, in which a fault that comes and goes is there; one window where it has no rhythm."""
    start_ms, stop_ms = fault["start_ms"], fault["stop_ms"]
    on_ms, off_ms = fault.get(on_key, 0), fault.get(off_key, 0)
    if not off_ms:
        return [(start_ms, stop_ms)]
    begins = range(start_ms, stop_ms, on_ms + off_ms)
    return [(begin, min(begin + on_ms, stop_ms)) for begin in begins]
