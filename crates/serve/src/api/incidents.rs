//! Incidents: drops with a beginning, one frozen reference and an end.

use std::fmt::Write as _;
use std::ops::Range;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::pagination::{cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::{AdminApi, status};
use crate::clock::wall_now;
use crate::history::{History, Operation, Span};
use crate::live::{Order, ReportedCommand};
use crate::per_cent::per_cent;
use rankgauge_core::engine::WHOLE_SEARCH;
use rankgauge_core::engine::incidents::{
    Acknowledged, Incident, IncidentMeasure, IncidentQuery, Level, Note,
};
use rankgauge_core::engine::read_model::{EvaluatorPart, EvaluatorVerdict, ReadModel};
use rankgauge_core::measure::Subject;
use rankgauge_core::number::real_length;
use rankgauge_core::time::{EventTime, WallTime};

const FORMAT: Parameter = Parameter {
    name: "format",
    values: Values::Word {
        words: &["json", "markdown"],
        default: Some("json"),
    },
    help: "Format of the response.",
};

pub(crate) const PARAMETERS: [Parameter; 4] = [
    VARIANT,
    Parameter::limit(MAX_LISTED, MAX_LISTED),
    CURSOR,
    FORMAT,
];

pub(crate) const ONE_PARAMETERS: [Parameter; 1] = [FORMAT];

/// Default and maximum number of entries of a page.
const MAX_LISTED: usize = 200;

/// Maximum number of queries and of causes of an incident.
const MAX_QUERIES: usize = 10;
const MAX_CAUSES: usize = 10;

/// Longest time between a deployment and the beginning of an incident that it may have caused, in
/// milliseconds.
const DEPLOYED_BEFORE: i64 = 24 * 3_600_000;

/// Kind of a cause that is a measure.
const MEASURE: &str = "measure";

/// Change of a measure below which it is no cause.
const MIN_CHANGE: f64 = 0.02;

/// Change of a latency or a cost below which it is no cause, relative to the larger value.
const MIN_RELATIVE_CHANGE: f64 = 0.2;

/// Length of the shortest window in milliseconds: points of the history after the beginning still contain
/// earlier searches for as long.
const DRAIN: i64 = 60_000;

/// Incidents, the open ones first, then the ended ones, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Incidents {
    pub(crate) incidents: Vec<IncidentEntry>,
    /// Cursor of the next page; null on the last one.
    pub(crate) next_cursor: Option<String>,
}

/// Incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Incident")]
pub(crate) struct IncidentEntry {
    /// Hash of variant, primary measure and minute of the beginning.
    pub(crate) id: String,
    pub(crate) variant: String,
    /// One sentence with the size and the beginning.
    pub(crate) summary: String,
    #[schemars(extend("enum" = ["critical", "warning"]))]
    pub(crate) severity: &'static str,
    /// Measures and slices that fell together, the primary one first.
    pub(crate) measures: Vec<MeasureEntry>,
    /// Estimated beginning in event time.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) started_at: String,
    /// Earliest likely beginning.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) started_at_lower: String,
    /// Latest likely beginning.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) started_at_upper: String,
    /// Event time of the first alarm.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) alarmed_at: String,
    /// Event time of the end; null while the incident is open.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) ended_at: Option<String>,
    /// Reason of the end.
    #[schemars(with = "Option<String>", extend("enum" = ["recovered", "reset", "expired", null]))]
    pub(crate) ended_by: Option<&'static str>,
    /// Version whose deployment preceded the recovery.
    pub(crate) ended_after: Option<String>,
    /// Subject of the incident. The `ranking` is healthy unless it is named. With `evaluator`, the values of
    /// an evaluator fell because the evaluator changed, and the system did not.
    #[schemars(extend("enum" = ["ranking", "answer", "users", "evaluator"]))]
    pub(crate) subject: &'static str,
    /// Class of the drop.
    #[schemars(extend("enum" = ["worse", "more_unjudged", "undecided"]))]
    pub(crate) class: &'static str,
    /// Part of the queries that dropped.
    #[schemars(extend("enum" = ["all", "some"]))]
    pub(crate) part: &'static str,
    /// Queries that lost most now in the primary measure, with at least three searches.
    pub(crate) queries: Vec<QueryEntry>,
    /// Changes that came with the incident, the most likely cause first.
    pub(crate) causes: Vec<Cause>,
    /// True if other values are known from before the beginning and since.
    #[serde(skip)]
    pub(crate) is_compared: bool,
    /// Last deployment before the beginning, and those during the incident.
    pub(crate) deployments: Vec<DeploymentEntry>,
    /// First acknowledgement: an operator works on the incident; null without one.
    pub(crate) acknowledged: Option<AcknowledgedEntry>,
    /// Notes of operators, oldest first, at most 32.
    pub(crate) notes: Vec<NoteEntry>,
}

/// Note of an operator on an incident.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentNote")]
pub(crate) struct NoteEntry {
    #[schemars(extend("format" = "date-time"))]
    pub(crate) at: String,
    /// User of the API, or the name that the request states; null without both.
    pub(crate) by: Option<String>,
    pub(crate) text: String,
}

impl From<&Note> for NoteEntry {
    fn from(it: &Note) -> Self {
        Self {
            at: status::time(it.at.as_event_time()),
            by: it.by.as_deref().map(str::to_owned),
            text: it.text.to_string(),
        }
    }
}

/// Acknowledgement: an operator works on an incident.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Acknowledged")]
pub(crate) struct AcknowledgedEntry {
    #[schemars(extend("format" = "date-time"))]
    pub(crate) at: String,
    /// User of the API, or the name that the request states; null without both.
    pub(crate) by: Option<String>,
}

impl From<&Acknowledged> for AcknowledgedEntry {
    fn from(it: &Acknowledged) -> Self {
        Self {
            at: status::time(it.at.as_event_time()),
            by: it.by.as_deref().map(str::to_owned),
        }
    }
}

/// Body of an acknowledgement. It may be empty.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acknowledgement {
    /// Name of the operator, at most 256 bytes. With authentication, the user of the request is stored
    /// instead.
    #[serde(default)]
    #[schemars(length(max = MAX_NAME))]
    by: Option<String>,
}

/// Body of a request for a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NoteRequest")]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// Text, at most 2,000 bytes.
    #[schemars(length(min = 1, max = Note::MAX_BYTES))]
    text: String,
    /// Name of the operator, at most 256 bytes. With authentication, the user of the request is stored
    /// instead.
    #[serde(default)]
    #[schemars(length(max = MAX_NAME))]
    by: Option<String>,
}

/// Maximum length of the name of an operator in bytes.
const MAX_NAME: usize = 256;

/// Kept note, and the number of workers that keep it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NotedIncident {
    pub(crate) workers: usize,
    pub(crate) id: String,
    pub(crate) note: NoteEntry,
}

/// Acknowledged incident, and the number of workers that note it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AcknowledgedIncident {
    pub(crate) workers: usize,
    pub(crate) id: String,
    pub(crate) acknowledged: AcknowledgedEntry,
}

/// Measure and slice of an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentMeasure")]
pub(crate) struct MeasureEntry {
    pub(crate) measure: String,
    /// Name of the slice; `all` for all searches.
    pub(crate) slice: String,
    /// Value of the slice; empty for all searches.
    pub(crate) value: String,
    /// Mean before the beginning. Nothing after the beginning changes it.
    pub(crate) before: Option<LevelEntry>,
    /// Mean of the searches from the beginning to the alarm, with the mix of queries from before.
    pub(crate) at_alarm: Option<LevelEntry>,
    /// Mean of the current searches, with the mix of queries from before.
    pub(crate) now: Option<LevelEntry>,
    /// Mean loss of the current searches against the mean of their query before the beginning;
    /// positive is worse.
    pub(crate) loss: Option<LevelEntry>,
}

/// Mean with its interval of 95 %.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Level")]
pub(crate) struct LevelEntry {
    pub(crate) mean: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) searches: u64,
}

/// Query of an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentQuery")]
pub(crate) struct QueryEntry {
    pub(crate) query: String,
    /// Mean before the beginning.
    pub(crate) before: f64,
    /// Number of searches before the beginning.
    pub(crate) before_searches: u32,
    /// Mean of the last searches.
    pub(crate) now: Option<LevelEntry>,
    /// Mean loss of the last searches.
    pub(crate) loss: Option<LevelEntry>,
}

/// Change that came with an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentCause")]
pub(crate) struct Cause {
    /// A deployment before the beginning; a measure that changed with it: of a component, of a facet, of the
    /// judged share; a latency or a cost that changed with it; or the evaluator whose values fell.
    #[schemars(extend("enum" = ["deployment", "measure", "latency", "cost", "evaluator"]))]
    pub(crate) kind: &'static str,
    /// Version, name of the measure, latency of a stage, cost in a currency, or evaluator with its version.
    pub(crate) name: String,
    /// Time of the deployment, or of the change of the evaluator; null for a measure.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) at: Option<String>,
    /// Mean before the beginning; null for a deployment. Of an evaluator, its difference from people.
    pub(crate) before: Option<f64>,
    /// Mean after the beginning; null for a deployment.
    pub(crate) after: Option<f64>,
    /// Of an evaluator: `drifted` or `new_version`, it explains the incident; `unchanged`, it does not;
    /// `undecided`, too few searches are judged by people since the beginning. Null otherwise.
    #[schemars(with = "Option<String>", extend("enum" = ["drifted", "new_version", "unchanged", "undecided", null]))]
    pub(crate) verdict: Option<&'static str>,
}

/// Value before an incident and in it.
struct Change {
    kind: &'static str,
    name: String,
    before: f64,
    after: f64,
}

impl Change {
    /// Change relative to the larger value.
    fn relative(&self) -> f64 {
        let larger = self.before.abs().max(self.after.abs());
        (self.after - self.before).abs() / larger.max(f64::MIN_POSITIVE)
    }

    /// Returns true if the change is large enough for a cause.
    fn is_cause(&self) -> bool {
        if self.kind == MEASURE {
            (self.after - self.before).abs() >= MIN_CHANGE
        } else {
            self.relative() >= MIN_RELATIVE_CHANGE
        }
    }
}

impl From<Change> for Cause {
    fn from(it: Change) -> Self {
        Self {
            kind: it.kind,
            name: it.name,
            at: None,
            before: Some(it.before),
            after: Some(it.after),
            verdict: None,
        }
    }
}

fn kind_of(of: Operation) -> &'static str {
    match of {
        Operation::Latency => "latency",
        Operation::Cost => "cost",
    }
}

/// Name of a latency or cost, from its stage or currency.
fn name_of(of: Operation, part: &str) -> String {
    match of {
        Operation::Latency if part == WHOLE_SEARCH => "p95 latency in seconds".to_owned(),
        Operation::Latency => format!("p95 latency of {part} in seconds"),
        Operation::Cost => format!("{part} for 1,000 searches"),
    }
}

/// Returns true if the evaluator explains the incident.
fn is_cause(part: &EvaluatorPart<'_>) -> bool {
    matches!(
        part.verdict,
        EvaluatorVerdict::Drifted | EvaluatorVerdict::NewVersion
    )
}

impl Cause {
    fn of_evaluator(part: &EvaluatorPart<'_>) -> Self {
        let name = if part.version.is_empty() {
            part.evaluator.clone()
        } else {
            format!("{} version {}", part.evaluator, part.version)
        };
        Self {
            kind: "evaluator",
            name,
            at: part.at.map(status::time),
            before: part.shift.map(|it| it.before),
            after: part.shift.map(|it| it.since),
            verdict: Some(part.verdict.name()),
        }
    }
}

/// Deployment that is marked on an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentDeployment")]
pub(crate) struct DeploymentEntry {
    pub(crate) version: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    pub(crate) at: String,
    /// `before` the beginning; `continues`: the searches after it are worse than before the incident;
    /// `improved`: this is not shown; `testing`: below 30 searches after it.
    #[schemars(extend("enum" = ["before", "continues", "improved", "testing"]))]
    pub(crate) state: &'static str,
}

impl From<Level> for LevelEntry {
    fn from(it: Level) -> Self {
        Self {
            mean: it.mean,
            lower: it.lower,
            upper: it.upper,
            searches: it.searches,
        }
    }
}

impl MeasureEntry {
    fn of(it: &IncidentMeasure) -> Self {
        let level = |loss: Option<Level>| loss.and_then(|loss| it.level_of(loss));
        Self {
            measure: it.measure.to_string(),
            slice: it.slice.to_string(),
            value: it.value.to_string(),
            before: it.before().map(LevelEntry::from),
            at_alarm: level(it.loss_at_alarm()).map(LevelEntry::from),
            now: level(it.loss_now()).map(LevelEntry::from),
            loss: it.loss_now().map(LevelEntry::from),
        }
    }

    /// Relative change of the mean since before the beginning. `None` without both means, or from 0.
    pub(crate) fn change(&self) -> Option<f64> {
        let (before, now) = (self.before?.mean, self.now?.mean);
        (before > 0.0).then(|| (now - before) / before)
    }

    /// Name with the slice.
    pub(crate) fn name(&self) -> String {
        if self.value.is_empty() {
            self.measure.clone()
        } else {
            format!("{} ({}={})", self.measure, self.slice, self.value)
        }
    }
}

impl QueryEntry {
    fn of(it: &IncidentQuery) -> Self {
        Self {
            query: it.query.to_string(),
            before: it.before(),
            before_searches: it.before_searches(),
            now: it.now().map(LevelEntry::from),
            loss: it.loss().map(LevelEntry::from),
        }
    }
}

impl IncidentEntry {
    fn of(it: &Incident, history: &History, model: &ReadModel<'_>) -> Self {
        let evaluator = model.evaluator_part(it);
        let evaluator = evaluator.as_ref();
        let time = |ts: i64| status::time(EventTime(ts));
        let measures: Vec<MeasureEntry> = it.measures.iter().map(MeasureEntry::of).collect();
        let deployments = it.deployments.iter().map(|mark| DeploymentEntry {
            version: mark.deployed.version.as_deref().map(str::to_owned),
            at: status::time(mark.deployed.at),
            state: match (mark.is_during, it.continues_after(mark)) {
                (false, _) => "before",
                (true, None) => "testing",
                (true, Some(true)) => "continues",
                (true, Some(false)) => "improved",
            },
        });
        let lost = it.largest_losses().into_iter().take(MAX_QUERIES);
        let (causes, is_compared) = causes(it, history, evaluator);
        Self {
            id: it.name(),
            variant: it.variant.to_string(),
            summary: summary(it, &measures, evaluator),
            severity: it.severity().name(),
            measures,
            started_at: time(it.started.at),
            started_at_lower: time(it.started.lower),
            started_at_upper: time(it.started.upper),
            alarmed_at: status::time(it.alarmed_at),
            ended_at: it.ended.as_ref().map(|it| status::time(it.at)),
            ended_by: it.ended.as_ref().map(|it| it.by.name()),
            ended_after: it
                .ended
                .as_ref()
                .and_then(|it| it.after.as_deref().map(str::to_owned)),
            subject: if evaluator.is_some_and(is_cause) {
                "evaluator"
            } else {
                it.subject().name()
            },
            class: it.class.name(),
            part: it.part.name(),
            queries: lost.map(QueryEntry::of).collect(),
            causes,
            is_compared,
            deployments: deployments.collect(),
            acknowledged: it.acknowledged.as_ref().map(AcknowledgedEntry::from),
            notes: it.notes.iter().map(NoteEntry::from).collect(),
        }
    }

    /// The incident in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", escaped(&self.summary));
        let ended = match (self.ended_at.as_deref(), self.ended_by) {
            (Some(at), Some(by)) => match &self.ended_after {
                Some(version) => format!("ended {at} ({by} after {})", escaped(version)),
                None => format!("ended {at} ({by})"),
            },
            _ => "open".to_owned(),
        };
        _ = writeln!(
            text,
            "- Incident {}, {}, {ended}\n- Began {} ({} to {}), alarm {}\n- What: {}; class: {}; part of the queries: {}",
            self.id,
            self.severity,
            self.started_at,
            self.started_at_lower,
            self.started_at_upper,
            self.alarmed_at,
            self.subject,
            self.class,
            self.part,
        );
        if let Some(it) = &self.acknowledged {
            let by = it.by.as_deref().map(|by| format!(" by {}", escaped(by)));
            _ = writeln!(text, "- Acknowledged{} {}", by.unwrap_or_default(), it.at);
        }
        text.push_str(
            "\n| measure | before | at the alarm | now | loss |\n|---|---|---|---|---|\n",
        );
        for it in &self.measures {
            let [before, at_alarm, now, loss] = [it.before, it.at_alarm, it.now, it.loss].map(cell);
            let name = escaped(&it.name());
            _ = writeln!(text, "| {name} | {before} | {at_alarm} | {now} | {loss} |");
        }
        if !self.queries.is_empty() {
            text.push_str("\n| query | before | now | loss |\n|---|---|---|---|\n");
        }
        for it in &self.queries {
            let (query, before) = (escaped(&it.query), it.before);
            let [now, loss] = [it.now, it.loss].map(cell);
            _ = writeln!(text, "| {query} | {before:.3} | {now} | {loss} |");
        }
        if !self.causes.is_empty() {
            text.push_str("\nChanged with it:\n\n");
        }
        for it in &self.causes {
            let name = match it.verdict {
                Some(verdict) => format!("evaluator {} ({verdict})", escaped(&it.name)),
                None => escaped(&it.name),
            };
            _ = match (&it.at, it.before, it.after) {
                (_, Some(before), Some(after)) => {
                    writeln!(text, "- {name}: {before:.3} before, {after:.3} after")
                }
                (at, ..) => writeln!(text, "- {} {name} {}", it.kind, at.as_deref().unwrap_or("")),
            };
        }
        if !self.deployments.is_empty() {
            text.push_str("\nDeployments:\n\n");
        }
        for it in &self.deployments {
            let version = escaped(it.version.as_deref().unwrap_or("without a version"));
            _ = writeln!(text, "- {} {version}: {}", it.at, it.state);
        }
        if !self.notes.is_empty() {
            text.push_str("\nNotes:\n\n");
        }
        for it in &self.notes {
            let by = it.by.as_deref().map(|by| format!(" {}", escaped(by)));
            let (by, said) = (by.unwrap_or_default(), escaped(&it.text));
            _ = writeln!(text, "- {}{by}: {said}", it.at);
        }
        text
    }
}

impl Incidents {
    /// The incidents in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = "| incident | state | what | since |\n|---|---|---|---|\n".to_owned();
        for it in &self.incidents {
            let state = it.ended_by.unwrap_or("open");
            let summary = escaped(&it.summary);
            _ = writeln!(
                text,
                "| {} | {state} | {summary} | {} |",
                it.id, it.started_at
            );
        }
        text
    }
}

/// Text of a cell or a heading: no character of it is markup.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' => {
                escaped.push('\\');
                escaped.push(it);
            }
            it if it.is_control() => escaped.push(' '),
            it => escaped.push(it),
        }
    }
    escaped
}

fn cell(level: Option<LevelEntry>) -> String {
    level.map_or_else(
        || "-".to_owned(),
        |it| format!("{:.3} ({:.3} to {:.3})", it.mean, it.lower, it.upper),
    )
}

/// Subject of the sentence about an incident: the variant, or what of it.
fn what_of(it: &Incident) -> String {
    let variant = if it.variant.is_empty() {
        "Searches without a variant"
    } else {
        &*it.variant
    };
    match it.subject() {
        Subject::Answer => format!("Answers of {variant}"),
        Subject::Ranking | Subject::Users => variant.to_owned(),
    }
}

/// Sentence about an incident: `V5 got worse · nDCG@10 0.846 → 0.641 now (−24 %) · since 17:59`.
/// If the measure is a value of an evaluator, the sentence names the evaluator until its part is known:
/// `Evaluator judge changed, not V5 · …`.
fn summary(
    it: &Incident,
    measures: &[MeasureEntry],
    evaluator: Option<&EvaluatorPart<'_>>,
) -> String {
    let variant = what_of(it);
    let what = match evaluator.map(|it| (it.verdict, &it.evaluator)) {
        None | Some((EvaluatorVerdict::Unchanged, _)) => format!("{variant} got worse"),
        Some((EvaluatorVerdict::Undecided, evaluator)) => {
            format!("{variant} got worse, or evaluator {evaluator} changed")
        }
        Some((EvaluatorVerdict::Drifted, evaluator)) => {
            format!("Evaluator {evaluator} changed, not {variant}")
        }
        Some((EvaluatorVerdict::NewVersion, evaluator)) => {
            format!("Evaluator {evaluator} has a new version, {variant} is not comparable")
        }
    };
    let Some(primary) = measures.first() else {
        return what;
    };
    let state = if it.ended.is_some() {
        "before the end"
    } else {
        "now"
    };
    let size = match (primary.before, primary.now) {
        (Some(before), Some(now)) => {
            let change = primary.change().map(|it| format!(" ({})", per_cent(it)));
            let change = change.unwrap_or_default();
            format!(" {:.3} → {:.3} {state}{change}", before.mean, now.mean)
        }
        _ => String::new(),
    };
    let others = match measures.len() {
        0 | 1 => String::new(),
        number => format!(" and {} more", number - 1),
    };
    let started = minute(&status::time(EventTime(it.started.at)));
    format!(
        "{what} · {}{size}{others} · since {started}",
        primary.name()
    )
}

/// Minute of a time in UTC: `2025-11-17 09:00 UTC`.
fn minute(time: &str) -> String {
    let shown = time.get(..16).map(|it| it.replace('T', " "));
    format!("{} UTC", shown.as_deref().unwrap_or(time))
}

/// Acknowledges the incident in the path.
pub(crate) fn acknowledge(
    api: &AdminApi,
    params: &Parameters,
    body: &Body,
) -> Result<AcknowledgedIncident, ApiError> {
    let found = one(api, params)?;
    let mut stated = Acknowledgement::default();
    if body.has_form_fields() {
        for (name, value) in form_urlencoded::parse(&body.bytes) {
            match &*name {
                "by" => stated.by = given(&value),
                _ => return Err(unknown_field(&name, "by")),
            }
        }
    } else if !body.bytes.trim_ascii().is_empty() {
        stated = serde_json::from_slice(&body.bytes).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not an acknowledgement: {problem}; send none, or JSON as {{\"by\": \"name\"}}"
            ))
        })?;
    }
    let by = operator(body, stated.by)?;
    let reported = wall_now();
    let given = Acknowledged {
        at: reported,
        by: by.as_deref().map(Into::into),
    };
    let id = number(&found)?;
    let acknowledged = (found.acknowledged).unwrap_or_else(|| AcknowledgedEntry::from(&given));
    api.exposition.control.execute(ReportedCommand {
        reported,
        by,
        order: Order::Acknowledge(id),
    });
    Ok(AcknowledgedIncident {
        workers: api.exposition.published.views.len(),
        id: found.id,
        acknowledged,
    })
}

/// Adds a note to the incident in the path.
pub(crate) fn note(
    api: &AdminApi,
    params: &Parameters,
    body: &Body,
) -> Result<NotedIncident, ApiError> {
    let found = one(api, params)?;
    let stated = if body.has_form_fields() {
        let mut stated = NewNote {
            text: String::new(),
            by: None,
        };
        for (name, value) in form_urlencoded::parse(&body.bytes) {
            match &*name {
                "text" => stated.text = value.into_owned(),
                "by" => stated.by = given(&value),
                _ => return Err(unknown_field(&name, "text, by")),
            }
        }
        stated
    } else {
        serde_json::from_slice(&body.bytes).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not a note: {problem}; send JSON as {{\"text\": \"rolled back\"}}, with an optional by"
            ))
        })?
    };
    let text = stated.text.trim();
    if text.is_empty() || text.len() > Note::MAX_BYTES {
        let error = format!(
            "text has {} bytes; a note has from 1 to {}",
            text.len(),
            Note::MAX_BYTES
        );
        return Err(ApiError::bad_request(error));
    }
    if found.notes.len() >= Note::MAX_NUMBER {
        let error = format!(
            "the incident has {} notes, the maximum; write further ones in a ticket",
            Note::MAX_NUMBER
        );
        return Err(ApiError::new(StatusCode::CONFLICT, error));
    }
    let by = operator(body, stated.by)?;
    let reported = wall_now();
    let note = Note {
        at: reported,
        by: by.as_deref().map(Into::into),
        text: text.into(),
    };
    api.exposition.control.execute(ReportedCommand {
        reported,
        by,
        order: Order::Note {
            incident: number(&found)?,
            text: text.to_owned(),
        },
    });
    Ok(NotedIncident {
        workers: api.exposition.published.views.len(),
        note: NoteEntry::from(&note),
        id: found.id,
    })
}

/// Value of a field of a form, unless it is empty.
fn given(value: &str) -> Option<String> {
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn unknown_field(name: &str, known: &str) -> ApiError {
    ApiError::bad_request(format!("\"{name}\" is not a field: use {known}"))
}

/// Name of the operator: the user of the request, or the stated one.
fn operator(body: &Body, stated: Option<String>) -> Result<Option<String>, ApiError> {
    let by = body.by.clone().or(stated);
    if by.as_ref().is_some_and(|by| by.len() > MAX_NAME) {
        let error = format!("by is longer than {MAX_NAME} bytes");
        return Err(ApiError::bad_request(error));
    }
    Ok(by)
}

/// Number of an incident.
fn number(found: &IncidentEntry) -> Result<u64, ApiError> {
    let number = u64::from_str_radix(&found.id, 16);
    number.map_err(|_| ApiError::bad_request("the id is no hexadecimal number"))
}

/// Changes that came with an incident: deployments in the day before it, then the measures of the variant
/// whose means changed most. The second value is true if other values are known before it and in it.
fn causes(
    it: &Incident,
    history: &History,
    evaluator: Option<&EvaluatorPart<'_>>,
) -> (Vec<Cause>, bool) {
    let before = it.deployments.iter().filter(|mark| {
        let passed = it.started.upper.saturating_sub(mark.deployed.at.0);
        !mark.is_during && passed <= DEPLOYED_BEFORE
    });
    let deployments = before.map(|mark| Cause {
        kind: "deployment",
        name: mark
            .deployed
            .version
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        at: Some(status::time(mark.deployed.at)),
        before: None,
        after: None,
        verdict: None,
    });
    let mut causes: Vec<Cause> = evaluator.map(Cause::of_evaluator).into_iter().collect();
    causes.extend(deployments);
    let end = it.ended.as_ref().map_or(i64::MAX, |ended| ended.at.0);
    let is_member = |name: &str| it.measures.iter().any(|member| *member.measure == *name);
    let mut changed = changes(history, &it.variant, it.started.at..end);
    let is_compared = !changed.is_empty();
    changed.retain(|it| it.is_cause() && (it.kind != MEASURE || !is_member(&it.name)));
    changed.sort_by(|one, other| other.relative().total_cmp(&one.relative()));
    causes.extend(changed.into_iter().map(Cause::from));
    causes.truncate(MAX_CAUSES);
    (causes, is_compared)
}

/// Values of a variant that are known both before a period and in it.
fn changes(history: &History, variant: &str, period: Range<i64>) -> Vec<Change> {
    let mean = |times: &[WallTime], means: &[Option<f64>], of: Range<i64>| {
        let points = times.iter().zip(means).filter(|(at, _)| of.contains(&at.0));
        let known: Vec<f64> = points.filter_map(|(_, mean)| *mean).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / real_length(known.len()))
    };
    let drained = period.start.saturating_add(DRAIN)..period.end;
    let both = |times: &[WallTime], means: &[Option<f64>]| {
        let before = mean(times, means, i64::MIN..period.start)?;
        Some((before, mean(times, means, drained.clone())?))
    };
    let (times, series) = history.series(Span::Minutes, |_, it| it == variant);
    let measures = series.into_iter().filter_map(|it| {
        let (before, after) = both(&times, &it.means)?;
        Some(Change {
            kind: MEASURE,
            name: it.measure,
            before,
            after,
        })
    });
    let mut all: Vec<Change> = measures.collect();
    for of in Operation::ALL {
        let (times, series) = history.operations(of, variant);
        all.extend(series.into_iter().filter_map(|it| {
            let (before, after) = both(&times, &it.means)?;
            Some(Change {
                kind: kind_of(of),
                name: name_of(of, &it.measure),
                before,
                after,
            })
        }));
    }
    all
}

/// Open incidents.
pub(crate) fn open_entries(api: &AdminApi) -> Vec<IncidentEntry> {
    let snapshot = api.exposition.published.merged();
    let model = api.exposition.names.read(&snapshot);
    let incidents = snapshot.totals.evidence.incidents();
    let open = incidents.filter(|it| it.ended.is_none());
    open.map(|it| IncidentEntry::of(it, &api.history, &model))
        .collect()
}

/// Number of open incidents.
pub(super) fn open(model: &ReadModel<'_>) -> usize {
    let incidents = model.snapshot().totals.evidence.incidents();
    incidents.filter(|it| it.ended.is_none()).count()
}

/// Returns the incidents, the open ones first.
pub(crate) fn list(api: &AdminApi, params: &Parameters) -> Result<Incidents, ApiError> {
    let after = cursor::<u64>(params)?;
    let snapshot = api.exposition.published.merged();
    let incidents = snapshot.totals.evidence.incidents();
    let incidents = incidents.filter(|it| params.matches("variant", &it.variant));
    let mut listed: Vec<&Incident> = incidents.collect();
    if let Some(after) = after {
        // The oldest incidents are removed first: behind one that is gone, there is none.
        let place = listed.iter().position(|it| it.id == after);
        listed.drain(..place.map_or(listed.len(), |place| place + 1));
    }
    let next_cursor = page(&mut listed, params.limit(), |it| it.id);
    let listed = listed.into_iter();
    let model = api.exposition.names.read(&snapshot);
    Ok(Incidents {
        incidents: listed
            .map(|it| IncidentEntry::of(it, &api.history, &model))
            .collect(),
        next_cursor,
    })
}

/// Returns the incident in the path.
pub(crate) fn one(api: &AdminApi, params: &Parameters) -> Result<IncidentEntry, ApiError> {
    let snapshot = api.exposition.published.merged();
    let mut incidents = snapshot.totals.evidence.incidents();
    let found = incidents.find(|it| it.name() == params.path);
    let model = api.exposition.names.read(&snapshot);
    found
        .map(|it| IncidentEntry::of(it, &api.history, &model))
        .ok_or_else(|| {
            let error = format!(
                "no incident has the id \"{}\"; /api/v1/incidents lists them",
                params.path
            );
            ApiError::new(StatusCode::NOT_FOUND, error)
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_latency_that_changed_with_an_incident_is_a_cause_and_an_equal_cost_is_none() {
        let history = History::default();
        for minute in 0..8 {
            let at = WallTime(minute * 60_000);
            let (latency, cost) = if minute < 4 {
                (0.25, 1.0)
            } else {
                (0.5, 1.125)
            };
            let values = |name: &str, value| BTreeMap::from([((name.into(), "V5".into()), value)]);
            history.add_operations(Operation::Latency, at, &values("vector", latency));
            history.add_operations(Operation::Cost, at, &values("USD", cost));
        }
        let known = changes(&history, "V5", 240_000..i64::MAX);
        assert_eq!(known.len(), 2, "latency and cost are compared");
        let found: Vec<(&str, &str, [f64; 2])> = known
            .iter()
            .filter(|it| it.is_cause())
            .map(|it| (it.kind, it.name.as_str(), [it.before, it.after]))
            .collect();
        let expected = ("latency", "p95 latency of vector in seconds", [0.25, 0.5]);
        assert_eq!(found, [expected]);
        // Nothing is known of V4, of the time before the history, and of the time after it.
        for (variant, start) in [("V4", 240_000), ("V5", 0), ("V5", 420_000)] {
            let known = changes(&history, variant, start..i64::MAX);
            assert!(known.is_empty(), "{variant} at {start}");
        }
    }
}
