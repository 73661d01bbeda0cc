//! Search events as a run: one record per line, each event the answer to one query. Events are native, of
//! User Behavior Insights, or records of a configured mapping.

use std::borrow::Cow;
use std::collections::HashSet;

use super::answer::{Answer, Order, ReadOptions, Results, Searches, by_score};
use super::error::{RunProblem, Wrong};
use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::decode::{EventRef, Format, native};
use rankgauge_core::event::{Acceptance, Hit, Kind, Reason, Rejection, Search};
use rankgauge_core::text::{count_of, escape_controls};

/// Format of the lines of recorded events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFormat {
    Native,
    /// The mapping of [`ReadOptions::formats`].
    Mapped,
}

/// Passes the answers in `text` to `take`, with their lines, and the ids and queries of eligible searches to `begin`.
/// Returns the number of lines.
pub(super) fn each_answer(
    text: &str,
    format: LineFormat,
    order: Order,
    options: &ReadOptions,
    mut begin: impl FnMut(usize, &str, &str),
    mut take: impl FnMut(usize, &Answer<'_>),
) -> Result<usize, Wrong> {
    let mut lines = 0;
    for (line, record) in (1..).zip(text.lines()) {
        lines = line;
        if record.trim().is_empty() {
            continue;
        }
        let mut add = |mut search: Box<Search<'_>>| -> Result<(), Wrong> {
            sort(&mut search, order).map_err(|problem| problem.at(line))?;
            let query = name(&search);
            if options.eligibility.check(&search).is_ok() {
                begin(line, &search.query_id, &query);
            }
            let answer = Answer {
                query,
                results: Results::Search(search),
                scores: Vec::new(),
            };
            take(line, &answer);
            Ok(())
        };
        if format == LineFormat::Mapped {
            each_mapped(record, options, line, &mut add)?;
            continue;
        }
        match native::search(record.as_bytes(), &options.limits) {
            Ok(search) => add(search)?,
            Err(_) if is_feedback(record, options) => {}
            Err(rejection) => return Err(not_a_search_in(record, &rejection).at(line)),
        }
    }
    Ok(lines)
}

fn not_a_search(rejection: &Rejection) -> RunProblem {
    RunProblem::Json(format!("not a search event: {}", rejection.detail))
}

/// Problem of a record that is not JSON because of a number that Python writes.
fn not_a_search_in(record: &str, rejection: &Rejection) -> RunProblem {
    let mut names = ["NaN", "Infinity"].into_iter();
    let found = names.find(|name| rejection.reason == Reason::NotJson && record.contains(name));
    match (not_a_search(rejection), found) {
        (RunProblem::Json(text), Some(name)) => RunProblem::Json(format!(
            "{text}; {name} is no number in JSON: write a score, or leave it out"
        )),
        (problem, _) => problem,
    }
}

/// Passes the searches of a record to `add`.
fn each_mapped(
    record: &str,
    options: &ReadOptions,
    line: usize,
    add: &mut dyn FnMut(Box<Search<'_>>) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let Some(formats) = &options.formats else {
        return Ok(());
    };
    let mut outcome = Ok(());
    let mut visit = |event: Result<EventRef<'_>, Rejection>| {
        if outcome.is_ok() {
            outcome = match event {
                Ok(EventRef::Search(search)) => add(Box::new(search.clone())),
                Ok(EventRef::Feedback(_)) => Ok(()),
                Err(rejection) => Err(not_a_search(&rejection).at(line)),
            };
        }
    };
    let decoded = formats.events(
        Kind::Search,
        record.as_bytes(),
        &acceptance(options),
        &mut visit,
    );
    outcome?;
    match decoded {
        Ok(_) => Ok(()),
        Err(rejection) => Err(not_a_search(&rejection).at(line)),
    }
}

fn acceptance(options: &ReadOptions) -> Acceptance {
    Acceptance {
        limits: options.limits,
        has_gold_texts: true,
    }
}

/// Returns true if the lines are records of a configured mapping: one of them has a search by it.
pub(super) fn is_mapped<'l>(
    mut lines: impl Iterator<Item = &'l str>,
    options: &ReadOptions,
) -> bool {
    let Some(formats) = &options.formats else {
        return false;
    };
    formats.search == Format::Mapped
        && lines.any(|line| {
            let mut has_search = false;
            let mut visit = |event: Result<EventRef<'_>, Rejection>| {
                has_search |= matches!(event, Ok(EventRef::Search(_)));
            };
            let record = line.as_bytes();
            let decoded = formats.events(Kind::Search, record, &acceptance(options), &mut visit);
            decoded.is_ok() && has_search
        })
}

/// Returns true if a record of a topic of both kinds is feedback.
fn is_feedback(record: &str, options: &ReadOptions) -> bool {
    let is_shared = options.formats.as_ref().is_some_and(|it| it.is_shared);
    is_shared && native::feedback(record.as_bytes(), &options.limits).is_ok()
}

/// Returns true if an event is of User Behavior Insights: it then has no `results`, and lists the ids of its
/// results in a field of that format.
pub(super) fn is_ubi(first: &str) -> bool {
    !first.contains("\"results\"")
        && (first.contains("\"query_response_") || first.contains("\"user_query\""))
}

/// Returns true for a line of a bulk request that states the action for the next line: `{"index": {…}}`.
pub(super) fn is_bulk_action(line: &str) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Action {
        Index(serde::de::IgnoredAny),
        Create(serde::de::IgnoredAny),
    }
    let starts = ["{\"index\"", "{\"create\"", "{ \"index\"", "{ \"create\""];
    starts.iter().any(|start| line.starts_with(start))
        && matches!(
            serde_json::from_str(line),
            Ok(Action::Index(_) | Action::Create(_))
        )
}

/// Records of User Behavior Insights that are no answers, by the reason.
#[derive(Default)]
struct Skipped {
    without_hits: usize,
    of_size_0: usize,
    events: usize,
    repeated: usize,
    invalid: usize,
    /// Line and detail of the first invalid record.
    first: Option<(usize, String)>,
}

impl Skipped {
    fn sentence(&self) -> Option<String> {
        let query = |count| count_of(count, "query", "queries");
        let first = self.first.as_ref();
        let first = first.map_or_else(String::new, |(line, detail)| {
            format!(" (the first on line {line}: {detail})")
        });
        let parts = [
            (
                self.without_hits,
                format!(
                    "{} without the ids of the results (query_response_hit_ids)",
                    query(self.without_hits)
                ),
            ),
            (
                self.of_size_0,
                format!("{} for no results (`size` is 0)", query(self.of_size_0)),
            ),
            (
                self.repeated,
                format!(
                    "{} answered before: the first answer is judged",
                    query(self.repeated)
                ),
            ),
            (
                self.events,
                count_of(self.events, "record of ubi_events", "records of ubi_events"),
            ),
            (
                self.invalid,
                format!(
                    "{}{first}",
                    count_of(self.invalid, "invalid record", "invalid records")
                ),
            ),
        ];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(_, part)| part).collect();
        (!parts.is_empty()).then(|| format!("skipped: {}", parts.join("; ")))
    }

    fn add(&mut self, line: usize, record: &str, rejection: &Rejection) {
        if record.contains("\"action_name\"") {
            self.events += 1;
        } else if rejection.reason == Reason::MissingField
            && rejection.detail.contains("query_response_hit_ids")
        {
            self.without_hits += 1;
        } else if rejection.detail.contains("`size` is 0") {
            self.of_size_0 += 1;
        } else {
            self.invalid += 1;
            let detail = || (line, escape_controls(&rejection.detail));
            self.first.get_or_insert_with(detail);
        }
    }
}

/// Answers with their lines.
type Answers<'t> = Vec<(usize, Answer<'t>)>;

/// Reads an export of `ubi_queries`, one record a line, as `replay` does: records that are no answers are
/// skipped, which the sentence states. Of several answers to a query, the first is read unless the options
/// choose others.
pub(super) fn of_queries<'t>(
    text: &'t str,
    order: Order,
    options: &ReadOptions,
) -> Result<(Answers<'t>, Option<String>), Wrong> {
    let mut answers: Answers<'t> = Vec::new();
    let (mut skipped, mut answered) = (Skipped::default(), HashSet::new());
    for (line, record) in (1..).zip(text.lines()) {
        if record.trim().is_empty() || is_bulk_action(record) {
            continue;
        }
        match Dialect::search(record.as_bytes(), &options.limits) {
            Ok(mut search) => {
                let query = name(&search);
                if matches!(options.searches, Searches::Distinct)
                    && options.eligibility.check(&search).is_ok()
                    && !answered.insert(query.clone().into_owned())
                {
                    skipped.repeated += 1;
                    continue;
                }
                sort(&mut search, order).map_err(|problem| problem.at(line))?;
                let answer = Answer {
                    query,
                    results: Results::Search(search),
                    scores: Vec::new(),
                };
                answers.push((line, answer));
            }
            Err(rejection) => skipped.add(line, record, &rejection),
        }
    }
    if options.formats.as_ref().is_some_and(|it| it.is_shared) {
        skipped.events = 0;
    }
    let sentence = skipped.sentence();
    if answers.is_empty() {
        let sentence = sentence.unwrap_or_default();
        return Err(RunProblem::Row(format!("no query with results; {sentence}")).into());
    }
    Ok((answers, sentence))
}

/// Returns the key of the query, else its text.
fn name<'t>(search: &Search<'t>) -> Cow<'t, str> {
    let key = search.query_key.as_ref().map(|key| key.0.clone());
    let text = || search.query.as_ref().map(|text| text.0.clone());
    key.or_else(text).unwrap_or_default()
}

fn sort(search: &mut Search<'_>, order: Order) -> Result<(), RunProblem> {
    match order {
        Order::Served => {}
        Order::Score | Order::Score64 | Order::Ascending => {
            if search.results.iter().any(|hit| hit.score.is_none()) {
                return Err(RunProblem::NoOrder { what: "score" });
            }
            search.results.sort_by(|a, b| {
                let score = |hit: &Hit<'_>| {
                    let score = hit.score.map(|score| score.get());
                    order.key(score.unwrap_or_default())
                };
                by_score((score(a), &a.id), (score(b), &b.id))
            });
        }
        Order::Rank => {
            if search.results.iter().any(|hit| hit.rank.is_none()) {
                return Err(RunProblem::NoOrder { what: "rank" });
            }
            search.results.sort_by_key(|hit| hit.rank);
        }
    }
    Ok(())
}
