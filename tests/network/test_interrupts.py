"""Interrupts: none comes while msgspec reads a type, which passes over what its Python code raises."""

import json
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import third_of

LOOKED_AT = """
import json, sys
import trio
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from network import tasks

run, read = trio.run, []

def look(frame, event, _argument):
    if event == "call" and frame.f_code.co_name == "get_class_annotations":
        read.append(str(frame.f_locals["obj"]))

def run_looked_at(*given, **named):
    sys.setprofile(look)
    try:
        return run(*given, **named)
    finally:
        sys.setprofile(None)

trio.run = run_looked_at
if sys.argv[1] == "unread":
    tasks.read_record_types = lambda: None
Cluster(load_scenario("calm", ("run.until_height=3", "run.until_drained=false")), 0).run()
print(json.dumps([kind for kind in read if "[" not in kind]))
"""
"""Prints the types that a run reads, but for generic ones: a type with a parameter is made with a validator's codec."""


@pytest.mark.parametrize("before", third_of(["read", "unread"]))
def test_types_of_records_are_read_before_a_run(before):
    """In a process of its own, because a type is read once; left unread, the run itself reads some."""
    command = [sys.executable, "-c", LOOKED_AT, before]
    answer = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)

    assert bool(json.loads(answer.stdout)) == (before == "unread"), answer.stdout
