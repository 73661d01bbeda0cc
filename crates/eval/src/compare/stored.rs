//! Per-query scores in a stored evaluation: the JSON of `rankgauge evaluate --per-query`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::scores::RunScores;
use crate::evaluate::{GoldFacts, StatedSettings};

/// Stored evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvaluation {
    /// Gold set that the runs were judged against.
    pub gold: GoldFacts,
    /// Scores of the runs.
    pub runs: Vec<RunScores>,
    /// Settings of the judgement; `None` in a file of an earlier version.
    pub judging: Option<StatedSettings>,
}

/// Error in a stored evaluation, with its file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum StoredError {
    #[error(
        "{file}:{}: not a stored evaluation: {source}; write one with `rankgauge evaluate \
         --per-query --format json`",
        .source.line()
    )]
    Json {
        file: String,
        source: serde_json::Error,
    },
    #[error(
        "{file}: the run `{run}` has only means, and means cannot be paired; write the file with \
         `rankgauge evaluate --per-query --format json`"
    )]
    OnlyMeans { file: String, run: String },
}

/// Object with its members in the order of the file.
struct Members<V>(Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Members<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<V>(std::marker::PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Reader<V> {
            type Value = Members<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader(std::marker::PhantomData))
    }
}

#[derive(serde::Deserialize)]
struct File {
    gold: GoldFacts,
    runs: Vec<Run>,
    judging: Option<StatedSettings>,
}

#[derive(serde::Deserialize)]
struct Run {
    name: String,
    means: Members<IgnoredAny>,
    per_query: Option<Members<BTreeMap<String, f64>>>,
}

impl StoredEvaluation {
    /// Reads the JSON of an evaluation. `file` is the name used in errors.
    ///
    /// # Errors
    /// The text is not the JSON of an evaluation, or has no scores of queries.
    pub fn read(file: &str, text: &[u8]) -> Result<Self, StoredError> {
        let stored: File = serde_json::from_slice(text).map_err(|source| StoredError::Json {
            file: file.to_owned(),
            source,
        })?;
        let runs = stored.runs.into_iter().map(|run| {
            let measures: Vec<String> = run.means.0.into_iter().map(|(name, _)| name).collect();
            let Some(Members(queries)) = run.per_query else {
                return Err(StoredError::OnlyMeans {
                    file: file.to_owned(),
                    run: run.name,
                });
            };
            let queries = queries.into_iter().map(|(key, scores)| {
                let scores = measures.iter().map(|measure| scores.get(measure).copied());
                (key, scores.collect())
            });
            Ok(RunScores {
                name: run.name,
                queries: queries.collect(),
                measures,
            })
        });
        Ok(Self {
            gold: stored.gold,
            runs: runs.collect::<Result<_, _>>()?,
            judging: stored.judging,
        })
    }
}
