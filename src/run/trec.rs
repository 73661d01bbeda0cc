//! TREC runs: `query Q0 document rank score name`, separated by white space.

use std::borrow::Cow;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Answer, Order, Results, RunError, as_compared, by_score};

/// One line, as far as it matters.
#[derive(Clone, Copy)]
struct Line<'t> {
    document: &'t str,
    /// The score as trec_eval compares it, or the rank.
    key: Key,
    number: usize,
}

/// What a line is ordered by.
#[derive(Clone, Copy)]
enum Key {
    Score(f32),
    Rank(i64),
    Place,
}

/// The lines of one query.
struct Group<'t> {
    query: &'t str,
    lines: Vec<Line<'t>>,
}

pub(super) fn parse<'t>(
    path: &Path,
    text: &'t str,
    order: Order,
) -> Result<Vec<Answer<'t>>, RunError> {
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut by_query: FxHashMap<&str, usize> = FxHashMap::default();
    let mut current = usize::MAX;
    for (number, line) in (1..).zip(text.lines()) {
        let Some((query, line)) = read_line(path, line, number, order)? else {
            continue;
        };
        if groups.get(current).is_none_or(|group| group.query != query) {
            current = *by_query.entry(query).or_insert_with(|| {
                let lines = Vec::with_capacity(groups.last().map_or(16, |last| last.lines.len()));
                groups.push(Group { query, lines });
                groups.len() - 1
            });
        }
        if let Some(group) = groups.get_mut(current) {
            group.lines.push(line);
        }
    }
    let mut seen = FxHashSet::default();
    let answers = groups.into_iter().map(|mut group| {
        check_repeats(path, &group, &mut seen)?;
        let line = group.lines.first().map_or(0, |line| line.number);
        sort(&mut group.lines);
        let documents = group.lines.iter().map(|line| Cow::Borrowed(line.document));
        Ok(Answer {
            query: Cow::Borrowed(group.query),
            line,
            results: Results::Documents(documents.collect()),
        })
    });
    answers.collect()
}

/// One line; `None` for a blank one.
fn read_line<'t>(
    path: &Path,
    line: &'t str,
    number: usize,
    order: Order,
) -> Result<Option<(&'t str, Line<'t>)>, RunError> {
    let mut columns = line.split_ascii_whitespace();
    let Some(query) = columns.next() else {
        return Ok(None);
    };
    let rest = (
        columns.next(),
        columns.next(),
        columns.next(),
        columns.next(),
        columns.next(),
        columns.next(),
    );
    let (Some(_), Some(document), Some(rank), Some(score), Some(_), None) = rest else {
        return Err(RunError::Columns {
            path: path.to_owned(),
            line: number,
            found: line.split_ascii_whitespace().count(),
        });
    };
    let not_a_number = |what, value: &str| RunError::NotANumber {
        path: path.to_owned(),
        line: number,
        what,
        value: value.to_owned(),
    };
    let parsed: f64 = score
        .parse()
        .ok()
        .filter(|score: &f64| !score.is_nan())
        .ok_or_else(|| not_a_number("score", score))?;
    let key = match order {
        Order::Score => Key::Score(as_compared(parsed)),
        Order::Rank => Key::Rank(rank.parse().map_err(|_| not_a_number("rank", rank))?),
        Order::Served => Key::Place,
    };
    let line = Line {
        document,
        key,
        number,
    };
    Ok(Some((query, line)))
}

fn check_repeats<'t>(
    path: &Path,
    group: &Group<'t>,
    seen: &mut FxHashSet<&'t str>,
) -> Result<(), RunError> {
    seen.clear();
    for line in &group.lines {
        if !seen.insert(line.document) {
            return Err(RunError::RepeatedDocument {
                path: path.to_owned(),
                line: line.number,
                query: group.query.to_owned(),
                document: line.document.to_owned(),
            });
        }
    }
    Ok(())
}

/// Sorts lines by their keys, which are all of one kind; the order of the file stays otherwise.
fn sort(lines: &mut [Line<'_>]) {
    lines.sort_by(|a, b| match (a.key, b.key) {
        (Key::Score(first), Key::Score(second)) => {
            by_score((first, a.document), (second, b.document))
        }
        (Key::Rank(first), Key::Rank(second)) => first.cmp(&second),
        _ => a.number.cmp(&b.number),
    });
}
