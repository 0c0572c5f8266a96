"""A short real chain run by engines of their own: transfers, a heartbeat, a storm maker whose timers die."""

from dataclasses import dataclass, field

import msgspec
from nacl.signing import SigningKey

from checker.checks.context import RunContext
from checker.checks.suite import Suite
from checker.observations import AppliedBlock, rules_of
from checker.record.run_directory import RecordWriter
from scheduler import TimerConfig
from tests.support.checker_history import OF_A_HISTORY
from tests.support.events import logged
from validators.actors import PROGRAMS, HeartbeatOrder, StormOrder
from validators.execution import (
    Engine,
    ExecuteActor,
    Genesis,
    GenesisAccount,
    GenesisActor,
    ProposalContext,
    Transaction,
    Transfer,
    address_of,
)
from validators.execution.blocks import encode_block, encode_header, transaction_signing_bytes
from validators.identity import TransactionVerifier, public_key_of, secret_seed
from validators.storage import FinalizedLog, SimulatedDisk
from validators.storage.files import FinalizedEntry

VALIDATORS = 4
HEIGHTS = 8
FUNDS = 10**15
HEART, RICH_STORM, POOR_STORM = b"h" * 20, b"s" * 20, b"p" * 20


class Wallet:
    """One account that signs transactions."""

    def __init__(self):
        self.seed = secret_seed("checker", "client", 0)
        self.public_key = public_key_of(self.seed)
        self.address = address_of(self.public_key)
        self.nonce = 0

    def sign(self, call):
        transaction = Transaction(self.public_key, self.nonce, 100_000, 50_000, 10**6, 10**6, 1, call, b"")
        signature = SigningKey(self.seed).sign(transaction_signing_bytes(transaction)).signature
        self.nonce += 1
        return msgspec.structs.replace(transaction, signature=signature)


def make_genesis(wallet):
    return Genesis(
        chain_id="checker",
        validators=tuple(bytes([index + 1]) * 20 for index in range(VALIDATORS)),
        timer_config=TimerConfig(gc_cycles_per_block=1_000, lane_timer_cycles=100_000, max_cycles_per_fire=20_000),
        accounts=(GenesisAccount(wallet.address, FUNDS),),
        actors=(
            GenesisActor(HEART, "heartbeat", wallet.address, FUNDS),
            GenesisActor(RICH_STORM, "storm-maker", wallet.address, FUNDS),
            GenesisActor(POOR_STORM, "storm-maker", wallet.address, 0),
        ),
    )


def orders(wallet, height):
    """Return what clients want in a block."""
    storm = msgspec.msgpack.encode(StormOrder(12, 1, 0, 2, 1, 10_000))
    calls = {
        1: [
            ExecuteActor(HEART, "start", msgspec.msgpack.encode(HeartbeatOrder(1, 10_000))),
            ExecuteActor(RICH_STORM, "make", storm),
            ExecuteActor(POOR_STORM, "make", storm),
        ],
    }.get(height, [Transfer(bytes([height]) * 20, 1_000)])
    return [wallet.sign(call) for call in calls]


@dataclass
class Chain:
    """All validators of one run, the suite that watched it, and the record it left."""

    genesis: Genesis
    engines: list[Engine]
    disks: list[SimulatedDisk]
    run: RunContext
    suite: Suite
    blocks: list = field(default_factory=list)
    now_us: int = 0

    def event(self, node, kind, *values):
        self.suite.observe(logged(self.now_us, node, kind, *values))


def run_chain():
    """Run the chain to its last height under the suite's eyes."""
    wallet = Wallet()
    genesis = make_genesis(wallet)
    engines = [Engine(genesis, programs=PROGRAMS, verify_transaction=TransactionVerifier()) for _ in range(VALIDATORS)]
    first = engines[0]
    run = RunContext(
        genesis_values=dict(first.database.items()),
        rules=rules_of(genesis, digest=first.genesis_digest, root=first.finalized.state_root),
        validators=VALIDATORS,
        engine="simplex",
        honest=range(VALIDATORS),
        max_skew_ms=60_000,
    )
    chain = Chain(genesis, engines, [SimulatedDisk() for _ in engines], run, Suite(run, OF_A_HISTORY))
    for height in range(1, HEIGHTS + 1):
        _run_height(chain, wallet, height)
    return chain


def write_record(chain, path):
    """Write the chain's run directory as far as a cold replay needs it, and return the writer."""
    writer = RecordWriter(path)
    writer.write_genesis(msgspec.msgpack.encode(chain.genesis))
    for executed in chain.blocks:
        header = executed.header
        block = encode_block(executed.block)
        writer.add_block(height=header.height, digest=executed.digest, root=header.state_root, block=block)
    writer.flush()
    return writer


def _run_height(chain, wallet, height):
    proposer = height % VALIDATORS
    # From height 4 on the chain has been down for a while: slots jump, and what was due has expired.
    timestamp_ms = (height + (20 if height >= 4 else 0)) * 1_000
    context = ProposalContext(
        parent=chain.engines[proposer].finalized_digest, view=height, proposer=proposer, timestamp_ms=timestamp_ms
    )
    chain.now_us = timestamp_ms * 1_000
    proposed = chain.engines[proposer].propose(context, orders(wallet, height))
    for node in range(VALIDATORS):
        chain.event(node, "enter", height, proposer)
        for kind in ("notarize", "finalize"):
            chain.event(node, "vote", kind, height, proposed.digest)
    for node in range(VALIDATORS):
        chain.event(node, "certificate", "finalization", height, proposed.digest, [0, 1, 2])
        _finalize(chain, node, proposed)
    chain.blocks.append(proposed)


def _finalize(chain, node, proposed):
    engine = chain.engines[node]
    executed = engine.execute(proposed.block)
    header = executed.header
    chain.event(node, "executed", header.height, header.view, executed.digest, header.state_root, "verify")
    engine.finalize(executed.digest)
    operations = tuple(executed.operations)
    entry = FinalizedEntry(header.height, executed.digest, encode_header(header), operations)
    FinalizedLog(chain.disks[node]).append(entry)
    chain.event(node, "finalized", header.height, header.view, executed.digest, header.state_root)
    chain.suite.applied(
        AppliedBlock(
            node=node,
            height=header.height,
            view=header.view,
            digest=executed.digest,
            root=header.state_root,
            block=encode_block(executed.block),
            changes=executed.changes,
            receipts=executed.receipts,
            summary=executed.summary,
            phases=executed.phases,
        )
    )
