"""Commands in this process: a process of their own takes most of a second, and few tests ask for one."""

import io
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout

from checker.record.root import PROJECT_ROOT
from cluster.cli.main import main


def run_command(*arguments, cwd=PROJECT_ROOT):
    """Give a command to the command line in a folder; return its exit code and what it says as a process's."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = ended.code
    said = (stream.buffer.getvalue().decode() for stream in (out, err))
    return subprocess.CompletedProcess(arguments, code, *said)
