//! Reports of an evaluation: each format against a reviewed golden file, read back by third-party
//! readers, and against ids that contain markup or control characters. `UPDATE=1` rewrites the
//! files.

use std::fs;

use rankgauge_core::measure::Measure;
use rankgauge_eval::evaluate::Evaluation;
use rankgauge_eval::report::{
    Format, MAX_WORST_QUERIES, Options, recommendation, write, write_trec,
};
use serde_json::Value;

pub(crate) mod sample;

use sample::HOSTILE;

const MEANS: Options<'_> = Options {
    per_query: false,
    checks: &[],
    errors: &[],
    operations: &[],
    operation_targets: &[],
    behaviour: &[],
    sweeps: &[],
    changes: &[],
    cases: &[],
};

const PER_QUERY: Options<'_> = Options {
    per_query: true,
    ..MEANS
};

/// Compares with a file of `tests/data/reports`.
fn assert_golden(name: &str, written: &str) {
    let path = crate::repository("tests/data/reports").join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, written).expect("the golden file can be written");
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == written,
        "{} says something else than this report; look at the difference, and if it is right, \
         run the test with UPDATE=1:\n{written}",
        path.display()
    );
}

#[test]
fn text_report_matches_the_golden_file() {
    assert_golden(
        "two-runs.txt",
        &write(&sample::two_runs(), Format::Text, &MEANS),
    );
    assert_golden(
        "one-run.txt",
        &write(&sample::one_run(), Format::Text, &PER_QUERY),
    );
}

#[test]
fn text_report_fits_80_columns_and_contains_no_control_characters() {
    use unicode_width::UnicodeWidthStr as _;
    let text = write(&sample::two_runs(), Format::Text, &PER_QUERY);
    for line in text.lines() {
        assert!(line.width() <= 80, "wider than 80 columns: {line}");
        assert!(
            !line.contains(char::is_control),
            "a control character in: {line}"
        );
    }
}

#[test]
fn trec_lines_have_the_names_and_layout_of_trec_eval() {
    assert_golden("trec.txt", &write_trec(&sample::large(3), &PER_QUERY));
    let text = write_trec(&sample::one_run(), &MEANS);
    assert!(text.starts_with(
        "runid                 \tall\tV5-전체-tag\nnum_q                 \tall\t60\n"
    ));
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    // The order of trec_eval, then the measures that it does not have, under our names.
    let expected = "runid num_q num_ret num_rel num_rel_ret map recip_rank P_5 recall_10 nDCG(gain=exp)@10 \
                    Judged@10 Discovery(rne)";
    assert_eq!(names.join(" "), expected);
}

#[test]
fn trec_names_equal_those_of_trec_eval_for_every_measure_it_has() {
    let mut evaluation = sample::large(1);
    evaluation.runs.truncate(1);
    let named = [
        ("Success@10", "success_10"),
        ("AP@7", "map_cut_7"),
        ("nDCG@20", "ndcg_cut_20"),
        ("nDCG@5", "ndcg_cut_5"),
        ("nDCG", "ndcg"),
        ("R@100", "recall_100"),
        ("P@10", "P_10"),
        ("P@5", "P_5"),
        ("IPrec@0.1", "iprec_at_recall_0.10"),
        ("IPrec@0", "iprec_at_recall_0.00"),
        ("RR", "recip_rank"),
        ("Bpref", "bpref"),
        ("AP", "map"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("RBP", "RBP"),
    ];
    for (ours, theirs) in named {
        let read = theirs.parse::<Measure>().expect("an alias");
        assert_eq!(read.to_string(), ours);
    }
    evaluation.measures = named.map(|(ours, _)| ours.to_owned()).to_vec();
    evaluation.runs[0].means = vec![Some(0.25); named.len()];
    let text = write_trec(&evaluation, &MEANS);
    let lines: Vec<_> = text.lines().skip(5).collect();
    let order = "map bpref recip_rank iprec_at_recall_0.00 iprec_at_recall_0.10 P_5 P_10 recall_100 ndcg \
                 ndcg_cut_5 ndcg_cut_20 map_cut_7 success_10 P(rel=2)@5 RBP";
    let expected: Vec<_> = order
        .split(' ')
        .map(|name| format!("{name:<22}\tall\t0.2500"))
        .collect();
    assert_eq!(lines, expected);
}

#[test]
fn json_members_follow_the_contract_in_the_order_of_the_measures() {
    let text = write(&sample::large(3), Format::Json, &PER_QUERY);
    assert_golden("report.json", &text);
    let evaluation = sample::two_runs();
    let text = write(&evaluation, Format::Json, &MEANS);
    assert!(!text.contains("per_query"));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["gold"]["version"], "2026-01");
    assert_eq!(json["gold"]["queries"], 60);
    let run = &json["runs"][0];
    assert_eq!(run["name"], "V4-hybrid");
    assert_eq!(run["queries"], 58);
    assert_eq!(run["missing"], serde_json::json!(["Q058", "Q059"]));
    assert!(run["means"]["RR@10"].is_null() && run["means"].get("RR@10").is_some());
    assert_eq!(run["micro"].as_object().unwrap().len(), 3);
    assert!(run["by"]["query_type"]["keyword"]["P@5"].is_f64());
    let places: Vec<_> = evaluation
        .measures
        .iter()
        .map(|measure| text.find(&format!("\"{measure}\":")).unwrap())
        .collect();
    assert!(
        places.is_sorted(),
        "measures are in another order than asked for"
    );
}

#[test]
#[allow(
    clippy::float_cmp,
    reason = "the same number, bit by bit, is what is claimed"
)]
fn json_scores_round_trip_bit_for_bit() {
    let evaluation = sample::two_runs();
    let json: Value = serde_json::from_str(&write(&evaluation, Format::Json, &PER_QUERY)).unwrap();
    for (run, read) in evaluation.runs.iter().zip(json["runs"].as_array().unwrap()) {
        for query in &run.queries {
            let scores = &read["per_query"][&query.key];
            for (measure, score) in evaluation.measures.iter().zip(&query.scores) {
                assert_eq!(scores.get(measure).and_then(Value::as_f64), *score);
            }
        }
        for (measure, mean) in evaluation.measures.iter().zip(&run.means) {
            assert_eq!(read["means"][measure].as_f64(), *mean);
        }
    }
}

#[test]
fn csv_reads_back_as_the_same_scores() {
    let evaluation = sample::large(3);
    let text = write(&evaluation, Format::Csv, &PER_QUERY);
    assert_golden("scores.csv", &text);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(
        reader.headers().unwrap(),
        vec![
            "table", "run", "slice", "value", "measure", "score", "n", "text"
        ]
    );
    let records: Vec<_> = reader.records().map(|record| record.unwrap()).collect();
    for run in &evaluation.runs {
        for (measure, mean) in evaluation.measures.iter().zip(&run.means) {
            let found = records
                .iter()
                .find(|it| {
                    &it[0] == "mean" && it[1] == run.name && it[2].is_empty() && it[4] == *measure
                })
                .unwrap();
            assert_eq!(found[5].parse::<f64>().ok(), *mean);
            let at = evaluation.measures.iter().position(|it| it == measure);
            assert_eq!(found[6], run.scored[at.unwrap()].to_string());
        }
    }
    let keyed =
        evaluation.runs[0].queries.len() * evaluation.measures.len() * evaluation.runs.len();
    assert_eq!(records.iter().filter(|it| &it[0] == "query").count(), keyed);
}

#[test]
fn csv_preserves_an_id_full_of_separators() {
    let text = write(&sample::two_runs(), Format::Csv, &PER_QUERY);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert!(
        reader
            .records()
            .any(|record| &record.unwrap()[3] == HOSTILE)
    );
}

#[test]
fn markdown_report_matches_the_golden_file() {
    assert_golden(
        "report.md",
        &write(&sample::two_runs(), Format::Markdown, &PER_QUERY),
    );
}

#[test]
fn markdown_rows_have_as_many_cells_as_their_table_has_columns() {
    let text = write(&sample::two_runs(), Format::Markdown, &PER_QUERY);
    let mut columns = None;
    for line in text.lines() {
        // Bars without an escape separate cells.
        let cells = line.replace("\\|", "").matches('|').count();
        columns = line.starts_with('|').then(|| columns.unwrap_or(cells));
        assert_eq!(
            columns.unwrap_or(0),
            if line.starts_with('|') { cells } else { 0 },
            "{line}"
        );
    }
    assert!(!text.contains("<script>") && !text.contains('\u{1b}'));
}

#[test]
fn html_report_escapes_ids() {
    let mut evaluation = sample::two_runs();
    evaluation.runs[0].name = HOSTILE.to_owned();
    evaluation.measures[6] = format!("Discovery({HOSTILE})");
    evaluation.gold.version = HOSTILE.to_owned();
    let page = write(&evaluation, Format::Html, &PER_QUERY);
    assert!(!page.contains("<script") && !page.contains("<b>"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn html_of_10000_queries_lists_the_worst_50_and_states_the_limit() {
    let page = write(&sample::large(10_000), Format::Html, &PER_QUERY);
    assert!(page.len() < 500_000, "{} bytes", page.len());
    assert!(page.contains(&format!(
        "the {MAX_WORST_QUERIES} worst of 10000 queries by nDCG(gain=exp)@10"
    )));
}

/// Five runs of 50 queries with 40 measures.
fn with_many_measures() -> Evaluation {
    let mut evaluation = sample::large(50);
    for name in ["V1", "V2", "V3"] {
        let mut run = evaluation.runs[1].clone();
        name.clone_into(&mut run.name);
        evaluation.runs.push(run);
    }
    for cutoff in 1..=32 {
        evaluation.measures.push(format!("R@{}", 20 + cutoff));
        for run in &mut evaluation.runs {
            run.means.push(run.means[0]);
            run.scored.push(run.scored[0]);
            for query in &mut run.queries {
                query.scores.push(query.scores[0]);
            }
            for value in run.by.iter_mut().flat_map(|slice| &mut slice.values) {
                value.means.push(value.means[0]);
                value.scored.push(value.scored[0]);
            }
        }
    }
    evaluation
}

#[test]
fn html_of_many_measures_stays_small_and_fits_on_paper() {
    let page = write(&with_many_measures(), Format::Html, &PER_QUERY);
    assert!(page.len() < 300_000, "{} bytes", page.len());
    assert!(!page.contains("class=\"\""), "an attribute without a value");
    // One measure has no score. The queries show ten, and the slices
    // all of them in several tables.
    assert!(page.contains("30 measures are not shown"));
    let columns = page.split("<thead>").skip(1).map(|table| {
        let head = table.split("</thead>").next().unwrap_or("");
        head.matches("<th").count()
    });
    let widest = columns.max().unwrap();
    assert!(widest <= 18, "{widest} columns");
    assert!(page.contains("R@52"));
    // The text lists all.
    let text = write(&with_many_measures(), Format::Text, &PER_QUERY);
    assert!(!text.contains("beyond the width"));
}

#[test]
fn slanted_names_of_nine_runs_stay_within_the_picture() {
    let mut evaluation = sample::short();
    for number in 3..=9 {
        let mut run = evaluation.runs[1].clone();
        run.name = format!("V{number}-전체-시스템-버전");
        evaluation.runs.push(run);
    }
    let page = write(&evaluation, Format::Html, &MEANS);
    let figure = page
        .split("<figure")
        .find(|figure| figure.contains("by query_type</h3>"))
        .unwrap();
    let starts = figure.split("translate(").skip(1);
    let starts = starts.map(|text| text.split(' ').next().unwrap().parse::<f64>().unwrap());
    // Eleven columns of text, each 7.2 units wide, at 40 degrees; the picture is 360 units wide.
    let end = starts.fold(0.0, f64::max) + 11.0 * 7.2 * 0.766;
    assert!(end > 300.0 && end <= 360.0, "{end}");
}

#[test]
fn html_loads_no_external_resources() {
    let page = write(&sample::two_runs(), Format::Html, &PER_QUERY);
    for outside in [
        "http:", "https:", "src=", "url(", "@import", "<script", "<link",
    ] {
        assert!(!page.contains(outside), "the page contains {outside}");
    }
}

#[test]
fn sections_without_data_are_omitted() {
    for format in [Format::Html, Format::Markdown, Format::Text] {
        let page = write(&sample::bare(), format, &MEANS);
        for heading in [
            "Routing",
            "Collaboration",
            "Components",
            "Micro averages",
            "Tiers reached",
        ] {
            assert!(!page.contains(heading), "{format:?} speaks of {heading}");
        }
    }
    let nothing = Evaluation {
        runs: Vec::new(),
        measures: Vec::new(),
        targets: Vec::new(),
        tier_measures: Vec::new(),
        goals: Vec::new(),
        ..sample::bare()
    };
    for format in [
        Format::Text,
        Format::Json,
        Format::Csv,
        Format::Markdown,
        Format::Html,
    ] {
        write(&nothing, format, &PER_QUERY);
    }
    write_trec(&nothing, &PER_QUERY);
    let mut unanswered = sample::two_runs();
    for run in &mut unanswered.runs {
        run.queries.clear();
        run.means.fill(None);
    }
    assert!(!write(&unanswered, Format::Html, &PER_QUERY).contains("recall curve"));
}

#[test]
fn recommendations_state_their_rule_and_numbers() {
    let evaluation = sample::two_runs();
    let found = recommendation::recommendations(&evaluation, &MEANS);
    let said = |rule: &str| -> Vec<&str> {
        let of_rule = found.iter().filter(|it| it.rule == rule);
        of_rule.map(|it| it.advice.as_str()).collect()
    };
    assert_eq!(said("preferred-run"), ["Use V5-전체."]);
    assert_eq!(
        said("missing-queries"),
        ["Answer all gold queries in V4-hybrid."]
    );
    assert_eq!(said("hop-limit"), ["Limit rne to two hops."]);
    assert_eq!(said("small-gold"), Vec::<&str>::new());
    assert!(
        found
            .iter()
            .all(|it| it.because.contains(|c: char| c.is_ascii_digit()))
    );
    assert!(found.iter().all(|it| {
        recommendation::RULES
            .iter()
            .any(|rule| rule.name == it.rule)
    }));
}

#[test]
fn another_run_is_recommended_only_for_targets_the_preferred_run_misses() {
    let mut evaluation = sample::two_runs();
    let headline = 4;
    let mut means = |run: usize, value: usize, mean: f64| {
        evaluation.runs[run].by[0].values[value].means[headline] = Some(mean);
    };
    for (value, [first, preferred]) in [[0.8, 0.7], [0.74, 0.3], [0.9, 0.75]].iter().enumerate() {
        means(0, value, *first);
        means(1, value, *preferred);
    }
    let advice = |evaluation: &Evaluation| -> Vec<_> {
        let found = recommendation::recommendations(evaluation, &MEANS).into_iter();
        let found = found.filter(|it| it.rule == "better-elsewhere");
        found.map(|it| (it.advice, it.because)).collect()
    };
    let expected = (
        "Learn from V4-hybrid on query_type article_number.".to_owned(),
        "nDCG(gain=exp)@10 is 0.8000 there, and 0.7000 in V5-전체, below good (0.75), over 20 \
         queries"
            .to_owned(),
    );
    assert_eq!(advice(&evaluation), [expected]);
    evaluation.targets.retain(|it| it.measure != headline);
    assert_eq!(advice(&evaluation), []);
}

#[test]
fn the_documentation_states_every_rule() {
    let text = fs::read_to_string(crate::repository("docs/reports.md")).unwrap();
    for rule in recommendation::RULES {
        let row = format!("| `{}` | {} |", rule.name, rule.summary);
        assert!(text.contains(&row), "docs/reports.md lacks the row\n{row}");
    }
}

#[test]
fn differences_name_the_measures_that_they_leave_out() {
    use rankgauge_eval::compare::{RunScores, against_first};
    let mut evaluation = sample::two_runs();
    evaluation.measures[2] = "GMAP".to_owned();
    evaluation.measures[3] = "NumRelRet".to_owned();
    let runs = evaluation.runs.iter();
    let scores = runs.map(|run| RunScores::of(run, &evaluation.measures));
    let changes = against_first(scores.collect(), 0.05).expect("two runs");
    let options = Options {
        changes: &changes,
        ..Options::default()
    };
    let text = write(&evaluation, Format::Text, &options);
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flowing.contains("counts are not measures, and are not compared: `NumRelRet`"),
        "{text}"
    );
    assert!(
        flowing.contains(
            "geometric means are not compared, because the tests are about arithmetic means: `GMAP`"
        ),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&write(&evaluation, Format::Json, &options)).expect("JSON");
    let tested = json["changes"][0]["measures"]
        .as_object()
        .expect("measures");
    let is_left_out = ["GMAP", "NumRelRet"].map(|name| !tested.contains_key(name));
    assert_eq!(
        (tested.contains_key("P@5"), is_left_out),
        (true, [true, true])
    );
}
