"""The isolation of each leader in turn."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from faults.coverage.required import VERIFYING, RequiredPoints
from faults.injection.context import FaultContext
from faults.injection.links import crossing_links, cut
from faults.injection.steps import Edge, window
from faults.kinds.base import Family, Loss, Part, Plan, Windowed, moments_of, windows_ms
from faults.kinds.drawing import Drawn, Plain, draw_window
from faults.kinds.fields import Milliseconds, Requirement, both_or_neither, means
from faults.kinds.wording import seconds
from network.draw import Draw

_NOBODY: Final = -1


class IsolateLeader(Windowed, tag="isolate-leader", kw_only=True, frozen=True):
    """Cut off the leader of the greatest view that any validator has entered; with ``open_ms`` it comes and goes."""

    counts: ClassVar[str] = "messages lost"
    cells: ClassVar[RequiredPoints] = (*VERIFYING, ("voted", "leader"), ("leaving", "voter"))
    family: ClassVar[Family] = "network"
    reaches: ClassVar[tuple[Part, ...]] = ("links",)

    cut_ms: Annotated[
        Milliseconds,
        means("How long the leader is cut off each time; only together with `open_ms`."),
    ] = 0
    open_ms: Annotated[Milliseconds, means("How long no leader is cut off in between.")] = 0

    def check(self, plan: Plan) -> Iterator[Requirement]:
        yield both_or_neither("open_ms", cut_ms=self.cut_ms, open_ms=self.open_ms)

    def describe(self) -> str:
        rhythm = f" for {seconds(self.cut_ms)}, then free for {seconds(self.open_ms)}, and again"
        isolated = f"the leader of the current view is cut off from all others{rhythm if self.open_ms else ''}"
        return f"{self.when()} {isolated}."

    def losses(self, nodes: int) -> Iterator[Loss]:
        yield Loss(*self.span(), of_leader=True, on_ms=self.cut_ms, rest_ms=self.open_ms)

    def inject(self, context: FaultContext) -> Iterator[Edge]:
        isolation = _Isolation(context)
        for begin_ms, end_ms in windows_ms(self.start_ms, self.stop_ms, self.cut_ms, self.open_ms):
            yield from window(begin_ms, end_ms, isolation.begin, isolation.end)

    def moments(self) -> int:
        """Return twice the number of isolations."""
        if not self.open_ms:
            return 2
        return moments_of(self.stop_ms - self.start_ms, self.cut_ms + self.open_ms)

    @classmethod
    def draws(cls) -> tuple[Drawn, ...]:
        return (Drawn(3, "isolate-leader", _draw),)


class _Isolation:
    """The cut around one validator, which moves."""

    def __init__(self, context: FaultContext) -> None:
        self._context = context
        self._isolated = _NOBODY

    def begin(self) -> None:
        """Cut off the present leader, and each following leader."""
        self._context.follow_leader(self._follow)
        self._move(self._context.machinery.leader())

    def end(self) -> None:
        """Let the leader rejoin."""
        self._context.unfollow_leader()
        self._mend()

    def _follow(self) -> None:
        leader = self._context.machinery.leader()
        if leader != self._isolated:
            self._context.machinery.trace(self._context.name, "move")
            self._move(leader)

    def _move(self, leader: int) -> None:
        if leader == self._isolated:
            return
        self._mend()
        if leader == _NOBODY:
            return
        self._isolated = leader
        nodes = self._context.nodes
        others = tuple(node for node in range(nodes) if node != leader)
        cut(self._context, crossing_links(((leader,), others), nodes))

    def _mend(self) -> None:
        if self._isolated != _NOBODY:
            self._context.bus.lift(self._context.name)
            self._isolated = _NOBODY


def _draw(draw: Draw, name: str, _validators: int) -> Plain:
    window_ms = draw_window(draw, name)
    return {**window_ms, "cut_ms": 700, "open_ms": 1_300} if draw.chance(f"{name}.is_flapping", 50) else window_ms
