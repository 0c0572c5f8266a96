"""The fault of n18: most validators accept a block that the rules forbid."""

from typing import Any

from stampede_testbed.plugin.mutants import mutant
from validators.execution import world


@mutant((world, "require_deployer"), area="execution", kills=("oracle",), cause="execution")
def anybody_is_a_deployer(_original: Any) -> Any:
    """A system instruction is obeyed whoever sends it."""
    return lambda _sender, _system_deployers: None
