#!/bin/sh
# Runs the tests of the wheel that build.sh installed: types, then pytest, which receives the arguments.
set -eu
cd "$(dirname "$0")"
target=${CARGO_TARGET_DIR:-../../target}
target=$(cd "$target" && pwd)
"$target/python/bin/python" -m mypy --cache-dir "$target/python/mypy"
# -P: the installed package, not the folder beside the tests.
NUMBA_CACHE_DIR="$target/python/numba" "$target/python/bin/python" -P -m pytest -q -p no:cacheprovider \
    ${*:-tests ../../tests/peers/published}
