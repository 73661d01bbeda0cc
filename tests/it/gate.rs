//! The gate of `evaluate` and `compare` as a CI system runs it: exit codes, JUnit XML, annotations of
//! GitHub, stored baselines, and the example workflow.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::harness::command::{
    self, assert_exit, assert_reports, json, json_of, printed, stderr, stdout,
};

/// Folder of the examples.
fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Runs the program in the folder of the examples.
fn rankgauge(arguments: &str) -> Output {
    command::rankgauge(&examples(), arguments)
}

const EVALUATE: &str = "evaluate --gold gold.json --config ci/gate.yaml";

#[test]
fn the_exit_code_states_if_a_run_reaches_a_tier() {
    let good = rankgauge(&format!("{EVALUATE} --run V5.jsonl --fail-below good"));
    assert_exit(&good, 0);
    assert!(stdout(&good).contains("The gate passed: 4 checks, 4 passed, 0 skipped."));
    let bad = rankgauge(&format!("{EVALUATE} --run V1.jsonl --fail-below good"));
    assert_exit(&bad, 3);
    let said = stderr(&bad);
    assert!(
        said.starts_with("rankgauge: the gate failed: 3 of 4 checks\n"),
        "{said}"
    );
    assert!(
        said.contains("V1: P@5 reaches good (0.7): P@5 is 0.6533"),
        "{said}"
    );
    // The report is printed in both cases.
    assert!(stdout(&bad).contains("OVERALL"));
}

#[test]
fn requirements_are_bounds_or_names_of_goals() {
    for (require, code) in [
        ("nDCG@10>=0.86", 0),
        ("nDCG@10>=0.87", 3),
        ("ndcg_cut_10>0.86", 0),
        ("FP@10<=1", 0),
        ("FP@10<0.1", 3),
        ("precision-with-recall", 0),
        ("P@0>=1", 2),
        ("P@5", 2),
        ("P@5>=high", 2),
        ("CTR>=0.1", 2),
        ("Discovery(rne)>=0.1", 2),
    ] {
        let output = rankgauge(&format!("{EVALUATE} --run V5.jsonl --require {require}"));
        assert_exit(&output, code);
        let said = stderr(&output);
        let names_it = said.contains(require.split(['<', '>']).next().unwrap_or(require));
        assert!(code == 0 || names_it || said.contains("nDCG@10"), "{said}");
    }
    let unknown = rankgauge(&format!("{EVALUATE} --run V5.jsonl --require precision"));
    let said = stderr(&unknown);
    assert!(
        said.contains("the configured goals are precision-with-recall"),
        "{said}"
    );
}

#[test]
fn one_bound_of_a_joint_goal_is_not_enough() {
    // V1 has 0.51 and 0.47. Lowering the first bound leaves the goal unmet.
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("goals.yaml");
    let path = config.to_str().expect("a path");
    for (bounds, code) in [
        ("[P@10>=0.5, R@10>=0.75]", 3),
        ("[P@10>=0.5, R@10>=0.45]", 0),
    ] {
        fs::write(
            &config,
            format!("measures: [P@10, R@10]\ngoals: [{{name: both, require: {bounds}}}]\n"),
        )
        .expect("a file");
        let output = rankgauge(&format!(
            "evaluate --gold gold.json --run V1.jsonl --config {path} --require both"
        ));
        assert_exit(&output, code);
    }
}

#[test]
fn a_tier_without_targets_and_a_format_without_checks_are_rejected() {
    let output = rankgauge(&format!("{EVALUATE} --run V5.jsonl --fail-below great"));
    assert_reports(
        &output,
        2,
        "no computed measure has a target of the tier `great`; the tiers are",
    );
    assert_reports(&output, 2, "excellent, good");
    for (command, flags) in [
        (
            format!("{EVALUATE} --run V5.jsonl"),
            "--fail-below or --require",
        ),
        (
            "compare --gold gold.json --run V1.jsonl --run V5.jsonl".to_owned(),
            "--fail-on",
        ),
    ] {
        for format in ["junit", "github"] {
            let output = rankgauge(&format!("{command} --format {format}"));
            assert_reports(&output, 2, &format!("add {flags}"));
        }
    }
}

#[test]
fn a_measure_without_a_score_fails_the_gate() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("context.yaml");
    fs::write(
        &config,
        "measures: [ContextP]\ntargets: [{measure: ContextP, tier: good, value: 0.1}]\n",
    )
    .expect("a file");
    let output = rankgauge(&format!(
        "evaluate --gold gold.json --run V1.jsonl --fail-below good --config {}",
        config.to_str().expect("a path")
    ));
    assert_reports(&output, 3, "ContextP is without a score");
}

#[test]
fn a_run_that_leaves_out_gold_queries_does_not_pass_unnoticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = folder.path().join("part.jsonl");
    let all = fs::read_to_string(examples().join("V5.jsonl")).expect("a run");
    let first: Vec<&str> = all.lines().take(3).collect();
    fs::write(&run, first.join("\n")).expect("a file");
    let run = run.to_str().expect("a path");
    let command = format!("{EVALUATE} --run {run} --require R@10>=0.1 --format github");
    let output = rankgauge(&command);
    let said = printed(&output);
    assert!(
        said.contains("::warning") && said.contains("27 of 30 gold queries are missing"),
        "{said}"
    );
    assert!(said.contains("1 passed, 1 skipped"), "{said}");
    // With --complete they count as 0.
    let output = rankgauge(&format!("{command} --complete"));
    assert_exit(&output, 3);
    assert!(!stdout(&output).contains("::warning"));

    // The three answers are those of the first run: without the others, nothing is worse.
    let command = format!(
        "compare --gold gold.json --run V5.jsonl --run {run} --measures P@5 --resamples 200 \
         --fail-on worse --format github"
    );
    let output = rankgauge(&command);
    let said = printed(&output);
    assert!(
        said.contains("::warning") && said.contains("27 of 30 queries are missing"),
        "{said}"
    );
    let output = rankgauge(&format!("{command} --complete"));
    assert_exit(&output, 3);
}

#[test]
fn a_sign_that_is_no_relation_is_named() {
    for bound in ["nDCG@10=>0.5", "nDCG@10==0.5", "nDCG@10"] {
        let output = rankgauge(&format!("{EVALUATE} --run V5.jsonl --require {bound}"));
        assert_reports(&output, 2, &format!("`{bound}` has no relation"));
    }
}

#[test]
fn a_comparison_fails_on_the_chosen_verdict() {
    const COMPARE: &str = "compare --gold gold.json --measures nDCG@10 --resamples 200";
    let better = "--run V1.jsonl --run V5.jsonl";
    let worse = "--run V5.jsonl --run V1.jsonl";
    for (runs, fail_on, code) in [
        (better, "worse", 0),
        (better, "difference", 3),
        (worse, "worse", 3),
        (worse, "difference", 3),
    ] {
        let output = rankgauge(&format!("{COMPARE} {runs} --fail-on {fail_on}"));
        assert_exit(&output, code);
    }
    let output = rankgauge(&format!("{COMPARE} {worse} --fail-on worse --format json"));
    let found = json_of(&output, 3);
    assert_eq!(found["gate"]["passed"], false);
    let check = &found["gate"]["checks"][0];
    assert_eq!(check["condition"], "nDCG@10 is not worse than in V5");
    assert_eq!(
        (&check["run"], &check["outcome"]),
        (&"V1".into(), &"failed".into())
    );
}

#[test]
fn a_comparison_of_too_few_queries_fails_the_gate_and_names_both_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("a.eval"), "P_5 q1 0.5\n").expect("a file");
    fs::write(path("b.eval"), "P_5 q1 0.4\n").expect("a file");
    let output = rankgauge(&format!(
        "compare --scores {} --scores {} --fail-on worse --format junit",
        path("a.eval"),
        path("b.eval")
    ));
    assert_exit(&output, 3);
    let xml = stdout(&output);
    assert!(
        xml.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "{xml}"
    );
    let reason = "no verdict: 1 query with a score in both a and b, and 6 are needed";
    assert!(
        xml.contains("at least 6 queries are compared") && xml.contains(reason),
        "{xml}"
    );
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
}

#[test]
fn junit_has_a_suite_for_each_run_and_a_case_for_each_check() {
    let output = rankgauge(&format!(
        "{EVALUATE} --run V1.jsonl --run V5.jsonl --require nDCG@10>=0.8 --require RR>=0.5 --format \
         junit"
    ));
    assert_exit(&output, 3);
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <testsuites name=\"rankgauge\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"0\">\n\
        \x20 <testsuite name=\"V1\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">\n\
        \x20   <testcase classname=\"V1\" name=\"nDCG@10 &gt;= 0.8\"><failure message=\"nDCG@10 is \
        0.5802\"/></testcase>\n\
        \x20   <testcase classname=\"V1\" name=\"RR &gt;= 0.5\"><system-out>RR is \
        0.7083</system-out></testcase>\n\
        \x20 </testsuite>\n\
        \x20 <testsuite name=\"V5\" tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\">\n\
        \x20   <testcase classname=\"V5\" name=\"nDCG@10 &gt;= 0.8\"><system-out>nDCG@10 is \
        0.8698</system-out></testcase>\n\
        \x20   <testcase classname=\"V5\" name=\"RR &gt;= 0.5\"><system-out>RR is \
        0.9370</system-out></testcase>\n\
        \x20 </testsuite>\n</testsuites>\n";
    assert_eq!(stdout(&output), expected);
}

#[test]
fn annotations_of_github_name_failed_checks_first() {
    let output = rankgauge(&format!(
        "{EVALUATE} --run V5.jsonl --require RR>=0.5 --require nDCG@10>=0.9 --format github"
    ));
    assert_exit(&output, 3);
    assert_eq!(
        stdout(&output),
        "::error title=V5%3A nDCG@10 >= 0.9::nDCG@10 is 0.8698\n\
         ::notice title=rankgauge::The gate failed: 2 checks, 1 failed, 1 passed, 0 skipped.\n"
    );
}

#[test]
fn a_stored_evaluation_is_the_baseline_of_a_comparison() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let evaluate = |runs: &str, more: &str| {
        let command = format!(
            "evaluate --gold gold.json {runs} --measures nDCG@10,P@5 {more} --format json --output {}",
            path("stored.json")
        );
        let output = rankgauge(&command.replace("  ", " "));
        assert_exit(&output, 0);
    };
    let compare = |more: &str| {
        rankgauge(&format!(
            "compare --baseline {} {more} --resamples 200 --format json",
            path("stored.json")
        ))
    };
    let new = "--gold gold.json --run V5.jsonl --measures P@5,nDCG@10";
    evaluate("--run V1.jsonl", "--per-query");
    let output = compare(new);
    let found = json(&output);
    let direct = rankgauge(
        "compare --gold gold.json --run V1.jsonl --run V5.jsonl --measures nDCG@10,P@5 --resamples \
         200 --format json",
    );
    let direct = json(&direct);
    assert_eq!(found["runs"], serde_json::json!(["V1 (baseline)", "V5"]));
    assert_eq!(found["measures"], direct["measures"]);
    assert_eq!(found["gold"], direct["gold"]);

    // A file of scores can be a stored evaluation as well.
    fs::copy(path("stored.json"), path("copy.json")).expect("a copy");
    let both = compare(&format!("--scores {}", path("copy.json")));
    let both = json(&both);
    assert_eq!(both["comparisons"][0]["verdicts"]["P@5"], "identical");

    evaluate("--run V1.jsonl --run V5.jsonl", "--per-query");
    let several = compare(new);
    assert_reports(
        &several,
        2,
        "has 2 runs; name one with --baseline-run: V1, V5",
    );
    assert_exit(&compare(&format!("{new} --baseline-run V1")), 0);
    let unknown = compare(&format!("{new} --baseline-run V9"));
    assert!(stderr(&unknown).contains("there is no run `V9`; the runs are V1, V5"));

    evaluate("--run V1.jsonl", "");
    let means = compare(new);
    assert_reports(&means, 2, "has only means, and means cannot be paired");

    fs::write(path("stored.json"), "{\"gold\": 1}").expect("a file");
    let broken = compare(new);
    assert_reports(&broken, 2, "stored.json:1: not a stored evaluation");
}

#[test]
fn a_baseline_of_another_gold_set_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let stored = rankgauge(&format!(
        "evaluate --gold gold.json --run V1.jsonl --measures P@5 --per-query --format json --output {}",
        path("stored.json")
    ));
    assert_exit(&stored, 0);
    let gold = fs::read_to_string(examples().join("gold.json")).expect("the gold set");
    fs::write(path("gold.json"), gold.replacen("2025-11", "2025-12", 1)).expect("a file");
    let output = rankgauge(&format!(
        "compare --baseline {} --gold {} --run V5.jsonl --measures P@5",
        path("stored.json"),
        path("gold.json")
    ));
    assert_reports(&output, 2, "different gold sets, 2025-11 (SHA-256 ");
    assert_reports(&output, 2, "and 2025-12");
}

#[test]
fn a_baseline_of_other_settings_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let stored = folder.path().join("stored.json");
    let stored = stored.to_str().expect("a path");
    let settings = [
        ("-J", "judged_docs_only=true"),
        ("-M 3", "max_retrieved=3"),
        ("--set gold.relevance_level=2", "relevance_level=2"),
        ("--order score", "order=score"),
    ];
    for (flags, named) in settings {
        let evaluate = format!(
            "evaluate --gold gold.json --run V1.jsonl --measures P@5 {flags} --per-query --format json \
             --output {stored}"
        );
        assert_exit(&rankgauge(&evaluate), 0);
        let compare =
            format!("compare --baseline {stored} --gold gold.json --run V1.jsonl --measures P@5");
        let output = rankgauge(&compare);
        assert_exit(&output, 2);
        let expected = format!("judged with different settings, {named} and the usual ones");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
        assert_exit(&rankgauge(&format!("{compare} {flags}")), 0);
    }
}

#[test]
fn a_bound_that_no_score_can_miss_is_refused() {
    for bound in ["P@5<=70", "P@5>=1.5", "nDCG@10>=-0.1"] {
        let output = rankgauge(&format!(
            "evaluate --gold gold.json --run V1.jsonl --require {bound}"
        ));
        assert_reports(&output, 2, "is not between 0 and 1, but");
    }
}

/// `easy` answers only the queries on which every run is perfect.
#[test]
fn a_run_does_not_gain_from_omitting_hard_queries() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let gold = write(
        "gold.json",
        r#"{"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}, "q4": {"a": 1}}"#,
    );
    let all = write(
        "all.json",
        r#"{"q1": ["a"], "q2": ["a"], "q3": ["x", "a"], "q4": ["x", "a"]}"#,
    );
    let easy = write("easy.json", r#"{"q1": ["a"], "q2": ["a"]}"#);
    let worse = write("worse.json", r#"{"q1": ["a"], "q2": ["x", "a"]}"#);
    let said = |runs: &[&String]| {
        let runs: Vec<String> = runs.iter().map(|run| format!("--run {run}")).collect();
        let runs = runs.join(" ");
        let said = printed(&rankgauge(&format!(
            "evaluate --gold {gold} {runs} --measures RR,P@1"
        )));
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let tied = said(&[&all, &easy]);
    assert!(tied.contains("No run is preferred"), "{tied}");
    assert!(!tied.contains("[preferred-run]"), "{tied}");
    // The mean of `all` over its four queries is that of `worse`.
    let led = said(&[&worse, &all]);
    assert!(
        led.contains("all is preferred: RR 1.0000 (of the 2 queries of all runs)"),
        "{led}"
    );
    assert!(
        led.contains("Use all. Best on 2 of 2 measures; RR: worse 0.7500, all 1.0000, over the 2 queries of all runs"),
        "{led}"
    );
}

/// Inputs of the action in the example workflow, as the variables of `deploy/action/gate.sh`.
fn workflow_inputs() -> Vec<(String, String)> {
    let path = examples().join("ci/search-quality.yaml");
    let yaml = fs::read_to_string(path).expect("the workflow");
    let (_, with) = yaml.split_once("with:\n          gold:").expect("inputs");
    let mut inputs: Vec<(String, String)> = Vec::new();
    for line in format!("          gold:{with}").lines() {
        let indent = line.len() - line.trim_start().len();
        if indent < 10 {
            break;
        }
        let text = line.trim();
        if indent > 10 {
            let (_, value) = inputs.last_mut().expect("an input before its lines");
            value.extend([text, "\n"]);
        } else {
            let (name, value) = text.split_once(':').expect("name: value");
            let variable = name.to_uppercase().replace('-', "_");
            inputs.push((variable, value.trim().trim_start_matches('|').to_owned()));
        }
    }
    inputs
}

/// Copy of the examples.
fn checkout() -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for folder in ["", "ci"] {
        fs::create_dir_all(copy.path().join(folder)).expect("a folder");
        for file in fs::read_dir(examples().join(folder)).expect("the examples") {
            let file = file.expect("a file");
            if file.path().is_file() {
                let to = copy.path().join(folder).join(file.file_name());
                fs::copy(file.path(), to).expect("a copy");
            }
        }
    }
    copy
}

/// Output of a step of the action in the checkout.
fn step(checkout: &Path, name: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_rankgauge"));
    let programs = program.parent().expect("a folder").display();
    let path = std::env::var("PATH").expect("a path");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/action/gate.sh");
    Command::new(script)
        .arg(name)
        .current_dir(checkout)
        .envs(workflow_inputs())
        .env("PATH", format!("{programs}:{path}"))
        .env("GITHUB_STEP_SUMMARY", checkout.join("summary.md"))
        .output()
        .expect("the script starts")
}

fn summary(checkout: &Path) -> String {
    fs::read_to_string(checkout.join("summary.md")).expect("the summary")
}

#[test]
fn the_action_stores_the_main_branch_and_compares_later_runs_with_it() {
    let main = checkout();
    // The first run: nothing is stored, and targets are checked.
    assert_exit(&step(main.path(), "report"), 0);
    assert!(summary(main.path()).contains("there is nothing to compare with"));
    assert_exit(&step(main.path(), "check"), 0);
    assert_exit(&step(main.path(), "store"), 0);
    for file in ["report.html", "scores.json"] {
        assert!(main.path().join("search-quality").join(file).exists());
    }

    // An unchanged version, and a changed gold set: the stored run is judged again.
    let gold = fs::read_to_string(main.path().join("gold.json")).expect("the gold set");
    let changed = gold.replacen("2025-11", "2025-12", 1);
    fs::write(main.path().join("gold.json"), changed).expect("a file");
    assert_exit(&step(main.path(), "report"), 0);
    let shown = summary(main.path());
    assert!(shown.contains("# Comparison of main, V5"), "{shown}");
    assert_exit(&step(main.path(), "check"), 0);

    // The new version answers as badly as V1.
    let answers = examples().join("V1.jsonl");
    fs::copy(answers, main.path().join("V5.jsonl")).expect("a copy");
    assert_exit(&step(main.path(), "report"), 0);
    let failed = step(main.path(), "check");
    assert_exit(&failed, 3);
    let said = stdout(&failed);
    assert!(
        said.contains("::error") && said.contains("reaches good") && said.contains("main"),
        "{said}"
    );
}

#[test]
fn the_action_passes_every_input_to_its_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let action = fs::read_to_string(root.join("action.yml")).expect("the action");
    let script = fs::read_to_string(root.join("deploy/action/gate.sh")).expect("the script");
    for (variable, _) in workflow_inputs() {
        let input = variable.to_lowercase().replace('_', "-");
        let passed = format!("{variable}: ${{{{ inputs.{input} }}}}");
        assert_eq!(action.matches(&passed).count(), 3, "{passed}");
        assert!(script.contains(&variable), "{variable}");
    }
}

#[test]
fn a_name_of_a_run_writes_no_workflow_command_to_standard_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = "x\n::error::injected\u{1b}[31m.run";
    fs::write(folder.path().join("gold.qrels"), "q 0 a 1\n").expect("a file");
    fs::write(folder.path().join(name), "q Q0 b 1 1 t\n").expect("a file");
    let arguments = format!(
        "evaluate --gold gold.qrels --run {name} --measures P@1 --require P@1>=0.9 --format github"
    );
    let output = command::rankgauge(folder.path(), &arguments);
    assert_reports(&output, 3, "injected");
    let said = stderr(&output);
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(
        said.lines()
            .all(|line| !line.trim_start().starts_with("::")),
        "{said}"
    );
}
