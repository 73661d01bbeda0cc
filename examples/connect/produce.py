# Search and feedback events from Python: python produce.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
import json
import sys
import time
import uuid

from confluent_kafka import Producer

BROKERS, SEARCHES, FEEDBACK = sys.argv[1:4]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})
QUERIES = ["용도지역 변경", "건폐율", "opening hours"]


def search(text, number):
    """Stands for the search service: five documents."""
    return [f"doc-{(number + rank) % 7}" for rank in range(5)]


def send(topic, query_id, event):
    # The key joins a search with its feedback: both reach the same partition.
    event |= {"query_id": query_id, "ts": int(time.time() * 1000)}
    producer.produce(topic, key=query_id, value=json.dumps(event))
    producer.poll(0)


for number in range(10):
    query_id, text = str(uuid.uuid4()), QUERIES[number % 3]
    documents = search(text, number)
    send(SEARCHES, query_id, {
        "query": text,
        "variant": "V1",
        "latency_ms": 10 * (number + 1),
        "results": [{"id": document, "rank": rank} for rank, document in enumerate(documents, 1)],
    })
    if number % 2 == 0:  # The user opens a result.
        click = {"event_id": str(uuid.uuid4()), "type": "click", "object_id": documents[number % 3]}
        send(FEEDBACK, query_id, click)
if producer.flush(30):
    sys.exit("events were not delivered")
