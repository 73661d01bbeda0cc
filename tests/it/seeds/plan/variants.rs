//! Sections 4, 5.1 and 5.4.3: comparison of variants, and the gain of each step.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::seeds::{assert_close, json_of, rankgauge};

/// Columns of table 5.1 that 4.2 uses: P@5, R@10 and nDCG@10 of V1 to V5.
const SYSTEMS: [(&str, [f64; 3]); 5] = [
    ("V1", [0.65, 0.45, 0.58]),
    ("V2", [0.72, 0.52, 0.65]),
    ("V3", [0.78, 0.61, 0.72]),
    ("V4", [0.83, 0.71, 0.79]),
    ("V5", [0.87, 0.78, 0.84]),
];

/// Names of the three measures in trec_eval.
const MEASURES: [&str; 3] = ["P_5", "recall_10", "ndcg_cut_10"];

/// Folder with a file of scores for each system: 50 queries with the mean of the table.
fn scores(systems: &[(&str, [f64; 3])]) -> TempDir {
    let folder = TempDir::new().expect("a temporary folder");
    for (name, means) in systems {
        let mut lines = Vec::new();
        for (measure, mean) in MEASURES.iter().zip(means) {
            for query in 0..50 {
                // Easy and hard queries alternate; systems differ a little more on hard ones.
                let spread = if query % 2 == 0 {
                    0.1 * mean
                } else {
                    -0.1 * mean
                };
                lines.push(format!("{measure}\tQ{query}\t{:.6}", mean + spread));
            }
        }
        std::fs::write(folder.path().join(name), lines.join("\n"))
            .expect("the folder can be written");
    }
    folder
}

/// Output of `compare` for these systems.
#[track_caller]
fn compared(systems: &[(&str, [f64; 3])], more: &[&str]) -> Value {
    let folder = scores(systems);
    let mut arguments = vec!["compare", "--format", "json"];
    for (name, _) in systems {
        arguments.extend(["--scores", name]);
    }
    arguments.extend(more);
    json_of(&rankgauge(folder.path(), &arguments), 0)
}

#[test]
fn plan_4_2_gain_of_each_component_added() {
    let gains = [
        ("vector search", [0.07, 0.07, 0.07]),
        ("relationship embeddings", [0.06, 0.09, 0.07]),
        ("RNE expansion", [0.05, 0.10, 0.07]),
        ("A2A collaboration", [0.04, 0.07, 0.05]),
    ];
    for (pair, (component, gains)) in SYSTEMS.windows(2).zip(gains) {
        let report = compared(pair, &[]);
        for (measure, gain) in MEASURES.iter().zip(gains) {
            let found = &report["measures"][*measure]["difference"];
            assert_close(&format!("{measure} of {component}"), found, gain);
        }
    }
}

#[test]
fn plan_4_2_ablation_of_all_variants_in_order() {
    let report = compared(&SYSTEMS, &[]);
    assert_eq!(report["runs"], json!(["V1", "V2", "V3", "V4", "V5"]));
    let steps = report["ablation"].as_array().expect("the steps");
    assert_eq!(steps.len(), 4);
    for (step, pair) in steps.iter().zip(SYSTEMS.windows(2)) {
        let [(before, old), (after, new)] = pair else {
            unreachable!("windows of two")
        };
        assert_eq!((&step["a"], &step["b"]), (&json!(before), &json!(after)));
        for (measure, (old, new)) in MEASURES.iter().zip(old.iter().zip(new)) {
            assert_close(
                measure,
                &step["measures"][*measure]["difference"],
                new - old,
            );
        }
    }
}

#[test]
fn plan_4_3_paired_t_test_and_effect_size_over_50_queries() {
    let report = compared(&[SYSTEMS[0], SYSTEMS[4]], &[]);
    for measure in MEASURES {
        let found = &report["measures"][measure];
        assert_eq!(found["n"], 50);
        assert!(found["p"].as_f64().is_some_and(|p| p < 0.05), "{found}");
        assert!(found["d_z"].as_f64().is_some_and(|d| d > 0.8), "{found}");
        let interval = [&found["ci95"][0], &found["ci95"][1]].map(Value::as_f64);
        let [Some(low), Some(high)] = interval else {
            panic!("no interval in {found}")
        };
        let difference = found["difference"].as_f64().expect("a number");
        assert!(
            0.0 < low && low < difference && difference < high,
            "{found}"
        );
    }
}

#[test]
fn plan_4_4_interaction_of_rne_and_a2a() {
    // Alone, they add .10 and .07 to recall; together .20: .03 more than the sum.
    let systems = [
        ("base", [0.7, 0.61, 0.7]),
        ("rne", [0.7, 0.71, 0.7]),
        ("a2a", [0.7, 0.68, 0.7]),
        ("both", [0.7, 0.81, 0.7]),
    ];
    let report = compared(&systems, &["--interaction", "base,rne,a2a,both"]);
    let interaction = &report["interaction"]["measures"]["recall_10"];
    assert_close("combined", &interaction["combined"], 0.20);
    assert_close("sum", &interaction["sum"], 0.17);
    assert_close("difference", &interaction["difference"], 0.03);
}

#[test]
fn plan_5_1_improvement_of_the_full_system_over_bm25() {
    let report = compared(&[SYSTEMS[0], SYSTEMS[4]], &[]);
    // In percent of V1: 34 for precision, 73 for recall, 45 for nDCG.
    for (measure, percent) in MEASURES.iter().zip([34.0, 73.0, 45.0]) {
        let found = &report["measures"][*measure];
        let number = |name: &str| found[name].as_f64().expect("a number");
        let improvement = 100.0 * number("relative");
        assert!(
            (improvement - percent).abs() < 0.5,
            "{measure} improves by {improvement} %"
        );
    }
}

#[test]
fn plan_5_4_3_improvement_of_multi_domain_over_single_domain() {
    let single = ("single", [0.76, 0.71, 0.79]);
    let multi = ("multi", [0.81, 0.78, 0.84]);
    let report = compared(&[single, multi], &[]);
    for (measure, percent) in MEASURES.iter().zip([6.6, 9.9, 6.3]) {
        let found = &report["measures"][*measure];
        let number = |name: &str| found[name].as_f64().expect("a number");
        let improvement = 100.0 * number("relative");
        assert!(
            (improvement - percent).abs() < 0.05,
            "{measure} improves by {improvement} %"
        );
        assert!(number("p") < 0.01, "{found}");
    }
}
