//! Search as its record states it, its relation to the gold set, and the results events refer to.

use std::collections::BTreeSet;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use super::{Search, bit, count, text, time};
use crate::engine::brute_force::EXPERIMENT;

/// Relevance level of the gold set.
pub(super) const RELEVANT: f64 = 2.0;

impl Search {
    pub(super) fn read(arrived: usize, event: &Value, gold: &Value, is_late: bool) -> Self {
        let mut hits: Vec<&Value> = event["results"]
            .as_array()
            .expect("results")
            .iter()
            .collect();
        if hits.iter().all(|hit| hit.get("rank").is_some()) {
            hits.sort_by_key(|hit| hit["rank"].as_i64());
        }
        let (query, key) = (
            event.get("query").map(text),
            event.get("query_key").map(text),
        );
        let query = query.as_deref().map(normalise);
        let of_gold = |found: &dyn Fn(&Value) -> bool| {
            let queries = gold["queries"].as_array().expect("queries");
            queries.iter().find(|query| found(query))
        };
        let by_key = of_gold(&|it| {
            key.as_ref()
                .is_some_and(|key| it["query_id"] == key.as_str())
        });
        let by_text = || {
            let query = query.as_ref()?;
            let is_it = |text: &Value| text.as_str().map(normalise).as_ref() == Some(query);
            of_gold(&|it| {
                let aliases = it["aliases"].as_array();
                is_it(&it["query_text"]) || aliases.into_iter().flatten().any(is_it)
            })
        };
        let gold = if key.is_some() { by_key } else { by_text() };
        let experiment = event["experiment"]["id"].as_str().unwrap_or("").to_owned();
        let arm = &event["experiment"]["variant"];
        let variant = arm.as_str().or(event["variant"].as_str()).unwrap_or("");
        let mut slices = vec![("all", String::new())];
        for name in ["query_type", "device"] {
            let of_gold = gold.and_then(|gold| label(&gold[name]));
            let value = of_gold.or_else(|| label(&event["labels"][name]));
            slices.extend(value.map(|value| (name, value)));
        }
        if experiment == EXPERIMENT {
            slices.push(("experiment", experiment.clone()));
        }
        Self {
            arrived,
            ts: time(event),
            id: text(&event["query_id"]),
            session: event.get("session_id").map(text),
            question: query.or(key).expect("a query"),
            results: hits.iter().map(|hit| text(&hit["id"])).collect(),
            teams: hits.iter().map(|hit| hit.get("team").map(text)).collect(),
            experiment,
            variant: variant.to_owned(),
            slices,
            gold: gold.map(|gold| {
                let grades = gold["ground_truth"].as_object().expect("grades").iter();
                grades
                    .map(|(id, grade)| (id.clone(), grade.as_f64().expect("a grade")))
                    .collect()
            }),
            is_late,
        }
    }

    /// Position of the result that an event refers to; `None` if it was not served.
    pub(super) fn position(&self, event: &Value) -> Option<usize> {
        let position = event["position"]
            .as_u64()
            .and_then(|it| usize::try_from(it).ok());
        let stated = position.filter(|position| (1..=self.results.len()).contains(position));
        let Some(object) = event["object_id"].as_str() else {
            return stated;
        };
        let stated = stated.filter(|position| self.results[position - 1] == object);
        let first = || self.results.iter().position(|id| id == object);
        stated.or_else(|| Some(first()? + 1))
    }

    /// Scores of the ranking according to the gold set.
    pub(super) fn judge(&self) -> Vec<(&'static str, f64)> {
        let Some(gold) = &self.gold else {
            return Vec::new();
        };
        let mut seen = BTreeSet::new();
        let first = self.results.iter().map(|id| seen.insert(id));
        let first: Vec<bool> = first.collect();
        let grades: Vec<f64> = self
            .results
            .iter()
            .zip(first)
            .map(|(id, is_first)| {
                if is_first {
                    gold.get(id).copied().unwrap_or(0.0)
                } else {
                    0.0
                }
            })
            .collect();
        let is_relevant = |grade: &&f64| **grade >= RELEVANT;
        let relevant = gold.values().filter(is_relevant).count();
        let found = grades.iter().take(5).filter(is_relevant).count();
        let gain = |grades: &[f64]| -> f64 {
            let top = grades.iter().take(5).zip(2_u32..);
            top.map(|(grade, place)| grade / f64::from(place).log2())
                .sum()
        };
        let mut ideal: Vec<f64> = gold.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let rank = grades.iter().position(|grade| *grade >= RELEVANT);
        vec![
            ("P@1", bit(rank == Some(0))),
            ("R@5", count(found) / count(relevant)),
            ("nDCG@5", gain(&grades) / gain(&ideal)),
            ("RR", rank.map_or(0.0, |rank| 1.0 / count(rank + 1))),
        ]
    }
}

fn normalise(text: &str) -> String {
    let text: String = text.nfkc().collect::<String>().to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Value in the form of a label value, if it can be one.
fn label(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
