/** Retrievals of LangChain as searches. */
import { LangChainInstrumentation } from "@arizeai/openinference-instrumentation-langchain";
import * as callbacks from "@langchain/core/callbacks/manager";
import { Embeddings } from "@langchain/core/embeddings";
import { FakeVectorStore } from "@langchain/core/utils/testing";

import { documents, embed, queries } from "./corpus.mjs";
import { provider, thumbsUp, tracer } from "./tracing.mjs";

new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbacks);

// Stands for an embedding model.
class Words extends Embeddings {
  async embedDocuments(texts) {
    return texts.map(embed);
  }

  async embedQuery(text) {
    return embed(text);
  }
}

// Spans have no ids of documents, but their metadata: otlp.document_id names the key.
const texts = documents.map(({ text }) => text);
const metadata = documents.map(({ id }) => ({ doc_id: id }));
const store = await FakeVectorStore.fromTexts(texts, metadata, new Words({}));
const retriever = store.asRetriever(3);
for (const [number, query] of [...queries, ...queries].entries()) {
  await tracer.startActiveSpan("request", async (span) => {
    await retriever.invoke(query);
    span.end();
    if (number % 2 === 0) await thumbsUp(span);
  });
}
await provider.shutdown(); // It exports the last spans.
