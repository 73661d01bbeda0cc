//! Estimates from labels, against values of the reference implementation.

use rankgauge_core::event::Search;
use rankgauge_core::labelling::{LabelMeasure, uniform};
use rankgauge_core::ranking::JudgeBy;
use rankgauge_eval::labelling::draw::{Focus, draw};
use rankgauge_eval::labelling::frame;
use rankgauge_eval::labelling::sheet::{self, Label, Sheet, SheetError};
use rankgauge_eval::labelling::simulation::{SimulatedCase, SimulationOptions, simulate};
use rankgauge_eval::labelling::{
    Control, Rows, any_time, clock, estimate, order_of, sequence, two_phase,
};

const SIZES: [f64; 8] = [0.2, 0.2, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05];
const PREDICTIONS: [f64; 8] = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0];
const GAINS: [f64; 8] = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0];
const ROWS: Rows<'_> = Rows {
    coefficient: &SIZES,
    prediction: &PREDICTIONS,
    size: &SIZES,
};
const ORDER: [usize; 8] = [5, 0, 2, 7, 1, 3, 6, 4];

fn labels(number: usize) -> Vec<f64> {
    ORDER[..number].iter().map(|row| GAINS[*row]).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

#[test]
fn versions_of_a_variant_are_compared_and_only_changed_lists_cost_labels() {
    let measure: LabelMeasure = "P@2".parse().expect("a measure");
    let labels = ["build".to_owned()];
    let variants = ["V5@1", "V5@2"].map(str::to_owned).to_vec();
    let mut builder = frame::FrameBuilder::new(variants, &measure, JudgeBy::Id, &labels);
    let mut number = 0;
    for version in ["1", "2", "3"] {
        for (query, changed) in [("tax", "c"), ("lease", "b")] {
            let last = if version == "2" { changed } else { "b" };
            number += 1;
            let text = format!(
                r#"{{"query_id": "{number}", "ts": 1, "query": "{query}", "variant": "V5",
                "labels": {{"build": "{version}"}}, "results": [{{"id": "a"}}, {{"id": "{last}"}}]}}"#
            );
            let search: Search<'_> = serde_json::from_str(&text).expect("a search");
            builder.search(&search);
        }
    }
    let frame = builder.finish().expect("a frame");
    assert_eq!(frame.shared_traffic, Some(1.0));
    assert_eq!(frame.changed_queries, Some(0.5));
    let drawn = draw(frame, ("P@2".to_owned(), 1.0), Focus::Difference, 1, 10).expect("a draw");
    let mut rows: Vec<_> = drawn
        .rows
        .iter()
        .map(|it| (&*it.query, &*it.document))
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, [("tax", "b"), ("tax", "c")]);
}

#[test]
fn the_order_depends_on_the_seed_and_the_ids_only() {
    assert_near(
        &[
            uniform(7, "q1", "d1"),
            uniform(7, "용도지역", "법률_제17조"),
        ],
        &[0.198_581_065_798_464, 0.534_779_604_507_207],
    );
    let documents = SIZES.iter().enumerate();
    let clocks = documents.map(|(at, size)| clock(uniform(7, "q", &format!("d{at}")), *size));
    assert_eq!(order_of(&clocks.collect::<Vec<f64>>()), ORDER);
}

#[test]
fn estimates_have_the_values_of_the_reference() {
    let expected = [
        (
            Control::Nothing,
            [1.0, 1.0, 1.0, 0.45, 0.45],
            [0.653_041_787, 0.133_607_064],
        ),
        (
            Control::Mean,
            [1.0, 1.0, 1.0, 0.45, 0.45],
            [0.653_041_787, 0.133_607_064],
        ),
        (
            Control::Regression,
            [1.0, 1.0, 1.0, 0.458_418_521, 0.476_476_578],
            [0.664_589_51, 0.128_915_743],
        ),
    ];
    for (control, z, [value, standard_error]) in expected {
        let steps = sequence(ROWS, &ORDER, &labels(5), control);
        assert_near(&steps.iter().map(|step| step.z).collect::<Vec<f64>>(), &z);
        let found = estimate(&steps).unwrap();
        assert_near(
            &[found.value, found.standard_error],
            &[value, standard_error],
        );
        if control == Control::Regression {
            let interval = any_time(&steps, (0.0, 1.0), 5);
            let ends = [0.435, 0.9765];
            for (found, expected) in interval.iter().zip(ends) {
                assert!((found - expected).abs() <= 5.1e-4, "{found} {expected}");
            }
        }
    }
}

#[test]
fn a_judge_of_the_first_rows_gives_an_estimate_in_two_phases() {
    let judge: Vec<f64> = ORDER[..6].iter().map(|row| PREDICTIONS[*row]).collect();
    let found = two_phase(ROWS, &ORDER, &judge, &labels(3)).unwrap();
    assert_near(&[found.value, found.standard_error], &[1.0, 0.0]);
}

mod files {
    use std::fmt::Write as _;

    use rankgauge_eval::labelling::draw::{Draw, Focus, draw};
    use rankgauge_eval::labelling::frame;
    use rankgauge_eval::labelling::report::{Judge, report};
    use rankgauge_eval::labelling::sheet::{self, Label, Sheet, SheetError};

    fn labels_of(draw: &Draw, text: &str) -> Result<Vec<Label>, SheetError> {
        Sheet::parse(draw, text)?.labels(0)
    }

    /// Gain of a document of the frame.
    fn gain(document: usize) -> f64 {
        f64::from(u8::from(!document.is_multiple_of(3)))
    }

    /// 300 documents; B shows the first 150 more, A the others.
    fn sample(seed: u64) -> Draw {
        let mut text = "query\tdocument\ta_A\ta_B\n".to_owned();
        for document in 0..300 {
            let (a, b) = if document < 150 { (1, 2) } else { (2, 1) };
            let row = format!("q{}\td{document}\t{a}\t{b}", document / 5);
            writeln!(text, "{row}").unwrap();
        }
        let mut frame = frame::parse(&text, &[]).unwrap();
        for row in &mut frame.rows {
            for level in &mut row.levels {
                *level /= 450.0;
            }
            row.difference /= 450.0;
        }
        draw(frame, ("P@5".into(), 3.0), Focus::Both, seed, 100).unwrap()
    }

    fn grade(draw: &Draw, row: usize) -> f64 {
        let document = draw.rows[row].document.trim_start_matches('d');
        gain(document.parse().unwrap())
    }

    /// Sheet whose first rows are labelled.
    fn filled(draw: &Draw, labels: usize) -> String {
        let sheet = sheet::write(draw).unwrap();
        let rows = sheet.lines().enumerate().map(|(line, text)| {
            if (1..=labels).contains(&line) {
                format!("{text}{}", grade(draw, line - 1))
            } else {
                text.to_owned()
            }
        });
        rows.collect::<Vec<String>>().join("\n")
    }

    #[test]
    fn intervals_of_labels_contain_the_truth() {
        let mut covered = [0, 0];
        for seed in 0..40 {
            let draw = sample(seed);
            let labels = labels_of(&draw, &filled(&draw, 100)).unwrap();
            let found = report(&draw, &"P@5".parse().unwrap(), &labels, None).unwrap();
            assert_eq!(found.estimates.len(), 3);
            for (target, estimate) in draw.targets.iter().zip(&found.estimates) {
                let rows = draw.rows.iter().enumerate();
                let truth: f64 = rows
                    .map(|(at, row)| {
                        target.coefficient(&row.levels, row.difference) * grade(&draw, at)
                    })
                    .sum();
                let holds = |[low, high]: [f64; 2]| usize::from(low <= truth && truth <= high);
                covered[0] += holds(estimate.once);
                covered[1] += holds(estimate.any_time);
            }
        }
        // Of 120 intervals; the seeds are fixed.
        assert!(covered[0] >= 108 && covered[1] >= 114, "{covered:?}");
    }

    #[test]
    fn forecasts_know_that_the_rows_end_and_that_large_ones_come_first() {
        let mut draw = sample(1);
        let rows = draw.rows.len();
        assert!(draw.labels_needed(1e-9) <= rows);
        let planned = |draw: &mut Draw, labels: usize| {
            draw.planned = labels;
            draw.predicted_half_width()
        };
        let all = planned(&mut draw, rows);
        assert!(all.abs() < 1e-12, "{all}");
        // Of 300 rows, 100 are a third: with the correction for a finite set the width is smaller.
        let size: f64 = draw.rows.iter().map(|row| row.size).sum();
        let unlimited = 1.96 * 0.47 * size / 10.0;
        let found = planned(&mut draw, 100);
        assert!(
            found < 0.95 * unlimited && found > 0.6 * unlimited,
            "{found} {unlimited}"
        );
        assert_eq!(draw.labels_needed(found), 100);
        // One row with half of the size is labelled at once, and no longer varies.
        draw.rows[0].size = size;
        assert!(planned(&mut draw, 100) < 0.65 * 2.0 * unlimited);
    }

    /// The standard errors after more labels are those of the forecast.
    #[test]
    fn a_forecast_agrees_with_the_standard_errors_of_later_labels() {
        let error = |seed: u64, labels: usize| {
            let draw = sample(seed);
            let labels = labels_of(&draw, &filled(&draw, labels)).unwrap();
            let found = report(&draw, &"P@5".parse().unwrap(), &labels, None).unwrap();
            found.estimates[0].standard_error.unwrap()
        };
        let mean = |labels: usize| (0..20).map(|seed| error(seed, labels)).sum::<f64>() / 20.0;
        let found = mean(100) / mean(25);
        let forecast = sample(1).forecast();
        let expected = forecast.error(100) / forecast.error(25);
        assert!((found / expected - 1.0).abs() < 0.1, "{found} {expected}");
        assert!(expected < 0.45, "half without the correction: {expected}");
    }

    #[test]
    fn a_perfect_judge_of_all_rows_leaves_no_doubt_and_a_constant_one_changes_nothing() {
        let draw = sample(1);
        let labels = labels_of(&draw, &filled(&draw, 60)).unwrap();
        let scores = |score: &dyn Fn(usize) -> f64| {
            let rows = draw.rows.iter().enumerate();
            let lines = rows.map(|(at, row)| {
                format!(
                    r#"{{"query":"{}","document":"{}","score":{},"judge":"m@1"}}"#,
                    row.query,
                    row.document,
                    score(at)
                )
            });
            let text = lines.collect::<Vec<String>>().join("\n");
            Judge::parse(&draw, 60, &text).unwrap()
        };
        let width = |judge: Option<&Judge>| {
            let found = report(&draw, &"P@5".parse().unwrap(), &labels, judge).unwrap();
            let [low, high] = found.estimates[0].once;
            (high - low, found.judge)
        };
        let perfect = scores(&|at| grade(&draw, at));
        let (judged, judge) = width(Some(&perfect));
        let (without, _) = width(None);
        assert!(judged < 0.6 * without, "{judged} {without}");
        let judge = judge.unwrap();
        assert_eq!((judge.id.as_str(), judge.kappa), ("m@1", Some(1.0)));
        let (constant, _) = width(Some(&scores(&|_| 0.4)));
        assert!((constant - without).abs() < 1e-9);
    }

    #[test]
    fn ids_of_a_frame_are_without_the_white_space_around_them() {
        let frame = frame::parse("query\tdocument\ta_A\nq1 \t d1\t1\n", &[]).unwrap();
        let row = &frame.rows[0];
        assert_eq!((&*row.query, &*row.document), ("q1", "d1"));
        let empty = frame::parse("query\tdocument\ta_A\nq1\t \t1\n", &[]);
        assert!(empty.is_err());
    }

    #[test]
    fn a_sheet_saved_by_a_spreadsheet_is_read() {
        let draw = sample(1);
        let sheet = filled(&draw, 10);
        let labels = labels_of(&draw, &sheet).unwrap();
        for separator in [";", "\t", ", "] {
            let saved = sheet.replace(',', separator);
            assert_eq!(
                labels_of(&draw, &saved).as_ref(),
                Ok(&labels),
                "{separator}"
            );
        }
    }

    #[test]
    fn sheets_that_do_not_fit_name_the_row() {
        let draw = sample(7);
        let sheet = filled(&draw, 5);
        let error = |text: &str| labels_of(&draw, text).unwrap_err().to_string();
        let lines: Vec<&str> = sheet.lines().collect();
        let with = |at: usize, line: &str| {
            let mut lines = lines.clone();
            lines[at] = line;
            lines.join("\n")
        };
        let unlabelled = lines[3].trim_end_matches(|c: char| c.is_ascii_digit());
        assert!(error(&with(3, unlabelled)).contains("row 3 has no label, but row 4 has one"));
        assert!(error(&with(2, "2,q1,other,,1")).contains("row 2 is (`q1`, `other`)"));
        assert!(error(&with(2, lines[1])).contains("row 1 is in the sheet twice"));
        let high = format!("{unlabelled}9");
        assert!(error(&with(3, &high)).contains("row 3: `grade` is `9`"));
        assert!(error(&filled(&sample(8), 5)).contains("belongs to another sample"));

        let unknown = r#"{"query":"q0","document":"x","score":1}"#;
        let error = Judge::parse(&draw, 5, unknown).unwrap_err().to_string();
        assert!(
            error.contains("line 1: the document `x` of the query `q0` is no row"),
            "{error}"
        );
    }

    #[test]
    fn skipped_rows_count_as_both_ends() {
        let draw = sample(3);
        let sheet = filled(&draw, 50);
        let mut lines: Vec<String> = sheet.lines().map(str::to_owned).collect();
        let row = lines[10].trim_end_matches(|c: char| c.is_ascii_digit());
        lines[10] = format!("{row}skip");
        let measure = "P@5".parse().unwrap();
        let of = |text: &str| {
            let labels = labels_of(&draw, text).unwrap();
            report(&draw, &measure, &labels, None).unwrap().estimates
        };
        let (labelled, skipped) = (of(&sheet), of(&lines.join("\n")));
        for (labelled, skipped) in labelled.iter().zip(&skipped) {
            assert_eq!(skipped.skipped, 1);
            assert!(skipped.once[0] <= labelled.once[0] && labelled.once[1] <= skipped.once[1]);
        }
    }

    #[test]
    fn frames_with_wrong_rows_name_the_line() {
        let error = |text: &str| frame::parse(text, &[]).unwrap_err().to_string();
        assert!(error("query\tdoc\ta_A\n").contains("line 1: the columns"));
        assert!(error("query\tdocument\ta_A\nq\td\n").contains("line 2: 2 fields"));
        assert!(error("query\tdocument\ta_A\nq\td\t-1\n").contains("line 2: `a_A` is `-1`"));
        let repeated = "query\tdocument\ta_A\nq\td\t1\nq\td\t1\n";
        assert!(error(repeated).contains("is in line 2 already"));
    }
}

#[test]
fn simulated_estimates_are_unbiased_and_hold_under_continuous_monitoring() {
    let options = SimulationOptions {
        queries: 300,
        searches: 3_000,
        repetitions: 12,
        labels: 40,
        seed: 3,
    };
    let cases = simulate(options);
    assert_eq!(cases.len(), 16);
    for case in &cases {
        assert!(
            case.bias.abs() <= 4.0 * case.bias_standard_error,
            "{case:?}"
        );
        assert!(case.ever_outside_any_time <= 0.26, "{case:?}");
        assert!(case.half_width_once < case.half_width_any_time, "{case:?}");
    }
    let mean = |of: fn(&SimulatedCase) -> f64| cases.iter().map(of).sum::<f64>() / 16.0;
    assert!(mean(|case| case.covers_once) > 0.85);
    assert!(mean(|case| case.ever_outside_any_time) < 0.1);
    assert!(mean(|case| case.ever_outside_once) > 0.15);
    let (none, good) = (&cases[12], &cases[15]);
    assert_eq!(
        (none.kind, none.judge_kappa, good.judge_kappa),
        ("level", None, Some(0.8))
    );
    assert!(good.labels_needed[0][0] < none.labels_needed[0][0]);
    assert_eq!(simulate(options), cases);
}

#[test]
fn a_sheet_keeps_the_labels_of_two_annotators() {
    let frame = frame::parse(
        "query\tdocument\ta_A\nq1\td1\t0.2\nq1\td2\t0.2\nq2\td1\t0.2\n",
        &[],
    );
    let sample = draw(frame.unwrap(), ("P@5".into(), 3.0), Focus::Level, 1, 3).unwrap();
    let mut sheet = Sheet::parse(&sample, &sheet::write(&sample).unwrap()).unwrap();
    assert!(!sheet.write(&sample).unwrap().contains("grade_2"));
    let (grade, skip) = (|grade| Some(Label::Grade(grade)), Some(Label::Skipped));
    for (row, labels) in [[grade(2.0), grade(1.0)], [grade(0.5), skip], [skip, None]]
        .into_iter()
        .enumerate()
    {
        sheet.rows[row].labels = labels;
    }
    let read = Sheet::parse(&sample, &sheet.write(&sample).unwrap()).unwrap();
    assert_eq!(read, sheet);
    assert_eq!(read.labels(0).unwrap().len(), 3);
    assert_eq!(read.labels(1), Ok(vec![Label::Grade(1.0), Label::Skipped]));
    let agreement = read.agreement(|grade| grade >= 1.0).unwrap();
    assert_eq!((agreement.rows, agreement.kappa), (1, None));

    sheet.rows[0].labels[1] = None;
    assert_eq!(sheet.labels(1), Err(SheetError::Gap { row: 1, next: 2 }));
    let wrong = sheet.write(&sample).unwrap().replace("skip", "maybe");
    let error = Sheet::parse(&sample, &wrong).unwrap_err().to_string();
    assert_eq!(
        error,
        "row 2: `grade_2` is `maybe`; write a number from 0 to 3, or `skip`"
    );
}
