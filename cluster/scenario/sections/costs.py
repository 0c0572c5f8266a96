"""`[costs]` of a scenario: the virtual time that work takes, and how much peers get of it."""

from typing import Annotated

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section, means
from validators.costs import Costs

_COSTS = Costs()


class CostsSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Virtual time of work, in microseconds; the defaults are the validators' own, see validators.costs.Costs."""

    verify_signature_us: Annotated[NotNegative, means("Verifying a signature.")] = _COSTS.verify_signature_us
    execute_us: Annotated[NotNegative, means("Each thousand cycles begun of a block.")] = _COSTS.execute_us
    block_us: Annotated[NotNegative, means("A block itself.")] = _COSTS.block_us
    hash_write_us: Annotated[NotNegative, means("Each key that a block writes.")] = _COSTS.hash_write_us
    sync_us: Annotated[NotNegative, means("A sync of the disk.")] = _COSTS.sync_us
    decode_kib_us: Annotated[NotNegative, means("Each whole KiB of a message that arrives.")] = _COSTS.decode_kib_us
    serve_block_us: Annotated[NotNegative, means("Each block of an answer.")] = _COSTS.serve_block_us
    transaction_us: Annotated[
        NotNegative, means("Each transaction of a block of an application that states no cost.")
    ] = _COSTS.transaction_us
    payload_kib_us: Annotated[NotNegative, means("Each KiB begun of the transactions of such a block.")] = (
        _COSTS.payload_kib_us
    )
    answers_per_second: Annotated[
        Positive, means("Requests of each peer that are answered within a second, of each sort.")
    ] = _COSTS.answers_per_second

    def costs(self) -> Costs:
        """Return the costs of a validator's work."""
        return Costs(**msgspec.structs.asdict(self))
