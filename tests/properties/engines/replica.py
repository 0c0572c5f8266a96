"""One replica of an engine network, and what is wrong around it."""

from dataclasses import dataclass, field

from network.types import MILLISECOND_US


@dataclass(slots=True)
class Trouble:
    """Faults of a while; rates are in percent, of messages, works and syncs, timers, events, and questions.

    Attributes:
        acts: Events after which the adversary acts.
        misjudged: Questions that are answered with no, or not at all.
        cut: Links over which nothing comes, by the places of sender and receiver.
    """

    delay_us: int = 25 * MILLISECOND_US
    loss: int = 0
    copies: int = 0
    slow: int = 0
    early: int = 0
    crashes: int = 0
    acts: int = 0
    misjudged: int = 0
    cut: dict = field(default_factory=dict)


class Replica:
    """One replica: its engine of this life, None without power, and the disk that outlasts it.

    Attributes:
        me: Its index, which it shares with its twin if it has one.
        kind: The recorded kind of its engines; `lives` has their calls.
        life: The number of lives that are over.
        records: The journal above `floor`, of which so many records are `durable`.
        outbox: Actions, each with the number of records that have to be durable before it.
        timers: By name and number what tells a timer from one that it has replaced.
        here: Blocks that are here; `unsent` has the seals of own ones that wait for a sync.
        applications: The number of applications so far: answers of an earlier one are lost.
        skew_us: What its wall clock is ahead.
    """

    def __init__(self, place, me, kind, lives, *, is_observer):
        self.place, self.me, self.kind, self.lives, self.is_observer = place, me, kind, lives, is_observer
        self.engine = self.scheme = self.floor = self.final = None
        self.life = self.durable = self.applications = self.skew_us = 0
        self.is_syncing = False
        self.records, self.outbox, self.timers, self.here, self.unsent = [], [], {}, {}, {}
