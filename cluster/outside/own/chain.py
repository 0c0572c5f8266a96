"""A small chain for an engine without a given genesis: accounts that pay, and an actor that makes timers."""

from hashlib import sha256
from typing import Final

import msgspec
from nacl.signing import SigningKey

from cluster.outside.blocks import ChainStart
from scheduler import TimerConfig
from validators.actors.storm_maker import StormOrder
from validators.execution import ExecuteActor, Genesis, GenesisAccount, GenesisActor, Transaction, Transfer, address_of
from validators.execution.blocks import Call, transaction_signing_bytes
from validators.identity import public_key_of, secret_seed

ACCOUNTS: Final = 3
BALANCE: Final = 10**15
STORM_MAKER: Final = b"\xaa" * 20
LIMIT: Final = 400_000
FEE_MAX: Final = 2_000


def small_genesis(start: ChainStart, validators: int) -> Genesis:
    """Return a genesis with accounts of known keys and a storm maker."""
    addresses = [address_of(public_key_of(_seed(index))) for index in range(ACCOUNTS)]
    return Genesis(
        chain_id=start.chain,
        validators=tuple(bytes([index]) * 20 for index in range(validators)),
        timebase="height" if start.timebase == "height" else "slot",
        slot_ms=start.slot_ms,
        timestamp_ms=start.timestamp_ms,
        timer_config=TimerConfig(),
        accounts=tuple(GenesisAccount(address, BALANCE) for address in addresses),
        actors=(GenesisActor(STORM_MAKER, "storm-maker", addresses[0], BALANCE),),
    )


def small_transactions(count: int, chance: bytes) -> list[bytes]:
    """Return transactions of the accounts: payments, and orders of timers, by a chance of 32 bytes."""
    made: list[bytes] = []
    nonces = [0] * ACCOUNTS
    for number in range(count):
        drawn = sha256(chance + number.to_bytes(4, "big")).digest()
        sender = drawn[0] % ACCOUNTS
        delay, spread = 1 + drawn[3] % 30, 1 + drawn[4] % 3
        order = StormOrder(count=1 + drawn[2] % 4, delay=delay, not_before=0, spread=spread, ttl=20)
        call: Call = Transfer(STORM_MAKER, 1 + drawn[2])
        if drawn[1] % 2:
            call = ExecuteActor(STORM_MAKER, "make", msgspec.msgpack.encode(order))
        made.append(signed_call(sender, nonces[sender], call))
        nonces[sender] += 1
    return made


def signed_call(sender: int, nonce: int, call: Call, limit: int = LIMIT) -> bytes:
    """Return an encoded transaction of an account, with its signature; `limit` is in cycles and in cells."""
    seed = _seed(sender)
    bare = Transaction(public_key_of(seed), nonce, limit, limit, FEE_MAX, FEE_MAX, 1, call, bytes(64))
    signature = SigningKey(seed).sign(transaction_signing_bytes(bare)).signature
    return msgspec.msgpack.encode(msgspec.structs.replace(bare, signature=signature))


def _seed(index: int) -> bytes:
    return secret_seed("stampede", "application", index)
