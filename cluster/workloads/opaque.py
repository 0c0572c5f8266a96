"""The workloads `application` and `lines`, whose transactions are opaque: an application or a file makes their bytes.

The bytes are made before the run, and a site holds them: no kind here starts a process or reads a file in a run.
"""

from binascii import unhexlify
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final

import msgspec

from checker.record.plain_files import UnsuitableFileError, read_plain
from cluster.scenario.fields import Milliseconds, Positive, means
from cluster.scenario.messages import ScenarioError
from cluster.workloads.submission import GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from network.types import MILLISECOND_US

TRANSACTIONS_MAX: Final = 100_000
"""The most transactions of one workload."""

TRANSACTION_BYTES_MAX: Final = 1024 * 1024
"""The longest transaction: a payload is as long."""

FILE_BYTES_MAX: Final = 256 * 1024 * 1024
"""The longest file of transactions."""


class OpaqueWorkload(WorkloadKind, frozen=True, kw_only=True):
    """Transactions of bytes that only the application can read."""

    # An application without transactions of its own runs without any; this is no finding.
    may_be_idle: bool = True
    start_ms: Annotated[Milliseconds, means("When the first transaction is submitted.")] = 0
    every_ms: Annotated[Positive, means("Time from one transaction to the next.")] = 200

    def genesis(self, site: Site) -> GenesisShare:
        """Return nothing: the application has a genesis of its own."""
        del site
        return GenesisShare()

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the transactions that were made before the run; none of them has to succeed."""
        for index, encoded in enumerate(site.made):
            at_us = (self.start_ms + index * self.every_ms) * MILLISECOND_US
            yield TimedTransaction(at_us, encoded, sha256(encoded).digest(), site.name, may_fail=True)


class ApplicationTransactions(OpaqueWorkload, tag="application", frozen=True, kw_only=True):
    """Transactions that the application makes, if it has the feature `transactions`; otherwise there are none."""

    count: Annotated[int, msgspec.Meta(ge=1, le=TRANSACTIONS_MAX), means("Transactions that are asked for.")]

    def volume(self, slots: int) -> Volume:
        """Return the requested number of submissions."""
        del slots
        return Volume(self.count)


class Lines(OpaqueWorkload, tag="lines", frozen=True, kw_only=True):
    """Transactions from a file: one on each line, in hexadecimal; blank lines do not count."""

    path: Annotated[str, msgspec.Meta(min_length=1), means("The file, relative to the scenario's folder.")]

    def volume(self, slots: int) -> Volume:
        """Return nothing: the file is read only for a run."""
        del slots
        return Volume()


def read_lines(path: Path) -> tuple[bytes, ...]:
    """Return the transactions of a file, one hexadecimal line each; raises ScenarioError with the line's number."""
    try:
        content = read_plain(path, FILE_BYTES_MAX)
    except UnsuitableFileError as error:
        raise ScenarioError(str(path), error.reason) from None
    except OSError as error:
        raise ScenarioError(str(path), f"cannot be read: {error.strerror}") from None
    found = [*_read(path, content)]
    if not found:
        raise ScenarioError(str(path), "has no transaction: each line is a transaction in hexadecimal")
    return tuple(found)


def _read(path: Path, content: bytes) -> Iterator[bytes]:
    lines = [(number, line.strip()) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if len(lines) > TRANSACTIONS_MAX:
        raise ScenarioError(str(path), f"has {len(lines):,} transactions, at most {TRANSACTIONS_MAX:,} are allowed")
    for number, line in lines:
        place = f"{path} line {number}"
        try:
            # Not bytes.fromhex, which allows blanks between two bytes.
            encoded = unhexlify(line)
        except ValueError:
            text = line[:40].decode(errors="replace")
            raise ScenarioError(place, f"expected whole bytes in hexadecimal, got {text!r}") from None
        if len(encoded) > TRANSACTION_BYTES_MAX:
            reason = f"the transaction has {len(encoded):,} bytes, at most {TRANSACTION_BYTES_MAX:,} are allowed"
            raise ScenarioError(place, reason)
        yield encoded
