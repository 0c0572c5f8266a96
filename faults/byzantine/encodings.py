"""Messages with bytes nearly as in a true message: longer, deeper, or encoded in another way."""

from collections.abc import Iterable
from typing import ClassVar, Final

from faults.byzantine.adversary import Behaviour, Outgoing
from validators.execution.blocks import decode_sealed, encode_sealed
from validators.execution.errors import InvalidEncodingError
from validators.messages import REQUEST_BYTES_MAX, BlockRelay, Message, TransactionGossip

LEVELS: Final = 40
"""The depth of nested arrays: more than any message has or may have."""


class OddEncoding(Behaviour):
    """Sends a non-canonical encoding of a message before the message itself; `what` selects the form.

    With `sealed` a block has a seal although its chain seals no block. An application's transactions may have any
    encoding.
    """

    FORMS: ClassVar[tuple[str, ...]] = ("trailing", "long-form", "deep", "oversize", "inside", "sealed")

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Put odd bytes in front of a message."""
        message = outgoing.message
        if isinstance(message, bytes) or not self.is_time():
            return (outgoing,)
        form = self.fault.what or self.FORMS[self.draw(len(self.FORMS))]
        if form in ("inside", "sealed"):
            return self._inside(outgoing, form)
        if form == "oversize" and self.adversary.role_of(message) is None:
            # A block may be so long that an even longer encoding would fill the links of a run.
            return (outgoing,)
        self.note(f"{outgoing.label.kind} {form}", outgoing.to)
        return (outgoing._replace(message=_odd(form, self.adversary.codec.encode(message))), outgoing)

    def _inside(self, outgoing: Outgoing, form: str) -> Iterable[Outgoing]:
        """Send the block or the transactions of a message in another encoding before the canonical message."""
        message = outgoing.message
        if form == "sealed":
            sealed = _with_seal(message.block) if isinstance(message, BlockRelay) else b""
            if not sealed:
                return (outgoing,)
            odd: Message = BlockRelay(sealed)
        elif isinstance(message, BlockRelay):
            odd = BlockRelay(_in_long_form(message.block))
        elif isinstance(message, TransactionGossip) and not self.adversary.is_foreign:
            odd = TransactionGossip(tuple(map(_in_long_form, message.transactions)))
        else:
            return (outgoing,)
        self.note(f"{outgoing.label.kind} {form}", outgoing.to)
        # As bytes: another behaviour would decode the block, and this block cannot be decoded.
        return (outgoing._replace(message=self.adversary.codec.encode(odd)), outgoing)


def _with_seal(encoded: bytes) -> bytes:
    """Return a block with a seal; empty if it has a seal or another behaviour has made it unreadable."""
    try:
        block, seal = decode_sealed(encoded)
    except InvalidEncodingError:
        return b""
    return b"" if seal else encode_sealed(block, b"seal")


def _in_long_form(encoded: bytes) -> bytes:
    """Return the same array with its length in two bytes: msgpack, and not its shortest form."""
    return b"\xdc\x00" + bytes((encoded[0] & 0x0F,)) + encoded[1:]


def _odd(form: str, payload: bytes) -> bytes:
    """Return the odd bytes of a message, whose first byte is its number of fields and whose second byte is its tag."""
    if form == "trailing":
        return payload + b"\xc0"
    if form == "long-form":
        return _in_long_form(payload)
    if form == "deep":
        return payload[:2] + b"\x91" * LEVELS + b"\xc0"
    if form == "oversize":
        return payload[:2] + bytes(REQUEST_BYTES_MAX)
    raise ValueError(f"no form of noncanonical-encoding: {form!r}")
