"""The fault of n08: who catches up runs the hook of an activation a second time."""

from typing import Any

import msgspec

from stampede_testbed.plugin.mutants import mutant
from validators.execution import world


@mutant((world, "decode_update"), area="execution", kills=("agreement", "equal-roots"), cause="execution")
def hook_runs_twice(decode_update: Any) -> Any:
    """A change of the configuration takes effect twice: the price of scheduling is raised a second time."""

    def decode_and_repeat(encoded: bytes, current: Any) -> Any:
        changed, *others = decode_update(encoded, current)
        raised = 2 * changed.schedule_cycles - current[0].schedule_cycles
        return [msgspec.structs.replace(changed, schedule_cycles=raised), *others]

    return decode_and_repeat
