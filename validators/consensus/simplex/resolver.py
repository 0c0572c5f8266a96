"""Certificates on demand: asking peers for a missing certificate, answering peers, and helping peers that lag.

One request is under way at a time, for the first gap that blocks this validator. Peers are asked in turn, starting with
the likeliest holder, again and again. So an unavailable first peer delays the repair but never stops it. An answer that
does not help is no fault; the timer moves on to the next peer.
"""

from typing import Final

from network.types import Micros, NodeId
from validators.consensus.interface import CancelTimer, Effect, Send, SetTimer
from validators.consensus.simplex.messages import Certificate, CertificateRequest, CertificateResponse
from validators.consensus.simplex.rounds import Certified
from validators.consensus.simplex.views import Views

FETCH_TIMER: Final = "fetch"
"""The asked peer has had its time to answer."""


class Resolver:
    """The request that is under way, if any."""

    def __init__(self, *, me: NodeId, validators: int, fetch_timeout_us: Micros) -> None:
        self._me = me
        self._validators = validators
        self._fetch_timeout_us = fetch_timeout_us
        self._target: int | None = None
        self._peers: list[NodeId] = []
        self._attempt = 0
        self.requests = 0

    @property
    def target(self) -> int | None:
        """The view whose certificate is requested."""
        return self._target

    def aim(self, view: int | None, first_peer: NodeId) -> list[Effect]:
        """Request a certificate of `view`, or stop requesting; a request for the same view continues unchanged."""
        # The same gap is found in every step until it closes; a request in each step would flood the peers.
        if view == self._target:
            return []
        effects: list[Effect] = []
        if self._target is not None:
            effects.append(CancelTimer(FETCH_TIMER, self._target))
        self._target = view
        self._attempt = 0
        self._peers = self._in_turn(first_peer)
        return effects + self._request()

    def retry(self, view: int) -> list[Effect]:
        """Ask the next peer, because the asked peer has not helped in time."""
        if view != self._target:
            return []
        self._attempt += 1
        return self._request()

    def _request(self) -> list[Effect]:
        if self._target is None or not self._peers:
            return []
        self.requests += 1
        # Again and again: the certificate may be assembled only after the first round.
        peer = self._peers[self._attempt % len(self._peers)]
        return [
            Send(peer, CertificateRequest(self._target)),
            SetTimer(FETCH_TIMER, self._target, self._fetch_timeout_us),
        ]

    def _in_turn(self, first_peer: NodeId) -> list[NodeId]:
        # Starting with the leader, the likeliest holder, and always in the same order.
        peers = [(first_peer + step) % self._validators for step in range(self._validators)]
        return [peer for peer in peers if peer != self._me]


class Helper:
    """Remembers the helped peers: one answer for each of our views, and another each time the peer got further."""

    def __init__(self) -> None:
        self._helped: dict[NodeId, tuple[int, int]] = {}

    def __len__(self) -> int:
        """Return the number of validators that were helped."""
        return len(self._helped)

    def is_due(self, peer: NodeId, stuck_view: int, views: Views) -> bool:
        """Whether `peer`, stuck in a view that we have left, still needs the certificates that lead out of it."""
        helped_view, our_view = self._helped.get(peer, (-1, -1))
        # Once for each view of ours or step of the peer's: a request costs its sender nothing and us certificates.
        return stuck_view < views.current and (our_view != views.current or stuck_view > helped_view)

    def help(self, peer: NodeId, stuck_view: int, views: Views) -> list[Effect]:
        """Send the peer the certificates that bring it up to our view, and note that they were sent."""
        self._helped[peer] = (stuck_view, views.current)
        certificates: list[Certificate] = []
        if views.finalization is not None and stuck_view <= views.finalized_view:
            certificates.append(views.finalization)
        entry = views.entry_certificate()
        if entry is not None and entry not in certificates:
            certificates.append(entry)
        return [Send(peer, certificate) for certificate in certificates]


def serve(views: Views, peer: NodeId, view: int) -> list[Effect]:
    """Answer a peer's request for `view`."""
    return [Send(peer, CertificateResponse(view, certificate)) for certificate in _find_held(views, view)]


def _find_held(views: Views, view: int) -> list[Certificate]:
    """Return the certificates that answer a request for `view`, the best first (docs/simplex.md).

    A view may be both certified and nullified here. Then both certificates are sent, because the peer may need either:
    a validator that needs the nullification could otherwise ask everybody in vain. An uncertified notarization is never
    sent. Where nothing of the view is known, the floor may still help.
    """
    floor: list[Certificate] = [views.finalization] if views.finalization is not None else []
    if view <= views.finalized_view:
        return floor
    found = views.get(view)
    if found is None:
        return floor
    held: list[Certificate] = []
    if found.notarization is not None and found.certified is Certified.PASSED:
        held.append(found.notarization)
    if found.nullification is not None:
        held.append(found.nullification)
    return held or floor
