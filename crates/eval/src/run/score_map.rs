//! Runs in the JSON of ranx and pytrec_eval: `{query: {document: score}}`.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use rustc_hash::FxHashSet;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::answer::{Answer, Order, Results, as_compared, by_score};
use super::error::{RunProblem, Wrong};
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

/// Parses a run. The answers are in the order of the file.
pub(super) fn parse(
    text: &str,
    order: Order,
    keeps_scores: bool,
) -> Result<Vec<Answer<'_>>, Wrong> {
    if order == Order::Rank {
        return Err(RunProblem::NoOrder { what: "rank" }.at(1));
    }
    let Entries::<Entries<f64>>(queries) = serde_json::from_str(text).map_err(|error| {
        let line = text.lines().nth(error.line().saturating_sub(1));
        let line = line.unwrap_or_default();
        let mut names = ["NaN", "Infinity"].into_iter();
        let name = names.find(|name| line.contains(name));
        let remedy = name.map_or_else(String::new, |name| {
            format!("; {name} is no number in JSON: write a score, or leave the document out")
        });
        let problem =
            format!("not a run in JSON, `{{query: {{document: score}}}}`: {error}{remedy}");
        RunProblem::Json(problem).at(error.line())
    })?;
    if queries.is_empty() {
        return Err(RunProblem::Empty.into());
    }
    let mut answered = FxHashSet::default();
    let answers = queries.into_iter().map(|(query, Entries(mut documents))| {
        if !answered.insert(query.clone()) {
            let query = query.into_owned();
            return Err(RunProblem::RepeatedQuery { query, first: 1 }.at(1));
        }
        let mut seen = FxHashSet::default();
        if let Some((document, _)) = documents
            .iter()
            .find(|(document, _)| !seen.insert(document))
        {
            let problem = RunProblem::RepeatedDocument {
                query: query.into_owned(),
                document: document.to_string(),
            };
            return Err(problem.at(1));
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
            results: Results::Documents(documents.collect()),
            scores,
        })
    });
    answers.collect()
}
