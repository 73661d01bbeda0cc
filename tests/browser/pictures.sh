#!/bin/sh
# Takes the pictures of the live page in docs/pictures: the demo after the regression of one system.
# All its screens, at four widths, light and dark, go to target/pictures.
set -eu
cd "$(dirname "$0")/../.."
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
binary=${RANKGAUGE:-$target/release/rankgauge}
work=$(mktemp -d)
"$binary" demo --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --regress-after 60s \
    --format json >"$work/out" 2>"$work/log" &
demo=$!
trap 'kill $demo 2>/dev/null || true; rm -rf "$work"' EXIT
# shellcheck disable=SC2034
for attempt in $(seq 1 100); do
    url=$(sed -n 's/^live page: \(.*\)\/$/\1/p' "$work/log")
    [ -n "$url" ] && break
    kill -0 $demo || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
cd tests/browser
node pictures.mjs "$url" "${PICTURES:-../../docs/pictures}" "$target/pictures"
