"""An adversary in an engine network, who forges, proposes, offers and asks with the keys of Byzantine validators.

What it makes up passes through the decoders of a validator: what they refuse reaches no engine.
"""

from functools import reduce
from operator import or_

import msgspec

from tests.properties.engines.crafts import CRAFTS
from tests.properties.engines.forgery import Forger
from tests.properties.engines.signatures import KnownScheme
from validators.consensus.headers import read_facts
from validators.consensus.interface import AskAgain, FloorAdopted, Started

_LATE_MESSAGES = 40
_LATE_BLOCKS = 8


class Adversary:
    """Acts against a network beside loss and delay.

    Args:
        network: The network.
    """

    def __init__(self, network):
        self._network, self._draw, self._chain = network, network.draw, network.chain
        schemes = {me: KnownScheme(me, network.validators) for me in network.byzantine}
        self._forger = Forger(schemes, network.validators, network.draw)
        self._craft = CRAFTS[network.kind.name](network.chain, self._forger, network.config, network.draw)
        self._messages = msgspec.msgpack.Decoder(reduce(or_, network.kind.messages))
        self._proofs = msgspec.msgpack.Decoder(network.kind.records.finality)
        network.sent += [(network.validators, request) for request in self._craft.requests]

    def act(self, replica):
        """Do something to a replica that has power."""
        acts = {self._show: 12, self._propose: 8, self._offer: 5, self._reseal: 4, self._show_journal: 3, self._ask: 1}
        if replica.engine is not None:
            drawn = [act for act, weight in acts.items() for _ in range(weight)]
            drawn[self._draw(len(drawn))](replica)

    def _late(self, values, count):
        """Return one of the last values."""
        return values[-1 - self._draw(min(len(values), count))]

    def _changed(self, decoder, struct):
        """Return a struct that differs in one part, signed anew or not."""
        changed = self._forger.changed(struct)
        return _read(decoder, self._forger.signed(changed) if self._draw(3) else changed)

    def _show(self, replica):
        """Show a message of late again, or a changed one in its place."""
        if not self._network.sent:
            return
        sender, message = self._late(self._network.sent, _LATE_MESSAGES)
        if self._draw(4):
            message = self._changed(self._messages, message)
        sender = getattr(message, "signer", sender) if self._draw(6) else self._draw(self._network.validators + 2)
        # A signature that was refused once is known when it comes again.
        for _ in range(2 if self._draw(3) == 0 else 1):
            self._receive(replica, sender, message)

    def _receive(self, replica, sender, message):
        """Let a message arrive, if there is one, from another replica."""
        if message is not None and sender != replica.me:
            self._network.receive(replica, sender, message)

    def _offer(self, replica):
        """Offer the finality of another replica, or a broken one, by an answer or from outside with its header."""
        network, other = self._network, self._late(self._network.replicas, len(self._network.replicas)).engine
        finality = None if other is None else other.finality
        path = [self._chain.blocks[digest] for digest in self._chain.path_to(self._late(list(self._chain.blocks), 4))]
        if path and self._draw(2):
            finality = _read(self._proofs, self._craft.prove(path))
        if finality is not None and self._draw(2):
            finality = self._changed(self._proofs, finality)
        block = None if finality is None else self._chain.blocks.get(finality.digest)
        if block is None or block.view != finality.view:
            return
        if self._draw(3) == 0:
            self._receive(replica, self._draw(network.validators), self._craft.answer(finality))
        elif replica.kind.verify_finality(replica.scheme, finality, network.validators, network.config):
            network.step(replica, FloorAdopted(finality))

    def _ask(self, replica):
        """Begin with a new application, which has no question yet."""
        replica.applications += 1
        self._network.step(replica, AskAgain())

    def _show_journal(self, replica):
        """Begin a life that nobody hears of, with a journal that has an early end and a gap, or is another's."""
        me = (replica.me + (self._draw(3) == 0)) % self._network.validators
        stranger = self._network.replica_of(me)
        stranger.floor = replica.floor if self._draw(2) else None
        for former in self._network.strangers:
            former.engine = None
        self._network.strangers.append(stranger)
        records = replica.records[: max(len(replica.records) - self._draw(8), 0)]
        gap = max(len(records) - self._draw(4), 0)
        if self._network.make(stranger, me, records[:gap] + records[gap + 1 :]):
            self._network.step(stranger, Started())

    # -- blocks --------------------------------------------------------------------------------

    def _propose(self, replica):
        """Let a leader propose on any blocks, whatever an engine would do; now and then many of one view."""
        view = max(replica.engine.position.view + (0, 0, 1, 1, 2, -1)[self._draw(6)], 1)
        leader = replica.engine.leader(view)
        for _ in range(8 if self._draw(12) == 0 else 1):
            if leader in self._forger.schemes:
                parents = [digest for digest, facts in self._chain.blocks.items() if view - 5 < facts.view < view]
                parents = parents if parents and self._draw(6) else list(self._chain.blocks)
                parent = self._policy_of(replica, parents[self._draw(len(parents))])
                self._spread(replica, self._chain.build(leader, view, parent))

    def _policy_of(self, replica, digest):
        """Return a block, or another one of its leader and view that nobody had."""
        facts = self._chain.blocks[digest]
        if facts.proposer not in self._forger.schemes or self._draw(2):
            return digest
        twin = self._chain.build(facts.proposer, facts.view, facts.parent)
        self._spread(replica, twin)
        return twin.digest

    def _spread(self, replica, facts):
        """Show a block, or one with a wrong header where nobody is bound to agree, to some."""
        if not self._network.is_bound and self._draw(4) == 0:
            changed = read_facts(self._forger.changed_header(facts.header))
            is_whole = changed and changed.parent in self._chain.blocks and changed.proposer in self._forger.schemes
            facts = self._chain.note(changed) if is_whole else facts
        if self._draw(3) == 0:
            self._chain.bad[facts.digest] = None
        message = self._craft.propose(facts)
        for peer in dict.fromkeys((*self._network.replicas, replica)):
            if peer.engine is not None and peer.me != facts.proposer and self._draw(3):
                self._receive(peer, facts.proposer, message)
                self._network.tell(peer, facts.proposer, facts.digest)

    def _reseal(self, replica):
        """Show a block of late with another seal, or another block with its seal."""
        sealed = [digest for digest, seal in self._chain.seals.items() if seal]
        if sealed:
            digest = self._late(sealed, _LATE_BLOCKS)
            facts, seal = self._chain.blocks[digest], self._chain.seals[digest]
            if self._draw(3):
                seal = self._craft.changed_seal(facts, seal)
            else:
                facts = read_facts(self._forger.changed_header(facts.header)) or facts
            self._network.show_seal(replica, self._draw(self._network.validators), facts, seal)


def _read(decoder, struct):
    """Return a struct as its receiver reads it, None where it is refused before any rule is asked."""
    try:
        return decoder.decode(msgspec.msgpack.encode(struct))
    except (msgspec.MsgspecError, OverflowError):
        return None
