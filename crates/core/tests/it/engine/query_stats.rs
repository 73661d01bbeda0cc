//! Statistics of single gold queries: the latest lists and means over all searches, in bounded
//! space and without any effect on the engine. The merged statistics of several workers equal the
//! statistics of one worker.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::array;
use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::decode::{Formats, native};
use rankgauge_core::engine::score_column::{SEARCHES, column_of};
use rankgauge_core::engine::series::{Dimension, Label};
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet, QueryIndex};
use rankgauge_core::records;
use rankgauge_core::time::EventTime;
use rankgauge_serve::live::query_stats::{
    BASELINE_SEARCHES, MAX_BYTES, MAX_DOCUMENTS, MAX_LISTS, MAX_TREND, MergedQueryStats,
    QueryStats, Row,
};

use super::{GOLD, START, World, assign, read, settings, tick};

/// Search for gold query `query` that served `documents`.
fn search(number: i64, query: &str, variant: &str, documents: &[&str]) -> String {
    let mut results = String::new();
    for document in documents {
        write!(results, "{{\"id\": \"{document}\"}},").expect("a string grows");
    }
    format!(
        "{{\"query_id\": \"q{number}\", \"ts\": {}, \"query_key\": \"{query}\", \
         \"variant\": \"{variant}\", \"results\": [{}]}}",
        START + number,
        results.trim_end_matches(',')
    )
}

/// Engine with query statistics, which read its effects as a worker does.
struct Observed {
    engine: Engine,
    stats: Arc<QueryStats>,
}

impl Observed {
    /// Creates an engine with one partition.
    fn new(world: &World, stats: &Arc<QueryStats>) -> Self {
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            engine,
            stats: Arc::clone(stats),
        }
    }

    fn read(&mut self, partition: i32, offset: i64, payload: &str) {
        let at = Position { partition, offset };
        let record = (Kind::Search, at, payload.as_bytes());
        records::apply(
            &mut self.engine,
            &Formats::NATIVE,
            [record],
            |_, _, judged| {
                if let Some(judged) = judged {
                    self.stats.record(&judged);
                }
            },
        );
    }
}

fn stats(world: &World, max_bytes: usize) -> Arc<QueryStats> {
    Arc::new(QueryStats::new(
        Arc::clone(&world.gold),
        max_bytes,
        Some(column_of(0)),
    ))
}

fn query(gold: &GoldSet, key: &str) -> QueryIndex {
    gold.find(Some(key), None).expect("the gold set has it")
}

/// Merged statistics of `workers`, as a reader sees them.
fn merged<'a>(
    world: &World,
    workers: impl IntoIterator<Item = &'a Arc<QueryStats>>,
) -> MergedQueryStats {
    let tables = workers.into_iter().map(|stats| stats.table());
    MergedQueryStats::new(Arc::clone(&world.gold), tables)
}

/// Row of a query and the only variant that served it.
fn row(world: &World, stats: &Arc<QueryStats>, key: &str) -> (Label, Row) {
    let rows = merged(world, [stats]).of(query(&world.gold, key));
    let rows: Vec<_> = rows.into_iter().collect();
    let [row] = <[_; 1]>::try_from(rows).expect("one variant");
    row
}

/// Row of a query and one of the variants that served it.
fn row_of(world: &World, stats: &Arc<QueryStats>, key: &str, variant: &str) -> (Label, Row) {
    let label = world.registry.label(Dimension::Variant, variant);
    let mut rows = merged(world, [stats]).of(query(&world.gold, key));
    let row = rows.remove(&label);
    (label, row.expect("the variant served the query"))
}

#[test]
fn latest_lists_keep_their_grades_and_means_cover_all_searches() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    // P@1 is 1 for every second list.
    for number in 0..8 {
        let documents = match number % 2 {
            0 => ["d0", "unjudged", "d0"],
            _ => ["d2", "d1", "d9"],
        };
        let payload = search(number, "g0", "v1", &documents);
        engine.read(0, number, &payload);
    }
    let (variant, row) = row(&world, &stats, "g0");
    assert_eq!(
        &*world.registry.values(Dimension::Variant)[variant.index()],
        "v1"
    );
    assert_eq!(row.searches(), 8);
    let precision = row.scores()[column_of(0)];
    assert_eq!((precision.count, precision.mean()), (8, Some(0.5)));
    let lists: Vec<_> = row.lists().collect();
    let ids: Vec<_> = lists.iter().map(|list| list.query_id.as_str()).collect();
    assert_eq!(ids, ["q7", "q6", "q5", "q4", "q3"]);
    let grades = |list: usize| -> Vec<_> {
        let documents = lists[list].documents();
        documents
            .map(|it| (it.id.to_owned(), it.grade.map(gold::Grade::get)))
            .collect()
    };
    let shown = |documents: [(&str, Option<f64>); 3]| {
        documents.map(|(id, grade)| (id.to_owned(), grade)).to_vec()
    };
    assert_eq!(
        grades(0),
        shown([("d2", Some(0.0)), ("d1", Some(1.0)), ("d9", None)])
    );
    // The second occurrence of a document is judged and worth nothing.
    assert_eq!(
        grades(1),
        shown([("d0", Some(3.0)), ("unjudged", None), ("d0", Some(-1.0))])
    );
}

#[test]
fn the_citations_of_an_answer_are_kept_with_their_grades_and_its_text_is_not() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut observed = Observed::new(&world, &stats);
    let payload = serde_json::json!({
        "query_id": "q0", "ts": START, "query_key": "g0", "variant": "V1",
        "results": [{"id": "d0"}, {"id": "d6"}],
        "answer": {"text": "비밀", "citations": ["d0", "d6", "d1", "invented"]},
    });
    let payload = payload.to_string();
    observed.read(0, 0, &payload);
    let (_, row) = row(&world, &stats, "g0");
    let list = row.lists().next().expect("a list");
    let answer = list.answer().expect("an answer");
    let cited: Vec<_> = answer
        .citations
        .iter()
        .map(|it| {
            (
                &*it.id,
                it.grade.map(rankgauge_core::gold::Grade::get),
                it.is_served,
            )
        })
        .collect();
    let expected = [
        ("d0", Some(3.0), true),
        ("d6", None, true),
        ("d1", Some(1.0), false),
        ("invented", None, false),
    ];
    assert_eq!(cited, expected);
    assert_eq!((answer.cited, answer.is_refusal), (4, false));
    assert!(!format!("{list:?}").contains("비밀"));
}

#[test]
fn long_lists_are_truncated_and_keep_their_length() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    let documents: Vec<String> = (0..100).map(|number| format!("문서-{number}")).collect();
    let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    let payload = search(0, "g1", "v1", &documents);
    engine.read(0, 0, &payload);
    let (_, row) = row(&world, &stats, "g1");
    let list = row.lists().next().expect("one list");
    assert_eq!(list.length, 100);
    let ids: Vec<&str> = list.documents().map(|it| it.id).collect();
    assert_eq!(ids, documents[..MAX_DOCUMENTS]);
}

#[test]
fn the_baseline_keeps_the_first_searches_and_the_list_with_their_median_score() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    let mut serve = |numbers: std::ops::Range<i64>, is_good: fn(i64) -> bool| {
        for number in numbers {
            let documents = if is_good(number) {
                ["d0", "d1"]
            } else {
                ["d9", "d8"]
            };
            let payload = search(number, "g0", "v1", &documents);
            engine.read(0, number, &payload);
        }
    };
    // P@1 is 1 for the third search of the baseline only: the median of ten scores, the lower one of
    // the middle two, is 0, and the fifth of nine equal ones is the search 5.
    serve(0..9, |number| number == 2);
    let (_, learning) = row(&world, &stats, "g0");
    assert_eq!(learning.reference().expect("a list").query_id, "q5");
    assert_eq!(learning.lists().count(), MAX_LISTS);
    serve(9..30, |_| false);
    let (_, after) = row(&world, &stats, "g0");
    let baseline = after.baseline()[column_of(0)];
    assert_eq!(
        (baseline.count(), baseline.mean()),
        (BASELINE_SEARCHES, Some(0.1))
    );
    // Nine scores of 0 and one of 1.
    let variance = baseline.sample().variance().expect("a variance");
    assert!((variance - 0.1).abs() < 1e-9, "{variance}");
    let reference = after.reference().expect("a list of the baseline");
    assert_eq!(reference.query_id, "q5");
    assert_eq!(after.trend().len(), MAX_TREND);
    let now = || {
        let column = merged(&world, [&stats]).scores(column_of(0));
        column.values().next().expect("one pair").now
    };
    assert_eq!((now().count(), now().mean()), (20, Some(0.0)));
    // The next search begins a block, and the oldest ten leave.
    serve(30..31, |_| true);
    assert_eq!(now().count(), 11);

    stats.reset_baselines();
    let (_, reset) = row(&world, &stats, "g0");
    assert!(reset.baseline().is_empty() && reset.reference().is_none());
    assert_eq!((reset.searches(), now().count()), (31, 0));
    serve(31..51, |_| true);
    let (_, again) = row(&world, &stats, "g0");
    assert_eq!(again.baseline()[column_of(0)].mean(), Some(1.0));
    assert_eq!(again.reference().expect("a list").query_id, "q35");
}

#[test]
fn a_deployment_compares_with_the_last_rankings_before_it() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    let mut serve = |numbers: std::ops::Range<i64>, variant: &str, is_relevant: bool| {
        for number in numbers {
            let first = if is_relevant { "d0" } else { "unjudged" };
            let payload = search(number, "g0", variant, &[first]);
            engine.read(0, number, &payload);
        }
    };
    // The start of the process was bad, the time before the deployment good.
    serve(0..15, "v1", false);
    serve(15..20, "v1", true);
    serve(20..35, "v2", true);
    let variant = world.registry.label(Dimension::Variant, "v1");
    stats.deployed(variant, EventTime(START + 18));
    let (_, row) = row_of(&world, &stats, "g0", "v1");
    // Of the searches 10 to 19 since the first baseline, two are from after the deployment.
    let baseline = row.baseline()[column_of(0)];
    assert_eq!((baseline.count(), baseline.mean()), (8, Some(0.375)));
    serve(35..43, "v1", false);
    let (label, row) = row_of(&world, &stats, "g0", "v1");
    assert_eq!(row.baseline()[column_of(0)].count(), 8);
    // The median of the kept lists 15, 16 and 17.
    assert_eq!(row.reference().expect("a list").query_id, "q16");
    let scores = merged(&world, [&stats]).scores(column_of(0));
    let of = |label| scores.iter().find(|(key, _)| key.1 == label);
    let (_, score) = of(label).expect("the variant was searched");
    assert_eq!((score.now.count(), score.now.mean()), (10, Some(0.2)));
    let (_, row) = row_of(&world, &stats, "g0", "v2");
    assert_eq!(row.baseline()[column_of(0)].count(), BASELINE_SEARCHES);

    // Without a list from before it, a deployment keeps the baseline.
    stats.deployed(variant, EventTime(START));
    let (_, row) = row_of(&world, &stats, "g0", "v1");
    assert_eq!(row.baseline()[column_of(0)].count(), 8);

    // Few searches since the baseline: a deployment in its middle divides it.
    let early = world.registry.label(Dimension::Variant, "v3");
    serve(43..50, "v3", true);
    stats.deployed(early, EventTime(START + 46));
    let scores = merged(&world, [&stats]).scores(column_of(0));
    let (_, score) = scores
        .iter()
        .find(|(key, _)| key.1 == early)
        .expect("the variant was searched");
    assert_eq!((score.baseline.count(), score.now.count()), (3, 4));
}

#[test]
fn user_actions_are_added_to_the_kept_list_of_their_search() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    for number in 0..18 {
        let payload = search(number, "g0", "v1", &["d0", "unjudged"]);
        engine.read(0, number, &payload);
    }
    let act = |query_id: &str, object: &str, action: &str| {
        let payload = format!(
            "{{\"event_id\": \"e\", \"ts\": {START}, \"query_id\": \"{query_id}\", \
             \"object_id\": \"{object}\", {action}}}"
        );
        let decoded = native::feedback(payload.as_bytes(), &world.settings.record_limits);
        let feedback = decoded.unwrap_or_else(|error| panic!("{error}: {payload}"));
        stats.record_feedback(&feedback);
    };
    let click = "\"type\": \"click\"";
    act("q17", "d0", click);
    act("q17", "d0", "\"type\": \"dwell\", \"dwell_ms\": 1500");
    act("q17", "unjudged", click);
    act("q16", "unjudged", click);
    // The list of the third search is replaced, the document was not served, the search is unknown.
    act("q2", "unjudged", click);
    act("q17", "d5", click);
    act("unknown", "unjudged", click);
    let (_, row) = row(&world, &stats, "g0");
    let newest = row.lists().next().expect("a list");
    let actions: Vec<_> = newest.documents().map(|it| it.actions).collect();
    assert_eq!((actions[0].clicks, actions[1].clicks), (1, 1));
    assert!((actions[0].dwell_ms - 1500.0).abs() < 1e-3);
    let clicked = merged(&world, [&stats]).clicked_unjudged();
    let clicked: Vec<_> = clicked
        .iter()
        .map(|(_, document, clicks)| (&**document, *clicks))
        .collect();
    assert_eq!(clicked, [("unjudged", 2)]);
}

#[test]
fn pairs_searched_longest_ago_make_room_at_the_memory_limit() {
    let world = World::new(settings());
    let one = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &one);
    engine.read(0, 0, &search(0, "g0", "v1", &["d0", "d1"]));
    let (_, first) = row(&world, &one, "g0");
    assert_eq!(first.lists().count(), 1);
    // Room for a few pairs, of which two are searched again and again.
    let limited = stats(&world, 20_000);
    let mut engine = Observed::new(&world, &limited);
    for number in 0..4_000 {
        let payload = match number % 4 {
            0 => search(number, "g0", "v1", &["d0", "d1"]),
            1 => search(number, "g1", "v1", &["d3"]),
            _ => search(number, "g2", &format!("v{}", number % 15), &["d5"]),
        };
        engine.read(0, number, &payload);
    }
    for (key, newest) in [("g0", "q3996"), ("g1", "q3997")] {
        let (_, row) = row_of(&world, &limited, key, "v1");
        let lists: Vec<_> = row.lists().map(|list| &*list.query_id).collect();
        assert_eq!(row.searches(), 1_000, "{key}");
        assert_eq!((lists.len(), lists[0]), (MAX_LISTS, newest));
    }
    let merged = merged(&world, [&limited]);
    let counts = merged.scores(SEARCHES);
    assert!((3..17).contains(&counts.len()), "{}", counts.len());
    let kept: u64 = counts.values().map(|score| score.cell.count).sum();
    assert_eq!(merged.dropped_searches() + kept, 4_000);
    // The pairs that stayed are those searched last.
    let oldest = counts.values().filter_map(|score| score.last).min();
    assert!(oldest > Some(EventTime(START + 3_900)), "{oldest:?}");
}

#[test]
fn one_pair_larger_than_the_memory_limit_keeps_its_scores() {
    let world = World::new(settings());
    let stats = stats(&world, 100);
    let mut engine = Observed::new(&world, &stats);
    for number in 0..3 {
        engine.read(0, number, &search(number, "g0", "v1", &["d0", "d1"]));
    }
    let (_, row) = row(&world, &stats, "g0");
    assert_eq!((row.searches(), row.lists().count()), (3, 1));
    assert_eq!(merged(&world, [&stats]).dropped_searches(), 0);
}

#[test]
fn a_new_gold_set_keeps_the_statistics_of_the_queries_that_it_judges_as_before() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    engine.read(0, 0, &search(0, "g0", "v1", &["d0"]));
    engine.read(0, 1, &search(1, "g1", "v1", &["d3"]));
    // One query more, so that the others have other numbers, and one judgement more.
    let text = GOLD
        .replace("\"d1\": 1, \"d2\": 0", "\"d1\": 1, \"d2\": 1")
        .replace(
            "\"queries\": [",
            r#""queries": [{"query_id": "new", "query_text": "새", "ground_truth": {"d0": 1}},"#,
        );
    let gold = gold::parse("gold.json", text.as_bytes(), &gold::Options::default());
    let mut next = world.clone();
    next.gold = Arc::new(gold.expect("a gold set"));
    stats.set_gold_set(Arc::clone(&next.gold), false);
    // This engine has not received it yet.
    engine.read(0, 2, &search(2, "g0", "v1", &["d0"]));
    engine.read(0, 3, &search(3, "g1", "v1", &["d3"]));
    let of = |key: &str| merged(&next, [&stats]).of(query(&next.gold, key));
    assert!(of("g0").is_empty());
    assert!(of("new").is_empty());
    engine.engine.apply(Input::Gold(Arc::clone(&next.gold)));
    engine.read(0, 4, &search(4, "g0", "v1", &["d0"]));
    engine.read(0, 5, &search(5, "g1", "v1", &["d3"]));
    assert_eq!(row(&next, &stats, "g0").1.searches(), 1);
    let (_, kept) = row(&next, &stats, "g1");
    let ids: Vec<_> = kept.lists().map(|list| &*list.query_id).collect();
    assert_eq!((kept.searches(), ids), (2, vec!["q5", "q1"]));
    // Scores that were still judged by the old set are not shown with the new one.
    assert!(merged(&world, [&stats]).scores(SEARCHES).is_empty());
}

#[test]
fn a_late_list_does_not_replace_a_newer_one() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut engine = Observed::new(&world, &stats);
    for (offset, number) in (0..).zip([5, 3, 8, 1, 7, 2, 6, 4]) {
        let payload = search(number, "g0", "v1", &["d0"]);
        engine.read(0, offset, &payload);
    }
    let (_, row) = row(&world, &stats, "g0");
    let ids: Vec<_> = row.lists().map(|list| &*list.query_id).collect();
    assert_eq!(ids, ["q8", "q7", "q6", "q5", "q4"]);
    assert_eq!(row.searches(), 8);
}

/// Search of a random log: its partition, gold query, variant and time.
type Drawn = (i32, usize, usize, i64);

/// Reads `searches`, each with its number as its id, in the worker selected by `owner`.
fn observe(world: &World, workers: &[Arc<QueryStats>], searches: &[Drawn], owner: &[usize]) {
    let mut engines: Vec<Observed> = workers
        .iter()
        .map(|stats| Observed::new(world, stats))
        .collect();
    for engine in &mut engines {
        (1..PARTITIONS).for_each(|partition| assign(&mut engine.engine, partition));
    }
    for (offset, (number, (partition, query, variant, ts))) in
        (0..).zip(searches.iter().enumerate())
    {
        let documents = ["d0", "d1", "d3", "d5", "d9"];
        let payload = search(
            *ts,
            &format!("g{query}"),
            &format!("v{variant}"),
            &documents[query + variant..],
        );
        let payload = payload.replacen(&format!("\"q{ts}\""), &format!("\"q{number}\""), 1);
        let owner = owner[usize::try_from(*partition).expect("not negative")];
        engines[owner % workers.len()].read(*partition, offset, &payload);
    }
}

/// All values that a reader sees, as text.
fn seen(world: &World, stats: &MergedQueryStats) -> String {
    let mut text = String::new();
    for column in 0..=column_of(world.settings.measures.len()) {
        // Each worker has baselines of its own.
        let scores = stats.scores(column).into_iter();
        let scores: Vec<_> = scores.map(|(key, it)| (key, it.cell, it.last)).collect();
        writeln!(text, "{column}: {scores:?}").expect("a string grows");
    }
    for key in ["g0", "g1", "g2"] {
        for (variant, row) in stats.of(query(&world.gold, key)) {
            let lists = row.lists().map(|list| {
                let documents: Vec<_> = list.documents().collect();
                format!(
                    "{} {:?} {} {documents:?} {:?}\n",
                    list.query_id,
                    list.at(),
                    list.length,
                    list.scores()
                )
            });
            let lists: String = lists.collect();
            writeln!(text, "{key} {variant:?} {:?}\n{lists}", row.scores())
                .expect("a string grows");
        }
    }
    text
}

const PARTITIONS: i32 = 4;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn merged_tables_of_several_workers_equal_the_table_of_one_worker(
        searches in vec((0..PARTITIONS, 0..3_usize, 0..2_usize, 0..60_i64), 0..120),
        owner in array::uniform4(0..4_usize),
        workers in 1..=4_usize,
    ) {
        let world = World::new(settings());
        let new = |count: usize| -> Vec<Arc<QueryStats>> {
            (0..count).map(|_| stats(&world, MAX_BYTES / count)).collect()
        };
        let (several, one) = (new(workers), new(1));
        observe(&world, &several, &searches, &owner);
        observe(&world, &one, &searches, &owner);
        prop_assert_eq!(
            seen(&world, &merged(&world, &several)),
            seen(&world, &merged(&world, &one))
        );
    }
}

#[test]
fn an_engine_counts_the_same_if_its_effects_are_read() {
    let world = World::new(settings());
    let stats = stats(&world, MAX_BYTES);
    let mut observed = Observed::new(&world, &stats);
    let mut other = world.engine();
    assign(&mut other, 0);
    for number in 0..40 {
        let payload = search(number % 30, "g1", "v1", &["d3", "d0"]);
        observed.read(0, number, &payload);
        read(&mut other, Kind::Search, 0, number, &payload);
    }
    tick(&mut observed.engine, START + 60_000);
    tick(&mut other, START + 60_000);
    assert_eq!(observed.engine.snapshot(), other.snapshot());
    // A duplicate is not judged again.
    let (_, row) = row(&world, &stats, "g1");
    assert_eq!(row.searches(), 30);
    assert_eq!(row.lists().count(), MAX_LISTS);
}
