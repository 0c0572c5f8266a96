"""The oracle's chain with timers of any shape: block after block without consensus, transactions or signatures."""

import msgspec

from checker.oracle import escrow, programs
from checker.oracle.auction_records import AuctionConfig
from checker.oracle.bias_records import BiasConfig
from checker.oracle.blocks import OracleChain, _Block
from checker.oracle.calls import Call, RevertedError
from checker.oracle.contents import Bucket, Market, Timer, TimerCounts
from checker.oracle.gas import Gas
from checker.oracle.lane_config import Calendar, LaneConfig
from checker.oracle.policies.fifo_free import FreeConfig
from checker.oracle.queue_records import QueueConfig
from checker.oracle.records import Genesis, PolicyEntry, TimerConfig, address_of, sha256, write

OWNER, PROPOSER = b"\x01" * 20, b"\x02" * 20
RICH = 10**15
TIMERS = TimerConfig(2_592_000, 550_000, 550_000, 1_024, 5_000_000, 200, 2_000_000, 200, 200, 200, False, False, True)
CALL_CYCLES = 200
LATE = 10**9


def address(name):
    """Return an address of 20 bytes for a name."""
    return name.encode().ljust(20, b".")


def name_of(owner):
    """Return the name of such an address."""
    return owner.decode().rstrip(".")


def work(call, payload):
    """Use as many cycles as the payload says, those of the call itself included."""
    call.compute(int.from_bytes(payload, "big") - CALL_CYCLES)


def bid(call, payload):
    """Answer, as an agent, what the storage says."""
    assert len(msgspec.msgpack.decode(payload)) in (6, 8)
    if call.get(b"writes"):
        call.put(b"x", b"")
    call.compute(int.from_bytes(call.get(b"uses") or b"", "big"))
    return call.get(b"answer")


WORKER = {"handle_timer": work, "get_gas_bid": bid}
"""A program for benches."""


class Bench:
    """A chain whose actors do nothing but work: names and what they have.

    With `lane`, the changed fields of its configuration, the chain is in the timer lane; with `auction` under the GBA
    auction, with `bias` under the bias auction, with `queue` under scheduled transactions, in slots.
    """

    def __init__(
        self,
        balances,
        *,
        timers=None,
        lane=None,
        auction=None,
        bias=None,
        queue=None,
        activation=1,
        policy="",
        **genesis,
    ):
        programs.PROGRAMS.setdefault("worker", WORKER)
        fields = {"min_basefee": 800, "cycle_basefee": 800, "cell_basefee": 800} | genesis
        program = fields.pop("program", "worker")
        stated = dict(lane or auction or bias or queue or {})
        sizes = {name: stated.pop(name) for name in Calendar._fields if name in stated}
        own = PolicyEntry(activation, policy or "fifo", write(FreeConfig()) if policy == "fifo-free" else b"")
        if lane is not None:
            own = PolicyEntry(activation, "eip1559", write(LaneConfig()._replace(**stated)))
        elif auction is not None:
            own = PolicyEntry(activation, "gba-auction", write(AuctionConfig()._replace(**stated)))
        elif bias is not None:
            own = PolicyEntry(activation, "bias-auction", write(BiasConfig()._replace(**stated)))
        elif queue is not None:
            own = PolicyEntry(activation, "aptos", write(QueueConfig()._replace(**stated)))
            fields = {"timebase": "slot"} | fields
        fields = {"timebase": "height", "slot_ms": 1_000} | fields
        self.chain = OracleChain(
            Genesis(
                chain_id="bench",
                validators=[PROPOSER],
                timestamp_ms=0,
                block_cycles=10_000_000,
                block_cells=10_000_000,
                mailbox_cycles=1_000_000,
                timer_config=TIMERS._replace(**(timers or {})),
                calendar=Calendar(**sizes),
                policies=[own] if own.height == 1 else [PolicyEntry(1, "fifo"), own],
                accounts=[],
                actors=[[address(name), program, OWNER, units, []] for name, units in balances.items()],
                system_deployers=[],
                **fields,
            ),
            b"",
        )

    @property
    def contents(self):
        """All tables."""
        return self.chain.contents

    @property
    def next_header(self):
        """The header of the block that comes next."""
        parent = self.chain.header
        ms = parent.timestamp_ms + 1_000
        slot = ms // self.chain.genesis.slot_ms
        moved = {"height": parent.height + 1, "view": parent.view + 1, "slot": slot, "timestamp_ms": ms}
        return parent._replace(parent=sha256(write(parent)), **moved)

    def jump(self, height):
        """Make the next block the one at this height."""
        self.chain.header = self.chain.header._replace(height=height - 1)

    def at_ms(self, ms):
        """Make the next block the one at this time."""
        before = ms - 1_000
        slot = before // self.chain.genesis.slot_ms
        self.chain.header = self.chain.header._replace(timestamp_ms=before, slot=slot)

    def fund(self, name, units):
        """Give an actor units that genesis did not know of."""
        self.contents.credit(address(name), units)
        self.chain.units += units

    def lock(self, timer, bid):
        """Put a bid for a timer into escrow that its payer is given for it."""
        self.fund(name_of(timer.fee_payer), bid)
        escrow.lock(self.contents, timer, bid)

    def tell(self, name, fee, tip):
        """Have an actor answer as an agent with this fee and this tip."""
        answer = msgspec.msgpack.encode([fee, tip, 0, 0])
        self.contents.storage.put((address(name), b"answer"), answer)

    def set_market(self, basefee, p50_tip=0):
        """Leave a market to the next block."""
        self.contents.market.put(None, Market(basefee, p50_tip, 0, 1, basefee, 0))

    def next_block(self):
        """Return the next block at its start."""
        return _Block(self.chain, self.next_header)

    def call(self, name, sender=OWNER):
        """Return a call in the block that comes next."""
        gas = Gas(10**9, 10**9)
        return Call(self.contents, self.next_block().present, gas, actor=address(name), sender=sender, nonce=0)

    def schedule(self, name, due, payload=b"", **stated):
        """Schedule as the next block would; return the events, or the error."""
        call = self.call(name)
        try:
            call.schedule(due, payload, **stated)
        except RevertedError as error:
            return str(error)
        return call.events

    def add(self, timer_id, actor, due, *, uses=CALL_CYCLES, gas_limit=250_000, **fields):
        """Put a timer with a chosen identifier into the tables."""
        contents, owner = self.contents, address(actor)
        present = self.next_block().present
        bucket = contents.buckets.get(due) or Bucket(0, 0, queued=due - present.now >= present.ring_size)
        rest = {"fee_payer": owner, "gas_limit_is_default": False, "expires_at": LATE} | fields
        about = (timer_id.encode(), owner, due, bucket.tail, uses.to_bytes(8, "big"), "handle_timer")
        timer = Timer(*about, gas_limit=gas_limit, **rest)
        counts = contents.counts.get(owner) or TimerCounts(0, 0)
        contents.timers.put(timer.timer_id, timer)
        contents.bucket_entries.put((due, timer.sequence), timer.timer_id)
        contents.buckets.put(due, bucket._replace(tail=bucket.tail + 1, live=bucket.live + 1))
        contents.counts.put(owner, TimerCounts(counts.live + 1, counts.scheduled + 1))
        return timer

    def run_block(self, transactions=()):
        """Run the next block; return the events of its timer phase and what surrounds it."""
        self.result = self.chain.execute(self.next_header, list(transactions))
        assert not self.chain.audit()
        return [receipt[1] for receipt in self.result.receipts if receipt[0] == 1]

    def transaction(self, actor, handler, payload, nonce=0):
        """Return a call by the owner of everything, who has units from the first one on; nobody checks signatures."""
        key = b"key".ljust(32, b".")
        if not self.contents.balance(address_of(key)):
            self.contents.credit(address_of(key), RICH)
            self.chain.units += RICH
        call = [1, address(actor), handler, payload]
        return write([key, nonce, 100_000, 10_000, 2_000, 2_000, 0, call, bytes(64)])

    def units(self, name):
        """Return the units of an actor."""
        return self.contents.balance(address(name))


def reported(tag, events):
    """Return the timers of the events with a tag."""
    return [event[1].decode() for event in events if event[0] == tag]
