"""Properties of an adversary: its peers, its colluders, and the halves into which it cuts honest replicas."""

from hypothesis import given
from hypothesis import strategies as st

from faults.byzantine.adversary import Adversary
from network.chance import Chance
from validators.consensus.registry import ENGINES


@given(st.data(), st.integers(1, 9), st.integers(0, 3))
def test_an_adversary_tells_all_and_cuts_the_honest_replicas(data, validators, observers):
    """A single honest validator and the observers are halves; without observers one half stays empty."""
    byzantine = data.draw(st.lists(st.integers(0, validators - 1), min_size=1, unique=True))
    nodes = range(validators + observers)
    honest = [node for node in nodes if node not in byzantine]
    for node in byzantine:
        adversary = Adversary(
            node,
            validators=validators,
            replicas=len(nodes),
            byzantine=byzantine,
            kind=next(iter(ENGINES.values())),
            votes=None,
            chance=Chance(0),
            max_skew_ms=0,
        )
        first, second = adversary.halves
        honest_validators = [other for other in honest if other < validators]

        assert adversary.everybody() == tuple(other for other in nodes if other != node)
        assert adversary.colluders == tuple(sorted(other for other in byzantine if other != node))
        assert sorted([*first, *second]) == honest
        assert bool(second) is bool(honest_validators)
        assert bool(first) is (len(honest_validators) > 1 or observers > 0)
