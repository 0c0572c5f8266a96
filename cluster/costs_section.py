"""`[costs]` of a scenario: the virtual time that work takes; the defaults are the validators' own."""

import msgspec

from cluster.chain_section import Section
from cluster.submission import NotNegative
from validators.settings import Costs

_COSTS = Costs()


class CostsSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Virtual time of work, in microseconds; see validators.settings.Costs."""

    verify_signature_us: NotNegative = _COSTS.verify_signature_us
    execute_us: NotNegative = _COSTS.execute_us
    block_us: NotNegative = _COSTS.block_us
    hash_write_us: NotNegative = _COSTS.hash_write_us
    sync_us: NotNegative = _COSTS.sync_us

    def costs(self) -> Costs:
        """Return what the validators are told."""
        return Costs(**msgspec.structs.asdict(self))
