//! Runs in the JSON of ranx and pytrec_eval: `{query: {document: score}}`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::{Answer, Order, Results, RunError, as_compared, by_score};
use rankgauge_core::event::Text;

/// Entries of an object in their order, including repeated names.
struct Entries<'t, T>(Vec<(Cow<'t, str>, T)>);

impl<'t, 'de: 't, T: Deserialize<'de>> Deserialize<'de> for Entries<'t, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'t, T>(PhantomData<(&'t (), T)>);

        impl<'t, 'de: 't, T: Deserialize<'de>> Visitor<'de> for Reader<'t, T> {
            type Value = Entries<'t, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

pub(super) fn parse<'t>(
    path: &Path,
    text: &'t str,
    order: Order,
    keeps_scores: bool,
) -> Result<Vec<Answer<'t>>, RunError> {
    if order == Order::Rank {
        return Err(RunError::NoOrder {
            path: path.to_owned(),
            line: 1,
            what: "rank",
        });
    }
    let Entries::<'t, Entries<'t, f64>>(queries) =
        serde_json::from_str(text).map_err(|error| RunError::Json {
            path: path.to_owned(),
            line: error.line(),
            reason: format!("not a run in JSON, `{{query: {{document: score}}}}`: {error}"),
        })?;
    if queries.is_empty() {
        return Err(RunError::Empty {
            path: path.to_owned(),
        });
    }
    let mut answered = FxHashSet::default();
    let answers = queries.into_iter().map(|(query, Entries(mut documents))| {
        if !answered.insert(query.clone()) {
            return Err(RunError::RepeatedQuery {
                path: path.to_owned(),
                line: 1,
                query: query.into_owned(),
                first: 1,
            });
        }
        let mut seen = FxHashSet::default();
        if let Some((document, _)) = documents
            .iter()
            .find(|(document, _)| !seen.insert(document))
        {
            return Err(RunError::RepeatedDocument {
                path: path.to_owned(),
                line: 1,
                query: query.into_owned(),
                document: document.to_string(),
            });
        }
        if order == Order::Score {
            documents.sort_by(|(a, first), (b, second)| {
                by_score((as_compared(*first), a), (as_compared(*second), b))
            });
        }
        let scores = documents.iter().map(|(_, score)| *score);
        let scores = scores.filter(|_| keeps_scores).collect();
        let documents = documents.into_iter().map(|(document, _)| document);
        Ok(Answer {
            query,
            line: 1,
            results: Results::Documents(documents.collect()),
            scores,
        })
    });
    answers.collect()
}
