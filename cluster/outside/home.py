"""The home of a replica's application: its directory, and the one process at a time that lives there."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.outside.conversation import ChainStart, KeptBlock
from cluster.outside.frames import Value
from cluster.outside.life import ApplicationLife, empty_directory
from cluster.outside.process import ApplicationProcess, Launch
from validators.execution.blocks import Header

_NOTHING: Final = -1
"""The height of one that has nothing to keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationPlan:
    """All that an application is told of its chain and its place, and the way to start it.

    Attributes:
        launch: The way to start it.
        node: The replica.
        validators: The number of validators.
        start: The beginning of the chain.
        parameters: The application's own.
        retain_blocks: Most blocks that are applied early.
    """

    launch: Launch
    node: int
    validators: int
    start: ChainStart
    parameters: Mapping[str, Value]
    retain_blocks: int


class ForgottenBlockError(Exception):
    """An application came back at another final block than those that it may have kept."""


class ApplicationHome:
    """A directory with at most one process, and what that has promised to keep.

    Args:
        plan: What the application is told.
        directory: Its own; made where it is not there.

    Attributes:
        life: The process that lives there.
        genesis: The header of genesis, once it is known.
    """

    def __init__(self, plan: ApplicationPlan, directory: Path) -> None:
        self.plan: Final = plan
        self.directory: Final = directory
        self.life: ApplicationLife | None = None
        self.genesis: Header | None = None
        self._settled = self._under_way = _NOTHING

    def settle(self, height: int, ask: Callable[[], None]) -> None:
        """Ask for something that makes a height final, and note that the application has to keep it then."""
        self._under_way = height
        ask()
        self._settled = height

    def wake(self) -> KeptBlock | None:
        """Begin the next life, after killing the one before; return the last final block that it kept.

        Raises:
            ApplicationLostError: It gives no answer that can be used.
            ForgottenBlockError: It kept another height than it has answered for, or was asked for last.
            LaunchError: It does not start.
        """
        self._begin(has_lived=self._under_way != _NOTHING)
        assert self.life is not None, "it has just begun"
        kept = self.life.greeting.kept
        height = _NOTHING if kept is None else kept.height
        if not self._settled <= height <= max(self._settled, self._under_way):
            found = "nothing" if kept is None else f"height {height}"
            wanted = f"{self._settled}" if self._settled == self._under_way else f"{self._settled} to {self._under_way}"
            raise ForgottenBlockError(f"the application kept {found} over a restart; height {wanted} was expected")
        return kept

    def wake_anew(self) -> None:
        """Have a life in an emptied directory; one that has just begun there, and was told nothing, stays."""
        if self._under_way != _NOTHING or self.life is None:
            self.kill()
            empty_directory(self.directory)
            self._settled = self._under_way = _NOTHING
            self._begin(has_lived=False)

    def _begin(self, *, has_lived: bool) -> None:
        self.kill()
        self.directory.mkdir(parents=True, exist_ok=True)
        plan = self.plan
        self.life = ApplicationLife(ApplicationProcess(plan.launch, self.directory), self.directory)
        self.life.greeting = self.life.talk.hello(
            node=plan.node,
            validators=plan.validators,
            parameters=plan.parameters,
            directory=self.directory,
            resume=has_lived,
            retain_blocks=plan.retain_blocks,
        )

    def kill(self) -> None:
        """Kill the process, if one lives."""
        if self.life is not None:
            self.life.process.kill()
            self.life = None

    def scratch(self) -> "ScratchHome":
        """Return a home for a moment: a fresh process in an empty directory beside this one."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return ScratchHome(self.plan, Path(tempfile.mkdtemp(prefix="scratch-", dir=self.directory.parent)))


class ScratchHome(ApplicationHome):
    """A home that is gone with its `with` block."""

    def __enter__(self) -> ApplicationLife:
        self.wake()
        assert self.life is not None, "it has just begun"
        return self.life

    def __exit__(self, *_error: object) -> None:
        self.kill()
        shutil.rmtree(self.directory)
