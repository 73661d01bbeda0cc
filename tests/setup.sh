#!/bin/sh
# Prepares a machine to build the project and run its tests. Safe to repeat; quick if nothing is
# missing. Usage: tests/setup.sh [PART…], by default the first seven parts:
#   build       Rust, a C and C++ compiler, make, pkg-config, OpenSSL's headers (for librdkafka)
#   kafka       Java 17 or later, and Kafka's jars in target/kafka/libs
#   prometheus  prometheus, promtool, alertmanager and amtool
#   dashboards  Node.js 20 or later, npm, and the dependencies of grafana/
#   browser     Chromium, a Korean font, Node.js 20 or later, npm, and the dependencies of
#               tests/browser/
#   peers       Python 3.11 or later, perl, and other evaluation tools in target/peers
#   answers     Python 3.11 or later, and packages that score texts in target/answers
#   trec_eval   NIST's trec_eval 9.0.4 in target/trec_eval, for `make bench`; only on request,
#               and only where Maven Central has a build (Linux on x86-64)
#   python      Python 3.11 or later, and in target/python what `make python` builds and tests the wheel
#               with; only on request
#   bench       Python 3.11 or later, the programs that `make bench` compares with, in
#               target/bench-peers and target/elinor, and taskset; only on request
#   valgrind    valgrind, for `make instructions`; only on request
#   otel        Python 3.11 or later, and instrumentation packages of OpenTelemetry in target/otel, for
#               `make otel-fixtures`; only on request, and by the part connect
#   deploy      kubectl, Go 1.26 or later, openssl, Python with PyYAML, and in target/deploy/bin:
#               kube-apiserver, etcd, helm, kubeconform, kube-score, a registry of charts and a checker of
#               Compose files, and in target/strimzi the definitions of Strimzi; only on request (five
#               minutes once)
#   first-run   git, kcat, debootstrap, unshare and the parts kafka and deploy, for `make first-run-test`; only
#               on request
#   image       buildah, runc and the parts build and kafka, for `make image`; only on request
#   packages    dpkg-deb, rpmbuild, systemd-analyze, debootstrap with Debian's keys, cargo-cyclonedx, and helm in
#               target/deploy/bin (Go 1.26 or later builds it), for `make release`; only on request
#   prometheus3 Go 1.26 or later, and Prometheus 3 with its promtool in target/prometheus3/bin, for
#               `make prometheus3`; only on request (ten minutes once)
#   api         Python 3.11 or later, and schemathesis in target/api, for `make api-fuzz`; only on
#               request
#   connect     Go, a JDK, Node.js, Python, the programs of examples/connect and examples/http in
#               target/connect, and the part otel, for `make test-connect`; only on request
#   registry    a JDK and Apicurio Registry, Python and Node.js with the serializers of schema registries in
#               target/registry and tests/registry, for `make test-registry`; only on request
#   workflows   Go 1.26 or later, Python 3.11 or later, actionlint and zizmor in target/workflows, for
#               `make workflows`; only on request
#   arm64       a cross compiler and qemu for arm64, for `make release-arm64`; only on request
#   docs        mdBook in target/tools/mdbook, for `make docs`; only on request (three minutes once)
#   solr        a JDK, and Solr's jars in target/solr/libs, for `make test-solr`; only on request
# Missing packages of Debian or Ubuntu are installed with root rights or with sudo without a
# password; otherwise the script lists them and fails.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
packages=

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
# need PACKAGE COMMAND…: adds the package to the list if the command fails.
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
go_1_26() {
    have go || return 1
    minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -ge 26 ]
}
pyyaml() { python3 -c 'import yaml'; }
node_20() {
    have node || return 1
    major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
    [ "${major:-0}" -ge 20 ]
}
python_3_11() { python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'; }
# Debian uses a different name.
alertmanager_there() { have prometheus-alertmanager || have alertmanager; }
korean_font() { fc-list :lang=ko family | grep -q .; }
debian_keys() { [ -e /usr/share/keyrings/debian-archive-keyring.gpg ]; }
helm_built() { [ -x "$target/deploy/bin/helm" ]; }
# On macOS, the build finds OpenSSL of Homebrew without pkg-config.
pkg_config() { have pkg-config || [ "$(uname -s)" = Darwin ]; }
openssl_headers() { pkg-config --exists openssl || [ -d "$(brew --prefix openssl@3)/include/openssl" ]; }
# jars_fetched FOLDER, venv_there FOLDER: a copy of the list marks a finished installation.
jars_fetched() { cmp -s "tests/$1/pom.xml" "$target/$1/pom.xml"; }
venv_there() { cmp -s "$(requirements "$1")" "$target/$1/requirements.txt"; }
requirements() {
    case $1 in
        bench-peers) echo benches/python/requirements.txt ;;
        python) echo crates/python/requirements.txt ;;
        connect/python) echo examples/connect/requirements.txt ;;
        connect/http) echo examples/http/requirements.txt ;;
        otel) echo examples/opentelemetry/requirements.txt ;;
        *) echo "tests/$1/requirements.txt" ;;
    esac
}
# npm writes a lock file into the folder of installed packages.
npm_fetched() { [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; }
go_1_25() {
    have go || return 1
    minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
    [ "${minor:-0}" -ge 25 ]
}
kafka_connect_fetched() { cmp -s tests/connect/pom.xml "$target/connect/kafka-connect/pom.xml"; }
prometheus3_built() { cmp -s tests/prometheus3/go.mod "$target/prometheus3/go.mod"; }
trec_eval_fetched() { [ -x "$target/trec_eval/trec_eval" ]; }
trec_eval_built() { [ "$(uname -sm)" = 'Linux x86_64' ]; }

# Packages that each part needs.
require() {
    case $1 in
        build)
            have cargo || fail "Rust is missing: install it from https://www.rust-lang.org/tools/install"
            need gcc have cc
            need g++ have c++
            need make have make
            need pkg-config pkg_config
            need libssl-dev openssl_headers
            ;;
        kafka)
            need openjdk-17-jre-headless java_17
            jars_fetched kafka || need maven have mvn
            ;;
        prometheus)
            need prometheus have prometheus
            need prometheus have promtool
            need prometheus-alertmanager alertmanager_there
            need prometheus-alertmanager have amtool
            ;;
        dashboards)
            need nodejs node_20
            need npm have npm
            ;;
        browser)
            need chromium have chromium
            need fontconfig have fc-list
            need fonts-nanum korean_font
            need nodejs node_20
            need npm have npm
            ;;
        answers)
            venv_there answers || need python3-venv python_3_11
            ;;
        peers)
            venv_there peers || need python3-venv python_3_11
            need perl have perl
            ;;
        trec_eval)
            if trec_eval_built && ! trec_eval_fetched; then
                need maven have mvn
                need python3 have python3
            fi
            ;;
        python)
            venv_there python || need python3-venv python_3_11
            ;;
        bench)
            venv_there bench-peers || need python3-venv python_3_11
            need git have git
            need util-linux have taskset
            ;;
        valgrind)
            need valgrind have valgrind
            ;;
        otel)
            venv_there otel || need python3-venv python_3_11
            ;;
        deploy)
            go_1_26 || fail 'Go 1.26 or later is missing: install it from https://go.dev/dl'
            have kubectl || fail 'kubectl is missing: https://kubernetes.io/docs/tasks/tools'
            need openssl have openssl
            need python3-yaml pyyaml
            need openjdk-17-jre-headless java_17
            jars_fetched strimzi || need maven have mvn
            ;;
        first-run)
            need git have git
            need kcat have kcat
            need debootstrap have debootstrap
            need debian-archive-keyring debian_keys
            need util-linux have unshare
            ;;
        image)
            need buildah have buildah
            need runc have runc
            ;;
        packages)
            need dpkg have dpkg-deb
            need rpm have rpmbuild
            need systemd have systemd-analyze
            need debootstrap have debootstrap
            need debian-archive-keyring debian_keys
            helm_built || go_1_26 || fail 'Go 1.26 or later is missing: install it from https://go.dev/dl'
            ;;
        prometheus3)
            prometheus3_built || go_1_26 ||
                fail 'Go 1.26 or later is missing: install it from https://go.dev/dl'
            ;;
        api)
            venv_there api || need python3-venv python_3_11
            ;;
        connect)
            go_1_25 || fail "Go 1.25 or later is missing: install it from https://go.dev/dl"
            need openjdk-17-jdk-headless have javac
            need maven have mvn
            need nodejs node_20
            need npm have npm
            need python3-venv python_3_11
            ;;
        registry)
            need openjdk-17-jre-headless java_17
            jars_fetched registry || need maven have mvn
            need nodejs node_20
            need npm have npm
            need python3-venv python_3_11
            ;;
        workflows)
            go_1_26 || fail 'Go 1.26 or later is missing: install it from https://go.dev/dl'
            venv_there workflows || need python3-venv python_3_11
            ;;
        arm64)
            need gcc-aarch64-linux-gnu have aarch64-linux-gnu-gcc
            need g++-aarch64-linux-gnu have aarch64-linux-gnu-g++
            need qemu-user-static have qemu-aarch64-static
            ;;
        docs) ;;
        solr)
            need openjdk-17-jdk-headless have javac
            jars_fetched solr || need maven have mvn
            ;;
        *) fail "unknown part $1; the parts are build, kafka, prometheus, dashboards, browser, peers, answers, python, trec_eval, bench, valgrind, otel, deploy, first-run, image, packages, prometheus3, api, connect, registry, workflows, arm64, docs and solr" ;;
    esac
}

install_packages() {
    if [ "$(id -u)" = 0 ]; then
        as_root='env DEBIAN_FRONTEND=noninteractive'
    elif have sudo && sudo -n true 2>/dev/null; then
        as_root='sudo -n env DEBIAN_FRONTEND=noninteractive'
    else
        fail "missing; as root: apt-get install$packages (or the same packages of your system)"
    fi
    have apt-get || fail "missing, and apt-get is not available; install the equivalents of the Debian packages:$packages"
    say "installing$packages"
    $as_root apt-get update -qq
    # Releases without Java 17 have a later version as their default.
    case $packages in
        *openjdk-17-jre-headless*)
            apt-cache show openjdk-17-jre-headless >/dev/null 2>&1 ||
                packages=$(printf '%s' "$packages" | sed 's/openjdk-17-jre-headless/default-jre-headless/')
            ;;
    esac
    # The list is split into arguments.
    # shellcheck disable=SC2086
    $as_root apt-get install -y -qq --no-install-recommends $packages >&2
}

# go_tool NAME COMMAND…: runs a command that writes target/deploy/bin/NAME, if it is not there.
go_tool() {
    name=$1
    shift
    [ -x "$go_tools/$name" ] && return
    say "building $name into $target/deploy/bin"
    # `go install` follows GOBIN. GOFLAGS of the user could select a vendor folder.
    GOBIN="$go_tools" GOFLAGS=-mod=mod "$@" >&2
}

# helm in target/deploy/bin, for the parts deploy and packages.
helm_tool() {
    mkdir -p "$target/deploy/bin"
    go_tools=$(cd "$target/deploy/bin" && pwd)
    go_tool helm go install helm.sh/helm/v3/cmd/helm@v3.22.0
}

# pip_installed FOLDER: installs pip into target/FOLDER from the packages of Python.
pip_installed() { "$target/$1/bin/python3" -m ensurepip --default-pip >&2; }

# venv FOLDER: installs the packages of its requirements into target/FOLDER, unless they are there.
venv() {
    venv_there "$1" && return
    say "installing Python packages into $target/$1 (a minute or two)"
    rm -rf "$target/$1"
    # `venv` would install pip itself, but without a word about why it failed, and without a second attempt.
    python3 -m venv --without-pip "$target/$1"
    pip_installed "$1" || pip_installed "$1"
    case $1 in
        answers) options=--no-deps ;;
        # Compiling what no program imports takes half of the time.
        otel) options='--no-deps --no-compile' ;;
        *) options= ;;
    esac
    # They are split into arguments.
    # shellcheck disable=SC2086
    "$target/$1/bin/pip" install --quiet --disable-pip-version-check $options \
        --requirement "$(requirements "$1")" >&2
    if [ "$1" = peers ]; then
        # ranx compiles its code on first use: do it here, not during the tests.
        NUMBA_CACHE_DIR="$(cd "$target/peers" && pwd)/numba" PYTHONDONTWRITEBYTECODE=1 \
            "$target/peers/bin/python" tests/peers/judge.py \
            small=tests/peers/small.qrels,tests/peers/small.run >/dev/null
    fi
    # Last: its presence marks the installation as complete.
    cp "$(requirements "$1")" "$target/$1/requirements.txt"
}

# jars FOLDER: fetches the jars of tests/FOLDER/pom.xml into target/FOLDER/libs, unless they are there.
jars() {
    jars_fetched "$1" && return
    say "fetching jars into $target/$1/libs"
    rm -rf "$target/$1"
    mkdir -p "$target/$1"
    mvn --quiet --batch-mode --file "tests/$1/pom.xml" dependency:copy-dependencies \
        "-DoutputDirectory=$(cd "$target/$1" && pwd)/libs" >&2
    # Last: its presence marks the jars as complete.
    cp "tests/$1/pom.xml" "$target/$1/pom.xml"
}

fetch() {
    case $1 in
        deploy)
            helm_tool
            go_tool kubeconform go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
            go_tool compose go build -C tests/deploy/go/compose -o "$go_tools/compose" .
            go_tool registry go build -C tests/deploy/go/registry -o "$go_tools/registry" .
            go_tool kube-score go install github.com/zegl/kube-score/cmd/kube-score@v1.20.0
            go_tool jsonnet go install github.com/google/go-jsonnet/cmd/jsonnet@v0.22.0
            # Their modules have replace directives, which `go install` rejects.
            go_tool etcd go build -C tests/deploy/go/etcd -o "$go_tools/etcd" go.etcd.io/etcd/server/v3
            # The API server reports the version that it is linked with.
            version=k8s.io/component-base/version
            go_tool kube-apiserver go build -C tests/deploy/go/apiserver -o "$go_tools/kube-apiserver" \
                -ldflags "-X $version.gitVersion=v1.35.0 -X $version.gitMajor=1 -X $version.gitMinor=35" \
                k8s.io/kubernetes/cmd/kube-apiserver
            jars strimzi
            ;;
        prometheus3)
            prometheus3_built && return
            say "building Prometheus 3 into $target/prometheus3/bin (ten minutes)"
            mkdir -p "$target/prometheus3/bin"
            folder=$(cd "$target/prometheus3/bin" && pwd)
            # Release 3.N is the module version 0.3N. The binaries report the version that they are linked
            # with. `go install` rejects the replace directives of the module.
            version=$(sed -n 's#^.*github.com/prometheus/prometheus v0\.3\([0-9]*\)\.\([0-9]*\).*#3.\1.\2#p' \
                tests/prometheus3/go.mod | sed 's/\.0*\([0-9]\)/.\1/')
            for name in promtool prometheus; do
                GOFLAGS=-mod=mod go build -C tests/prometheus3 -o "$folder/$name" \
                    -ldflags "-X github.com/prometheus/common/version.Version=$version" \
                    "github.com/prometheus/prometheus/cmd/$name" >&2
            done
            # Last: its presence marks the programs as complete.
            cp tests/prometheus3/go.mod "$target/prometheus3/go.mod"
            ;;
        packages)
            helm_tool
            [ -x "$target/tools/cyclonedx/bin/cargo-cyclonedx" ] ||
                cargo install cargo-cyclonedx --version 0.5.9 --locked --root "$target/tools/cyclonedx" >&2
            ;;
        kafka | solr) jars "$1" ;;
        dashboards)
            npm_fetched grafana && return
            say 'fetching the dependencies of grafana/'
            (cd grafana && npm ci --no-audit --no-fund --loglevel=error >&2)
            ;;
        browser)
            npm_fetched tests/browser && return
            say 'fetching the dependencies of tests/browser/'
            (cd tests/browser && npm ci --no-audit --no-fund --loglevel=error >&2)
            ;;
        peers | answers | python | api | otel) venv "$1" ;;
        bench)
            venv bench-peers
            cargo build --release --locked --manifest-path benches/elinor/Cargo.toml --target-dir "$target/elinor" >&2
            ;;
        workflows)
            venv workflows
            [ -x "$target/workflows/bin/actionlint" ] ||
                GOBIN="$(cd "$target/workflows/bin" && pwd)" GOFLAGS=-mod=mod \
                    go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7 >&2
            ;;
        docs)
            [ -x "$target/tools/mdbook/bin/mdbook" ] ||
                cargo install mdbook --version 0.5.4 --locked --no-default-features --features search \
                    --root "$target/tools/mdbook" >&2
            ;;
        connect)
            mkdir -p "$target/connect/go" "$target/connect/rust" "$target/connect/kafka-connect"
            folder=$(cd "$target/connect" && pwd)
            for programs in examples/connect examples/opentelemetry; do
                npm_fetched "$programs" ||
                    (cd "$programs" && npm ci --no-audit --no-fund --loglevel=error >&2)
            done
            venv connect/python
            venv connect/http
            venv otel
            if ! kafka_connect_fetched; then
                mvn --quiet --batch-mode --file tests/connect/pom.xml dependency:copy-dependencies \
                    "-DoutputDirectory=$folder/kafka-connect/libs" >&2
                cp tests/connect/pom.xml "$folder/kafka-connect/pom.xml"
            fi
            (cd examples/connect/go && go build -o "$folder/go/connect" .)
            (cd examples/connect/rust && CARGO_TARGET_DIR="$folder/rust/target" cargo build --quiet --locked)
            cp "$folder/rust/target/debug/connect" "$folder/rust/connect"
            ;;
        registry)
            npm_fetched tests/registry ||
                (cd tests/registry && npm ci --no-audit --no-fund --loglevel=error >&2)
            venv registry
            cmp -s tests/registry/pom.xml "$target/registry/pom.xml" && return
            say "fetching Apicurio Registry into $target/registry/apicurio"
            rm -rf "$target/registry/apicurio"
            mvn --quiet --batch-mode --file tests/registry/pom.xml dependency:unpack \
                "-DoutputDirectory=$(cd "$target/registry" && pwd)/apicurio" \
                "-DmarkersDirectory=$(cd "$target/registry" && pwd)/markers" >&2
            # Last: its presence marks the programs as complete.
            cp tests/registry/pom.xml "$target/registry/pom.xml"
            ;;
        trec_eval)
            trec_eval_fetched && return
            if ! trec_eval_built; then
                say "no trec_eval build for $(uname -sm): benchmarks run without it"
                return
            fi
            say "fetching trec_eval into $target/trec_eval"
            rm -rf "$target/trec_eval"
            mkdir -p "$target/trec_eval/jar"
            folder=$(cd "$target/trec_eval" && pwd)
            mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
                -Dartifact=uk.ac.gla.dcs.terrierteam:jtreceval:0.0.5 "-DoutputDirectory=$folder" >&2
            python3 -m zipfile --extract "$folder/jtreceval-0.0.5.jar" "$folder/jar"
            chmod +x "$folder/jar/trec_eval-linux-amd64"
            # Last: its presence marks the program as complete.
            mv "$folder/jar/trec_eval-linux-amd64" "$folder/trec_eval"
            ;;
    esac
}

[ $# -gt 0 ] || set -- build kafka prometheus dashboards browser peers answers
for part; do require "$part"; done
if [ -n "$packages" ]; then
    install_packages
    packages=
    for part; do require "$part"; done
    [ -z "$packages" ] || fail "still missing or too old after installing; install by hand:$packages"
fi
for part; do fetch "$part"; done
