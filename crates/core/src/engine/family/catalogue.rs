//! Descriptors of all metric families.

use super::descriptor::{
    Family, LabelName, Samples, Source, counter, event, exposed, gauge, histogram, label, one_of,
    summary,
};
use crate::engine::fixed::Nano;
use crate::engine::money::Money;
use crate::engine::series::Dimension;
use crate::engine::tokens::Direction;
use crate::event::{Action, EvaluatorKind, LossReason, RecordCounts, SpanOutcome};
use crate::labelling::{LabelOutcome, STRATA};
use crate::ranking::Ineligible;

const MEASURE: LabelName = exposed("measure");
const WINDOW: LabelName = exposed("window");
const QUANTILE: LabelName = exposed("quantile");
const VARIANT: LabelName = event("variant", Dimension::Variant);
const SLICE: LabelName = label("slice", Source::Slice);
const VALUE: LabelName = event("value", Dimension::SliceValue);
const STAGE: LabelName = event("stage", Dimension::Stage);
const MODEL: LabelName = event("model", Dimension::Model);
const CURRENCY: LabelName = event("currency", Dimension::Currency);
const COMPONENT: LabelName = label("component", Source::Component);
const TOPIC: LabelName = label("topic", Source::Topic);
const TEAM: LabelName = LabelName {
    if_empty: "__tie__",
    ..event("team", Dimension::Team)
};

const AGAINST: LabelName = LabelName {
    name: "against",
    ..event("team", Dimension::Team)
};

const EVALUATOR: LabelName = LabelName {
    if_empty: "__people__",
    ..event("evaluator", Dimension::Evaluator)
};
const EVALUATOR_VERSION: LabelName = event("version", Dimension::EvaluatorVersion);

/// Outcomes of the comparison of an evaluator with people.
const EVALUATOR_OUTCOMES: &[&str] = &["both_low", "above", "below", "both_high"];

/// Outcomes of a session for the first of two teams.
const OUTCOMES: &[&str] = &["win", "loss", "tie"];

/// Values of a flag, by [`usize::from`].
const BOOLEAN: &[&str] = &["false", "true"];

/// Distances of results of a component, in hops.
pub const HOPS: &[&str] = &["1", "2", "3", "4+"];

/// Limits on feedback.
const FEEDBACK_LIMITS: &[&str] = &["search", "session"];

/// Outcomes of requests for schemas.
pub const REGISTRY_OUTCOMES: [&str; 4] = ["ok", "missing", "invalid", "unavailable"];

/// Outcomes of a record of the state topic.
pub const STATE_OUTCOMES: [&str; 4] = ["read", "rejected", "written", "failed"];

/// Relevance of a judged document.
const RELEVANCE: &[&str] = &["not_relevant", "relevant", "unjudged"];

/// Declares the families as constants and lists them in [`ALL`].
macro_rules! families {
    ($($constant:ident = $family:expr;)*) => {
        /// Positions in the catalogue.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named like the constants")]
        enum Index {
            $($constant),*
        }

        $(
            #[allow(missing_docs, reason = "the help text of the family describes it")]
            pub const $constant: Family = Family {
                index: Index::$constant as usize,
                ..$family
            };
        )*

        /// All families, in the order of the documentation. Process metrics of the client library
        /// (`process_…`) are exposed in addition.
        pub const ALL: &[&Family] = &[$(&$constant),*];
    };
}

families! {
    // Scores of judged searches, by measure. They share the series of `score`.
    SCORE_SUM = counter(
        "score_sum_total",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Sum of the scores of all searches since the start, without negative scores. The mean \
         over a range is the increase of score_sum_total, minus that of \
         score_negative_sum_total where the measure has it, divided by that of \
         score_count_total. Can be summed over replicas.",
    ).series_of(&SCORE, Samples::Measures);
    SCORE_NEGATIVE_SUM = counter(
        "score_negative_sum_total",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Sum of the absolute values of the negative scores of all searches since the start. A \
         separate counter, because a counter must not decrease. Exists only for measures that \
         can be negative, such as RecallGain.",
    ).series_of(&SCORE, Samples::Measures);
    SCORE_COUNT = counter(
        "score_count_total",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Searches with a score for the measure since the start. Can be summed over replicas.",
    ).series_of(&SCORE, Samples::Measures);
    SCORE_SQUARES = counter(
        "score_squares_total",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Sum of the squared scores since the start, for the variance over any range. Can be \
         summed over replicas.",
    ).series_of(&SCORE, Samples::Measures);
    SCORE = gauge(
        "score",
        &[MEASURE, VARIANT, SLICE, VALUE, WINDOW],
        "Mean score in the rolling window that ends at the watermark, of this replica only. \
         For the mean over replicas, use score_sum_total and score_count_total. Absent while \
         the window is empty.",
    ).own_series(Samples::MeasuresAndWindows);
    SCORE_SAMPLES = gauge(
        "score_samples",
        &[MEASURE, VARIANT, SLICE, VALUE, WINDOW],
        "Searches (or sessions) behind a rolling score of a user feedback measure. Below \
         feedback.min_samples the score itself is absent.",
    ).series_of(&SCORE, Samples::MeasuresAndWindows);
    SCORE_RANGE = gauge(
        "score_range",
        &[MEASURE, VARIANT, SLICE, VALUE, WINDOW, exposed("bound")],
        "Range of the mean score in the rolling window over the unknown grades of unjudged results, of \
         this replica only. lower: no unjudged result is relevant, the mean of score itself. upper: every \
         unjudged result has the highest grade, at most 1. Exists for the measures of metrics.score_range \
         that unjudged results lower or raise, not with judged_only=true.",
    ).series_of(&SCORE, Samples::RangesAndWindows);
    SCORE_TARGET = gauge(
        "score_target",
        &[MEASURE, exposed("tier")],
        "Configured target for the mean of the measure.",
    );
    SEARCHES = counter(
        "searches_total",
        &[VARIANT, SLICE, VALUE],
        "Valid searches by variant and slice. slice=\"all\" covers all searches.",
    ).series_of(&SCORE, Samples::One);
    SEARCHES_NOT_ELIGIBLE = counter(
        "searches_not_eligible_total",
        &[VARIANT, one_of("reason", &Ineligible::NAMES)],
        "Valid searches that are not judged, by reason: page, a further page; filters; sort, another \
         order than relevance; rank, results that begin below rank 1; configured, by \
         gold.judge_when. They are timed and joined, and have no scores.",
    ).recorded();
    SEARCHES_PER_SECOND = gauge(
        "searches_per_second",
        &[VARIANT, WINDOW],
        "Searches per second of event time in the rolling window, of this replica.",
    ).series_of(&SCORE, Samples::Windows);
    GOLD_COVERAGE = gauge(
        "gold_coverage",
        &[VARIANT, WINDOW],
        "Share of the eligible searches in the rolling window whose query is in the gold set, of this \
         replica.",
    ).series_of(&SCORE, Samples::Windows);
    DOCUMENTS = counter(
        "documents_total",
        &[exposed("cutoff"), one_of("outcome", &["tp", "fp", "fn"]), VARIANT, SLICE, VALUE],
        "Documents of judged searches within the cutoff: tp is relevant and found, fp is not \
         relevant and found, fn is relevant and not found. Micro precision is tp / (tp + fp), \
         micro recall is tp / (tp + fn).",
    ).series_of(&SCORE, Samples::Documents);
    // Errors, latency, components and routing of searches.
    SEARCH_ERRORS = counter(
        "search_errors_total",
        &[VARIANT, event("error_type", Dimension::ErrorType)],
        "Searches that reported an error.",
    ).recorded();
    SEARCH_LATENCY = histogram(
        "search_latency_seconds",
        &[STAGE, VARIANT],
        "Duration of searches in seconds. stage=\"all\" is the whole search; other values are \
         its stages.",
    ).own_series(Samples::LatencyBuckets);
    SEARCH_LATENCY_QUANTILE = summary(
        "search_latency_quantile_seconds",
        &[STAGE, VARIANT, WINDOW, QUANTILE],
        "Rolling latency quantile in seconds, of this replica, with a relative error of at \
         most 1 %. quantile=\"1\" is the maximum. Quantiles cannot be added over replicas: \
         use search_latency_seconds for several replicas.",
    ).series_of(&SEARCH_LATENCY, Samples::WindowsAndQuantiles);
    COMPONENT_TRIGGER = counter(
        "component_trigger_total",
        &[COMPONENT, one_of("needed", BOOLEAN), one_of("fired", BOOLEAN), VARIANT],
        "Judged searches by whether the component is needed according to the gold set, and \
         whether it ran. This is the confusion matrix of its trigger.",
    ).recorded();
    COMPONENT_HOPS = counter(
        "component_hops_total",
        &[COMPONENT, one_of("hops", HOPS), VARIANT],
        "Results of the component in judged searches by distance: 1, 2, 3 or 4+ hops. \
         Distance 0 is part of the measure Hops only.",
    ).recorded();
    ROUTING = counter(
        "routing_total",
        &[event("expected", Dimension::Domain), event("selected", Dimension::Domain), VARIANT],
        "Judged searches by the domain that the gold set expects and the domain that was \
         selected.",
    ).recorded();
    COLLABORATION = counter(
        "collaboration_total",
        &[event("primary", Dimension::Domain), event("contributor", Dimension::Domain), VARIANT],
        "Judged searches by the domain they were routed to and each domain that contributed a \
         relevant result. A contributing domain counts once per search.",
    ).recorded();
    // Tokens, model calls and cost.
    TOKENS = counter(
        "tokens_total",
        &[MODEL, one_of("direction", &Direction::NAMES), VARIANT],
        "Tokens used by searches. The directions input, output, cache_read and reasoning do \
         not overlap; their sum is all tokens.",
    ).recorded();
    LLM_CALLS = counter(
        "llm_calls_total",
        &[MODEL, event("operation", Dimension::Operation), VARIANT],
        "Model calls made by searches.",
    ).recorded();
    COST = counter(
        "cost_total",
        &[CURRENCY, MODEL, VARIANT],
        "Cost of searches, in units of the currency: as reported by the event, otherwise from \
         the price table. model=\"\" is for searches that report only their total cost.",
    ).recorded_in_units(Money::DECIMALS);
    COST_PER_QUERY_MEAN = gauge(
        "cost_per_query_mean",
        &[CURRENCY, VARIANT, WINDOW],
        "Rolling mean cost of a search, in units of the currency, of this replica. Searches \
         without a known cost are excluded.",
    ).own_series(Samples::Windows);
    COST_PER_QUERY_QUANTILE = summary(
        "cost_per_query_quantile",
        &[CURRENCY, VARIANT, WINDOW, QUANTILE],
        "Rolling quantile of the cost of a search, in units of the currency, of this replica, \
         with a relative error of at most 1 %. Searches without a known cost are excluded.",
    ).series_of(&COST_PER_QUERY_MEAN, Samples::WindowsAndQuantiles);
    UNPRICED_USAGE = counter(
        "unpriced_usage_total",
        &[MODEL],
        "Model calls that used tokens and whose cost is neither in the event nor in the price \
         table.",
    ).recorded();
    // User feedback.
    FEEDBACK = counter(
        "feedback_total",
        &[one_of("type", &Action::NAMES), VARIANT],
        "Feedback events that were joined with their search or its session.",
    ).recorded();
    CLICKS = counter(
        "clicks_total",
        &[VARIANT],
        "Clicked results, at the positions that feedback.expected_clicks lists if it is configured. A result \
         counts once per search. Divided by expected_clicks_total, it is COEC (clicks over expected clicks), \
         which is corrected for position bias.",
    ).recorded();
    EXPECTED_CLICKS = counter(
        "expected_clicks_total",
        &[VARIANT],
        "Expected clicks at the positions of the results shown, from \
         feedback.expected_clicks. Absent if that is not configured.",
    ).recorded_in_units(Nano::DECIMALS);
    UNSERVED_CLICKS = counter(
        "unserved_clicks_total",
        &[VARIANT],
        "Clicks on results that the search did not serve. No measure counts them.",
    ).recorded();
    TIME_TO_FIRST_CLICK = histogram(
        "time_to_first_click_seconds",
        &[VARIANT],
        "Time in seconds from a search to its first click on a served result. Searches \
         without a click are excluded.",
    ).own_series(Samples::FirstClickBuckets);
    INTERLEAVING_WINS = counter(
        "interleaving_wins_total",
        &[event("experiment", Dimension::Experiment), TEAM],
        "Sessions with interleaved rankings by the team with more distinct clicked results than any \
         other. team=\"__tie__\" if no team has. A search without a session is one.",
    ).recorded().exposed_at_zero();
    INTERLEAVING_DELTA = gauge(
        "interleaving_delta",
        &[event("experiment", Dimension::Experiment), TEAM],
        "Preference for the team since the start, of this replica: (wins + ties / 2) / \
         interleaved sessions - 1/2. Above 0 if users prefer the team.",
    ).series_of(&INTERLEAVING_WINS, Samples::One);
    INTERLEAVING_PAIRS = counter(
        "interleaving_pair_sessions_total",
        &[event("experiment", Dimension::Experiment), TEAM, AGAINST, one_of("outcome", OUTCOMES)],
        "Sessions with results of both teams, by outcome for the first team: win if more of its \
         distinct results were clicked, loss if fewer, tie if as many.",
    ).recorded();
    INTERLEAVING_LOG_EVIDENCE = gauge(
        "interleaving_log_evidence",
        &[exposed("experiment"), exposed("team"), exposed("against")],
        "Evidence (natural log e-value) that users prefer one of two teams, of this replica. Over \
         replicas, average the e-values by their configured number. With state.topic it is that of all \
         replicas, the same on each: use max.",
    );
    PRODUCTION_JUDGEMENTS = counter(
        "production_judgements_total",
        &[one_of("gold", RELEVANCE), one_of("production", RELEVANCE), VARIANT],
        "Grades given in production (judgment events), as relevant or not relevant, by the \
         grade of the same document in the gold set.",
    ).recorded();
    EVALUATOR_JUDGEMENTS = counter(
        "evaluator_judgements_total",
        &[EVALUATOR, EVALUATOR_VERSION, one_of("kind", &EvaluatorKind::NAMES), VARIANT],
        "Judgments of results, answers and searches by evaluator (judgment events).",
    ).recorded();
    EVALUATOR_PAIRS = counter(
        "evaluator_pairs_total",
        &[EVALUATOR, EVALUATOR_VERSION, one_of("outcome", EVALUATOR_OUTCOMES), VARIANT],
        "Judgments that people made as well, by outcome: both_low, above (the evaluator is high, people \
         are low), below, both_high. High is a relevant grade, or a value of at least half the scale. \
         People are the judgments of persons on the same object, otherwise the gold set.",
    ).recorded();
    EVALUATOR_ERROR_SUM = counter(
        "evaluator_error_sum_total",
        &[EVALUATOR, EVALUATOR_VERSION, one_of("sign", &["above", "below"]), VARIANT],
        "Sum of the differences between an evaluator and people, of values from 0 to 1 or of grades.",
    ).recorded_in_units(Nano::DECIMALS);
    EVALUATOR_COST = counter(
        "evaluator_cost_total",
        &[EVALUATOR, EVALUATOR_VERSION, CURRENCY],
        "Cost of judgments, in units of the currency, as their events state it. It is no part of cost_total.",
    ).recorded_in_units(Money::DECIMALS);
    EVALUATOR_SLICE_ERROR = gauge(
        "evaluator_slice_error",
        &[
            exposed("evaluator"), exposed("version"), exposed("variant"), exposed("slice"), exposed("value"),
        ],
        "Bias of an evaluator in a slice: its mean difference from people since the start, of this replica. At \
         most 200 slices of a version.",
    );
    EVALUATOR_SLICE_PAIRS = gauge(
        "evaluator_slice_pairs",
        &[
            exposed("evaluator"), exposed("version"), exposed("variant"), exposed("slice"), exposed("value"),
        ],
        "Judgments behind evaluator_slice_error.",
    );
    EVALUATOR_SLICE_KAPPA = gauge(
        "evaluator_slice_kappa",
        &[
            exposed("evaluator"), exposed("version"), exposed("variant"), exposed("slice"), exposed("value"),
        ],
        "Cohen's kappa between an evaluator and people in a slice since the start, of this replica.",
    );
    EVALUATOR_CORRECTED = gauge(
        "evaluator_corrected_value",
        &[
            exposed("evaluator"), exposed("version"), exposed("variant"), exposed("name"), exposed("bound"),
        ],
        "Mean value of an evaluator minus its bias, from 0 to 1, since the start, of this replica: estimate and \
         95 % interval (lower, upper). It holds if people judge a random share. Absent below \
         feedback.min_samples pairs.",
    );
    EVALUATOR_KAPPA = gauge(
        "evaluator_kappa",
        &[exposed("evaluator"), exposed("version")],
        "Cohen's kappa between an evaluator and people, high or low, since the start, of this replica. \
         1 is full agreement, 0 is chance agreement.",
    );
    EVALUATOR_ERROR = gauge(
        "evaluator_error",
        &[exposed("evaluator"), exposed("version"), exposed("variant")],
        "Bias of an evaluator: its mean difference from people since the start, of this replica. Above 0 \
         it is too high.",
    );
    EVALUATOR_DRIFT_LOG_EVIDENCE = gauge(
        "evaluator_drift_log_evidence",
        &[exposed("evaluator"), exposed("version")],
        "Evidence (natural log e-value) that the bias of an evaluator changed since its version began, of \
         this replica. Over replicas, sum the e-values: ln(sum(exp(x))). Absent before the first comparison.",
    );
    EVALUATOR_DRIFT = gauge(
        "evaluator_drift",
        &[exposed("evaluator"), exposed("version")],
        "1 while the evidence of this replica that the bias changed is sufficient for an alarm, otherwise 0.",
    );
    EVALUATOR_DRIFT_CHANGE = gauge(
        "evaluator_drift_change",
        &[exposed("evaluator"), exposed("version"), exposed("bound")],
        "Change of the bias of an evaluator since its estimated beginning, of values from 0 to 1: estimate and \
         confidence bounds (lower, upper). Below 0 the evaluator is lower than before. Absent without an alarm.",
    );
    SATISFACTION_CORRELATION = gauge(
        "satisfaction_correlation",
        &[MEASURE],
        "Spearman's rank correlation between the measure and user satisfaction over a rolling \
         day, of this replica. Satisfaction is taken from ratings and thumbs, otherwise 1 for \
         a conversion or satisfying click and 0 for other clicks. Absent below \
         feedback.min_samples.",
    );
    SATISFACTION_SAMPLES = gauge(
        "satisfaction_correlation_samples",
        &[MEASURE],
        "Judged searches with feedback behind satisfaction_correlation.",
    );
    // Regression evidence and experiments.
    EVIDENCE_THRESHOLD = gauge(
        "evidence_threshold",
        &[exposed("test")],
        "Regression evidence (natural log e-value) from which a test raises an alarm, for the \
         evidence of all replicas together. Tests are target, drop, split, interleaving and evaluator. The \
         thresholds follow from the accepted false alarms.",
    );
    DETECTION_REPLICAS = gauge(
        "detection_replicas",
        &[],
        "Configured number of replicas (detection.replicas): the divisor of the mean e-value of all \
         replicas. A replica that is missing counts 0.",
    );
    TARGET_LOG_EVIDENCE = gauge(
        "target_log_evidence",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Regression evidence (natural log e-value) that the mean misses the least demanding \
         of its targets, of this replica. Over replicas, average the e-values by their configured \
         number: ln(sum(exp(x))) - ln(detection_replicas). With state.topic it is that of all replicas, the \
         same on each: use max. Only for detection.measures that have a target.",
    ).series_of(&SCORE, Samples::Measures);
    DROP_LOG_EVIDENCE = gauge(
        "drop_log_evidence",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Regression evidence (natural log e-value) that scores are worse than the baseline, \
         of this replica. Over replicas, sum the e-values: ln(sum(exp(x))). With state.topic it is that \
         of all replicas, the same on each: use max. Absent before the first comparison.",
    ).series_of(&SCORE, Samples::Measures);
    UPPER_BOUND_LOG_EVIDENCE = gauge(
        "drop_upper_bound_log_evidence",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Regression evidence (natural log e-value) that the score fell even if every unjudged result is \
         relevant. Exists while a drop is suspected, from half of the evidence for an alarm on, if results are \
         unjudged.",
    ).series_of(&SCORE, Samples::Measures);
    JUDGED_SHARE_LOG_EVIDENCE = gauge(
        "drop_judged_log_evidence",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Regression evidence (natural log e-value) that the share of judged results fell. Exists while a drop \
         is suspected, from half of the evidence for an alarm on, if results are unjudged.",
    ).series_of(&SCORE, Samples::Measures);
    DROP_TOLERANCE = gauge(
        "drop_tolerance",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Largest tolerated drop of a worker of this replica: the configured one, that of the warm-up, or \
         five times the learned variation of hours.",
    ).series_of(&SCORE, Samples::Measures);
    DROP_WARM_UP_END_TIMESTAMP = gauge(
        "drop_warm_up_end_timestamp_seconds",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "End of the warm-up of the drop test in event time, in seconds since 1970. Until then, the \
         tolerance is at least detection.warm_up_tolerance.",
    ).series_of(&SCORE, Samples::Measures);
    SCORE_BOUND_SEARCHES = gauge(
        "score_bound_searches",
        &[MEASURE, VARIANT, SLICE, VALUE],
        "Searches behind score_bound: those since the last deployment, of closed blocks. Absent \
         before the first block is closed.",
    ).series_of(&SCORE, Samples::Measures);
    INCIDENTS = gauge(
        "incidents",
        &[VARIANT, exposed("severity")],
        "Open incidents: drops of one variant with a beginning and no end. critical: all searches are \
         worse; warning: some are, or more results are unjudged.",
    );
    INCIDENT_LOSS = gauge(
        "incident_loss",
        &[VARIANT, MEASURE, SLICE, VALUE, exposed("bound")],
        "Mean loss of the current searches of an open incident against the mean of their query before \
         it began, with an interval of 95 %. Positive values are worse, also for measures that are better \
         when lower.",
    );
    INCIDENT_START_TIMESTAMP = gauge(
        "incident_start_timestamp_seconds",
        &[VARIANT, MEASURE, SLICE, VALUE],
        "Estimated beginning of an open incident in event time, in seconds since 1970.",
    );
    INCIDENT_INFO = gauge(
        "incident_info",
        &[VARIANT, MEASURE, SLICE, VALUE, exposed("incident"), exposed("severity")],
        "Always 1, for each measure and slice of an open incident. incident: its id, as in /api/v1/incidents; \
         severity: as in incidents.",
    );
    INCIDENTS_ENDED = counter(
        "incidents_ended_total",
        &[VARIANT, exposed("ended_by")],
        "Ended incidents by reason: recovered (the mean is back within the tolerance of the reference), \
         reset (of the baselines, or a gold set that judges no query as before), expired (no compared search for 24 hours).",
    );
    BASELINE_SCORE = gauge(
        "baseline_score",
        &[MEASURE, VARIANT],
        "Mean of the scores in the baselines of all queries. A query has at most 100 scores in \
         its baseline. Searches are compared with the baseline of their query. Of user measures, the first \
         search of each session with a score counts.",
    );
    BASELINE_SEARCHES = gauge(
        "baseline_searches",
        &[MEASURE, VARIANT],
        "Searches (or sessions) in the baselines of all queries.",
    );
    BASELINE_QUERIES = gauge(
        "baseline_queries",
        &[MEASURE, VARIANT],
        "Queries with a baseline, summed over the workers. A query is compared from its second \
         search on. Sessions without a gold query have one baseline for each hour of the day.",
    );
    SCORE_BOUND = gauge(
        "score_bound",
        &[MEASURE, VARIANT, SLICE, VALUE, exposed("bound")],
        "Confidence bound of the mean score of all searches since the last deployment, of \
         this replica. Over replicas, average the bounds, weighted by score_bound_searches. Each bound is \
         anytime-valid: it holds at all times together with probability 1 - detection.alpha, \
         also as an average over detection.replicas. Absent before the first block is closed.",
    ).series_of(&SCORE, Samples::MeasuresTwice);
    EXPERIMENT_DIFFERENCE = gauge(
        "experiment_difference",
        &[exposed("experiment"), MEASURE, VARIANT, exposed("bound")],
        "Mean of the arm minus the mean of the control since the start, with anytime-valid \
         bounds, of this replica. Over replicas, average each bound. Absent below 100 buckets of \
         users (or sessions) per arm.",
    );
    EXPERIMENT_LOG_EVIDENCE = gauge(
        "experiment_log_evidence",
        &[exposed("experiment"), MEASURE, VARIANT],
        "Evidence (natural log e-value) that the arm is worse than the control in a guardrail \
         measure, of this replica. Over replicas, average the e-values by their configured number. With \
         state.topic it is that of all replicas, the same on each: use max.",
    );
    EXPERIMENT_EVIDENCE_THRESHOLD = gauge(
        "experiment_evidence_threshold",
        &[exposed("experiment")],
        "Threshold of experiment_log_evidence: ln(m / detection.alpha), for m pairs of a guardrail \
         and an arm.",
    );
    EXPERIMENT_CONTROL = gauge(
        "experiment_control",
        &[exposed("experiment"), VARIANT],
        "Control arm of the experiment; always 1.",
    );
    EXPERIMENT_SPLIT = gauge(
        "experiment_split",
        &[exposed("experiment"), VARIANT],
        "Configured share of the experiment's users (or sessions) for the arm. The actual count \
         is experiment_sessions_total.",
    );
    EXPERIMENT_SESSIONS = counter(
        "experiment_sessions_total",
        &[exposed("experiment"), VARIANT],
        "Units of the arm in a declared experiment: users, or sessions with assignment: session. A \
         search without a user id counts by its session, and without both by itself. A unit counts \
         once for each worker that reads its searches.",
    );
    SPLIT_LOG_EVIDENCE = gauge(
        "split_log_evidence",
        &[exposed("experiment")],
        "Evidence (natural log e-value) that the experiment's users (or sessions) are not split as \
         configured, of this replica. Over replicas, average the e-values by their configured number. With \
         state.topic it is that of all replicas, the same on each: use max.",
    );
    EXPERIMENT_GUARDRAIL = gauge(
        "experiment_guardrail",
        &[exposed("experiment"), MEASURE],
        "Guardrail measure of the experiment: 1 if higher is better, -1 if lower is better.",
    );
    // Objectives of latency, errors, cost and traffic.
    OBJECTIVE_TARGET = gauge(
        "objective_target",
        &[exposed("objective"), exposed("tier")],
        "Configured target of an objective: seconds, a share of searches, units of the currency \
         for a search, or searches per second.",
    );
    OBJECTIVE_BUDGET = gauge(
        "objective_budget",
        &[exposed("objective")],
        "Share of searches that may fail the objective, by its least demanding target: 1 - \
         quantile for a latency, the target itself for a rate.",
    );
    OBJECTIVE_SEARCHES = counter(
        "objective_searches_total",
        &[exposed("objective"), VARIANT],
        "Searches that the objective is about. Can be summed over replicas.",
    );
    OBJECTIVE_FAILURES = counter(
        "objective_failures_total",
        &[exposed("objective"), VARIANT],
        "Searches that failed the objective: slower than its least demanding target, with an \
         error, or without results. Can be summed over replicas.",
    );
    OBJECTIVE_LOG_EVIDENCE = gauge(
        "objective_log_evidence",
        &[exposed("objective"), VARIANT],
        "Regression evidence (natural log e-value) that a mean latency or cost, or a share of \
         searches, misses the least demanding target of its objective, of this replica. Over replicas, average the \
         e-values: ln(sum(exp(x))) - ln(detection_replicas). With state.topic it is that of all replicas, the same \
         on each: use max. The threshold is evidence_threshold{test=\"target\"}.",
    );
    OBJECTIVE_BOUND = gauge(
        "objective_bound",
        &[exposed("objective"), VARIANT, exposed("bound")],
        "Lowest and highest share of the variant among all searches.",
    );
    DEPLOYMENT_TIMESTAMP = gauge(
        "deployment_timestamp_seconds",
        &[exposed("variant"), exposed("version")],
        "Time of a reported deployment (POST /-/deployment), in seconds since 1970; the last 100.",
    );
    QUALITY = gauge(
        "quality",
        &[MEASURE, exposed("variant"), exposed("bound")],
        "Quality of all traffic, estimated from the labels of labelling.topic: mean in the newest window \
         of which half of the requests are answered, with its anytime-valid 95 % interval (lower, upper), of \
         this replica. The interval contains both ends of missing labels. Absent below 30 labels.",
    );
    QUALITY_DROP_LOG_EVIDENCE = gauge(
        "quality_drop_log_evidence",
        &[MEASURE, exposed("variant")],
        "Regression evidence (natural log e-value) that the quality of all traffic in the window of quality is \
         lower than in the windows before, by more than 0.01, of this replica. It starts again with each window. \
         Missing labels count against a drop. The threshold is evidence_threshold{test=\"target\"}. Absent \
         without an answered window before.",
    );
    QUALITY_KNOWN_SHARE = gauge(
        "quality_known_share",
        &[exposed("variant")],
        "Share of the results in the window of quality whose grade was known, so that no label was needed.",
    );
    QUALITY_LABELS = gauge(
        "quality_labels",
        &[exposed("variant"), exposed("state")],
        "Labels of the window of quality, by state: requested, counted.",
    );
    LABEL_REQUESTS = counter(
        "label_requests_total",
        &[VARIANT, one_of("stratum", &STRATA)],
        "Labels requested on labelling.topic, by stratum: head, the query is in the gold set; tail, it is \
         not. Of one batch of records, at most 10,000 are sent, and all are counted.",
    ).recorded();
    LABELS = counter(
        "labels_total",
        &[
            one_of("kind", &EvaluatorKind::NAMES),
            one_of("outcome", &LabelOutcome::NAMES),
        ],
        "Judgements that return a request for a label, by outcome: counted; duplicate; late, after \
         labelling.deadline; invalid, the request was changed, is of another key or about another result; \
         not_human.",
    ).recorded();
    LIST_CHANGE = gauge(
        "list_change",
        &[exposed("variant"), exposed("bound")],
        "Excess churn of the result lists of frequent queries since the version before: agreement of each \
         version with itself minus that of both (rank-biased overlap), mean with its 95 % interval \
         (lower, upper). 0: no change beyond the noise of the index. It has no direction.",
    );
    LIST_CHANGED = gauge(
        "list_changed_ratio",
        &[exposed("variant"), exposed("bound")],
        "Share of the frequent queries whose list changed since the version before, beyond the noise of \
         the index: mean with its 95 % interval (lower, upper).",
    );
    LIST_OVERLAP = gauge(
        "list_overlap",
        &[exposed("variant"), exposed("bound")],
        "Share of results that the lists of frequent queries have in common with those of the version \
         before: mean with its 95 % interval (lower, upper).",
    );
    LIST_RBO = gauge(
        "list_rbo",
        &[exposed("variant"), exposed("bound")],
        "Rank-biased overlap (persistence 0.9) of the lists of frequent queries with those of the version \
         before: mean with its 95 % interval (lower, upper).",
    );
    LIST_QUERIES = gauge(
        "list_queries",
        &[exposed("variant")],
        "Frequent queries with two lists by the current version and by the version before, over which \
         list_change, list_changed_ratio, list_overlap and list_rbo are means. Of this replica.",
    );
    // Pipeline.
    RECORDS = counter(
        "records_total",
        &[exposed("topic"), exposed("outcome")],
        "Records received, by outcome: used, with at least one event; without_events, such as \
         spans without a search; invalid, cannot be decoded; ignored, not selected by the mapping \
         of its format.",
    );
    SPANS = counter(
        "spans_total",
        &[one_of("outcome", SpanOutcome::NAMES)],
        "OpenTelemetry spans of the search topic, by outcome: search; invalid, see \
         invalid_events_total; without_documents, whose instrumentation does not record results; \
         ignored, by otlp.names, otlp.ignore_names, otlp.resources or otlp.scopes; other, of a kind \
         that is not selected.",
    ).recorded().exposed_at_zero();
    SPAN_ATTRIBUTES_DROPPED = counter(
        "span_attributes_dropped_total",
        &[],
        "Attributes that the instrumented process dropped from selected spans because of its \
         attribute limit. Spans with documents among them are invalid.",
    ).recorded().exposed_at_zero();
    SPAN_DOCUMENTS_WITHOUT_ID = counter(
        "span_documents_without_id_total",
        &[],
        "Documents of selected spans without an id. Without gold texts, their spans are invalid \
         (missing_field).",
    ).recorded().exposed_at_zero();
    SPAN_ANSWERS_WITHOUT_SEARCH = counter(
        "span_answers_without_search_total",
        &[],
        "Answers of spans (otlp.answers) whose record has no search of the same trace that ended before them. \
         No search gets them.",
    ).recorded().exposed_at_zero();
    EVALUATIONS = counter(
        "evaluations_total",
        &[one_of("outcome", RecordCounts::EVALUATIONS)],
        "Evaluations of the feedback topic in OpenTelemetry formats, by outcome: feedback; \
         invalid; ignored, with a name that is not in otlp.feedback; other, log records and \
         spans without an evaluation.",
    ).recorded().exposed_at_zero();
    EVENTS = counter(
        "events_total",
        &[exposed("kind"), exposed("outcome")],
        "Events by outcome. Together with events_pending they add up to the events received: \
         one for each record, or one for each selected span of OpenTelemetry records. A search \
         gets its outcome when its feedback window has passed.",
    );
    INVALID_EVENTS = counter(
        "invalid_events_total",
        &[exposed("kind"), exposed("reason")],
        "Events and records that cannot be used, by reason. Their sum is \
         events_total{outcome=\"invalid\"}.",
    );
    EVENTS_PENDING = gauge(
        "events_pending",
        &[exposed("kind")],
        "Searches waiting for the end of their feedback window, and feedback waiting for its \
         search.",
    );
    FINALISED_EARLY = counter(
        "finalised_early_total",
        &[],
        "Searches finalised before the end of their feedback window because the memory of a \
         worker (engine.memory) was used up.",
    ).recorded().exposed_at_zero();
    CONVERSIONS_NOT_COUNTED = counter(
        "conversions_not_counted_total",
        &[],
        "Searches without a score of conversions (engine.feedback_windows), because their partition went to \
         another process before the end of the window.",
    ).recorded();
    SESSION_LIMIT_EXCEEDED = counter(
        "session_limit_exceeded_total",
        &[],
        "Searches over limits.searches_per_session within a feedback window. Such an id does not \
         identify one session, so these searches are counted without a session.",
    ).recorded().exposed_at_zero();
    FEEDBACK_LIMIT_EXCEEDED = counter(
        "feedback_limit_exceeded_total",
        &[one_of("limit", FEEDBACK_LIMITS)],
        "Feedback events beyond a limit, by limit: search, limits.feedback_per_search, whose \
         events are counted but change no measure; session, limits.interactions_per_session, \
         whose events do not end a dwell time.",
    ).recorded().exposed_at_zero();
    SESSIONS_CROSS_PARTITION = counter(
        "sessions_cross_partition_total",
        &[],
        "Sessions whose searches this replica read from more than one partition, among the \
         sessions it remembers. Session measures then see only parts of a session: use \
         session_id as the key of both topics.",
    );
    OFFSET_GAP_RECORDS = counter(
        "offset_gap_records_total",
        &[TOPIC, one_of("reason", LossReason::NAMES)],
        "Offsets that were lost, by reason: deleted before they were read (deleted), skipped \
         because an operator moved the committed offset forward (moved), or skipped because their \
         batch cannot be read (unreadable).",
    ).recorded().exposed_at_zero();
    OFFSETS_WITHOUT_RECORDS = counter(
        "offsets_without_records_total",
        &[TOPIC],
        "Offsets that deliver no record and lose none: markers and aborted records of \
         transactions, and records that compaction removed.",
    ).recorded().exposed_at_zero();
    OVERFLOW_SAMPLES = counter(
        "overflow_samples_total",
        &[exposed("family")],
        "Samples counted under __other__ because their family had reached \
         limits.series_per_family, or one of their labels limits.values_per_label.",
    );
    MEMORY = gauge(
        "memory_bytes",
        &[exposed("part")],
        "Approximate memory held for what grows with traffic: join holds pending and closed \
         searches, waiting feedback and sessions; totals holds series, windows and histograms.",
    );
    MEMORY_LIMIT = gauge(
        "memory_limit_bytes",
        &[],
        "Memory available for rankgauge_memory_bytes: engine.memory for each worker.",
    );
    CONSUMER_LAG = gauge(
        "consumer_lag_records",
        &[exposed("topic"), exposed("partition")],
        "Records of the partition that are not yet read, as last reported by the broker.",
    );
    FORWARDER_LAG = gauge(
        "forwarder_lag_records",
        &[exposed("topic"), exposed("partition")],
        "Records of the source partition that its forwarder has not yet copied, as last reported by the \
         broker. Only with kafka.join: repartition; rankgauge_consumer_lag_records is the lag behind \
         the copies.",
    );
    PARTITION_STALLED = gauge(
        "partition_stalled_seconds",
        &[exposed("topic"), exposed("partition")],
        "Time since the last record of a partition that has records to read and delivers none, in \
         seconds, from 30 seconds on; 0 for all other partitions.",
    );
    WATERMARK_DELAY = gauge(
        "watermark_delay_seconds",
        &[exposed("partition")],
        "Delay of the partition's watermark behind the wall clock, in seconds.",
    );
    SNAPSHOT_AGE = gauge(
        "snapshot_age_seconds",
        &[exposed("worker")],
        "Time since the worker last published a snapshot, in seconds. Grows while a worker \
         hangs.",
    );
    KAFKA_CONNECTED = gauge(
        "kafka_connected",
        &[exposed("worker")],
        "1 while the worker has a connection to a broker, otherwise 0.",
    );
    ASSIGNED_PARTITIONS = gauge(
        "assigned_partitions",
        &[],
        "Partitions assigned to this replica. Partitions of the two topics with the same \
         number count as one.",
    );
    TOPIC_PARTITIONS = gauge(
        "topic_partitions",
        &[],
        "Partitions that the replicas of the consumer group share, as this replica last received them from the \
         brokers. Partitions of the two topics with the same number count as one. 0 before the topics are known.",
    );
    REBALANCES = counter(
        "rebalances_total",
        &[],
        "Times that a worker of this replica was assigned partitions or had partitions \
         revoked.",
    );
    DEAD_LETTERS = counter(
        "dead_letters_total",
        &[exposed("topic")],
        "Records of the topic that could not be decoded and were sent to the dead-letter \
         topic.",
    );
    DEAD_LETTER_FAILURES = counter(
        "dead_letter_failures_total",
        &[exposed("topic")],
        "Records of the topic that could neither be decoded nor be sent to the dead-letter \
         topic.",
    );
    SCHEMA_REGISTRY_REQUESTS = counter(
        "schema_registry_requests_total",
        &[one_of("outcome", &REGISTRY_OUTCOMES)],
        "Requests for schemas, by outcome: ok; missing, the registry has no such schema; invalid, the \
         schema cannot be used; unavailable, the registry did not answer and is asked again.",
    );
    SCHEMA_PARTITIONS_WAITING = gauge(
        "schema_partitions_waiting",
        &[],
        "Topic partitions that are paused until the registry answers with the schema of their next \
         record.",
    );
    STATE_RECORDS = counter(
        "state_records_total",
        &[one_of("outcome", &STATE_OUTCOMES)],
        "Records of the state topic, by outcome: read and used; rejected, another version or damaged; \
         written by this replica; failed, not written, and repeated at the next interval.",
    );
    STATE_WORKERS = gauge(
        "state_workers",
        &[],
        "Workers of the fleet whose baselines this replica holds, those that ended included.",
    );
    STATE_BYTES = gauge(
        "state_bytes",
        &[],
        "Bytes of the records of the state topic that this replica holds.",
    );
    STATE_PUBLISHED = gauge(
        "state_published_timestamp_seconds",
        &[],
        "Time of the last complete publication of the state of this replica. Absent before the first.",
    );
    STATE_READ = gauge(
        "state_read_timestamp_seconds",
        &[],
        "Time at which this replica had read the state topic to its end last. Absent before the first.",
    );
    STATE_INTERVAL = gauge(
        "state_interval_seconds",
        &[],
        "Interval at which the replica publishes its state (state.interval), in seconds. Exists only with \
         state.topic: evidence is then that of all replicas.",
    );
    CHECKPOINT_AGE = gauge(
        "checkpoint_age_seconds",
        &[exposed("worker")],
        "Age of the last checkpoint on disk, in seconds. Grows while checkpoints cannot be \
         written. Absent without a checkpoint folder.",
    );
    CHECKPOINT_RESTORED = gauge(
        "checkpoint_restored_timestamp_seconds",
        &[exposed("worker")],
        "Time of the checkpoint from which the counters were restored at the start. Counters are lower than \
         before if the earlier process counted records after it. Absent if there was none.",
    );
    CHECKPOINT_BYTES = gauge(
        "checkpoint_bytes",
        &[exposed("worker")],
        "Size of the last checkpoint in bytes.",
    );
    CHECKPOINT_DURATION = gauge(
        "checkpoint_duration_seconds",
        &[exposed("worker")],
        "Time taken to write and sync the last checkpoint, in seconds.",
    );
    CHECKPOINT_WRITE_DURATION = summary(
        "checkpoint_write_duration_seconds",
        &[QUANTILE],
        "Time taken to write and sync a checkpoint over the last 5 to 10 minutes, in seconds, of all workers.",
    );
    PUBLISH_DURATION = summary(
        "publish_duration_seconds",
        &[QUANTILE],
        "Time in which a worker copies its state for a snapshot and for a checkpoint, and counts nothing, over \
         the last 5 to 10 minutes, in seconds, of all workers.",
    );
    SCRAPE_DURATION = summary(
        "scrape_duration_seconds",
        &[QUANTILE],
        "Time taken to merge and to write the metrics for a scrape over the last 5 to 10 minutes, in seconds, \
         without their transfer.",
    );
    CHECKPOINTS = counter(
        "checkpoints_total",
        &[exposed("worker"), exposed("result")],
        "Attempts to write a checkpoint, by result. While they fail, offsets are not \
         committed.",
    );
    GOLD_QUERIES = gauge(
        "gold_queries",
        &[],
        "Queries in the gold set.",
    );
    GOLD_JUDGEMENTS = gauge(
        "gold_judgements",
        &[],
        "Judgements in the gold set.",
    );
    GOLD_INFO = gauge(
        "gold_info",
        &[exposed("version"), exposed("sha256")],
        "The gold set in use; always 1. Scores against different gold sets are not \
         comparable.",
    );
    GOLD_RELOADS = counter(
        "gold_reloads_total",
        &[exposed("result")],
        "Attempts to load the gold set, by result.",
    );
    GOLD_RELOAD_TIMESTAMP = gauge(
        "gold_reload_timestamp_seconds",
        &[],
        "Time at which the gold set in use was loaded, in seconds since the Unix epoch.",
    );
    LOG_LINES_LOST = counter(
        "log_lines_lost_total",
        &[],
        "Log lines that could not be written to standard error: its disk is full, or its reader \
         has ended or no longer reads.",
    );
    HTTP_REJECTED_REQUESTS = counter(
        "http_rejected_requests_total",
        &[exposed("listener"), exposed("reason")],
        "Requests that the listener rejected: beyond its maximum number of requests in progress \
         (capacity), or without valid credentials (authentication).",
    );
    HTTP_CLOSED_CONNECTIONS = counter(
        "http_closed_connections_total",
        &[exposed("listener"), exposed("reason")],
        "Connections that the listener closed before their end: the request (slow_request) or \
         the reading of the response (slow_response) exceeded its time limit, or a new \
         connection needed the place (capacity).",
    );
    GATEWAY_REQUESTS = counter(
        "gateway_requests_total",
        &[exposed("route"), exposed("outcome")],
        "Requests to the gateway, by route and outcome: ok (every event was accepted), partial (some \
         events were rejected), rejected (no event was accepted), invalid (the request cannot be \
         read), unauthorised, limited (the rate limit of its token), unavailable (no memory left, or \
         no answer of the broker).",
    );
    GATEWAY_EVENTS = counter(
        "gateway_events_total",
        &[exposed("route"), exposed("outcome")],
        "Events in requests to the gateway, by route and outcome: accepted (the broker has them), \
         rejected (they are not valid), ignored (spans that are no searches, and what a mapping does \
         not select), unconfirmed (the broker did not confirm them; the client has to repeat them).",
    );
    GATEWAY_APPLICATION_EVENTS = counter(
        "gateway_application_events_total",
        &[exposed("application")],
        "Events in requests of an application of gateway.tokens_file, accepted or not, as its rate limit \
         counts them.",
    );
    GATEWAY_APPLICATION_BYTES = counter(
        "gateway_application_bytes_total",
        &[exposed("application")],
        "Bytes of bodies of an application of gateway.tokens_file, without compression, as its rate limit \
         counts them.",
    );
    GATEWAY_APPLICATION_LIMITED = counter(
        "gateway_application_limited_requests_total",
        &[exposed("application")],
        "Requests of an application of gateway.tokens_file that its rate limit refused (status 429).",
    );
    GATEWAY_MEMORY = gauge(
        "gateway_memory_bytes",
        &[],
        "Memory that requests to the gateway and their records occupy, in bytes.",
    );
    GATEWAY_REQUEST_DURATION = summary(
        "gateway_request_duration_seconds",
        &[exposed("route"), QUANTILE],
        "Time from the head of a request to the gateway to its answer over the last 5 to 10 minutes, \
         in seconds.",
    );
    GATEWAY_DELIVERY_DURATION = summary(
        "gateway_delivery_duration_seconds",
        &[exposed("route"), QUANTILE],
        "Time from the first record of a request to the answer of the broker about the last one over \
         the last 5 to 10 minutes, in seconds.",
    );
    PROBE_SEARCHES = counter(
        "probe_searches_total",
        &[exposed("variant"), exposed("outcome")],
        "Searches of `rankgauge probe --every`, by variant of the target and outcome: answered, failed, \
         skipped (not sent, because the target is down or asks for a long pause). Counted at the end of a \
         round.",
    );
    PROBE_REQUEST_DURATION = summary(
        "probe_request_duration_seconds",
        &[exposed("variant"), QUANTILE],
        "Time from the connection to the last byte of a complete answer to a search of `rankgauge probe \
         --every` over the last 5 to 10 minutes, in seconds.",
    );
    BUILD_INFO = gauge(
        "build_info",
        &[exposed("version"), exposed("revision"), exposed("rustc")],
        "Version, revision and compiler of the running binary; always 1.",
    );
}
