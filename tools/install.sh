#!/bin/sh
# Installs a requirement file into .venv, by uv where that is on PATH and by pip elsewhere; both check every hash.
if command -v uv >/dev/null 2>&1; then
    exec uv pip install --quiet --python .venv/bin/python --require-hashes -r "$1"
fi
exec .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r "$1"
