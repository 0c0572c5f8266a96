"""The fault of n22: after a reorganization one key's place is that of the branch that was given up."""

from typing import Any

from stampede_testbed.plugin.mutants import mutant
from validators.execution.schema import ACCOUNTS
from validators.state import history


@mutant((history, "restore_locations"), area="state", kills=("indexes", "derived"), cause="clean-up")
def row_of_the_other_branch_stays(restore: Any) -> Any:
    """A rewind of several blocks leaves one key with the place of another key of its table."""

    def restore_but_one(locations: Any, undos: Any) -> None:
        undone = list(undos)
        restore(locations, undone)
        written = [key for key in undone[-1].displaced if key in locations] if len(undone) > 1 else []
        accounts = [key for key in written if key[0] == ACCOUNTS.code]
        if len(accounts) > 1:
            locations[accounts[0]] = locations[accounts[1]]

    return restore_but_one
