"""The timeouts of HotStuff that an adversary has heard and sent, and certificates made of them."""

from typing import Final, TypeVar

import msgspec

from network.types import NodeId
from validators.consensus.hotstuff.messages import QuorumCertificate, TimeoutCertificate, ViewTimeout
from validators.consensus.quorum import decode_signers, encode_signers, quorum_of

_VIEWS_KEPT: Final = 64

_Certificate = TypeVar("_Certificate", bound=QuorumCertificate | TimeoutCertificate)

MISSHAPES: Final = ("bitmap", "stray", "quorum", "signatures", "forged")
"""The forms of a certificate with signers or signatures that are not of a quorum."""


class Timeouts:
    """The timeouts of the latest views, by view and signer."""

    def __init__(self, validators: int) -> None:
        self._validators = validators
        self._heard: dict[int, dict[NodeId, ViewTimeout]] = {}

    def add(self, timeout: ViewTimeout) -> None:
        """Remember a timeout."""
        self._heard.setdefault(timeout.view, {})[timeout.signer] = timeout
        while len(self._heard) > _VIEWS_KEPT:
            del self._heard[next(iter(self._heard))]

    def certificate(self, view: int) -> TimeoutCertificate | None:
        """Return a certificate of all timeouts of a view, None if they are not a quorum."""
        heard = self._heard.get(view, {})
        if len(heard) < quorum_of(self._validators):
            return None
        ordered = [heard[signer] for signer in sorted(heard)]
        return TimeoutCertificate(
            view,
            encode_signers(heard, self._validators),
            tuple(each.high.view for each in ordered),
            tuple(each.signature for each in ordered),
        )

    def latest_but(self, view: int, high_view_max: int) -> TimeoutCertificate | None:
        """Return the certificate of the latest view except a given view, with no certificate above a limit."""
        for other in sorted(self._heard, reverse=True):
            found = self.certificate(other) if other != view else None
            if found is not None and found.high_view <= high_view_max:
                return found
        return None


def misshapen(certificate: _Certificate, form: str, validators: int) -> _Certificate:
    """Return a certificate with a fault in its signers or signatures; its other parts are true.

    Its bitmap is a byte too long, names a signer that does not exist, or lacks a signer of the quorum; it has a
    signature without a signer; or the last signature is another signer's.
    """
    signers, signatures = decode_signers(certificate.signers), certificate.signatures
    if form == "bitmap":
        return msgspec.structs.replace(certificate, signers=certificate.signers + b"\0")
    if form == "signatures":
        return msgspec.structs.replace(certificate, signatures=(*signatures, signatures[0]))
    if form == "forged":
        return msgspec.structs.replace(certificate, signatures=(*signatures[:-1], signatures[0]))
    count = quorum_of(validators) - 1
    if form == "quorum":
        bitmap, signatures = encode_signers(signers[:count], validators), signatures[:count]
    elif form == "stray":
        bits = int.from_bytes(certificate.signers, "little") | 1 << (8 * len(certificate.signers) - 1)
        bitmap, signatures = bits.to_bytes(len(certificate.signers), "little"), (*signatures, signatures[0])
        count = len(signatures)
    else:
        raise ValueError(f"no shape that a certificate may not have: {form!r}")
    changed = msgspec.structs.replace(certificate, signers=bitmap, signatures=signatures)
    if isinstance(changed, TimeoutCertificate):
        views = (*changed.high_views, changed.high_views[0])[:count]
        return msgspec.structs.replace(changed, high_views=views)
    return changed
