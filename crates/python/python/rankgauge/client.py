"""Search and feedback events: build, validate and send them.

Events are those of docs/events.md. Building and validating needs no other package; sending needs
confluent-kafka, ``pip install rankgauge[kafka]``.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._native import EventError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Client", "DeliveryError", "EventError", "feedback", "search", "validate"]

Event = dict[str, Any]
Time = Union[int, float, str, datetime, None]


class DeliveryError(RuntimeError):
    """Events that are not in Kafka. ``failures`` has the first 100 of them with the reasons."""

    def __init__(self, message: str, failures: Sequence[tuple[Event, str]]) -> None:
        super().__init__(message)
        self.failures = list(failures)


def _time(ts: Time) -> int | str:
    """Return the time of an event: milliseconds, or a text with an offset."""
    if ts is None:
        return time.time_ns() // 1_000_000
    if isinstance(ts, datetime):
        if ts.tzinfo is None:
            raise EventError("ts: the datetime has no time zone; write datetime.now(timezone.utc)")
        return ts.isoformat(timespec="milliseconds")
    if isinstance(ts, float):
        raise EventError("ts: a float is ambiguous; pass whole milliseconds, or a datetime with a time zone")
    return ts


def _without_absent(fields: Event) -> Event:
    return {name: value for name, value in fields.items() if value is not None}


def search(
    results: Sequence[Union[str, Mapping[str, Any]]],
    *,
    query: str | None = None,
    query_key: str | None = None,
    query_id: str | None = None,
    ts: Time = None,
    latency_ms: float | None = None,
    variant: str | None = None,
    experiment: Mapping[str, Any] | str | None = None,
    session_id: str | None = None,
    client_id: str | None = None,
    user_id: str | None = None,
    trace_id: str | None = None,
    application: str | None = None,
    synthetic: bool | None = None,
    stages: Sequence[Any] | None = None,
    usage: Sequence[Mapping[str, Any]] | None = None,
    cost: Mapping[str, Any] | None = None,
    routing: Any = None,
    domain: str | None = None,
    fired: Mapping[str, Any] | None = None,
    merged_from: Sequence[str] | None = None,
    context: Any = None,
    answer: Mapping[str, Any] | str | None = None,
    total_hits: int | None = None,
    page_size: int | None = None,
    page: int | None = None,
    filters: Any = None,
    sort: Any = None,
    error_type: str | None = None,
    labels: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Event:
    """Build a search event.

    ``results`` are document ids, or results with an ``id`` and other fields, in served order. Without
    ``query_id`` the event has a new one; without ``ts`` its time is now. Raises ``EventError`` with the
    reason for which a reader would reject the event.
    """
    event = _without_absent(
        {
            "query_id": query_id if query_id is not None else str(uuid.uuid4()),
            "ts": _time(ts),
            "query": query,
            "query_key": query_key,
            "results": [{"id": result} if isinstance(result, str) else dict(result) for result in results],
            "latency_ms": latency_ms,
            "variant": variant,
            "experiment": experiment,
            "session_id": session_id,
            "client_id": client_id,
            "user_id": user_id,
            "trace_id": trace_id,
            "application": application,
            "synthetic": synthetic,
            "stages": stages,
            "usage": usage,
            "cost": cost,
            "routing": routing,
            "domain": domain,
            "fired": fired,
            "merged_from": merged_from,
            "context": context,
            "answer": answer,
            "total_hits": total_hits,
            "page_size": page_size,
            "page": page,
            "filters": filters,
            "sort": sort,
            "error_type": error_type,
            "labels": labels,
            "attrs": attrs,
        }
    )
    validate(event)
    return event


def feedback(
    type: str,
    *,
    query_id: str | None = None,
    session_id: str | None = None,
    object_id: str | None = None,
    position: int | None = None,
    event_id: str | None = None,
    ts: Time = None,
    dwell_ms: float | None = None,
    value: float | None = None,
    amount: float | None = None,
    currency: str | None = None,
    min: float | None = None,
    max: float | None = None,
    name: str | None = None,
    target: str | None = None,
    request: str | None = None,
    evaluator: Mapping[str, Any] | str | None = None,
    cost: Mapping[str, Any] | None = None,
    comment: str | None = None,
    client_id: str | None = None,
    user_id: str | None = None,
    trace_id: str | None = None,
    application: str | None = None,
    labels: Mapping[str, Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Event:
    """Build a feedback event: an action of a user on a search, such as ``click``.

    Without ``event_id`` the event has a new one; without ``ts`` its time is now. Raises ``EventError`` with
    the reason for which a reader would reject the event.
    """
    event = _without_absent(
        {
            "event_id": event_id if event_id is not None else str(uuid.uuid4()),
            "ts": _time(ts),
            "type": type,
            "query_id": query_id,
            "session_id": session_id,
            "object_id": object_id,
            "position": position,
            "dwell_ms": dwell_ms,
            "value": value,
            "amount": amount,
            "currency": currency,
            "min": min,
            "max": max,
            "name": name,
            "target": target,
            "request": request,
            "evaluator": evaluator,
            "cost": cost,
            "comment": comment,
            "client_id": client_id,
            "user_id": user_id,
            "trace_id": trace_id,
            "application": application,
            "labels": labels,
            "attrs": attrs,
        }
    )
    validate(event)
    return event


def _is_feedback(event: Mapping[str, Any]) -> bool:
    return "event_id" in event or ("type" in event and "results" not in event)


def _encode(event: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError) as error:
        raise EventError(f"the event is no JSON: {error}") from error


def validate(event: Mapping[str, Any]) -> bytes:
    """Check a search or feedback event as a reader does, and return its record.

    Raises ``EventError`` with the reason for a rejection.
    """
    record = _encode(event)
    if _is_feedback(event):
        _native.check_feedback(record)
    else:
        _native.check_search(record)
    return record


class Client:
    """Sends events to Kafka, and checks that they arrive.

    ``config`` are settings of librdkafka, or the addresses of the brokers. Sending does not wait;
    ``flush`` (and the end of a ``with`` block) waits until all events are delivered, and raises
    ``DeliveryError`` if one is not. The record key is the ``query_id`` of the search, so that a search and
    its feedback are in one partition; ``key="session_id"`` keeps sessions together instead.
    """

    def __init__(
        self,
        config: str | Mapping[str, Any],
        *,
        search_topic: str = "search.log",
        feedback_topic: str = "search.feedback",
        key: str = "query_id",
        timeout: float = 30.0,
    ) -> None:
        try:
            from confluent_kafka import Producer
        except ImportError as error:
            raise ImportError("sending needs confluent-kafka: pip install rankgauge[kafka]") from error
        if key not in ("query_id", "session_id"):
            raise ValueError(f"key is `query_id` or `session_id`, not `{key}`")
        given = {"bootstrap.servers": config} if isinstance(config, str) else dict(config)
        defaults = {"acks": "all", "linger.ms": 5, "message.timeout.ms": int(timeout * 1000)}
        # Names with both spellings are one setting.
        self._producer = Producer({**defaults, **given})
        self._topics = {False: search_topic, True: feedback_topic}
        self._key = key
        self._timeout = timeout
        self._lock = threading.Lock()
        self._failed = 0
        self._delivered = 0
        self._failures: list[tuple[Event, str]] = []
        self._known: set[str] = set()

    @property
    def delivered(self) -> int:
        """Number of events that Kafka has confirmed."""
        return self._delivered

    def _wait_for(self, topic: str) -> None:
        """Wait until a topic is known: records that are sent while it is created can be lost."""
        if topic in self._known:
            return
        deadline = time.monotonic() + self._timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise DeliveryError(
                    f"the topic {topic} is not known after {self._timeout:g} s: create it, or check the brokers", []
                )
            try:
                found = self._producer.list_topics(topic, timeout=min(left, 5.0)).topics.get(topic)
            except Exception as error:  # KafkaException: brokers that do not answer yet
                if left <= 5.0:
                    raise DeliveryError(f"no broker answers: {error}", []) from error
                continue
            if found is not None and found.error is None and found.partitions:
                self._known.add(topic)
                return
            self._producer.poll(0.1)

    def send(self, event: Mapping[str, Any]) -> None:
        """Validate an event and hand it to the producer.

        Raises ``EventError`` for an event that a reader would reject, and waits while the queue is full.
        """
        record = validate(event)
        topic = self._topics[_is_feedback(event)]
        self._wait_for(topic)
        names = (self._key, "query_id", "session_id")
        key = next((str(event[name]) for name in names if event.get(name) is not None), None)
        sent = dict(event)

        def report(error: Any, message: Any) -> None:
            offset = None if message is None else message.offset()
            with self._lock:
                if error is None and offset is not None and offset >= 0:
                    self._delivered += 1
                    return
                reason = str(error) if error is not None else "the broker confirmed no offset"
                self._failed += 1
                if len(self._failures) < 100:
                    self._failures.append((sent, reason))

        deadline = time.monotonic() + self._timeout
        while True:
            try:
                self._producer.produce(topic, value=record, key=key, on_delivery=report)
                break
            except BufferError:
                if time.monotonic() >= deadline:
                    raise DeliveryError("the queue is full and no broker takes events", [(sent, "queue full")]) from None
                self._producer.poll(0.1)
        self._producer.poll(0)

    def search(self, results: Sequence[Union[str, Mapping[str, Any]]], **fields: Any) -> str:
        """Build and send a search event. Returns its ``query_id``, for feedback."""
        event = search(results, **fields)
        self.send(event)
        return str(event["query_id"])

    def feedback(self, type: str, **fields: Any) -> str:
        """Build and send a feedback event. Returns its ``event_id``."""
        event = feedback(type, **fields)
        self.send(event)
        return str(event["event_id"])

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all events are delivered. Raises ``DeliveryError`` if one is not."""
        waiting = self._producer.flush(self._timeout if timeout is None else timeout)
        with self._lock:
            failed, self._failed = self._failed, 0
            failures, self._failures = self._failures, []
        if failed or waiting:
            parts = []
            if failed:
                reason = f" (the first: {failures[0][1]})" if failures else ""
                parts.append(f"{failed} not delivered{reason}")
            if waiting:
                parts.append(f"{waiting} without confirmation")
            raise DeliveryError(f"events are missing in Kafka: {', '.join(parts)}", failures)

    def close(self) -> None:
        """Wait until all events are delivered."""
        self.flush()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            # The error of the block matters more than an event.
            self._producer.flush(min(self._timeout, 5.0))
