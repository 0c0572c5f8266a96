#!/bin/sh
# Sets up .venv-3.N for every other supported Python on this machine. One that is absent is named and left out.
here=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for version in 3.11 3.12 3.13; do
    [ "$version" = "$here" ] && continue
    found=
    for candidate in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
        if "$candidate" -c 'import ensurepip' 2>/dev/null; then
            found=$candidate
            break
        fi
    done
    if [ -z "$found" ]; then
        echo "Python $version is not on this machine: its digest is not compared"
        continue
    fi
    [ -x ".venv-$version/bin/python" ] || "$found" -m venv --without-pip ".venv-$version" || exit 6
    .venv/bin/python -m pip --python ".venv-$version/bin/python" install --quiet --disable-pip-version-check \
        --no-compile --require-hashes -r requirements/run.txt || exit 6
done
