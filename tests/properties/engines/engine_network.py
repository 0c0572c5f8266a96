"""A network of engines of one kind without validators around them: whatever may happen to them is drawn.

Around each engine stands the least that `validators/` owes it: appends are durable after a sync, messages and seals
wait for that, a life begins with a durable journal, and blocks are here before they are judged. The calls of every
engine are recorded.
"""

import heapq
from functools import partial

from checker.record.engine_calls import recorded_kind
from network.types import MILLISECOND_US
from tests.properties.engines.adversary import Adversary
from tests.properties.engines.replica import Replica, Trouble
from tests.properties.engines.signatures import KEYS, KnownScheme
from tests.properties.engines.stub_chain import GENESIS, StubChain
from validators.consensus import interface as seam

_WORK_US = 20 * MILLISECOND_US
_SLOW_FACTOR = 60
_INTERVAL_US = 150 * MILLISECOND_US
_OUTAGE_US = 800 * MILLISECOND_US
_LATE_START_US = 4_000 * MILLISECOND_US

_OWN = (seam.SetTimer, seam.SetAlarm, seam.CancelTimer, seam.Build, seam.Judge)
"""Effects that only their replica notices."""


class EngineNetwork:
    """All engines, what is under way, and one queue of instants.

    Attributes:
        steps: Calls of engines so far.
        faults: What honest replicas have done beyond their answers: two final blocks of a height, for one.
        strangers: Replicas that nobody hears of, each with the journal of another one; the last one has power.

    Args:
        kind: The kind of all engines.
        config: Their configuration.
        validators: How many validators there are.
        replicas: The index of each replica, from which of the validators on it is an observer.
        twins: Validators that are there twice, whose keys are known to everybody.
        is_bound: Whether the engines have to agree. If not, the keys of all validators are known.
        draw: Draws all that happens.
    """

    def __init__(self, kind, config, *, validators, replicas, twins, is_bound, draw):
        self.kind, self.config, self.validators, self.draw = kind, config, validators, draw
        self.is_bound, self.byzantine = is_bound, twins if is_bound else range(validators)
        self.chain = StubChain()
        self.trouble = Trouble()
        self.now_us = self.steps = self._posted = 0
        self.faults, self.strangers, self.sent, self._queue, self._final_at = [], [], [], [], {}
        self.replicas = [self.replica_of(me, place) for place, me in enumerate(replicas)]
        self.adversary = Adversary(self)
        self._acts = {
            seam.Append: lambda replica, append: replica.records.append(append.record),
            seam.Send: lambda replica, send: self._behind(replica, partial(self._send, replica, send)),
            seam.Relay: self._relay,
            seam.SetTimer: self._set_timer,
            seam.SetAlarm: self._set_alarm,
            seam.CancelTimer: self._cancel_timer,
            seam.Build: lambda replica, build: self._ask(replica, partial(self._build, replica, build)),
            seam.Judge: lambda replica, judge: self._ask(replica, partial(self._judge, replica, judge)),
            seam.Finalized: self._finalize,
            seam.ReportActivity: self._report,
        }
        for replica in self.replicas:
            is_late = replica.is_observer or draw(8) == 0
            self._post(draw(_LATE_START_US) if is_late else 0, partial(self.start, replica))

    def replica_of(self, me, place=None):
        """Return a replica without power."""
        lives = []
        kind = recorded_kind(self.kind, lives, KEYS[: self.validators], lambda: self.now_us)
        return Replica(place, me, kind, lives, is_observer=me >= self.validators)

    # -- time ----------------------------------------------------------------------------------

    def run(self, steps, is_over=lambda: False):
        """Go on for so many calls of engines, or until it is over."""
        end = self.steps + steps
        while self._queue and self.steps < end and not is_over():
            self.now_us, _, action = heapq.heappop(self._queue)
            action()
            if self.happens(self.trouble.crashes):
                replica = self.replicas[self.draw(len(self.replicas))]
                self.crash(replica)
                self._post(self.draw(_OUTAGE_US), partial(self.start, replica))
            if self.happens(self.trouble.acts):
                everybody = [*self.replicas, *self.strangers[-1:]]
                self.adversary.act(everybody[self.draw(len(everybody))])

    def happens(self, percent):
        """Return whether something happens whose rate is in percent."""
        return percent > 0 and self.draw(100) < percent

    def _post(self, after_us, action):
        self._posted += 1
        heapq.heappush(self._queue, (self.now_us + after_us, self._posted, action))

    def _post_to(self, replica, after_us, action):
        """Have something done later in this life."""
        life = replica.life
        self._post(after_us, lambda: action() if replica.engine is not None and replica.life == life else None)

    def _work_us(self):
        return self.draw(_WORK_US) * (_SLOW_FACTOR if self.happens(self.trouble.slow) else 1)

    # -- power ---------------------------------------------------------------------------------

    def crash(self, replica):
        """Cut the power: records that are not durable are lost from some place on."""
        if replica.engine is None:
            return
        self.look_at_memory(replica)
        del replica.records[replica.durable + self.draw(len(replica.records) - replica.durable + 1) :]
        replica.engine, replica.life, replica.is_syncing = None, replica.life + 1, False
        replica.outbox, replica.timers = [], {}
        # A seal is as little on the disk as the vote in it.
        replica.here = {digest: None for digest in replica.here if digest not in replica.unsent}
        replica.unsent = {}

    def start(self, replica):
        """Begin a life with what the disk has; where the key is known, the journal may end anywhere."""
        if replica.engine is not None:
            return
        if replica.me in self.byzantine and self.draw(3) == 0:
            del replica.records[self.draw(len(replica.records) + 1) :]
        if replica.life and self.draw(16) == 0:
            # A validator that has lost its journal only follows.
            replica.records, replica.floor, replica.is_observer = [], None, True
        replica.durable = len(replica.records)
        if not self.make(replica, replica.me, replica.records):
            self.faults.append(f"replica {replica.me} refuses its own journal")
            return
        replica.final = replica.engine.finality
        self.step(replica, seam.Started())
        told = {digest: None for digest in replica.here if self.draw(8)}
        for digest in told:
            self.tell(replica, replica.me, digest)
        if self.is_bound:
            # Of a block that is lost there is no state either.
            replica.here = told

    def make(self, replica, me, records):
        """Make an engine, and return whether it takes a journal as it is read."""
        encode, decode = self.kind.records.encode, self.kind.records.decode
        replica.scheme = KnownScheme(me, self.validators)
        replica.engine = replica.kind.make(
            me=me,
            validators=self.validators,
            scheme=replica.scheme,
            config=self.config,
            genesis=GENESIS,
            is_observer=replica.is_observer,
        )
        floor = None if replica.floor is None else decode(encode(replica.floor))
        try:
            replica.engine.replay([decode(encode(record)) for record in records], floor)
        except seam.CorruptRecordError:
            replica.engine = None
        return replica.engine is not None

    def look_at_memory(self, replica):
        """Compare what an engine remembers with what its journal leads to; no answer shows that."""
        if replica.engine is None or replica.me in self.byzantine:
            return
        derived = replica.engine.derived(tuple(replica.records), replica.floor)
        who = f"replica {replica.me} keeps"
        for name in dict.fromkeys((*derived.kept, *derived.rebuilt)):
            kept, rebuilt = derived.kept.get(name), derived.rebuilt.get(name)
            if kept != rebuilt:
                self.faults.append(f"{who} {name} as {kept!r}, and its journal leads to {rebuilt!r}")
        sizes = [size for size in derived.sizes if size.found > size.bound]
        self.faults += [f"{who} {size.found} {size.what}, {size.bound} at most" for size in sizes]

    # -- steps ---------------------------------------------------------------------------------

    def step(self, replica, event):
        """Give an event, and do what follows from it."""
        self.steps += 1
        for effect in replica.engine.step(event):
            act = self._acts.get(type(effect))
            if act is not None and (replica.place is not None or isinstance(effect, _OWN)):
                act(replica, effect)
        self._sync(replica)

    def _sync(self, replica):
        if len(replica.records) > replica.durable and not replica.is_syncing:
            replica.is_syncing = True
            self._post_to(replica, self._work_us(), partial(self._end_sync, replica, len(replica.records)))

    def _end_sync(self, replica, count):
        replica.durable, replica.is_syncing = count, False
        while replica.outbox and replica.outbox[0][0] <= count:
            replica.outbox.pop(0)[1]()
        self._prune(replica)
        self._sync(replica)

    def _prune(self, replica):
        view_of, retention = self.kind.records.view_of, self.config.view_retention
        is_synced = replica.durable == len(replica.records) > 0
        if is_synced and replica.final and view_of(replica.records[0]) <= replica.final.view - 2 * retention:
            lowest = replica.final.view - retention
            replica.records = [each for each in replica.records if view_of(each) >= lowest]
            replica.floor, replica.durable = replica.final, len(replica.records)

    def _behind(self, replica, action):
        """Do something once all that is appended is durable."""
        if replica.durable == len(replica.records):
            action()
        else:
            replica.outbox.append((len(replica.records), action))

    # -- messages ------------------------------------------------------------------------------

    def _send(self, replica, send):
        self.sent.append((replica.me, send.message))
        for peer in self.replicas:
            if send.to in {None, peer.me}:
                self._carry(replica, peer, partial(self.receive, peer, replica.me, send.message))

    def _carry(self, replica, peer, arrive):
        """Have something arrive, unless it is lost or comes while the receiver has no power."""
        trouble = self.trouble
        if peer.me == replica.me or (replica.place, peer.place) in trouble.cut or self.happens(trouble.loss):
            return
        for _ in range(2 if self.happens(trouble.copies) else 1):
            self._post(1 + self.draw(trouble.delay_us), lambda: arrive() if peer.engine is not None else None)

    def receive(self, replica, sender, message):
        """Let a message arrive; other events may come before the step, as they do while a signature is verified."""
        self.steps += 1
        if replica.engine.check(sender, message).ok:
            self._post_to(replica, self.draw(300), partial(self.step, replica, seam.Received(sender, message)))

    def _relay(self, replica, relay):
        replica.unsent[relay.digest] = relay.seal
        self._post_to(replica, 0, partial(self.tell, replica, replica.me, relay.digest))
        leave = partial(self._relay_now, replica, relay.digest)
        # A seal is a promise.
        self._behind(replica, leave) if relay.seal else leave()

    def _relay_now(self, replica, digest):
        self.chain.seals[digest] = replica.unsent.pop(digest)
        for peer in self.replicas:
            self._carry(replica, peer, partial(self.tell, peer, replica.me, digest))

    def tell(self, replica, sender, digest):
        """Let a block be here, and the engine know of it if it is sealed."""
        replica.here[digest] = None
        if seal := self._seal_of(replica, digest):
            self.show_seal(replica, sender, self.chain.blocks[digest], seal)

    def _seal_of(self, replica, digest):
        return replica.unsent.get(digest) or self.chain.seals.get(digest)

    def show_seal(self, replica, sender, facts, seal):
        """Let a sealed block arrive."""
        self.steps += 1
        if replica.kind.check_seal(replica.scheme, facts, seal, self.validators, config=self.config).ok:
            self.step(replica, seam.BlockArrived(sender, facts, seal))

    # -- timers --------------------------------------------------------------------------------

    def _set_timer(self, replica, timer):
        percent = 0 if self.happens(self.trouble.early) else 60 + self.draw(80)
        self._arm(
            replica, timer, timer.after_us * percent // 100, lambda: seam.TimeoutReached(timer.name, timer.number)
        )

    def _set_alarm(self, replica, alarm):
        def event():
            return seam.AlarmReached(alarm.name, alarm.number, max(self.now_us + replica.skew_us, 0))

        self._arm(replica, alarm, max(alarm.at_wall_us - self.now_us - replica.skew_us, 0), event)

    def _arm(self, replica, timer, after_us, event):
        key = timer.name, timer.number
        token = replica.timers[key] = self._posted

        def fire():
            if replica.timers.get(key) == token:
                del replica.timers[key]
                self.step(replica, event())

        self._post_to(replica, after_us, fire)

    def _cancel_timer(self, replica, cancelled):
        # Now and then a timer fires that was cancelled too late.
        if self.draw(8):
            replica.timers.pop((cancelled.name, cancelled.number), None)

    # -- blocks --------------------------------------------------------------------------------

    def _ask(self, replica, answer):
        application = replica.applications
        self._post_to(replica, self._work_us(), lambda: answer() if replica.applications == application else None)

    def _build(self, replica, build):
        if build.parent.digest not in self.chain.blocks or self.happens(self.trouble.misjudged):
            self.step(replica, seam.Built(build.view, None))
            return
        facts = self.chain.build(replica.me, build.view, build.parent.digest)
        if replica.me in self.byzantine and self.draw(3) == 0:
            self.chain.bad[facts.digest] = None
        self._post_to(
            replica, self.draw(_INTERVAL_US), partial(self.step, replica, seam.Built(build.view, facts.digest, facts))
        )

    def _judge(self, replica, judge):
        """Answer a question about a block once it and all below it are here; what nobody has gets no answer."""
        path = self.chain.path_to(judge.ref.digest)
        for digest in path:
            if digest not in replica.here:
                self.tell(replica, (replica.me + 1) % self.validators, digest)
        if path and (self.kind.check_seal is None or all(self._seal_of(replica, digest) for digest in path)):
            is_sound = self.chain.is_sound(judge.ref, judge.parent, is_slot=judge.question is seam.Question.ADOPT)
            # Where nobody is bound to agree, a bad block gets votes, and fails when it is certified.
            is_sound = is_sound or (judge.question is seam.Question.VERIFY and not self.is_bound)
            if self.happens(self.trouble.misjudged):
                is_sound = None if self.draw(3) else not is_sound
            self._behind(replica, partial(self.step, replica, seam.Judged(judge.question, judge.ref, is_sound)))

    # -- agreement -----------------------------------------------------------------------------

    def _finalize(self, replica, finalized):
        """Require one final block of a height; what is below a known one is known."""
        replica.final = finalized.finality
        for digest in [] if replica.me in self.byzantine else self.chain.path_to(finalized.finality.digest):
            height = self.chain.blocks[digest].height
            known = self._final_at.get(height)
            if known not in {None, digest}:
                self.faults.append(f"replica {replica.me} has another final block of height {height} than others")
            if known is not None:
                return
            self._final_at[height] = digest

    def _report(self, replica, report):
        """Require that nobody is convicted but who has a twin, or whose key is known."""
        if report.evidence and report.node not in self.byzantine:
            self.faults.append(f"replica {replica.me} holds {report.activity} against honest {report.node}")

    def final_height(self, replica):
        """Return the height of a replica's final block."""
        block = None if replica.final is None else self.chain.blocks.get(replica.final.digest)
        return 0 if block is None else block.height
