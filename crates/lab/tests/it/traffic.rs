//! The synthetic world of the demo: deterministic, well-formed, and with the scores of its tables.

mod components;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Fault, Record, Traffic, TrafficSettings};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

const QUERIES: usize = 200;
/// Table 5.1 of the evaluation plan: P@5, R@10, nDCG@10 and MRR.
const LEVELS: [(&str, Scores); 5] = [
    ("V1", [0.65, 0.45, 0.58, 0.72]),
    ("V2", [0.72, 0.52, 0.65, 0.78]),
    ("V3", [0.78, 0.61, 0.72, 0.82]),
    ("V4", [0.83, 0.71, 0.79, 0.86]),
    ("V5", [0.87, 0.78, 0.84, 0.89]),
];
const NAMES: [&str; 4] = ["P@5", "R@10", "nDCG@10", "MRR"];
/// Largest difference between a mean over 20,000 searches and its table.
const TOLERANCE: f64 = 0.03;

type Scores = [f64; 4];

/// Gold set as read from the file.
struct Gold {
    keys: HashMap<String, usize>,
    texts: HashMap<String, usize>,
    grades: Vec<HashMap<String, f64>>,
    categories: Vec<String>,
    aliases: Vec<String>,
}

impl Gold {
    fn of(corpus: &Corpus) -> Self {
        let file: Value = serde_json::from_str(&corpus.gold_json()).unwrap();
        let mut gold = Self {
            keys: HashMap::new(),
            texts: HashMap::new(),
            grades: Vec::new(),
            categories: Vec::new(),
            aliases: Vec::new(),
        };
        for (number, query) in file["queries"].as_array().unwrap().iter().enumerate() {
            gold.keys.insert(text(query, "query_id").to_owned(), number);
            gold.texts
                .insert(normalise(text(query, "query_text")), number);
            for alias in text_list(&query["aliases"]) {
                let earlier = gold.texts.insert(normalise(alias), number);
                assert_eq!(earlier, None, "two queries share {alias}");
                gold.aliases.push(alias.to_owned());
            }
            gold.categories
                .push(text(&query["labels"], "category").to_owned());
            let truth = query["ground_truth"].as_object().unwrap().iter();
            gold.grades.push(
                truth
                    .map(|(id, entry)| (id.clone(), entry["relevance"].as_f64().unwrap()))
                    .collect(),
            );
        }
        gold
    }

    /// Gold query of a search: by its key, else by its normalised text.
    fn find(&self, search: &Value) -> Option<usize> {
        match search["query_key"].as_str() {
            Some(key) => self.keys.get(key).copied(),
            None => self.texts.get(&normalise(text(search, "query"))).copied(),
        }
    }

    fn scores(&self, number: usize, search: &Value) -> Scores {
        let judged = &self.grades[number];
        let served = search["results"].as_array().unwrap().iter();
        let served: Vec<f64> = served
            .map(|hit| judged.get(text(hit, "id")).copied().unwrap_or(0.0))
            .collect();
        let mut ideal: Vec<f64> = judged.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        let relevant = |grades: &[f64], k: usize| -> f64 {
            grades
                .iter()
                .take(k)
                .filter(|&&grade| grade > 0.0)
                .map(|_| 1.0)
                .sum()
        };
        let dcg = |grades: &[f64]| -> f64 {
            let discounts = (2_u32..12).map(|rank| f64::from(rank).log2());
            grades
                .iter()
                .zip(discounts)
                .map(|(grade, discount)| grade / discount)
                .sum()
        };
        let first = (1_u32..).zip(&served).find(|&(_, &grade)| grade > 0.0);
        [
            relevant(&served, 5) / 5.0,
            relevant(&served, 10) / relevant(&ideal, ideal.len()),
            dcg(&served) / dcg(&ideal),
            first.map_or(0.0, |(rank, _)| 1.0 / f64::from(rank)),
        ]
    }
}

/// Sum of scores and their number.
#[derive(Default)]
struct Mean {
    sums: Scores,
    count: f64,
}

impl Mean {
    fn add(&mut self, scores: Scores) {
        for (sum, score) in self.sums.iter_mut().zip(scores) {
            *sum += score;
        }
        self.count += 1.0;
    }

    fn get(&self) -> Scores {
        self.sums.map(|sum| sum / self.count)
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{field}` in {value}"))
}

fn normalise(text: &str) -> String {
    let text: String = text.nfkc().collect();
    text.to_lowercase()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn corpus() -> Arc<Corpus> {
    Arc::new(Corpus::generate(7, QUERIES))
}

fn event(record: &Record) -> Value {
    serde_json::from_slice(&record.payload).unwrap()
}

/// First `count` searches of a stream.
fn searches(traffic: Traffic, count: usize) -> impl Iterator<Item = Value> {
    let searches = traffic
        .filter(|record| record.kind == Kind::Search)
        .take(count);
    searches.map(|record| event(&record))
}

/// Mean scores by variant and, after a slash, by variant and category.
fn means(gold: &Gold, searches: impl Iterator<Item = Value>) -> BTreeMap<String, Mean> {
    let mut means: BTreeMap<String, Mean> = BTreeMap::new();
    for search in searches {
        let Some(number) = gold.find(&search) else {
            continue;
        };
        let scores = gold.scores(number, &search);
        let variant = text(&search["experiment"], "variant");
        let category = &gold.categories[number];
        means.entry(variant.to_owned()).or_default().add(scores);
        means
            .entry(format!("{variant}/{category}"))
            .or_default()
            .add(scores);
    }
    means
}

fn assert_near(what: &str, found: Scores, table: Scores) {
    for ((found, table), name) in found.into_iter().zip(table).zip(NAMES) {
        assert!(
            (found - table).abs() <= TOLERANCE,
            "{name} of {what} is {found:.3}, its table says {table}"
        );
    }
}

#[test]
fn equal_settings_give_equal_bytes_and_another_seed_gives_different_ones() {
    let settings = TrafficSettings {
        duplicate_share: 0.01,
        disorder: Millis(5_000),
        ..TrafficSettings::default()
    };
    let take = |settings| -> Vec<Record> { Traffic::new(corpus(), settings).take(3_000).collect() };
    assert_eq!(take(settings), take(settings));
    assert_ne!(
        take(settings),
        take(TrafficSettings {
            seed: 2,
            ..settings
        })
    );
    assert_eq!(corpus().gold_json(), corpus().gold_json());
    assert_ne!(
        corpus().gold_json(),
        Corpus::generate(8, QUERIES).gold_json()
    );
}

#[test]
fn every_variant_reaches_the_levels_of_the_evaluation_plan() {
    let corpus = corpus();
    let gold = Gold::of(&corpus);
    let traffic = Traffic::new(corpus, TrafficSettings::default());
    let means = means(&gold, searches(traffic, 20_000));
    let all: f64 = LEVELS
        .iter()
        .map(|(variant, _)| means[*variant].count)
        .sum();
    for (variant, table) in LEVELS {
        assert_near(variant, means[variant].get(), table);
        let share = means[variant].count / all;
        assert!(
            (share - 0.2).abs() < 0.02,
            "{variant} served {share:.3} of the searches"
        );
    }
}

#[test]
fn categories_have_the_difficulty_of_the_evaluation_plan() {
    let corpus = corpus();
    let gold = Gold::of(&corpus);
    let traffic = Traffic::new(corpus, TrafficSettings::default());
    let means = means(&gold, searches(traffic, 20_000));
    // Table 5.2 for the best and the worst version: P@5, R@10, nDCG@10. Its mean over the
    // categories is up to 0.02 away from table 5.1, and about 800 searches make one cell.
    let table = [
        ("V1/A", [0.85, 0.62, 0.74]),
        ("V1/B", [0.62, 0.42, 0.55]),
        ("V1/C", [0.54, 0.35, 0.48]),
        ("V1/D", [0.48, 0.31, 0.42]),
        ("V5/A", [0.98, 0.87, 0.92]),
        ("V5/B", [0.88, 0.76, 0.86]),
        ("V5/C", [0.84, 0.73, 0.82]),
        ("V5/D", [0.82, 0.72, 0.80]),
    ];
    for (cell, table) in table {
        for ((found, table), name) in means[cell].get().into_iter().zip(table).zip(NAMES) {
            assert!(
                (found - table).abs() <= 0.02 + TOLERANCE,
                "{name} of {cell} is {found:.3}, its table says {table}"
            );
        }
    }
}

#[test]
fn a_regression_lowers_v5_to_about_v2_and_leaves_other_variants_unchanged() {
    let corpus = corpus();
    let gold = Gold::of(&corpus);
    let settings = TrafficSettings {
        regress_after: Some(Millis(0)),
        ..TrafficSettings::default()
    };
    let means = means(
        &gold,
        searches(Traffic::new(Arc::clone(&corpus), settings), 20_000),
    );
    for (variant, table) in LEVELS {
        let expected = if variant == "V5" { LEVELS[1].1 } else { table };
        assert_near(variant, means[variant].get(), expected);
    }

    // The additions of expansion and agents are wrong now, and latency is higher.
    let wrong_only = |search: &Value| {
        let number = gold.find(search);
        search["results"].as_array().unwrap().iter().all(|hit| {
            let added = hit["stages"].as_array().unwrap().iter().any(|stage| {
                let stage = stage.as_str().unwrap();
                stage == "a2a" || stage.starts_with("rne_")
            });
            let grade = number.and_then(|number| gold.grades[number].get(text(hit, "id")));
            !added || grade.is_none_or(|&grade| grade < 1.0)
        })
    };
    let v5: Vec<Value> = searches(Traffic::new(corpus, settings), 5_000)
        .filter(|search| search["experiment"]["variant"] == "V5")
        .collect();
    assert!(v5.iter().all(wrong_only));
    let latency = mean_latency(&v5);
    assert!(
        (latency / (680.0 * 1.4) - 1.0).abs() < 0.05,
        "mean latency is {latency} ms"
    );
}

#[test]
fn a_regression_begins_at_the_configured_time() {
    let corpus = corpus();
    let start = TrafficSettings::default().start;
    let settings = TrafficSettings {
        regress_after: Some(Millis(60_000)),
        ..TrafficSettings::default()
    };
    let calm = Traffic::new(Arc::clone(&corpus), TrafficSettings::default());
    let before = calm.zip(Traffic::new(corpus, settings));
    let differs = before
        .into_iter()
        .find(|(calm, regressed)| calm != regressed);
    let (_, first) = differs.unwrap();
    let after = first.ts.since(start);
    assert!(
        after >= Millis(60_000) && after < Millis(62_000),
        "{after:?}"
    );
    assert_eq!(event(&first)["experiment"]["variant"], "V5");
}

#[test]
fn latency_matches_the_evaluation_plan_and_includes_the_stages() {
    let found: Vec<Value> =
        searches(Traffic::new(corpus(), TrafficSettings::default()), 20_000).collect();
    let table = [
        ("V1", 45.0),
        ("V2", 120.0),
        ("V3", 180.0),
        ("V4", 420.0),
        ("V5", 680.0),
    ];
    for (variant, mean) in table {
        let served = found
            .iter()
            .filter(|search| search["experiment"]["variant"] == variant);
        let latency = mean_latency(&served.cloned().collect::<Vec<_>>());
        assert!(
            (latency / mean - 1.0).abs() < 0.03,
            "{variant}: {latency} ms"
        );
    }
    for search in &found {
        let stages = search["stages"].as_array().unwrap();
        let sum: f64 = stages
            .iter()
            .map(|stage| stage["latency_ms"].as_f64().unwrap())
            .sum();
        assert!(
            sum <= search["latency_ms"].as_f64().unwrap() * 1.06,
            "{search}"
        );
    }
}

fn mean_latency(searches: &[Value]) -> f64 {
    let mut mean = Mean::default();
    for search in searches {
        mean.add([search["latency_ms"].as_f64().unwrap(), 0.0, 0.0, 0.0]);
    }
    mean.get()[0]
}

#[test]
fn the_gold_set_has_unique_texts_and_the_proportions_of_the_methodology() {
    let file: Value = serde_json::from_str(&corpus().gold_json()).unwrap();
    let queries = file["queries"].as_array().unwrap();
    assert_eq!(queries.len(), QUERIES);
    let texts: BTreeSet<String> = queries
        .iter()
        .map(|query| normalise(text(query, "query_text")))
        .collect();
    assert_eq!(texts.len(), QUERIES);

    let count =
        |field: &str, value: &str| queries.iter().filter(|query| query[field] == value).count();
    assert_eq!(count("query_type", "specific_article"), 60);
    assert_eq!(count("query_type", "keyword"), 60);
    assert_eq!(count("query_type", "complex_question"), 40);
    assert_eq!(count("query_type", "cross_law"), 40);
    for (difficulty, expected) in [("easy", 80), ("medium", 80), ("hard", 40)] {
        let found = count("difficulty", difficulty);
        assert!(
            found.abs_diff(expected) <= 4,
            "{found} {difficulty} queries"
        );
    }
    for domain in [
        "도시계획",
        "용도지역",
        "개발행위",
        "기반시설",
        "도시계획시설",
    ] {
        assert!(count("primary_domain", domain) >= 20, "{domain} is rare");
    }

    for query in queries {
        let truth = query["ground_truth"].as_object().unwrap();
        let graded = |grade: i64| {
            truth
                .values()
                .filter(|entry| entry["relevance"] == grade)
                .count()
        };
        let relevant = graded(1) + graded(2) + graded(3);
        assert!((8..=16).contains(&relevant), "{query}");
        assert_eq!(query["total_relevant"], relevant);
        assert!(graded(3) > 0 && graded(0) > 0, "{query}");
        for (id, entry) in truth {
            let law_type = text(entry, "law_type");
            let said = ["시행규칙", "시행령"]
                .into_iter()
                .find(|kind| id.contains(kind));
            assert_eq!(said.unwrap_or("법률"), law_type, "{id}");
        }
    }
    let of_type = |kind: &str| {
        let all = queries
            .iter()
            .flat_map(|query| query["ground_truth"].as_object().unwrap());
        all.filter(|(_, entry)| entry["law_type"] == kind && entry["relevance"] != 0)
            .count()
    };
    assert!(of_type("시행령") > of_type("시행규칙"));
    assert!(of_type("시행규칙") > QUERIES / 2);
}

#[test]
fn texts_stay_unique_in_a_gold_set_larger_than_the_vocabulary() {
    let corpus = Corpus::generate(3, 5_000);
    let file: Value = serde_json::from_str(&corpus.gold_json()).unwrap();
    let queries = file["queries"].as_array().unwrap();
    let aliases: usize = queries
        .iter()
        .map(|query| text_list(&query["aliases"]).count())
        .sum();
    assert!(aliases > 500);
    assert_eq!(Gold::of(&corpus).texts.len(), 5_000 + aliases);
}

#[test]
fn every_record_is_an_event_with_its_required_fields_and_its_key() {
    let settings = TrafficSettings::default();
    let mut served: HashMap<String, Value> = HashMap::new();
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    for record in Traffic::new(corpus(), settings).take(30_000) {
        let event = event(&record);
        assert_eq!(text(&event, "session_id"), record.key);
        assert_eq!(time_of(&event["ts"]), record.ts);
        match record.kind {
            Kind::Search => {
                check_search(&event);
                let query_id = text(&event, "query_id").to_owned();
                assert!(
                    served.insert(query_id, event).is_none(),
                    "a repeated query_id"
                );
            }
            Kind::Feedback => {
                assert!(
                    ids.insert(text(&event, "event_id").to_owned()),
                    "a repeated event_id"
                );
                kinds.insert(text(&event, "type").to_owned());
                match event["query_id"].as_str() {
                    Some(query_id) => check_feedback(&event, &served[query_id]),
                    // Feedback on the whole session.
                    None => assert_eq!(text(&event, "type"), "rating"),
                }
            }
        }
    }
    let expected = [
        "click",
        "conversion",
        "dwell",
        "impression",
        "judgment",
        "rating",
        "reformulation",
        "thumbs",
    ];
    assert!(kinds.iter().map(String::as_str).eq(expected), "{kinds:?}");
}

fn time_of(ts: &Value) -> EventTime {
    match ts.as_str() {
        Some(text) => EventTime(text.parse::<jiff::Timestamp>().unwrap().as_millisecond()),
        None => EventTime(ts.as_i64().unwrap()),
    }
}

fn check_search(search: &Value) {
    assert!(
        search["query"].is_string() || search["query_key"].is_string(),
        "{search}"
    );
    assert!(search["latency_ms"].as_f64().unwrap() > 0.0);
    assert!(search["session_id"].is_string() && search["client_id"].is_string());
    let results = search["results"].as_array().unwrap();
    assert!(results.len() <= 10);
    assert!(search["total_hits"].as_u64().unwrap() >= u64::try_from(results.len()).unwrap());
    assert!(
        search["error_type"].is_null() || results.is_empty(),
        "{search}"
    );
    let mut seen = BTreeSet::new();
    for (rank, hit) in (1_u64..).zip(results) {
        assert_eq!(hit["rank"], rank);
        assert!(
            seen.insert(text(hit, "id")),
            "a repeated document in {search}"
        );
        assert!(text(hit, "id").starts_with(text(hit, "group_id")));
        assert!(hit["score"].is_f64() && !hit["stages"].as_array().unwrap().is_empty());
        let expanded = text_list(&hit["stages"]).any(|stage| stage.starts_with("rne_"));
        assert_eq!(expanded, hit["hops"].is_u64(), "{hit}");
        let brought = text_list(&hit["stages"]).any(|stage| stage == "a2a");
        assert_eq!(brought, hit["attrs"]["source"] == "a2a", "{hit}");
        assert!(!expanded || search["fired"]["rne"] == true, "{search}");
        assert!(!brought || search["fired"]["a2a"] == true, "{search}");
    }
    let ids: Vec<&str> = results.iter().map(|hit| text(hit, "id")).collect();
    assert!(text_list(&search["merged_from"]).all(|id| ids.contains(&id)));
    assert!(text_list(&search["context"]).all(|id| ids.contains(&id)));
    assert_eq!(search["routing"].get(0), search.get("domain"));
}

fn text_list(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn check_feedback(feedback: &Value, search: &Value) {
    assert!(time_of(&feedback["ts"]) > time_of(&search["ts"]));
    assert_eq!(feedback["session_id"], search["session_id"]);
    let position = feedback["position"].as_u64();
    if let Some(hit) =
        position.map(|position| &search["results"][usize::try_from(position).unwrap() - 1])
    {
        assert!(feedback["object_id"].is_null() || feedback["object_id"] == hit["id"]);
        assert!(hit.is_object());
    }
    match text(feedback, "type") {
        "click" => assert!(feedback["object_id"].is_string() || position.is_some()),
        "dwell" => assert!(feedback["dwell_ms"].as_i64().unwrap() > 0),
        "thumbs" | "rating" | "judgment" => assert!(!feedback["value"].is_null()),
        _ => {}
    }
}

#[test]
fn traffic_has_the_irregularities_of_real_traffic() {
    let corpus = corpus();
    let gold = Gold::of(&corpus);
    let exact: BTreeSet<String> = {
        let file: Value = serde_json::from_str(&corpus.gold_json()).unwrap();
        let queries = file["queries"].as_array().unwrap().iter();
        queries
            .map(|query| text(query, "query_text").to_owned())
            .collect()
    };
    let found: Vec<Value> =
        searches(Traffic::new(corpus, TrafficSettings::default()), 20_000).collect();
    let share = |holds: &dyn Fn(&Value) -> bool| {
        let count = found.iter().filter(|search| holds(search)).count();
        f64::from(u32::try_from(count).unwrap()) / 20_000.0
    };
    let expect = |what: &str, range: std::ops::Range<f64>, holds: &dyn Fn(&Value) -> bool| {
        let share = share(holds);
        assert!(range.contains(&share), "{share} of the searches {what}");
    };
    expect("are unjudged", 0.07..0.09, &|search| {
        gold.find(search).is_none()
    });
    expect("name their gold query", 0.5..0.8, &|search| {
        search["query_key"].is_string()
    });
    let aliases: BTreeSet<&str> = gold.aliases.iter().map(String::as_str).collect();
    expect("use an alias", 0.005..0.03, &|search| {
        search["query"]
            .as_str()
            .is_some_and(|query| aliases.contains(query))
    });
    expect("are spelled oddly", 0.05..0.2, &|search| {
        gold.find(search).is_some()
            && search["query"]
                .as_str()
                .is_some_and(|it| !exact.contains(it))
    });
    expect("fail", 0.001..0.006, &|search| {
        search["error_type"].is_string()
    });
    expect("find nothing", 0.005..0.012, &|search| {
        search["results"].as_array().unwrap().is_empty()
    });
    expect("are short", 0.04..0.08, &|search| {
        (1..10).contains(&search["results"].as_array().unwrap().len())
    });
    expect("state a cost", 0.02..0.2, &|search| {
        search["usage"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|call| call["cost"].is_object())
    });
    expect("carry a number as time", 0.45..0.55, &|search| {
        search["ts"].is_i64()
    });
}

#[test]
fn records_are_ordered_by_time() {
    let traffic = Traffic::new(corpus(), TrafficSettings::default());
    let times: Vec<EventTime> = traffic.take(20_000).map(|record| record.ts).collect();
    assert!(times.is_sorted());
    assert!(times[0] >= TrafficSettings::default().start);
}

#[test]
fn searches_arrive_at_the_configured_rate() {
    let settings = TrafficSettings {
        searches_per_second: 200.0,
        ..TrafficSettings::default()
    };
    let last = searches(Traffic::new(corpus(), settings), 10_000)
        .last()
        .unwrap();
    let took = time_of(&last["ts"]).since(settings.start);
    assert!(
        (47_000..53_000).contains(&took.0),
        "{took:?} for 50 seconds' worth"
    );
}

#[test]
fn disorder_delays_deliveries_and_duplicates_repeat_them() {
    let settings = TrafficSettings {
        disorder: Millis(30_000),
        duplicate_share: 0.05,
        ..TrafficSettings::default()
    };
    let records: Vec<Record> = Traffic::new(corpus(), settings).take(20_000).collect();
    let mut newest = settings.start;
    let mut late = 0;
    for record in &records {
        assert!(newest.since(record.ts) <= Millis(30_000));
        late += usize::from(record.ts < newest);
        newest = newest.max(record.ts);
    }
    assert!(late > 10_000, "{late} records are out of order");
    let distinct: BTreeSet<&[u8]> = records
        .iter()
        .map(|record| record.payload.as_slice())
        .collect();
    let repeated = records.len() - distinct.len();
    assert!(
        (700..1_300).contains(&repeated),
        "{repeated} records are repeated"
    );
}

#[test]
fn extreme_settings_still_give_a_stream() {
    for rate in [
        f64::NAN,
        f64::INFINITY,
        -1.0,
        0.0,
        f64::MIN_POSITIVE,
        f64::MAX,
    ] {
        for (start, disorder) in [(i64::MIN, i64::MIN), (0, 0), (i64::MAX, i64::MAX)] {
            let settings = TrafficSettings {
                seed: u64::MAX,
                start: EventTime(start),
                searches_per_second: rate,
                fault: Fault::Ranking,
                answers: true,
                regress_after: Some(Millis(i64::MIN)),
                repair_after: Some(Millis(i64::MAX)),
                unjudged_share: f64::NAN,
                duplicate_share: 2.0,
                disorder: Millis(disorder),
                feedback_within: Some(Millis(disorder)),
            };
            let corpus = Arc::new(Corpus::generate(u64::MAX, 1));
            assert_eq!(Traffic::new(corpus, settings).take(50).count(), 50);
        }
    }
    let empty = Arc::new(Corpus::generate(0, 0));
    let gold = Gold::of(&empty);
    let found: Vec<Value> =
        searches(Traffic::new(empty, TrafficSettings::default()), 100).collect();
    assert!(found.iter().all(|search| gold.find(search).is_none()));
}

/// FNV-1a hash of the payloads of the first records with a drop of V5 and its repair.
fn hash_of_the_law_library() -> u64 {
    let corpus = Arc::new(Corpus::generate(1, QUERIES));
    let settings = TrafficSettings {
        regress_after: Some(Millis(20_000)),
        repair_after: Some(Millis(60_000)),
        ..TrafficSettings::default()
    };
    let records = Traffic::new(corpus, settings).take(8_000);
    let bytes = records.flat_map(|record| record.payload);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn events_of_the_law_library_are_the_same_as_ever() {
    assert_eq!(hash_of_the_law_library(), 2_752_258_966_657_265_239);
}

#[test]
fn feedback_that_is_due_later_is_counted() {
    let mut traffic = Traffic::new(corpus(), TrafficSettings::default());
    let mut ids = BTreeSet::new();
    // Feedback on a session names no search.
    let (mut of_searches, mut of_sessions) = (0, 0);
    let mut pending = None;
    for _ in 0..200_000 {
        let record = traffic.next().unwrap();
        let id = event(&record)["query_id"].as_str().map(str::to_owned);
        match (record.kind, id) {
            (Kind::Search, Some(id)) if ids.len() < 300 => {
                ids.insert(id);
            }
            (Kind::Search, _) => {
                pending.get_or_insert_with(|| traffic.pending_feedback(300));
            }
            (Kind::Feedback, _) if pending.is_none() => {}
            (Kind::Feedback, Some(id)) => of_searches += u64::from(ids.contains(&id)),
            (Kind::Feedback, None) => of_sessions += 1,
        }
    }
    let pending = pending.unwrap();
    assert!(of_searches > 0);
    assert!((of_searches..=of_searches + of_sessions).contains(&pending));
    assert_eq!(traffic.pending_feedback(300), 0);
}

#[test]
fn late_feedback_is_left_out_and_all_other_events_stay_the_same() {
    let within = Millis(60_000);
    // Feedback on a session names no search.
    let of_searches = |settings: TrafficSettings| -> Vec<(String, Record)> {
        let records = Traffic::new(corpus(), settings).take(20_000);
        let named = records.filter_map(|record| {
            let id = event(&record)["query_id"].as_str()?.to_owned();
            Some((id, record))
        });
        named.collect()
    };
    let all = of_searches(TrafficSettings::default());
    let limited = of_searches(TrafficSettings {
        feedback_within: Some(within),
        ..TrafficSettings::default()
    });
    let mut searched: HashMap<&str, EventTime> = HashMap::new();
    let in_time = all.iter().filter(|(id, record)| {
        let at = *searched.entry(id).or_insert(record.ts);
        record.ts.since(at) <= within
    });
    let in_time: Vec<_> = in_time.collect();
    assert!(in_time.len() < all.len());
    let expected: Vec<_> = in_time.into_iter().take(10_000).collect();
    assert_eq!(expected, limited.iter().take(10_000).collect::<Vec<_>>());
}
