//! Metrics exposition: the catalogue of metric families, and the mapping of snapshots to samples.
//!
//! Families that grow with variants, slices and measures are written directly from the snapshot
//! ([`collect`]). The few families that describe the process are held by the `prometheus` crate
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

/// Type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Value that only increases, except that a restart resets it.
    Counter,
    /// Value that increases and decreases.
    Gauge,
    /// Cumulative buckets, a sum and a count.
    Histogram,
    /// Quantiles over a window.
    Summary,
}

impl Type {
    /// Name of the type in the exposition format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// Metadata of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// Name without [`PREFIX`].
    pub name: &'static str,
    /// Type of the samples.
    pub kind: Type,
    /// Label names, in the order in which they are exposed.
    pub labels: &'static [&'static str],
    /// Help text: one line of sentences.
    pub help: &'static str,
}

impl Family {
    /// Name of the family in the exposition, with [`PREFIX`].
    pub fn full_name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }
}

/// All families that rankgauge can expose, in the order of the documentation. The client library
/// adds its process metrics (`process_…`).
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
            /// All families.
            pub const ALL: &[&Family] = &[$(&$constant),*];
        };
    }

    families! {
        SCORE_SUM: Counter "score_sum_total" ["measure", "variant", "slice", "value"]
            "Sum of the scores of all searches since the start, without negative scores. The mean over a range is the increase of score_sum_total, minus that of score_negative_sum_total where the measure has it, divided by that of score_count_total. Can be summed over replicas.";
        SCORE_NEGATIVE_SUM: Counter "score_negative_sum_total" ["measure", "variant", "slice", "value"]
            "Sum of the absolute values of the negative scores of all searches since the start. A separate counter, because a counter must not decrease. Exists only for measures that can be negative, such as RecallGain.";
        SCORE_COUNT: Counter "score_count_total" ["measure", "variant", "slice", "value"]
            "Searches with a score for the measure since the start. Can be summed over replicas.";
        SCORE_SQUARES: Counter "score_squares_total" ["measure", "variant", "slice", "value"]
            "Sum of the squared scores since the start, for the variance over any range. Can be summed over replicas.";
        SCORE: Gauge "score" ["measure", "variant", "slice", "value", "window"]
            "Mean score in the rolling window that ends at the watermark, of this replica only. For the mean over replicas, use score_sum_total and score_count_total. Absent while the window is empty.";
        SCORE_SAMPLES: Gauge "score_samples" ["measure", "variant", "slice", "value", "window"]
            "Searches (or sessions) behind a rolling score of a user feedback measure. Below feedback.min_samples the score itself is absent.";
        SCORE_TARGET: Gauge "score_target" ["measure", "tier"]
            "Configured target for the mean of the measure.";
        SEARCHES: Counter "searches_total" ["variant", "slice", "value"]
            "Valid searches by variant and slice. slice=\"all\" covers all searches.";
        SEARCH_ERRORS: Counter "search_errors_total" ["variant", "error_type"]
            "Searches that reported an error.";
        SEARCH_LATENCY: Histogram "search_latency_seconds" ["stage", "variant"]
            "Duration of searches in seconds. stage=\"all\" is the whole search; other values are its stages.";
        SEARCH_LATENCY_QUANTILE: Summary "search_latency_quantile_seconds" ["stage", "variant", "window", "quantile"]
            "Rolling latency quantile in seconds, of this replica, with a relative error of at most 1 %. quantile=\"1\" is the maximum. Quantiles cannot be added over replicas: use search_latency_seconds for several replicas.";
        SEARCHES_PER_SECOND: Gauge "searches_per_second" ["variant", "window"]
            "Searches per second of event time in the rolling window, of this replica.";
        COMPONENT_TRIGGER: Counter "component_trigger_total" ["component", "needed", "fired", "variant"]
            "Judged searches by whether the component is needed according to the gold set, and whether it ran. This is the confusion matrix of its trigger.";
        COMPONENT_HOPS: Counter "component_hops_total" ["component", "hops", "variant"]
            "Results of the component in judged searches by distance: 1, 2, 3 or 4+ hops. Distance 0 is part of the measure Hops only.";
        ROUTING: Counter "routing_total" ["expected", "selected", "variant"]
            "Judged searches by the domain that the gold set expects and the domain that was selected.";
        COLLABORATION: Counter "collaboration_total" ["primary", "contributor", "variant"]
            "Judged searches by the domain they were routed to and each domain that contributed a relevant result. A contributing domain counts once per search.";
        DOCUMENTS: Counter "documents_total" ["cutoff", "outcome", "variant", "slice", "value"]
            "Documents of judged searches within the cutoff: tp is relevant and found, fp is not relevant and found, fn is relevant and not found. Micro precision is tp / (tp + fp), micro recall is tp / (tp + fn).";
        TOKENS: Counter "tokens_total" ["model", "direction", "variant"]
            "Tokens used by searches. The directions input, output, cache_read and reasoning do not overlap; their sum is all tokens.";
        LLM_CALLS: Counter "llm_calls_total" ["model", "operation", "variant"]
            "Model calls made by searches.";
        COST: Counter "cost_total" ["currency", "model", "variant"]
            "Cost of searches, in units of the currency: as reported by the event, otherwise from the price table. model=\"\" is for searches that report only their total cost.";
        COST_PER_QUERY: Gauge "cost_per_query" ["currency", "variant", "window", "stat"]
            "Rolling cost of a search, in units of the currency, of this replica: the mean, and the 95th percentile with a relative error of at most 1 %. Searches without a known cost are excluded.";
        UNPRICED_USAGE: Counter "unpriced_usage_total" ["model"]
            "Model calls that used tokens and whose cost is neither in the event nor in the price table.";
        FEEDBACK: Counter "feedback_total" ["type", "variant"]
            "Feedback events that were joined with their search or its session.";
        CLICKS: Counter "clicks_total" ["variant"]
            "Clicked results. A result counts once per search. Divided by expected_clicks_total, it is COEC (clicks over expected clicks), which is corrected for position bias.";
        EXPECTED_CLICKS: Counter "expected_clicks_total" ["variant"]
            "Expected clicks at the positions of the results shown, from feedback.expected_clicks. Absent if that is not configured.";
        UNSERVED_CLICKS: Counter "unserved_clicks_total" ["variant"]
            "Clicks on results that the search did not serve. No measure counts them.";
        TIME_TO_FIRST_CLICK: Histogram "time_to_first_click_seconds" ["variant"]
            "Time in seconds from a search to its first click on a served result. Searches without a click are excluded.";
        INTERLEAVING_WINS: Counter "interleaving_wins_total" ["experiment", "team"]
            "Interleaved searches by the team with more clicks than any other. team=\"__tie__\" if no team has.";
        INTERLEAVING_DELTA: Gauge "interleaving_delta" ["experiment", "team"]
            "Preference for the team since the start, of this replica: (wins + ties / 2) / interleaved searches - 1/2. Above 0 if users prefer the team.";
        PRODUCTION_JUDGEMENTS: Counter "production_judgements_total" ["gold", "production", "variant"]
            "Grades given in production (judgment events), as relevant or not relevant, by the grade of the same document in the gold set.";
        PRODUCTION_AGREEMENT: Gauge "production_agreement_kappa" []
            "Cohen's kappa between production judgements and the gold set, relevant or not relevant, since the start, of this replica. 1 is full agreement, 0 is chance agreement.";
        SATISFACTION_CORRELATION: Gauge "satisfaction_correlation" ["measure"]
            "Spearman's rank correlation between the measure and user satisfaction over a rolling day, of this replica. Satisfaction is taken from ratings and thumbs, otherwise 1 for a conversion or satisfying click and 0 for other clicks. Absent below feedback.min_samples.";
        SATISFACTION_SAMPLES: Gauge "satisfaction_correlation_samples" ["measure"]
            "Judged searches with feedback behind satisfaction_correlation.";
        EVIDENCE_THRESHOLD: Gauge "evidence_threshold" ["test"]
            "Regression evidence (natural log e-value) from which a test raises an alarm. Tests are target, drop and split; experiment is for intervals of differences. The thresholds follow from the accepted false alarms.";
        TARGET_LOG_EVIDENCE: Gauge "target_log_evidence" ["measure", "variant", "slice", "value"]
            "Regression evidence (natural log e-value) that the mean misses the least demanding of its targets, of this replica. Over replicas, add the values. Only for detection.measures that have a target.";
        DROP_LOG_EVIDENCE: Gauge "drop_log_evidence" ["measure", "variant", "slice", "value"]
            "Regression evidence (natural log e-value) that scores are worse than the baseline, of this replica. Over replicas, sum the e-values: ln(sum(exp(x))). Absent before the first comparison.";
        REGRESSION: Gauge "regression" ["test", "measure", "variant", "slice", "value"]
            "1 while the evidence of this replica alone is at or above its threshold, otherwise 0.";
        BASELINE_SCORE: Gauge "baseline_score" ["measure", "variant"]
            "Baseline mean of the variant. New searches are compared with the baseline query by query. Absent while the baseline is being learned.";
        BASELINE_SEARCHES: Gauge "baseline_searches" ["measure", "variant"]
            "Searches (or sessions) from which the baseline is learned.";
        BASELINE_LEARNED: Gauge "baseline_learned" ["measure", "variant"]
            "1 if the baseline is learned, 0 while it is being learned from the first searches.";
        SCORE_BOUND: Gauge "score_bound" ["measure", "variant", "slice", "value", "bound"]
            "Confidence bound of the mean score of all searches since the last deployment, of this replica. Each bound is anytime-valid: it holds at all times together with probability 1 - detection.alpha.";
        EXPERIMENT_DIFFERENCE: Gauge "experiment_difference" ["experiment", "measure", "variant", "bound"]
            "Mean of the arm minus the mean of the control since the start, with anytime-valid bounds, of this replica. Absent below 100 searches per arm.";
        EXPERIMENT_CONTROL: Gauge "experiment_control" ["experiment", "variant"]
            "Control arm of the experiment; always 1.";
        EXPERIMENT_SPLIT: Gauge "experiment_split" ["experiment", "variant"]
            "Configured share of the experiment's searches for the arm. The actual count is searches_total{slice=\"experiment\"}.";
        SPLIT_LOG_EVIDENCE: Gauge "split_log_evidence" ["experiment"]
            "Evidence (natural log e-value) that the experiment's searches are not split as configured, of this replica.";
        EVENTS: Counter "events_total" ["kind", "outcome"]
            "Records by outcome. Together with events_pending they add up to the records received. A search gets its outcome when its feedback window has passed.";
        INVALID_EVENTS: Counter "invalid_events_total" ["kind", "reason"]
            "Records that cannot be used, by reason. Their sum is events_total{outcome=\"invalid\"}.";
        EVENTS_PENDING: Gauge "events_pending" ["kind"]
            "Searches waiting for the end of their feedback window, and feedback waiting for its search.";
        FINALISED_EARLY: Counter "finalised_early_total" []
            "Searches finalised before the end of their feedback window because more than engine.max_pending events were pending.";
        SESSIONS_SPLIT: Counter "sessions_split_total" []
            "Sessions whose searches this replica read from more than one partition, among the sessions it remembers. Session measures then see only parts of a session: use session_id as the key of both topics.";
        CROWDED_SESSION_SEARCHES: Counter "crowded_session_searches_total" []
            "Searches over the limit of 1,000 searches per session id within a feedback window. Such an id does not identify one session, so these searches are counted without a session.";
        OFFSET_GAP_RECORDS: Counter "offset_gap_records_total" ["topic"]
            "Offsets that were never delivered: deleted by retention before they were read, or used by transaction markers.";
        SERIES_DROPPED: Counter "series_dropped_total" ["family"]
            "Samples counted under __other__ because their family had reached limits.series_per_family.";
        GOLD_COVERAGE: Gauge "gold_coverage" ["variant", "window"]
            "Share of the searches in the rolling window whose query is in the gold set, of this replica.";
        CONSUMER_LAG: Gauge "consumer_lag_records" ["topic", "partition"]
            "Records of the partition that are not yet read, as last reported by the broker.";
        WATERMARK_DELAY: Gauge "watermark_delay_seconds" ["partition"]
            "Delay of the partition's watermark behind the wall clock, in seconds.";
        SNAPSHOT_AGE: Gauge "snapshot_age_seconds" ["worker"]
            "Time since the worker last published a snapshot, in seconds. Grows while a worker hangs.";
        KAFKA_CONNECTED: Gauge "kafka_connected" ["worker"]
            "1 while the worker has a connection to a broker, otherwise 0.";
        ASSIGNED_PARTITIONS: Gauge "assigned_partitions" []
            "Partitions assigned to this replica. Partitions of the two topics with the same number count as one.";
        REBALANCES: Counter "rebalances_total" []
            "Times that a worker of this replica was assigned partitions or had partitions revoked.";
        DEAD_LETTERS: Counter "dead_letters_total" ["topic"]
            "Records of the topic that could not be decoded and were sent to the dead-letter topic.";
        DEAD_LETTER_FAILURES: Counter "dead_letter_failures_total" ["topic"]
            "Records of the topic that could neither be decoded nor be sent to the dead-letter topic.";
        CHECKPOINT_AGE: Gauge "checkpoint_age_seconds" ["worker"]
            "Age of the last checkpoint on disk, in seconds. Grows while checkpoints cannot be written. Absent without a checkpoint folder.";
        CHECKPOINT_BYTES: Gauge "checkpoint_bytes" ["worker"]
            "Size of the last checkpoint in bytes.";
        CHECKPOINT_DURATION: Gauge "checkpoint_duration_seconds" ["worker"]
            "Time taken to write and sync the last checkpoint, in seconds.";
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
            "Time at which the gold set in use was loaded, in seconds since the Unix epoch.";
        BUILD_INFO: Gauge "build_info" ["version", "revision", "rustc"]
            "Version, revision and compiler of the running binary; always 1.";
    }
}
