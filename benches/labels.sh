#!/bin/sh
# Memory and CPU time of gold from-clicks with 10⁶ searches, and of label draw and estimate with 10⁶ pairs:
#   benches/labels.sh target/release/rankgauge [SEARCHES] [PAIRS]
set -eu
program=$(realpath "${1:?the path of the program}")
searches=${2:-1000000}
pairs=${3:-1000000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

measured() {
    name=$1
    shift
    status=0
    /usr/bin/time -f '%U %S %M' -o time "$@" >output 2>errors || status=$?
    # 1 is a result of `gold from-clicks`: clicks that are not trusted.
    if [ "$status" -gt 1 ]; then
        cat errors
        exit "$status"
    fi
    tail -n 1 time | awk -v name="$name" '{ printf "%-40s %6.1f s of CPU %6.0f MB\n", name, $1 + $2, $3 / 1000 }'
}

"$program" produce --output . --searches "$searches" >output 2>&1 || { cat output; exit 1; }
measured "gold from-clicks, $searches searches" "$program" gold from-clicks --search search-0.jsonl \
    --feedback feedback-0.jsonl --output clicks.json
rm -f search-0.jsonl feedback-0.jsonl

awk -v pairs="$pairs" 'BEGIN {
    printf "query\tdocument\ta_A\ta_B\n"
    for (row = 0; row < pairs; row++)
        printf "query %d\tdocument %d\t%.9f\t%.9f\n", row / 10, row % 10, (row % 7 + 1) / (4 * pairs), (row % 5 + 1) / (3 * pairs)
}' >frame.tsv
measured "label draw, $pairs pairs" "$program" label draw --frame frame.tsv --measure P@5 --variant A \
    --variant B --focus difference --rows 400 --seed 7 --output draw.json --sheet sheet.csv
awk 'NR > 1 && NR <= 201 { sub(/\r$/, ""); print $0 "1"; next } { print }' sheet.csv >filled.csv
measured "label estimate, $pairs pairs, 200 labels" "$program" label estimate --draw draw.json --sheet filled.csv
