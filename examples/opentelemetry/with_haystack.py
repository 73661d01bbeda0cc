"""Retrievals of Haystack as searches."""
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from openinference.instrumentation.haystack import HaystackInstrumentor

from corpus import DOCUMENTS, QUERIES
from tracing import thumbs_up, tracer

HaystackInstrumentor().instrument()

store = InMemoryDocumentStore()
# The id of a document is that of the gold set. Without it, it is a hash of the content.
store.write_documents([Document(id=it["id"], content=it["text"]) for it in DOCUMENTS])
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
for number, query in enumerate(QUERIES * 2):
    with tracer.start_as_current_span("request") as span:
        pipeline.run({"retriever": {"query": query}})
    if number % 2 == 0:
        thumbs_up(span)
