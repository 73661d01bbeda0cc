// Search and feedback events from JavaScript with fetch: node send.mjs http://127.0.0.1:4318 [TOKEN]
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const [gateway, token] = process.argv.slice(2);
const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
const QUERIES = ["용도지역 변경", "건폐율", "opening hours"];

/** A repeated request counts once: events have ids. 429 and 503 state the time to wait. */
async function send(path, events) {
  for (let attempt = 0; attempt < 5; attempt++) {
    const answer = await fetch(gateway + path, { method: "POST", headers, body: JSON.stringify(events) });
    if (answer.status === 429 || answer.status === 503) {
      await sleep(1000 * Number(answer.headers.get("retry-after") ?? 1));
      continue;
    }
    const { rejected, error } = await answer.json();
    if (!answer.ok || rejected.length > 0) throw new Error(error ?? JSON.stringify(rejected));
    return;
  }
  throw new Error(`${path}: no answer`);
}

const [searches, clicks] = [[], []];
for (let number = 0; number < 10; number++) {
  const event = { query_id: randomUUID(), ts: Date.now() };
  const documents = [0, 1, 2, 3, 4].map((rank) => `doc-${(number + rank) % 7}`); // The search service.
  searches.push({
    ...event,
    query: QUERIES[number % 3],
    variant: "V1",
    latency_ms: 10 * (number + 1),
    results: documents.map((id, index) => ({ id, rank: index + 1 })),
  });
  if (number % 2 === 0) {
    // The user opens a result.
    clicks.push({ ...event, event_id: randomUUID(), type: "click", object_id: documents[number % 3] });
  }
}
await send("/v1/searches", searches); // Many events in a request cost the least.
await send("/v1/feedback", clicks);
