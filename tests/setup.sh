#!/bin/sh
# Brings a machine to where the project builds and its tests run. Safe to repeat; quick when there
# is nothing to do. Usage: tests/setup.sh [PART…], by default all of them:
#   build       Rust, a C and C++ compiler, make, pkg-config, OpenSSL's headers (for librdkafka)
#   kafka       Java 17 or later, and Kafka's jars in target/kafka/libs
#   prometheus  prometheus and promtool
#   dashboards  Node.js 20 or later, npm, and what grafana/ depends on
# What Debian or Ubuntu can give is installed where this may be done (root, or sudo without a
# password); else it is listed, and the script fails.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
packages=

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# need PACKAGE COMMAND…: the package is wanted where the command fails.
need() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || case " $packages " in
        *" $package "*) ;;
        *) packages="$packages $package" ;;
    esac
}

java_17() {
    have java || return 1
    major=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${major:-0}" -ge 17 ]
}
node_20() {
    have node || return 1
    major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
    [ "${major:-0}" -ge 20 ]
}
openssl_headers() { pkg-config --exists openssl; }
kafka_fetched() { cmp -s tests/kafka/pom.xml "$target/kafka/pom.xml"; }
# npm leaves a lock file of its own in what it has installed.
dashboards_fetched() { [ grafana/node_modules/.package-lock.json -nt grafana/package-lock.json ]; }

# What each part wants of the machine.
want() {
    case $1 in
        build)
            have cargo || fail "Rust is missing: install it as https://www.rust-lang.org/tools/install says"
            need gcc have cc
            need g++ have c++
            need make have make
            need pkg-config have pkg-config
            need libssl-dev openssl_headers
            ;;
        kafka)
            need openjdk-17-jre-headless java_17
            kafka_fetched || need maven have mvn
            ;;
        prometheus)
            need prometheus have prometheus
            need prometheus have promtool
            ;;
        dashboards)
            need nodejs node_20
            need npm have npm
            ;;
        *) fail "no part is called $1; there are build, kafka, prometheus and dashboards" ;;
    esac
}

install_packages() {
    if [ "$(id -u)" = 0 ]; then
        as_root='env DEBIAN_FRONTEND=noninteractive'
    elif have sudo && sudo -n true 2>/dev/null; then
        as_root='sudo -n env DEBIAN_FRONTEND=noninteractive'
    else
        fail "missing; as root: apt-get install$packages (or what your system calls them)"
    fi
    have apt-get || fail "missing, and there is no apt-get here; install what Debian calls:$packages"
    say "installing$packages"
    $as_root apt-get update -qq
    # Releases that no longer have Java 17 have a later one as their default.
    case $packages in
        *openjdk-17-jre-headless*)
            apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 ||
                packages=$(printf '%s' "$packages" | sed 's/openjdk-17-jre-headless/default-jre-headless/')
            ;;
    esac
    # The words of the list are the arguments.
    # shellcheck disable=SC2086
    $as_root apt-get install -y -qq --no-install-recommends $packages >&2
}

fetch() {
    case $1 in
        kafka)
            kafka_fetched && return
            say "fetching Kafka into $target/kafka/libs"
            rm -rf "$target/kafka"
            mkdir -p "$target/kafka"
            mvn --quiet --batch-mode --file tests/kafka/pom.xml dependency:copy-dependencies \
                "-DoutputDirectory=$(cd "$target/kafka" && pwd)/libs" >&2
            # Last: its presence says that the jars are complete.
            cp tests/kafka/pom.xml "$target/kafka/pom.xml"
            ;;
        dashboards)
            dashboards_fetched && return
            say 'fetching what grafana/ depends on'
            (cd grafana && npm ci --no-audit --no-fund --loglevel=error >&2)
            ;;
    esac
}

[ $# -gt 0 ] || set -- build kafka prometheus dashboards
for part; do want "$part"; done
if [ -n "$packages" ]; then
    install_packages
    packages=
    for part; do want "$part"; done
    [ -z "$packages" ] || fail "still missing or too old after installing; install by hand:$packages"
fi
for part; do fetch "$part"; done
