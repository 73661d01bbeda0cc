//! The native JSON format, which is also the law-search methodology's.
//!
//! ```json
//! {"version": "1.0", "queries": [{"query_id": "Q001", "query_text": "17조 검색",
//!   "ground_truth": {"법률_제17조": 3, "시행령_제17조": {"relevance": 2, "law_type": "시행령"}}}]}
//! ```
//!
//! Each query is read on its own, so that one mistake does not hide the next. Unknown fields are
//! ignored, repeated ones are not: JSON itself would silently keep one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Draft, JudgementDraft, QueryDraft, SourceFile};
use crate::gold::{Edge, Grade, Graph, JudgementDetail, Place, Problem};

/// The file, with its queries still as text.
#[derive(Deserialize)]
struct NativeSet<'a> {
    version: Option<Word>,
    relevance_level: Option<Grade>,
    scale_max: Option<Grade>,
    #[serde(borrow)]
    queries: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct NativeQuery {
    query_id: Word,
    #[serde(alias = "query")]
    query_text: Option<String>,
    query_type: Option<Word>,
    difficulty: Option<Word>,
    primary_domain: Option<Word>,
    category: Option<Word>,
    ground_truth: Pairs<NativeJudgement>,
    total_relevant: Option<u64>,
    needs_a2a: Option<bool>,
    needs_rne: Option<bool>,
    needs: Option<BTreeMap<String, bool>>,
    aliases: Option<Vec<String>>,
    labels: Option<BTreeMap<String, Word>>,
    expected: Option<BTreeMap<String, Vec<Word>>>,
    required: Option<Vec<Word>>,
    graph: Option<NativeGraph>,
    texts: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct NativeGraph {
    #[serde(default)]
    nodes: Vec<Word>,
    #[serde(default)]
    edges: Vec<NativeEdge>,
}

#[derive(Deserialize)]
struct NativeEdge {
    from: Word,
    to: Word,
}

/// Reads a set. `None` when there is no list of queries to go on with.
pub(super) fn read(file: &SourceFile, text: &str, problems: &mut Vec<Problem>) -> Option<Draft> {
    // Derived readers take an array for an object whose fields are in order. We do not.
    if !text.trim_start().starts_with('{') {
        let line = text
            .lines()
            .take_while(|line| line.trim().is_empty())
            .count()
            + 1;
        problems.push(Problem::UnrecognisedFormat {
            place: file.place(Some(line)),
        });
        return None;
    }
    let set: NativeSet<'_> = match parse(text) {
        Ok(set) => set,
        Err(fault) => {
            problems.push(if fault.malformed {
                let place = file.place(Some(fault.line));
                Problem::Json {
                    place,
                    reason: format!("not valid JSON: {}", fault.reason),
                }
            } else {
                fault.problem(file, 1, "")
            });
            return None;
        }
    };
    if set.queries.is_empty() {
        problems.push(Problem::NoQueries {
            file: file.name.clone(),
        });
    }
    let mut queries = Vec::with_capacity(set.queries.len());
    let mut lines = LineCounter::new(text);
    for (position, raw) in set.queries.into_iter().enumerate() {
        let line = lines.line_of(raw.get());
        let path = format!("queries[{position}]");
        if !raw.get().starts_with('{') {
            let reason = "not a query, which is an object with `query_id` and `ground_truth`";
            let (place, reason) = (file.place(Some(line)), reason.to_owned());
            problems.push(Problem::JsonValue {
                place,
                path,
                reason,
            });
            continue;
        }
        match parse::<NativeQuery>(raw.get()) {
            Ok(query) => queries.push(query.into_draft(file.place(Some(line)))),
            Err(fault) => problems.push(fault.problem(file, line, &path)),
        }
    }
    Some(Draft {
        place: file.place(None),
        version: set.version.map(|version| version.0),
        relevance_level: set.relevance_level,
        scale_max: set.scale_max,
        queries,
        topics: Vec::new(),
    })
}

impl NativeQuery {
    fn into_draft(self, place: Place) -> QueryDraft {
        let mut labels = words_by_name(self.labels);
        let named = [
            ("query_type", self.query_type),
            ("difficulty", self.difficulty),
            ("primary_domain", self.primary_domain),
            ("category", self.category),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                labels.insert(name.to_owned(), value.0);
            }
        }
        let mut needs = self.needs.unwrap_or_default();
        for (component, needed) in [("a2a", self.needs_a2a), ("rne", self.needs_rne)] {
            if let Some(needed) = needed {
                needs.insert(component.to_owned(), needed);
            }
        }
        let judgements = self
            .ground_truth
            .0
            .into_iter()
            .map(|(document, judgement)| {
                let NativeJudgement { grade, detail } = judgement;
                JudgementDraft {
                    line: None,
                    document,
                    grade,
                    detail,
                }
            });
        let expected = self.expected.unwrap_or_default();
        QueryDraft {
            place,
            key: self.query_id.0,
            text: self.query_text,
            aliases: self.aliases.unwrap_or_default(),
            labels,
            needs,
            total_relevant: self.total_relevant,
            judgements: judgements.collect(),
            expected: expected
                .into_iter()
                .map(|(facet, values)| (facet, words(values)))
                .collect(),
            required: words(self.required.unwrap_or_default()),
            graph: self.graph.map(|graph| Graph {
                nodes: words(graph.nodes),
                edges: graph
                    .edges
                    .into_iter()
                    .map(|edge| Edge {
                        from: edge.from.0,
                        to: edge.to.0,
                    })
                    .collect(),
            }),
            texts: self.texts.unwrap_or_default(),
        }
    }
}

fn words(words: Vec<Word>) -> Vec<String> {
    words.into_iter().map(|word| word.0).collect()
}

fn words_by_name(words: Option<BTreeMap<String, Word>>) -> BTreeMap<String, String> {
    words
        .unwrap_or_default()
        .into_iter()
        .map(|(name, word)| (name, word.0))
        .collect()
}

/// A string, or a whole number as it is written. Ids, versions and labels come as both.
struct Word(String);

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Word;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a whole number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Word, E> {
                Ok(Word(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Word, E> {
                Ok(Word(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Word, E> {
                Ok(Word(number.to_string()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// The entries of an object in their order, repeated names included.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of document ids and grades")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// A grade, alone or in an object with what else is known of the judgement.
struct NativeJudgement {
    grade: Grade,
    detail: JudgementDetail,
}

impl<'de> Deserialize<'de> for NativeJudgement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JudgementReader)
    }
}

struct JudgementReader;

impl JudgementReader {
    fn grade<E: serde::de::Error>(value: f64) -> Result<NativeJudgement, E> {
        use serde::de::IntoDeserializer;
        let grade = Grade::deserialize(IntoDeserializer::<E>::into_deserializer(value))?;
        Ok(NativeJudgement {
            grade,
            detail: JudgementDetail::default(),
        })
    }
}

impl<'de> Visitor<'de> for JudgementReader {
    type Value = NativeJudgement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a grade, or an object with `relevance`")
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<NativeJudgement, E> {
        Self::grade(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<NativeJudgement, E> {
        Self::grade(u32::try_from(value).map_or(f64::INFINITY, f64::from))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<NativeJudgement, E> {
        Self::grade(i32::try_from(value).map_or(f64::NEG_INFINITY, f64::from))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NativeJudgement, A::Error> {
        let mut grade = None;
        let mut detail = JudgementDetail::default();
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "relevance" if grade.is_some() => {
                    return Err(A::Error::duplicate_field("relevance"));
                }
                "relevance" => grade = Some(map.next_value()?),
                "notes" => detail.notes = map.next_value()?,
                annotator if annotator.starts_with("annotator") => {
                    if let Some(given) = map.next_value()? {
                        detail.annotations.insert(field, given);
                    }
                }
                _ => match map.next_value()? {
                    Value::String(facet) => {
                        detail.facets.insert(field, facet);
                    }
                    Value::Number(facet) => {
                        detail.facets.insert(field, facet.to_string());
                    }
                    Value::Bool(facet) => {
                        detail.facets.insert(field, facet.to_string());
                    }
                    Value::Null | Value::Array(_) | Value::Object(_) => {}
                },
            }
        }
        let grade = grade.ok_or_else(|| A::Error::missing_field("relevance"))?;
        Ok(NativeJudgement { grade, detail })
    }
}

/// Why a piece of JSON is not what it should be.
struct Fault {
    /// Not JSON at all, rather than of the wrong shape.
    malformed: bool,
    /// 1-based line within the piece.
    line: usize,
    /// The path to the value; empty for the whole.
    path: String,
    reason: String,
}

impl Fault {
    /// As a problem of a piece that begins on `first_line` and is itself at `path`.
    fn problem(self, file: &SourceFile, first_line: usize, path: &str) -> Problem {
        let path = match (path, self.path.as_str()) {
            (path, "") => path.to_owned(),
            ("", within) => within.to_owned(),
            (path, within) if within.starts_with('[') => format!("{path}{within}"),
            (path, within) => format!("{path}.{within}"),
        };
        let line = first_line + self.line.saturating_sub(1);
        Problem::JsonValue {
            place: file.place(Some(line)),
            path,
            reason: self.reason,
        }
    }
}

/// Reads a piece of JSON to its end.
fn parse<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, Fault> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        fault(
            &error.into_inner(),
            if path == "." { String::new() } else { path },
        )
    })?;
    deserializer
        .end()
        .map_err(|error| fault(&error, String::new()))?;
    Ok(value)
}

fn fault(error: &serde_json::Error, path: String) -> Fault {
    // The line is told apart, and counts from the beginning of the piece only.
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = error.to_string();
    let reason = message
        .strip_suffix(&position)
        .unwrap_or(&message)
        .to_owned();
    Fault {
        malformed: !error.is_data(),
        line: error.line(),
        path,
        reason,
    }
}

/// The lines on which pieces of a text begin, asked in the order of the text.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
        }
    }

    /// The line on which `piece`, a part of the text, begins.
    fn line_of(&mut self, piece: &str) -> usize {
        let offset = piece
            .as_ptr()
            .addr()
            .saturating_sub(self.text.as_ptr().addr());
        if let Some(passed) = self.text.get(self.offset..offset) {
            self.line += passed.matches('\n').count();
            self.offset = offset;
        }
        self.line
    }
}
