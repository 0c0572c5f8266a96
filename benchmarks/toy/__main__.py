"""`python -m benchmarks.toy CARRIER NODES VIEWS`: run the toy once by one carrier, and print messages and seconds."""

import gc
import sys
import time
from importlib import import_module

from benchmarks.toy.carriers import CARRIERS

name, nodes, views = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
module = import_module(f"benchmarks.toy.{CARRIERS[name]}")
# Once without being timed: what is imported or built at the first use is no part of a message's price.
module.run(nodes, 3)
gc.collect()
started_ns = time.process_time_ns()
messages = module.run(nodes, views)
sys.stdout.write(f"{messages} {time.process_time_ns() - started_ns}\n")
