//! Gold set of the shop in the native format.

use serde_json::{Map, Value, json};

use super::catalogue::{Product, SCALE_MAX, ShopQuery};

/// Every so many judgements are given twice, and differ by a grade.
const JUDGED_TWICE: usize = 2;
const DISAGREEMENT: usize = 9;

pub(super) fn json(seed: u64, products: &[Product], queries: &[ShopQuery]) -> String {
    let queries: Vec<Value> = queries.iter().map(|query| entry(products, query)).collect();
    let gold = json!({
        "version": format!("demo-{seed}"),
        "created_at": "2025-11-17",
        "scale_max": SCALE_MAX,
        "relevance_level": 1,
        "queries": queries,
    });
    format!("{gold:#}")
}

fn entry(products: &[Product], query: &ShopQuery) -> Value {
    let mut truth = Map::new();
    let mut relevant = 0;
    for (place, it) in query.candidates.iter().enumerate() {
        let product = &products[it.product];
        let mut judgement = json!({"relevance": it.grade, "brand": product.brand});
        relevant += usize::from(it.grade > 0);
        if it.product.is_multiple_of(JUDGED_TWICE) {
            let is_equal = (it.product + place) % DISAGREEMENT != 0;
            let second = match it.grade {
                grade if is_equal => grade,
                0 => 1,
                grade => grade - 1,
            };
            judgement["annotator_1"] = json!(it.grade);
            judgement["annotator_2"] = json!(second);
        }
        truth.insert(product.id.clone(), judgement);
    }
    let mut entry = json!({
        "query_id": query.key,
        "query_text": query.text,
        "query_type": query.query_type,
        "labels": {"department": query.department},
        "ground_truth": truth,
        "total_relevant": relevant,
    });
    if let Some(question) = &query.question {
        entry["answerable"] = json!(question.is_answerable);
        if question.is_answerable {
            let best: Vec<&Product> = query.best().into_iter().map(|it| &products[it]).collect();
            entry["must_cite"] = best.iter().map(|it| it.id.as_str()).collect();
            entry["must_contain"] = json!([question.property.0]);
            entry["answers"] = json!([question.answer(&best)]);
        }
    }
    entry
}
