//! Content of a gold file before it is checked against other files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::judgements::{JudgementDraft, JudgementDrafts};
use crate::gold::answer::ExpectedAnswer;
use crate::gold::companions::are_topics;
use crate::gold::graph::Graph;
use crate::gold::judgements::Grade;
use crate::gold::normal_form::composed;
use crate::gold::problem::{GoldError, Place, Problem, Problems};
use crate::text;

/// Name and content of a gold file.
#[derive(Debug)]
pub(in crate::gold) struct SourceFile {
    pub(in crate::gold) name: Arc<str>,
    pub(in crate::gold) bytes: Vec<u8>,
}

impl SourceFile {
    pub(super) fn is_tsv(&self) -> bool {
        are_topics(Path::new(&*self.name))
    }

    /// File without content, for messages.
    pub(in crate::gold) fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            bytes: Vec::new(),
        }
    }

    pub(in crate::gold) fn place(&self, line: Option<usize>) -> Place {
        Place {
            file: self.name.clone(),
            line,
        }
    }

    /// Problem of a line or row.
    pub(super) fn row_problem(&self, line: usize, reason: impl Into<String>) -> Problem {
        Problem::Row {
            place: self.place(Some(line)),
            reason: reason.into(),
        }
    }

    /// Problem of a text that is not a grade.
    pub(super) fn grade_problem(&self, line: usize, value: impl Into<String>) -> Problem {
        Problem::GradeText {
            place: self.place(Some(line)),
            value: value.into(),
        }
    }
}

/// Content of one file.
#[derive(Debug)]
pub(in crate::gold) struct Draft {
    pub(in crate::gold) place: Place,
    /// Place of the grades in the format, for messages.
    pub(in crate::gold) grades: &'static str,
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
            grades: "",
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
    pub(in crate::gold) answer: ExpectedAnswer,
    pub(in crate::gold) graph: Option<Graph>,
    pub(in crate::gold) texts: Vec<String>,
    pub(in crate::gold) subtopics: Vec<SubtopicDraft>,
}

/// Grade of a document for a subtopic of a query.
#[derive(Debug)]
pub(in crate::gold) struct SubtopicDraft {
    pub(in crate::gold) document: String,
    pub(in crate::gold) subtopic: String,
    pub(in crate::gold) grade: Grade,
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
            answer: ExpectedAnswer::default(),
            graph: None,
            texts: Vec::new(),
            subtopics: Vec::new(),
        }
    }

    /// Names of the fields that name a document with an empty id.
    pub(in crate::gold) fn fields_with_empty_ids(&self) -> impl Iterator<Item = &'static str> {
        let is_empty = |id: &String| id.trim().is_empty();
        let in_graph = self.graph.as_ref().is_some_and(|graph| {
            let mut edges = graph.edges().iter();
            graph.nodes().iter().any(is_empty)
                || edges.any(|edge| is_empty(&edge.from) || is_empty(&edge.to))
        });
        let in_subtopics = self.subtopics.iter().any(|it| is_empty(&it.document));
        let fields = [
            ("required", self.required.iter().any(is_empty)),
            ("subtopics", in_subtopics),
            ("graph", in_graph),
        ];
        let fields = fields.into_iter().filter(|(_, has_empty)| *has_empty);
        fields.map(|(field, _)| field)
    }
}

impl QueryDraft {
    /// Returns one draft of the judgements of all drafts, which are of one query. Judgements that agree are
    /// kept once; one that contradicts an earlier one is a problem. Other fields are those of the first draft
    /// that has them. `None` without drafts.
    pub(in crate::gold) fn merged(
        drafts: impl IntoIterator<Item = Self>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let mut drafts = drafts.into_iter();
        let mut first = drafts.next()?;
        let mut seen: FxHashMap<String, (Grade, Place)> = FxHashMap::default();
        let mut judgements = Vec::new();
        let mut add = |draft: &Self| {
            for judgement in draft.judgements.drafts() {
                let place = Place {
                    file: draft.place.file.clone(),
                    line: judgement.line().or(draft.place.line),
                };
                match seen.get(judgement.document()) {
                    None => {
                        let document = judgement.document().to_owned();
                        seen.insert(document, (judgement.grade(), place));
                        judgements.push(judgement);
                    }
                    Some((grade, _)) if *grade == judgement.grade() => {}
                    Some((other, first)) => problems.push(Problem::Contradiction {
                        place,
                        key: draft.key.clone(),
                        document: judgement.document().to_owned(),
                        grade: judgement.grade(),
                        other: *other,
                        first: first.clone(),
                    }),
                }
            }
        };
        add(&first);
        for other in drafts {
            add(&other);
            first.text = first.text.or(other.text);
            first.aliases.extend(other.aliases);
            for (name, value) in other.labels {
                first.labels.entry(name).or_insert(value);
            }
            for (name, value) in other.needs {
                first.needs.entry(name).or_insert(value);
            }
            for (name, values) in other.expected {
                first.expected.entry(name).or_insert(values);
            }
            first.required.extend(other.required);
            first.answer.merge(other.answer);
            first.graph = first.graph.or(other.graph);
            first.texts.extend(other.texts);
            first.subtopics.extend(other.subtopics);
            // Each count is that of one file.
            first.total_relevant = None;
        }
        first.judgements = judgements.into_iter().collect();
        Some(first)
    }

    /// Returns the draft with composed ids.
    pub(in crate::gold) fn composed(mut self, problems: &mut Problems) -> Self {
        self.key = composed(self.key.into()).into_owned();
        for subtopic in &mut self.subtopics {
            let document = std::mem::take(&mut subtopic.document);
            subtopic.document = composed(document.into()).into_owned();
        }
        let is_composed = |document: &str| matches!(composed(document.into()), Cow::Borrowed(_));
        if self
            .judgements
            .drafts()
            .all(|it| is_composed(it.document()))
        {
            return self;
        }
        let judgements = self.judgements.drafts().map(JudgementDraft::composed);
        self.judgements = judgements.collect();
        let compose = |ids: Vec<String>| -> Vec<String> {
            let ids = ids.into_iter();
            ids.map(|id| composed(id.into()).into_owned()).collect()
        };
        let total = self.total_relevant;
        let required = compose(std::mem::take(&mut self.required));
        let must_cite = std::mem::take(&mut self.answer.must_cite);
        self.answer.must_cite = compose(must_cite);
        let place = self.place.clone();
        let merged = Self::merged([self], problems);
        let empty = || Self::new(place, String::new());
        Self {
            total_relevant: total,
            required,
            ..merged.unwrap_or_else(empty)
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

/// Parses the content of a file of `what`, which is no gold file. `name` is its name in messages. An empty
/// file has no items.
pub(super) fn parse_items<T>(
    name: &str,
    bytes: &[u8],
    what: &'static str,
    parse: impl FnOnce(&SourceFile, &str, &mut Problems) -> Vec<T>,
) -> Result<Vec<T>, GoldError> {
    let file = SourceFile::named(name);
    let mut problems = Problems::default();
    let text = text_of(&file, bytes, &mut problems);
    let items = text.map_or_else(Vec::new, |text| parse(&file, text, &mut problems));
    match problems.into_error() {
        None => Ok(items),
        Some(error) => Err(error.about(what)),
    }
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
