//! Parser of TREC relevance judgements and of their topics.
//!
//! The rules are those of trec_eval: four columns separated by white space, lines in any order. Grades may
//! be fractional. Only ASCII white space separates columns: other spaces may be part of an id.
//!
//! The second column is a subtopic, or a group of judgements, if it differs within a query: as in the qrels
//! of ndeval and in trec_eval's qrels_jg. The grade of a document is then the highest one.
//!
//! Five columns are the `prels` of the Million Query track: `query document grade algorithm probability`.

use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;
use sha2::Sha256;

use super::by_subtopic::{BySubtopic, Judged};
use super::draft::{Draft, SourceFile, Topic};
use super::lines::lines;
use super::parts::PartReader;
use super::rows::{self, Rows};
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};
use crate::text;

/// Returns true if a line has the form of a judgement: four columns, with a grade or an iteration.
pub(super) fn is_judgement(line: &str) -> bool {
    let columns: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
    let [_, iteration, _, grade] = columns[..] else {
        return false;
    };
    grade.parse::<f64>().is_ok() || is_iteration(iteration)
}

/// Returns true for a usual second column of a judgement or a result, by which a line with a wrong grade is recognised.
fn is_iteration(column: &str) -> bool {
    column.eq_ignore_ascii_case("q0") || column.parse::<u32>().is_ok()
}

/// Returns true if a line has the form of a topic: an id and a text, separated by one tab.
pub(super) fn is_topic(line: &str) -> bool {
    line.split('\t').take(3).count() == 2
}

/// Returns true if a line has the form of `prels`.
pub(super) fn is_prels(line: &str) -> bool {
    let columns: Vec<&str> = line.split_ascii_whitespace().take(6).collect();
    let [_, document, grade, algorithm, probability] = columns[..] else {
        return false;
    };
    let is_share = |text: &str| text.parse().is_ok_and(|it: f64| (0.0..=1.0).contains(&it));
    let is_judged = grade.parse::<i32>().is_ok() || !is_iteration(document);
    is_judged && algorithm.parse::<u32>().is_ok() && is_share(probability)
}

/// Parses `prels`.
pub(super) fn read_prels(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    rows::read(file, text, problems, |rows, line, content, problems| {
        let columns: Vec<&str> = content.split_ascii_whitespace().collect();
        let [key, document, grade, _, _] = columns[..] else {
            problems.push(Problem::Columns {
                place: file.place(Some(line)),
                found: columns.len(),
                expected: "prels have five, `query document grade algorithm probability`, separated by \
                           white space",
            });
            return;
        };
        match grade_of(grade) {
            Some(grade) => rows.judge(key, line, document, grade),
            None => problems.push(file.grade_problem(line, grade)),
        }
    })
}

/// Parses judgements. The queries are in the order of their first lines.
pub(super) fn read_judgements(file: &SourceFile, text: &str, problems: &mut Problems) -> Draft {
    let (first, differs) = (first_subtopic(text), AtomicBool::new(false));
    let mut found = Problems::default();
    let draft = rows::read(file, text, &mut found, |rows, line, content, problems| {
        let subtopic = read_judgement(file, rows, line, content, problems);
        if subtopic != first {
            differs.store(true, Ordering::Relaxed);
        }
    });
    if found.is_empty() && differs.into_inner() {
        return with_subtopics(file, text, draft, problems);
    }
    problems.append(found);
    draft
}

/// Parses the judgements of a large file. `None` if a line is wrong, or if there are subtopics.
pub(super) fn read_parts(file: &SourceFile, source: PartReader) -> Option<(Draft, Sha256)> {
    let first = text::decode(&file.bytes).ok().and_then(first_subtopic);
    let differs = AtomicBool::new(false);
    let read = rows::read_parts(file, source, |rows, line, content, problems| {
        let subtopic = read_judgement(file, rows, line, content, problems);
        if subtopic != first {
            differs.store(true, Ordering::Relaxed);
        }
    });
    read.filter(|_| !differs.into_inner())
}

/// Second column of the first line.
fn first_subtopic(text: &str) -> Option<&str> {
    let (_, first) = lines(text).next()?;
    text::columns(first).nth(1)
}

/// Parses judgements whose second columns differ. `draft` is their draft without subtopics, which is correct
/// if no query has several.
fn with_subtopics(file: &SourceFile, text: &str, draft: Draft, problems: &mut Problems) -> Draft {
    let mut judgements = BySubtopic::default();
    let mut first: FxHashMap<&str, &str> = FxHashMap::default();
    let (mut has_several, mut repeated) = (false, Problems::default());
    for (line, content) in lines(text) {
        let mut columns = text::columns(content);
        let four = (
            columns.next(),
            columns.next(),
            columns.next(),
            columns.next(),
        );
        let (Some(key), Some(subtopic), Some(id), Some(grade)) = four else {
            continue;
        };
        let Some(grade) = grade_of(grade) else {
            continue;
        };
        has_several |= *first.entry(key).or_insert(subtopic) != subtopic;
        let judged = Judged {
            line,
            key: key.into(),
            subtopic: Some(subtopic.into()),
            document: id.into(),
            grade,
        };
        judgements.add(file, judged, &mut repeated);
    }
    if !has_several {
        return draft;
    }
    problems.append(repeated);
    judgements.into_draft(Rows::default(), file)
}

/// Parses one line, and returns its second column.
fn read_judgement<'a>(
    file: &SourceFile,
    rows: &mut Rows<'a>,
    line: usize,
    content: &'a str,
    problems: &mut Problems,
) -> Option<&'a str> {
    let mut columns = text::columns(content);
    let (key, subtopic) = (columns.next(), columns.next());
    let rest = (key, columns.next(), columns.next(), columns.next());
    let (Some(key), Some(document), Some(grade), None) = rest else {
        problems.push(Problem::Columns {
            place: file.place(Some(line)),
            found: content.split_ascii_whitespace().count(),
            expected: "TREC qrels have four, `query iteration document grade`, separated by white \
                       space",
        });
        return subtopic;
    };
    match grade_of(grade) {
        Some(grade) => rows.judge(key, line, document, grade),
        None => problems.push(file.grade_problem(line, grade)),
    }
    subtopic
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
