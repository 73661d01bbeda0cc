"""Retrievals of an application of its own as searches: five lines around each."""
import json

from corpus import DOCUMENTS, QUERIES, embed
from tracing import thumbs_up, tracer


def similarity(query, document):
    one, other = embed(query), embed(document["text"])
    length = sum(x * x for x in other) ** 0.5
    return sum(x * y for x, y in zip(one, other)) / length


def retrieve(query):
    scored = [(similarity(query, document), document["id"]) for document in DOCUMENTS]
    return sorted(scored, reverse=True)[:3]


for number, query in enumerate(QUERIES * 2):
    with tracer.start_as_current_span("search") as span:
        found = [{"id": id, "score": score} for score, id in retrieve(query)]
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.retrieval.query.text", query)
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(found))
    if number % 2 == 0:
        thumbs_up(span)
