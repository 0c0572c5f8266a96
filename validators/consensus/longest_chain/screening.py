"""The checks of a message before it is given to the engine: form first, use second, signatures last."""

from collections.abc import Callable

from validators.consensus.interface import STALE, HeaderFacts, MessageCheck
from validators.consensus.longest_chain.config import LongestChainConfig
from validators.consensus.longest_chain.messages import (
    Announcement,
    HeadResponse,
    LongestChainMessage,
    SealedHeader,
    facts_of,
)
from validators.consensus.longest_chain.sealing import MALFORMED, SHALLOW, find_burial_fault, find_seal_fault
from validators.consensus.signing import Scheme

USELESS = MessageCheck(ok=False, reason=STALE, signatures_verified=0)


def check_message(
    message: LongestChainMessage,
    *,
    scheme: Scheme,
    validators: int,
    config: LongestChainConfig,
    is_known: Callable[[HeaderFacts], bool],
    is_asked: bool,
) -> MessageCheck:
    """Return whether a message is sound and of use.

    Args:
        message: The message.
        scheme: Verifies seals.
        validators: The number of validators.
        config: Names the leaders of slots.
        is_known: Whether a block is here, or below the final block.
        is_asked: Whether this replica waits for an answer of the sender.
    """
    before = scheme.verified
    if isinstance(message, Announcement):
        facts = facts_of(message)
        if facts is not None and is_known(facts):
            return USELESS
        reason = _find_fault(scheme, message.block, validators, config)
    elif isinstance(message, HeadResponse):
        if not is_asked:
            return USELESS
        reason = _find_answer_fault(scheme, message, validators, config)
    else:
        reason = ""
    return MessageCheck(ok=not reason, reason=reason, signatures_verified=scheme.verified - before)


def _find_answer_fault(scheme: Scheme, answer: HeadResponse, validators: int, config: LongestChainConfig) -> str:
    """Return why an answer is of no use, or an empty string."""
    final = answer.final
    # A joiner trusts on first sight, but a single block of one validator must not be enough.
    if final is not None and len(final.chain) <= config.finality_depth:
        return SHALLOW
    fault = _find_fault(scheme, answer.head, validators, config)
    return fault or ("" if final is None else find_burial_fault(scheme, final, validators, config))


def _find_fault(scheme: Scheme, sealed: SealedHeader, validators: int, config: LongestChainConfig) -> str:
    facts = facts_of(sealed)
    return MALFORMED if facts is None else find_seal_fault(scheme, facts, sealed.seal, validators, config=config)
