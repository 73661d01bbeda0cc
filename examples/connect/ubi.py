# UBI documents of OpenSearch or Elasticsearch to Kafka, unchanged:
# python ubi.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC ubi_queries.jsonl ubi_events.jsonl
# The files hold one document (`_source`) of the indexes ubi_queries and ubi_events per line.
import json
import sys

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

BROKERS, SEARCHES, FEEDBACK, QUERIES_FILE, EVENTS_FILE = sys.argv[1:6]
admin = AdminClient({"bootstrap.servers": BROKERS})
if missing := {SEARCHES, FEEDBACK} - admin.list_topics(timeout=30).topics.keys():
    [it.result() for it in admin.create_topics([NewTopic(it, 4) for it in missing]).values()]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})
[producer.list_topics(it, timeout=30) for it in (SEARCHES, FEEDBACK)]  # Known before the first record.
lost = []


def delivered(problem, message):
    if problem or message.offset() < 0:
        lost.append(problem)


for topic, path in [(SEARCHES, QUERIES_FILE), (FEEDBACK, EVENTS_FILE)]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            # The key joins a search with its feedback: both reach the same partition.
            key = json.loads(line)["query_id"]
            producer.produce(topic, key=key, value=line.strip(), on_delivery=delivered)
            producer.poll(0)
if producer.flush(30) or lost:
    sys.exit(f"events were not delivered: {lost or 'no answer'}")
