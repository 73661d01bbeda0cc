/** Spans to the gateway, and feedback on them. The variables OTEL_* of the environment configure it. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { defaultResource, detectResources, envDetector } from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const isJson = process.env.OTEL_EXPORTER_OTLP_PROTOCOL === "http/json";
const exporter = isJson ? new JsonExporter() : new ProtobufExporter();
export const provider = new NodeTracerProvider({
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
provider.register();
export const tracer = trace.getTracer("shop");

/** Feedback of a user on the answer of a request: the session is its trace. */
export async function thumbsUp(span) {
  await sleep(20); // The user reads the answer.
  const event = {
    event_id: randomUUID(),
    ts: Date.now(),
    session_id: span.spanContext().traceId,
    type: "thumbs",
    value: true,
  };
  const gateway = process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const answer = await fetch(`${gateway}/v1/feedback`, { method: "POST", body: JSON.stringify(event) });
  if (!answer.ok) throw new Error(await answer.text());
}
