# UBI documents of OpenSearch or Elasticsearch to Kafka, unchanged:
# python ubi.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC ubi_queries.jsonl ubi_events.jsonl
# The files hold one document (`_source`) of the indexes ubi_queries and ubi_events per line.
import json
import sys

from confluent_kafka import Producer

BROKERS, SEARCHES, FEEDBACK, QUERIES_FILE, EVENTS_FILE = sys.argv[1:6]
producer = Producer({"bootstrap.servers": BROKERS, "enable.idempotence": True})

for topic, path in [(SEARCHES, QUERIES_FILE), (FEEDBACK, EVENTS_FILE)]:
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            # The key joins a search with its feedback: both reach the same partition.
            producer.produce(topic, key=json.loads(line)["query_id"], value=line.strip())
            producer.poll(0)
if producer.flush(30):
    sys.exit("events were not delivered")
