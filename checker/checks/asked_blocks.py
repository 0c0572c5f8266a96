"""Blocks that were asked for: while none comes, the timer of the request runs out, by which it is made again.

A request that is lost, or goes to a peer without the block, costs nothing where the next one makes up for it. Without a
timer there is no next one: its replica waits for good, or until somebody sends the block unasked. So each request for a
block begins a wait, which ends by its timer, by an answer, or by the relay of a block that may be the one. A repeated
request goes to the next validator: a replica would otherwise ask a dead peer for good.

A relay is known by its checksum, and says of which view its block is; what that of the block is, executions say, be it
later. Not judged are replicas that the plan pauses, or whose clock is slow, and requests that leave as several timers
run out in one instant.
"""

from dataclasses import dataclass, field
from typing import Final

from checker.checks.context import RunContext
from checker.checks.observations import short
from checker.results import CheckTally
from network.clock import MILLION
from network.types import Micros, NodeId

REQUEST: Final = "BlockRequest"
RELAY: Final = "BlockRelay"
ANSWER: Final = "BlockResponse"

SPARE: Final = 2
"""So many times the grace and the timeout may pass: a state that is replaced sets the timer anew."""


@dataclass(slots=True)
class _Wait:
    """A request that has no answer: for what, since when and until when, and the views whose blocks came meanwhile."""

    node: NodeId
    digest: bytes
    asked_us: Micros
    due_us: Micros
    views: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Life:
    """One life of a replica.

    Attributes:
        waits: Its open waits by block.
        peers: By block, the peer that was asked last.
        elapsed_us: The last instant in which a timer for a block ran out.
        elapsed: By block, the times that the timers of this instant were set to.
    """

    waits: dict[bytes, _Wait] = field(default_factory=dict)
    peers: dict[bytes, NodeId] = field(default_factory=dict)
    elapsed_us: Micros = -1
    elapsed: dict[bytes, Micros] = field(default_factory=dict)


class AskedBlocks:
    """Follows the requests for blocks until their timers run out.

    Args:
        run: The run, with the times of its plan.
        tally: The counts of the check that this is a part of, which compares each timer for a block as it runs out.
    """

    def __init__(self, run: RunContext, tally: CheckTally) -> None:
        plan = run.plan
        self._tally = tally
        self._validators = run.validators
        self._paused = plan.paused()
        # Where both times are equal, a first request and a repeated request look alike.
        self._again_us = plan.fetch_timeout_us if plan.fetch_timeout_us != plan.fetch_grace_us else -1
        self._least_us = SPARE * (plan.fetch_grace_us + plan.fetch_timeout_us)
        self._lives: dict[NodeId, _Life] = {}
        self._slow: dict[NodeId, None] = {}
        self._relayed: dict[bytes, int] = {}
        self._views: dict[bytes, int] = {}
        self._late: list[_Wait] = []

    def begin(self, node: NodeId, at_us: Micros) -> None:
        """A life begins, or goes on from another state: what was asked for before is not followed."""
        self.end(node, at_us)
        if node not in self._paused:
            self._lives[node] = _Life()

    def end(self, node: NodeId, at_us: Micros) -> None:
        """A life ends."""
        life = self._lives.pop(node, None)
        for wait in () if life is None else life.waits.values():
            self._close(wait, at_us)

    def slow_down(self, node: NodeId) -> None:
        """A clock is slow, by which every wait takes longer."""
        self._slow[node] = None

    def elapse(self, node: NodeId, at_us: Micros, digest: bytes, asked_us: Micros) -> None:
        """A timer for a block, set to `asked_us`, runs out: that ends its wait, and may be followed by a request."""
        life = self._lives.get(node)
        if life is None:
            return
        if life.elapsed_us != at_us:
            life.elapsed.clear()
        life.elapsed_us = at_us
        life.elapsed[digest] = asked_us
        wait = life.waits.pop(digest, None)
        if wait is not None:
            self._close(wait, at_us)

    def ask(self, node: NodeId, at_us: Micros, peer: NodeId) -> None:
        """A request leaves: it is for the block whose timer has just run out."""
        life = self._lives.get(node)
        if life is not None and life.elapsed_us == at_us:
            if len(life.elapsed) == 1:
                ((digest, asked_us),) = life.elapsed.items()
                life.waits[digest] = _Wait(node, digest, at_us, at_us + self._least_us)
                if asked_us == self._again_us and digest in life.peers:
                    self._compare_peer(node, at_us, life.peers[digest], peer)
                life.peers[digest] = peer
            else:
                # Which block the request is for cannot be told, so neither who comes next.
                for digest in life.elapsed:
                    life.peers.pop(digest, None)
            life.elapsed.clear()

    def _compare_peer(self, node: NodeId, at_us: Micros, before: NodeId, peer: NodeId) -> None:
        following = (before + 1) % self._validators
        expected = following if following != node else (following + 1) % self._validators
        self._tally.compared += 1
        if peer != expected:
            text = f"replica {node} asked validator {peer} again for a block at {at_us / MILLION:.3f} s"
            self._tally.fail(f"{text}, expected validator {expected}, the next one", validator=node, at_us=at_us)

    def relay(self, checksum: bytes, view: int) -> None:
        """A block of a view is sent unasked."""
        self._relayed[checksum] = view

    def execute(self, digest: bytes, view: int) -> None:
        """Note the view of a block."""
        self._views[digest] = view

    def take(self, node: NodeId, at_us: Micros, label: str, checksum: bytes) -> None:
        """A message with blocks comes; a relay of an honest validator, undamaged, has no block of another view."""
        life = self._lives.get(node)
        if life is None or not life.waits:
            return
        view = self._relayed.get(checksum) if label == RELAY else None
        if view is None:
            for wait in life.waits.values():
                self._close(wait, at_us)
            life.waits.clear()
        else:
            for wait in life.waits.values():
                if at_us <= wait.due_us:
                    wait.views.append(view)

    def finish(self, now_us: Micros) -> None:
        """Compare what is still open, and note each wait that had to be over."""
        for node in list(self._lives):
            self.end(node, now_us)
        for wait in self._late:
            may_have_come = wait.views and self._views.get(wait.digest, wait.views[0]) in wait.views
            if wait.node not in self._slow and not may_have_come:
                asked = f"asked for block {short(wait.digest)} at {wait.asked_us / MILLION:.3f} s, which did not come"
                text = f"validator {wait.node} {asked}, and no timer ran out to ask again by {wait.due_us:,} us"
                self._tally.fail(text, validator=wait.node, at_us=wait.asked_us)

    def _close(self, wait: _Wait, at_us: Micros) -> None:
        if at_us > wait.due_us:
            self._late.append(wait)
