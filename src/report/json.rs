//! stop-gap
use super::Options;
use crate::evaluate::Evaluation;
use serde_json::{Map, Value, json};

pub(super) fn write(evaluation: &Evaluation, options: Options) -> String {
    let named = |scores: &[Option<f64>]| {
        let mut map = Map::new();
        for (name, score) in evaluation.measures.iter().zip(scores) {
            if let Some(score) = score {
                map.insert(name.clone(), json!(score));
            }
        }
        Value::Object(map)
    };
    let runs: Vec<Value> = evaluation
        .runs
        .iter()
        .map(|run| {
            let mut by = Map::new();
            for slice in &run.by {
                let mut values = Map::new();
                for value in &slice.values {
                    values.insert(value.value.clone(), named(&value.means));
                }
                by.insert(slice.name.clone(), Value::Object(values));
            }
            let mut micro = Map::new();
            for one in &run.micro {
                micro.insert(
                    format!("P@{}", one.cutoff),
                    json!(one.documents.precision()),
                );
                micro.insert(format!("R@{}", one.cutoff), json!(one.documents.recall()));
                micro.insert(format!("F1@{}", one.cutoff), json!(one.documents.f1()));
            }
            let mut object = json!({
                "name": run.name, "queries": run.queries.len(), "missing": run.missing,
                "unknown": run.unknown,
                "means": named(&run.means), "micro": micro, "by": by,
            });
            if options.per_query {
                let mut queries = Map::new();
                for query in &run.queries {
                    queries.insert(query.key.clone(), named(&query.scores));
                }
                object["per_query"] = Value::Object(queries);
            }
            object
        })
        .collect();
    let gold = &evaluation.gold;
    let gold = json!({"version": gold.version, "sha256": gold.sha256, "queries": gold.queries});
    format!("{}\n", json!({"gold": gold, "runs": runs}))
}
