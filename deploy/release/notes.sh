#!/bin/sh
# Prints the notes of a release: its section of CHANGELOG.md. Fails if the tag is not the version of the
# workspace, or if the section is missing or has no date.
#   deploy/release/notes.sh v0.1.0
set -eu
cd "$(dirname "$0")/../.."
. deploy/release/project.sh
if [ "${1:-}" != "v$version" ]; then
    echo "notes.sh: the tag is '${1:-}', and Cargo.toml has version $version: tag v$version, or change the version" >&2
    exit 1
fi
heading=$(grep -m 1 "^## $version " CHANGELOG.md || true)
case $heading in
    "## $version ("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]")") ;;
    *) echo "notes.sh: CHANGELOG.md needs the line '## $version (YYYY-MM-DD)'; it has '$heading'" >&2; exit 1 ;;
esac
awk -v heading="$heading" '$0 == heading { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md
