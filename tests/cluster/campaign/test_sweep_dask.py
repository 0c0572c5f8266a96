"""A sweep on a Dask cluster of two worker processes: the same results, whatever becomes of a worker or of the sweep."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress

import pytest
from distributed import LocalCluster

from checker.record.fingerprint import Code
from checker.record.root import PROJECT_ROOT
from cluster.campaign.dask_workers import DaskError, DaskWorkers
from cluster.campaign.results_db import ResultsFile
from cluster.campaign.sweep import sweep
from cluster.campaign.workers import Workers
from cluster.cli.main import main
from cluster.scenario.load import encode_scenario, load_scenario
from tests.support.results_files import count_rows, read_rows

SCENARIO = encode_scenario(load_scenario("calm", ["run.until_height=3"]))
SEEDS = range(1, 7)


@pytest.fixture(scope="module")
def dask():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


def results_of(path, workers, *, seeds=SEEDS, scenario=SCENARIO, on_result=lambda *_: None):
    """Sweep; return what the results file says of each seed, but for how long it took."""
    with ResultsFile(path / "r.sqlite", "calm") as results:
        sweep(lambda _: scenario, seeds, results=results, runs=path, jobs=2, on_result=on_result, workers=workers)
        return [result._replace(milliseconds=0) for result in results.results()]


@pytest.mark.soak
def test_a_cluster_gives_the_same_results_and_a_lost_worker_costs_no_seed(dask, tmp_path):
    """A worker is killed with the first result: what it had is judged by another one, and nothing twice."""

    def kill_a_worker(tally, _result):
        if tally.done == 1:
            os.kill(next(iter(dask.workers.values())).pid, signal.SIGKILL)

    here = results_of(tmp_path / "here", Workers(1))
    there = results_of(tmp_path / "there", DaskWorkers(dask.scheduler_address), on_result=kill_a_worker)

    assert [result.seed for result in there] == list(SEEDS)
    assert there == here


@pytest.mark.soak
def test_a_run_directory_comes_back_from_a_worker(dask, tmp_path):
    short = encode_scenario(load_scenario("calm", ["run.until_height=2", "run.time_limit_ms=1_500"]))

    (result,) = results_of(tmp_path, DaskWorkers(dask.scheduler_address), seeds=[3], scenario=short)

    assert result.verdict == "inconclusive"
    assert result.directory == str(tmp_path / "calm-3")
    assert (tmp_path / "calm-3" / "manifest.json").is_file()


@pytest.mark.soak
def test_a_killed_sweep_goes_on_on_the_cluster(dask, tmp_path):
    path = tmp_path / "r.sqlite"
    command = [sys.executable, "run_cluster.py", "sweep", "calm", "--set", "run.until_height=3", "--seeds", "1..8"]
    command += ["--runs", str(tmp_path), "--results", str(path), "--dask", dask.scheduler_address, "--json"]
    with subprocess.Popen(command, cwd=PROJECT_ROOT, stdout=subprocess.DEVNULL) as sweeping:
        while not (path.exists() and count_rows(path)):
            assert sweeping.poll() is None, "the sweep ended before it could be killed"
            os.sched_yield()
        sweeping.kill()
    there = read_rows(path)

    assert main(command[2:]) == 0
    rows = read_rows(path)
    assert len(there) < len(rows)
    assert [row[0] for row in rows] == list(range(1, 9))
    assert [row for row in rows if row in there] == there


@pytest.mark.soak
def test_a_worker_of_another_version_is_refused(dask, tmp_path, monkeypatch):
    monkeypatch.setattr("checker.record.plugins.this_code", lambda: Code("ab" * 32))

    with pytest.raises(DaskError, match="another version"):
        results_of(tmp_path, DaskWorkers(dask.scheduler_address), seeds=[1])


# These come last: a client that found no scheduler ends its threads in its own time, in this process.
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "no address"])
def test_a_cluster_that_is_not_there_is_told_in_one_line(address, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("cluster.campaign.dask_workers.CONNECT_SECONDS", 1)
    assert main(["sweep", "calm", "--seeds", "1", "--dask", address, "--runs", str(tmp_path)]) == 6
    assert capsys.readouterr().err.count("\n") == 1


FRAME = struct.pack("<QQQ", 20, 1, 4)
"""The head of a message of Dask's own, with one part of four bytes."""


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 64, FRAME + b"\xc1" * 4])
def test_what_answers_and_is_no_scheduler_is_told_in_one_line(said, tmp_path, capfd, monkeypatch):
    """A port that accepts and stays silent, one of another service, and one that says too much in Dask's own form."""
    monkeypatch.setattr("cluster.campaign.dask_workers.CONNECT_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []
        answering = threading.Thread(target=answer_all, args=(server, said, accepted))
        answering.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        code = main(["sweep", "calm", "--seeds", "1", "--dask", address, "--runs", str(tmp_path)])
        # Ends the thread's `accept`, which a mere close would not, and with it every connection.
        server.shutdown(socket.SHUT_RDWR)
        answering.join()

    error = capfd.readouterr().err
    assert (code, error.count("\n")) == (6, 1), error
    assert f": no scheduler answers at {address}: " in error
    assert accepted


def answer_all(server, said, accepted):
    """Accept whoever comes, say the same to each, and close every connection where the server is shut down."""
    with ExitStack() as connections, suppress(OSError):
        while True:
            connection = connections.enter_context(server.accept()[0])
            accepted.append(connection.getpeername())
            connection.sendall(said)


@pytest.mark.parametrize("address", ["", " ", "tcp://\x1b[2J:1"])
def test_what_is_no_address_is_bad_input(address, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", "calm", "--seeds", "1", "--dask", address, "--runs", str(tmp_path)])
    assert "is no address such as tcp://10.0.0.1:8786" in capsys.readouterr().err
