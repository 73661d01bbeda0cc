"""Peer of benches/broker.rs: a minimal Python consumer for the same job.

Consumes searches and feedback, judges every search against the gold set with P@5, R@10, nDCG@10
and RR as trec_eval defines them, and sums the scores. It has no join, windows, slices or metrics.
The Kafka and JSON libraries are written in C and Rust. The judging is Python: for a single search
this is faster than a call of an evaluation library.

Prints one JSON object: events, seconds from the first batch to the last event, and per measure
[searches, sum of scores].
"""

import argparse
import json
import sys
import time
import unicodedata
from math import log2

import orjson
from confluent_kafka import Consumer

BATCH = 2_000
SILENCE_SECONDS = 30.0
# Maximum time that `consume` waits for a full batch.
FILL_SECONDS = 0.1
DISCOUNTS = [1.0 / log2(rank + 1) for rank in range(1, 11)]


def normalised(text):
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


class Gold:
    """Gold queries with judgements, indexed by key, text and normalised text."""

    def __init__(self, path):
        with open(path, "rb") as file:
            queries = orjson.loads(file.read())["queries"]
        self.by_key = {}
        self.by_text = {}
        for query in queries:
            grades = {
                document: judgement["relevance"] if isinstance(judgement, dict) else judgement
                for document, judgement in query["ground_truth"].items()
            }
            best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
            ideal = sum(grade * discount for grade, discount in zip(best, DISCOUNTS))
            entry = (grades, len(best), ideal)
            self.by_key[query["query_id"]] = entry
            self.by_text[query["query_text"]] = entry
            self.by_text[normalised(query["query_text"])] = entry
            for alias in query.get("aliases", ()):
                self.by_text[alias] = entry
                self.by_text[normalised(alias)] = entry

    def find(self, search):
        entry = self.by_key.get(search.get("query_key"))
        if entry is None and (text := search.get("query")) is not None:
            entry = self.by_text.get(text) or self.by_text.get(normalised(text))
        return entry


def judge(results, grades, relevant, ideal):
    """P@5, R@10, nDCG@10 and RR of one result list."""
    seen = set()
    hits_5 = hits_10 = 0
    gain = reciprocal_rank = 0.0
    for index, result in enumerate(results):
        document = result["id"]
        grade = grades.get(document, 0)
        if grade > 0 and document not in seen:
            seen.add(document)
            if reciprocal_rank == 0.0:
                reciprocal_rank = 1.0 / (index + 1)
            if index < 10:
                hits_10 += 1
                hits_5 += index < 5
                gain += grade * DISCOUNTS[index]
    return (
        hits_5 / 5,
        hits_10 / relevant if relevant else 0.0,
        gain / ideal if ideal else 0.0,
        reciprocal_rank,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--search", required=True)
    parser.add_argument("--feedback", required=True)
    parser.add_argument("--gold", required=True)
    parser.add_argument("--events", type=int, required=True)
    arguments = parser.parse_args()

    gold = Gold(arguments.gold)
    consumer = Consumer(
        {
            "bootstrap.servers": arguments.brokers,
            "group.id": arguments.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The same values as in the sidecar.
            "fetch.queue.backoff.ms": 2,
            "queued.max.messages.kbytes": 32768,
        }
    )
    consumer.subscribe([arguments.search, arguments.feedback])
    searches = judged = events = 0
    sums = [0.0, 0.0, 0.0, 0.0]
    feedback = {}
    started = None
    last_seen = time.monotonic()
    while events < arguments.events:
        wanted = min(BATCH, arguments.events - events)
        messages = consumer.consume(wanted, timeout=FILL_SECONDS)
        if messages:
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > SILENCE_SECONDS:
            sys.exit(f"no record came for {SILENCE_SECONDS} s, after {events} events")
        else:
            continue
        if started is None:
            started = time.perf_counter()
        for message in messages:
            if message.error():
                sys.exit(str(message.error()))
            event = orjson.loads(message.value())
            if message.topic() == arguments.search:
                searches += 1
                if (entry := gold.find(event)) is not None:
                    judged += 1
                    for index, score in enumerate(judge(event["results"], *entry)):
                        sums[index] += score
            else:
                kind = event["type"]
                feedback[kind] = feedback.get(kind, 0) + 1
        events += len(messages)
    seconds = time.perf_counter() - started
    consumer.close()
    print(
        json.dumps(
            {
                "events": events,
                "searches": searches,
                "judged": judged,
                "seconds": seconds,
                "sums": dict(zip(("P@5", "R@10", "nDCG@10", "RR"), sums)),
            }
        )
    )


if __name__ == "__main__":
    main()
