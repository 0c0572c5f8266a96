"""Faults of validators' disks: what each kind does to the medium, when it begins and when it ends."""

from faults.injection.power import Power
from faults.kinds import named_validators
from faults.kinds.disk import (
    BitRot,
    DiskFault,
    DiskFull,
    IoErrorFault,
    MisdirectedWrites,
    SlowDisk,
    StaleReads,
    TornWrites,
)
from validators import storage

_MILLISECOND_US = 1_000

_OnMedium = BitRot | StaleReads | MisdirectedWrites | IoErrorFault | DiskFull | TornWrites


class DiskFaults:
    """Lets faults of disks begin and end, and counts what they did."""

    def __init__(self, power: Power) -> None:
        self._power = power
        self._slowed: dict[str, int] = {}

    def begin(self, name: str, fault: DiskFault) -> None:
        """Let a fault begin."""
        if isinstance(fault, SlowDisk):
            self._power.slow_disk(fault.validator, fault.factor, fault.extra_ms * _MILLISECOND_US)
            return
        for node in named_validators(fault):
            disk = self._power.disk(node)
            disk.medium.impose(name, _condition(fault, disk.used_bytes))

    def end(self, name: str, fault: DiskFault) -> None:
        """Let a fault end; a validator that stopped over its disk meanwhile is restarted by its operator."""
        if isinstance(fault, SlowDisk):
            self._slowed[name] = self._power.speed_up_disk(fault.validator)
            return
        for node in named_validators(fault):
            self._power.disk(node).medium.lift(name)
            if isinstance(fault, IoErrorFault | DiskFull):
                self._power.revive(node)

    def count_at(self, name: str, fault: DiskFault, node: int) -> int:
        """Return how often a fault that has begun did anything to one of the validators that it names."""
        if isinstance(fault, SlowDisk):
            return self._slowed.get(name, self._power.slowed_disk(node))
        return self._power.disk(node).medium.touched(name)

    def count(self, name: str, fault: DiskFault) -> int:
        """Return how often a fault did anything."""
        if isinstance(fault, SlowDisk):
            return self._slowed.get(name, 0)
        return sum(self._power.disk(node).medium.touched(name) for node in named_validators(fault))


def _condition(fault: _OnMedium, used_bytes: int) -> storage.Condition:
    match fault:
        case BitRot():
            return storage.BitRot(fault.ppm, fault.files)
        case StaleReads():
            return storage.StaleRead(fault.ppm, fault.files)
        case MisdirectedWrites():
            return storage.MisdirectedWrite(fault.ppm, fault.files)
        case IoErrorFault():
            return storage.IoErrors(fault.read_ppm, fault.write_ppm, fault.sync_ppm)
        case DiskFull():
            return storage.FullDisk(used_bytes + fault.spare_bytes)
        case TornWrites():
            return storage.TornWrites()
