//! Parser of ratings in the export format of Quepid: CSV with `query`, `docid` and `rating`,
//! separated by commas, semicolons or tabs.
//!
//! Quepid has no query ids: the text is also the id. Columns may be in any order, and other
//! columns are ignored. A document without a rating is unjudged. A row without a document and a
//! rating states that the query exists.

use super::draft::{Draft, SourceFile};
use super::rows::Rows;
use super::table::{self, for_each_row};
use crate::gold::judgements::Grade;
use crate::gold::problem::Problem;
use crate::gold::problem::Problems;

/// Column names.
const HEADER: [&str; 3] = ["query", "docid", "rating"];

/// Returns true if a line is the header.
pub(super) fn is_header(line: &str) -> bool {
    // The header of an export is short: a long line is not a header.
    let separator = char::from(table::delimiter(line));
    let names: Vec<&str> = line.split(separator).take(50).map(column_name).collect();
    HEADER
        .iter()
        .all(|name| names.iter().any(|found| found.eq_ignore_ascii_case(name)))
}

fn column_name(written: &str) -> &str {
    written.trim().trim_matches('"').trim()
}

/// Parses ratings. The queries are in the order of their first rows.
pub(super) fn read(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let before = problems.count();
    let mut rows = Rows::default();
    let mut reader = table::builder(text).from_reader(text.as_bytes());
    let columns = match reader.headers() {
        Ok(header) => HEADER.map(|name| {
            let mut names = header.iter().map(column_name);
            names.position(|found| found.eq_ignore_ascii_case(name))
        }),
        Err(error) => {
            let line = error.position().map(csv::Position::line);
            problems.push(Problem::Row {
                place: file.place(line.and_then(|line| usize::try_from(line).ok())),
                reason: error.to_string(),
            });
            return rows.into_draft(file);
        }
    };
    let [Some(query), Some(document), Some(rating)] = columns else {
        problems.push(Problem::Row {
            place: file.place(Some(1)),
            reason: "the header does not name the columns `query`, `docid` and `rating`".to_owned(),
        });
        return rows.into_draft(file);
    };
    let needed = query.max(document).max(rating) + 1;
    for_each_row(
        file,
        text,
        &mut reader,
        problems,
        |line, record, problems| {
            let fields = (record.get(query), record.get(document), record.get(rating));
            let (Some(query), Some(document), Some(rating)) = fields else {
                problems.push(Problem::Row {
                    place: file.place(Some(line)),
                    reason: format!("{} fields where {needed} are needed", record.len()),
                });
                return;
            };
            let rated = !rating.trim().is_empty();
            if query.trim().is_empty() {
                problems.push(Problem::EmptyQueryId {
                    place: file.place(Some(line)),
                });
            } else if rated && document.is_empty() {
                problems.push(Problem::Row {
                    place: file.place(Some(line)),
                    reason: "a rating without a `docid`".to_owned(),
                });
            } else if rated {
                match rating.trim().parse().ok().and_then(Grade::new) {
                    Some(grade) => {
                        rows.judge(query.to_owned(), line, document.to_owned(), grade);
                    }
                    None => problems.push(Problem::GradeText {
                        place: file.place(Some(line)),
                        value: rating.to_owned(),
                    }),
                }
            } else {
                rows.query(query.to_owned(), line);
            }
        },
    );
    if rows.is_empty() && problems.count() == before {
        problems.push(Problem::OnlyHeader {
            file: file.name.clone(),
            header: "query,docid,rating",
        });
    }
    let mut draft = rows.into_draft(file);
    for query in &mut draft.queries {
        query.text = Some(query.key.clone());
    }
    draft
}
