#!/bin/sh
# Fuzzes the API of a demo with schemathesis: requests generated from schemas/openapi.json, valid and
# invalid. Fails on a server error and on a response outside the description. The names of measures,
# windows and queries depend on the configuration, so valid texts may be rejected with 400.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
"$target/debug/rankgauge" demo --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --rate 50 \
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
"$target/api/bin/st" run "$url/api/v1/openapi.json" --url "$url" --checks all --exclude-checks positive_data_acceptance \
    --max-examples "${EXAMPLES:-20}" --seed 1 --no-color "$@"
