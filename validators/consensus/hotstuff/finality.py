"""The proof that a block is final: headers of a chain of consecutive views, and the certificate of the last block."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Final

import msgspec

from network.types import Digest
from validators.consensus.headers import read_facts
from validators.consensus.hotstuff.certificates import find_block_certificate_fault
from validators.consensus.hotstuff.config import HotStuffConfig
from validators.consensus.hotstuff.messages import QuorumCertificate
from validators.consensus.interface import Finality, HeaderFacts
from validators.consensus.signing import Scheme

HEADER_BYTES_MAX: Final = 512
"""The longest encoded header that the proof admits."""

_Headers = Annotated[
    tuple[Annotated[bytes, msgspec.Meta(max_length=HEADER_BYTES_MAX)], ...], msgspec.Meta(min_length=2, max_length=3)
]


class Commit(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Headers of consecutive views, the final block's first: two in two-chain, three in three-chain."""

    traced_name: ClassVar[str] = "Commit"
    headers: _Headers
    certificate: QuorumCertificate

    @property
    def view(self) -> int:
        """The view of the final block; 0 in an invalid proof."""
        facts = read_facts(self.headers[0])
        return 0 if facts is None else facts.view

    @property
    def digest(self) -> Digest:
        """The digest of the final block; in an invalid proof, of no block."""
        facts = read_facts(self.headers[0])
        return b"" if facts is None else facts.digest

    @property
    def is_proved(self) -> bool:
        """Always so: the certificate is part of it."""
        return True


def read_chain(headers: Sequence[bytes], certificate: QuorumCertificate) -> list[HeaderFacts] | None:
    """Return the blocks of a chain of consecutive views whose last block is certified; None for any other headers."""
    chain = [facts for facts in map(read_facts, headers) if facts is not None]
    if len(chain) != len(headers) or not chain:
        return None
    is_linked = all(
        child.parent == parent.digest and child.view == parent.view + 1 for parent, child in pairwise(chain)
    )
    last = chain[-1]
    return chain if is_linked and (last.view, last.digest) == certificate.ref else None


def verify_commit(scheme: Scheme, finality: Finality, validators: int, config: HotStuffConfig) -> bool:
    """Whether a proof holds: a chain as long as the profile requires, and a quorum's certificate of its last block."""
    if not isinstance(finality, Commit) or len(finality.headers) != config.chain_length:
        return False
    if read_chain(finality.headers, finality.certificate) is None:
        return False
    return not find_block_certificate_fault(scheme, finality.certificate, validators)
