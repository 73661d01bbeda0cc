//! Incidents: drops with a beginning, one frozen reference and an end.

use std::fmt::Write as _;

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::causes::{self, Cause};
use super::pagination::{cursor, page};
use super::parameters::{CURSOR, Parameter, Parameters, VARIANT, Values};
use super::problem::ApiError;
use super::state::AdminApi;
use super::timestamp::Timestamp;
use crate::history::History;
use crate::per_cent::per_cent;
use rankgauge_core::engine::incidents::{
    Acknowledged, Incident, IncidentMeasure, IncidentQuery, Level, Note,
};
use rankgauge_core::engine::read_model::{EvaluatorPart, EvaluatorVerdict, ReadModel};
use rankgauge_core::time::EventTime;

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

/// Maximum number of queries of an incident.
const MAX_QUERIES: usize = 10;

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
    /// The affected system and its change, as in the summary.
    #[serde(skip)]
    pub(crate) title: String,
    #[schemars(extend("enum" = ["critical", "warning"]))]
    pub(crate) severity: &'static str,
    /// Measures and slices that fell together, the primary one first.
    pub(crate) measures: Vec<MeasureEntry>,
    /// Estimated beginning in event time.
    pub(crate) started_at: Timestamp,
    /// Earliest likely beginning.
    pub(crate) started_at_lower: Timestamp,
    /// Latest likely beginning.
    pub(crate) started_at_upper: Timestamp,
    /// Event time of the first alarm.
    pub(crate) alarmed_at: Timestamp,
    /// Event time of the end; null while the incident is open.
    pub(crate) ended_at: Option<Timestamp>,
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
    /// Queries that lost most in the primary measure, now or at the end, with at least three searches.
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
    pub(crate) at: Timestamp,
    /// User of the API, or the name that the request states; null without both.
    pub(crate) by: Option<String>,
    pub(crate) text: String,
}

impl From<&Note> for NoteEntry {
    fn from(it: &Note) -> Self {
        Self {
            at: Timestamp(it.at.as_event_time()),
            by: it.by.as_deref().map(str::to_owned),
            text: it.text.to_string(),
        }
    }
}

/// Acknowledgement: an operator works on an incident.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Acknowledged")]
pub(crate) struct AcknowledgedEntry {
    pub(crate) at: Timestamp,
    /// User of the API, or the name that the request states; null without both.
    pub(crate) by: Option<String>,
}

impl From<&Acknowledged> for AcknowledgedEntry {
    fn from(it: &Acknowledged) -> Self {
        Self {
            at: Timestamp(it.at.as_event_time()),
            by: it.by.as_deref().map(str::to_owned),
        }
    }
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
    /// Mean of the current searches, with the mix of queries from before. After a recovery, of the last
    /// searches before its estimated start.
    pub(crate) now: Option<LevelEntry>,
    /// Mean loss of these searches against the mean of their query before the beginning; positive is worse.
    /// It is the difference of `before` and `now`.
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

/// Deployment that is marked on an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "IncidentDeployment")]
pub(crate) struct DeploymentEntry {
    pub(crate) version: Option<String>,
    pub(crate) at: Timestamp,
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
    fn of(incident: &Incident, it: &IncidentMeasure) -> Self {
        let now = incident.loss_now(it);
        let level = |loss: Option<Level>| loss.and_then(|loss| it.level_of(loss));
        Self {
            measure: it.measure.to_string(),
            slice: it.slice.to_string(),
            value: it.value.to_string(),
            before: it.before().map(LevelEntry::from),
            at_alarm: level(it.loss_at_alarm()).map(LevelEntry::from),
            now: level(now).map(LevelEntry::from),
            loss: now.map(LevelEntry::from),
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
        let time = |ts: i64| Timestamp(EventTime(ts));
        let measures: Vec<MeasureEntry> = (it.measures.iter())
            .map(|of| MeasureEntry::of(it, of))
            .collect();
        let deployments = it.deployments.iter().map(|mark| DeploymentEntry {
            version: mark.deployed.version.as_deref().map(str::to_owned),
            at: Timestamp(mark.deployed.at),
            state: match (mark.is_during, it.continues_after(mark)) {
                (false, _) => "before",
                (true, None) => "testing",
                (true, Some(true)) => "continues",
                (true, Some(false)) => "improved",
            },
        });
        let lost = it.largest_losses().into_iter().take(MAX_QUERIES);
        let (causes, is_compared) = causes::of(it, history, evaluator);
        let title = title(it, evaluator);
        Self {
            id: it.name(),
            variant: it.variant.to_string(),
            summary: summary(it, &title, &measures),
            title,
            severity: it.severity().name(),
            measures,
            started_at: time(it.started.at),
            started_at_lower: time(it.started.lower),
            started_at_upper: time(it.started.upper),
            alarmed_at: Timestamp(it.alarmed_at),
            ended_at: it.ended.as_ref().map(|it| Timestamp(it.at)),
            ended_by: it.ended.as_ref().map(|it| it.by.name()),
            ended_after: it
                .ended
                .as_ref()
                .and_then(|it| it.after.as_deref().map(str::to_owned)),
            subject: if evaluator.is_some_and(causes::is_evaluator) {
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

    /// Moment of the last sizes: now, or at the end.
    pub(crate) fn moment_of_size(&self) -> &'static str {
        moment_of_size(self.ended_at.is_some())
    }

    /// The incident in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", escaped(&self.summary));
        let ended = match (self.ended_at, self.ended_by) {
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
        let now = self.moment_of_size();
        _ = writeln!(
            text,
            "\n| measure | before | at the alarm | {now} | loss |\n|---|---|---|---|---|"
        );
        for it in &self.measures {
            let [before, at_alarm, now, loss] = [it.before, it.at_alarm, it.now, it.loss].map(cell);
            let name = escaped(&it.name());
            _ = writeln!(text, "| {name} | {before} | {at_alarm} | {now} | {loss} |");
        }
        if !self.queries.is_empty() {
            _ = writeln!(
                text,
                "\n| query | before | {now} | loss |\n|---|---|---|---|"
            );
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
            _ = match (it.at, it.before, it.after) {
                (_, Some(before), Some(after)) => {
                    writeln!(text, "- {name}: {before:.3} before, {after:.3} after")
                }
                (Some(at), ..) => writeln!(text, "- {} {name} {at}", it.kind),
                (None, ..) => writeln!(text, "- {} {name} ", it.kind),
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

/// Title of an incident. If its measure is a value of an evaluator, the title names the evaluator until
/// its part is known: `Evaluator judge changed, not V5`.
fn title(it: &Incident, evaluator: Option<&EvaluatorPart<'_>>) -> String {
    let (title, affected) = (it.title(), it.affected());
    match evaluator.map(|it| (it.verdict, &it.evaluator)) {
        None | Some((EvaluatorVerdict::Unchanged, _)) => title,
        Some((EvaluatorVerdict::Undecided, evaluator)) => {
            format!("{title}, or evaluator {evaluator} changed")
        }
        Some((EvaluatorVerdict::Drifted, evaluator)) => {
            format!("Evaluator {evaluator} changed, not {affected}")
        }
        Some((EvaluatorVerdict::NewVersion, evaluator)) => {
            format!("Evaluator {evaluator} has a new version, {affected} is not comparable")
        }
    }
}

/// Sentence about an incident: `V5 got worse · nDCG@10 0.846 → 0.641 now (−24 %) · since 17:59`.
fn summary(it: &Incident, title: &str, measures: &[MeasureEntry]) -> String {
    let Some(primary) = measures.first() else {
        return title.to_owned();
    };
    let state = moment_of_size(it.ended.is_some());
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
    let started = minute(&EventTime(it.started.at).to_string());
    format!(
        "{title} · {}{size}{others} · since {started}",
        primary.name()
    )
}

/// Moment of the last size of an incident.
fn moment_of_size(is_ended: bool) -> &'static str {
    if is_ended { "at the end" } else { "now" }
}

/// Minute of a time in UTC: `2025-11-17 09:00 UTC`.
fn minute(time: &str) -> String {
    let shown = time.get(..16).map(|it| it.replace('T', " "));
    format!("{} UTC", shown.as_deref().unwrap_or(time))
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
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn incident(class: &str, ended: &Value) -> Incident {
        let record = json!({
            "id": 1, "variant": "V5", "measures": [], "started": {"at": 0, "lower": 0, "upper": 0},
            "alarmed_at": 0, "ended": ended, "class": class, "part": "all", "queries": [],
            "deployments": [], "last": 0, "acknowledged": null
        });
        serde_json::from_value(record).expect("a record")
    }

    /// Entry of an ended incident with a measure and a query.
    pub(crate) fn ended() -> IncidentEntry {
        let level = Some(LevelEntry {
            mean: 0.5,
            lower: 0.4,
            upper: 0.6,
            searches: 100,
        });
        let at = Timestamp("2026-11-28T01:21:00.051Z".parse().expect("a time"));
        IncidentEntry {
            id: "0000000000000001".to_owned(),
            variant: "V5".to_owned(),
            summary: "V5 got worse".to_owned(),
            title: "V5 got worse".to_owned(),
            severity: "critical",
            measures: vec![MeasureEntry {
                measure: "nDCG@10".to_owned(),
                slice: "all".to_owned(),
                value: String::new(),
                before: level,
                at_alarm: level,
                now: level,
                loss: level,
            }],
            started_at: at,
            started_at_lower: at,
            started_at_upper: at,
            alarmed_at: at,
            ended_at: Some(at),
            ended_by: Some("recovered"),
            ended_after: None,
            subject: "ranking",
            class: "worse",
            part: "all",
            queries: vec![QueryEntry {
                query: "q1".to_owned(),
                before: 1.0,
                before_searches: 3,
                now: level,
                loss: level,
            }],
            causes: Vec::new(),
            is_compared: true,
            deployments: Vec::new(),
            acknowledged: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn the_summary_has_the_verdict_of_the_class() {
        let summary_of = |class| {
            let it = incident(class, &Value::Null);
            summary(&it, &title(&it, None), &[])
        };
        assert_eq!(summary_of("worse"), "V5 got worse");
        assert_eq!(
            summary_of("more_unjudged"),
            "V5 shows more results that are not judged"
        );
    }

    #[test]
    fn an_ended_incident_has_sizes_at_the_end() {
        let open = IncidentEntry {
            ended_at: None,
            ended_by: None,
            ..ended()
        };
        for (it, column) in [(ended(), "at the end"), (open, "now")] {
            let text = it.markdown();
            for of in ["measure | before | at the alarm", "query | before"] {
                let header = format!("| {of} | {column} | loss |");
                assert!(text.contains(&header), "{header}: {text}");
            }
        }
        let it = incident("worse", &json!({"at": 1, "by": "recovered", "after": null}));
        let size = summary(&it, "V5 got worse", &ended().measures);
        assert!(size.contains("0.500 → 0.500 at the end"), "{size}");
    }
}
