"""Messages, seals and proofs that no honest validator has sent: one part of a sound one is another, signed or not.

Who has the keys of a validator can sign in its name. A certificate with the signatures of all whose keys are known is
as good as a quorum's where they are a quorum.
"""

import msgspec
from msgspec.structs import replace

from validators.consensus.headers import read_facts
from validators.consensus.hotstuff import messages as hotstuff
from validators.consensus.longest_chain import SealedHeader
from validators.consensus.longest_chain.sealing import SEAL_NAMESPACE
from validators.consensus.quorum import decode_signers, encode_signers
from validators.consensus.simplex import Finalization, Finalize, Notarization, Notarize, Nullification, Nullify
from validators.consensus.simplex.signing import vote_content

SIGNATURE_BYTES = 64

OPTIONAL = ("entry", "timeout", "final")
"""Fields that may be empty."""


CONTENTS = {
    **dict.fromkeys((Notarize, Nullify, Finalize, Notarization, Nullification, Finalization), vote_content),
    **dict.fromkeys(
        (hotstuff.BlockVote, hotstuff.QuorumCertificate),
        lambda vote: (hotstuff.VOTE_NAMESPACE, hotstuff.vote_bytes(vote.view, vote.digest)),
    ),
    hotstuff.ViewTimeout: lambda timeout: (
        hotstuff.TIMEOUT_NAMESPACE,
        hotstuff.timeout_bytes(timeout.view, timeout.high.view),
    ),
}
"""By type the namespace and the message that a vote, or each vote of a certificate, signs."""


class Forger:
    """Changes what was sent, and signs it again with the keys that it has.

    Args:
        schemes: By validator, the schemes whose keys it has.
        validators: How many validators there are.
        draw: Draws what is changed.
    """

    def __init__(self, schemes, validators, draw):
        self.schemes = schemes
        self._validators = validators
        self._draw = draw

    def _one_of(self, *values):
        return values[self._draw(len(values))]

    def changed(self, struct):
        """Return a struct that differs from one in one field, or in one of a field's fields."""
        if not struct.__struct_fields__:
            return struct
        name = self._one_of(*struct.__struct_fields__)
        is_left_out = name in OPTIONAL and self._draw(3) == 0
        return replace(struct, **{name: None if is_left_out else self._another(getattr(struct, name))})

    def _another(self, value):
        if isinstance(value, int):
            return self._one_of(value + 1, max(value - 1, 0), value + 2, max(value - 3, 0), 0, value + 64, value + 200)
        if isinstance(value, bytes):
            return self._other_bytes(value)
        if isinstance(value, tuple):
            return self._other_items(value)
        return None if value is None else self.changed(value)

    def _other_items(self, items):
        at = self._draw(len(items)) if items else 0
        if not items or self._draw(3) == 0:
            return self._one_of(items[:-1], items[::-1], (*items, *items[:1]), items[1:])
        return (*items[:at], self._another(items[at]), *items[at + 1 :])

    def _other_bytes(self, value):
        facts = None if len(value) in {32, SIGNATURE_BYTES} else read_facts(value)
        if facts is not None and self._draw(4):
            return self.changed_header(value)
        at = self._draw(max(len(value), 1))
        flipped = value[:at] + bytes([value[at] ^ 1 << self._draw(8)]) + value[at + 1 :] if value else b"\1"
        return self._one_of(flipped, flipped, flipped, value[:-1], value + b"\1", bytes(len(value)))

    def changed_header(self, header):
        """Return a header with another height, view, parent or proposer."""
        fields = msgspec.msgpack.decode(header)
        at = self._one_of(1, 1, 3, 3, 4, 5)
        fields[at] = self._another(fields[at]) if at == 4 else self._one_of(fields[at] + 1, max(fields[at] - 1, 0))
        return msgspec.msgpack.encode(fields)

    def certified(self, certificate):
        """Return a certificate by all validators whose keys are known."""
        return self.signed(replace(certificate, signers=encode_signers(self.schemes, self._validators)))

    def signed(self, struct):
        """Return a struct whose parts are signed by all signers of theirs whose keys are known."""
        parts = {name: getattr(struct, name) for name in struct.__struct_fields__}
        struct = replace(struct, **{name: self._signed_part(part) for name, part in parts.items()})
        if isinstance(struct, SealedHeader):
            facts = read_facts(struct.header)
            scheme = self.schemes.get(facts.proposer) if facts else None
            return replace(struct, seal=scheme.sign(SEAL_NAMESPACE, facts.digest)) if scheme else struct
        if hasattr(struct, "signatures"):
            return replace(struct, signatures=tuple(self._signatures(struct)))
        if hasattr(struct, "signer") and struct.signer in self.schemes:
            return replace(struct, signature=self.schemes[struct.signer].sign(*CONTENTS[type(struct)](struct)))
        return struct

    def _signed_part(self, part):
        if isinstance(part, tuple):
            return tuple(self._signed_part(each) for each in part)
        return self.signed(part) if isinstance(part, msgspec.Struct) else part

    def _signatures(self, certificate):
        """Yield the signatures of a certificate; those stay whose keys are not known."""
        signers, old = decode_signers(certificate.signers), certificate.signatures
        for at, signer in enumerate(signers):
            if signer not in self.schemes:
                yield from old[at : at + 1]
            elif isinstance(certificate, hotstuff.TimeoutCertificate):
                high_view = (*certificate.high_views, *[0] * len(signers))[at]
                yield self.schemes[signer].sign(
                    hotstuff.TIMEOUT_NAMESPACE, hotstuff.timeout_bytes(certificate.view, high_view)
                )
            else:
                yield self.schemes[signer].sign(*CONTENTS[type(certificate)](certificate))
