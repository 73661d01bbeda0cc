#!/usr/bin/env bash
# Publishes a release from the artefacts of all architectures: one list of checksums, the image of both
# architectures, the chart, and the release with its notes. Called by .github/workflows/release.yml.
#   deploy/release/publish.sh FOLDER
# DRY_RUN=1 collects and checks the files, and prints the commands that would publish them.
# Variables: GH_TOKEN, ACTOR (name for the registry).
set -euo pipefail
cd "$(dirname "$0")/../.."
. deploy/release/project.sh
from=${1:?the folder of the artefacts}
publish() { if [ -n "${DRY_RUN:-}" ]; then echo "$*"; else "$@"; fi; }

out=target/publish
rm -rf "$out"
mkdir -p "$out"
images=()
for runner in X64=amd64 ARM64=arm64; do
    folder=$from/artefacts-${runner%=*} architecture=${runner#*=}
    if [ ! -f "$folder/SHA256SUMS" ]; then
        echo "publish.sh: $folder/SHA256SUMS is missing: the job of this architecture uploads it" >&2
        exit 1
    fi
    (cd "$folder" && sha256sum --check --quiet --strict SHA256SUMS)
    cp "$folder"/*.deb "$folder"/*.rpm "$folder"/*.tar.gz "$out"
    cp "$folder"/*.cdx.json "$out/rankgauge-$version-$architecture.cdx.json"
    cp "$folder"/rankgauge.profdata "$out/rankgauge-$version-$architecture.profdata"
    cp "$folder"/rankgauge-"$version".tgz "$out"
    images+=("oci-archive:$folder/rankgauge-image.tar")
done
for wheel in "$from"/wheels-*/*; do
    if [ -f "$wheel" ]; then cp "$wheel" "$out"; fi
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
deploy/release/notes.sh "v$version" >target/notes.md

image=$registry/rankgauge:$version
# digest FILE: digest that a push has written into a file.
digest() { if [ -n "${DRY_RUN:-}" ]; then echo DIGEST; else grep -o -m 1 'sha256:[0-9a-f]*' "$1"; fi; }
if [ -z "${DRY_RUN:-}" ]; then
    for tool in buildah helm cosign; do
        command -v "$tool" >/dev/null || { echo "publish.sh: $tool is missing" >&2; exit 1; }
        printf '%s' "$GH_TOKEN" | case $tool in
            helm) helm registry login --username "$ACTOR" --password-stdin "${registry%%/*}" ;;
            *) "$tool" login --username "$ACTOR" --password-stdin "${registry%%/*}" ;;
        esac
    done
fi
publish buildah manifest create "$image"
for archive in "${images[@]}"; do publish buildah manifest add "$image" "$archive"; done
publish buildah manifest push --all --digestfile target/image.digest "$image" "docker://$image"
publish cosign sign --yes "$registry/rankgauge@$(digest target/image.digest)"
publish helm push "$out/rankgauge-$version.tgz" "oci://$registry/charts" 2>&1 | tee target/chart.log
publish cosign sign --yes "$registry/charts/rankgauge@$(digest target/chart.log)"
publish gh release create "v$version" --repo "${repository#https://github.com/}" --verify-tag \
    --title "rankgauge $version" --notes-file target/notes.md "$out"/*
