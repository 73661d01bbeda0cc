# Evaluations of answers: python evaluator.py BROKERS SEARCH_TOPIC FEEDBACK_TOPIC [ANSWERS]
import json
import sys
import time

from confluent_kafka import Consumer, Producer


def overlap(query, answer, passages):
    """Rule: share of the words of the answer that a passage has. Any function of the three takes its place."""
    words, known = set(answer.split()), set(" ".join(passages).split())
    return len(words & known) / len(words) if words else 0.0


def evaluate(score, name, evaluator, brokers, searches, feedback, answers=None):
    """Reads answers and writes one judgment for each, until `answers` are judged."""
    consumer = Consumer({
        "bootstrap.servers": brokers, "group.id": f"evaluator-{evaluator['id']}-{name}",
        "auto.offset.reset": "earliest", "enable.auto.commit": False,
    })
    producer = Producer({"bootstrap.servers": brokers, "enable.idempotence": True})
    consumer.subscribe([searches])
    judged = 0
    while answers is None or judged < answers:
        record = consumer.poll(1)
        if record is None or record.error():
            continue
        search = json.loads(record.value())
        text = (search.get("answer") or {}).get("text")
        if text:
            passages = [hit["text"] for hit in search["results"] if hit.get("text")]
            event = {
                "event_id": f"{evaluator['id']}-{name}-{search['query_id']}",
                "query_id": search["query_id"], "ts": int(time.time() * 1000),
                "type": "judgment", "target": "answer", "name": name, "evaluator": evaluator,
                "value": score(search.get("query"), text, passages), "min": 0, "max": 1,
            }
            # The key of the search: its judgment reaches the same partition.
            producer.produce(feedback, key=record.key(), value=json.dumps(event))
            judged += 1
        producer.flush()  # A judgment is written before its search is done.
        consumer.commit(record, asynchronous=False)


if __name__ == "__main__":
    topics, count = sys.argv[1:4], [int(it) for it in sys.argv[4:5]]
    evaluate(overlap, "overlap", {"id": "words", "version": "1", "kind": "rule"}, *topics, *count)
