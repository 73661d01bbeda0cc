#!/bin/sh
# Builds the fuzzer with coverage instrumentation, and runs its targets, each on a copy of its corpus.
# Usage: fuzz/run.sh RUNS [TARGET…]
# RUNS is the number of inputs of a fast target. Slow targets (files, sockets) run a part of it. Without
# SEED, inputs follow from seed 1. A failing input stays in target/fuzz/failures, and the command fails.
set -eu
cd "$(dirname "$0")/.."
runs=${1:?number of inputs}
shift
[ $# -gt 0 ] || set -- native ubi otlp_proto otlp_json mapping avro protobuf registry gold run checkpoint config measure http gateway

target=${CARGO_TARGET_DIR:-target}
triple=$(rustc -vV | sed -n 's/^host: //p')
instrumentation='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares'
# With a target triple, build scripts are not instrumented.
RUSTFLAGS=$(echo $instrumentation) cargo build --profile fuzz --target "$triple" --package rankgauge-fuzz
fuzzer=$target/$triple/fuzz/rankgauge-fuzz

# Inputs of a target for each that a fast target runs.
part() {
    case $1 in
        gold | checkpoint | run | otlp_json) echo 4 ;;
        gateway | mapping | avro | protobuf | registry) echo 4 ;;
        measure) echo 20 ;;
        http | config) echo 100 ;;
        *) echo 1 ;;
    esac
}

# Further inputs of a target: files that are elsewhere in the repository.
more() {
    case $1 in
        config) echo config ;;
        checkpoint) echo tests/data/checkpoints ;;
    esac
}

mkdir -p "$target/fuzz/failures"
for name; do
    found=$target/fuzz/corpus/$name
    log=$target/fuzz/$name.log
    rm -rf "$found"
    mkdir -p "$found"
    if ! RANKGAUGE_FUZZ_TARGET=$name "$fuzzer" -runs=$((runs / $(part "$name") + 1)) \
        -seed="${SEED:-1}" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$target/fuzz/failures/$name-" "$found" "fuzz/corpus/$name" $(more "$name") >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        echo "fuzz: $name failed; the input is in $target/fuzz/failures, the log in $log" >&2
        exit 1
    fi
    awk -v name="$name" '
        /DONE/ { for (i = 1; i < NF; i++) if ($i == "cov:") coverage = $(i + 1) }
        /^stat::number_of_executed_units/ { inputs = $2 }
        /^stat::average_exec_per_sec/ { rate = $2 }
        /^stat::peak_rss_mb/ { memory = $2 }
        END {
            # libFuzzer counts whole seconds.
            speed = rate > 0 ? rate " per second" : "less than a second"
            printf "fuzz: %-10s %9d inputs, %18s, coverage %5d, at most %4d MB\n",
                name, inputs, speed, coverage, memory
        }' "$log"
done
