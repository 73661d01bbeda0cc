# Access log of a search service to events: python access_log.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC < access.log
import json
import sys
from urllib.parse import parse_qs, urlsplit

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKERS, SEARCHES, FEEDBACK = sys.argv[1:4]
admin = AdminClient({"bootstrap.servers": BROKERS})
if missing := {SEARCHES, FEEDBACK} - admin.list_topics(timeout=30).topics.keys():
    [it.result() for it in admin.create_topics([NewTopic(it, 4) for it in missing]).values()]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})
[producer.list_topics(it, timeout=30) for it in (SEARCHES, FEEDBACK)]  # Known before the first record.
lost = []


def delivered(problem, message):
    if problem or message.offset() < 0:
        lost.append(problem)


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
        producer.produce(topic, key=fields["query_id"], value=json.dumps(fields), on_delivery=delivered)
        producer.poll(0)
if producer.flush(30) or lost:
    sys.exit(f"events were not delivered: {lost or 'no answer'}")
