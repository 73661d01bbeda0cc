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
for folder in "$from"/artefacts-*; do
    (cd "$folder" && sha256sum --check --quiet --strict SHA256SUMS)
    architecture=$(basename "$folder" | sed 's/^artefacts-//' | sed 's/X64/amd64/; s/ARM64/arm64/')
    cp "$folder"/*.deb "$folder"/*.rpm "$folder"/*.tar.gz "$out"
    cp "$folder"/*.cdx.json "$out/rankgauge-$version-$architecture.cdx.json"
    cp "$folder"/rankgauge-"$version".tgz "$out"
    images+=("oci-archive:$folder/rankgauge-image.tar")
done
if [ ${#images[@]} = 0 ]; then
    echo "publish.sh: no artefacts-* in $from" >&2
    exit 1
fi
for wheel in "$from"/wheels-*/*; do
    if [ -f "$wheel" ]; then cp "$wheel" "$out"; fi
done
(cd "$out" && sha256sum -- * >SHA256SUMS)

image=$registry/rankgauge:$version
if [ -z "${DRY_RUN:-}" ]; then
    for tool in buildah helm cosign; do
        printf '%s' "$GH_TOKEN" | case $tool in
            helm) helm registry login --username "$ACTOR" --password-stdin "${registry%%/*}" ;;
            *) "$tool" login --username "$ACTOR" --password-stdin "${registry%%/*}" ;;
        esac
    done
fi
publish buildah manifest create "$image"
for archive in "${images[@]}"; do publish buildah manifest add "$image" "$archive"; done
publish buildah manifest push --all --digestfile "$out/image.digest" "$image" "docker://$image"
digest=$(if [ -n "${DRY_RUN:-}" ]; then echo DIGEST; else cat "$out/image.digest"; fi)
publish cosign sign --yes "$registry/rankgauge@$digest"
publish helm push "$out/rankgauge-$version.tgz" "oci://$registry/charts"
rm -f "$out/image.digest"

deploy/release/notes.sh "v$version" >target/notes.md
publish gh release create "v$version" --repo "${repository#https://github.com/}" --verify-tag \
    --title "rankgauge $version" --notes-file target/notes.md "$out"/*
