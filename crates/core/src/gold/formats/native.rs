//! Parser of the native JSON format, which is also the format of the law-search methodology.
//!
//! ```json
//! {"version": "1.0", "queries": [{"query_id": "Q001", "query_text": "17조 검색",
//!   "ground_truth": {"법률_제17조": 3, "시행령_제17조": {"relevance": 2, "law_type": "시행령"}}}]}
//! ```
//!
//! Each query is parsed separately: an error in one does not hide errors in the next. Unknown
//! fields are ignored. Repeated fields are errors: a plain JSON parser would silently keep one.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::draft::{Draft, QueryDraft, SubtopicDraft};
use super::json::{
    JsonError, LineCounter, Pairs, Source, StringOrInteger, each_object, into_strings_by_name,
    parse, scalar, words,
};
use super::judgements::JudgementDraft;
use crate::gold::answer::ExpectedAnswer;
use crate::gold::graph::{Edge, Graph};
use crate::gold::judgements::Grade;
use crate::gold::problem::{Place, Problem, Problems};
use crate::gold::query::{GoldQuery, JudgementDetail};

/// File with unparsed queries.
#[derive(Deserialize)]
struct NativeSet<'a> {
    version: Option<StringOrInteger>,
    created_at: Option<StringOrInteger>,
    kind: Option<StringOrInteger>,
    relevance_level: Option<Grade>,
    scale_max: Option<Grade>,
    #[serde(borrow)]
    queries: &'a RawValue,
}

#[derive(Deserialize)]
struct NativeQuery {
    query_id: StringOrInteger,
    #[serde(alias = "query")]
    query_text: Option<String>,
    query_type: Option<StringOrInteger>,
    difficulty: Option<StringOrInteger>,
    primary_domain: Option<StringOrInteger>,
    category: Option<StringOrInteger>,
    ground_truth: Option<Pairs<NativeJudgement>>,
    total_relevant: Option<u64>,
    needs_a2a: Option<bool>,
    needs_rne: Option<bool>,
    needs: Option<BTreeMap<String, bool>>,
    aliases: Option<Vec<String>>,
    labels: Option<BTreeMap<String, StringOrInteger>>,
    expected: Option<BTreeMap<String, Vec<StringOrInteger>>>,
    required: Option<Vec<StringOrInteger>>,
    answers: Option<Vec<String>>,
    must_cite: Option<Vec<StringOrInteger>>,
    must_contain: Option<Vec<String>>,
    answerable: Option<bool>,
    graph: Option<NativeGraph>,
    texts: Option<Vec<String>>,
    /// Documents with grades, by subtopic.
    subtopics: Option<BTreeMap<String, Pairs<Grade>>>,
}

#[derive(Deserialize)]
struct NativeGraph {
    #[serde(default)]
    nodes: Vec<StringOrInteger>,
    #[serde(default)]
    edges: Vec<NativeEdge>,
}

#[derive(Deserialize)]
struct NativeEdge {
    from: StringOrInteger,
    to: StringOrInteger,
}

/// Parses a set. `None` if there is no list of queries.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let Source { file, text } = source;
    // A derived deserializer also accepts an array with the fields in order. Reject it here.
    if !text.trim_start().starts_with('{') {
        let blank = text.lines().take_while(|line| line.trim().is_empty());
        problems.push(Problem::UnrecognisedFormat {
            place: file.place(Some(blank.count() + 1)),
        });
        return None;
    }
    let set: NativeSet<'_> = match parse(text) {
        Ok(set) => set,
        Err(fault) => {
            problems.push(fault.problem(file, 1, ""));
            return None;
        }
    };
    let mut draft = Draft::new(file.place(None));
    let found = each_object(
        source,
        &mut LineCounter::new(text),
        set.queries.get(),
        "queries",
        "a query, which is an object with `query_id` and `ground_truth`",
        problems,
        |line, text| {
            let query: NativeQuery = parse(text)?;
            if query.ground_truth.is_none() && query.texts.is_none() && !query.expects_answer() {
                return Err(JsonError::missing("ground_truth"));
            }
            draft.queries.push(query.into_draft(file.place(Some(line))));
            Ok(())
        },
    );
    if found == 0 && set.queries.get().starts_with('[') {
        problems.push(Problem::NoQueries {
            file: file.name.clone(),
            list: "queries",
        });
    }
    draft.version = set.version.map(|version| version.0);
    draft.created_at = set.created_at.map(|time| time.0);
    draft.kind = set.kind.map(|kind| kind.0);
    draft.relevance_level = set.relevance_level;
    draft.scale_max = set.scale_max;
    Some(draft)
}

impl NativeQuery {
    /// Returns true if the answer to the query is judged.
    fn expects_answer(&self) -> bool {
        self.answers.is_some()
            || self.must_cite.is_some()
            || self.must_contain.is_some()
            || self.answerable.is_some()
    }

    fn into_draft(self, place: Place) -> QueryDraft {
        let mut labels = into_strings_by_name(self.labels);
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
        // A slice like the others: the right answers of the two kinds differ.
        if let Some(answerable) = self.answerable {
            labels.insert(GoldQuery::ANSWERABLE.to_owned(), answerable.to_string());
        }
        let mut needs = self.needs.unwrap_or_default();
        for (component, needed) in [("a2a", self.needs_a2a), ("rne", self.needs_rne)] {
            if let Some(needed) = needed {
                needs.insert(component.to_owned(), needed);
            }
        }
        let judgements =
            self.ground_truth
                .into_iter()
                .flat_map(|pairs| pairs.0)
                .map(|(document, judgement)| {
                    JudgementDraft::new(document, judgement.grade).with_detail(judgement.detail)
                });
        let expected = self.expected.unwrap_or_default();
        let subtopics = self.subtopics.unwrap_or_default().into_iter();
        let subtopics = subtopics.flat_map(|(subtopic, documents)| {
            documents
                .0
                .into_iter()
                .map(move |(document, grade)| SubtopicDraft {
                    document,
                    subtopic: subtopic.clone(),
                    grade,
                })
        });
        QueryDraft {
            text: self.query_text,
            aliases: self.aliases.unwrap_or_default(),
            labels,
            needs,
            total_relevant: self.total_relevant,
            check_total_relevant: true,
            judgements: judgements.collect(),
            expected: expected
                .into_iter()
                .map(|(facet, values)| (facet, words(values)))
                .collect(),
            required: words(self.required.unwrap_or_default()),
            answer: ExpectedAnswer {
                references: self.answers.unwrap_or_default(),
                must_cite: words(self.must_cite.unwrap_or_default()),
                must_contain: self.must_contain.unwrap_or_default(),
                answerable: self.answerable,
            },
            graph: self.graph.map(|graph| {
                let edges = graph.edges.into_iter().map(|edge| Edge {
                    from: edge.from.0,
                    to: edge.to.0,
                });
                Graph::new(words(graph.nodes), edges.collect())
            }),
            texts: self.texts.unwrap_or_default(),
            subtopics: subtopics.collect(),
            ..QueryDraft::new(place, self.query_id.0)
        }
    }
}

/// Grade, alone or in an object with further fields of the judgement.
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
                _ => {
                    if let Some(facet) = scalar(map.next_value::<Value>()?) {
                        detail.facets.insert(field, facet);
                    }
                }
            }
        }
        let grade = grade.ok_or_else(|| A::Error::missing_field("relevance"))?;
        Ok(NativeJudgement { grade, detail })
    }
}
