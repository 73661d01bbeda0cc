#!/bin/sh
# Builds the static binary of a release, and prints its path. It is built twice: an instrumented binary runs
# train.sh, and the second one is optimised with its profile, rankgauge.profdata beside it
# (docs/decisions/profile.md). PROFILE=FILE takes this profile, PROFILE=none takes none: the same source in the same
# folder then gives the same bytes. Paths of Rust and C sources are mapped; OpenSSL contains the path of its
# build folder.
# Size: relocations are packed, Rust code has no unwind tables (a panic aborts), C libraries are optimised for
# size, and their unused functions are removed.
#   deploy/release/binary.sh
set -eu
cd "$(dirname "$0")/../.."
. deploy/release/project.sh
target=${CARGO_TARGET_DIR:-$PWD/target}
cargo_home=${CARGO_HOME:-$HOME/.cargo}
# Another architecture needs its compiler and linker (arm64.sh).
triple=${TRIPLE:-$(rustc -vV | sed -n 's/^host: //p')}
case $triple in
    *-linux-gnu) ;;
    *) echo "binary.sh: $triple: releases are built on Linux with glibc" >&2; exit 1 ;;
esac
for path in "$PWD=/build" "$cargo_home=/cargo"; do
    remapped="${remapped:-} --remap-path-prefix=$path"
    mapped="${mapped:-} -ffile-prefix-map=$path"
done
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
size='-Os -ffunction-sections -fdata-sections'
# build FLAGS: builds the binary with further flags of the compiler.
build() {
    CFLAGS="${CFLAGS:-} $size$mapped" CXXFLAGS="${CXXFLAGS:-} $size$mapped" OPENSSL_SRC_PERL="$PWD/deploy/release/perl.sh" \
        RUSTFLAGS="-C target-feature=+crt-static -C force-unwind-tables=no$remapped $1" \
        cargo rustc --profile dist --locked --bin rankgauge --features "$features" --target "$triple" -- \
        -C link-arg=-Wl,-z,pack-relative-relocs >&2
}
folder=$target/release-artifacts${TRIPLE:+/$TRIPLE}
mkdir -p "$folder"
profile=$folder/rankgauge.profdata
# Another architecture cannot run the instrumented binary.
case ${PROFILE:-${TRIPLE:+none}} in
    none) rm -f "$profile" ;;
    '')
        merge=$(rustc --print target-libdir)/../bin/llvm-profdata
        [ -x "$merge" ] || rustup component add llvm-tools >&2
        training=$target/training
        build "-C profile-generate=$training/counts"
        rm -rf "$training"
        deploy/release/train.sh "$target/$triple/dist/rankgauge" "$training/work"
        "$merge" merge -o "$profile" "$training/counts"
        rm -rf "$training"
        ;;
    *) [ "$PROFILE" -ef "$profile" ] || cp "$PROFILE" "$profile" ;;
esac
if [ -f "$profile" ]; then build "-C profile-use=$profile"; else build ''; fi
"${STRIP:-strip}" --strip-all -o "$folder/rankgauge" "$target/$triple/dist/rankgauge"
for header in "$target/$triple/dist/build/openssl-sys-"*/out/openssl-build/install/include/openssl/configuration.h; do
    if ! grep -q 'define OPENSSL_THREADS' "$header"; then
        echo "binary.sh: OpenSSL is not safe for threads: $header; remove this build and try again" >&2
        exit 1
    fi
done
# A binary that needs a dynamic loader would not start on an empty image.
if readelf --program-headers "$folder/rankgauge" | grep -q INTERP; then
    echo 'binary.sh: the binary is not static' >&2
    exit 1
fi
echo "$folder/rankgauge"
