//! Web shop of the demo, and the faults of both libraries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rankgauge_core::event::Kind;
use rankgauge_core::time::Millis;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::shop::{SYSTEMS, Shop};
use rankgauge_lab::traffic::{Fault, Record, Traffic, TrafficSettings};
use serde_json::Value;

const RECORDS: usize = 6_000;

fn settings(fault: Option<Fault>) -> TrafficSettings {
    TrafficSettings {
        fault: fault.unwrap_or_default(),
        regress_after: fault.map(|_| Millis(0)),
        answers: true,
        ..TrafficSettings::default()
    }
}

fn shop(fault: Option<Fault>) -> Vec<Record> {
    let shop = Arc::new(Shop::generate(1));
    Traffic::of_shop(shop, settings(fault))
        .take(RECORDS)
        .collect()
}

fn law(settings: TrafficSettings) -> Vec<Value> {
    let corpus = Arc::new(Corpus::generate(1, 100));
    searches(Traffic::new(corpus, settings).take(RECORDS))
}

fn searches(records: impl IntoIterator<Item = Record>) -> Vec<Value> {
    let searches = records.into_iter().filter(|it| it.kind == Kind::Search);
    searches
        .map(|it| serde_json::from_slice(&it.payload).unwrap())
        .collect()
}

/// Gold queries by their texts, without case and further spaces.
fn gold() -> BTreeMap<String, Value> {
    let gold: Value = serde_json::from_str(&Shop::generate(1).gold_json()).unwrap();
    let queries = gold["queries"].as_array().unwrap().iter();
    queries
        .map(|it| (folded(&it["query_text"]), it.clone()))
        .collect()
}

fn folded(text: &Value) -> String {
    let words = text.as_str().unwrap().to_lowercase();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn system(search: &Value) -> &str {
    search["experiment"]["variant"].as_str().unwrap()
}

/// Share of the first five results that are relevant, by system.
fn precision(searches: &[Value]) -> BTreeMap<&str, f64> {
    let gold = gold();
    let mut totals: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for search in searches {
        let Some(query) = gold.get(&folded(&search["query"])) else {
            continue;
        };
        let results = search["results"].as_array().unwrap().iter().take(5);
        let grades = results
            .map(|it| query["ground_truth"][it["id"].as_str().unwrap()]["relevance"].as_f64());
        let (relevant, all) = totals.entry(system(search)).or_default();
        for grade in grades {
            *all += 1.0;
            *relevant += f64::from(u8::from(grade > Some(0.0)));
        }
    }
    totals
        .into_iter()
        .map(|(system, (relevant, all))| (system, relevant / all))
        .collect()
}

#[test]
fn equal_seeds_give_equal_shops() {
    assert_eq!(Shop::generate(3).gold_json(), Shop::generate(3).gold_json());
    assert_ne!(Shop::generate(3).gold_json(), Shop::generate(4).gold_json());
    assert_eq!(shop(None), shop(None));
}

#[test]
fn systems_are_ordered_and_a_fault_changes_the_last_one() {
    let healthy = searches(shop(None));
    let precision_before = precision(&healthy);
    let before = SYSTEMS.map(|it| precision_before[it]);
    assert!(before.is_sorted(), "{precision_before:?}");
    let worse = searches(shop(Some(Fault::Ranking)));
    let after = precision(&worse);
    assert!(after["rerank"] + 0.1 < before[2], "{after:?}");
    assert!((after["hybrid"] - before[1]).abs() < 0.05, "{after:?}");
}

#[test]
fn assistant_answers_questions_of_two_systems_and_cites_served_products() {
    let gold = gold();
    let (mut answered, mut refused) = (0, 0);
    for search in searches(shop(None)) {
        let query = gold.get(&folded(&search["query"]));
        let is_question = query.is_some_and(|it| it["query_type"] == "question");
        let expected =
            is_question && system(&search) != "keyword" && search["error_type"].is_null();
        let Some(answer) = search["answer"].as_object() else {
            assert!(!expected, "{search}");
            continue;
        };
        assert!(expected, "{search}");
        let served: BTreeSet<&str> = search["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it["id"].as_str())
            .collect();
        let mut cited = answer["citations"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str);
        assert!(cited.all(|it| served.contains(it)), "{search}");
        answered += 1;
        if query.unwrap()["answerable"] == false {
            refused += i32::from(answer["refused"] == true);
        }
    }
    assert!(
        answered > 50 && refused > 5,
        "{answered} answers, {refused} refused"
    );
}

#[test]
fn outage_fails_every_search_and_new_products_are_not_judged() {
    for search in searches(shop(Some(Fault::Outage))) {
        assert!(search["results"].as_array().unwrap().is_empty(), "{search}");
        assert!(search["error_type"].is_string(), "{search}");
    }
    let gold = gold();
    let (mut judged, mut all) = (0, 0);
    for search in searches(shop(Some(Fault::Unjudged))) {
        let Some(query) = gold.get(&folded(&search["query"])) else {
            continue;
        };
        if system(&search) != "rerank" {
            continue;
        }
        for result in search["results"].as_array().unwrap() {
            all += 1;
            judged += i32::from(
                query["ground_truth"]
                    .get(result["id"].as_str().unwrap())
                    .is_some(),
            );
        }
    }
    assert!(judged * 4 < all * 3, "{judged} of {all} judged");
}

#[test]
fn wrong_citations_change_nothing_but_the_answers_of_the_last_version() {
    let healthy = law(settings(None));
    let wrong = law(settings(Some(Fault::Citations)));
    let without = law(TrafficSettings {
        answers: false,
        ..settings(None)
    });
    let mut changed = 0;
    for ((healthy, wrong), without) in healthy.into_iter().zip(wrong).zip(without) {
        let is_changed = healthy["answer"] != wrong["answer"];
        changed += i32::from(is_changed);
        assert!(!is_changed || system(&healthy) == "V5");
        let [healthy, wrong] = [healthy, wrong].map(|mut search| {
            search.as_object_mut().unwrap().remove("answer");
            search
        });
        assert_eq!(healthy, wrong);
        assert_eq!(healthy, without);
    }
    assert!(changed > 50, "{changed}");
}
