"""``make bench``: every benchmark, one after the other, in one process."""

from benchmarks import bench_bus, bench_chain, bench_storm

bench_bus.run()
bench_chain.run()
bench_chain.run_sizes()
bench_storm.run()
