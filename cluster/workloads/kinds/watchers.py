"""The workload `watchers`: timers that wait for changes of shared values, and an owner that changes the values."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

import msgspec

from cluster.scenario.fields import Milliseconds, NotNegative, Positive, Thousand, means
from cluster.workloads.submission import (
    CALL_CYCLES,
    FUNDS,
    Client,
    GenesisShare,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from scheduler.escrow import ESCROW_ADDRESS
from validators.actors.script import STEPS_MAX
from validators.execution import GenesisActor
from validators.execution.blocks import ExecuteActor, Transfer

WATCH_CELLS: Final = 1_200
"""Cells of a script for each timer: its index, its keys, and the name under which it is stored."""

SEVERAL: Final = 3
"""One in this many timers watches all keys and a balance."""

Few = Annotated[int, msgspec.Meta(ge=1, le=STEPS_MAX - 3)]
Keys = Annotated[int, msgspec.Meta(ge=1, le=7)]


class Watchers(WorkloadKind, tag="watchers", kw_only=True, frozen=True):
    """Actors whose timers wait for changes of values of one feed; the feed's owner writes them."""

    actors: Annotated[Thousand, means("Actors with timers that watch.")]
    timers: Annotated[Few, means("Timers that each actor lets watch in a round.")] = 4
    keys: Annotated[Keys, means("Keys of the feed; timer i of an actor watches key `i modulo their number`.")] = 2
    rounds: Annotated[Thousand, means("How often the actors begin to watch.")] = 1
    every_ms: Annotated[Positive, means("Between two rounds.")] = 10_000
    start_ms: Annotated[Milliseconds, means("When the first round begins.")] = 0
    write_ms: Annotated[Milliseconds, means("From the beginning of a round to its first write of every key.")] = 3_000
    writes: Annotated[NotNegative, means("Writes in a round, each of all keys and of the feed's balance.")] = 1
    write_every_ms: Annotated[Positive, means("Between two writes of a round.")] = 1_000
    written_by: Annotated[
        Literal["call", "fire", "message"], means("The owner's call itself, or a timer or a message of the feed.")
    ] = "call"
    cancel_ms: Annotated[Milliseconds, means("From the beginning of a round to its cancellations.")] = 2_000
    cancels: Annotated[NotNegative, means("The first timers of each actor in a round, cancelled by their owner.")] = 0
    ttl_slots: Annotated[Positive, means("Slots, or heights, that a timer waits for a change.")] = 30
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 5_000
    bid: Annotated[NotNegative | None, means("Units that a timer bids in the bias auction.", left_out="no bid")] = None
    payer: Annotated[Literal["actor", "sender"], means("Each actor for its own timers, or its owner.")] = "actor"
    probes: Annotated[bool, means("Whether each round also tries what the rules refuse.")] = False

    def problem(self, site: Site) -> str:
        """Return the first contradiction among the keys; empty if there is none."""
        del site
        if self.cancels > self.timers:
            return f"cancels must be at most timers, which is {self.timers}"
        return ""

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """Return all actors with timers."""
        watching = tuple(site.actor(index) for index in range(self.actors))
        return (*watching, self._feed(site)) if self.written_by == "fire" else watching

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        each = self.actors * (1 + bool(self.cancels)) + 2 * self.writes + self.probes
        timers = self.actors * self.timers + (self.writes if self.written_by == "fire" else 0)
        return Volume(each * self.rounds, timers * self.rounds)

    def first_due(self, slot_ms: int) -> int:
        """Return the slot of the first write or cancellation, or the last of the first timers' lives."""
        acts = [self.write_ms] * bool(self.writes) + [self.cancel_ms] * bool(self.cancels)
        return self.start_ms // slot_ms + min([self.ttl_slots, *(each // slot_ms for each in acts)])

    def genesis(self, site: Site) -> GenesisShare:
        """Return an owner for each actor, the actors, and the feed with its owner."""
        share = site.owned_actors("script-actor", self.actors)
        writer = Client(site, self.actors)
        feed = GenesisActor(self._feed(site), "script-actor", writer.address, FUNDS)
        return GenesisShare((*share.accounts, writer.funded), (*share.actors, feed))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield, by round, the actors' watches, the cancellations, and the writer's changes of the watched values."""
        owners = [Client(site, index) for index in range(self.actors)]
        writer, feed = Client(site, self.actors), self._feed(site)
        for number in range(self.rounds):
            at_ms = self.start_ms + number * self.every_ms
            for index, owner in enumerate(owners):
                payer = owner.address if self.payer == "sender" else None
                yield self._run(owner, at_ms, site.actor(index), self._watching(site, payer))
            for index, owner in enumerate(owners if self.cancels else ()):
                names = [["cancel", _name(timer)] for timer in range(self.cancels)]
                yield self._run(owner, at_ms + self.cancel_ms, site.actor(index), names)
            for write in range(self.writes):
                written_ms = at_ms + self.write_ms + write * self.write_every_ms
                value = (number * self.writes + write).to_bytes(8, "big")
                yield self._run(writer, written_ms, feed, self._write(feed, value))
                yield writer.sign(written_ms, Transfer(feed, 1))
            if self.probes:
                yield writer.sign(at_ms, Transfer(ESCROW_ADDRESS, 1), may_fail=True)

    def _watching(self, site: Site, payer: bytes | None) -> list[list[Any]]:
        """Return the steps by which an actor begins to watch in a round."""
        feed = self._feed(site)
        steps = [self._watch(_name(timer), self._watched(feed, timer), payer) for timer in range(self.timers)]
        if self.probes:
            steps += [self._watch(b"refused", [[feed, _key(0)]] * 2, payer), ["extend", _name(self.timers - 1), 9]]
            steps.append(["pay", ESCROW_ADDRESS, 1])
        return steps

    def _watched(self, feed: bytes, timer: int) -> list[list[Any]]:
        """Return the values that a timer watches: one key, or all keys and the feed's balance."""
        if timer % SEVERAL == SEVERAL - 1:
            return [[feed, None], *([feed, _key(key)] for key in range(self.keys))]
        return [[feed, _key(timer % self.keys)]]

    def _watch(self, name: bytes, watched: list[list[Any]], payer: bytes | None) -> list[Any]:
        return ["watch", name, watched, b"", payer, self.gas_limit, self.ttl_slots, self._terms]

    @property
    def _terms(self) -> list[int | None]:
        return [None, None, None, None, self.bid]

    def _write(self, feed: bytes, value: bytes) -> list[list[Any]]:
        """Return the steps by which the feed writes all keys, or has a timer or a message of its own write them."""
        steps: list[list[Any]] = [["put", _key(key), value] for key in range(self.keys)]
        later = msgspec.msgpack.encode([steps, 1])
        if self.written_by == "fire":
            return [["schedule", b"write", 1, later, None, self.gas_limit, None, self._terms]]
        if self.written_by == "message":
            return [["send", feed, "run", later, self.gas_limit]]
        return steps

    def _run(self, client: Client, at_ms: int, actor: bytes, steps: list[list[Any]]) -> TimedTransaction:
        # `ignore`, so that one refused step does not undo the other steps.
        call = ExecuteActor(actor, "run", msgspec.msgpack.encode([steps, 1]))
        # The call that sends a message pays for it, in cells as in cycles.
        cells = WATCH_CELLS * (1 + len(steps)) + sum(self.gas_limit for step in steps if step[0] == "send")
        return client.sign(at_ms, call, cycles_limit=2 * CALL_CYCLES, cells_limit=cells)

    def _feed(self, site: Site) -> bytes:
        return site.actor(0, f"{site.name}/feed")


def _name(timer: int) -> bytes:
    return b"w%d" % timer


def _key(key: int) -> bytes:
    # Of both lengths: a key of more than ten bytes is kept hashed.
    return b"price %d of it" % key if key % 2 else b"p%d" % key
