# Access log of a search service to events: python access_log.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC < access.log
import json
import sys
from urllib.parse import parse_qs, urlsplit

from confluent_kafka import Producer

BROKERS, SEARCHES, FEEDBACK = sys.argv[1:4]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})


def event(entry):
    """Topic and event of a line; None for other requests."""
    url = urlsplit(entry["uri"])
    given = {name: values[0] for name, values in parse_qs(url.query).items()}
    if url.path == "/search":
        return SEARCHES, {
            "query_id": entry["request_id"],
            "ts": entry["time"],
            "query": given["q"],
            "variant": entry["release"],
            "latency_ms": round(float(entry["request_time"]) * 1000),
            "results": [{"id": id} for id in entry["result_ids"].split(" ") if id],
            **({"error_type": f"http_{entry['status']}"} if entry["status"] >= "500" else {}),
        }
    if url.path == "/click":
        return FEEDBACK, {"event_id": entry["request_id"], "query_id": given["search"],
                          "ts": entry["time"], "type": "click", "object_id": given["id"]}


for line in sys.stdin:
    if found := event(json.loads(line)):
        topic, fields = found
        # The key joins a search with its feedback: both reach the same partition.
        producer.produce(topic, key=fields["query_id"], value=json.dumps(fields))
if producer.flush(30):
    sys.exit("events were not delivered")
