//! Search events as a run: one record per line, each event the answer to one query. Events are native, of
//! User Behavior Insights, or records of a configured mapping.

use std::borrow::Cow;

use super::answer::{Answer, Order, ReadOptions, Results, by_score};
use super::error::{RunProblem, Wrong};
use rankgauge_core::decode::{EventRef, Format, native, ubi};
use rankgauge_core::event::{Acceptance, Hit, Kind, Rejection, Search};

/// Format of the lines of recorded events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFormat {
    Native,
    Ubi,
    /// The mapping of [`ReadOptions::formats`].
    Mapped,
}

/// Passes the answers in `text` to `take`, with their lines, and their queries to `begin`. Returns the
/// number of lines.
pub(super) fn each_answer(
    text: &str,
    format: LineFormat,
    order: Order,
    options: &ReadOptions,
    mut begin: impl FnMut(usize, &str),
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
                begin(line, &query);
            }
            let answer = Answer {
                query,
                results: Results::Search(search),
                scores: Vec::new(),
            };
            take(line, &answer);
            Ok(())
        };
        let decode = match format {
            LineFormat::Native => native::search,
            LineFormat::Ubi => ubi::search,
            LineFormat::Mapped => {
                each_mapped(record, options, line, &mut add)?;
                continue;
            }
        };
        match decode(record.as_bytes(), &options.limits) {
            Ok(search) => add(search)?,
            Err(_) if is_feedback(record, format, options) => {}
            Err(rejection) => return Err(not_a_search(&rejection).at(line)),
        }
    }
    Ok(lines)
}

fn not_a_search(rejection: &Rejection) -> RunProblem {
    RunProblem::Json(format!("not a search event: {}", rejection.detail))
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
fn is_feedback(record: &str, format: LineFormat, options: &ReadOptions) -> bool {
    let is_shared = options.formats.as_ref().is_some_and(|it| it.is_shared);
    is_shared
        && match format {
            LineFormat::Ubi => record.contains("\"action_name\""),
            _ => native::feedback(record.as_bytes(), &options.limits).is_ok(),
        }
}

/// Format of native events, or of User Behavior Insights: the first event then has no `results`, and lists
/// the ids of its results in a field of that format.
pub(super) fn format_of(first: &str) -> LineFormat {
    let is_ubi = !first.contains("\"results\"")
        && (first.contains("\"query_response_") || first.contains("\"user_query\""));
    if is_ubi {
        LineFormat::Ubi
    } else {
        LineFormat::Native
    }
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
