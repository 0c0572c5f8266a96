"""Seals of blocks: verified where a block arrives, and reported to consensus together with the block.

A seal accompanies a block wherever its bytes go, but is no part of its digest. So two copies of a block may have
different seals, of which the first sound seal is kept.
"""

from network.port import Port
from network.types import NodeId
from validators.consensus.headers import read_facts
from validators.consensus.interface import BlockArrived, HeaderFacts
from validators.consensus.signing import Scheme
from validators.execution.blocks import Header, encode_header
from validators.settings import ValidatorSettings

STRAY_SEAL = "seal"
"""The reason of a refusal: a block has a seal in an engine that seals no blocks."""


class Seals:
    """Verifies the seals of the blocks that one validator receives."""

    def __init__(self, port: Port, settings: ValidatorSettings, scheme: Scheme) -> None:
        self._port = port
        self._settings = settings
        self._scheme = scheme
        self._check_seal = settings.consensus.check_seal

    def find_fault(self, header: Header, seal: bytes) -> str:
        """Return the reason to refuse a block with this seal, empty for none; verifying it takes its virtual time."""
        if self._check_seal is None:
            return STRAY_SEAL if seal else ""
        own = self._settings
        checked = self._check_seal(self._scheme, _facts_of(header), seal, own.validators, config=own.consensus_config)
        self._port.spend(checked.signatures_verified * self._settings.costs.verify_signature_us)
        return "" if checked.ok else checked.reason

    def report(self, peer: NodeId, header: Header, seal: bytes) -> None:
        """Report a sealed block to consensus, behind the work already given to it."""
        if seal:
            self._port.work(0, BlockArrived(peer, _facts_of(header), seal))


def _facts_of(header: Header) -> HeaderFacts:
    facts = read_facts(encode_header(header))
    assert facts is not None, "a header has the fields of its start"
    return facts
