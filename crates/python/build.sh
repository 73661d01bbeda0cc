#!/bin/sh
# Builds the wheel into target/wheels and installs it in target/python (`make python`, `make bench`).
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/wheels"
target=$(cd "$target" && pwd)
python=$target/python/bin/python

# A wheel for every Linux since 2014 needs an old C library, which zig has.
case $(uname -s) in
    Linux) compatibility='--zig --compatibility manylinux2014' ;;
    *) compatibility= ;;
esac
rm -f "$target"/wheels/rankgauge-*.whl
# shellcheck disable=SC2086 # no argument, or several
PATH="$target/python/bin:$PATH" CARGO_TARGET_DIR="$target" "$python" -m maturin build \
    --manifest-path crates/python/Cargo.toml --profile wheel --locked --out "$target/wheels" $compatibility

"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --force-reinstall \
    "$target"/wheels/rankgauge-*.whl
