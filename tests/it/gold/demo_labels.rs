//! Labels and clicks on the traffic of the demo, whose true grades are known.

use std::fs;
use std::sync::Arc;

use rankgauge_core::event::{Kind, Search};
use rankgauge_core::gold::{self, GoldSet, Options};
use rankgauge_core::labelling::LabelMeasure;
use rankgauge_core::ranking::JudgeBy;
use rankgauge_core::time::Millis;
use rankgauge_eval::labelling::draw::{Draw, Focus, draw};
use rankgauge_eval::labelling::frame::FrameBuilder;
use rankgauge_eval::labelling::report;
use rankgauge_eval::labelling::sheet::Label;
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};

use crate::harness::command::{json, rankgauge};

/// Searches of ten minutes of the demo.
const SEARCHES: usize = 30_000;

/// Queries of the demo.
const QUERIES: usize = 200;

fn grade(gold: &GoldSet, query: &str, document: &str) -> f64 {
    let Some(query) = gold.find(None, Some(query)) else {
        return 0.0;
    };
    let found = gold.query(query).judgements.find(document);
    found.map_or(0.0, |(_, grade)| grade.get())
}

/// Records of both kinds in JSON Lines, from a demo in which V5 regressed, or did not.
fn traffic(corpus: &Arc<Corpus>, regressed: bool) -> [String; 2] {
    let settings = TrafficSettings {
        regress_after: regressed.then_some(Millis(0)),
        ..TrafficSettings::default()
    };
    let mut files = [String::new(), String::new()];
    let mut searches = 0;
    for record in Traffic::new(Arc::clone(corpus), settings) {
        searches += usize::from(record.kind == Kind::Search);
        if searches > SEARCHES {
            break;
        }
        let line = String::from_utf8(record.payload).expect("UTF-8");
        files[record.kind.index()].push_str(&line);
        files[record.kind.index()].push('\n');
    }
    files
}

/// Sample of the difference of V5 to V4, with its truth.
fn sample(searches: &str, gold: &GoldSet, seed: u64) -> (Draw, f64) {
    let measure: LabelMeasure = "P@5".parse().expect("a measure");
    let variants = ["V4", "V5"].map(str::to_owned).to_vec();
    let mut builder = FrameBuilder::new(variants, &measure, JudgeBy::Id, &[]);
    for line in searches.lines() {
        let search: Search<'_> = serde_json::from_str(line).expect("a search");
        builder.search(&search);
    }
    let frame = builder.finish().expect("a frame");
    let of_measure = ("P@5".to_owned(), 3.0);
    let drawn = draw(frame, of_measure, Focus::Difference, seed, 400).expect("a sample");
    let gains = drawn.rows.iter().map(|row| {
        let grade = grade(gold, &row.query, &row.document);
        row.difference * measure.gain(grade, 3.0)
    });
    let truth = gains.sum();
    (drawn, truth)
}

#[test]
fn four_hundred_labels_find_the_regression_of_v5() {
    let corpus = Arc::new(Corpus::generate(1, QUERIES));
    let gold = corpus.gold_json();
    let gold = gold::parse("gold.json", gold.as_bytes(), &Options::default()).expect("a gold set");
    let measure: LabelMeasure = "P@5".parse().expect("a measure");
    for regressed in [true, false] {
        let [searches, _] = traffic(&corpus, regressed);
        for seed in 0..5 {
            let (drawn, truth) = sample(&searches, &gold, seed);
            let labels = drawn.rows.iter().take(400);
            let labels: Vec<Label> = labels
                .map(|row| Label::Grade(grade(&gold, &row.query, &row.document)))
                .collect();
            let found = report::report(&drawn, &measure, &labels, None).expect("a report");
            let estimate = found
                .estimates
                .iter()
                .find(|it| it.kind == report::Kind::Difference)
                .expect("a difference");
            let [lower, upper] = estimate.any_time;
            assert!(
                lower <= truth && truth <= upper,
                "{estimate:?}, truth {truth}"
            );
            if regressed {
                assert!(truth < -0.05 && upper < 0.0, "{estimate:?}, truth {truth}");
            } else {
                assert!(upper > -0.05, "{estimate:?}, truth {truth}");
            }
        }
    }
}

#[test]
fn grades_from_ten_minutes_of_clicks_agree_with_those_of_the_corpus() {
    let folder = tempfile::Builder::new()
        .prefix("demo-clicks-")
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    let corpus = Arc::new(Corpus::generate(1, QUERIES));
    let [searches, feedback] = traffic(&corpus, false);
    write("search.jsonl", &searches);
    write("feedback.jsonl", &feedback);
    write("gold.json", &corpus.gold_json());
    let from_clicks = "gold from-clicks --format json --search search.jsonl --feedback feedback.jsonl \
                       --human gold.json --output clicks.json";
    let found = json(&rankgauge(folder.path(), from_clicks));
    assert_eq!(found["trusted"], true, "{found}");
    // The table of the specification has 0.92 for users whose clicks depend on one grade.
    let agreement = found["agreement"].as_f64().expect("a number");
    assert!(agreement > 0.85, "{found}");
}
