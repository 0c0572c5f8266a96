"""The adversaries of a consensus engine: general behaviours, and the engine's own behaviours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from faults.byzantine.adversary import Adversary, Behaviour, Orders
from faults.byzantine.engine_votes import EngineVotes
from network.chance import Chance
from network.types import NodeId
from validators.consensus.interface import EngineConfig
from validators.consensus.kind import EngineKind
from validators.consensus.signing import Scheme

BehaviourMaker: TypeAlias = Callable[[Adversary, str, Orders], Behaviour]
"""Makes a behaviour of an adversary from the name and the keys of a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAdversaries:
    """The part of an engine's adversaries that no other engine has.

    Attributes:
        kind: The engine.
        make_votes: Makes the votes of a validator, from its number, its key and the cluster's configuration.
        behaviours: The engine's own behaviours, by name.
        forms: The forms of behaviours that have several.
        finality_forms: The ways in which its votes can break a finality.
    """

    kind: EngineKind
    make_votes: Callable[[NodeId, int, Scheme, Any], EngineVotes]
    behaviours: Mapping[str, BehaviourMaker] = field(default_factory=dict)
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    finality_forms: tuple[str, ...] = ()

    def make(
        self,
        node: NodeId,
        *,
        validators: int,
        replicas: int,
        byzantine: Sequence[NodeId],
        scheme: Scheme,
        config: EngineConfig,
        chance: Chance,
        max_skew_ms: int,
        is_foreign: bool = False,
    ) -> Adversary:
        """Return the adversary of a validator, which signs with its true key; arguments as for `Adversary`."""
        return Adversary(
            node,
            validators=validators,
            replicas=replicas,
            byzantine=byzantine,
            kind=self.kind,
            votes=self.make_votes(node, validators, scheme, config),
            chance=chance,
            max_skew_ms=max_skew_ms,
            is_foreign=is_foreign,
        )
