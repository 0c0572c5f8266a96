#!/bin/sh
# Sets up .venv-peers with the simulators that `make bench` compares the toy with: they need Python 3.12 or newer. Where
# that is absent, or they cannot be installed, it says so and ends well: the benchmark leaves them out.
found=
for candidate in .venv/bin/python .venv-3.12/bin/python .venv-3.13/bin/python python3.12 python3.13; do
    if "$candidate" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        found=$candidate
        break
    fi
done
if [ -z "$found" ]; then
    echo "no Python from 3.12 on: the peers that need it are left out of the benchmarks"
    exit 0
fi
if [ ! -x .venv-peers/bin/python ] && ! "$found" -m venv .venv-peers; then
    rm -rf .venv-peers
    echo "no environment for the peers can be made: they are left out of the benchmarks"
    exit 0
fi
if ! .venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
    -r requirements/run.txt -r requirements/peers.txt; then
    rm -rf .venv-peers
    echo "the peers cannot be installed: they are left out of the benchmarks"
fi
