"""Events: built, validated, and sent to a broker of librdkafka's own."""

import json
from datetime import datetime, timezone
from inspect import signature
from pathlib import Path

import pytest

from rankgauge import client

SCHEMAS = Path(__file__).resolve().parents[3] / "schemas"


def test_a_search_has_an_id_and_a_time():
    event = client.search(["a", {"id": "b", "score": 0.5}], query="용도지역 변경", latency_ms=12.5)
    assert event["results"] == [{"id": "a"}, {"id": "b", "score": 0.5}]
    assert len(event["query_id"]) == 36
    assert isinstance(event["ts"], int)
    assert client.search([], query="x", ts=datetime(2026, 1, 2, tzinfo=timezone.utc))["ts"] == "2026-01-02T00:00:00.000+00:00"


def test_invalid_events_are_refused_with_the_reason_of_the_reader():
    with pytest.raises(client.EventError, match="missing_field: one of `query` and `query_key` is required"):
        client.search(["a"])
    with pytest.raises(client.EventError, match="time_in_seconds"):
        client.search(["a"], query="x", ts=1763337600)
    with pytest.raises(client.EventError, match="no time zone"):
        client.search(["a"], query="x", ts=datetime(2026, 1, 2))
    with pytest.raises(client.EventError, match="NaN|no JSON|not JSON compliant"):
        client.search(["a"], query="x", latency_ms=float("nan"))
    with pytest.raises(client.EventError):
        client.feedback("click")
    with pytest.raises(TypeError):
        client.search(["a"], query="x", latency=3)  # a misspelt field


@pytest.mark.parametrize("kind", ["search", "feedback"])
def test_every_field_of_the_schema_is_a_parameter(kind):
    schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
    assert set(schema["properties"]) == set(signature(getattr(client, kind)).parameters)


MOCK = {"bootstrap.servers": "", "test.mock.num.brokers": 1}


def test_events_are_delivered():
    with client.Client(MOCK, timeout=20) as sender:
        query_id = sender.search(["a", "b"], query="x")
        sender.feedback("click", query_id=query_id, object_id="a", position=1)
        sender.flush()
        assert sender.delivered == 2


def test_events_of_a_session_share_a_key():
    with client.Client(MOCK, key="session_id", timeout=20) as sender:
        sent = []
        produce = sender._producer.produce

        class Recorder:
            def __getattr__(self, name):
                return getattr(producer, name)

            def produce(self, topic, **arguments):
                sent.append((topic, arguments["key"]))
                produce(topic, **arguments)

        producer = sender._producer
        sender._producer = Recorder()
        query_id = sender.search(["a"], query="x", session_id="s1")
        sender.feedback("click", query_id=query_id, session_id="s1", object_id="a")
        assert sent == [("search.log", "s1"), ("search.feedback", "s1")]


def test_lost_events_are_an_error():
    sender = client.Client({"bootstrap.servers": "127.0.0.1:9"}, timeout=1.5)
    with pytest.raises(client.DeliveryError):
        sender.send(client.search(["a"], query="x"))


def test_an_event_that_the_broker_refuses_is_reported():
    sender = client.Client({**MOCK, "message.max.bytes": 1_000_000}, timeout=20)
    sender.search(["a"], query="x")
    report = []
    produce = sender._producer.produce

    class Refusing:
        def __getattr__(self, name):
            return getattr(producer, name)

        def produce(self, topic, on_delivery, **arguments):
            report.append(on_delivery)
            produce(topic, on_delivery=on_delivery, **arguments)

    producer = sender._producer
    sender.flush()
    sender._producer = Refusing()
    sender.search(["b"], query="y")
    producer.flush(20)
    delivered = sender.delivered

    class WithoutOffset:
        def offset(self):
            return None

    # A report without an offset is a lost record of an idempotent producer.
    report[0](None, WithoutOffset())
    assert sender.delivered == delivered
    with pytest.raises(client.DeliveryError, match="1 not delivered .the first: the broker confirmed no offset") as error:
        sender.flush()
    assert error.value.failures[0][0]["query"] == "y"
    sender.flush()
