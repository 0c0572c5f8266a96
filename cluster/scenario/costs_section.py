"""`[costs]` of a scenario: the virtual time that work takes, and how much peers get of it."""

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section
from validators.settings import Costs

_COSTS = Costs()


class CostsSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Virtual time of work, in microseconds; the defaults are the validators' own, see validators.settings.Costs."""

    verify_signature_us: NotNegative = _COSTS.verify_signature_us
    execute_us: NotNegative = _COSTS.execute_us
    block_us: NotNegative = _COSTS.block_us
    hash_write_us: NotNegative = _COSTS.hash_write_us
    sync_us: NotNegative = _COSTS.sync_us
    decode_kib_us: NotNegative = _COSTS.decode_kib_us
    serve_block_us: NotNegative = _COSTS.serve_block_us
    answers_per_second: Positive = _COSTS.answers_per_second

    def costs(self) -> Costs:
        """Return what the validators are told."""
        return Costs(**msgspec.structs.asdict(self))
