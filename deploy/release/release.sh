#!/bin/sh
# Builds all artefacts of a release into target/release-artifacts: the static binary, an archive, deb, rpm,
# the image, completion scripts and manual pages, an SBOM, the chart and the checksums.
#   deploy/release/release.sh
# `make release` installs the tools first.
set -eu
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
out=$target/release-artifacts
. deploy/release/project.sh
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
case $(uname -m) in
    x86_64) deb_arch=amd64 ;;
    aarch64) deb_arch=arm64 ;;
    *) echo "release.sh: no packages for $(uname -m)" >&2; exit 1 ;;
esac
say() { printf 'release: %s\n' "$*" >&2; }

for tool in deploy/bin/helm tools/cyclonedx/bin/cargo-cyclonedx; do
    if [ ! -x "$target/$tool" ]; then
        echo "release.sh: $target/$tool is missing: tests/setup.sh packages installs it" >&2
        exit 1
    fi
done

# With a binary from elsewhere (BINARY=…), only the packages are built.
binary=${BINARY:-$(deploy/release/binary.sh)}
mkdir -p "$out"
[ "$binary" -ef "$out/rankgauge" ] || install -m 755 "$binary" "$out/rankgauge"
rm -f "$out"/*.deb "$out"/*.rpm "$out"/*.tar.gz "$out"/*.tgz "$out"/*.json "$out/SHA256SUMS"

say 'completion scripts and manual pages'
tree=$target/package
rm -rf "$tree"
doc=$tree/usr/share/doc/rankgauge
mkdir -p "$tree/usr/bin" "$tree/usr/share/man/man1" "$doc" "$tree/etc/rankgauge" \
    "$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" \
    "$tree/usr/share/fish/vendor_completions.d" "$tree/usr/lib/systemd/system"
install -m 755 "$out/rankgauge" "$tree/usr/bin/rankgauge"
"$out/rankgauge" man "$tree/usr/share/man/man1"
gzip --best --no-name "$tree"/usr/share/man/man1/*.1
"$out/rankgauge" completions bash >"$tree/usr/share/bash-completion/completions/rankgauge"
"$out/rankgauge" completions zsh >"$tree/usr/share/zsh/vendor-completions/_rankgauge"
"$out/rankgauge" completions fish >"$tree/usr/share/fish/vendor_completions.d/rankgauge.fish"
install -m 644 README.md CHANGELOG.md SECURITY.md config/rankgauge.yaml "$doc"
cp -r deploy/prometheus/rules grafana/dashboards "$doc"
rm -r "$doc/rules/tests"
# The files of README.md and docs/gate.md, and mappings for records of other shapes.
mkdir "$doc/examples"
cp -r examples/gold.json examples/V1.jsonl examples/V5.jsonl examples/ci examples/mappings "$doc/examples"
# Debian's name of the licence file.
install -m 644 LICENSE "$doc/copyright"
install -m 640 deploy/systemd/rankgauge.yaml "$tree/etc/rankgauge/rankgauge.yaml"
install -m 644 deploy/systemd/rankgauge.service "$tree/usr/lib/systemd/system/rankgauge.service"
find "$tree" -type d -exec chmod 755 {} +
find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +

say 'archive'
name=rankgauge-$version-linux-$deb_arch
tar --directory "$tree/usr" --transform "s,^\.,$name," --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" -c . | gzip --best --no-name >"$out/$name.tar.gz"

say 'deb'
control=$tree/DEBIAN
mkdir "$control"
cat >"$control/control" <<END
Package: rankgauge
Version: $version
Architecture: $deb_arch
Maintainer: rankgauge <noreply@rankgauge.invalid>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Section: net
Priority: optional
Homepage: $repository
Recommends: ca-certificates
Description: live search-quality metrics for Prometheus
 rankgauge judges every search on Kafka against a gold set as trec_eval would,
 joins it with user feedback, and exposes the result to Prometheus.
END
echo /etc/rankgauge/rankgauge.yaml >"$control/conffiles"
# The user of the service exists only while it runs (DynamicUser), so its files belong to root. The
# service is not started by the installation, because it needs the address of the brokers.
cat >"$control/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    # Restarts the service after an upgrade, if it runs.
    systemctl try-restart rankgauge.service || true
fi
END
cat >"$control/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now rankgauge.service || true
fi
END
cat >"$control/postrm" <<'END'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
if [ "$1" = purge ]; then
    # Checkpoints: /var/lib/rankgauge is a link of systemd to the folder of the dynamic user.
    rm -rf /var/lib/rankgauge /var/lib/private/rankgauge /etc/rankgauge
fi
END
chmod 755 "$control/postinst" "$control/prerm" "$control/postrm"
# The configuration is readable for the dynamic user: it contains no secrets, they are variables.
chmod 644 "$tree/etc/rankgauge/rankgauge.yaml"
touch --date="@$SOURCE_DATE_EPOCH" "$tree/etc/rankgauge" "$tree/etc/rankgauge/rankgauge.yaml"
# Ubuntu's default compression is not read by older Debians.
dpkg-deb --root-owner-group -Zxz --build "$tree" "$out/rankgauge_${version}_$deb_arch.deb" >/dev/null
rm -r "$control"

say 'rpm'
spec=$target/rankgauge.spec
cat >"$spec" <<END
Name: rankgauge
Version: $version
Release: 1
Summary: Live search-quality metrics for Prometheus
License: Apache-2.0
URL: $repository
# The binary is static and stripped.
AutoReqProv: no
%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%description
rankgauge judges every search on Kafka against a gold set as trec_eval would, joins it with user feedback, and
exposes the result to Prometheus.
%install
cp -a "$tree/." "%{buildroot}"
%files
%config(noreplace) /etc/rankgauge/rankgauge.yaml
/usr/bin/rankgauge
/usr/lib/systemd/system/rankgauge.service
/usr/share/man/man1/*
/usr/share/bash-completion/completions/rankgauge
/usr/share/zsh/vendor-completions/_rankgauge
/usr/share/fish/vendor_completions.d/rankgauge.fish
/usr/share/doc/rankgauge
%dir /etc/rankgauge
%post
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi
%preun
if [ "\$1" = 0 ] && [ -d /run/systemd/system ]; then systemctl disable --now rankgauge.service || :; fi
%postun
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || :
    if [ "\$1" -ge 1 ]; then systemctl try-restart rankgauge.service || :; fi
fi
END
rpmbuild --quiet -bb --define "_topdir $target/rpmbuild" --define "_rpmdir $out" --define "_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm" \
    --define "_buildhost rankgauge" --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' "$spec"

say 'SBOM'
# Written beside the manifest of each crate; only the one of the binary is kept.
PATH="$target/tools/cyclonedx/bin:$PATH" cargo cyclonedx --format json --features "$features" \
    --override-filename sbom --spec-version 1.5 >&2
mv sbom.json "$out/rankgauge-$version.cdx.json"
rm -f crates/*/sbom.json fuzz/sbom.json

if [ -z "${BINARY:-}" ]; then
    say 'image'
    deploy/image/build.sh "$out/rankgauge" >&2
    say 'source packages'
    cargo package --workspace --exclude rankgauge-fuzz --locked --no-verify --allow-dirty >&2
    cp "$target"/package/rankgauge*-"$version".crate "$out"/
fi
say 'chart'
"$target/deploy/bin/helm" package deploy/helm/rankgauge --destination "$out" >&2

cd "$out"
find . -maxdepth 1 -type f ! -name SHA256SUMS ! -name '*.digest' -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS
say "$(wc -l <SHA256SUMS) files in $out"
cat SHA256SUMS
