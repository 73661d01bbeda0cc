//! Parser of TREC relevance judgements and of their topics.
//!
//! The rules are those of trec_eval: four columns separated by white space, the second ignored,
//! lines in any order. Grades may be fractional. Only ASCII white space separates columns: other
//! spaces may be part of an id.

use sha2::Sha256;

use super::draft::{Draft, SourceFile, Topic};
use super::lines::lines;
use super::parts::PartReader;
use super::rows::{self, Rows};
use crate::gold::judgements::Grade;
use crate::gold::problem::Problem;
use crate::gold::problem::Problems;
use crate::text;

/// Returns true if a line has the form of a judgement.
pub(super) fn is_judgement(line: &str) -> bool {
    let mut columns = line.split_ascii_whitespace();
    let grade = columns.nth(3);
    columns.next().is_none() && grade.is_some_and(|grade| grade.parse::<f64>().is_ok())
}

/// Returns true if a line has the form of a topic: an id and a text, separated by one tab.
pub(super) fn is_topic(line: &str) -> bool {
    line.split('\t').take(3).count() == 2
}

/// Parses judgements. The queries are in the order of their first lines.
pub(super) fn read_judgements(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    rows::read(file, text, problems, |rows, line, content, problems| {
        read_judgement(file, rows, line, content, problems);
    })
}

/// Parses the judgements of a large file. `None` if a line is wrong.
pub(super) fn read_parts(file: &SourceFile, source: PartReader) -> Option<(Draft, Sha256)> {
    rows::read_parts(file, source, |rows, line, content, problems| {
        read_judgement(file, rows, line, content, problems);
    })
}

/// Parses one line.
fn read_judgement<'a>(
    file: &SourceFile,
    rows: &mut Rows<'a>,
    line: usize,
    content: &'a str,
    problems: &mut Problems,
) {
    let mut columns = text::columns(content);
    let four = (
        columns.next(),
        columns.nth(1),
        columns.next(),
        columns.next(),
    );
    let (Some(key), Some(document), Some(grade), None) = four else {
        problems.push(Problem::Columns {
            place: file.place(Some(line)),
            found: content.split_ascii_whitespace().count(),
            expected: "TREC qrels have four, `query iteration document grade`, separated by white \
                       space",
        });
        return;
    };
    match grade_of(grade) {
        Some(grade) => rows.judge(key, line, document, grade),
        None => problems.push(Problem::GradeText {
            place: file.place(Some(line)),
            value: grade.to_owned(),
        }),
    }
}

/// Parses a grade, of which most have one digit.
fn grade_of(text: &str) -> Option<Grade> {
    match text.as_bytes() {
        [digit @ b'0'..=b'9'] => Grade::new(f64::from(digit - b'0')),
        _ => text.parse().ok().and_then(Grade::new),
    }
}

/// Parses topics.
pub(super) fn read_topics(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let mut draft = Draft::new(file.place(None));
    for (line, content) in lines(text) {
        let place = file.place(Some(line));
        match content.split_once('\t') {
            Some((key, text)) if !key.trim().is_empty() && !text.trim().is_empty() => {
                draft.topics.push(Topic {
                    place,
                    key: key.trim().to_owned(),
                    text: text.trim().to_owned(),
                });
            }
            _ => problems.push(Problem::Topic { place }),
        }
    }
    draft
}
