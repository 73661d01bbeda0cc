#!/usr/bin/env bash
# Installs a release for the following steps of a job, after a check of its checksum and of its provenance.
# Variables: VERSION, REPOSITORY (owner/name), GITHUB_TOKEN, RUNNER_TEMP, GITHUB_PATH.
set -euo pipefail
case $(uname -sm) in
    'Linux x86_64') architecture=amd64 ;;
    'Linux aarch64') architecture=arm64 ;;
    *) echo "install.sh: no release for $(uname -sm); install rankgauge in a step before, and set version: ''" >&2; exit 1 ;;
esac
name=rankgauge-$VERSION-linux-$architecture
folder=$RUNNER_TEMP/rankgauge
mkdir -p "$folder"
cd "$folder"
gh release download "v$VERSION" --repo "$REPOSITORY" --pattern "$name.tar.gz" --pattern SHA256SUMS --clobber
sha256sum --check --ignore-missing --strict SHA256SUMS
gh attestation verify "$name.tar.gz" --repo "$REPOSITORY"
tar -xzf "$name.tar.gz"
echo "$folder/$name/bin" >>"$GITHUB_PATH"
