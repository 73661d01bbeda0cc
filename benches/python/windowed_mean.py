"""Peer of benches/broker.rs: the mean nDCG@10 a minute with quixstreams.

One measure and one window over the searches alone: no feedback, no slices, no variants. A key
deserializer gives every record the same key. This spares quixstreams the repartition topic that a
mean over all records otherwise needs.

Prints one JSON object: events, seconds of wall and CPU time from the first record to the last, the
number of closed windows, and the number and the mean of all judged searches.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from datetime import timedelta
from math import log2

# A dependency of quixstreams warns about another one.
with warnings.catch_warnings(record=True):
    from quixstreams import Application
    from quixstreams.models import Deserializer

from gold import Gold

SILENCE_SECONDS = 30.0
DISCOUNTS = [1.0 / log2(rank + 1) for rank in range(1, 11)]


class OneKey(Deserializer):
    """The same key for every record."""

    def __call__(self, value, ctx):
        return b"all"


def ndcg_10(results, grades):
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    best = sum(grade * discount for grade, discount in zip(ideal, DISCOUNTS))
    gain = sum(grades.get(result["id"], 0) * discount for result, discount in zip(results, DISCOUNTS))
    return gain / best if best else 0.0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--search", required=True)
    parser.add_argument("--gold", required=True)
    parser.add_argument("--events", type=int, required=True)
    arguments = parser.parse_args()

    gold = Gold(arguments.gold)
    measured = {"events": 0, "judged": 0, "sum": 0.0, "windows": 0}

    def score(search):
        if measured["events"] == 0:
            measured["started"] = time.perf_counter(), time.process_time()
        measured["events"] += 1
        if measured["events"] == arguments.events:
            started, cpu_started = measured.pop("started")
            measured["seconds"] = time.perf_counter() - started
            measured["cpu_seconds"] = time.process_time() - cpu_started
        query = gold.find(search)
        if query is None:
            return None
        value = ndcg_10(search["results"], query[1])
        measured["judged"] += 1
        measured["sum"] += value
        return value

    def closed(_window):
        measured["windows"] += 1

    with tempfile.TemporaryDirectory() as state:
        application = Application(
            broker_address=arguments.brokers,
            consumer_group=arguments.group,
            auto_offset_reset="earliest",
            state_dir=state,
            loglevel=logging.WARNING,
        )
        topic = application.topic(
            arguments.search,
            key_deserializer=OneKey(),
            timestamp_extractor=lambda value, headers, timestamp, kind: value["ts"],
        )
        frame = application.dataframe(topic)
        frame = frame.apply(score).filter(lambda value: value is not None)
        frame = frame.tumbling_window(timedelta(minutes=1), grace_ms=timedelta(seconds=30))
        frame.mean().final().update(closed)
        application.run(count=arguments.events, timeout=SILENCE_SECONDS, collect=False)
    if "seconds" not in measured:
        sys.exit(f"no record came for {SILENCE_SECONDS} s, after {measured['events']} events")
    measured["mean"] = measured.pop("sum") / max(measured["judged"], 1)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
