//! Content of a gold file before it is checked against other files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::judgements::JudgementDrafts;
use crate::gold::graph::Graph;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Place, Problem, Problems};
use crate::text;

/// Name and content of a gold file.
#[derive(Debug)]
pub(in crate::gold) struct SourceFile {
    pub(in crate::gold) name: Arc<str>,
    pub(in crate::gold) bytes: Vec<u8>,
}

impl SourceFile {
    pub(super) fn is_tsv(&self) -> bool {
        Path::new(&*self.name)
            .extension()
            .is_some_and(|extension| extension == "tsv")
    }

    pub(in crate::gold) fn place(&self, line: Option<usize>) -> Place {
        Place {
            file: self.name.clone(),
            line,
        }
    }
}

/// Content of one file.
#[derive(Debug)]
pub(in crate::gold) struct Draft {
    pub(in crate::gold) place: Place,
    pub(in crate::gold) version: Option<String>,
    pub(in crate::gold) created_at: Option<String>,
    pub(in crate::gold) kind: Option<String>,
    pub(in crate::gold) relevance_level: Option<Grade>,
    pub(in crate::gold) scale_max: Option<Grade>,
    pub(in crate::gold) queries: Vec<QueryDraft>,
    pub(in crate::gold) topics: Vec<Topic>,
}

impl Draft {
    /// Returns an empty draft.
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            version: None,
            created_at: None,
            kind: None,
            relevance_level: None,
            scale_max: None,
            queries: Vec::new(),
            topics: Vec::new(),
        }
    }
}

/// Content of one query of a file.
#[derive(Debug)]
pub(in crate::gold) struct QueryDraft {
    pub(in crate::gold) place: Place,
    pub(in crate::gold) key: String,
    pub(in crate::gold) text: Option<String>,
    pub(in crate::gold) aliases: Vec<String>,
    pub(in crate::gold) labels: BTreeMap<String, String>,
    pub(in crate::gold) needs: BTreeMap<String, bool>,
    pub(in crate::gold) total_relevant: Option<u64>,
    /// True if `total_relevant` must equal the number of relevant judgements of the query.
    pub(in crate::gold) check_total_relevant: bool,
    pub(in crate::gold) judgements: JudgementDrafts,
    pub(in crate::gold) expected: BTreeMap<String, Vec<String>>,
    pub(in crate::gold) required: Vec<String>,
    pub(in crate::gold) graph: Option<Graph>,
    pub(in crate::gold) texts: Vec<String>,
}

impl QueryDraft {
    /// Returns a draft with an id only.
    pub(super) fn new(place: Place, key: String) -> Self {
        Self {
            place,
            key,
            text: None,
            aliases: Vec::new(),
            labels: BTreeMap::new(),
            needs: BTreeMap::new(),
            total_relevant: None,
            check_total_relevant: false,
            judgements: JudgementDrafts::default(),
            expected: BTreeMap::new(),
            required: Vec::new(),
            graph: None,
            texts: Vec::new(),
        }
    }
}

/// Text of a query whose judgements are in another file.
#[derive(Debug)]
pub(in crate::gold) struct Topic {
    pub(in crate::gold) place: Place,
    pub(in crate::gold) key: String,
    pub(in crate::gold) text: String,
}

/// Decodes the text of a file; `None` after a problem.
pub(super) fn text_of<'t>(
    file: &SourceFile,
    bytes: &'t [u8],
    problems: &mut Problems,
) -> Option<&'t str> {
    text::decode(bytes)
        .map_err(|error| {
            problems.push(Problem::NotUtf8 {
                place: file.place(Some(error.line)),
                error,
            });
        })
        .ok()
}
