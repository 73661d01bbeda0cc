#!/bin/sh
# Search and feedback events with curl: curl.sh GATEWAY, as in curl.sh http://127.0.0.1:4318
set -eu
gateway=$1
post() { curl --silent --show-error --fail-with-body --retry 5 --data-binary @- "$gateway$1"; }
now() { date +%s000; }

number=0
while [ $number -lt 10 ]; do
    id=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
    case $((number % 3)) in
        0) query='용도지역 변경' ;;
        1) query='건폐율' ;;
        2) query='opening hours' ;;
    esac
    results=
    for rank in 0 1 2 3 4; do # Stands for the search service.
        results="$results${results:+,}{\"id\":\"doc-$(((number + rank) % 7))\",\"rank\":$((rank + 1))}"
    done
    post /v1/searches <<END
{"query_id":"$id","ts":$(now),"variant":"V1","latency_ms":$((10 * (number + 1))),"query":"$query","results":[$results]}
END
    if [ $((number % 2)) = 0 ]; then # The user opens a result.
        opened=doc-$(((number + number % 3) % 7))
        post /v1/feedback <<END
{"event_id":"click-$id","ts":$(now),"query_id":"$id","type":"click","object_id":"$opened"}
END
    fi
    number=$((number + 1))
done
