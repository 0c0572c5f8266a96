"""Votes in the name of other validators: another signer's number over the sender's own signature."""

from collections.abc import Iterable

from faults.byzantine.adversary import Behaviour, Outgoing


class Impersonate(Behaviour):
    """Sends its vote as the vote of another validator, which a receiver refuses; the other validators take turns.

    The signature is its own: it has no other key. With Simplex and HotStuff the vote, or TIMEOUT, has another signer
    than sender. With the longest chain it announces a block of a slot of the other validator, with its own seal.
    """

    def tamper(self, outgoing: Outgoing) -> Iterable[Outgoing]:
        """Send a vote under another validator's number in the place of its own."""
        adversary = self.adversary
        if adversary.role_of(outgoing.message) != "vote" or not self.is_time():
            return (outgoing,)
        place = self.take_turn("victim", adversary.validators - 1)
        victim = place + (place >= adversary.node)
        impersonated = adversary.votes.impersonated(outgoing.message, victim)
        if impersonated is None:
            return (outgoing,)
        self.note(f"{outgoing.label.kind} of {victim}", outgoing.to)
        return (outgoing._replace(message=impersonated),)
