#!/bin/sh
# Builds the image with buildah, without a daemon: the static binary of deploy/release/binary.sh on an
# empty image. The same binary and commit give the same image digest. deploy/Dockerfile follows the same
# steps with docker or podman.
#   deploy/image/build.sh [BINARY]     writes target/release-artifacts/rankgauge-image.tar (OCI archive)
# The archive is for `skopeo copy oci-archive:FILE docker://…`, `podman load` or `runc`.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
artifacts=$target/release-artifacts
binary=${1:-$artifacts/rankgauge}
[ -x "$binary" ] || binary=$(deploy/release/binary.sh)
. deploy/release/project.sh
image=${IMAGE:-$registry/rankgauge:$version}
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
revision=$(git rev-parse HEAD)
authorities=${CA_CERTIFICATES:-/etc/ssl/certs/ca-certificates.crt}

# Containers need root rights.
if [ "$(id -u)" != 0 ]; then
    exec sudo -n -E env "PATH=$PATH" SOURCE_DATE_EPOCH="$time" deploy/image/build.sh "$binary"
fi

# A store of its own: nothing of the user's images is read or changed.
store=$target/image/store
mkdir -p "$store" "$artifacts"
buildah() { command buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }

container=$(buildah from scratch)
trap 'buildah rm "$container" >/dev/null' EXIT
root=$(buildah mount "$container")
install -D -m 755 "$binary" "$root/usr/local/bin/rankgauge"
# For TLS to brokers with certificates of a public authority.
install -D -m 644 "$authorities" "$root/etc/ssl/certs/ca-certificates.crt"
# /etc/hosts before DNS, as in a distribution.
mkdir -p "$root/etc"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
install -m 644 LICENSE "$root/LICENSE"
chmod 644 "$root/etc/nsswitch.conf"
find "$root" -exec touch --no-dereference --date="@$time" {} +
buildah umount "$container" >/dev/null
buildah config --user 65532:65532 --port 9468 --workingdir / --cmd run \
    --entrypoint '["/usr/local/bin/rankgauge"]' \
    --label org.opencontainers.image.title=rankgauge \
    --label 'org.opencontainers.image.description=Live search-quality metrics for Prometheus' \
    --label org.opencontainers.image.url=$repository \
    --label org.opencontainers.image.source=$repository \
    --label org.opencontainers.image.documentation=$repository/blob/main/docs/install.md \
    --label org.opencontainers.image.licenses=Apache-2.0 \
    --label "org.opencontainers.image.version=$version" \
    --label "org.opencontainers.image.revision=$revision" \
    --label "org.opencontainers.image.created=$(date -u -d "@$time" +%Y-%m-%dT%H:%M:%SZ)" \
    "$container"
rm -f "$artifacts/rankgauge-image.tar"
buildah commit --quiet --timestamp "$time" --format oci "$container" "oci-archive:$artifacts/rankgauge-image.tar:$image" >/dev/null
# Digest of the manifest, by which a registry names the image.
tar --extract --to-stdout --file "$artifacts/rankgauge-image.tar" index.json |
    sed 's/.*"digest":"\([^"]*\)".*/\1/' >"$artifacts/rankgauge-image.digest"
echo "$image $(cat "$artifacts/rankgauge-image.digest")"
