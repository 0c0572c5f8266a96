"""The messages that only Simplex has: votes and certificates of views, requests for certificates and answers."""

from collections.abc import Iterator
from typing import Final

from checker.checks.rules.engine_traffic import (
    REQUEST_BYTES_MAX,
    VOTE_BYTES_MAX,
    Bound,
    EngineTraffic,
    Lengths,
    MessageAccount,
    certificate_bytes,
)

_VOTES: Final = ("Notarize", "Nullify", "Finalize")
_CERTIFICATES: Final = ("Notarization", "Nullification", "Finalization", "CertificateResponse")
_REQUEST: Final = "CertificateRequest"


def _bounds(account: MessageAccount) -> Iterator[Bound]:
    fan_out, views, lives = account.fan_out, account.views, account.lives
    retries, fetches = account.times(account.plan.timeout_retry_us), account.times(account.plan.fetch_timeout_us)
    for kind in ("Notarize", "Finalize"):
        yield Bound(kind, fan_out * (views + lives), "F (V + L)")
    yield Bound("Nullify", fan_out * (views + 2 * lives + retries), "F (V + 2 L + T / retry timeout)")
    helped = 2 * account.got("Nullify")
    for kind in ("Notarization", "Nullification", "Finalization"):
        formula = "F (V + 1 + 2 L + T / retry timeout) + 2 for each nullify of others"
        yield Bound(kind, fan_out * (views + 1 + 2 * lives + retries) + helped, formula)
    yield Bound(_REQUEST, fetches + 2 * views + lives, "T / fetch timeout + 2 V + L")
    yield Bound("CertificateResponse", 2 * account.got(_REQUEST), "2 for each request")


def _lengths(validators: int, _depth: int) -> Lengths:
    certificate = certificate_bytes(validators)
    messages = {**dict.fromkeys(_VOTES, VOTE_BYTES_MAX), **dict.fromkeys(_CERTIFICATES, certificate)}
    return Lengths(messages=messages | {_REQUEST: REQUEST_BYTES_MAX}, seal=0, finality=certificate)


SIMPLEX_TRAFFIC: Final = EngineTraffic(bounds=_bounds, lengths=_lengths, limited=(_REQUEST,), requests=(_REQUEST,))
