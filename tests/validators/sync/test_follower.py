"""From "named by a certificate" to "executed here": which block is fetched, executed or given up next."""

from types import SimpleNamespace

from validators.sync.follower import Follower, Goal, PeerBlock, Purpose


class Chain:
    """A stand-in for the engine: blocks by name, what is executed, what is final."""

    def __init__(self):
        self.finalized = SimpleNamespace(height=0)
        self.finalized_digest = b"genesis"
        self.done = {}

    def executed(self, digest):
        return self.done.get(digest)


def block(height, parent):
    return SimpleNamespace(header=SimpleNamespace(height=height, parent=parent))


class Rig:
    """A follower that notes what it asks for."""

    def __init__(self):
        self.chain, self.log, self.faults = Chain(), [], {}
        self.follower = Follower(
            self.chain,
            execute=self.execute,
            request=lambda digest, goal: self.log.append(("fetch", digest)),
            settle=lambda goal, settled: self.log.append((goal.purpose.name, goal.digest, settled.is_ready)),
            find_fault=lambda goal, header: self.faults.get(goal.digest, ""),
        )

    def execute(self, found, digest):
        self.log.append(("execute", digest))
        self.chain.done[digest] = found
        self.follower.begin(digest)

    def end(self, digest):
        self.follower.end(digest)
        self.follower.advance()

    def add(self, digest, height, parent):
        self.follower.add_block(digest, block(height, parent))


def test_ancestors_are_executed_before_the_block_that_is_wanted():
    """One at a time, oldest first, and the goal is settled at the end."""
    rig = Rig()
    rig.add(b"a", 1, b"genesis")
    rig.add(b"b", 2, b"a")

    rig.follower.want(Goal(Purpose.CERTIFY, 2, b"b"))
    rig.end(b"a")
    rig.end(b"b")

    assert rig.log == [("execute", b"a"), ("execute", b"b"), ("CERTIFY", b"b", True)]


def test_the_first_missing_ancestor_is_what_is_fetched():
    """The walk back ends where a block is not here."""
    rig = Rig()
    rig.add(b"c", 3, b"b")

    rig.follower.want(Goal(Purpose.FINALIZE, 3, b"c"))

    assert rig.log == [("fetch", b"b")]
    assert list(rig.follower.missing()) == [b"b"]


def test_an_invalid_ancestor_settles_every_goal_above_it():
    """A block on top of an invalid one is never ready."""
    rig = Rig()
    rig.add(b"a", 1, b"genesis")
    rig.add(b"b", 2, b"a")
    rig.follower.mark_invalid(b"a", "root")

    rig.follower.want(Goal(Purpose.VERIFY, 2, b"b"))

    assert rig.log == [("VERIFY", b"b", False)]


def test_a_block_beside_the_finalized_one_is_given_up():
    """A branch that lost cannot become ready."""
    rig = Rig()
    rig.add(b"x", 2, b"loser")
    rig.chain.finalized, rig.chain.finalized_digest = SimpleNamespace(height=1), b"winner"

    rig.follower.want(Goal(Purpose.CERTIFY, 2, b"x"))

    assert rig.log == [("CERTIFY", b"x", False)]


def test_finalized_blocks_come_first_then_lower_views():
    """The order of service is fixed by purpose and view, not by who asked first."""
    rig = Rig()
    for name in (b"p", b"q", b"r"):
        rig.add(name, 1, b"genesis")
    rig.add(b"busy", 1, b"genesis")
    rig.follower.begin(b"busy")
    rig.follower.want(Goal(Purpose.VERIFY, 1, b"p"))
    rig.follower.want(Goal(Purpose.CERTIFY, 9, b"q"))
    rig.follower.want(Goal(Purpose.FINALIZE, 5, b"r"))

    rig.end(b"busy")
    rig.end(b"r")
    rig.end(b"q")

    assert [entry[1] for entry in rig.log if entry[0] == "execute"] == [b"r", b"q", b"p"]


def give(rig, peer, digest, height=99, parent=b"nowhere", length_bytes=20_000):
    return rig.follower.add_block(digest, block(height, parent), PeerBlock(peer, length_bytes))


def test_blocks_that_nobody_asked_for_are_bounded(monkeypatch):
    """A peer that has given as much as it may gives only what a goal waits for."""
    monkeypatch.setattr("validators.sync.follower.PEER_BYTES_MAX", 50_000)
    rig = Rig()
    rig.add(b"c", 3, b"b")
    rig.follower.want(Goal(Purpose.FINALIZE, 3, b"c"))

    assert [give(rig, 1, junk) for junk in (b"1", b"2", b"3")] == [True, True, False]
    assert give(rig, 1, b"b", 2, b"a")


def test_a_peer_that_gives_junk_takes_no_room_of_the_others(monkeypatch):
    """Nor of what is built here."""
    monkeypatch.setattr("validators.sync.follower.PEER_BYTES_MAX", 50_000)
    rig = Rig()
    assert [give(rig, 1, junk) for junk in (b"1", b"2", b"3")] == [True, True, False]

    assert give(rig, 2, b"a", 1, b"genesis")
    assert rig.follower.add_block(b"own", block(1, b"genesis"))


def test_small_blocks_do_not_add_up(monkeypatch):
    monkeypatch.setattr("validators.sync.follower.PEER_BYTES_MAX", 50_000)
    rig = Rig()

    assert [give(rig, 1, bytes([each]), length_bytes=1) for each in range(4)] == [True, True, True, False]


def test_what_finality_has_made_history_leaves_room(monkeypatch):
    monkeypatch.setattr("validators.sync.follower.PEER_BYTES_MAX", 50_000)
    rig = Rig()
    assert [give(rig, 1, name, 1) for name in (b"1", b"2", b"3")] == [True, True, False]

    rig.chain.finalized.height = 1
    rig.follower.prune()

    assert [give(rig, 1, name, 2) for name in (b"1", b"2", b"3")] == [True, True, False]


def test_a_block_with_an_invalid_header_is_neither_fetched_nor_executed():
    """A leader could have everybody fetch a chain of blocks without end."""
    rig = Rig()
    rig.add(b"forged", 99, b"nowhere")
    rig.faults[b"forged"] = "the parent is not that of the proposal"

    rig.follower.want(Goal(Purpose.VERIFY, 2, b"forged"))

    assert rig.log == [("VERIFY", b"forged", False)]
    assert list(rig.follower.missing()) == []


def test_a_leaders_own_block_may_be_under_way_beside_another():
    """Proposing does not wait for a fork that is being certified; both end in their order."""
    rig = Rig()
    rig.add(b"fork", 1, b"genesis")
    rig.add(b"own", 1, b"genesis")
    rig.follower.want(Goal(Purpose.CERTIFY, 1, b"fork"))
    rig.chain.done[b"own"] = rig.follower.block(b"own")
    rig.follower.begin(b"own")

    assert not rig.follower.is_ready(b"own")
    rig.end(b"fork")
    assert not rig.follower.is_ready(b"own")
    rig.end(b"own")

    assert rig.follower.is_ready(b"own")
    assert rig.log == [("execute", b"fork"), ("CERTIFY", b"fork", True)]
