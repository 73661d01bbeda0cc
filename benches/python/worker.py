"""Peer of benches/broker.rs: a Python worker that does the work of the sidecar.

Consumes searches and feedback, judges every search with pytrec_eval in batches, joins clicks with
their searches by event time, and sums every score by variant and slice, since the start and in
rolling windows. The Kafka, JSON and evaluation libraries are written in C and Rust.

It does less than the sidecar: one partition only, no validation, no commits, no exact sums. Every
second, and at the end, it writes its values to --metrics in the text format of Prometheus, with the
names of the sidecar. It prints one JSON object: events, and seconds of wall and CPU time from the
first batch to the last event.
"""

import argparse
import json
import sys
import time

import orjson
import pytrec_eval
from confluent_kafka import Consumer

from gold import Gold

BATCH = 1_000
SILENCE_SECONDS = 30.0
PUBLISH_SECONDS = 1.0
# Maximum time that `consume` waits for a full batch.
FILL_SECONDS = 0.1

# Names in rankgauge, and in pytrec_eval.
RANKING = {
    "P@1": "P_1",
    "P@5": "P_5",
    "P@10": "P_10",
    "R@5": "recall_5",
    "R@10": "recall_10",
    "nDCG@5": "ndcg_cut_5",
    "nDCG@10": "ndcg_cut_10",
    "AP": "map",
    "RR": "recip_rank",
    "Success@5": "success_5",
}
PYTREC_EVAL_NAMES = list(RANKING.values())
SLICES = ("query_type", "difficulty", "channel")
WINDOWS = {"1m": 60_000, "5m": 300_000, "1h": 3_600_000}
PANES = 60
# Times in milliseconds: the defaults of the sidecar.
OUT_OF_ORDERNESS = 30_000
FEEDBACK_WINDOW = 600_000


class Sums:
    """Sums by series: searches; judged searches and their scores; searches and clicked searches."""

    def __init__(self):
        self.searches = {}
        self.scores = {}
        self.clicks = {}

    def add_search(self, series, scores):
        for key in series:
            self.searches[key] = self.searches.get(key, 0) + 1
        if scores is not None:
            add_to_rows(self.scores, series, scores)

    def add_clicks(self, series, clicked):
        add_to_rows(self.clicks, series, clicked)

    def merge(self, other):
        for key, count in other.searches.items():
            self.searches[key] = self.searches.get(key, 0) + count
        for mine, theirs in ((self.scores, other.scores), (self.clicks, other.clicks)):
            for key, row in theirs.items():
                add_to_rows(mine, (key,), row)


def add_to_rows(rows, series, values):
    for key in series:
        row = rows.get(key)
        rows[key] = values if row is None else [a + b for a, b in zip(row, values)]


class Window:
    """Rolling window of panes."""

    def __init__(self, length):
        self.pane_length = max(length // PANES, 1_000)
        self.covered = length // self.pane_length
        self.panes = {}

    def at(self, ts):
        number = ts // self.pane_length
        pane = self.panes.get(number)
        if pane is None:
            pane = self.panes[number] = Sums()
        return pane

    def advance(self, watermark, newest):
        """Drops the panes that the window has passed. Returns its last pane."""
        end = max(watermark // self.pane_length, newest // self.pane_length - self.covered)
        for number in [number for number in self.panes if number <= end - self.covered]:
            del self.panes[number]
        return end

    def sum(self, end):
        total = Sums()
        for number, pane in self.panes.items():
            if number <= end:
                total.merge(pane)
        return total


class Pending:
    """Search that waits for feedback."""

    __slots__ = ("ts", "series", "documents", "is_judged", "events", "is_clicked")

    def __init__(self, ts, series, documents, is_judged):
        self.ts = ts
        self.series = series
        self.documents = documents
        self.is_judged = is_judged
        self.events = set()
        self.is_clicked = 0.0

    def add(self, click):
        """Adds a click. Returns false if it is a duplicate."""
        event = click["event_id"]
        if event in self.events:
            return False
        self.events.add(event)
        position = click.get("position", 0)
        if click.get("object_id") in self.documents or 0 < position <= len(self.documents):
            self.is_clicked = 1.0
        return True


class Worker:
    def __init__(self, gold):
        self.gold = gold
        self.evaluator = pytrec_eval.RelevanceEvaluator(gold.qrels, set(PYTREC_EVAL_NAMES))
        self.total = Sums()
        self.windows = [Window(length) for length in WINDOWS.values()]
        self.newest = [None, None]
        self.frontier = None
        self.pending = {}
        # Feedback that waits for its search, by query id and event id.
        self.early = {}
        # Ids by second of event time: searches, and query ids and event ids of early feedback.
        self.searches_of = {}
        self.early_of = {}
        # Times of closed searches, retained for another feedback window.
        self.closed = {}
        self.outcomes = {}

    def count(self, kind, outcome):
        key = (kind, outcome)
        self.outcomes[key] = self.outcomes.get(key, 0) + 1

    def process(self, events):
        """Processes a batch: pairs of true for a search, and the event."""
        scores = self.judge([event for is_search, event in events if is_search])
        for is_search, event in events:
            if is_search:
                self.search(event, *next(scores))
            else:
                self.feedback(event)
        self.close()

    def judge(self, searches):
        """Yields the gold query and the scores of each search."""
        queries = [self.gold.find(search) for search in searches]
        # A run has a query once: a second search for it goes to the next run.
        runs = [{}]
        placed = []
        for search, query in zip(searches, queries):
            if query is None:
                placed.append(None)
                continue
            key = query[0]
            number = 0
            while key in runs[number]:
                number += 1
                if number == len(runs):
                    runs.append({})
            results = search["results"]
            count = len(results)
            runs[number][key] = {result["id"]: count - rank for rank, result in enumerate(results)}
            placed.append((number, key))
        judged = [self.evaluator.evaluate(run) if run else {} for run in runs]
        for query, place in zip(queries, placed):
            if place is None:
                yield None, None
            else:
                number, key = place
                values = judged[number][key]
                yield query, [1, *[values[name] for name in PYTREC_EVAL_NAMES]]

    def search(self, search, query, scores):
        ts = search["ts"]
        self.observe(0, ts)
        query_id = search["query_id"]
        if query_id in self.pending or query_id in self.closed:
            self.count("search", "duplicate")
            return
        variant = search["experiment"]["variant"]
        labels = query[2] if query else {}
        own = search["labels"]
        series = [(variant, "all", "")]
        for name in SLICES:
            value = labels.get(name) or own.get(name)
            if value is not None:
                series.append((variant, name, value))
        self.total.add_search(series, scores)
        for window in self.windows:
            window.at(ts).add_search(series, scores)
        documents = [result["id"] for result in search["results"]]
        pending = Pending(ts, series, documents, query is not None)
        self.pending[query_id] = pending
        self.searches_of.setdefault(ts // 1_000, []).append(query_id)
        early = self.early.get(query_id)
        if early:
            for event, click in list(early.items()):
                if abs(click["ts"] - ts) <= FEEDBACK_WINDOW:
                    del early[event]
                    pending.add(click)
                    self.count("feedback", "joined")

    def feedback(self, click):
        ts = click["ts"]
        self.observe(1, ts)
        query_id = click["query_id"]
        pending = self.pending.get(query_id)
        if pending is not None and abs(ts - pending.ts) <= FEEDBACK_WINDOW:
            self.count("feedback", "joined" if pending.add(click) else "duplicate")
            return
        closed = self.closed.get(query_id)
        if closed is not None and abs(ts - closed) <= FEEDBACK_WINDOW:
            self.count("feedback", "late")
            return
        early = self.early.setdefault(query_id, {})
        event = click["event_id"]
        if event in early:
            self.count("feedback", "duplicate")
            return
        early[event] = click
        self.early_of.setdefault(ts // 1_000, []).append((query_id, event))

    def observe(self, topic, ts):
        newest = self.newest[topic]
        if newest is None or ts > newest:
            self.newest[topic] = ts

    def watermark(self):
        if None in self.newest:
            return None
        return min(self.newest) - OUT_OF_ORDERNESS

    def close(self):
        """Closes the seconds whose feedback window has passed, and advances the windows."""
        watermark = self.watermark()
        if watermark is None:
            return
        frontier = (watermark - FEEDBACK_WINDOW) // 1_000
        if self.frontier is None:
            seconds = [*self.searches_of, *self.early_of]
            self.frontier = min([*seconds, frontier])
        for second in range(self.frontier, frontier):
            for query_id in self.searches_of.pop(second, ()):
                self.finalise(query_id)
            for query_id, event in self.early_of.pop(second, ()):
                if event in self.early.get(query_id, ()):
                    del self.early[query_id][event]
                    self.count("feedback", "orphaned")
                if not self.early.get(query_id, True):
                    del self.early[query_id]
        self.frontier = max(self.frontier, frontier)
        # Closed searches are in the order of their times.
        expired = watermark - 2 * FEEDBACK_WINDOW
        for query_id in list(self.closed):
            if self.closed[query_id] >= expired:
                break
            del self.closed[query_id]
        for window in self.windows:
            window.advance(watermark, max(self.newest))

    def finalise(self, query_id):
        pending = self.pending.pop(query_id)
        self.closed[query_id] = pending.ts
        self.count("search", "judged" if pending.is_judged else "unjudged")
        if pending.documents:
            clicked = [1, pending.is_clicked]
            self.total.add_clicks(pending.series, clicked)
            # User behaviour is recorded when it is known.
            for window in self.windows:
                window.at(pending.ts + FEEDBACK_WINDOW).add_clicks(pending.series, clicked)

    def publish(self, path):
        """Writes every sample."""
        with open(path, "w", encoding="utf-8") as file:
            for name, labels, value in self.samples():
                pairs = ",".join(f'{label}="{text}"' for label, text in labels.items())
                file.write(f"rankgauge_{name}{{{pairs}}} {value!r}\n")

    def samples(self):
        """Yields the name, the labels and the value of every sample."""
        for (kind, outcome), count in self.outcomes.items():
            yield "events_total", {"kind": kind, "outcome": outcome}, count
        yield "events_pending", {"kind": "search"}, len(self.pending)
        waiting = sum(len(early) for early in self.early.values())
        yield "events_pending", {"kind": "feedback"}, waiting
        for (variant, slice_, value), count in self.total.searches.items():
            yield "searches_total", {"variant": variant, "slice": slice_, "value": value}, count
        for labels, row_sum, count in rows(self.total):
            yield "score_sum_total", labels, row_sum
            yield "score_count_total", labels, count
        watermark = self.watermark()
        if watermark is None:
            return
        for name, window in zip(WINDOWS, self.windows):
            summed = window.sum(window.advance(watermark, max(self.newest)))
            for labels, row_sum, count in rows(summed):
                labels = {**labels, "window": name}
                yield "score", labels, row_sum / count
                if labels["measure"] == "CTR":
                    yield "score_samples", labels, count


def rows(sums):
    """Yields the labels, the sum and the count of every measure of every series."""
    for names, table in ((list(RANKING), sums.scores), (["CTR"], sums.clicks)):
        for (variant, slice_, value), (count, *row) in table.items():
            for measure, row_sum in zip(names, row):
                labels = {"measure": measure, "variant": variant, "slice": slice_, "value": value}
                yield labels, row_sum, count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--search", required=True)
    parser.add_argument("--feedback", required=True)
    parser.add_argument("--gold", required=True)
    parser.add_argument("--metrics", required=True)
    parser.add_argument("--events", type=int, required=True)
    arguments = parser.parse_args()

    worker = Worker(Gold(arguments.gold))
    consumer = Consumer(
        {
            "bootstrap.servers": arguments.brokers,
            "group.id": arguments.group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The same values as in the sidecar.
            "fetch.queue.backoff.ms": 2,
            "queued.max.messages.kbytes": 1024,
        }
    )
    consumer.subscribe([arguments.search, arguments.feedback])
    events = 0
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
            started, cpu_started = time.perf_counter(), time.process_time()
            published = started
        batch = []
        for message in messages:
            if message.error():
                sys.exit(str(message.error()))
            batch.append((message.topic() == arguments.search, orjson.loads(message.value())))
        worker.process(batch)
        events += len(messages)
        if (now := time.perf_counter()) - published >= PUBLISH_SECONDS:
            published = now
            worker.publish(arguments.metrics)
    seconds = time.perf_counter() - started
    cpu_seconds = time.process_time() - cpu_started
    consumer.close()
    worker.publish(arguments.metrics)
    print(json.dumps({"events": events, "seconds": seconds, "cpu_seconds": cpu_seconds}))


if __name__ == "__main__":
    main()
