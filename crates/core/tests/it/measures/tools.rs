//! Values of single queries in other tools, by the names of these tools.

use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Ranking;

/// Results of a query and its judged documents.
struct Query {
    results: &'static [&'static str],
    judged: &'static [(&'static str, f64)],
}

/// Fewer results than judged documents.
const SHORT: Query = Query {
    results: &["b", "a"],
    judged: &[("a", 3.0), ("b", 1.0), ("c", 2.0)],
};

/// Results without a judgement, and relevant documents that were not found.
const OPEN: Query = Query {
    results: &["b", "x", "c", "a", "y", "d"],
    judged: &[
        ("a", 3.0),
        ("b", 1.0),
        ("c", 0.0),
        ("d", 2.0),
        ("e", 3.0),
        ("f", 1.0),
    ],
};

/// The results of [`OPEN`], with judgements of results only.
const LISTED: Query = Query {
    results: OPEN.results,
    judged: &[("a", 3.0), ("b", 1.0), ("c", 0.0), ("d", 2.0)],
};

/// More results and more relevant documents than the cutoff of 10.
const DEEP: Query = Query {
    results: &[
        "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "d10", "d11", "d12",
    ],
    judged: &[
        ("d1", 1.0),
        ("d2", 0.0),
        ("d3", 3.0),
        ("d5", 2.0),
        ("d10", 1.0),
        ("d11", 3.0),
        ("e1", 3.0),
        ("e2", 2.0),
        ("e3", 2.0),
        ("e4", 1.0),
        ("e5", 1.0),
        ("e6", 1.0),
    ],
};

/// No relevant document.
const IRRELEVANT: Query = Query {
    results: &["x", "b"],
    judged: &[("b", 0.0)],
};

/// No results.
const EMPTY: Query = Query {
    results: &[],
    judged: &[("a", 3.0)],
};

impl Query {
    fn score(&self, name: &str) -> Option<f64> {
        let measure: Measure = name.parse().expect(name);
        let judgements = super::judgements(self.judged);
        let mut ranking = Ranking::new();
        ranking.judge(self.results.iter().copied(), &judgements);
        measure.score_of_grades(&ranking, &judgements)
    }

    #[track_caller]
    fn assert_scores(&self, expected: &[(&str, f64)]) {
        for (name, value) in expected {
            let score = self.score(name).expect(name);
            assert!(
                (score - value).abs() < 1e-9,
                "{name} of {:?} is {score}, in the tool {value}",
                self.results
            );
        }
    }
}

/// Values of the scorers in `db/scorers` of Quepid (f80322f3, 2026-08), run by Node.js with the functions
/// of `ScorerFactory.js`. For a cutoff of 2, their line `k = 10` was changed.
#[test]
fn scorers_of_quepid_have_the_values_of_quepid() {
    SHORT.assert_scores(&[
        ("quepid:AP@10", 0.666_666_666_666_666_6),
        ("quepid:CG@10", 4.0),
        ("quepid:DCG@10", 5.416_508_275_000_202_5),
        ("quepid:ERR@10", 0.507_812_5),
        ("quepid:nDCG@10", 0.576_666_645_514_438_7),
        ("quepid:nDCG_cut@10", 0.576_666_645_514_438_7),
        ("quepid:nDCG@2", 0.576_666_645_514_438_7),
        ("quepid:nDCG_cut@2", 0.609_089_917_257_871_1),
        ("quepid:P@10", 1.0),
        ("quepid:RR@10", 1.0),
    ]);
    OPEN.assert_scores(&[
        ("quepid:AP@10", 0.4),
        ("quepid:AP@2", 0.2),
        ("quepid:CG@10", 6.0),
        ("quepid:DCG@10", 5.083_357_467_837_818),
        ("quepid:ERR@10", 0.323_242_187_5),
        ("quepid:nDCG@10", 0.370_128_406_588_797_37),
        ("quepid:nDCG@2", 0.072_811_799_864_672_86),
        ("quepid:nDCG_cut@2", 0.087_592_456_109_351_2),
        ("quepid:P@10", 0.5),
        ("quepid:P@2", 0.5),
    ]);
    DEEP.assert_scores(&[
        ("quepid:AP@10", 0.242_424_242_424_242_4),
        ("quepid:CG@10", 7.0),
        ("quepid:DCG@10", 5.949_623_248_021_512_5),
        ("quepid:ERR@10", 0.389_265_950_520_833_35),
        ("quepid:nDCG@10", 0.298_143_728_550_678_6),
        ("quepid:nDCG_cut@10", 0.302_370_324_788_212_63),
        ("quepid:P@10", 0.4),
    ]);
    for query in [IRRELEVANT, EMPTY] {
        for name in ["CG", "DCG", "ERR", "nDCG", "nDCG_cut", "P", "RR"] {
            query.assert_scores(&[(&format!("quepid:{name}@10"), 0.0)]);
        }
    }
    // Quepid divides by the number of relevant documents, and has no number without one.
    IRRELEVANT.assert_scores(&[("quepid:AP@10", 0.0)]);
}

/// Values of `bin/gdeval.pl` in ir_measures 0.4.3, by which it computes ERR: 2^4 in the denominator for
/// every scale of judgements. gdeval prints five digits.
#[test]
fn the_err_of_ir_measures_has_five_grades() {
    let good = Query {
        results: &["a"],
        judged: &[("a", 2.0)],
    };
    good.assert_scores(&[("ir_measures:ERR@5", 0.187_5), ("ERR@5", 0.75)]);
    OPEN.assert_scores(&[("ir_measures:ERR@10", 0.181_518_554_687_5)]);
    DEEP.assert_scores(&[("ir_measures:ERR@10", 0.221_672_058_105_468_75)]);
}

/// Values by the formulas of the module rank-eval of Elasticsearch: `PrecisionAtK`, `RecallAtK`,
/// `MeanReciprocalRank`, `DiscountedCumulativeGain` and `ExpectedReciprocalRank`.
#[test]
fn metrics_of_elasticsearch_have_its_values() {
    SHORT.assert_scores(&[
        ("elasticsearch:precision", 1.0),
        ("elasticsearch:precision(relevant_rating_threshold=2)", 0.5),
        ("elasticsearch:recall", 2.0 / 3.0),
        ("elasticsearch:dcg", 5.416_508_275_000_202),
        ("elasticsearch:dcg(normalize=true)", 0.609_089_917_257_871_1),
    ]);
    OPEN.assert_scores(&[
        ("elasticsearch:precision", 0.5),
        ("elasticsearch:precision(ignore_unlabeled=true)", 0.75),
        ("elasticsearch:precision(ignore_unlabeled=true,k=3)", 0.5),
        (
            "elasticsearch:precision(k=10,ignore_unlabeled=true,relevant_rating_threshold=2)",
            0.5,
        ),
        (
            "elasticsearch:precision(ignore_unlabeled=false)@3",
            1.0 / 3.0,
        ),
        ("elasticsearch:recall", 0.6),
        ("elasticsearch:recall(k=3)", 0.2),
        (
            "elasticsearch:mean_reciprocal_rank(relevant_rating_threshold=2)",
            0.25,
        ),
        ("elasticsearch:dcg", 5.083_357_467_837_818),
        ("elasticsearch:dcg(normalize=true)", 0.370_128_406_588_797_4),
        (
            "elasticsearch:dcg(normalize=true)@3",
            0.077_420_304_211_432_44,
        ),
        (
            "elasticsearch:expected_reciprocal_rank(maximum_relevance=3)",
            0.323_242_187_5,
        ),
        (
            "elasticsearch:expected_reciprocal_rank(maximum_relevance=4,k=3)",
            0.062_5,
        ),
    ]);
    DEEP.assert_scores(&[
        ("elasticsearch:precision(ignore_unlabeled=true)", 0.8),
        ("elasticsearch:recall", 4.0 / 11.0),
        (
            "elasticsearch:dcg(normalize=true)",
            0.302_370_324_788_212_63,
        ),
        (
            "elasticsearch:expected_reciprocal_rank(maximum_relevance=4)",
            0.221_672_058_105_468_75,
        ),
    ]);
    for query in [IRRELEVANT, EMPTY] {
        query.assert_scores(&[
            ("elasticsearch:precision", 0.0),
            ("elasticsearch:precision(ignore_unlabeled=true)", 0.0),
            ("elasticsearch:recall", 0.0),
            ("elasticsearch:mean_reciprocal_rank", 0.0),
            ("elasticsearch:dcg(normalize=true)", 0.0),
            (
                "elasticsearch:expected_reciprocal_rank(maximum_relevance=3)",
                0.0,
            ),
        ]);
    }
}

/// Values by the formulas of `functional/retrieval` of torchmetrics 1.9.0, which has 32-bit floats, in 64 bits.
#[test]
fn metrics_of_torchmetrics_have_its_values() {
    LISTED.assert_scores(&[
        ("torchmetrics:RetrievalMAP", 2.0 / 3.0),
        ("torchmetrics:RetrievalMAP(top_k=None)", 2.0 / 3.0),
        ("torchmetrics:RetrievalMAP(top_k=3)", 1.0),
        ("torchmetrics:RetrievalMRR", 1.0),
        ("torchmetrics:RetrievalPrecision", 0.5),
        ("torchmetrics:RetrievalPrecision(top_k=10)", 0.3),
        (
            "torchmetrics:RetrievalPrecision(top_k=10,adaptive_k=True)",
            0.5,
        ),
        ("torchmetrics:RetrievalPrecision(adaptive_k=True)", 0.5),
        ("torchmetrics:RetrievalRecall", 1.0),
        ("torchmetrics:RetrievalRecall(top_k=3)", 1.0 / 3.0),
        ("torchmetrics:RetrievalHitRate", 1.0),
        ("torchmetrics:RetrievalHitRate(top_k=3)", 1.0),
        ("torchmetrics:RetrievalFallOut", 1.0),
        ("torchmetrics:RetrievalFallOut(top_k=3)", 2.0 / 3.0),
        ("torchmetrics:RetrievalRPrecision", 1.0 / 3.0),
        (
            "torchmetrics:RetrievalNormalizedDCG",
            0.630_939_246_302_726_5,
        ),
        (
            "torchmetrics:RetrievalNormalizedDCG(top_k=3)",
            0.210_001_995_753_964_08,
        ),
        ("torchmetrics:RetrievalAUROC", 4.0 / 9.0),
        ("torchmetrics:RetrievalAUROC(top_k=3)", 1.0),
    ]);
    // Average precision and fall-out do not depend on documents outside the list.
    DEEP.assert_scores(&[
        ("torchmetrics:retrieval_average_precision@3", 5.0 / 6.0),
        ("torchmetrics:retrieval_average_precision@10", 2.0 / 3.0),
        ("torchmetrics:retrieval_fall_out@3", 1.0 / 7.0),
        ("torchmetrics:retrieval_fall_out@10", 6.0 / 7.0),
        ("torchmetrics:retrieval_auroc@3", 0.5),
        ("torchmetrics:retrieval_auroc", 4.0 / 7.0),
    ]);
    IRRELEVANT.assert_scores(&[
        ("torchmetrics:map@3", 0.0),
        ("torchmetrics:hit_rate", 0.0),
        ("torchmetrics:fall_out", 1.0),
        ("torchmetrics:fall_out@1", 0.5),
    ]);
    // torchmetrics has 0 without a pair of a relevant and another result.
    assert_eq!(IRRELEVANT.score("torchmetrics:auroc"), None);
}

/// Values of ir_measures 0.4.3.
#[test]
fn condensed_lists_of_ir_measures_have_the_values_of_ir_measures() {
    OPEN.assert_scores(&[
        ("SetP(judged_only=True)", 0.75),
        ("SetP(judged_only=True,rel=2)", 0.5),
        ("SetP(relative=True,judged_only=True)", 0.75),
        ("SetF(judged_only=True)", 2.0 / 3.0),
        ("SetAP(judged_only=True)", 0.45),
        ("Rprec(judged_only=True)", 0.6),
        ("IPrec(judged_only=True)@0.5", 0.75),
        ("Judged", 2.0 / 3.0),
    ]);
    // The numbers of a whole list; ranx computes the mean of `hits` over the queries.
    OPEN.assert_scores(&[("ranx:hits", 3.0), ("FP", 3.0), ("FN", 2.0)]);
}
