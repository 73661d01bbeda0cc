//! Writer of a gold set from clicks, in the native format.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::analysis::{Analysis, ClickGrade, GradedQuery};

impl Analysis {
    /// Gold set of the kind `clicks`, as JSON in the native format.
    ///
    /// # Errors
    /// None in practice: ids and numbers can always be written.
    pub fn gold_set(&self) -> Result<String, serde_json::Error> {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for key in self.graded.iter().filter_map(|query| query.key.as_deref()) {
            *uses.entry(key).or_default() += 1;
        }
        let queries = self.graded.iter().map(|query| {
            let key = query.key.as_deref();
            let key = key.filter(|key| uses.get(key) == Some(&1));
            let documents = query.documents.iter();
            let documents: Map<String, Value> = documents
                .map(|document| (document.document.clone(), judgement(document)))
                .collect();
            let mut object = Map::new();
            let id = key.map_or_else(|| id_of(query), str::to_owned);
            object.insert("query_id".into(), id.into());
            if !query.text.is_empty() {
                object.insert("query_text".into(), query.text.as_str().into());
            }
            object.insert("ground_truth".into(), documents.into());
            Value::Object(object)
        });
        let set = json!({
            "kind": "clicks",
            "relevance_level": 1,
            "scale_max": self.scale_max,
            "queries": queries.collect::<Vec<Value>>(),
        });
        serde_json::to_string_pretty(&set).map(|text| text + "\n")
    }
}

/// Id of a query whose searches do not agree on a key of its own.
fn id_of(query: &GradedQuery) -> String {
    let digest = Sha256::digest(&query.text);
    let first = digest.iter().take(8);
    let number = first.fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("clicks-{number:016x}")
}

fn judgement(document: &ClickGrade) -> Value {
    let [low, high] = document.interval;
    json!({
        "relevance": document.grade,
        "notes": format!(
            "clicks: attractiveness {:.3} [{low:.3}, {high:.3}], {:.1} examined impressions",
            document.attractiveness, document.exposure
        ),
    })
}
