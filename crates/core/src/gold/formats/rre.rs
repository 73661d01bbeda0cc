//! Parser of the ratings of the Rated Ranking Evaluator (RRE), also as Quepid exports them.
//!
//! The queries of a group have the same relevant documents: they are one gold query, whose id is the name of
//! the group, else the text of its first query. The other texts are its aliases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::draft::{Draft, QueryDraft};
use super::json::{JsonError, Pairs, Rating, Source, StringOrInteger, parse, scalar};
use super::judgements::JudgementDraft;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};

#[derive(Deserialize)]
struct Ratings {
    /// Name of the placeholder with the text of a query.
    query_placeholder: Option<String>,
    #[serde(default)]
    topics: Vec<Topic>,
    #[serde(default)]
    query_groups: Vec<Group>,
    #[serde(default)]
    queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Topic {
    description: Option<String>,
    #[serde(default)]
    query_groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    name: Option<String>,
    #[serde(default)]
    queries: Vec<Query>,
    relevant_documents: Documents,
}

#[derive(Deserialize)]
struct Query {
    #[serde(default)]
    placeholders: BTreeMap<String, Value>,
    relevant_documents: Option<Documents>,
}

/// Documents by id, `{id: {gain: 3}}`, ids by gain, `{3: [id, …]}`, or a list, `[{document_id: id, gain: 3}, …]`.
struct Documents(Vec<(String, Entry)>);

#[derive(Deserialize)]
struct ListedDocument {
    #[serde(alias = "doc_id", alias = "id")]
    document_id: StringOrInteger,
    gain: Rating,
}

impl<'de> Deserialize<'de> for Documents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Documents;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("documents by id, ids by gain, or a list of documents with `document_id` and `gain`")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Documents, A::Error> {
                let Pairs(documents) = Pairs::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Documents(documents))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Documents, A::Error> {
                let mut documents = Vec::new();
                while let Some(listed) = list.next_element()? {
                    let ListedDocument { document_id, gain } = listed;
                    documents.push((document_id.0, Entry::Document { gain }));
                }
                Ok(Documents(documents))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an object with `gain`, or a list of document ids"
)]
enum Entry {
    Document { gain: Rating },
    Ids(Vec<StringOrInteger>),
}

impl Query {
    /// Text of the query: that of the stated placeholder, else of `$query`, else the first one.
    fn text(&self, placeholder: Option<&str>) -> Option<String> {
        let mut keys = placeholder.into_iter().chain(["$query"]);
        let named = keys.find_map(|key| self.placeholders.get(key));
        let value = named.or_else(|| self.placeholders.values().next())?;
        scalar(value.clone()).filter(|text| !text.trim().is_empty())
    }
}

/// Parses ratings. `None` after a problem.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Option<Draft> {
    let parsed: Result<Ratings, JsonError> = parse(source.text);
    let ratings = parsed
        .map_err(|fault| problems.push(fault.problem(source.file, 1, "")))
        .ok()?;
    let mut draft = Draft::new(source.file.place(None));
    let mut add = |name: Option<String>,
                   texts: Vec<String>,
                   documents: Documents,
                   topic: Option<&String>,
                   problems: &mut Problems| {
        let mut texts = texts.into_iter();
        let text = texts.next();
        let Some(key) = name.or_else(|| text.clone()) else {
            problems.push(Problem::EmptyQueryId {
                place: source.file.place(None),
            });
            return;
        };
        let known: BTreeSet<String> = text.iter().cloned().collect();
        let aliases: BTreeSet<String> = texts.filter(|text| !known.contains(text)).collect();
        let mut query = QueryDraft {
            text,
            aliases: aliases.into_iter().collect(),
            judgements: judgements(source, documents, problems)
                .into_iter()
                .collect(),
            ..QueryDraft::new(source.file.place(None), key)
        };
        if let Some(topic) = topic.filter(|topic| !topic.is_empty()) {
            query.labels.insert("topic".to_owned(), topic.clone());
        }
        draft.queries.push(query);
    };
    let placeholder = ratings.query_placeholder.as_deref();
    let texts = |group: &Group| {
        let texts = group.queries.iter();
        texts.filter_map(|query| query.text(placeholder)).collect()
    };
    for topic in ratings.topics {
        for group in topic.query_groups {
            let texts = texts(&group);
            let description = topic.description.as_ref();
            add(
                group.name,
                texts,
                group.relevant_documents,
                description,
                problems,
            );
        }
    }
    for group in ratings.query_groups {
        let texts = texts(&group);
        add(group.name, texts, group.relevant_documents, None, problems);
    }
    for query in ratings.queries {
        let texts = query.text(placeholder).into_iter().collect();
        if let Some(documents) = query.relevant_documents {
            add(None, texts, documents, None, problems);
        }
    }
    if draft.queries.is_empty() {
        problems.push(Problem::Empty {
            file: source.file.name.clone(),
        });
    }
    Some(draft)
}

fn judgements(
    source: &Source<'_>,
    documents: Documents,
    problems: &mut Problems,
) -> Vec<JudgementDraft<'static>> {
    let mut judgements = Vec::new();
    for (name, entry) in documents.0 {
        match entry {
            Entry::Document { gain } => judgements.push(JudgementDraft::new(name, gain.0)),
            Entry::Ids(ids) => match name.trim().parse().ok().and_then(Grade::new) {
                Some(grade) => {
                    let ids = ids.into_iter();
                    judgements.extend(ids.map(|id| JudgementDraft::new(id.0, grade)));
                }
                None => problems.push(Problem::GradeText {
                    place: source.file.place(None),
                    value: name,
                }),
            },
        }
    }
    judgements
}
