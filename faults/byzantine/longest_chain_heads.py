"""Headers and answers of the longest chain that each break one rule, sealed with the true key."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

import msgspec

from faults.byzantine.adversary import Behaviour, Outgoing
from faults.byzantine.longest_chain_votes import LongestChainVotes
from validators.consensus.longest_chain import Announcement, HeadResponse, SealedHeader
from validators.execution.blocks import Block, Header, decode_header, decode_sealed, encode_header, encode_sealed
from validators.execution.blocks import header_digest as digest_of
from validators.messages import BlockRelay, Message

_OF_FINALITY: Final = "final-"
"""The prefix of forms about the final block of an answer."""


class ForgeHead(Behaviour):
    """Sends a forged block or header before its own, or names a forged head; `what` selects the form, by default all.

    A block of height 0 (`height`). A header that is malformed (`header`), of slot 0 (`slot`), of another leader's slot
    (`leader`) or with its own seal for another leader's slot (`seal`), of an earlier slot than its parent's (`late`),
    or two heights above its parent (`jump`). An answer to a joining peer with a head of another leader's slot
    (`head`), or an invalid proof of its final block (`final-...`).
    """

    FORMS: ClassVar[tuple[str, ...]] = (
        *("height", "header", "slot", "leader", "seal", "late", "jump", "head"),
        *(_OF_FINALITY + each for each in LongestChainVotes.FINALITY_FORMS),
    )

    @property
    def votes(self) -> LongestChainVotes:
        """The votes of its adversary."""
        votes = self.adversary.votes
        assert isinstance(votes, LongestChainVotes), "the registry gives this behaviour to no other engine"
        return votes

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a forged message before a true message, or in place of an answer."""
        message = outgoing.message
        is_own = isinstance(message, HeadResponse) or self.votes.proposes(message) or isinstance(message, BlockRelay)
        if not is_own or not self.is_time():
            return (outgoing,)
        form = self.fault.what or self.FORMS[self.take_turn("form", len(self.FORMS))]
        forged = tuple(self._say(form, outgoing))
        # Of two answers the first to arrive counts, which may be the true answer.
        return forged if forged and isinstance(message, HeadResponse) else (*forged, outgoing)

    def _say(self, form: str, outgoing: Outgoing) -> Iterator[Outgoing]:
        forged = self._forge(form, outgoing.message)
        if forged is not None:
            self.note(f"{outgoing.label.kind} {form}", outgoing.to)
            # As bytes: another behaviour would decode its header, and a malformed header cannot be decoded.
            yield outgoing._replace(message=self.adversary.codec.encode(forged))

    def _forge(self, form: str, message: Message | bytes) -> Message | None:
        if isinstance(message, HeadResponse):
            return self._forge_answer(form, message)
        if isinstance(message, BlockRelay):
            block = decode_sealed(message.block).block
            return self._flatten(block) if form == "height" else None
        assert isinstance(message, Announcement), "it proposes"
        if form == "header":
            return Announcement(SealedHeader(b"\x91\xc0", message.block.seal))
        change = None if form == "head" else self._change(form, decode_header(message.block.header))
        return None if change is None else Announcement(self._sealed(message.block, change))

    def _flatten(self, block: Block) -> BlockRelay:
        header = msgspec.structs.replace(block.header, height=0)
        return BlockRelay(encode_sealed(Block(header, block.transactions), self.votes.seal_for(header, b"")))

    def _change(self, form: str, header: Header) -> dict[str, Any] | None:
        """Return the fields of a header on the own block that break the rule of a form; None for other forms."""
        above = {"parent": digest_of(header), "height": header.height + 1}
        view = header.view + 1
        while (self.votes.leader(view) == self.adversary.node) == (form in ("leader", "seal", "head")):
            view += 1
        before = [each for each in range(header.view, 0, -1) if self.votes.leader(each) == self.adversary.node]
        leader = self.votes.leader(view)
        changes: dict[str, dict[str, Any]] = {
            "slot": {**above, "view": 0},
            "leader": {**above, "view": view},
            "head": {**above, "view": view},
            "seal": {**above, "view": view, "proposer": self.adversary.node if leader is None else leader},
            "late": {**above, "view": before[-1] if before else 0},
            "jump": {**above, "view": view, "height": header.height + 2},
        }
        return changes.get(form)

    def _sealed(self, true: SealedHeader, change: dict[str, Any]) -> SealedHeader:
        header = msgspec.structs.replace(decode_header(true.header), **change)
        return SealedHeader(encode_header(header), self.votes.seal_for(header, b""))

    def _forge_answer(self, form: str, answer: HeadResponse) -> HeadResponse | None:
        if form == "head":
            change = self._change(form, decode_header(answer.head.header))
            assert change is not None, "a form of headers"
            change["proposer"] = self.adversary.node
            return HeadResponse(self._sealed(answer.head, change), answer.final)
        if not form.startswith(_OF_FINALITY) or answer.final is None:
            return None
        return HeadResponse(answer.head, self.votes.broken_finality(form.removeprefix(_OF_FINALITY), answer.final))
