"""The draws of a property, by Hypothesis: a failure shrinks to small draws, and the soak has other ones."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TypeAlias

from hypothesis import strategies as st

from cluster.differential.draws import draws_of
from network.chance import Chance

Asked: TypeAlias = Iterator[tuple[str, bool]]
"""Questions, each as the fault that it is if the answer is no, and whether it is yes."""


class Draw:
    """Returns the next draw, below a bound; 0 where there is none below it."""

    def __init__(self, draw):
        self._draw = draw
        self._digests = 0

    def __call__(self, bound):
        return self._draw(bound) if bound > 1 else 0

    def digest(self):
        """Return a digest that no other draw gives: Hypothesis likes to repeat a number."""
        self._digests += 1
        return sha256(self._digests.to_bytes(8, "big") + self(2**63).to_bytes(8, "big")).digest()


Property: TypeAlias = Callable[[Draw], Asked]


@st.composite
def drawn(draw):
    """Return draws that shrink one by one."""
    return Draw(lambda bound: draw(st.integers(0, bound - 1)))


def seeded(name):
    """Return draws of a seed: for properties with so many draws that they would not shrink."""
    return st.integers(0, 2**32).map(lambda seed: Draw(draws_of(Chance(seed), name)))
