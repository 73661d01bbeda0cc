#!/usr/bin/env bash
# Search quality as a check of a build: judges a run, compares it with the stored run of the main branch, and
# fails as docs/gate.md describes. The action of the repository (action.yml) calls it; any other system can.
#   deploy/action/gate.sh report    writes OUT/scores.json and OUT/report.html, and the summary of the job
#   deploy/action/gate.sh check     exit code 3 if a condition is missed
#   deploy/action/gate.sh store     stores the run for later comparisons
# Variables: GOLD, RUN, and if needed CONFIG, MEASURES, FAIL_BELOW, REQUIRE (one condition a line), FAIL_ON
# (worse or difference), BASELINE (folder of the stored run), OUT (folder of the reports), BY (a facet), FORMAT.
set -euo pipefail
: "${GOLD:?the gold set}" "${RUN:?the run to judge}"
baseline=${BASELINE:-.rankgauge-baseline}
out=${OUT:-search-quality}
summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}

judged=(--gold "$GOLD")
if [ -n "${CONFIG:-}" ]; then judged+=(--config "$CONFIG"); fi
if [ -n "${MEASURES:-}" ]; then judged+=(--measures "$MEASURES"); fi
stored=$baseline/main.${RUN##*.}
comparison=(compare "${judged[@]}" --run "$stored" --run "$RUN" --complete)

case ${1:-} in
    report)
        mkdir -p "$out"
        rankgauge evaluate "${judged[@]}" --run "$RUN" --per-query --format json --output "$out/scores.json"
        by=()
        if [ -n "${BY:-}" ]; then by=(--by "$BY"); fi
        rankgauge evaluate "${judged[@]}" --run "$RUN" "${by[@]}" --format html --output "$out/report.html"
        if [ -f "$stored" ]; then
            rankgauge "${comparison[@]}" --format markdown >>"$summary"
        else
            rankgauge evaluate "${judged[@]}" --run "$RUN" --complete --format markdown >>"$summary"
            printf '\nNo run of the main branch is stored yet: there is nothing to compare with.\n' >>"$summary"
        fi
        ;;
    check)
        conditions=()
        if [ -n "${FAIL_BELOW:-}" ]; then conditions+=(--fail-below "$FAIL_BELOW"); fi
        while IFS= read -r condition; do
            if [ -n "$condition" ]; then conditions+=(--require "$condition"); fi
        done <<<"${REQUIRE:-}"
        failed=0
        if [ ${#conditions[@]} -gt 0 ]; then
            rankgauge evaluate "${judged[@]}" --run "$RUN" --complete "${conditions[@]}" \
                --format "${FORMAT:-github}" || failed=$?
        fi
        if [ -n "${FAIL_ON:-}" ] && [ -f "$stored" ]; then
            rankgauge "${comparison[@]}" --fail-on "$FAIL_ON" --format "${FORMAT:-github}" || failed=$?
        fi
        exit "$failed"
        ;;
    store)
        mkdir -p "$baseline"
        cp -- "$RUN" "$stored"
        ;;
    *)
        echo 'gate.sh: write report, check or store' >&2
        exit 2
        ;;
esac
