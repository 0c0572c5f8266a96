"""The home of a replica's application: its directory, and the only process that lives there."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.outside.blocks import ChainStart
from cluster.outside.conversation import KeptBlock
from cluster.outside.frames import Value
from cluster.outside.life import PLAIN_HOST, ApplicationHost, ApplicationLife, empty_directory
from cluster.outside.process import Launch
from cluster.scenario.sections.application import MAIN
from validators.execution.blocks import Header

NOTHING_KEPT: Final = KeptBlock(height=-1, id=b"", root=b"")
"""An application that has kept no block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationPlan:
    """The application's data on its chain and its place, and the way to start it.

    Attributes:
        launch: The way to start it.
        build: The name of its build.
        node: The replica; None where only transactions are made.
        validators: The number of validators.
        start: The beginning of the chain.
        parameters: The application's own parameters.
        retain_blocks: Most blocks that are applied early; 0 if none are.
    """

    launch: Launch
    build: str = MAIN
    node: int | None
    validators: int
    start: ChainStart
    parameters: Mapping[str, Value]
    retain_blocks: int


class ForgottenBlockError(Exception):
    """An application came back at a final block that it cannot have kept."""


class ApplicationHome:
    """A directory, the process that lives there, processes for branches, and the height that they must keep.

    Args:
        plan: The plan of the application.
        directory: Its own directory; made if it does not exist.
        host: Starts the processes, and observes each call.
        has_lived: Whether an earlier process of the test bed has used the directory; its content is not known here.

    Attributes:
        plan: The plan of the application; another build has another from its next life on.
        life: The process that lives there.
        genesis: The header of genesis, once it is known.
    """

    def __init__(
        self, plan: ApplicationPlan, directory: Path, host: ApplicationHost = PLAIN_HOST, *, has_lived: bool = False
    ) -> None:
        self.plan = plan
        self._place: Final = directory
        self.directory = directory
        self.host: Final = host
        self.life: ApplicationLife | None = None
        self.genesis: Header | None = None
        self._branches: list[ApplicationLife] = []
        self._has_lived = has_lived
        self._is_known = not has_lived
        self._settled = self._under_way = NOTHING_KEPT
        self._made = 0

    def settle(self, kept: KeptBlock, ask: Callable[[], None]) -> None:
        """Send a request that makes a block final, and note that the application has to keep it then."""
        self._under_way, self._has_lived = kept, True
        ask()
        self._settled, self._is_known = kept, True

    def wake(self) -> KeptBlock | None:
        """Begin the next life, after killing the previous life; return the last final block that it kept.

        Raises:
            ApplicationLostError: It gives no usable answer.
            ForgottenBlockError: It kept a block other than its last answered or last requested block.
            LaunchError: It does not start.
        """
        self._begin()
        assert self.life is not None, "it has just begun"
        kept = self.life.greeting.kept
        self._judge(kept or NOTHING_KEPT)
        return kept

    def _judge(self, kept: KeptBlock) -> None:
        first, last = self._settled, self._under_way
        if last.height < first.height:
            last = first
        is_between = first.height < kept.height < last.height
        if self._is_known and not is_between and kept not in {first, last}:
            expected = _named(first) if first == last else f"{_named(first)} to {_named(last)}"
            sentence = f"the application kept {_named(kept)} over a restart; {expected} was expected"
            self.host.note_fault("kept-block", max(kept.height, 0), sentence)
            raise ForgottenBlockError(sentence)

    def wake_anew(self) -> None:
        """Begin a life in an emptied directory, unless the present life has just begun in an empty directory."""
        if self._has_lived or self.life is None:
            self.empty()
            self._begin()

    def empty(self) -> None:
        """Kill the process that lives here, and leave the directory as new."""
        self.kill()
        empty_directory(self.directory)
        self.host.note("empty", self.directory)
        self._settled = self._under_way = NOTHING_KEPT
        self._has_lived, self._is_known = False, True

    def _begin(self) -> None:
        self.kill()
        if self.directory != self._place:
            # Between two lives: a later run finds what is kept by its name.
            self.directory.rename(self._place)
            self.host.note("name", self.directory, self._place)
            self.directory = self._place
        self.directory.mkdir(parents=True, exist_ok=True)
        self.life = self._hello(self.directory, resume=self._has_lived)

    def _hello(self, directory: Path, *, resume: bool) -> ApplicationLife:
        plan = self.plan
        life = ApplicationLife(self.host.begin(plan.launch, directory, plan.build), directory, self._watcher)
        # Known before it answers: a process that is lost in the midst of its first call has to be killed too.
        self._branches.append(life)
        life.greeting = life.talk.hello(
            node=plan.node,
            validators=plan.validators,
            parameters=plan.parameters,
            directory=directory,
            resume=resume,
            retain_blocks=plan.retain_blocks,
        )
        self._branches.remove(life)
        return life

    @property
    def _watcher(self) -> ApplicationHost:
        return self.host

    def begin_branch(self) -> ApplicationLife:
        """Begin a further process, on a copy of the directory as of the last final block.

        Raises:
            ForgottenBlockError: It comes back at another block.
        """
        place = self._new_place("branch")
        shutil.copytree(self.directory, place, dirs_exist_ok=True)
        self.host.note("copy", self.directory, place)
        life = self._hello(place, resume=True)
        self._branches.append(life)
        kept = life.greeting.kept or NOTHING_KEPT
        if kept != self._settled:
            sentence = f"the application kept {_named(kept)} on a copy of its directory; {_named(self._settled)} was"
            sentence += " expected"
            self.host.note_fault("kept-block", max(kept.height, 0), sentence)
            raise ForgottenBlockError(sentence)
        return life

    def end_branch(self, life: ApplicationLife) -> None:
        """End a process of a branch with its directory; the home's own directory stays."""
        life.process.kill()
        if life in self._branches:
            self._branches.remove(life)
            self._remove(life.directory)

    def move_to(self, life: ApplicationLife) -> None:
        """Make the process of a branch the home's own from now on, in its directory."""
        if life in self._branches:
            self._branches.remove(life)
            if self.life is not None:
                self.life.process.kill()
            self._remove(self.directory)
            self.directory, self.life = life.directory, life

    def kill(self) -> None:
        """Kill all processes that live here; the directory stays."""
        for life in list(self._branches):
            life.process.kill()
            self._branches.remove(life)
            if life.directory != self.directory:
                self._remove(life.directory)
        if self.life is not None:
            self.life.process.kill()
            self.life = None

    def scratch(self) -> "ScratchHome":
        """Return a temporary home: a fresh process in an empty directory beside this directory."""
        self.directory.mkdir(parents=True, exist_ok=True)
        return ScratchHome(self.plan, self._new_place("scratch"), self.host)

    def _new_place(self, name: str) -> Path:
        # Numbered and not drawn: a record names directories.
        self._made += 1
        place = self.directory.parent / f"{name}-{self._made}"
        place.mkdir()
        return place

    def _remove(self, directory: Path) -> None:
        shutil.rmtree(directory)
        self.host.note("remove", directory)


class ScratchHome(ApplicationHome):
    """A home that is removed with its `with` block; the loss of its process harms no other process."""

    @property
    def _watcher(self) -> ApplicationHost:
        return PLAIN_HOST

    def __enter__(self) -> ApplicationLife:
        try:
            self.wake()
        except BaseException:
            # A process that sends no hello leaves nothing behind either.
            self.__exit__()
            raise
        assert self.life is not None, "it has just begun"
        return self.life

    def __exit__(self, *_error: object) -> None:
        self.kill()
        self._remove(self.directory)


def _named(kept: KeptBlock) -> str:
    return "nothing" if kept == NOTHING_KEPT else f"height {kept.height} with root {kept.root.hex()[:12]}"
