"""The Merkle mountain range: published roots, and its shape."""

from hashlib import sha256

import pytest

from checker.record.root import PROJECT_ROOT
from validators.state.mmr import fold_root
from validators.state.roots import mmr_root

VECTORS = (PROJECT_ROOT / "tests" / "vectors" / "qmdb.txt").read_text()
AGGREGATE = "4078ce1f5e242f8edb1d41575d51e166af620404036124f8094fc74d4b401047"


def published_roots() -> list[str]:
    """The 200 roots of generation 3, for 0 to 199 leaves."""
    body = VECTORS.split("[MMR_ROOT_GEN3]", 1)[1].split("\n\n", 1)[0]
    return [line.split()[1] for line in body.splitlines() if line]


def elements(count: int) -> list[bytes]:
    return [sha256(i.to_bytes(8, "big")).digest() for i in range(count)]


def digest(*parts: bytes) -> bytes:
    return sha256(b"".join(parts)).digest()


def test_every_published_root_is_reproduced():
    """Lists of 0 to 199 elements, one published root each."""
    roots = published_roots()

    assert len(roots) == 200
    assert roots == [mmr_root(elements(count)).hex() for count in range(200)]


def test_the_published_roots_aggregate_to_the_published_hash():
    """The aggregate is the conformance value of generation 3."""
    roots = [mmr_root(elements(count)) for count in range(200)]

    assert sha256(b"".join(len(root).to_bytes(8, "little") + root for root in roots)).hexdigest() == AGGREGATE


def test_three_leaves_are_hashed_with_their_positions():
    """Leaves at 0, 1 and 3, their parent at 2, two peaks."""
    place = [position.to_bytes(8, "big") for position in range(4)]
    left = digest(place[2], digest(place[0], b"a"), digest(place[1], b"b"))
    right = digest(place[3], b"c")

    assert digest((3).to_bytes(8, "big"), digest(left, right)) == mmr_root([b"a", b"b", b"c"])


@pytest.mark.parametrize(
    ("inactive", "fold"),
    [
        (0, lambda a, b, c: digest(a, digest(b, c))),
        (1, lambda a, b, c: digest(a, digest(b, c))),
        (2, lambda a, b, c: digest(digest(a, b), c)),
        (3, lambda a, b, c: digest(digest(a, b), c)),
    ],
)
def test_inactive_peaks_fold_forward_and_are_counted_in_the_root(inactive, fold):
    """The oldest peaks become one, the rest folds from the newest; a count of zero is not hashed."""
    peaks = elements(3)
    count = inactive.to_bytes(8, "big") if inactive else b""

    assert digest((7).to_bytes(8, "big"), count, fold(*peaks)) == fold_root(peaks, 7, inactive)
