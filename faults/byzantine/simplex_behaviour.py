"""The base of the behaviours that only Simplex has."""

from faults.byzantine.adversary import Behaviour
from faults.byzantine.simplex_votes import SimplexVotes


class SimplexBehaviour(Behaviour):
    """A behaviour of an adversary that votes in Simplex."""

    @property
    def votes(self) -> SimplexVotes:
        """The votes of its adversary."""
        votes = self.adversary.votes
        assert isinstance(votes, SimplexVotes), "the registry gives these behaviours to no other engine"
        return votes
