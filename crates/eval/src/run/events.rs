//! Search events as a run: one event per line, each the answer to one query. Events are native, or of
//! User Behavior Insights.

use std::borrow::Cow;

use super::answer::{Answer, Order, ReadOptions, Results, as_compared, by_score};
use super::error::{RunProblem, Wrong};
use rankgauge_core::decode::{native, ubi};
use rankgauge_core::event::{Hit, Search};

/// Passes the answers in `text` to `take`, with their lines, and their queries to `begin`. Returns the
/// number of lines.
pub(super) fn each_answer<'t>(
    text: &'t str,
    is_ubi: bool,
    order: Order,
    options: &ReadOptions,
    mut begin: impl FnMut(usize, &str),
    mut take: impl FnMut(usize, &Answer<'t>),
) -> Result<usize, Wrong> {
    let decode = if is_ubi { ubi::search } else { native::search };
    let mut lines = 0;
    for (line, record) in (1..).zip(text.lines()) {
        lines = line;
        if record.trim().is_empty() {
            continue;
        }
        let decoded = decode(record.as_bytes(), &options.limits);
        if options.has_feedback && decoded.is_err() && is_feedback(record, is_ubi, options) {
            continue;
        }
        let mut search = decoded.map_err(|rejection| {
            RunProblem::Json(format!("not a search event: {}", rejection.detail)).at(line)
        })?;
        sort(&mut search, order).map_err(|problem| problem.at(line))?;
        let query = name(&search);
        if options.eligibility.check(&search).is_ok() {
            begin(line, &query);
        }
        take(
            line,
            &Answer {
                query,
                results: Results::Search(search),
                scores: Vec::new(),
            },
        );
    }
    Ok(lines)
}

/// Returns true if a record of a topic of both kinds is feedback.
fn is_feedback(record: &str, is_ubi: bool, options: &ReadOptions) -> bool {
    if is_ubi {
        record.contains("\"action_name\"")
    } else {
        native::feedback(record.as_bytes(), &options.limits).is_ok()
    }
}

/// Returns true if the first event is one of User Behavior Insights: it has no `results`, and lists
/// the ids of its results in a field of that format.
pub(super) fn is_ubi(first: &str) -> bool {
    !first.contains("\"results\"")
        && (first.contains("\"query_response_") || first.contains("\"user_query\""))
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
        Order::Score | Order::Ascending => {
            if search.results.iter().any(|hit| hit.score.is_none()) {
                return Err(RunProblem::NoOrder { what: "score" });
            }
            search.results.sort_by(|a, b| {
                let score = |hit: &Hit<'_>| {
                    let score = hit.score.map(|score| score.get());
                    as_compared(order.signed(score.unwrap_or_default()))
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
