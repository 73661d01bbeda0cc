// Search and feedback events from JavaScript: node produce.mjs BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
import { randomUUID } from "node:crypto";
import { Kafka, Partitioners } from "kafkajs";

const [brokers, searches, feedback] = process.argv.slice(2);
const kafka = new Kafka({ brokers: brokers.split(",") });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
const QUERIES = ["용도지역 변경", "건폐율", "opening hours"];

/** Stands for the search service: five documents. */
const search = (text, number) => [0, 1, 2, 3, 4].map((rank) => `doc-${(number + rank) % 7}`);

/** The key joins a search with its feedback: both reach the same partition. */
const send = (topic, id, event) =>
  producer.send({
    topic,
    messages: [{ key: id, value: JSON.stringify({ ...event, query_id: id, ts: Date.now() }) }],
  });

await producer.connect();
for (let number = 0; number < 10; number++) {
  const [id, text] = [randomUUID(), QUERIES[number % 3]];
  const documents = search(text, number);
  await send(searches, id, {
    query: text,
    variant: "V1",
    latency_ms: 10 * (number + 1),
    results: documents.map((document, index) => ({ id: document, rank: index + 1 })),
  });
  if (number % 2 === 0) {
    // The user opens a result.
    await send(feedback, id, { event_id: randomUUID(), type: "click", object_id: documents[number % 3] });
  }
}
await producer.disconnect();
