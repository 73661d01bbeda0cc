/** Retrievals of an application of its own as searches: five lines around each. */
import { documents, embed, queries } from "./corpus.mjs";
import { provider, thumbsUp, tracer } from "./tracing.mjs";

function similarity(query, { text }) {
  const [one, other] = [embed(query), embed(text)];
  const length = Math.hypot(...other);
  return one.reduce((sum, value, index) => sum + value * other[index], 0) / length;
}

function retrieve(query) {
  const scored = documents.map((document) => ({ id: document.id, score: similarity(query, document) }));
  return scored.sort((one, other) => other.score - one.score).slice(0, 3);
}

for (const [number, query] of [...queries, ...queries].entries()) {
  await tracer.startActiveSpan("search", async (span) => {
    const found = retrieve(query);
    span.setAttribute("gen_ai.operation.name", "retrieval");
    span.setAttribute("gen_ai.retrieval.query.text", query);
    span.setAttribute("gen_ai.retrieval.documents", JSON.stringify(found));
    span.end();
    if (number % 2 === 0) await thumbsUp(span);
  });
}
await provider.shutdown(); // It exports the last spans.
