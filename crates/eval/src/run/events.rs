//! Search events as a run: one event per line, each the answer to one query. Events are native, or of
//! User Behavior Insights.

use std::borrow::Cow;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::{Answer, Order, Results, RunError, as_compared, by_score};
use rankgauge_core::decode::{native, ubi};
use rankgauge_core::event::{Hit, Limits, Search};

pub(super) fn parse<'t>(
    path: &Path,
    text: &'t str,
    order: Order,
    limits: &Limits,
) -> Result<Vec<Answer<'t>>, RunError> {
    let mut answered = FxHashMap::default();
    let mut answers = Vec::new();
    let lines = (1..).zip(text.lines());
    let decode = if is_ubi(text) {
        ubi::search
    } else {
        native::search
    };
    for (line, record) in lines.filter(|(_, record)| !record.trim().is_empty()) {
        let mut search = decode(record.as_bytes(), limits).map_err(|rejection| RunError::Json {
            path: path.to_owned(),
            line,
            reason: format!("not a search event: {}", rejection.detail),
        })?;
        sort(path, line, &mut search, order)?;
        let query = name(&search);
        if let Some(first) = answered.insert(query.clone(), line) {
            return Err(RunError::RepeatedQuery {
                path: path.to_owned(),
                line,
                query: query.into_owned(),
                first,
            });
        }
        answers.push(Answer {
            query,
            line,
            results: Results::Search(search),
            scores: Vec::new(),
        });
    }
    Ok(answers)
}

/// Returns true if the first event is one of User Behavior Insights: it has no `results`, and lists
/// the ids of its results in a field of that format.
fn is_ubi(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|first| {
        !first.contains("\"results\"")
            && (first.contains("\"query_response_") || first.contains("\"user_query\""))
    })
}

/// Returns the key of the query, else its text.
fn name<'t>(search: &Search<'t>) -> Cow<'t, str> {
    let key = search.query_key.as_ref().map(|key| key.0.clone());
    let text = || search.query.as_ref().map(|text| text.0.clone());
    key.or_else(text).unwrap_or_default()
}

fn sort(path: &Path, line: usize, search: &mut Search<'_>, order: Order) -> Result<(), RunError> {
    let without = |what| RunError::NoOrder {
        path: path.to_owned(),
        line,
        what,
    };
    match order {
        Order::Served => {}
        Order::Score => {
            if search.results.iter().any(|hit| hit.score.is_none()) {
                return Err(without("score"));
            }
            search.results.sort_by(|a, b| {
                let score = |hit: &Hit<'_>| {
                    let score = hit.score.map(|score| score.get());
                    as_compared(score.unwrap_or_default())
                };
                by_score((score(a), &a.id), (score(b), &b.id))
            });
        }
        Order::Rank => {
            if search.results.iter().any(|hit| hit.rank.is_none()) {
                return Err(without("rank"));
            }
            search.results.sort_by_key(|hit| hit.rank);
        }
    }
    Ok(())
}
