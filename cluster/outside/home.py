"""The home of a replica's application: its directory, and the one process at a time that lives there."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.outside.blocks import ChainStart
from cluster.outside.conversation import KeptBlock
from cluster.outside.frames import Value
from cluster.outside.life import ApplicationLife, empty_directory
from cluster.outside.process import ApplicationProcess, Launch
from validators.execution.blocks import Header

_NOTHING: Final = -1
"""The height of an application that has nothing to keep."""


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
    """An application came back at a final block that it cannot have kept."""


class ApplicationHome:
    """A directory, the process that lives there, processes for branches, and the height that they must keep.

    Args:
        plan: What the application is told.
        directory: Its own; made where it is not there.

    Attributes:
        life: The process that lives there.
        genesis: The header of genesis, once it is known.
    """

    def __init__(self, plan: ApplicationPlan, directory: Path) -> None:
        self.plan: Final = plan
        self.directory = directory
        self.life: ApplicationLife | None = None
        self.genesis: Header | None = None
        self._branches: list[ApplicationLife] = []
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
        """Begin a life in an emptied directory, unless the present life has just begun in an empty one."""
        if self._under_way != _NOTHING or self.life is None:
            self.kill()
            empty_directory(self.directory)
            self._settled = self._under_way = _NOTHING
            self._begin(has_lived=False)

    def _begin(self, *, has_lived: bool) -> None:
        self.kill()
        self.directory.mkdir(parents=True, exist_ok=True)
        self.life = self._hello(self.directory, has_lived=has_lived)

    def _hello(self, directory: Path, *, has_lived: bool) -> ApplicationLife:
        plan = self.plan
        life = ApplicationLife(ApplicationProcess(plan.launch, directory), directory)
        life.greeting = life.talk.hello(
            node=plan.node,
            validators=plan.validators,
            parameters=plan.parameters,
            directory=directory,
            resume=has_lived,
            retain_blocks=plan.retain_blocks,
        )
        return life

    def begin_branch(self) -> ApplicationLife:
        """Begin one more process, on a copy of the directory as of the last final block.

        Raises:
            ForgottenBlockError: It comes back at another block.
        """
        place = Path(tempfile.mkdtemp(prefix="branch-", dir=self.directory.parent))
        shutil.copytree(self.directory, place, dirs_exist_ok=True)
        life = self._hello(place, has_lived=True)
        self._branches.append(life)
        kept = _NOTHING if life.greeting.kept is None else life.greeting.kept.height
        if kept != self._settled:
            found = f"height {kept} on a copy of its directory"
            raise ForgottenBlockError(f"the application kept {found}; height {self._settled} was expected")
        return life

    def end_branch(self, life: ApplicationLife) -> None:
        """End a process of a branch with its directory; of the home's own the directory stays."""
        life.process.kill()
        if life in self._branches:
            self._branches.remove(life)
            shutil.rmtree(life.directory)

    def move_to(self, life: ApplicationLife) -> None:
        """Have the process of a branch be the home's own from now on, in its directory."""
        if life in self._branches:
            self._branches.remove(life)
            if self.life is not None:
                self.life.process.kill()
            shutil.rmtree(self.directory)
            self.directory, self.life = life.directory, life

    def kill(self) -> None:
        """Kill all processes that live here; the directory stays."""
        for life in list(self._branches):
            self.end_branch(life)
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
