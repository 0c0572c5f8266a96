#!/bin/sh
# Prints a Python that the project runs on (3.11 to 3.13), the default python3 first; prints nothing where there is none.
for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        command -v "$name"
        exit 0
    fi
done
