"""Tasks on a Dask cluster: tasks go out, results and the run directories of bad seeds come back.

A worker needs this program in the same version, and no common file system. Only the sweep writes results. When a
worker is lost, the scheduler gives its tasks to another worker; a result counts once, on arrival. A task that ends
every worker that runs it is a failed result.

A process runs one task at a time, however many threads its worker has: its replay process answers one at a time.
"""

import io
import logging
import pickle
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NamedTuple, Self

from checker.record.errors import ReportedError
from checker.record.places import put_in_place, scratch_directory, work_directory
from checker.record.program import PACKAGE, install_command
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, broken_result, run_task
from cluster.campaign.workers import TASKS_PER_JOB

CONNECT_SECONDS: Final = 5
"""Seconds to wait for the scheduler's answer, without the seconds for loading dask."""

WORKERS_SECONDS: Final = 30
"""Seconds to wait for a first worker of the cluster."""

_one_at_a_time: Final = threading.Lock()


class DaskError(ReportedError):
    """The cluster cannot be used: it is not there, has no workers, or runs another version of this program."""

    exit_code: ClassVar[int] = 6


class Parcel(NamedTuple):
    """The answer to a task.

    Attributes:
        result: The result.
        directory: Its run directory as a tar file, empty where none was kept.
    """

    result: SeedResult
    directory: bytes


def run_remotely(task: Task, run_one: Callable[[Task], SeedResult] = run_task) -> Parcel:
    """Run a task in a worker of the cluster."""
    with _one_at_a_time, scratch_directory("task") as scratch:
        result = run_one(task._replace(runs=str(scratch) if task.runs else ""))
        packed = io.BytesIO()
        if result.directory:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(result.directory, arcname=Path(result.directory).name)
        return Parcel(result, packed.getvalue())


class _Call:
    """A call that is made where its pickle is loaded.

    A task is `pickle.loads` of a `_Call`: the scheduler decodes the functions of tasks, and this one needs no code of
    this program.
    """

    def __init__(self, function: Callable[[bytes], bytes], argument: bytes) -> None:
        self._function = function
        self._argument = argument

    def __reduce__(self) -> tuple[Callable[[bytes], bytes], tuple[bytes]]:
        return self._function, (self._argument,)


class DaskWorkers:
    """Judges tasks on the Dask cluster at an address, as `sweep.Workers` does in processes of this machine.

    Args:
        address: The address of the scheduler, for example ``tcp://10.0.0.1:8786``.
        run_one: Runs a task in a worker: a function of a module.

    Raises:
        DaskError: No scheduler answers there, it has no workers, or dask is not installed here.
    """

    def __init__(self, address: str, run_one: Callable[[Task], SeedResult] = run_task) -> None:
        self._run = partial(run_remotely, run_one=run_one)
        self.under_way: list[Task] = []
        """The tasks that the cluster had when an error ended the campaign."""
        self._pending: dict[Any, Task] = {}
        try:
            # Takes a second, and only this command needs it.
            distributed: Any = import_module("distributed")
            # By name: the module is in a layer above, and a worker imports this package through it.
            self._call: Any = import_module(f"{PACKAGE}._remote").call
        except ModuleNotFoundError as missing:
            raise DaskError(f"{missing.name} is not installed: {install_command('dask')}") from None
        # This class reports a lost connection in one line; dask's own report is long.
        for name in ("distributed", "distributed.client", "distributed.protocol"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._distributed = distributed
        try:
            self._client = _within(CONNECT_SECONDS, lambda: distributed.Client(address, timeout=CONNECT_SECONDS))
        except Exception as error:  # noqa: BLE001 - the peer may answer anything, and dask raises any exception then
            raise DaskError(f"no scheduler answers at {address}: {_first_line(error)}") from None
        try:
            self._client.wait_for_workers(1, timeout=WORKERS_SECONDS)
        except TimeoutError:
            self._client.close()
            raise DaskError(f"the cluster at {address} has no workers") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.under_way = list(self._pending.values())
        self._client.close()

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]:
        """Run tasks and yield each with its result, in the order in which they are done.

        Raises:
            DaskError: A worker runs another version of this program, or the scheduler is gone.
        """
        queue = iter(tasks)
        pending = self._pending = {}
        while True:
            # Negative where workers have gone meanwhile.
            for task in islice(queue, max(0, self._places() - len(pending))):
                call = pickle.dumps(_Call(self._call, pickle.dumps((self._run, task))))
                pending[self._client.submit(pickle.loads, call, pure=False)] = task
            if not pending:
                return
            finished = self._wait_for_any(list(pending))
            for future in finished:
                task = pending.pop(future)
                yield task, self._result_of(future, task)

    def _places(self) -> int:
        # Asked each time: workers come and go.
        return max(1, len(self._client.scheduler_info(n_workers=-1)["workers"])) * TASKS_PER_JOB

    def _wait_for_any(self, futures: list[Any]) -> list[Any]:
        try:
            done = self._distributed.wait(futures, return_when="FIRST_COMPLETED").done
        except (OSError, self._distributed.CancelledError) as error:
            raise DaskError(f"the cluster is gone: {_first_line(error)}") from None
        return [future for future in futures if future in done]

    def _result_of(self, future: Any, task: Task) -> SeedResult:  # noqa: ANN401 - distributed is not typed
        try:
            parcel: Parcel = pickle.loads(future.result())  # noqa: S301 - from our workers, and Dask pickles too
        except self._distributed.KilledWorker:
            return broken_result(task, "the task ended every worker: it computes for ever, or has no memory")
        except (OSError, self._distributed.CancelledError) as error:
            raise DaskError(f"the cluster is gone: {_first_line(error)}") from None
        finally:
            future.release()
        if parcel.result.fingerprint != task.fingerprint:
            raise DaskError("a worker of the cluster runs another version of this program")
        if not parcel.directory:
            return parcel.result
        return parcel.result._replace(directory=_unpack(parcel.directory, Path(task.runs)))


def _unpack(packed: bytes, runs: Path) -> str:
    with work_directory(runs, "parcel") as scratch:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(scratch, filter="data")
        (source,) = scratch.iterdir()
        return str(put_in_place(source, runs / source.name))


def _within(seconds: int, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - distributed is not typed
    """Return or raise the outcome of a call; raise TimeoutError if it takes longer, and leave its thread running.

    Dask's own limit covers the connection only: a peer may accept a connection and never answer.
    """
    made: Future[Any] = Future()

    def call() -> None:
        try:
            made.set_result(make())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            made.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    try:
        return made.result(seconds)
    except TimeoutError as error:
        raise TimeoutError(str(error) or f"nothing came within {seconds} seconds") from None


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(":") or type(error).__name__
