#!/bin/sh
# Builds the static binary for arm64 on a machine with another processor, and runs it with qemu: its version,
# and the judging of an example.
#   deploy/release/arm64.sh
set -eu
cd "$(dirname "$0")/../.."
triple=aarch64-unknown-linux-gnu
rustup target add "$triple"
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CXX_aarch64_unknown_linux_gnu=aarch64-linux-gnu-g++
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc STRIP=aarch64-linux-gnu-strip
binary=$(TRIPLE=$triple deploy/release/binary.sh)
qemu-aarch64-static "$binary" --version
qemu-aarch64-static "$binary" evaluate --gold examples/gold.json --run examples/V1.jsonl --measures P@5
