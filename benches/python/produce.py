"""Peer of benches/gateway.rs: a Python producer of the events that the gateway receives over HTTP.

Reads lines of a key, a tab and an event from --events, and sends them with the settings of the gateway.
At most --in-flight events wait for the broker. Prints one JSON object: events, and seconds of wall and CPU
time from the first event to the answer of the broker about the last one.
"""

import argparse
import json
import time

from confluent_kafka import Producer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--events", required=True)
    parser.add_argument("--in-flight", type=int, required=True)
    arguments = parser.parse_args()

    counts = {"delivered": 0}

    def delivered(error, _record):
        if error is not None:
            raise SystemExit(f"event not delivered: {error}")
        counts["delivered"] += 1

    producer = Producer(
        {
            "bootstrap.servers": arguments.brokers,
            "acks": "all",
            "enable.idempotence": True,
            "partitioner": "murmur2_random",
        }
    )
    producer.list_topics(arguments.topic, timeout=30)
    started, cpu_started = time.perf_counter(), time.process_time()
    sent = 0
    with open(arguments.events, "rb") as events:
        for line in events:
            key, payload = line.rstrip(b"\n").split(b"\t", 1)
            while sent - counts["delivered"] >= arguments.in_flight:
                producer.poll(0.01)
            producer.produce(arguments.topic, key=key, value=payload, on_delivery=delivered)
            sent += 1
            producer.poll(0)
    producer.flush()
    if counts["delivered"] != sent:
        raise SystemExit(f"{counts['delivered']} of {sent} events delivered")
    measured = {
        "events": sent,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
