"""Duties of consensus: acts that others wait for, each within the time that its work takes.

A duty that is not done costs time and no more, while others do theirs. So this check reads off the trace what comes to
an honest validator, and what has to follow from it:

| what comes | what has to follow |
|---|---|
| the leader's nullify, before or in its view | the view is given up, or left |
| a nullify of a view that was left, for the first time in this view or of a later one | its sender gets a certificate |
| such a nullify, of a view up to the final one | its sender gets a finalization, and at once what leads further |
| equal votes of a quorum with the own one, over all lives | their certificate is held, or a later finality |
| no certificate of a view, and it holds one all the same | each other validator is sent it |

What follows is due when the dearest pieces of work and some syncs could have been done, since a processor does its
work in turn; a view whose leader's nullify came that long before is given up as it is entered. Beside a nullify that is
repeated, the certificate that leads into its view goes out in the same instant; so does a certificate that it made, or
when the blocks of a finalization that came with it are applied.
To one peer alone it goes once for each view that the peer wants to leave, and no more often.

A message counts if it is undamaged and comes to a validator that serves, by then in the view before its own or beyond.
Replicas that the plan pauses or slows are not judged, nor those whose disks its faults touch; and with a Byzantine
validator, which may take the processor of the others with a flood, only what goes out beside a nullify.
"""

from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import ORDINALS
from checker.checks.rules.simplex_calm_views import BLOCK_COSTS, SYNCS
from checker.checks.rules.simplex_grounds import TIMED_OUT
from checker.checks.rules.simplex_lives import Duty, ValidatorLife, VoteOnWay
from checker.results import CheckResult, ExitClass
from faults.events import Crashed
from network.clock import MILLION
from network.events import Delivered, Event, Handlers, Sent, WorkFinished
from network.types import Micros, NodeId
from validators.events import BlockFinalized, CertificateHeld, Entered, Halted, Reported, StoppedVoting, Voted

VOTES: Final = {"Notarize": "notarization", "Nullify": "nullification", "Finalize": "finalization"}
"""Votes, and the certificate that a quorum of each makes."""

CERTIFICATES: Final = ("Notarization", "Nullification", "Finalization")

RESPONSE: Final = "CertificateResponse"
GIVEN: Final = (*CERTIFICATES, RESPONSE, "SnapshotOffer")
"""Messages with a certificate."""

ANY: Final = ""
"""A certificate of any kind."""

PROCESSOR: Final = "cpu"
"""The lane of a replica's processor."""

SPARE_US: Final = 200_000
"""Time for messages, signatures and answers that wait before what is due."""


class Duties(Check):
    """A validator gives up what its leader gave up, helps a peer that lags, and makes certificates of its votes."""

    name = "duties"
    exit_class: ClassVar[ExitClass] = "liveness"
    engines = ("simplex",)
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._judged = run.prompt_validators()
        self._quorum = run.validators - (run.validators - 1) // 3
        self._lives: dict[NodeId, ValidatorLife] = {}
        self._own: dict[tuple[NodeId, str, int], bytes] = {}
        self._on_way: dict[tuple[NodeId, NodeId, int], VoteOnWay] = {}
        self._certificates: dict[tuple[NodeId, NodeId, int], tuple[str, int]] = {}
        self._nullified: dict[tuple[NodeId, NodeId, int], None] = {}
        self._late: list[tuple[Micros, NodeId, Duty]] = []
        self._cost_us = 0
        self._is_timed = sum(node < run.validators for node in run.honest) == run.validators

    @property
    def handlers(self) -> Handlers:
        """Views, votes and certificates, on their way and held."""
        return {
            Entered: self.entered,
            Reported: self.reported,
            Voted: self.voted,
            CertificateHeld: self.certificate_held,
            BlockFinalized: self.block_finalized,
            Sent: self.sent,
            Delivered: self.delivered,
            Crashed: self.crashed,
            Halted: self.gone,
            StoppedVoting: self.gone,
            WorkFinished: self.worked,
        }

    def not_asked(self) -> str:
        """Return a reason where there is no other validator, or none that is judged entered a view."""
        if self.run.validators == 1:
            return "there is no other validator"
        has_begun = bool(self._lives)
        self._end_lives()
        return "" if self.tally.compared or (self._judged and not has_begun) else "no judged validator had to react"

    def entered(self, event: Event, entered: Entered) -> None:
        """Begin a view; its leader may have given it up already."""
        if event.node in self._judged:
            life = self._lives.setdefault(event.node, ValidatorLife())
            self._end_way(event.node, life)
            self._end_shown(event.node, life, event.at_us)
            life.view, life.entered_us, life.ways = entered.view, event.at_us, {}
            for view in [view for view in life.leaders_out if view < entered.view]:
                del life.leaders_out[view]
                self._do(event, life, ("leave", view))
            self._owe_leaving(event, life)

    def reported(self, event: Event, report: Reported) -> None:
        """Note that a view is given up."""
        life = self._lives.get(event.node)
        if life is not None and report.activity == TIMED_OUT:
            life.leaders_out.pop(report.view, None)
            self._do(event, life, ("leave", report.view))

    def voted(self, event: Event, vote: Voted) -> None:
        """Note an own vote; one that a new life found in its journal counts in it as well."""
        label = vote.vote.capitalize()
        self._own[event.node, label, vote.view] = vote.payload
        life = self._lives.get(event.node)
        if life is not None:
            if label == "Nullify":
                self._do(event, life, ("leave", vote.view))
            self._owe_certificate(event, life, (label, vote.view, vote.payload))

    def certificate_held(self, event: Event, held: CertificateHeld) -> None:
        """Note a certificate; finality makes all below it needless."""
        if event.node not in self._judged:
            return
        # A new life finds certificates in its journal before it enters a view: they were made, and sent, before.
        life = self._lives.setdefault(event.node, ValidatorLife())
        self._compare_made(event.node, life, event.at_us)
        life.held[held.certificate, held.view] = None
        known = {(held.certificate, held.view), (ANY, held.view), (ANY, 0)}
        if life.view and self._is_timed and not life.given.keys() & known:
            others = {node: None for node in range(self.run.validators) if node != event.node}
            life.made[held.certificate, held.view] = event.at_us, others
        self._do(event, life, (held.certificate, held.view))
        if held.certificate == "finalization" and held.view > life.final_view:
            life.final_view, life.finalizing_us = held.view, event.at_us
            for key in [key for key in life.due if key[0] in VOTES.values() and key[1] <= held.view]:
                self._do(event, life, key)
            life.signers = {key: signers for key, signers in life.signers.items() if key[1] > held.view}

    def block_finalized(self, event: Event, _finalized: BlockFinalized) -> None:
        """Let what was made beside a finalization be due now: its blocks are written first, which takes a sync more."""
        life = self._lives.get(event.node)
        if life is not None and life.finalizing_us >= 0:
            for key, (at_us, others) in life.made.items():
                life.made[key] = event.at_us if at_us == life.finalizing_us else at_us, others
            life.finalizing_us = -1

    def sent(self, event: Event, sent: Sent) -> None:
        """Follow votes, and note certificates that help."""
        node, view = event.node, sent.view or 0
        life = self._lives.get(node)
        if sent.label in VOTES:
            payload = self._own.get((node, sent.label, view))
            if payload is not None:
                message = VoteOnWay(sent.label, view, payload, sent.checksum)
                self._on_way[node, sent.destination, sent.ordinal] = message
            if life is not None and sent.label == "Nullify":
                self._repeat(event, life, sent.destination, view)
        elif sent.label in GIVEN:
            self._certificates[node, sent.destination, sent.ordinal] = sent.label, view
        if life is not None and sent.label in CERTIFICATES:
            self._count_way(event, life, sent.destination, view)
            made = life.made.get((sent.label.lower(), view))
            if made is not None and made[0] in {event.at_us, life.finalizing_us}:
                made[1].pop(sent.destination, None)
            at_us, repeated_view, peers = life.repeated
            if at_us == event.at_us and view >= repeated_view - 1:
                peers.pop(sent.destination, None)
            self._note_help(event, life, sent)

    def _note_help(self, event: Event, life: ValidatorLife, sent: Sent) -> None:
        """Note a certificate that leaves, as it may help its receiver."""
        view, peer = sent.view or 0, sent.destination
        if life.shown[0] == event.at_us and view > life.shown[1].get(peer, view):
            del life.shown[1][peer]
        if sent.label == "Finalization":
            # One that does not lead into the view in which the peer cried comes alone to nobody who is helped.
            made_us, _ = life.made.get(("finalization", view), (-2, {}))
            is_help = ("finality", peer) in life.due and made_us not in {event.at_us, life.finalizing_us}
            if is_help and view < life.helped[peer][1] - 1:
                self._end_shown(event.node, life, event.at_us)
                life.show(event.at_us, peer, view)
            self._do(event, life, ("finality", peer))
        if ("help", peer) in life.due and view >= life.helped[peer][0]:
            life.helped[peer] = life.helped[peer][0], life.view
            self._do(event, life, ("help", peer))
        elif life.cried.get(peer, life.view) < life.view:
            # Its nullify came before the view was left and was read after: that was help for this view already.
            life.helped[peer] = life.cried[peer], life.view

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a certificate, or a vote that comes to a validator that can use it."""
        if delivered.label in GIVEN:
            self._note_given(event, delivered)
            return
        # Kept: a copy may come before the message that it is one of, and does what that would have done.
        message = self._on_way.get((delivered.source, event.node, delivered.ordinal & ORDINALS))
        life = self._lives.get(event.node)
        peer = delivered.source
        if message is None or life is None or message.checksum != delivered.checksum:
            if life is not None and delivered.label == "Nullify":
                # Of a view that was left no signature is verified: it may be helped all the same, whatever its view is.
                life.cried[peer] = life.view - 1
                life.cries.setdefault(peer, {})[-event.at_us] = event.at_us
            return
        label, view, payload, _ = message
        if label == "Nullify":
            life.cried[peer] = view
            life.cries.setdefault(peer, {})[view] = event.at_us
            if view < life.view:
                self._owe_help(event, life, peer, view)
        if life.final_view < view <= life.view + 1:
            key = label, view, payload
            life.signers.setdefault(key, {})[peer] = None
            self._owe_certificate(event, life, key)
            if label == "Nullify" and view >= life.view and peer == view % self.run.validators:
                life.leaders_out.setdefault(view, event.at_us)
                self._owe_leaving(event, life)

    def crashed(self, event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._end(crashed.machine, event.at_us)

    def gone(self, event: Event, _event: Halted | StoppedVoting) -> None:
        """End a life; what follows is not judged."""
        self._end(event.node, event.at_us)
        self._judged.pop(event.node, None)

    def worked(self, _event: Event, work: WorkFinished) -> None:
        """Note the dearest piece of work: an execution, also of a block that never became final."""
        if work.lane == PROCESSOR:
            self._cost_us = max(self._cost_us, work.base_us)

    def finish(self) -> CheckResult:
        """Return the result."""
        self._end_lives()
        allowed_us = self._allowed_us()
        for late_us, node, duty in self._late if self._is_timed else ():
            if late_us > allowed_us:
                self.tally.fail(
                    f"validator {node} {duty.what}, due at {duty.since_us / MILLION:.3f} s and no later than "
                    f"{allowed_us // 1_000:,} ms after it could know",
                    validator=node,
                    at_us=duty.since_us,
                )
        return self.tally.result(f"{self.tally.compared:,} times a validator left, helped or certified as it had to")

    # What is due

    def _owe_leaving(self, event: Event, life: ValidatorLife) -> None:
        view = life.view
        is_bound = (event.node, "Finalize", view) in self._own or (event.node, "Nullify", view) in self._own
        if view in life.leaders_out and not is_bound:
            known_us = event.at_us - life.leaders_out[view]
            duty = Duty(event.at_us, f"did not give up view {view} after its leader", known_us)
            life.due.setdefault(("leave", view), duty)

    def _owe_help(self, event: Event, life: ValidatorLife, peer: NodeId, view: int) -> None:
        helped_view, in_view = life.helped.get(peer, (-1, -1))
        if ("help", peer) not in life.due and (in_view != life.view or view > helped_view):
            life.helped[peer] = view, life.view
            self._owe(event, life, ("help", peer), f"did not help validator {peer} out of view {view}")
            # A nullify that was overtaken by one of a later view is not answered.
            if max(life.cries[peer]) <= view <= life.final_view:
                what = f"did not show validator {peer}, in view {view}, that this one or a later one is final"
                self._owe(event, life, ("finality", peer), what)

    def _owe_certificate(self, event: Event, life: ValidatorLife, key: tuple[str, int, bytes]) -> None:
        label, view, payload = key
        certificate = VOTES[label], view
        signers = len(life.signers.get(key, ())) + (self._own.get((event.node, label, view)) == payload)
        if signers >= self._quorum and view > life.final_view and certificate not in life.held:
            self._owe(event, life, certificate, f"made no {VOTES[label]} of view {view} of {signers} votes")

    def _owe(self, event: Event, life: ValidatorLife, key: tuple[str, int], what: str) -> None:
        life.due.setdefault(key, Duty(event.at_us, what))

    def _do(self, event: Event, life: ValidatorLife, key: tuple[str, int]) -> None:
        duty = life.due.pop(key, None)
        if duty is not None:
            self._note(event.node, duty, event.at_us)

    def _note(self, node: NodeId, duty: Duty, now_us: Micros) -> None:
        self.tally.compared += self._is_timed
        if now_us > duty.since_us:
            # Known for long, it is late by all that time.
            self._late.append((now_us - duty.since_us + duty.known_us, node, duty))

    def _note_given(self, event: Event, delivered: Delivered) -> None:
        life = self._lives.get(event.node)
        label, view = self._certificates.get((delivered.source, event.node, delivered.ordinal & ORDINALS), ("", 0))
        if life is not None:
            # An answer has one of some kind, a snapshot one of some view; a copy is taken for any of them.
            is_plain = label in CERTIFICATES
            life.given[(label.lower(), view) if is_plain else (ANY, view if label == RESPONSE else 0)] = None

    def _compare_made(self, node: NodeId, life: ValidatorLife, now_us: Micros) -> None:
        """Compare whom the certificates of earlier instants went to."""
        for (kind, view), (at_us, others) in list(life.made.items()):
            if at_us < now_us and at_us != life.finalizing_us:
                del life.made[kind, view]
                self.tally.compared += 1
                if others:
                    self.tally.fail(
                        f"validator {node} made a {kind} of view {view} at {at_us / MILLION:.3f} s and did not send "
                        f"it to validator {next(iter(others))}",
                        validator=node,
                        view=view,
                    )

    def _repeat(self, event: Event, life: ValidatorLife, peer: NodeId, view: int) -> None:
        """Note a nullify that went to a peer before; what leads into its view has to go to the peer beside it."""
        key = event.node, peer, view
        if key in self._nullified and view > 1:
            at_us, _, peers = life.repeated
            if at_us != event.at_us:
                self._end_repeat(event.node, life)
                life.repeated = event.at_us, view, (peers := {})
            peers[peer] = None
            self.tally.compared += 1
        self._nullified[key] = None
        life.nullified_us = event.at_us

    def _end_repeat(self, node: NodeId, life: ValidatorLife) -> None:
        at_us, view, peers = life.repeated
        life.repeated = -1, 0, {}
        if peers:
            self.tally.fail(
                f"validator {node} repeated its nullify of view {view} at {at_us / MILLION:.3f} s and did not send "
                f"validator {next(iter(peers))} what leads into it",
                validator=node,
                view=view,
            )

    def _end_shown(self, node: NodeId, life: ValidatorLife, now_us: Micros) -> None:
        """Compare who was helped with a finalization in an earlier instant, and with nothing that leads further."""
        at_us, peers = life.shown
        if at_us >= now_us:
            return
        life.shown = -1, {}
        for peer, view in peers.items():
            text = f"validator {node} helped validator {peer} at {at_us / MILLION:.3f} s with the finalization of view"
            self.tally.fail(f"{text} {view}, and with nothing that leads further", validator=node, view=view)

    def _count_way(self, event: Event, life: ValidatorLife, peer: NodeId, view: int) -> None:
        """Note whom the certificate that leads into the own view goes to, but for one beside an own nullify."""
        if life.way[0] != event.at_us:
            self._end_way(event.node, life)
        if view == life.view - 1 and life.nullified_us != event.at_us:
            if not life.way[1]:
                life.way = event.at_us, []
            life.way[1].append(peer)

    def _end_way(self, node: NodeId, life: ValidatorLife) -> None:
        """Compare how often one peer alone got that certificate with the views that it wanted to leave meanwhile."""
        (_, peers), life.way = life.way, (-1, [])
        if len(peers) != 1 or not self._is_timed or self.run.validators <= 2:
            return
        (peer,) = peers
        life.ways[peer] = times = life.ways.get(peer, 0) + 1
        since_us = life.entered_us - self._allowed_us()
        cries = sum(at_us >= since_us for at_us in life.cries.get(peer, {}).values())
        self.tally.compared += 1
        if times > cries:
            text = f"validator {node} sent validator {peer} what leads into view {life.view} {times} times"
            self.tally.fail(f"{text}, which cried from {cries} views", validator=node, view=life.view)

    def _allowed_us(self) -> Micros:
        """Return the time in which what is due can be done."""
        return BLOCK_COSTS * self._cost_us + SYNCS * self.run.plan.costs.sync_us + SPARE_US

    def _end_lives(self) -> None:
        for node in list(self._lives):
            self._end(node, self.run.end.now_us)

    def _end(self, node: NodeId, now_us: Micros) -> None:
        life = self._lives.pop(node, None)
        if life is not None:
            if life.way[0] < now_us:
                self._end_way(node, life)
            self._end_shown(node, life, now_us)
            self._compare_made(node, life, now_us)
            # A crash may come between two sends of one instant, and what was to follow does not.
            if life.repeated[0] < now_us:
                self._end_repeat(node, life)
            for duty in life.due.values():
                self._note(node, duty, now_us)
