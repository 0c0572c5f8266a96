"""The progress of a run: a picture a few times a second on a terminal, elsewhere the column log.

It goes to standard error and results to standard output, so that output can be piped. The wall clock is read here to
decide when to draw. Its time reaches neither the run nor the column log, except the lines about the work after a run.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, Self

from cluster.live.columns import ColumnLog
from cluster.live.estimate import Aim, Estimate
from cluster.live.replicas import Replicas
from cluster.scenario.model import Scenario
from network.events import Event, EventRouter
from report.visible import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

DRAW_SECONDS: Final = 0.25
"""A picture is drawn this often at most."""

DRAW_SHARE: Final = 40
"""Drawing takes at most this fraction (1 / DRAW_SHARE) of the processor time, on a busy machine too."""

NOTE_SECONDS: Final = 2.0
"""Without a terminal, the work after a run is reported after this time."""


class ProgressView(Aim, Protocol):
    """The live figures of a run; see cluster.runtime.progress.Progress."""

    healed_us: int | None

    @property
    def stage(self) -> str: ...  # noqa: D102
    @property
    def aim(self) -> str: ...  # noqa: D102


class LiveProgress:
    """Shows a run while it goes on, unless it is quiet."""

    def __init__(self, *, title: str, is_quiet: bool = False, console: "Console | None" = None) -> None:
        self._given = console
        self._title = title
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._started = time.perf_counter()
        self._next_draw = self._started
        self._next_work_s = 0.0
        self._picture_s = float("inf")
        self._spent: dict[str, float] = {}
        self._replicas: Replicas | None = None
        self._router = EventRouter()
        self._log: ColumnLog | None = None
        self._estimate: Estimate | None = None
        self._latest: ProgressView | None = None
        self._stage = ""
        self._is_over = False
        self.drawing_s = 0.0
        """Processor time that pictures took, for the benchmark."""

    @cached_property
    def _console(self) -> "Console":
        # A worker of a sweep is quiet and never needs it: loading rich is a tenth of its start.
        from report.layout import VisibleConsole  # noqa: PLC0415

        return self._given or VisibleConsole(stderr=True)

    def __enter__(self) -> Self:
        if not self._is_quiet and self._console.is_terminal:
            from rich.live import Live  # noqa: PLC0415 - only a terminal has pictures

            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._log is not None:
            self._log.end()
        if self._live is not None:
            self._live.stop()

    @property
    def is_watching(self) -> bool:
        """Whether anybody looks: a quiet run hands no event on."""
        return self._replicas is not None

    def begin(self, scenario: Scenario) -> None:
        """Get ready for the run of a scenario."""
        if self._is_quiet:
            return
        self._replicas = Replicas(scenario)
        self._is_over = False
        self._estimate = Estimate(scenario)
        if self._live is not None:
            self._router = EventRouter(self._replicas.handlers)
            return
        self._log = ColumnLog(self._replicas, self._print)
        self._router = EventRouter(self._replicas.handlers, self._log.handlers)
        self._log.begin(self._title)

    def observe(self, event: Event) -> None:
        """See an event of the run, in the order of the log."""
        self._router.route(event)

    def applied(self, node: int, waiting: int, dead: int) -> None:
        """See how many timers wait at a replica after a block, and how many of them are dead."""
        if self._replicas is not None:
            self._replicas.applied(node, waiting, dead)

    def show(self, progress: ProgressView) -> None:
        """Draw, if it is time to; off a terminal, say that another stage has begun."""
        if self._replicas is None:
            return
        self._latest = progress
        # Faults have lines of their own.
        if self._log is not None and progress.healed_us is not None and progress.stage != self._stage:
            self._stage = progress.stage
            self._log.say(progress.now_us, f"the run goes on {progress.aim}")
        elif self._live is not None and self._is_time_to_draw():
            self._draw(progress.aim)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Note how long a part of the judging takes; nothing of it gets into what is written."""
        started = time.perf_counter()
        yield
        self._spent[part] = time.perf_counter() - started

    @property
    def seconds(self) -> float:
        """Real seconds so far."""
        return time.perf_counter() - self._started

    @property
    def times(self) -> str:
        """Real time so far, and what each timed part took of it."""
        parts = [f", {part} {seconds:.1f} s of it" for part, seconds in self._spent.items()]
        return f"took {self.seconds:.1f} s{''.join(parts)}"

    def note(self, message: str) -> None:
        """Say what goes on besides the run itself."""
        seconds = time.perf_counter() - self._started
        if self._live is not None:
            self._is_over = True
            self._draw(message)
        elif self._log is not None and seconds > NOTE_SECONDS:
            self._log.end()
            self._print(f"{'':>10}  after {seconds:.1f} s: {message}")

    def _is_time_to_draw(self) -> bool:
        return time.perf_counter() >= self._next_draw and time.process_time() >= self._next_work_s

    def _draw(self, aim: str) -> None:
        assert self._live is not None, "pictures are drawn on a terminal"
        started, before_s = time.perf_counter(), time.process_time()
        self._live.update(self._picture(aim, started), refresh=True)
        took_s = time.process_time() - before_s
        self.drawing_s += took_s
        self._next_draw = started + DRAW_SECONDS
        # Not by the latest picture: the first pictures load code, and would prevent a second picture of a short run.
        self._picture_s = min(self._picture_s, took_s)
        self._next_work_s = before_s + DRAW_SHARE * self._picture_s

    def _picture(self, aim: str, now: float) -> "RenderableType":
        from rich.text import Text  # noqa: PLC0415 - as for `Live`

        from cluster.live.screen import LiveFigures, picture  # noqa: PLC0415

        if self._latest is None or self._replicas is None or self._estimate is None:
            return Text(f"{self._title}: {aim}", no_wrap=True, overflow="ellipsis")
        real_s = now - self._started
        done, left_s = self._estimate.progress(self._latest, real_s)
        # Of what follows a run nobody knows how long it takes.
        left_s = None if self._is_over else left_s
        moment = LiveFigures(self._title, self._latest.now_us / 1e6, real_s, done, left_s, aim)
        return picture(moment, self._replicas, lines=self._console.height)

    def _print(self, line: str) -> None:
        self._console.print(visible(line), soft_wrap=True)
