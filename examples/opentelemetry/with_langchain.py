"""Retrievals of LangChain as searches."""
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from openinference.instrumentation.langchain import LangChainInstrumentor

from corpus import DOCUMENTS, QUERIES, embed
from tracing import thumbs_up, tracer

LangChainInstrumentor().instrument()


class Words(Embeddings):  # Stands for an embedding model.
    def embed_documents(self, texts):
        return [embed(text) for text in texts]

    def embed_query(self, text):
        return embed(text)


store = InMemoryVectorStore(Words())
# The id of a document is that of the gold set.
store.add_documents([Document(id=it["id"], page_content=it["text"]) for it in DOCUMENTS])
retriever = store.as_retriever(search_kwargs={"k": 3})
for number, query in enumerate(QUERIES * 2):
    with tracer.start_as_current_span("request") as span:
        retriever.invoke(query)
    if number % 2 == 0:
        thumbs_up(span)
