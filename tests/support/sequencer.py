"""A consensus engine in one file (docs/extend/engine.md): validator 0 builds and signs every block, which is final.

It tolerates no fault. A lost seal is not sent again; a real engine asks for it, as `simplex/resolver.py` does.
"""

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from checker.checks.rules.engine_rules import EngineRules
from validators.consensus.interface import (
    Append,
    BlockRef,
    Build,
    Built,
    Finalized,
    MessageCheck,
    MessageInfo,
    MessageLabel,
    Position,
    Received,
    RecordCodec,
    Relay,
    Send,
    Started,
)
from validators.consensus.kind import EngineKind
from validators.derived import Derived
from validators.events import CertificateHeld, Entered


class Seal(msgspec.Struct, tag=0, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The sequencer's signature of a block: message, journal record and finality in one."""

    traced_name: ClassVar[str] = "Seal"
    view: int
    digest: bytes
    signature: bytes

    @property
    def is_proved(self):
        return True


@dataclass(frozen=True)
class SequencerConfig:
    """Nothing but what a validator has to know; the times of other engines are passed and not used."""

    view_retention: int

    def times_of(self, _view):
        return None


def configure(*, view_retention, **_times):
    return SequencerConfig(view_retention)


def verify_seal(scheme, seal, _validators):
    return scheme.verify(0, b"seal", b"%d" % seal.view + seal.digest, seal.signature)


class Sequencer:
    """Validator 0 seals each block; the others take the seals in their order and keep those that come early."""

    def __init__(self, *, me, validators, scheme, config, genesis, is_observer):
        self._me, self._scheme, self._genesis, self._is_observer = me, scheme, genesis, is_observer
        self._early = {}
        self.finality = None

    @property
    def position(self):
        return Position(self.finality.view + 1 if self.finality else 1, 0)

    def leader(self, view):
        return 0

    def statistics(self):
        return {"early": len(self._early)}

    def derived(self, records, floor):
        rebuilt = max((seal.view for seal in (*records, *([floor] if floor else []))), default=0)
        kept = self.finality.view if self.finality else 0
        return Derived("sequencer", {"final view": kept}, {"final view": rebuilt})

    def replay(self, records, floor):
        self.finality = max((*records, *([floor] if floor else [])), key=lambda seal: seal.view, default=None)

    def check(self, sender, message):
        if message.view < self.position.view:
            return MessageCheck(ok=False, reason="stale", signatures_verified=0)
        is_sound = verify_seal(self._scheme, message, 1)
        return MessageCheck(ok=is_sound, reason="" if is_sound else "invalid signature", signatures_verified=1)

    def step(self, event):
        match event:
            case Started():
                return self._enter()
            case Built(view, bytes(digest)):
                seal = Seal(view, digest, self._scheme.sign(b"seal", b"%d" % view + digest))
                return [Relay(digest), *self._take(seal), Send(None, seal)]
            case Received(_, message):
                self._early[message.view] = message
                return [effect for seal in self._in_turn() for effect in self._take(seal)]
        return []

    def _in_turn(self):
        while (view := self.position.view) in self._early:
            yield self._early.pop(view)

    def _take(self, seal):
        self.finality = seal
        return [Append(seal), Finalized(seal), *self._enter()]

    def _enter(self):
        view = self.position.view
        parent = BlockRef(self.finality.view, self.finality.digest) if self.finality else BlockRef(0, self._genesis)
        is_mine = self._me == 0 and not self._is_observer
        return [Entered(view, 0), *([Build(view, parent)] if is_mine else [])]


SEQUENCER = EngineKind(
    name="sequencer",
    messages={Seal: MessageInfo(4_096, "certificates", "certificate")},
    records=RecordCodec(
        finality=Seal,
        prefixes={Seal: b""},
        encode=msgspec.msgpack.encode,
        decode=msgspec.msgpack.Decoder(Seal).decode,
        view_of=lambda seal: seal.view,
        vote_of=lambda _seal: None,
        certificate_of=lambda seal: CertificateHeld("seal", seal.view, seal.digest, (0,)),
    ),
    configure=configure,
    make=Sequencer,
    verify_finality=lambda scheme, seal, validators, _config: verify_seal(scheme, seal, validators),
    label=lambda seal: MessageLabel("Seal", seal.view, seal.digest),
    events_per_view=4,
)

SEQUENCER_RULES = EngineRules(
    name="sequencer",
    finality="seal",
    leader_of=lambda _view, _validators, _plan: 0,
    finality_views_max=2,
)
