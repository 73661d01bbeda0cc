//! What the outside sees: the catalogue of metric families, and how a snapshot becomes them.
//!
//! Families that grow with variants, slices and measures are written straight from the snapshot
//! ([`collect`]); the few that describe the process are held by the `prometheus` crate
//! ([`process`]). Nothing here changes the engine's state or waits for it.

pub mod api;
pub mod collect;
pub mod http;
pub mod json;
pub mod process;
pub mod server;
pub mod text;

/// Prefix of every family's name.
pub const PREFIX: &str = "rankgauge_";

/// What a family's samples mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Only grows, except by starting again.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
    /// Quantiles over a window.
    Summary,
}

impl Type {
    /// The word of the exposition format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// A metric family: what a stranger needs to know to query it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name without [`PREFIX`].
    pub name: &'static str,
    /// What its samples mean.
    pub kind: Type,
    /// Label names, in the order in which they are exposed.
    pub labels: &'static [&'static str],
    /// What it says, in one sentence.
    pub help: &'static str,
}

impl Family {
    /// The name under which it is exposed.
    pub fn full_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

/// Every family that rankgauge can expose, in the order in which they are documented. Process metrics of
/// the client library (`process_…`) come on top.
pub fn catalogue() -> impl Iterator<Item = &'static Family> {
    family::ALL.iter().copied()
}

/// The families by name.
pub mod family {
    use super::Family;
    use super::Type::{Counter, Gauge, Histogram, Summary};

    macro_rules! families {
        ($($constant:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
            $(
                #[doc = $help]
                pub const $constant: Family = Family {
                    name: $name,
                    kind: $kind,
                    labels: &[$($label),*],
                    help: $help,
                };
            )*
            /// All of them.
            pub const ALL: &[&Family] = &[$(&$constant),*];
        };
    }

    families! {
        SCORE_SUM: Counter "score_sum_total" ["measure", "variant", "slice", "value"]
            "Sum of the scores of all searches since the start, negative scores left out. Less score_negative_sum_total, where the measure has that, and divided by score_count_total over any range it is the mean; adds up over replicas.";
        SCORE_NEGATIVE_SUM: Counter "score_negative_sum_total" ["measure", "variant", "slice", "value"]
            "Sum of the negative scores of all searches since the start, without their sign. Only of measures that can be negative, such as RecallGain: a counter must not fall.";
        SCORE_COUNT: Counter "score_count_total" ["measure", "variant", "slice", "value"]
            "Searches that had a score for the measure since the start. Adds up over replicas.";
        SCORE_SQUARES: Counter "score_squares_total" ["measure", "variant", "slice", "value"]
            "Sum of the squared scores since the start, for the variance over any range. Adds up over replicas.";
        SCORE: Gauge "score" ["measure", "variant", "slice", "value", "window"]
            "Mean score in the rolling window that ends at the watermark, of this replica alone; for the mean of a fleet use score_sum_total and score_count_total. Absent while the window is empty.";
        SCORE_SAMPLES: Gauge "score_samples" ["measure", "variant", "slice", "value", "window"]
            "Searches (or sessions) behind a rolling score of what people did. Below feedback.min_samples the score itself is not shown.";
        SCORE_TARGET: Gauge "score_target" ["measure", "tier"]
            "What the configuration asks of the mean of the measure.";
        SEARCHES: Counter "searches_total" ["variant", "slice", "value"]
            "Valid searches by variant and slice; slice=\"all\" is the whole.";
        SEARCH_ERRORS: Counter "search_errors_total" ["variant", "error_type"]
            "Searches that reported an error.";
        SEARCH_LATENCY: Histogram "search_latency_seconds" ["stage", "variant"]
            "Duration of searches; stage=\"all\" is the whole search, other values are its stages.";
        SEARCH_LATENCY_QUANTILE: Summary "search_latency_quantile_seconds" ["stage", "variant", "window", "quantile"]
            "Rolling latency quantile of this replica, right to 1 %; quantile=\"1\" is the maximum. Quantiles do not add up over replicas: use search_latency_seconds for a fleet.";
        SEARCHES_PER_SECOND: Gauge "searches_per_second" ["variant", "window"]
            "Searches a second of event time in the rolling window, of this replica.";
        COMPONENT_TRIGGER: Counter "component_trigger_total" ["component", "needed", "fired", "variant"]
            "Judged searches by whether the gold set says the component is needed and whether it ran: its trigger's confusion matrix.";
        COMPONENT_HOPS: Counter "component_hops_total" ["component", "hops", "variant"]
            "Results of the component in judged searches by their distance: 1, 2, 3, 4+ hops. Distance 0 is in the measure Hops only.";
        ROUTING: Counter "routing_total" ["expected", "selected", "variant"]
            "Judged searches by the domain that answers them according to the gold set and the domain that was chosen.";
        COLLABORATION: Counter "collaboration_total" ["primary", "contributor", "variant"]
            "Judged searches by the domain they went to and each domain that contributed a relevant result, once a search.";
        DOCUMENTS: Counter "documents_total" ["cutoff", "outcome", "variant", "slice", "value"]
            "Documents of judged searches within the cutoff: tp relevant and found, fp found and not relevant, fn relevant and missed. Micro precision is tp / (tp + fp), micro recall tp / (tp + fn).";
        TOKENS: Counter "tokens_total" ["model", "direction", "variant"]
            "Tokens used by searches. The directions input, output, cache_read and reasoning do not overlap: their sum is all tokens.";
        LLM_CALLS: Counter "llm_calls_total" ["model", "operation", "variant"]
            "Model calls made by searches.";
        COST: Counter "cost_total" ["currency", "model", "variant"]
            "Money spent by searches: as events state it, else by the price table; model=\"\" where a search states only its whole cost.";
        COST_PER_QUERY: Gauge "cost_per_query" ["currency", "variant", "window", "stat"]
            "Rolling cost of a search, of this replica: its mean, and the 95th percentile right to 1 %. Searches without known cost are left out.";
        UNPRICED_USAGE: Counter "unpriced_usage_total" ["model"]
            "Model calls that used tokens, but whose cost neither the event nor the price table knows.";
        FEEDBACK: Counter "feedback_total" ["type", "variant"]
            "Feedback events that were joined with their search, or with its session.";
        CLICKS: Counter "clicks_total" ["variant"]
            "Clicked results: a result counts once for each search. Divided by expected_clicks_total it is COEC, clicks over expected clicks, which is corrected for position bias.";
        EXPECTED_CLICKS: Counter "expected_clicks_total" ["variant"]
            "Clicks to be expected at the positions of the results shown, by feedback.expected_clicks. Absent without that.";
        UNSERVED_CLICKS: Counter "unserved_clicks_total" ["variant"]
            "Clicks on results that the search had not served; they count for no measure.";
        TIME_TO_FIRST_CLICK: Histogram "time_to_first_click_seconds" ["variant"]
            "Time from a search to its first click on a served result; searches without a click are left out.";
        INTERLEAVING_WINS: Counter "interleaving_wins_total" ["experiment", "team"]
            "Interleaved searches by the team that got more clicks than any other; team=\"__tie__\" where none did.";
        INTERLEAVING_DELTA: Gauge "interleaving_delta" ["experiment", "team"]
            "(wins + ties / 2) / all interleaved searches - 1/2 since the start, of this replica: above 0 for the team that people prefer.";
        PRODUCTION_JUDGEMENTS: Counter "production_judgements_total" ["gold", "production", "variant"]
            "Grades given in production (judgment events), as relevant or not, beside what the gold set says of the same document.";
        PRODUCTION_AGREEMENT: Gauge "production_agreement_kappa" []
            "Cohen's kappa of production's judgements and the gold set's, relevant or not, since the start, of this replica. 1 is full agreement, 0 that of chance.";
        SATISFACTION_CORRELATION: Gauge "satisfaction_correlation" ["measure"]
            "Spearman's rank correlation, over a rolling day, between the measure and how satisfied people were (ratings and thumbs, else conversion or satisfying click 1, other clicks 0), of this replica. Absent below feedback.min_samples.";
        SATISFACTION_SAMPLES: Gauge "satisfaction_correlation_samples" ["measure"]
            "Judged searches with a reaction that satisfaction_correlation is over.";
        EVIDENCE_THRESHOLD: Gauge "evidence_threshold" ["test"]
            "The log evidence from which on a test decides: target, drop, split and, for intervals of differences, experiment. The thresholds follow from the false alarms that are accepted.";
        TARGET_LOG_EVIDENCE: Gauge "target_log_evidence" ["measure", "variant", "slice", "value"]
            "Natural logarithm of the evidence that the mean misses the least of its targets, of this replica. Over replicas, logarithms add. Only of detection.measures that have a target.";
        DROP_LOG_EVIDENCE: Gauge "drop_log_evidence" ["measure", "variant", "slice", "value"]
            "Natural logarithm of the evidence that scores became worse than usual, of this replica. Over replicas, evidence itself is summed: ln(sum(exp(x))). Absent until something was compared.";
        REGRESSION: Gauge "regression" ["test", "measure", "variant", "slice", "value"]
            "1 while the evidence of this replica alone is at its threshold or above, else 0.";
        BASELINE_SCORE: Gauge "baseline_score" ["measure", "variant"]
            "The mean that is usual for the variant, which new searches are compared with, query by query. Absent while it is learned.";
        BASELINE_SEARCHES: Gauge "baseline_searches" ["measure", "variant"]
            "Searches (or sessions) from which it was learned what is usual.";
        BASELINE_LEARNED: Gauge "baseline_learned" ["measure", "variant"]
            "1 when it has been learned what is usual, 0 while the first searches teach it.";
        SCORE_BOUND: Gauge "score_bound" ["measure", "variant", "slice", "value", "bound"]
            "Between what the mean of all searches since the last deployment lies, of this replica; each bound holds at every look, with probability 1 - detection.alpha.";
        EXPERIMENT_DIFFERENCE: Gauge "experiment_difference" ["experiment", "measure", "variant", "bound"]
            "Mean of the arm less that of the control, since the start, with bounds that hold at every look; of this replica, from 100 searches an arm on.";
        EXPERIMENT_CONTROL: Gauge "experiment_control" ["experiment", "variant"]
            "The arm that the others are compared with; always 1.";
        EXPERIMENT_SPLIT: Gauge "experiment_split" ["experiment", "variant"]
            "Share of an experiment's searches that the arm is meant to get, as configured. What it got is searches_total{slice=\"experiment\"}.";
        SPLIT_LOG_EVIDENCE: Gauge "split_log_evidence" ["experiment"]
            "Natural logarithm of the evidence that the experiment's searches are not split as declared, of this replica.";
        EVENTS: Counter "events_total" ["kind", "outcome"]
            "Records by what became of them. With events_pending they add up to the records received. A search gets its outcome when its feedback window has passed.";
        INVALID_EVENTS: Counter "invalid_events_total" ["kind", "reason"]
            "Records that cannot be used, by reason; their sum is events_total{outcome=\"invalid\"}.";
        EVENTS_PENDING: Gauge "events_pending" ["kind"]
            "Searches that wait for the end of their feedback window, and feedback that waits for its search.";
        FINALISED_EARLY: Counter "finalised_early_total" []
            "Searches that were finalised before their feedback window had passed because more than engine.max_pending events were held.";
        SESSIONS_SPLIT: Counter "sessions_split_total" []
            "Sessions of which this replica read searches from more than one partition, as far as it remembers. Measures of sessions see them in parts: use session_id as the key of both topics.";
        CROWDED_SESSION_SEARCHES: Counter "crowded_session_searches_total" []
            "Searches that were taken as ones without a session, because 1,000 others within a feedback window had the same session id: nobody's.";
        OFFSET_GAP_RECORDS: Counter "offset_gap_records_total" ["topic"]
            "Offsets that were never delivered: deleted by retention before they were read, or taken by transaction markers.";
        SERIES_DROPPED: Counter "series_dropped_total" ["family"]
            "Samples that were counted under __other__ because their family had reached limits.series_per_family.";
        GOLD_COVERAGE: Gauge "gold_coverage" ["variant", "window"]
            "Share of the searches in the rolling window whose query the gold set knows, of this replica.";
        CONSUMER_LAG: Gauge "consumer_lag_records" ["topic", "partition"]
            "Records of the partition that are still to be read, as the broker last said.";
        WATERMARK_DELAY: Gauge "watermark_delay_seconds" ["partition"]
            "How far the partition's watermark is behind the wall clock.";
        SNAPSHOT_AGE: Gauge "snapshot_age_seconds" ["worker"]
            "Time since the worker published what is exposed; it grows while a worker hangs.";
        KAFKA_CONNECTED: Gauge "kafka_connected" ["worker"]
            "1 while the worker has a connection to a broker, else 0.";
        ASSIGNED_PARTITIONS: Gauge "assigned_partitions" []
            "Partitions, of both topics together as one, that this replica reads.";
        REBALANCES: Counter "rebalances_total" []
            "Times that the group gave partitions to, or took them from, a worker of this replica.";
        DEAD_LETTERS: Counter "dead_letters_total" ["topic"]
            "Records of the topic that could not be decoded and were passed on to the dead-letter topic.";
        DEAD_LETTER_FAILURES: Counter "dead_letter_failures_total" ["topic"]
            "Records of the topic that could not be decoded, nor be passed on to the dead-letter topic.";
        CHECKPOINT_AGE: Gauge "checkpoint_age_seconds" ["worker"]
            "Age of the state that is on disk; it grows while checkpoints cannot be written. Absent without a checkpoint folder.";
        CHECKPOINT_BYTES: Gauge "checkpoint_bytes" ["worker"]
            "Size of the last checkpoint.";
        CHECKPOINT_DURATION: Gauge "checkpoint_duration_seconds" ["worker"]
            "How long it took to write the last checkpoint and to sync it.";
        CHECKPOINTS: Counter "checkpoints_total" ["worker", "result"]
            "Attempts to write a checkpoint, by result. While they fail, offsets are not committed.";
        GOLD_QUERIES: Gauge "gold_queries" []
            "Queries in the gold set.";
        GOLD_JUDGEMENTS: Gauge "gold_judgements" []
            "Judgements in the gold set.";
        GOLD_INFO: Gauge "gold_info" ["version", "sha256"]
            "The gold set in use; always 1. Scores against different gold sets are not comparable.";
        GOLD_RELOADS: Counter "gold_reloads_total" ["result"]
            "Attempts to load the gold set, by result.";
        GOLD_RELOAD_TIMESTAMP: Gauge "gold_reload_timestamp_seconds" []
            "When the gold set in use was loaded.";
        BUILD_INFO: Gauge "build_info" ["version", "revision", "rustc"]
            "What is running; always 1.";
    }
}
