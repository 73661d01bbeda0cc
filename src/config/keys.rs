//! All keys of the configuration: one entry states path, type, default, help and examples.
//!
//! The reference `config/rankgauge.yaml`, `config show`, the check of unknown keys, the JSON schema
//! for editors and the schema of the values of the chart follow from this table; the reader takes
//! types and defaults from it. `UPDATE=1 cargo test --test it config::derived` writes the files.

use std::net::SocketAddr;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::path::PathBuf;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use super::key::{
    Bytes, Checked, Group, List, NamedLists, Names, Number, Shape, Span, TEXT, Whole, Word,
    checked, keys, named, parsed,
};
use super::log_settings::LogFormat;
use super::values;
use rankgauge_core::columns::Columns;
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::Encoding;
use rankgauge_core::decode::otlp::{DocumentSource, FeedbackAction, Session, SpanKind};
use rankgauge_core::decode::ubi::Meaning;
use rankgauge_core::engine::money::Money;
use rankgauge_core::engine::position::Join;
use rankgauge_core::engine::settings::{Assignment, Ranges, Rolling};
use rankgauge_core::engine::sources::RepartitionKey;
use rankgauge_core::gold::{self, Grade};
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::measure::{Measure, Requirement};
use rankgauge_core::ranking::{JudgeBy, Rouge, SearchField};
use rankgauge_core::time::EventTime;
use rankgauge_gateway::KeyBy;
use rankgauge_kafka::settings::{GroupProtocol, StalledPartition, Start};
use rankgauge_probe::{Method, PRESETS, Preset};
use rankgauge_serve::log_level::LOG_LEVELS;

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;
const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Interval of a periodic task.
const INTERVAL: Span = Span(Duration::from_millis(10), HOUR);

/// Maximum length of a list, so that its checks end soon.
const MANY: usize = 1_000;

const MEASURE: Checked<Measure> = named(parsed);
const MEASURES: List<Checked<Measure>> = List(MEASURE, 0, MANY);
const TEXTS: List<Checked<String>> = List(TEXT, 0, MANY);
const SHARE: Number = Number(Included(0.0), Included(1.0), "a share from 0 to 1");
const UP_TO_1: Number = Number(Excluded(0.0), Included(1.0), "a number above 0, up to 1");
const UP_TO_HALF: Number = Number(Excluded(0.0), Included(0.5), "a number above 0, up to 0.5");
const POSITIONS: List<Number> = List(
    Number(Excluded(0.0), Included(1.0), "above 0, up to 1"),
    0,
    MANY,
);
const RATE: Number = Number(
    Excluded(0.0),
    Excluded(1.0),
    "a share above 0 and below 1, as 0.01",
);
const SECONDS: Number = Number(
    Excluded(0.0),
    Unbounded,
    "a number of seconds above 0, as 0.5",
);
const COST: Number = Number(
    Excluded(0.0),
    Unbounded,
    "an amount above 0 in units of the currency, as 0.003",
);
const SEARCHES: Number = Number(
    Excluded(0.0),
    Unbounded,
    "a number of searches per second above 0, as 10",
);
const QUANTILE: Number = Number(
    Excluded(0.0),
    Excluded(1.0),
    "a quantile between 0 and 1, as 0.95; leave it out for the mean",
);
const PRESET_NAMES: [(&str, &Preset); 8] = Preset::named(PRESETS);

keys! {
    /// All keys, in the order of the reference.
    pub fn all;

    /// Bootstrap servers, host:port, with commas or as a list.
    BROKERS: List<Checked<String>> = "kafka.brokers", List(checked(values::broker), 0, MANY),
        default "localhost:9092";
    /// Consumer group. All replicas share it; Kafka distributes the partitions over them.
    GROUP_ID: Checked<String> = "kafka.group_id", checked(values::group_id), default "rankgauge";
    /// Topic of search events. Both topics need the same number of partitions, and records with query_id
    /// (or session_id) as key: a search and its feedback must reach the same worker.
    SEARCH_TOPIC: Checked<String> = "kafka.search_topic", checked(values::topic),
        default "search.log";
    /// Topic of feedback events: another one, the search topic (its records are then of both kinds), or none
    /// for a system without feedback. Measures that need feedback are then not computed.
    FEEDBACK_TOPIC: Checked<String> = "kafka.feedback_topic", checked(values::topic),
        default "search.feedback";
    /// Record format of the search topic: native (docs/events.md), ubi (User Behavior Insights, as written
    /// by OpenSearch and Elasticsearch), otlp_proto or otlp_json (OpenTelemetry traces, as written by the
    /// Collector's Kafka exporter: docs/connect/opentelemetry.md), or a name of the section formats
    /// (records of your own: docs/connect/own-records.md).
    SEARCH_FORMAT: Checked<String> = "kafka.search_format", TEXT, default "native";
    /// Record format of the feedback topic, as above. If it is the search topic, it has that format.
    FEEDBACK_FORMAT: Checked<String> = "kafka.feedback_format", TEXT, default "native";
    /// Dead-letter topic. Records that cannot be decoded are sent to it unchanged, with headers for
    /// reason, detail, topic, partition and offset. Without it they are only counted. It has to exist.
    DEAD_LETTER_TOPIC: Checked<String> = "kafka.dead_letter_topic", checked(values::topic),
        example "search.rejected";
    /// Commit the offsets of a topic of which no record decodes, true or false. By default they stay, so
    /// that the records are read again with a corrected configuration; the process is not ready then.
    COMMIT_UNDECODABLE: Word<bool> = "kafka.commit_undecodable",
        Word(&[("false", false), ("true", true)]), default "false";
    /// Start position of a partition without a committed offset of the group. The default is latest,
    /// because a sidecar that joins a busy topic should not unexpectedly replay days of history.
    START: Word<Start> = "kafka.start",
        Word(&[("earliest", Start::Earliest), ("latest", Start::Latest)]), default "latest";
    /// Handling of a partition that is stalled because librdkafka cannot read a batch, for example one
    /// whose decompressed size exceeds receive.message.max.bytes. The batch is first read again with a
    /// larger buffer. If that fails, wait reports the partition until an operator acts, and skip counts
    /// the records of the batch as lost and continues after it.
    STALLED_PARTITION: Word<StalledPartition> = "kafka.stalled_partition",
        Word(&[("wait", StalledPartition::Wait), ("skip", StalledPartition::Skip)]), default "wait";
    /// Partitions in which a search and its feedback can lie. partition: those of the same number, with
    /// equal keys and partition counts; the replicas share the partitions. owner: any; one replica reads all
    /// partitions, the others stand by. It is the owner by the only partition of the topic GROUP-owner,
    /// which rankgauge creates. repartition: any; the replicas copy the records to the topics
    /// GROUP-repartition-search and GROUP-repartition-feedback, by the id of their events, and share the
    /// partitions of these.
    JOIN: Word<Join> = "kafka.join",
        Word(&[
            ("partition", Join::Partition),
            ("owner", Join::All),
            ("repartition", Join::Repartition),
        ]), default "partition";
    /// Id by which kafka.join: repartition distributes the records: query_id, or session_id, where it is
    /// stated. With session_id, session measures see whole sessions; feedback must then have the session_id
    /// of its search.
    REPARTITION_KEY: Word<RepartitionKey> = "kafka.repartition_key",
        Word(&[("query_id", RepartitionKey::Query), ("session_id", RepartitionKey::Session)]),
        default "query_id";
    /// Protocol of the consumer group: classic, or consumer (KIP-848, brokers of Kafka 4.0 and newer). With
    /// consumer, the brokers assign the partitions (by ranges) and set the session time-out, and
    /// session.timeout.ms and heartbeat.interval.ms cannot be set below. A group changes its protocol by a
    /// rolling restart.
    GROUP_PROTOCOL: Word<GroupProtocol> = "kafka.group_protocol",
        Word(&[("classic", GroupProtocol::Classic), ("consumer", GroupProtocol::Consumer)]),
        default "classic";
    /// librdkafka properties, by their librdkafka names, which librdkafka checks at start. If a name
    /// contains password, secret, key or token, the value is never printed. Prefer a variable for
    /// secrets: RANKGAUGE__KAFKA__PROPERTIES__SASL_PASSWORD, where each underscore stands for a dot.
    /// Rejected, because the sidecar sets them itself: bootstrap.servers, group.id, group.protocol,
    /// group.remote.assignor, partition.assignment.strategy, auto.offset.reset, enable.partition.eof,
    /// and the properties of automatic commits. A group.instance.id, different for each replica, makes
    /// its workers static members (a hash of the topics and the worker number are appended): a restart
    /// within session.timeout.ms keeps the partitions.
    PROPERTIES: Names<Checked<String>> = "kafka.properties", Names(TEXT), default "",
        example "security.protocol: SASL_SSL", example "sasl.mechanism: SCRAM-SHA-512",
        example "sasl.username: rankgauge", example "ssl.ca.location: /etc/kafka/ca.pem";

    /// Formats of your own, by names that kafka.search_format and kafka.feedback_format use:
    /// docs/connect/own-records.md.
    FORMATS: Group = "formats", Group(Shape::NamedSections);
    /// Encoding of the records.
    ENCODING: Word<Encoding> = "formats.NAME.encoding", Word(&Encoding::NAMES), default "json";
    /// Framing of the encoding: none, confluent (a zero byte and the id of a schema in a registry) or
    /// single_object (of Avro, with the fingerprint of its schema).
    FRAMING: Word<Framing> = "formats.NAME.framing", Word(&Framing::NAMES), default "none";
    /// Compression of the payloads by the producer. Compression by Kafka needs no setting.
    COMPRESSION: Word<Compression> = "formats.NAME.compression", Word(&Compression::NAMES),
        default "none";
    /// File with the schema of the records: an .avsc; or a descriptor set (protoc --include_imports
    /// --descriptor_set_out) or a .proto file. Not needed for json, nor with registry.url.
    SCHEMA: Checked<PathBuf> = "formats.NAME.schema", checked(values::path), example "search.avsc";
    /// Full name of the message, if the schema has several. With registry.url, records of other messages
    /// are ignored.
    MESSAGE: Checked<String> = "formats.NAME.message", TEXT, example "shop.SearchExecuted";
    /// Sources of the fields of search and feedback events: pointers into a record, its key, its headers,
    /// its timestamp, or constants.
    MAPPING: Group = "formats.NAME.mapping", Group(Shape::Free);

    /// Schema registry of formats with framing: confluent, in avro or protobuf. Without it, a schema of a
    /// file is read for all ids.
    REGISTRY: Group = "registry", Group(Shape::Section);
    /// URL of the API that Confluent's registry has; Apicurio's ends in /apis/ccompat/v7.
    REGISTRY_URL: Checked<String> = "registry.url", checked(values::registry_url),
        example "https://registry:8081";
    /// User of basic authentication.
    REGISTRY_USERNAME: Checked<String> = "registry.username", TEXT, example "rankgauge";
    /// Password of that user, which is never printed: prefer the variable RANKGAUGE__REGISTRY__PASSWORD.
    REGISTRY_PASSWORD: Checked<String> = "registry.password", TEXT, example "SECRET";
    /// Bearer token, which replaces user and password, and is never printed: prefer the variable
    /// RANKGAUGE__REGISTRY__TOKEN.
    REGISTRY_TOKEN: Checked<String> = "registry.token", TEXT, example "SECRET";
    /// Certificates in PEM of the authorities of the registry. Without it, those of the system.
    REGISTRY_CA_FILE: Checked<PathBuf> = "registry.ca_file", checked(values::path),
        example "/etc/ssl/registry-ca.pem";
    /// Time limit of a request for a schema.
    REGISTRY_TIMEOUT: Span = "registry.timeout", Span(MILLISECOND, Duration::from_mins(5)), default "10s";

    /// Choices that User Behavior Insights leaves open. Used only if a format above is ubi.
    UBI: Group = "ubi", Group(Shape::Section);
    /// Ordinal of the first result in event_attributes.position.ordinal: 1 in the specification, 0 in
    /// OpenSearch's sample data. A lower ordinal does not identify a position.
    ORDINAL_BASE: Word<u32> = "ubi.ordinal_base", Word(&[("0", 0), ("1", 1)]), default "1";
    /// Meaning of each action, by action_name: a type of native feedback (impression, click, dwell,
    /// conversion, thumbs, rating, judgment, reformulation, comment, custom), thumbs_up or thumbs_down.
    /// An action that is not listed is custom.
    ACTIONS: Names<Checked<Meaning>> = "ubi.actions", Names(checked(values::meaning)),
        default "add_to_cart: conversion, click: click, dwell: dwell, impression: impression, item_click: click, product_hover: impression, purchase: conversion, thumbs_down: thumbs_down, thumbs_up: thumbs_up, view: impression";

    /// Mapping of OpenTelemetry spans to searches. Used only if a format above is otlp_proto or otlp_json.
    OTLP: Group = "otlp", Group(Shape::Section);
    /// Kinds of spans that are searches. With both, span.kind has to be a source of the variant, because a
    /// reranker is another system than its retriever.
    SEARCH_SPANS: List<Word<SpanKind>> = "otlp.search_spans", List(Word(&SpanKind::NAMES), 0, MANY),
        default "retriever";
    /// Patterns of names of these spans, with * for any text. A span is a search if its name matches one
    /// of names (or names is empty) and none of ignore_names.
    SPAN_NAMES: List<Checked<String>> = "otlp.names", TEXTS, default "";
    /// Patterns of names of spans that are not searches. The defaults are inner spans of LlamaIndex.
    IGNORE_NAMES: List<Checked<String>> = "otlp.ignore_names", TEXTS,
        default "*._retrieve, *._aretrieve";
    /// Attributes of resources, as service.name, with patterns of their values: a span is a search if its
    /// resource has one of the values of each. Without any, every resource is read.
    RESOURCES: NamedLists<Checked<String>> = "otlp.resources", NamedLists(TEXT, MANY), default "",
        example "service.name: [shop, search-*]", example "deployment.environment.name: production";
    /// Patterns of names of instrumentation scopes whose spans are searches, as openinference.*; every scope
    /// without any.
    SCOPES: List<Checked<String>> = "otlp.scopes", TEXTS, default "";
    /// Members of a JSON input that can be the query text, in order of precedence.
    QUERY_FIELDS: List<Checked<String>> = "otlp.query_fields", TEXTS,
        default "query, query_str, question, input";
    /// Sources of the key of the gold query, in order of precedence. Here, in variant and in labels, a
    /// source is span.kind, span.name, metadata.KEY (a member of the attribute metadata, or
    /// langfuse.observation.metadata.KEY), resource.KEY, or the name of an attribute of the span.
    QUERY_KEY: List<Checked<String>> = "otlp.query_key", TEXTS, default "metadata.query_key";
    /// Sources of the id of a document, in order of precedence: document.id, or metadata.KEY for a member
    /// of its metadata.
    DOCUMENT_ID: List<Checked<DocumentSource>> = "otlp.document_id",
        List(checked(values::document_source), 0, MANY), default "document.id";
    /// Sources of the group of a document, as those of its id.
    DOCUMENT_GROUP: List<Checked<DocumentSource>> = "otlp.group_id",
        List(checked(values::document_source), 0, MANY), default "";
    /// Sources of the variant, in order of precedence.
    VARIANT: List<Checked<String>> = "otlp.variant", TEXTS,
        default "metadata.variant, langfuse.version, resource.service.version";
    /// Session of a search: the trace, or session.id (also gen_ai.conversation.id).
    SESSION: Word<Session> = "otlp.session", Word(&Session::NAMES), default "trace";
    /// Sources of additional labels for slices, beside span_kind, span_name and gen_ai.data_source.id. A
    /// label has the name of its source.
    LABELS: List<Checked<String>> = "otlp.labels", TEXTS, default "";
    /// Patterns of names of spans whose output is the answer of their trace, usually the root: it belongs to
    /// the last search of the trace that ended before it, in the same record. Without any, answers are not
    /// read.
    ANSWERS: List<Checked<String>> = "otlp.answers", TEXTS, default "";
    /// Evaluations that are feedback, by their names: thumbs or rating MIN..MAX of users, or
    /// judgment [answer|search] [human|model|rule] [MIN..MAX] of an evaluator, by default of an answer by a
    /// model from 0 to 1. Used only if kafka.feedback_format is otlp_proto or otlp_json. Evaluations with
    /// other names are counted and ignored.
    EVALUATIONS: Names<Checked<FeedbackAction>> = "otlp.feedback",
        Names(checked(values::feedback_action)), default "",
        example "user_feedback: thumbs", example "user_rating: rating 1..5",
        example "faithfulness: judgment";

    /// Worker threads, each with its own consumer. A worker processes tens of thousands of events per
    /// second. Workers beyond the number of partitions are idle.
    WORKERS: Whole = "workers", Whole(1, 256), default "1";
    /// Interval between commits of the offsets of counted records. It bounds the records that another
    /// replica counts a second time after a crash. With a checkpoint folder, offsets are also committed
    /// whenever a checkpoint is on disk.
    COMMIT_INTERVAL: Span = "commit_interval", INTERVAL, default "5s";
    /// Interval at which a worker publishes the snapshot that a scrape exposes.
    PUBLISH_INTERVAL: Span = "publish_interval", INTERVAL, default "1s";
    /// Time limit of a shutdown; it is aborted after that. Keep it below the pod's grace period.
    SHUTDOWN_TIMEOUT: Span = "shutdown_timeout", INTERVAL, default "10s";

    /// Folder for the checkpoints of the counters, one per replica, on a volume that outlives the
    /// container. A scrape then exposes only state that is on disk, and a restart continues from it.
    /// Without the folder, counters start at 0 after every restart, as in most exporters. The folder is
    /// created if it does not exist, and locked: two processes cannot share it.
    CHECKPOINT_FOLDER: Checked<PathBuf> = "checkpoint.folder", checked(values::path),
        example "/var/lib/rankgauge";

    /// State that all replicas share, so that a new replica continues with the baselines of the fleet, and
    /// commands to one replica reach all. See docs/guarantees.md.
    STATE: Group = "state", Group(Shape::Section);
    /// Compacted topic of the state. It is created with one partition if it does not exist; Create,
    /// Describe, Read and Write are needed. Without it, each replica has the baselines of its own searches.
    STATE_TOPIC: Checked<String> = "state.topic", checked(values::topic), example "rankgauge-state";
    /// Interval at which a worker publishes its state, and reads that of the others.
    STATE_INTERVAL: Span = "state.interval", Span(SECOND, HOUR), default "1m";

    /// Files and folders with judgements, relative to this file; in variables and flags, relative to the
    /// working directory. All files of a folder are read, in the order of their names. Without any path,
    /// searches are counted as unjudged.
    GOLD_PATHS: List<Checked<String>> = "gold.paths", List(named(values::gold_path), 0, 10_000),
        default "";
    /// auto (recognised by content), or the format of all files: native, rag, plan, qrels, beir, quepid,
    /// srw, rank_eval or ranx.
    GOLD_FORMAT: Checked<Option<gold::Format>> = "gold.format", checked(values::gold_format),
        default "auto";
    /// Columns of tables (CSV, TSV, Parquet) whose names are not found: their contents in order, or by name or
    /// number: "query,_,document,grade", "query=qid,document=pid,grade=3". Contents are query, document, grade,
    /// text (of the query) and subtopic; _ is a column that is not read.
    GOLD_COLUMNS: Checked<Columns> = "gold.columns", checked(values::gold_columns),
        example "query=qid,document=pid,grade=3";
    /// Lowest grade that counts as relevant. Default: the value in the gold set, else 1.
    RELEVANCE_LEVEL: Checked<Grade> = "gold.relevance_level", checked(values::grade), example "1";
    /// Interval between checks of the files for changes. If the new set does not load, the previous set
    /// stays in use.
    RELOAD_INTERVAL: Span = "gold.reload_interval", Span(Duration::from_millis(10), DAY),
        default "10s";
    /// Searches that are judged, by members of the search event (page, page_size, filters, sort,
    /// application, domain, variant, error_type, synthetic, total_hits, session_id, client_id, user_id,
    /// labels.NAME, attrs.NAME), each with its values: true or false for filters and synthetic, an empty
    /// text for an absent member, "*" for any value. Others are counted as not_eligible, and have no
    /// scores. Without a condition on it, page has to be 1, filters false and sort relevance, or absent.
    JUDGE_WHEN: NamedLists<Checked<String>> = "gold.judge_when", NamedLists(TEXT, MANY), default "",
        example "application: [shop, app]", example "sort: [relevance, score]";
    /// Maximum duration of a read of the files. A read that hangs is given up, counted as failed and repeated
    /// later; until the first one succeeds, the listeners answer and no search is read.
    LOAD_TIMEOUT: Span = "gold.load_timeout", Span(Duration::from_millis(10), HOUR), default "30s";
    /// Field of a result that identifies the judged document: id, or group_id if results are chunks.
    JUDGE_BY: Word<JudgeBy> = "gold.judge_by",
        Word(&[("id", JudgeBy::Id), ("group_id", JudgeBy::GroupId)]), default "id";
    /// For gold queries with texts instead of documents: a result matches a gold text if their ROUGE F1,
    /// over Unicode words, reaches the threshold.
    TEXT_MATCH: Word<Rouge> = "gold.text_match",
        Word(&[("rouge1", Rouge::One), ("rouge2", Rouge::Two), ("rougeL", Rouge::L)]),
        default "rougeL";
    /// Threshold of that match.
    TEXT_THRESHOLD: Number = "gold.text_threshold", UP_TO_1, default "0.5";
    /// References to documents in the texts of answers, for answers without a list of citations. A place in a
    /// text belongs to the first pattern that matches it.
    REFERENCES: Group = "gold.references", Group(Shape::Sections),
        example "{pattern: '제(\\d+)조\\s*제(\\d+)항', id: '법률_제{1}조_제{2}항'}",
        example "{pattern: '제(\\d+)조', id: '법률_제{1}조'}";
    /// Regular expression.
    REFERENCE_PATTERN: Checked<String> = "gold.references[].pattern", TEXT;
    /// Id of the document, with groups of the pattern by number or name in braces.
    REFERENCE_ID: Checked<String> = "gold.references[].id", TEXT;

    /// Measures computed for every search: Name(param=value,…)@cutoff, as in ir_measures. Every measure
    /// is a metric label value and is broken down by every slice and by variant.
    COMPUTED: List<Checked<Measure>> = "measures", MEASURES,
        default "P@1, P@5, P@10, R@5, R@10, nDCG@5, nDCG@10, AP, RR, Success@5, Judged@10, CTR, CTR@3, ClickRR, SAT, Converted, Abandoned, Reformulated, SessionSuccess, ThumbsUp, ZeroResult";

    /// Labels of the gold query, else of the search, by which scores are broken down, one at a time.
    SLICES: List<Checked<String>> = "slices", List(checked(values::slice), 0, MANY),
        default "query_type, difficulty";

    /// Parts of a ranking that come from one mechanism, by name. A result belongs to a component if any
    /// rule applies.
    COMPONENTS: Group = "components", Group(Shape::NamedSections),
        example "rne: {stages: [rne_]}", example "a2a: {attrs: {source: a2a}}",
        example "cross_domain: {differs: {attr: domain, field: domain}}";
    /// One of the stages of the result begins with one of these.
    STAGES: List<Checked<String>> = "components.NAME.stages", List(named(values::stage), 0, MANY),
        default "";
    /// An attribute of the result has the value given here.
    ATTRS: Names<Checked<String>> = "components.NAME.attrs", Names(TEXT);
    /// This attribute of the result differs from the field of the search.
    DIFFERS_ATTR: Checked<String> = "components.NAME.differs.attr", TEXT;
    /// Field of the search.
    DIFFERS_FIELD: Word<SearchField> = "components.NAME.differs.field",
        Word(&[("domain", SearchField::Domain), ("application", SearchField::Application)]);

    /// Targets, for dashboards and alerts: of measures, each one of those above, or of latency, errors,
    /// cost and traffic (docs/detection.md). Measures with targets are watched, see detection.measures.
    TARGETS: Group = "targets", Group(Shape::Sections),
        example "{measure: P@5, tier: good, value: 0.7}",
        example "{latency: {stage: all, quantile: 0.95, target: 0.5}, tier: good}",
        example "{latency: {stage: all, target: 0.2}, tier: good}",
        example "{error_rate: 0.01, tier: good}", example "{zero_result_rate: 0.05, tier: good}",
        example "{cost_per_query: {currency: USD, target: 0.003}, tier: good}",
        example "{traffic_share: {variant: V5, min: 0.1, max: 0.3}}",
        example "{throughput: 10, tier: good}";
    /// Measure.
    TARGET_MEASURE: Checked<Measure> = "targets[].measure", MEASURE;
    /// Name of the tier, which is free; of several tiers, the least demanding one raises alerts.
    TARGET_TIER: Checked<String> = "targets[].tier", TEXT;
    /// Lowest mean of the measure, or the highest one where lower is better.
    TARGET_VALUE: Number = "targets[].value", Number(Unbounded, Unbounded, "a number");
    /// Highest mean latency in seconds, or a section.
    LATENCY: Number = "targets[].latency", SECONDS;
    /// Stage of the search.
    LATENCY_STAGE: Checked<String> = "targets[].latency.stage", TEXT, default "all";
    /// Quantile, instead of the mean.
    LATENCY_QUANTILE: Number = "targets[].latency.quantile", QUANTILE;
    /// Highest latency in seconds; for a quantile, one of latency.buckets.
    LATENCY_TARGET: Number = "targets[].latency.target", SECONDS;
    /// Highest share of failed searches.
    ERROR_RATE: Number = "targets[].error_rate", RATE;
    ERROR_RATE_TARGET: Number = "targets[].error_rate.target", RATE;
    /// Highest share of searches without results.
    ZERO_RESULT_RATE: Number = "targets[].zero_result_rate", RATE;
    ZERO_RESULT_RATE_TARGET: Number = "targets[].zero_result_rate.target", RATE;
    /// Highest mean cost of a search, or a section.
    COST_PER_QUERY: Number = "targets[].cost_per_query", COST;
    /// Currency. Default: that of the prices, if they have one.
    COST_CURRENCY: Checked<String> = "targets[].cost_per_query.currency", TEXT;
    /// Highest mean cost of a search.
    COST_TARGET: Number = "targets[].cost_per_query.target", COST;
    /// Share of the searches that a variant serves.
    TRAFFIC_SHARE: Group = "targets[].traffic_share", Group(Shape::Section);
    /// Variant.
    SHARE_VARIANT: Checked<String> = "targets[].traffic_share.variant", TEXT;
    /// Lowest share.
    SHARE_MIN: Number = "targets[].traffic_share.min", SHARE;
    /// Highest share.
    SHARE_MAX: Number = "targets[].traffic_share.max", SHARE;
    /// Lowest number of searches per second.
    THROUGHPUT: Number = "targets[].throughput", SEARCHES;
    THROUGHPUT_TARGET: Number = "targets[].throughput.target", SEARCHES;

    /// Offline evaluation only. Measures, among those with targets, whose lowest tier is the overall tier
    /// of a run.
    TIER_MEASURES: List<Checked<Measure>> = "tier_measures", MEASURES, default "", example "[P@5]";

    /// Offline evaluation only. Bounds that a run has to meet together. `evaluate --require NAME` fails if
    /// it does not.
    GOALS: Group = "goals", Group(Shape::Sections),
        example "{name: precision-with-recall, require: [P@10>=0.7, R@10>=0.75]}";
    /// Name of the goal.
    GOAL_NAME: Checked<String> = "goals[].name", checked(values::goal_name);
    /// Bounds of measures.
    GOAL_REQUIRE: List<Checked<Requirement>> = "goals[].require", List(named(parsed), 0, MANY),
        default "";

    /// Experiments: searches assigned to arms (the variants) at random, with the intended share of each
    /// arm. Their scores are broken down by slice="experiment", value=the id, and the other arms are
    /// compared with the control. An arm that is worse in one of its guardrail measures raises an alert.
    EXPERIMENTS: Group = "experiments", Group(Shape::Sections),
        example "{id: ranker-2026, control: V4, assignment: user, guardrails: [nDCG@10, SAT], arms: [{variant: V4, share: 0.5}, {variant: V5, share: 0.5}]}";
    /// Id, as it appears in events.
    EXPERIMENT_ID: Checked<String> = "experiments[].id", named(values::event_name);
    /// Arm that the others are compared with.
    EXPERIMENT_CONTROL: Checked<String> = "experiments[].control", named(values::event_name);
    /// Unit that the service assigns to an arm: user (users by user_id; the session if a search has none) or
    /// session. Searches of one unit are not independent, and a wrong unit raises false alarms.
    EXPERIMENT_ASSIGNMENT: Word<Assignment> = "experiments[].assignment", Word(&Assignment::NAMES),
        default "user";
    /// Guardrail measures. Default: the watched measures.
    GUARDRAILS: List<Checked<Measure>> = "experiments[].guardrails", MEASURES;
    /// Arms, at least two.
    ARMS: Group = "experiments[].arms", Group(Shape::Sections);
    /// Variant of the arm.
    ARM_VARIANT: Checked<String> = "experiments[].arms[].variant", named(values::event_name);
    /// Intended share of the searches.
    ARM_SHARE: Number = "experiments[].arms[].share",
        Number(Excluded(0.0), Excluded(1.0), "a share above 0 and below 1");

    /// Minimum number of searches behind a rolling value of a feedback measure. Below it, the value is
    /// not exposed.
    MIN_SAMPLES: Whole = "feedback.min_samples", Whole(0, 1_000_000_000), default "30";
    /// Probability that a user examines position 1, 2, … (the last value holds for all later ones), above
    /// 0, up to 1. IPWClicks weights clicks by it and requires it.
    PROPENSITIES: List<Number> = "feedback.propensities", POSITIONS, default "",
        example "[1, 0.62, 0.44, 0.33, 0.26, 0.21, 0.17, 0.14, 0.12, 0.1]";
    /// Maximum weight of a click: clips 1 / propensity.
    MAX_CLICK_WEIGHT: Number = "feedback.max_click_weight",
        Number(Included(1.0), Included(1e6), "a number from 1 to 1000000"), default "10";
    /// Expected clicks per search at position 1, 2, …, above 0, up to 1. Clicks over expected clicks
    /// (COEC) are rankgauge_clicks_total / rankgauge_expected_clicks_total. Without this key, the latter
    /// is absent.
    EXPECTED_CLICKS: List<Number> = "feedback.expected_clicks", POSITIONS, default "",
        example "[0.32, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.03, 0.02, 0.02]";

    /// Deployments that searches show by themselves, beside those that POST /-/deployment reports.
    DEPLOYMENTS: Group = "deployments", Group(Shape::Section);
    /// Sources of the version of a variant, in order of precedence: labels.NAME, for a label of searches,
    /// or sources as in otlp.variant. A new version is a deployment of the same variant, which keeps its
    /// baselines. A version that was seen before is deployed again after ten minutes without it. It is a
    /// roll-back, and deployed again, after two minutes without the current version and 20 searches of others.
    DEPLOYMENTS_FROM: List<Checked<String>> = "deployments.from", TEXTS, default "",
        example "[labels.build]";

    /// Regression detection with anytime-valid tests: checking them continuously does not raise the
    /// false-alarm rate. See docs/detection.md. `rankgauge check` prints the resulting thresholds.
    DETECTION: Group = "detection", Group(Shape::Section);
    /// Watched measures, between 0 and 1, among those above. If a measure has targets, the lowest one is
    /// tested. Default: every measure with a target. [] switches it off.
    WATCHED: List<Checked<Measure>> = "detection.measures", MEASURES, example "[nDCG@10, RR, SAT]";
    /// Slices, among those above, that are watched in addition to all searches.
    WATCHED_SLICES: List<Checked<String>> = "detection.slices", TEXTS, default "";
    /// Drop of the mean score that is not a regression.
    TOLERANCE: Number = "detection.tolerance", UP_TO_HALF, default "0.01";
    /// Minimum drop that is not a regression in the warm-up of a series: two days after its first
    /// comparison, nine days for a seasonal measure. The variation of hours is not yet learned then.
    WARM_UP_TOLERANCE: Number = "detection.warm_up_tolerance", UP_TO_HALF, default "0.02";
    /// Measures whose scores differ by the hour of the week, among the watched ones, in addition to
    /// user measures. Drops in some of the queries are not looked for in them.
    SEASONAL: List<Checked<Measure>> = "detection.seasonal", MEASURES, default "";
    /// Look for drops in some of the queries. false if single queries often change in normal operation,
    /// for example at each refresh of the index.
    LOCAL: Word<bool> = "detection.local", Word(&[("true", true), ("false", false)]), default "true";
    /// Mean length of a burst of dependent searches: the searches of one user or of one session that
    /// follow each other. A query counts once in this time (whole minutes, at least 1), and a block of
    /// five times this length (at least 5 minutes) is one observation of a mean. If bursts are longer
    /// than this, healthy traffic can raise alarms.
    BURST: Span = "detection.burst", Span(SECOND, DAY), default "1m";
    /// Accepted false alarms of drops in 90 days, over all watched series and replicas.
    FALSE_ALARMS: Number = "detection.false_alarms",
        Number(Excluded(0.0), Included(1e6), "a number above 0, up to 1000000"), default "1";
    /// Number of watched series: measures x variants x values of the slices.
    SERIES: Whole = "detection.series", Whole(1, 1_000_000), default "50";
    /// Number of replicas.
    REPLICAS: Whole = "detection.replicas", Whole(1, 1_000_000), default "1";
    /// Maximum probability that a target that is met is ever reported as missed, for one series over all
    /// replicas. Bounds of means use it too.
    ALPHA: Number = "detection.alpha", UP_TO_HALF, default "0.001";

    /// Live estimate of the quality of all traffic from few labels: requests for labels go to a topic, and
    /// judgements with their request come back through the feedback topic. See docs/no-gold-set.md.
    LABELLING: Group = "labelling", Group(Shape::Section);
    /// Topic of the requests, in JSON.
    LABEL_TOPIC: Checked<String> = "labelling.topic", checked(values::topic),
        example "search.label.requests";
    /// Number of labels a day that this process requests, over all variants. A result is requested with a
    /// probability of 0.0001 at least.
    LABELS_PER_DAY: Whole = "labelling.per_day", Whole(1, 1_000_000_000), default "200";
    /// Estimated measures: P@k, RBP, RBP(p=0.5), sDCG@k.
    LABEL_MEASURES: List<Checked<LabelMeasure>> = "labelling.measures",
        List(named(parsed), 1, 8), default "P@5, sDCG@10";
    /// Time after a window in which its judgements count.
    LABEL_DEADLINE: Span = "labelling.deadline", Span(SECOND, Duration::from_hours(90 * 24)), default "168h";
    /// Length of a window, whose searches have one estimate.
    LABEL_WINDOW: Span = "labelling.estimate_window", Span(SECOND, Duration::from_hours(31 * 24)), default "24h";
    /// Seed of the draws.
    LABEL_SEED: Whole = "labelling.seed", Whole(0, u32::MAX as usize), default "0";
    /// Highest grade of the labels.
    LABEL_SCALE: Whole = "labelling.scale_max", Whole(1, 100), default "3";
    /// File with the key of the signatures of requests, at least 16 bytes. With it, a label service cannot
    /// change the probability and the prediction of a request.
    LABEL_KEY_FILE: Checked<PathBuf> = "labelling.key_file", checked(values::path),
        example "/etc/rankgauge/label-key";

    /// Rolling windows in event time, shortest first. They drain when traffic stops.
    WINDOWS: List<Span> = "windows", List(Span(SECOND, Duration::from_hours(31 * 24)), 1, 8),
        default "1m, 5m, 1h, 24h";

    /// Delay behind the newest event up to which a record counts as in order.
    OUT_OF_ORDERNESS: Span = "engine.out_of_orderness", Span(Duration::ZERO, DAY), default "30s";
    /// Time after a search in which its feedback is joined. Must be longer than out_of_orderness. The
    /// search is held in memory for that time.
    FEEDBACK_WINDOW: Span = "engine.feedback_window", Span(MILLISECOND, DAY), default "10m";
    /// Longer windows by type of feedback. conversion is the time after a search in which its conversions
    /// are counted for Converted and ConversionValue; all other measures are counted at the end of
    /// feedback_window. Searches that wait are in the checkpoint (checkpoint.folder), and need one worker.
    FEEDBACK_WINDOWS: Names<Span> = "engine.feedback_windows",
        Names(Span(MILLISECOND, Duration::from_hours(30 * 24))), default "",
        example "conversion: 24h";
    /// Time without records after which a topic that has been read to its end is idle and no longer holds
    /// back the watermark.
    IDLE_TIMEOUT: Span = "engine.idle_timeout", Span(MILLISECOND, DAY), default "1m";
    /// Time by which an event may be ahead of the wall clock. Events further ahead are invalid: otherwise
    /// one wrong clock would make all other events late.
    MAX_FUTURE_SKEW: Span = "engine.max_future_skew", Span(Duration::ZERO, DAY), default "5m";
    /// Memory of one worker for everything that grows with traffic: pending and closed searches, waiting
    /// feedback, sessions, series and windows. When it is used up, the oldest searches are finalised
    /// early, and counted. The process needs about 100 MiB more, and the gold set. `rankgauge check`
    /// predicts the memory for a rate of searches.
    MEMORY: Bytes = "engine.memory", Bytes(MIB, 64 * GIB), default "256MiB";

    /// Upper bounds of the latency histogram in seconds, smallest first.
    BUCKETS: List<Number> = "latency.buckets",
        List(Number(Excluded(0.0), Unbounded, "a number of seconds above 0, as 0.25"), 1, 50),
        default "0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10";

    /// Prices of models per million tokens, as plain decimals, for events that do not report a cost.
    /// Usage without a price is counted as unpriced, not as free.
    PRICES: Group = "prices", Group(Shape::Sections),
        example "{model: text-embedding-3-small, currency: USD, input: 0.02, output: 0}",
        example "{model: gpt-4o-mini, currency: USD, input: 0.15, cache_read: 0.075, output: 0.60, reasoning: 0.60, valid_from: 2024-07-18}";
    /// Name as it appears in events.
    PRICE_MODEL: Checked<String> = "prices[].model", named(values::event_name);
    /// Currency, three letters.
    PRICE_CURRENCY: Checked<String> = "prices[].currency", checked(values::currency);
    /// Price of input tokens.
    PRICE_INPUT: Checked<Money> = "prices[].input", checked(values::price);
    /// Price of output tokens.
    PRICE_OUTPUT: Checked<Money> = "prices[].output", checked(values::price);
    /// Price of tokens read from the provider's cache. Default: input.
    PRICE_CACHE_READ: Checked<Money> = "prices[].cache_read", checked(values::price);
    /// Price of reasoning tokens. Default: output.
    PRICE_REASONING: Checked<Money> = "prices[].reasoning", checked(values::price);
    /// Date (midnight UTC) or ISO 8601 time with an offset. Without it, a price has no start.
    PRICE_FROM: Checked<EventTime> = "prices[].valid_from", checked(values::moment);

    /// Maximum number of series of one metric family. Samples beyond it go to the overflow series
    /// value="__other__" and are counted.
    SERIES_PER_FAMILY: Whole = "limits.series_per_family", Whole(1, 10_000_000), default "10000";
    /// Maximum number of values of one label (variant, stage, model, domain). Further values become
    /// "__other__".
    VALUES_PER_LABEL: Whole = "limits.values_per_label", Whole(1, 1_000_000), default "200";
    /// Maximum size of a record in bytes; a larger record is invalid.
    RECORD_BYTES: Whole = "limits.record_bytes", Whole(1 << 10, GIB), default "1048576";
    /// Maximum number of results of one search; a longer list is invalid.
    RESULTS_PER_SEARCH: Whole = "limits.results_per_search", Whole(1, 1_000_000), default "10000";
    /// Maximum number of feedback events that are kept for one search. Further ones are counted, and
    /// change no measure.
    FEEDBACK_PER_SEARCH: Whole = "limits.feedback_per_search", Whole(1, 1_000_000), default "1000";
    /// Maximum number of searches of one session within a feedback window. Further ones are treated as
    /// searches without a session.
    SEARCHES_PER_SESSION: Whole = "limits.searches_per_session", Whole(1, 1_000_000), default "1000";
    /// Maximum number of user interactions of one session. Further ones do not end a dwell time.
    INTERACTIONS_PER_SESSION: Whole = "limits.interactions_per_session", Whole(1, 1_000_000),
        default "10000";

    /// Address of /metrics, /healthz and /readyz: all interfaces, because Prometheus runs on another
    /// machine.
    METRICS_LISTEN: Checked<SocketAddr> = "metrics.listen", checked(values::address),
        default "0.0.0.0:9468";
    /// File with TLS, authentication and headers of this listener, in the format of the web.config.file of
    /// Prometheus, see docs/configuration.md. Without it, the listener serves plain HTTP.
    METRICS_WEB: Checked<PathBuf> = "metrics.web_config_file", checked(values::path),
        example "/etc/rankgauge/web.yaml";
    /// Rolling scores (rankgauge_score, rankgauge_score_samples): of all searches and every slice (all), of
    /// all searches (whole), or none. The counters give the mean of every slice over any range; each
    /// rolling score of a slice is a series for every measure, variant, value and window.
    ROLLING: Word<Rolling> = "metrics.rolling",
        Word(&[("all", Rolling::All), ("whole", Rolling::Whole), ("none", Rolling::None)]),
        default "whole";
    /// Measures with a range over unjudged results (rankgauge_score_range), in the same rolling scores: the
    /// watched ones and the primary one (watched), all that have one (all), or none. Each of them is scored
    /// a second time for a search with unjudged results.
    RANGES: Word<Ranges> = "metrics.score_range",
        Word(&[("watched", Ranges::Watched), ("all", Ranges::All), ("none", Ranges::None)]),
        default "watched";

    /// Address of the JSON API (/api/v1/…) and of commands (/-/reload, /-/baseline, /-/log-level), or
    /// none. It exposes query texts and document ids: keep it on the loopback, or set up TLS and
    /// authentication.
    ADMIN_LISTEN: Checked<Option<SocketAddr>> = "admin.listen", checked(values::admin_address),
        default "127.0.0.1:9469";
    /// File with TLS, authentication and headers of this listener, as above.
    ADMIN_WEB: Checked<PathBuf> = "admin.web_config_file", checked(values::path),
        example "/etc/rankgauge/web.yaml";
    /// Accept that other machines reach this listener without authentication, true or false. By default,
    /// check, the log and the page warn about it.
    ALLOW_UNAUTHENTICATED: Word<bool> = "admin.allow_unauthenticated",
        Word(&[("false", false), ("true", true)]), default "false";

    /// Gateway: events over HTTP, for applications without a Kafka client, in the sidecar or as
    /// `rankgauge gateway`. It writes native events to both topics. See docs/connect/http.md.
    GATEWAY: Group = "gateway", Group(Shape::Section);
    /// Address, or none for a sidecar alone. `rankgauge gateway` then listens on 127.0.0.1:4318.
    GATEWAY_LISTEN: Checked<Option<SocketAddr>> = "gateway.listen",
        checked(values::gateway_address), default "none";
    /// File with TLS, authentication and headers of this listener, as above.
    GATEWAY_WEB: Checked<PathBuf> = "gateway.web_config_file", checked(values::path),
        example "/etc/rankgauge/web.yaml";
    /// File with the applications that can send events, each with its tokens and its rate limit. Without it,
    /// every client of the listener can. See docs/connect/http.md.
    GATEWAY_TOKENS: Checked<PathBuf> = "gateway.tokens_file", checked(values::path),
        example "/etc/rankgauge/tokens.yaml";
    /// Key of the records: query_id or session_id. With session_id, the searches and the feedback of a
    /// session reach the same partition, and feedback needs a session.
    GATEWAY_KEY: Word<KeyBy> = "gateway.key", Word(&KeyBy::NAMES), default "query_id";
    /// Origins whose pages can send events from a browser, with scheme and port; or * for every page.
    /// Requests of other pages are refused.
    GATEWAY_ORIGINS: List<Checked<String>> = "gateway.cors_origins", TEXTS, default "";
    /// Maximum memory of all requests with their records. Beyond it, requests are refused with 503.
    GATEWAY_MEMORY: Bytes = "gateway.memory", Bytes(MIB, 64 * GIB), default "64MiB";
    /// Maximum size of the body of a request as it is sent.
    GATEWAY_MAX_BODY: Bytes = "gateway.max_body", Bytes(1024, GIB), default "4MiB";
    /// Maximum size of the body of a request without compression.
    GATEWAY_MAX_DECOMPRESSED: Bytes = "gateway.max_decompressed", Bytes(1024, GIB),
        default "16MiB";
    /// Maximum number of events in a request.
    GATEWAY_MAX_EVENTS: Whole = "gateway.max_events", Whole(1, 1_000_000), default "10000";
    /// Maximum number of connections. A new one replaces the one that has waited longest.
    GATEWAY_CONNECTIONS: Whole = "gateway.max_connections", Whole(1, 65_536), default "1024";
    /// Time limit for the answer of the broker, after which a request is answered with 503.
    GATEWAY_TIMEOUT: Span = "gateway.timeout",
        Span(Duration::from_millis(100), Duration::from_mins(5)), default "8s";

    /// Probe of search endpoints, for `rankgauge probe`, which sends the gold queries to them and turns the
    /// answers into search events. See docs/probe.md.
    PROBE: Group = "probe", Group(Shape::Section);
    /// Endpoints, each a variant. {{query}}, {{query_key}}, {{size}} and labels of the gold query
    /// ({{query_type}}) are escaped for their place in url and body. hits and total are JSON pointers into
    /// the answer; id, score, group and attributes into a hit.
    PROBE_TARGETS: Group = "probe.targets", Group(Shape::Sections),
        example "{variant: V5, preset: opensearch, url: \"https://search:9200/laws/_search\", method: POST, headers: {authorization: \"ApiKey {{env:SEARCH_API_KEY}}\"}, body: '{\"query\": {\"match\": {\"text\": \"{{query}}\"}}, \"size\": {{size}}}', hits: /hits/hits, id: /_id, score: /_score, group: /_source/law_id, total: /hits/total/value, attributes: {law_type: /_source/law_type}}";
    /// Variant of the events.
    PROBE_VARIANT: Checked<String> = "probe.targets[].variant", named(values::probed_variant);
    /// Search engine, which provides what the target does not state.
    PRESET: Word<&'static Preset> = "probe.targets[].preset", Word(&PRESET_NAMES), default "json";
    /// URL.
    URL: Checked<String> = "probe.targets[].url", TEXT;
    /// HTTP method.
    METHOD: Word<Method> = "probe.targets[].method",
        Word(&[("GET", Method::Get), ("POST", Method::Post)]);
    /// Headers, whose values are never printed; {{env:NAME}} and {{file:PATH}} insert a secret.
    HEADERS: Names<Checked<String>> = "probe.targets[].headers", Names(TEXT);
    /// Body of a POST request.
    BODY: Checked<String> = "probe.targets[].body", TEXT;
    /// List of hits.
    HITS: Checked<String> = "probe.targets[].hits", checked(values::pointer);
    /// Id of a hit.
    HIT_ID: Checked<String> = "probe.targets[].id", checked(values::pointer);
    /// Score of a hit.
    HIT_SCORE: Checked<String> = "probe.targets[].score", checked(values::pointer);
    /// Document of a chunk.
    HIT_GROUP: Checked<String> = "probe.targets[].group", checked(values::pointer);
    /// Number of matching documents.
    TOTAL: Checked<String> = "probe.targets[].total", checked(values::pointer);
    /// Attributes of a hit, by the names that they have in events.
    ATTRIBUTES: Names<Checked<String>> = "probe.targets[].attributes", Names(checked(values::pointer));
    /// Maximum number of requests per second, over all targets and with repetitions.
    PROBE_RATE: Number = "probe.rate",
        Number(Included(0.001), Included(10_000.0), "a number of requests per second, from 0.001 to 10000"),
        default "5";
    /// Maximum number of requests in progress.
    CONCURRENCY: Whole = "probe.concurrency", Whole(1, 256), default "2";
    /// Time limit of a request, from the connection to the last byte of the answer.
    PROBE_TIMEOUT: Span = "probe.timeout", Span(MILLISECOND, Duration::from_mins(10)), default "5s";
    /// Maximum number of repetitions after a time-out, a failed connection or status 429, 500, 502, 503
    /// or 504. The delay grows from 200 ms; Retry-After is respected up to 30 s.
    RETRIES: Whole = "probe.retries", Whole(0, 10), default "2";
    /// Number of results to request: the value of {{size}}.
    RESULTS: Whole = "probe.results", Whole(1, 10_000), default "10";
    /// Maximum size of an answer.
    MAX_ANSWER: Bytes = "probe.max_answer", Bytes(1024, GIB), default "8MiB";
    /// Share of failed searches of a variant above which the command fails (exit code 1).
    MAX_FAILURES: Number = "probe.max_failures", SHARE, default "0.1";
    /// Certificates in PEM of the authorities of the targets. Without it, those of the system.
    CA_FILE: Checked<PathBuf> = "probe.ca_file", checked(values::path),
        example "/etc/ssl/search-ca.pem";
    /// Address of /metrics, /healthz and /readyz of `rankgauge probe --every`, or none, with
    /// metrics.web_config_file.
    PROBE_LISTEN: Checked<Option<SocketAddr>> = "probe.listen", checked(values::probe_address),
        default "none";

    /// text for users, json for log collectors.
    LOG_FORMAT: Word<LogFormat> = "log.format",
        Word(&[("text", LogFormat::Text), ("json", LogFormat::Json)]), default "text";
    /// The least important level that is written.
    LOG_LEVEL: Word<LevelFilter> = "log.level", Word(&LOG_LEVELS), default "info";
}
