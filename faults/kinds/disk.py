"""Faults of disks."""

from faults.kinds.fields import FaultBase, FileGroup, Milliseconds, NotNegative, PartsPerMillion, Positive, Validator


class DiskFaultBase(FaultBase, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A fault of one validator's disk, from when to when."""

    validator: Validator
    start_ms: Milliseconds
    stop_ms: Milliseconds


class BitRot(DiskFaultBase, tag="bit-rot", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sectors of one validator's disk go bad when they are read: one bit, from then on."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class StaleReads(DiskFaultBase, tag="stale-read", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sectors of one validator's disk read as an earlier sync left them, from then on."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class MisdirectedWrites(DiskFaultBase, tag="misdirected-write", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Writes of one validator land on synced bytes elsewhere; their own place holds zeros."""

    ppm: PartsPerMillion
    files: tuple[FileGroup, ...] = ()


class IoErrorFault(DiskFaultBase, tag="io-error", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Reads, writes and syncs of one validator fail; at the end it is restarted if it stopped over that."""

    read_ppm: PartsPerMillion = 0
    write_ppm: PartsPerMillion = 0
    sync_ppm: PartsPerMillion = 0


class DiskFull(DiskFaultBase, tag="disk-full", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One validator's disk takes ``spare_bytes`` more and no byte beyond; at the end it is restarted if it stopped."""

    spare_bytes: NotNegative = 0


class SlowDisk(DiskFaultBase, tag="slow-disk", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Each sync of one validator takes ``factor`` times as long and ``extra_ms`` on top."""

    factor: Positive = 1
    extra_ms: Milliseconds = 0


class TornWrites(FaultBase, tag="torn-writes", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Crashes of these validators leave part of what was not synced: a prefix, or a random subset of sectors."""

    validators: tuple[Validator, ...]
    start_ms: Milliseconds
    stop_ms: Milliseconds


DiskFault = BitRot | StaleReads | MisdirectedWrites | IoErrorFault | DiskFull | SlowDisk | TornWrites
