"""Writes the OpenTelemetry fixtures of crates/core/tests/it/otel: `generate.py FOLDER`.

The instrumentation packages are the real ones. Only the retrievers behind them are stubs, whose
rankings are listed below. OpenTelemetry's own encoder writes the bytes that the Collector's Kafka
exporter writes: `NAME.pb` is an ExportTraceServiceRequest, `NAME.json` the same message in JSON, and
`NAME.jsonl` the same rankings as native events, written without a look at the spans.

Times, ids and stack traces are replaced, so that two runs write the same bytes.
"""

import asyncio
import json
import os
import pathlib
import random
import re
import sys

from google.protobuf.json_format import MessageToDict
from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

START = 1_763_337_600_000_000_000
MILLISECOND = 1_000_000

QUERIES = {
    "q1": "국토계획법 제17조",
    "q2": "용도지역 변경 절차",
    "q3": "건폐율",
    "q4": "전자금융거래법 손해배상",
    "q5": "zoning law \"quoted\"",
}

TEXTS = {
    "법_제17조::0": "도시ㆍ군관리계획은 광역도시계획에 부합되어야 한다",
    "법_제17조::1": "도시ㆍ군기본계획의 수립 기준은 대통령령으로 정한다",
    "법_제30조::0": "용도지역의 지정 또는 변경은 도시ㆍ군관리계획으로 결정한다",
    "법_제77조::0": "건폐율의 최대한도는 관할 구역의 면적과 인구 규모를 고려한다",
    "법_제84조::0": "둘 이상의 용도지역에 걸치는 대지의 건폐율은 가중평균한다",
    "전자_제9조::0": "금융회사는 전자금융사고로 발생한 손해를 배상할 책임을 진다",
    "전자_제10조::0": "접근매체의 분실이나 도난의 통지를 받은 때부터 책임을 진다",
    "zoning-1": "Zoning law divides land into districts with permitted uses",
    "zoning-2": "A variance permits a use that the zoning law does not allow",
    "판례:1994다87323": "행정청이 문서로 처분을 하여야 한다는 판결",
}

# Grades of the gold set, by document.
GOLD = {
    "q1": {"법_제17조::0": 3, "법_제17조::1": 2, "법_제30조::0": 1},
    "q2": {"법_제30조::0": 3, "법_제17조::0": 1},
    "q3": {"법_제77조::0": 3, "법_제84조::0": 2},
    "q4": {"전자_제9조::0": 3, "전자_제10조::0": 1},
    "q5": {"zoning-1": 2, "zoning-2": 1},
}

# Served rankings of each system, by query.
RANKINGS = {
    "q1": ["법_제17조::0", "판례:1994다87323", "법_제30조::0", "법_제17조::1"],
    "q2": ["법_제17조::0", "법_제30조::0", "법_제77조::0"],
    "q3": ["법_제84조::0", "법_제77조::0"],
    "q4": [],
    "q5": ["zoning-2", "법_제84조::0", "zoning-1", "zoning-1"],
}
QUERY_IDS = {text: query_id for query_id, text in QUERIES.items()}
FAILING = "질의 오류"
RERANKED = {query: list(reversed(documents)) for query, documents in RANKINGS.items()}


def ranking(text):
    if text == FAILING:
        raise RuntimeError("index not available")
    documents = RANKINGS[QUERY_IDS[text]]
    return [(document, 0.95 - 0.0625 * rank) for rank, document in enumerate(documents)]


class Ids(IdGenerator):
    """Repeatable ids."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def generate_trace_id(self):
        return self.random.getrandbits(128)

    def generate_span_id(self):
        return self.random.getrandbits(64)


class Capture:
    """Spans of one library."""

    def __init__(self, name, limits=None):
        self.name = name
        self.exporter = InMemorySpanExporter()
        resource = Resource({"service.name": "law-search", "service.version": name})
        self.provider = TracerProvider(
            resource=resource, id_generator=Ids(name), span_limits=limits or SpanLimits()
        )
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def request(self):
        request = encode_spans(self.exporter.get_finished_spans())
        number = 0
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    start = START + number * 1_000 * MILLISECOND
                    span.start_time_unix_nano = start
                    span.end_time_unix_nano = start + (40 + number) * MILLISECOND + 500_000
                    number += 1
                    if span.status.message:
                        span.status.message = "RuntimeError: index not available"
                    for event in span.events:
                        event.time_unix_nano = span.end_time_unix_nano
                        for attribute in event.attributes:
                            if attribute.key == "exception.stacktrace":
                                attribute.value.string_value = "Traceback (most recent call last)"
        return request


def hexadecimal(node):
    """JSON form of OTLP: ids are hexadecimal, not base64."""
    import base64

    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("traceId", "spanId", "parentSpanId"):
                node[key] = base64.b64decode(value).hex()
            else:
                hexadecimal(value)
    elif isinstance(node, list):
        for value in node:
            hexadecimal(value)


def write(folder, name, request):
    (folder / f"{name}.pb").write_bytes(request.SerializeToString(deterministic=True))
    message = MessageToDict(request, use_integers_for_enums=True)
    hexadecimal(message)
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def native(folder, name, rankings):
    """Writes the rankings as native events."""
    lines = []
    for number, (query_id, documents) in enumerate(rankings.items()):
        results = [{"id": document, "text": TEXTS[document]} for document in documents]
        event = {"query_id": f"{name}-{number}", "ts": START // MILLISECOND + number, "variant": name}
        lines.append({**event, "query": QUERIES[query_id], "results": results})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def llama_index(folder):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    class LawRetriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle):
            return [
                NodeWithScore(
                    node=TextNode(
                        id_=document,
                        text=TEXTS[document],
                        metadata={"file_name": document.split("::")[0]},
                    ),
                    score=score,
                )
                for document, score in ranking(query_bundle.query_str)
            ]

    capture = Capture("llama_index")
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=capture.provider)
    retriever = LawRetriever()
    for number, text in enumerate([*QUERIES.values(), FAILING]):
        try:
            if number % 2:
                asyncio.run(retriever.aretrieve(text))
            else:
                retriever.retrieve(text)
        except RuntimeError:
            pass
    instrumentor.uninstrument()
    write(folder, capture.name, capture.request())
    native(folder, capture.name, RANKINGS)


# Answers of the assistant, by query. Articles in the text are its citations.
ANSWERS = {
    "q1": "제17조에 따라 광역도시계획에 부합되어야 한다",
    "q2": "제17조와 제99조에 따라 변경한다",
    "q3": "제77조와 제84조에 따른다",
    "q4": "자료가 없어 답할 수 없습니다",
    "q5": "There is no article about it.",
}


def answered_llama_index(folder):
    """A query engine of LlamaIndex, whose answer is the output of its span, and evaluations of the answers as events
    `gen_ai.evaluation.result` of the GenAI conventions. The model is a stub."""
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.schema import NodeWithScore, TextNode
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    class LawRetriever(BaseRetriever):
        def _retrieve(self, query_bundle):
            return [
                NodeWithScore(node=TextNode(id_=document, text=TEXTS[document]), score=score)
                for document, score in ranking(query_bundle.query_str)
            ]

    class Assistant(CustomLLM):
        @property
        def metadata(self):
            return LLMMetadata(model_name="assistant-1")

        def complete(self, prompt, formatted=False, **arguments):
            asked = [name for name, text in QUERIES.items() if f"Query: {text}\n" in prompt]
            return CompletionResponse(text=ANSWERS[asked[-1]])

        def stream_complete(self, prompt, formatted=False, **arguments):
            raise NotImplementedError

    capture = Capture("llama_index_answers")
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=capture.provider)
    engine = RetrieverQueryEngine.from_args(LawRetriever(), llm=Assistant())
    for text in QUERIES.values():
        engine.query(text)
    instrumentor.uninstrument()
    request = capture.request()
    for span in spans_of(request):
        for attribute in span.attributes:
            # Prompt templates show the addresses of functions.
            text = re.sub(r" at 0x[0-9a-f]+", "", attribute.value.string_value)
            if text != attribute.value.string_value:
                attribute.value.string_value = text
    write(folder, capture.name, request)
    evaluations(folder, [it for it in spans_of(request) if it.name == "RetrieverQueryEngine.query"])


def spans_of(request):
    return [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def evaluations(folder, spans):
    """Writes an evaluation of each span. There is no package that emits them yet, so the attributes are set here."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(resource=Resource({"service.name": "law-judge"}))
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("law.judge", "2")
    for number, span in enumerate(spans):
        context = trace.SpanContext(
            int.from_bytes(span.trace_id), int.from_bytes(span.span_id), False, trace.TraceFlags(1)
        )
        time = span.end_time_unix_nano + 2_000 * MILLISECOND
        logger.emit(
            LogRecord(
                timestamp=time,
                observed_timestamp=time,
                context=trace.set_span_in_context(trace.NonRecordingSpan(context)),
                severity_number=SeverityNumber.INFO,
                event_name="gen_ai.evaluation.result",
                attributes={
                    "gen_ai.evaluation.name": "faithfulness",
                    "gen_ai.evaluation.score.value": number / 4,
                    "gen_ai.evaluation.explanation": "by a stub",
                },
            )
        )
    write(folder, "evaluations", encode_logs(exporter.get_finished_logs()))


def langchain(folder, name, with_ids):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from openinference.instrumentation.langchain import LangChainInstrumentor

    class StatuteRetriever(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [
                Document(
                    id=document if with_ids else None,
                    page_content=TEXTS[document],
                    metadata={"page": rank},
                )
                for rank, (document, _) in enumerate(ranking(query))
            ]

    capture = Capture(name)
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=capture.provider)
    retriever = StatuteRetriever()
    for text in [*QUERIES.values(), FAILING]:
        try:
            retriever.invoke(text, config={"metadata": {"tenant": "t1"}})
        except RuntimeError:
            pass
    instrumentor.uninstrument()
    write(folder, name, capture.request())
    native(folder, name, RANKINGS)


# The instrumentation finds components by their names in their module.
@component
class CaseRetriever:
    served = None

    @component.output_types(documents=list[HaystackDocument])
    def run(self, query: str, top_k: int = 10):
        return {
            "documents": [
                HaystackDocument(
                    id=document,
                    content=TEXTS.get(document, "-"),
                    score=score,
                    meta={"court": "대법원"},
                )
                for document, score in self.served or ranking(query)
            ]
        }


@component
class ReverseRanker:
    @component.output_types(documents=list[HaystackDocument])
    def run(self, query: str, documents: list[HaystackDocument], top_k: int = 10):
        return {"documents": list(reversed(documents))}


def haystack(folder, name, both=False, documents=None):
    """`both` adds the attributes of the GenAI conventions."""
    from openinference.instrumentation.haystack import HaystackInstrumentor

    if both:
        os.environ["OPENINFERENCE_ENABLE_GENAI_SEMCONV"] = "true"
    CaseRetriever.served = documents
    capture = Capture(name)
    instrumentor = HaystackInstrumentor()
    instrumentor.instrument(tracer_provider=capture.provider)
    pipeline = Pipeline()
    pipeline.add_component("retriever", CaseRetriever())
    pipeline.add_component("ranker", ReverseRanker())
    pipeline.connect("retriever.documents", "ranker.documents")
    texts = list(QUERIES.values()) if documents is None else [QUERIES["q1"]]
    for text in texts if both or documents else [*texts, FAILING]:
        try:
            pipeline.run({"retriever": {"query": text}, "ranker": {"query": text}})
        except Exception:
            pass
    instrumentor.uninstrument()
    os.environ.pop("OPENINFERENCE_ENABLE_GENAI_SEMCONV", None)
    write(folder, name, capture.request())
    if documents is None:
        native(folder, name, RANKINGS)
        if not both:
            native(folder, f"{name}_reranked", RERANKED)


def gen_ai(folder):
    """Spans by the GenAI conventions, as an instrumented client writes them. There is no package that
    emits retrieval spans with documents yet, so the attributes are set here."""
    capture = Capture("gen_ai")
    tracer = capture.provider.get_tracer("weaviate.client", "2.0.0")
    for number, (query_id, text) in enumerate(QUERIES.items()):
        with tracer.start_as_current_span("retrieval statutes") as span:
            span.set_attribute("gen_ai.operation.name", "retrieval")
            span.set_attribute("gen_ai.data_source.id", "statutes")
            span.set_attribute("gen_ai.retrieval.query.text", text)
            found = [
                {"id": document, "score": score, "content": TEXTS[document]}
                for document, score in ranking(text)
            ]
            if number % 2 and found:
                span.set_attribute(
                    "gen_ai.retrieval.documents",
                    [json.dumps(document, ensure_ascii=False) for document in found],
                )
            elif found:
                text = json.dumps(found, ensure_ascii=False)
                span.set_attribute("gen_ai.retrieval.documents", text)
            else:
                span.set_attribute("gen_ai.retrieval.documents", [])
    write(folder, capture.name, capture.request())
    native(folder, capture.name, RANKINGS)


def langfuse(folder):
    """Observations of the Langfuse SDK, with the attributes that its retriever observations have."""
    capture = Capture("langfuse")
    tracer = capture.provider.get_tracer("langfuse-sdk", "4.0.0")
    for text in QUERIES.values():
        with tracer.start_as_current_span("retrieve") as span:
            span.set_attribute("langfuse.observation.type", "retriever")
            span.set_attribute("langfuse.observation.input", json.dumps(text, ensure_ascii=False))
            found = [
                {
                    "id": document,
                    "metadata": {"page": 1},
                    "page_content": TEXTS[document],
                    "type": "Document",
                }
                for document, _ in ranking(text)
            ]
            output = json.dumps(found, ensure_ascii=False)
            span.set_attribute("langfuse.observation.output", output)
            span.set_attribute("langfuse.version", "langfuse")
    write(folder, capture.name, capture.request())
    native(folder, capture.name, RANKINGS)


def gold(folder):
    queries = [
        {
            "query_id": query_id,
            "query_text": text,
            "ground_truth": GOLD[query_id],
        }
        for query_id, text in QUERIES.items()
    ]
    write_json(folder / "gold.json", {"version": "otel", "queries": queries})
    queries = [
        {
            "query_id": query_id,
            "query_text": text,
            "texts": [TEXTS[document] for document in GOLD[query_id]],
        }
        for query_id, text in QUERIES.items()
    ]
    write_json(folder / "gold-texts.json", {"version": "otel", "queries": queries})


def write_json(path, value):
    text = json.dumps(value, ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    gold(folder)
    llama_index(folder)
    answered_llama_index(folder)
    langchain(folder, "langchain", with_ids=False)
    langchain(folder, "langchain_ids", with_ids=True)
    haystack(folder, "haystack")
    haystack(folder, "haystack_both", both=True)
    many = [(f"d{rank}", 1 - rank / 100) for rank in range(40)]
    haystack(folder, "haystack_cut", documents=many)
    haystack(folder, "haystack_both_cut", both=True, documents=many)
    gen_ai(folder)
    langfuse(folder)


if __name__ == "__main__":
    main()
