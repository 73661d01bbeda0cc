"""Retrievals of LlamaIndex as searches."""
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from corpus import DOCUMENTS, QUERIES, embed
from tracing import thumbs_up, tracer

LlamaIndexInstrumentor().instrument()


class Words(BaseEmbedding):  # Stands for an embedding model.
    def _get_text_embedding(self, text):
        return embed(text)

    def _get_query_embedding(self, query):
        return embed(query)

    async def _aget_query_embedding(self, query):
        return embed(query)


# The id of a node is that of the document, as in the gold set. Without it, it is a random UUID.
nodes = [TextNode(id_=document["id"], text=document["text"]) for document in DOCUMENTS]
retriever = VectorStoreIndex(nodes, embed_model=Words()).as_retriever(similarity_top_k=3)
for number, query in enumerate(QUERIES * 2):
    with tracer.start_as_current_span("request") as span:
        retriever.retrieve(query)
    if number % 2 == 0:
        thumbs_up(span)
