"""The cost of the protocol of outside applications: a round trip, a process, a block of the project's own engine.

    python -m benchmarks.bench_outside

A round trip is a request with an answer of the same length, to a Python process and to node if the machine has it, in
seconds on the clock. A start ends with the answer to `hello`. The block has 100 timers that fire; its cost is
processor time of test bed and application together, beside the same engine in process.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from benchmarks.figures import head_line
from cluster.outside.blocks import ChainStart
from cluster.outside.frames import FRAMINGS, Framing
from cluster.outside.home import ApplicationHome, ApplicationPlan
from cluster.outside.layer import OutsideLayer
from cluster.outside.new import EXAMPLES
from cluster.outside.own.chain import STORM_MAKER, signed_call, small_genesis
from cluster.outside.process import ApplicationProcess, Launch
from validators.actors.storm_maker import StormOrder
from validators.execution import ExecuteActor, ProposalContext
from validators.execution.blocks import decode_transaction
from validators.identity import TransactionVerifier
from validators.restored import EMPTY_LOG
from validators.settings import make_engine

Show: TypeAlias = Callable[[str], None]

TRIPS: Final = 2_000
SIZES: Final = (200, 20_000)
STARTS: Final = 5
BLOCKS: Final = 40
TIMERS: Final = 100
COST_MAX: Final = 1.2

_ECHO: Final = """
import sys
from io import FileIO
from cluster.outside.frames import FRAMINGS
from cluster.outside.own.serve import serve
framing = FRAMINGS[sys.argv[1]]
answer = lambda ask: {"n": ask["n"], "it": framing.as_bytes(ask["it"])}
serve(framing, answer, FileIO(0, closefd=False), FileIO(1, "w", closefd=False))
"""
_NODE_ECHO: Final = """
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const ask = JSON.parse(line);
  process.stdout.write(JSON.stringify({n: ask.n, it: ask.it}) + "\\n");
});
"""


def run(show: Show = print, *, trips: int = TRIPS, blocks: int = BLOCKS) -> None:
    """Print all figures."""
    node = shutil.which("node")
    echoes = [(name, framing, (sys.executable, "-c", _ECHO, name)) for name, framing in FRAMINGS.items()]
    show("a round trip, microseconds on the clock (median)               200 bytes   20 kB")
    for name, framing, command in [*echoes, *([("json", FRAMINGS["json"], (node, "-e", _NODE_ECHO))] if node else [])]:
        kind = "node" if command[0] == node else "Python"
        spent = [1e6 * _round_trip(command, framing, size, trips) for size in SIZES]
        show(f"  {name + ', ' + kind:<56}{spent[0]:14.0f}{spent[1]:8.0f}")
    show("a start, milliseconds to the answer to `hello` (least)")
    programs = {"python": (sys.executable, "ledger.py"), "javascript": (node, "ledger.mjs")}
    for language, (program, file) in programs.items():
        if program is not None:
            least_s = min(_start((program, str(EXAMPLES / language / file))) for _ in range(STARTS))
            show(f"  {language:<56}{1e3 * least_s:14.0f}")
    own_s, outside_s = _blocks(blocks)
    cost = outside_s / own_s
    show(f"a block of {TIMERS} timers that fire, processor milliseconds")
    show(f"  the engine in process{1e3 * own_s / blocks:49.2f}")
    show(f"  behind the protocol, msgpack, both processes{1e3 * outside_s / blocks:26.2f}")
    show(head_line("outside", f"{cost:.2f} times", is_missed=cost > COST_MAX))


def _round_trip(command: tuple[str, ...], framing: Framing, size: int, trips: int) -> float:
    """Return the median seconds of a round trip of so many bytes each way."""
    with tempfile.TemporaryDirectory() as place:
        process = ApplicationProcess(Launch(command=command, folder=Path.cwd(), framing=framing), Path(place))
        spent: list[float] = []
        content = bytes(size // (2 if framing.name == "json" else 1))
        for _ in range(trips):
            began = time.perf_counter()
            process.call("echo", {"it": content})
            spent.append(time.perf_counter() - began)
        process.kill()
    return sorted(spent)[trips // 2]


def _start(command: tuple[str, ...]) -> float:
    """Return the seconds from the start of an application to the answer to `hello`."""
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        home = ApplicationHome(_plan(command, FRAMINGS["json"], {}), Path(place) / "directory")
        home.wake()
        home.kill()
    return time.perf_counter() - began


def _blocks(blocks: int) -> tuple[float, float]:
    """Return the processor seconds of the same blocks in process and behind the protocol."""
    genesis = small_genesis(START, 4)
    command = (sys.executable, "-m", "stampede_testbed.application", "--framing", "msgpack")
    plan = _plan(command, FRAMINGS["msgpack"], {"genesis": msgspec.msgpack.encode(genesis)})
    builder = make_engine(genesis, TransactionVerifier())
    order = StormOrder(count=TIMERS, delay=1, not_before=0, spread=1, ttl=20)
    made = []
    for place in range(blocks):
        call = ExecuteActor(STORM_MAKER, "make", msgspec.msgpack.encode(order))
        transaction = decode_transaction(signed_call(0, place, call, limit=9_000_000))
        timestamp_ms = builder.finalized.timestamp_ms + START.slot_ms
        context = ProposalContext(
            parent=builder.finalized_digest, view=place + 1, proposer=0, timestamp_ms=timestamp_ms
        )
        executed = builder.propose(context, [transaction])
        assert place == 0 or executed.summary.fired == TIMERS, "all timers of the block before fire"
        builder.finalize(executed.digest)
        made.append(executed.block)
    own = make_engine(genesis, TransactionVerifier())
    began = time.process_time()
    for block in made:
        own.finalize(own.execute(block).digest)
    own_s = time.process_time() - began
    with tempfile.TemporaryDirectory() as folder:
        home = ApplicationHome(plan, Path(folder) / "directory")
        layer = OutsideLayer(home, genesis, EMPTY_LOG)
        process = home.life and home.life.process
        assert isinstance(process, ApplicationProcess), "the home of a layer has one"
        before_s, began = process.processor_seconds(), time.process_time()
        for block in made:
            layer.finalize(layer.execute(block).digest)
        outside_s = time.process_time() - began + process.processor_seconds() - before_s
        home.kill()
    return own_s, outside_s


START: Final = ChainStart(chain="bench", timestamp_ms=0, timebase="slot", slot_ms=1_000)


def _plan(command: tuple[str, ...], framing: Framing, parameters: dict[str, bytes]) -> ApplicationPlan:
    launch = Launch(command=command, folder=Path.cwd(), framing=framing)
    return ApplicationPlan(launch=launch, node=0, validators=4, start=START, parameters=parameters, retain_blocks=8)


if __name__ == "__main__":
    run()
