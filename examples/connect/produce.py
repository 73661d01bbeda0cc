# Search and feedback events from Python: python produce.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
import json
import sys
import time
import uuid

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKERS, SEARCHES, FEEDBACK = sys.argv[1:4]
admin = AdminClient({"bootstrap.servers": BROKERS})
if missing := {SEARCHES, FEEDBACK} - admin.list_topics(timeout=30).topics.keys():
    [it.result() for it in admin.create_topics([NewTopic(it, 4) for it in missing]).values()]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})
[producer.list_topics(it, timeout=30) for it in (SEARCHES, FEEDBACK)]  # Known before the first record.
QUERIES, lost = ["용도지역 변경", "건폐율", "opening hours"], []


def delivered(problem, message):
    if problem or message.offset() < 0:
        lost.append(problem)


def send(topic, query_id, event):
    # The key joins a search with its feedback: both reach the same partition.
    event |= {"query_id": query_id, "ts": int(time.time() * 1000)}
    producer.produce(topic, key=query_id, value=json.dumps(event), on_delivery=delivered)
    producer.poll(0)


for number in range(10):
    query_id, text = str(uuid.uuid4()), QUERIES[number % 3]
    documents = [f"doc-{(number + rank) % 7}" for rank in range(5)]  # Stands for the search service.
    send(SEARCHES, query_id, {
        "query": text,
        "variant": "V1",
        "latency_ms": 10 * (number + 1),
        "results": [{"id": document, "rank": rank} for rank, document in enumerate(documents, 1)],
    })
    if number % 2 == 0:  # The user opens a result.
        click = {"event_id": str(uuid.uuid4()), "type": "click", "object_id": documents[number % 3]}
        send(FEEDBACK, query_id, click)
if producer.flush(30) or lost:
    sys.exit(f"events were not delivered: {lost or 'no answer'}")
