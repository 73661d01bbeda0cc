//! Click models, against values of the reference implementation.

use rankgauge_core::event::Search;
use rankgauge_core::gold::Options;
use rankgauge_core::ranking::Rules;
use rankgauge_eval::clicks::{
    Analysis, AnalysisOptions, Cell, ClickLog, ClickModel, DEFAULT_MEMORY_LIMIT, Harvest, analyse,
    exposure, fit, non_decreasing, propensities,
};

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

fn cells() -> Vec<Cell> {
    let rows = [
        (0, 0, 100.0, 40.0),
        (0, 1, 100.0, 22.0),
        (1, 0, 50.0, 10.0),
        (1, 1, 80.0, 9.0),
        (2, 0, 60.0, 30.0),
        (2, 2, 90.0, 11.0),
    ];
    let cell = |(pair, context, shown, clicked)| Cell {
        pair,
        context,
        shown,
        clicked,
    };
    rows.map(cell).to_vec()
}

#[test]
fn the_position_based_model_has_the_values_of_the_reference() {
    let cells = cells();
    let mut harvest = Harvest::default();
    for pair in cells.chunk_by(|a, b| a.pair == b.pair) {
        harvest.add(pair);
    }
    let ratios: Vec<_> = harvest.ratios().into_iter().collect();
    let [((0, 1), ratio)] = ratios.as_slice() else {
        panic!("{ratios:?}");
    };
    assert_near(
        &[ratio.log, ratio.variance],
        &[0.592_503_655, 0.039_407_071],
    );

    let alone = fit(&cells, 3, 3, None);
    assert_near(&alone.examination, &[1.0, 0.550_709_196, 0.268_272_290]);
    let harvested = propensities(&harvest, &alone.examination);
    assert_near(&harvested.by_rank, &[1.0, 0.552_397_096, 0.268_272_290]);
    assert_near(&harvested.standard_error, &[0.0, 0.172_672_118, 0.35]);
    assert_near(&harvested.harvested, &[1.0, 0.756_606_855, 0.0]);

    let model = fit(&cells, 3, 3, Some(&harvested.by_rank));
    let attractiveness = [0.395_405_284, 0.203_684_375, 0.478_991_883];
    assert_near(&model.attractiveness, &attractiveness);
    let exposures = [155.239_709_626, 94.191_767_701, 84.144_506_118];
    assert_near(&exposure(&cells, 3, &harvested.by_rank), &exposures);
}

#[test]
fn an_increasing_fit_pools_values_that_decrease() {
    assert_near(
        &non_decreasing(&[1.0, 3.0, 2.0, 4.0]),
        &[1.0, 2.5, 2.5, 4.0],
    );
}

/// Warnings of the analysis of 20 searches for one query, with a gold set of these judgements.
fn warnings(judged: Option<&str>) -> Vec<String> {
    let mut log = ClickLog::new(Rules::default(), 10, DEFAULT_MEMORY_LIMIT);
    for number in 0..20 {
        let text = format!(
            r#"{{"query_id": "s{number}", "ts": {number}, "query": "tax", "results": [{{"id": "a"}}, {{"id": "b"}}]}}"#
        );
        let search: Search<'_> = serde_json::from_str(&text).expect("a search");
        log.search(&search);
    }
    let gold = judged.map(|judged| {
        let text = format!(
            r#"{{"version": "1", "queries": [{{"query_id": "q", "query_text": "tax", "ground_truth": {judged}}}]}}"#
        );
        let gold = rankgauge_core::gold::parse("gold", text.as_bytes(), &Options::default());
        gold.expect("a gold set")
    });
    let options = AnalysisOptions {
        model: ClickModel::Pbm,
        min_exposure: 0.0,
    };
    analyse(&log.clean(), gold.as_ref(), options).warnings
}

#[test]
fn human_judgements_of_too_few_documents_are_counted_and_not_denied() {
    let has = |judged: Option<&str>, text: &str| {
        let found = warnings(judged);
        assert!(found.iter().any(|it| it.starts_with(text)), "{found:?}");
    };
    has(None, "no human gold: unknown");
    has(
        Some(r#"{"a": 1}"#),
        "1 of the documents with grades from clicks are in the human gold",
    );
    has(
        Some(r#"{"z": 1}"#),
        "0 of the documents with grades from clicks are in the human gold",
    );
    let both = warnings(Some(r#"{"a": 1, "b": 0}"#));
    assert!(!both.iter().any(|it| it.contains("human gold")), "{both:?}");
}

/// Analysis of 1,200 searches of two variants for one query, and of one search for each of 40 other queries. The second
/// result of `B` is another document in each search.
fn analysis_of_variants() -> Analysis {
    let mut log = ClickLog::new(Rules::default(), 10, DEFAULT_MEMORY_LIMIT);
    let mut add = |number: usize, query: &str, variant: &str, second: &str| {
        let text = format!(
            r#"{{"query_id": "s{number}", "ts": {number}, "query": "{query}", "variant": "{variant}",
                "results": [{{"id": "a"}}, {{"id": "{second}"}}]}}"#
        );
        let search: Search<'_> = serde_json::from_str(&text).expect("a search");
        log.search(&search);
    };
    for number in 0..1_200 {
        if number % 2 == 0 {
            add(number, "tax", "A", "b");
        } else {
            add(number, "tax", "B", &format!("new-{number}"));
        }
    }
    for number in 1_200..1_240 {
        add(number, &format!("rare {number}"), "A", "b");
    }
    let options = AnalysisOptions {
        model: ClickModel::Pbm,
        min_exposure: 10.0,
    };
    analyse(&log.clean(), None, options)
}

#[test]
fn the_extent_of_the_grades_is_stated() {
    let found = analysis_of_variants();
    assert_eq!((found.queries, found.queries_searched), (1, 41));
    assert_eq!((found.searches_covered, found.searches), (1_200, 1_240));
    let has = |text: &str| {
        let warnings = &found.warnings;
        assert!(
            warnings.iter().any(|it| it.starts_with(text)),
            "{warnings:?}"
        );
    };
    has("1 of 41 queries have enough clicks, fewer than 30");
    has("judged@10 of the variants is from 50 % to 94 %: do not compare them");
    has("rank 1 is judged at 97 %, rank 2 at 48 %");
}
