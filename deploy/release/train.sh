#!/bin/sh
# Runs the work that has to be fast with an instrumented binary, which writes its profile at each end: records
# through the engine to /metrics, live traffic of the demo, and files of judgements and results.
#   deploy/release/train.sh BINARY FOLDER
set -eu
cd "$(dirname "$0")/../.."
binary=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
config=config/law-search.yaml
"$binary" produce --library law --searches 40000 --output "$folder/law" --gold "$folder/law.json" >&2
"$binary" replay --config "$config" --set "gold.paths=$folder/law.json" --format prometheus \
    --search "$folder/law/search-0.jsonl" --feedback "$folder/law/feedback-0.jsonl" >/dev/null
"$binary" demo --for 20s >"$folder/demo.log" 2>&1
# 2,000 queries with 100 results, of which 50 are judged.
awk -v folder="$folder" 'BEGIN {
    for (query = 1; query <= 2000; query++) for (rank = 1; rank <= 100; rank++) {
        id = "document-" (query * 7919 + rank * 104729) % 1000003
        print "query-" query, "Q0", id, rank, 1000 - rank, "run" >(folder "/run.txt")
        if (rank % 2) print "query-" query, 0, id, (query + rank) % 4 >(folder "/judgements.txt")
    }
}'
"$binary" evaluate --gold "$folder/judgements.txt" --run "$folder/run.txt" >/dev/null
"$binary" evaluate --gold "$folder/judgements.txt" --run "$folder/run.txt" --trec --measures 'P@10,AP,nDCG@10,RR' >/dev/null
