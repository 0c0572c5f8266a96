"""Names for an actor of a plug-in (docs/extend/actor.md)."""

from validators.actors import Actor, FeeTerms, Host, Revert
from validators.actors.orders import decode_order, require_empty, require_own_timer, require_owner, schedule_on_terms

__all__ = [
    "Actor",
    "FeeTerms",
    "Host",
    "Revert",
    "decode_order",
    "require_empty",
    "require_own_timer",
    "require_owner",
    "schedule_on_terms",
]
