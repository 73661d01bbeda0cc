//! Parser of judgements in a table: CSV or TSV with a header, separated by commas, semicolons or tabs. Quepid exports
//! its ratings so, with the columns `query`, `docid` and `rating`; data frames have other names.
//!
//! Columns are found by their names, or as an argument states them, and other columns are ignored. Without a column
//! of ids, the text of a query is also its id. A document without a grade is unjudged. A row without a document and
//! a grade states that the query exists. With a column of subtopics, a document may be judged for several: its grade
//! is the highest one.

use std::collections::BTreeMap;

use super::by_subtopic::{BySubtopic, Judged};
use super::draft::{Draft, SourceFile, Topic};
use super::rows::Rows;
use super::table::for_each_row;
use crate::columns::{self, Columns, Role};
use crate::gold::judgements::Grade;
use crate::gold::problem::{Place, Problem, Problems, excerpt};

/// Maximum number of columns by which a header is recognised.
const MAX_COLUMNS: usize = 50;

/// Positions of the columns.
#[derive(Clone, Copy)]
struct Positions {
    query: usize,
    document: usize,
    grade: usize,
    text: Option<usize>,
    subtopic: Option<usize>,
}

impl Positions {
    fn of(names: &[&str], stated: Option<&Columns>) -> Option<Self> {
        let found = |role: Role| role.position(names, stated);
        let grade = found(Role::Grade)?;
        // With ranks, scores are those of a run.
        if stated.is_none() && found(Role::Rank).is_some() && found(Role::Score) == Some(grade) {
            return None;
        }
        Some(Self {
            query: found(Role::Query)?,
            document: found(Role::Document)?,
            grade,
            text: found(Role::Text),
            subtopic: found(Role::Subtopic),
        })
    }
}

/// Returns true if a line is the header of judgements.
pub(super) fn is_header(line: &str) -> bool {
    Positions::of(&names(line), None).is_some()
}

/// Returns true if a line is the header of query texts, separated by commas or semicolons.
pub(super) fn is_header_of_texts(line: &str) -> bool {
    columns::delimiter(line) != b'\t' && positions_of_texts(&names(line)).is_some()
}

fn names(line: &str) -> Vec<&str> {
    let separator = char::from(columns::delimiter(line));
    line.split(separator).take(MAX_COLUMNS).collect()
}

/// Positions of ids and texts of queries.
fn positions_of_texts(names: &[&str]) -> Option<(usize, usize)> {
    let is = |wanted: &str| {
        let mut names = names.iter();
        names.position(|name| name.trim().trim_matches('"').eq_ignore_ascii_case(wanted))
    };
    let text = is("text").or_else(|| Role::Text.position(names, None))?;
    let query = Role::Query
        .position(names, None)
        .filter(|query| *query != text);
    let query = query.or_else(|| is("_id")).or_else(|| is("id"))?;
    Some((query, text))
}

/// Problem of a header without the needed or stated columns.
fn unknown_columns(file: &SourceFile, names: &[&str], missing: Option<String>) -> Problem {
    Problem::Row {
        place: file.place(Some(1)),
        reason: missing.unwrap_or_else(|| {
            format!(
                "the header `{}` does not name a query, a document and a grade, as `query,docid,rating` does",
                excerpt(&names.join(","), 100)
            )
        }),
    }
}

/// Problem of a query with a text other than the first one.
fn another_text(place: Place, key: &str, [text, first]: [&str; 2]) -> Problem {
    Problem::Row {
        place,
        reason: format!(
            "query `{key}` has the text `{text}`, but `{first}` in an earlier row; keep one"
        ),
    }
}

/// Parses judgements. The queries are in the order of their first rows.
pub(super) fn read(
    file: &SourceFile,
    text: &str,
    stated: Option<&Columns>,
    problems: &mut Problems,
) -> Draft {
    let before = problems.count();
    let mut rows = Rows::default();
    let mut builder = columns::reader(text);
    let Some(header) = header(file, text, &builder, problems) else {
        return rows.into_draft(file);
    };
    let names: Vec<&str> = header.iter().collect();
    let missing = stated.and_then(|stated| stated.missing(&names));
    let positions = Positions::of(&names, stated).filter(|_| missing.is_none());
    let Some(positions) = positions else {
        problems.push(unknown_columns(file, &names, missing));
        return rows.into_draft(file);
    };
    let grade_of = |text: &str| text.parse().ok().and_then(Grade::new);
    let has_header = stated.is_none_or(Columns::need_header)
        || header.get(positions.grade).and_then(grade_of).is_none();
    let mut reader = builder.has_headers(has_header).from_reader(text.as_bytes());
    let (query, document, grade) = (positions.query, positions.document, positions.grade);
    let needed = query.max(document).max(grade) + 1;
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut by_subtopic = positions.subtopic.map(|at| (at, BySubtopic::default()));
    for_each_row(file, text, &mut reader, problems, |line, row, problems| {
        let fields = (row.get(query), row.get(document), row.get(grade));
        let (Some(key), Some(document), Some(grade)) = fields else {
            let reason = format!("{} fields where {needed} are needed", row.len());
            problems.push(file.row_problem(line, reason));
            return;
        };
        let place = || file.place(Some(line));
        let is_graded = !grade.is_empty();
        if key.is_empty() {
            problems.push(Problem::EmptyQueryId { place: place() });
            return;
        }
        if is_graded && document.is_empty() {
            problems.push(file.row_problem(line, "a grade without a document"));
        } else if is_graded {
            match (grade_of(grade), &mut by_subtopic) {
                (Some(grade), None) => {
                    rows.judge(key.to_owned(), line, document.to_owned(), grade);
                }
                (Some(grade), Some((at, judgements))) => {
                    rows.query(key.to_owned(), line);
                    let subtopic = row.get(*at);
                    let judged = Judged {
                        line,
                        key: key.to_owned().into(),
                        subtopic: subtopic
                            .filter(|it| !it.is_empty())
                            .map(|it| it.to_owned().into()),
                        document: document.to_owned().into(),
                        grade,
                    };
                    judgements.add(file, judged, problems);
                }
                (None, _) => problems.push(file.grade_problem(line, grade)),
            }
        } else {
            rows.query(key.to_owned(), line);
        }
        let text = positions.text.and_then(|at| row.get(at));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let first = texts.entry(key.to_owned());
            let first = first.or_insert_with(|| text.to_owned());
            if first.as_str() != text {
                problems.push(another_text(place(), key, [text, first]));
            }
        }
    });
    if rows.is_empty() && problems.count() == before {
        problems.push(Problem::OnlyHeader {
            file: file.name.clone(),
            header: columns::header_of(text).replace('\t', " "),
        });
    }
    let mut draft = match by_subtopic {
        None => rows.into_draft(file),
        Some((_, judgements)) => judgements.into_draft(rows, file),
    };
    for query in &mut draft.queries {
        query.text = texts.remove(&*query.key);
    }
    draft
}

/// Parses texts of queries.
pub(super) fn read_texts(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let mut draft = Draft::new(file.place(None));
    let builder = columns::reader(text);
    let Some(header) = header(file, text, &builder, problems) else {
        return draft;
    };
    let names: Vec<&str> = header.iter().collect();
    let Some((query, at)) = positions_of_texts(&names) else {
        return draft;
    };
    let mut reader = builder.from_reader(text.as_bytes());
    for_each_row(file, text, &mut reader, problems, |line, row, problems| {
        let cell = |at: usize| row.get(at).filter(|cell| !cell.is_empty());
        match (cell(query), cell(at)) {
            (Some(key), Some(text)) => draft.topics.push(Topic {
                place: file.place(Some(line)),
                key: key.to_owned(),
                text: text.to_owned(),
            }),
            _ => problems.push(file.row_problem(
                line,
                "a query has an id and a text; fill in both, or remove the row",
            )),
        }
    });
    draft
}

/// Reads the header. `None` after a problem.
fn header(
    file: &SourceFile,
    text: &str,
    builder: &csv::ReaderBuilder,
    problems: &mut Problems,
) -> Option<csv::StringRecord> {
    let mut reader = builder.from_reader(text.as_bytes());
    match reader.headers() {
        Ok(header) => Some(header.clone()),
        Err(error) => {
            let line = error.position().map(csv::Position::line);
            problems.push(Problem::Row {
                place: file.place(line.and_then(|line| usize::try_from(line).ok())),
                reason: error.to_string(),
            });
            None
        }
    }
}
