//! Sums of scores are exact: the exposed value is the sum of the rounded scores, to the last digit
//! and in any order.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::settings::{Ranges, Rolling, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Ranking;
use serde_json::json;

use super::log::{Draft, draft};
use super::{START, Samples, World, assign, drain, read_search, settings, window};

/// Scores of `draft`, by measure of the settings; `None` for user behaviour measures.
fn scores(world: &World, draft: &Draft) -> Vec<Option<Nano>> {
    let key = format!("g{}", draft.query);
    let Some(index) = world.gold.find(Some(&key), None) else {
        return vec![None; world.settings.measures.len()];
    };
    let judgements = &world.gold.query(index).judgements;
    let served: Vec<String> = draft
        .results
        .iter()
        .take(usize::from(draft.served))
        .map(|result| format!("d{result}"))
        .collect();
    let mut ranking = Ranking::new();
    ranking.judge(served.iter().map(String::as_str), judgements);
    let score = |measure: &Measure| {
        measure
            .score_of_grades(&ranking, judgements)
            .map(Nano::from_f64)
    };
    world.settings.measures.iter().map(score).collect()
}

/// `units` times 10^-`decimals`, in plain decimal notation.
fn decimal(units: i128, decimals: usize) -> String {
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let text = format!("{whole}.{fraction}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{text}", if units < 0 { "-" } else { "" })
}

fn exposed(world: &World, drafts: &[Draft]) -> Samples {
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (number, draft) in (0..).zip(drafts) {
        read_search(
            &mut engine,
            0,
            number,
            &draft.write(&format!("q{number}"), 0),
        );
    }
    world.samples(&engine.snapshot())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn sums_of_scores_and_of_their_squares_are_exact(
        drafts in vec(draft(), 1..60).prop_map(|mut drafts| {
            for draft in &mut drafts {
                draft.variant = 0;
            }
            drafts
        }),
    ) {
        let world = World::new(settings());
        let samples = exposed(&world, &drafts);
        let all: Vec<Vec<Option<Nano>>> = drafts.iter().map(|draft| scores(&world, draft)).collect();
        for (index, measure) in world.settings.measures.iter().enumerate() {
            let column: Vec<i128> = all
                .iter()
                .filter_map(|scores| scores[index])
                .map(|score| i128::from(score.get()))
                .collect();
            let labels = format!(r#"{{measure="{measure}",slice="all",value="",variant=""}}"#);
            let expected = (!column.is_empty()).then(|| {
                [
                    column.len().to_string(),
                    decimal(column.iter().sum(), 9),
                    decimal(column.iter().map(|score| score * score).sum(), 18),
                ]
            });
            let names = ["score_count_total", "score_sum_total", "score_squares_total"];
            for (place, name) in names.into_iter().enumerate() {
                let found = samples.get(&format!("{name}{labels}"));
                prop_assert_eq!(found, expected.as_ref().map(|values| &values[place]), "{} {}", name, measure);
            }
        }
    }

    #[test]
    fn sums_do_not_depend_on_the_order(
        (one, other) in vec(draft(), 1..40)
            .prop_flat_map(|drafts| (Just(drafts.clone()), Just(drafts).prop_shuffle())),
    ) {
        let found = exposed(&World::new(settings()), &other);
        prop_assert_eq!(found, exposed(&World::new(settings()), &one));
    }
}

#[test]
fn a_third_is_rounded_once_and_summed_exactly() {
    let world = World::new(settings());
    let draft = Draft {
        query: 0,
        results: [6, 6, 0],
        served: 3,
        variant: 0,
        device: 0,
        latency: 1,
        session: 0,
    };
    let samples = exposed(&world, &[draft; 3]);
    let labels = r#"{measure="RR",slice="all",value="",variant=""}"#;
    assert_eq!(samples[&format!("score_sum_total{labels}")], "0.999999999");
    assert_eq!(
        samples[&format!("score_squares_total{labels}")],
        "0.333333332666666667"
    );
}

/// Scores of this size are added one by one, because 64 bits do not hold the sum of many.
#[test]
fn scores_of_many_thousands_are_summed_exactly() {
    let world = World::new(Settings {
        measures: Measure::parse_list("DupRemoved").expect("a known measure"),
        windows: vec![window("1h", 3_600)],
        ..settings()
    });
    let mut engine = world.engine();
    assign(&mut engine, 0);
    let repetitions = [150_000, 1, 150_000, 7];
    for (number, repetitions) in (0..).zip(repetitions) {
        let search = json!({
            "query_id": number, "ts": START, "query_key": "g0", "results": [{"id": "d0"}],
            "merged_from": vec![1; repetitions + 1],
        });
        read_search(&mut engine, 0, number, &search.to_string());
    }
    drain(&mut [&mut engine], 1, START);
    let samples = world.samples(&engine.snapshot());
    let labels = r#"measure="DupRemoved",slice="all",value="",variant="""#;
    assert_eq!(samples[&format!("score_sum_total{{{labels}}}")], "300008");
    assert_eq!(samples[&format!("score_count_total{{{labels}}}")], "4");
    let rolling = &samples[&format!(r#"score{{{labels},window="1h"}}"#)];
    assert_eq!(rolling, "75002");
}

/// The range is counted for the series whose rolling scores are exposed, for the selected measures, and for
/// no others.
#[test]
fn the_range_over_unjudged_results_is_exposed_with_the_rolling_scores() {
    let fp = ("FP@1", ["0", "1"]);
    let rr = ("RR", ["0.5", "1"]);
    for (rolling, ranges, measures, series) in [
        (
            Rolling::All,
            Ranges::All,
            [fp, rr].as_slice(),
            ["all", "query_type"].as_slice(),
        ),
        (Rolling::Whole, Ranges::All, &[fp, rr], &["all"]),
        // No measure is watched: RR is the primary one.
        (Rolling::Whole, Ranges::Watched, &[rr], &["all"]),
        (Rolling::Whole, Ranges::None, &[], &["all"]),
        (Rolling::None, Ranges::All, &[fp, rr], &[]),
    ] {
        let world = World::new(Settings {
            measures: Measure::parse_list("RR FN@1 FP@1 Judged@1 RR(judged_only=true)")
                .expect("known measures"),
            windows: vec![window("1h", 3_600)],
            rolling,
            ranges,
            ..settings()
        });
        let mut engine = world.engine();
        assign(&mut engine, 0);
        let search = json!({
            "query_id": 1, "ts": START, "query_key": "g1", "results": [{"id": "x"}, {"id": "d3"}],
        });
        read_search(&mut engine, 0, 1, &search.to_string());
        drain(&mut [&mut engine], 1, START);
        let samples = world.samples(&engine.snapshot());
        let found = samples
            .iter()
            .filter(|(name, _)| name.starts_with("score_range"));
        let found: Vec<_> = found.map(|(name, value)| (name, value.as_str())).collect();
        let mut expected = Vec::new();
        for (measure, bounds) in measures {
            for slice in series {
                for (bound, value) in ["lower", "upper"].into_iter().zip(*bounds) {
                    let of = if *slice == "all" { "" } else { "question" };
                    let labels = format!(
                        r#"measure="{measure}",slice="{slice}",value="{of}",variant="",window="1h""#
                    );
                    expected.push((format!(r#"score_range{{bound="{bound}",{labels}}}"#), value));
                }
            }
        }
        expected.sort();
        let found: Vec<_> = found
            .into_iter()
            .map(|(it, value)| (it.clone(), value))
            .collect();
        assert_eq!(found, expected, "{rolling:?}");
    }
}
