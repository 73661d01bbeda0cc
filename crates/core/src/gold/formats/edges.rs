//! Parser of edge files: relations between documents.
//!
//! An edge file is JSON Lines, `{"from": "법률_제17조", "to": "시행령_제15조", "relation": "decree"}`,
//! or CSV or TSV with a header that names the columns `from`, `to` and `relation`. The names
//! `source`, `target` and `type`, as exported by Neo4j and other tools, are accepted as well.

use serde::Deserialize;

use super::draft::{SourceFile, parse_items};
use super::json::{StringOrInteger, parse};
use super::table::for_each_row;
use crate::columns::reader;
use crate::gold::expansion::Relation;
use crate::gold::problem::{GoldError, Problem, Problems};

#[derive(Deserialize)]
struct JsonEdge {
    #[serde(alias = "source")]
    from: StringOrInteger,
    #[serde(alias = "target")]
    to: StringOrInteger,
    #[serde(alias = "type")]
    relation: StringOrInteger,
}

/// Column names and their aliases.
const COLUMNS: [[&str; 2]; 3] = [["from", "source"], ["to", "target"], ["relation", "type"]];

impl Relation {
    /// Parses the content of an edge file. `name` is the file name in messages.
    ///
    /// # Errors
    /// All problems of the content.
    pub fn parse_all(name: &str, bytes: &[u8]) -> Result<Vec<Self>, GoldError> {
        parse_items(name, bytes, "the edge file", relations)
    }
}

fn relations(file: &SourceFile, text: &str, problems: &mut Problems) -> Vec<Relation> {
    let mut lines = text.lines().map(str::trim);
    match lines.find(|line| !line.is_empty()) {
        Some(first) if first.starts_with('{') => json_lines(file, text, problems),
        Some(first) => columns(file, first, text, problems),
        // A file without edges is valid: it adds no judgements.
        None => Vec::new(),
    }
}

fn relation(from: &str, to: &str, name: &str) -> Option<Relation> {
    let name = Relation::normalise(name);
    let complete = !from.is_empty() && !to.is_empty() && !name.is_empty();
    complete.then(|| Relation {
        from: from.to_owned(),
        to: to.to_owned(),
        name,
    })
}

fn json_lines(file: &SourceFile, text: &str, problems: &mut Problems) -> Vec<Relation> {
    let mut relations = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        if content.trim().is_empty() {
            continue;
        }
        match parse::<JsonEdge>(content) {
            Ok(edge) => match relation(&edge.from.0, &edge.to.0, &edge.relation.0) {
                Some(relation) => relations.push(relation),
                None => problems.push(incomplete(file, line)),
            },
            Err(fault) => problems.push(fault.problem(file, line, "")),
        }
    }
    relations
}

fn columns(file: &SourceFile, first: &str, text: &str, problems: &mut Problems) -> Vec<Relation> {
    let tabs = first.contains('\t');
    let mut reader = reader(text).quoting(!tabs).from_reader(text.as_bytes());
    let mut relations = Vec::new();
    let found = reader.headers().map(|header| {
        COLUMNS.map(|names| {
            let is_named = |found: &str| names.iter().any(|name| found.eq_ignore_ascii_case(name));
            header.iter().position(is_named)
        })
    });
    let Ok([Some(from), Some(to), Some(name)]) = found else {
        problems.push(file.row_problem(
            1,
            "an edge file is JSON Lines with `from`, `to` and `relation`, or CSV or TSV with a header that names \
             these columns",
        ));
        return relations;
    };
    for_each_row(file, text, &mut reader, problems, |line, row, problems| {
        let edge = match (row.get(from), row.get(to), row.get(name)) {
            (Some(from), Some(to), Some(name)) => relation(from, to, name),
            _ => None,
        };
        match edge {
            Some(edge) => relations.push(edge),
            None => problems.push(incomplete(file, line)),
        }
    });
    relations
}

fn incomplete(file: &SourceFile, line: usize) -> Problem {
    file.row_problem(
        line,
        "an edge needs `from`, `to` and `relation`, none of them empty",
    )
}
