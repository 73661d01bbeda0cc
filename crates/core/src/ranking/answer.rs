//! Citations of an answer, with their grades, and the references to documents in its text.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::judged::Judged;
use crate::event::{Answer, Id};
use crate::gold::{Grade, hash_document};
use crate::overlap::{SquadText, Words, bounded};

/// Maximum number of documents that are found in a text.
const MAX_REFERENCES: usize = 1_000;

/// Maximum size of a compiled pattern in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// Rule that finds the documents that a text names: a regular expression, and the id of the document with the
/// groups of the expression in braces.
#[derive(Clone, Debug)]
pub struct Reference {
    pattern: Regex,
    id: Vec<Piece>,
}

/// Piece of an id.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    /// Group by its number.
    Group(usize),
}

impl PartialEq for Reference {
    fn eq(&self, other: &Self) -> bool {
        self.pattern.as_str() == other.pattern.as_str() && self.id == other.id
    }
}

impl Reference {
    /// Compiles a rule. `{1}` and `{name}` in `id` are groups of the pattern.
    ///
    /// # Errors
    /// A problem that follows the quoted pattern or id, as `is not …`, with `true` for the id.
    pub fn new(pattern: &str, id: &str) -> Result<Self, (bool, String)> {
        let compiled = RegexBuilder::new(pattern).size_limit(MAX_PATTERN).build();
        let pattern = compiled.map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            (
                false,
                format!(
                    "is not a regular expression: {}",
                    last.trim_start_matches("error: ")
                ),
            )
        })?;
        if pattern.is_match("") {
            return Err((false, "matches the empty text".to_owned()));
        }
        let mut pieces = Vec::new();
        let mut rest = id;
        while let Some((text, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err((true, "has a `{` without a `}`".to_owned()));
            };
            let mut names = pattern.capture_names();
            let group = match name.parse() {
                Ok(number) => (number < pattern.captures_len()).then_some(number),
                Err(_) => names.position(|it| it == Some(name)),
            };
            let Some(group) = group else {
                let text = format!("names the group {{{name}}}, which the pattern does not have");
                return Err((true, text));
            };
            pieces.push(Piece::Text(text.to_owned()));
            pieces.push(Piece::Group(group));
            rest = after;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self {
            pattern,
            id: pieces,
        })
    }

    /// Documents in a text with their places, first those of earlier rules. A place belongs to one document.
    fn find_all(rules: &[Self], text: &str) -> Vec<String> {
        let mut found: Vec<(Range<usize>, String)> = Vec::new();
        let text = bounded(text);
        for rule in rules {
            for groups in rule.pattern.captures_iter(text) {
                let Some(place) = groups.get(0).map(|whole| whole.range()) else {
                    continue;
                };
                let overlaps = |(other, _): &(Range<usize>, _)| {
                    other.start < place.end && place.start < other.end
                };
                if found.len() == MAX_REFERENCES || found.iter().any(overlaps) {
                    continue;
                }
                let pieces = rule.id.iter().map(|piece| match piece {
                    Piece::Text(text) => text,
                    Piece::Group(group) => groups.get(*group).map_or("", |it| it.as_str()),
                });
                found.push((place, pieces.collect()));
            }
        }
        found.sort_by_key(|(place, _)| place.start);
        found.into_iter().map(|(_, id)| id).collect()
    }
}

/// Cited document.
#[derive(Clone, Debug, PartialEq)]
pub struct Cited {
    /// Id as it is cited.
    pub id: Box<str>,
    /// [Hash](hash_document) of the document: of its chunk's document if chunks are judged by theirs.
    pub hash: u64,
    /// Number of the judged document, and its grade.
    pub judged: Option<(usize, Grade)>,
    /// True if it is among the results, or in the context.
    pub is_served: bool,
}

/// Forms of an answer that measures compare. Each is made when a measure first needs it.
#[derive(Debug, Default)]
pub(super) struct AnswerForms {
    cited: OnceLock<Vec<Cited>>,
    words: OnceLock<Words>,
    squad: OnceLock<SquadText>,
}

/// Answer of a judged search.
#[derive(Clone, Copy, Debug)]
pub struct JudgedAnswer<'a> {
    /// Answer as the search has it.
    pub answer: &'a Answer<'a>,
    forms: &'a AnswerForms,
    judged: Judged<'a>,
}

impl<'a> JudgedAnswer<'a> {
    pub(super) fn new(judged: Judged<'a>, forms: &'a AnswerForms) -> Option<Self> {
        Some(Self {
            answer: judged.search.answer.as_deref()?,
            forms,
            judged,
        })
    }

    /// Text of the answer.
    pub fn text(&self) -> Option<&'a str> {
        self.answer.text.as_deref()
    }

    /// Words of the text.
    pub(crate) fn words(&self) -> Option<&'a Words> {
        let text = self.text()?;
        Some(self.forms.words.get_or_init(|| Words::of(text)))
    }

    /// Text in the normal form of SQuAD.
    pub(crate) fn squad(&self) -> Option<&'a SquadText> {
        let text = self.text()?;
        Some(self.forms.squad.get_or_init(|| SquadText::of(text)))
    }

    /// Texts of the results in the context; of all results if the search has no context.
    pub fn passages(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let search = self.judged.search;
        let in_context =
            move |id: &Id<'_>| search.context.as_ref().is_none_or(|it| it.contains(id));
        let results = search.results.iter().filter(move |hit| in_context(&hit.id));
        results.filter_map(|hit| hit.details().text.as_deref())
    }

    /// Cited documents, each once: those that the answer lists, or without any those that its text names.
    pub fn cited(&self) -> &'a [Cited] {
        self.forms.cited.get_or_init(|| {
            let listed = self.answer.citations.as_deref().unwrap_or_default();
            let mut cited: Vec<Cited> = Vec::new();
            let mut add = |id: &str| {
                let document = self.document(id);
                if !cited.iter().any(|other| other.hash == document.hash) {
                    cited.push(document);
                }
            };
            for citation in listed {
                add(&citation.id);
            }
            if let (true, Some(text)) = (listed.is_empty(), self.text()) {
                for id in Reference::find_all(&self.judged.rules().references, text) {
                    add(&id);
                }
            }
            cited
        })
    }

    /// Returns the document that an id means: that of a result with this id, else the one with this id.
    fn document(&self, id: &str) -> Cited {
        let judged = &self.judged;
        let results = &judged.search.results;
        let hash = hash_document(id);
        let at = judged.hashes().iter().position(|known| *known == hash);
        let judgements = &judged.query.judgements;
        let result = at.and_then(|at| Some((at, results.get(at)?)));
        let (hash, found) = match result {
            Some((at, hit)) => {
                let number = judged.ranking.documents().get(at).copied().flatten();
                let found = number.and_then(|number| Some((number, judgements.grade(number)?)));
                let document = judged.rules().judge_by.document(hit);
                (hash_document(document), found)
            }
            None if judged.query.by_text => (hash, None),
            None => (hash, judgements.find_hash(hash)),
        };
        let is_group = || {
            let mut results = results.iter();
            results.any(|hit| hit.details().group_id.as_deref() == Some(id))
        };
        let is_in_context = || {
            let mut context = judged.search.context.iter().flatten();
            context.any(|known| **known == *id)
        };
        Cited {
            id: id.into(),
            hash,
            judged: found,
            is_served: result.is_some() || is_group() || is_in_context(),
        }
    }
}
