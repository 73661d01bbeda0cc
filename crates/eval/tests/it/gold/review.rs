//! Review of a readable gold set: size, warnings and errors.

use rankgauge_core::gold::{self, Grade, Options};
use rankgauge_eval::gold::review::{Expectations, Review, Target};

fn review(content: &str, expected: &Expectations) -> Review {
    let set = gold::parse("gold", content.as_bytes(), &Options::default());
    Review::of(&set.expect("a set that can be used"), expected)
}

fn kinds(review: &Review) -> Vec<&str> {
    review.warnings.iter().map(|found| found.kind).collect()
}

/// `count` queries, each with a relevant document.
fn queries(count: usize) -> String {
    let lines = (0..count).map(|n| format!("q{n} 0 d 1\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn the_size_tiers_start_at_30_100_and_500_queries() {
    for (count, reached) in [
        (29, None),
        (30, Some("small")),
        (100, Some("medium")),
        (500, Some("large")),
    ] {
        let found = review(&queries(count), &Expectations::default());
        assert_eq!(found.size.reached, reached);
        assert_eq!(kinds(&found).contains(&"size"), reached.is_none());
    }
}

#[test]
fn queries_without_relevant_documents_are_reported_with_their_lines() {
    let found = review(
        &format!("{}\n없음 0 d 0\n", queries(30)),
        &Expectations::default(),
    );
    assert_eq!(kinds(&found), ["no_relevant"]);
    let warning = &found.warnings[0];
    assert_eq!(
        (
            warning.file.as_deref(),
            warning.line,
            warning.query.as_deref()
        ),
        (Some("gold"), Some(32), Some("없음"))
    );
}

#[test]
fn a_scale_below_the_relevance_level_is_one_warning_that_names_the_setting() {
    let srw = r#"{"judgmentRatings": [
        {"query": "phone", "ratings": [{"docId": "a", "rating": "0.7"}, {"docId": "b", "rating": "0.2"}]},
        {"query": "tv", "ratings": [{"docId": "a", "rating": "0.9"}]}]}"#;
    let found = review(srw, &Expectations::default());
    assert_eq!(kinds(&found), ["no_relevant", "size"]);
    let expected = "no document counts as relevant: the highest grade is 0.9, and the relevance level is 1; set \
                    gold.relevance_level to the lowest grade of a relevant document";
    assert_eq!(found.warnings[0].message, expected);
    let one = review("q 0 d 1\nr 0 d 0.5\n", &Expectations::default());
    assert_eq!(kinds(&one), ["no_relevant", "size"]);
    let message = &one.warnings[0].message;
    assert!(
        message.contains("query `r`") && message.contains("gold.relevance_level"),
        "{message}"
    );
}

#[test]
fn annotators_that_differ_beyond_the_threshold_are_reported() {
    let judged = |first: i32, second: i32| {
        format!("{{\"relevance\": 3, \"annotator_1\": {first}, \"annotator_2\": {second}}}")
    };
    let file = format!(
        "{{\"queries\": [{{\"query_id\": \"q\", \"ground_truth\": {{\"a\": {}, \"b\": {}, \"c\": {}}}}}]}}",
        judged(3, 0),
        judged(1, 2),
        judged(3, 3)
    );
    let found = review(&file, &Expectations::default());
    assert_eq!(kinds(&found), ["annotators", "kappa", "size"]);
    assert_eq!(
        found.warnings[0].message,
        "query `q`, document `a`: the annotators differ by 3 (annotator_1 3, annotator_2 0); resolve \
         the difference"
    );
    let generous = Expectations {
        kappa: -1.0,
        difference: 3.0,
        ..Expectations::default()
    };
    assert_eq!(kinds(&review(&file, &generous)), ["size"]);
}

#[test]
fn label_shares_are_compared_with_their_targets() {
    let query = |n: usize, kind: &str| {
        format!("{{\"query_id\": {n}, \"query_type\": \"{kind}\", \"ground_truth\": {{\"d\": 1}}}}")
    };
    let list: Vec<String> = (0..30)
        .map(|n| query(n, if n < 12 { "keyword" } else { "complex" }))
        .collect();
    let file = format!("{{\"queries\": [{}]}}", list.join(","));
    let target = |value: &str, share: f64| Target {
        label: "query_type".to_owned(),
        value: value.to_owned(),
        share,
    };
    let expected = Expectations {
        targets: vec![
            target("keyword", 0.45),
            target("complex", 0.4),
            target("cross", 0.1),
        ],
        ..Expectations::default()
    };
    let found = review(&file, &expected);
    // 40 % is just within 45 ± 5; 60 % is not within 40 ± 5, and 0 % is not within 10 ± 5.
    let messages: Vec<&str> = found.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].starts_with("60.0 % of the queries have query_type `complex`"));
    assert!(messages[1].starts_with("0.0 % of the queries have query_type `cross`"));
    assert_eq!(found.distribution["query_type"]["keyword"].count, 12);
}

#[test]
fn a_wrong_total_relevant_of_a_plan_is_a_warning() {
    let file = "[{\"query_id\": 1, \"relevant_articles\": [{\"hang_id\": \"a\", \"relevance\": 3}], \
                 \"total_relevant\": 12}]";
    let found = review(file, &Expectations::default());
    assert_eq!(kinds(&found), ["total_relevant", "size"]);
}

#[test]
fn the_scale_of_the_options_applies_to_a_set_without_one() {
    let expected = Expectations {
        scale_max: Grade::new(3.0),
        ..Expectations::default()
    };
    let found = review("q 0 a 3\nq 0 b 7\n", &expected);
    assert_eq!(found.errors.len(), 1);
    assert_eq!(found.errors[0].document.as_deref(), Some("b"));
}

#[test]
fn ids_that_differ_only_in_normalisation_are_reported() {
    let set = format!(
        "{}\nq0 0 \u{1109}\u{1175} 1\nq1 0 시 1\n\u{1109}\u{1175} 0 d 1\n시 0 d 1\n",
        queries(30)
    );
    let found = review(&set, &Expectations::default());
    assert_eq!(kinds(&found), ["normal_form", "normal_form"]);
    assert_eq!(found.warnings[0].document.as_deref(), Some("시"));
    assert!(found.warnings[0].message.contains("--normalise-ids nfc"));
    assert_eq!(found.warnings[1].query.as_deref(), Some("시"));
}
