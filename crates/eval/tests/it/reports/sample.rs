//! Generated evaluations for reports: two systems of a Korean law search on 60 queries, with ids
//! and texts that a report has to escape.

use std::collections::BTreeMap;

use rankgauge_core::measure::Relation;
use rankgauge_eval::evaluate::{
    Bound, ComponentFacts, Evaluation, Goal, GoldFacts, Micro, QueryDocuments, QueryEvaluation,
    RunEvaluation, Slice, SliceValue, Target,
};

/// Id with markup, a formula, a second column and a line break.
pub(crate) const HOSTILE: &str = "=<b>&\"'|,\t`*_</b>\n<script>alert(1)</script>\u{1b}[2J";

const MEASURES: [&str; 8] = [
    "P@5",
    "R@10",
    "AP",
    "RR",
    "nDCG(gain=exp)@10",
    "Judged@10",
    "Discovery(rne)",
    "RR@10",
];

const TEXTS: [&str; 4] = [
    "용도지역 변경 절차는 무엇인가?",
    "제21조",
    "도시계획시설 설치 관련 시행령",
    "온라인으로 구매한 제품이 불량이에요. 환불 받을 수 있나요?",
];

const TYPES: [&str; 3] = ["article_number", "complex", "keyword"];

const DOMAINS: [&str; 5] = [
    "개발행위",
    "기반시설",
    "도시계획",
    "도시계획시설",
    "용도지역",
];

/// Two runs of 60 queries; the first leaves two unanswered.
pub(crate) fn two_runs() -> Evaluation {
    Evaluation {
        headline: None,
        gold: GoldFacts {
            version: "2026-01".to_owned(),
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            queries: 60,
            judgements: 480,
        },
        measures: MEASURES.map(str::to_owned).to_vec(),
        targets: [
            (0, "excellent", 0.8),
            (0, "good", 0.7),
            (0, "acceptable", 0.6),
            (1, "excellent", 0.75),
            (1, "good", 0.6),
            (1, "acceptable", 0.5),
            (2, "good", 0.6),
            (4, "good", 0.75),
            (6, "good", 0.2),
        ]
        .map(|(measure, tier, value)| Target {
            measure,
            tier: tier.to_owned(),
            value,
        })
        .to_vec(),
        tier_measures: vec![0, 1],
        goals: vec![Goal {
            name: "precision-with-recall".to_owned(),
            bounds: [(0, 0.5), (1, 0.6)]
                .map(|(measure, value)| Bound {
                    measure,
                    relation: Relation::AtLeast,
                    value,
                })
                .to_vec(),
        }],
        runs: vec![run("V4-hybrid", 0, 58), run("V5-전체", 1, 60)],
        judging: BTreeMap::new(),
    }
}

/// The second run alone.
pub(crate) fn one_run() -> Evaluation {
    let mut evaluation = two_runs();
    evaluation.runs.remove(0);
    evaluation
}

/// The two runs with only their first twelve queries, to keep the browser test short.
pub(crate) fn short() -> Evaluation {
    let mut evaluation = two_runs();
    for run in &mut evaluation.runs {
        run.queries.truncate(12);
    }
    evaluation
}

/// Evaluation with means only: no texts, slices, components or domains.
pub(crate) fn bare() -> Evaluation {
    let mut evaluation = one_run();
    evaluation.targets.clear();
    evaluation.tier_measures.clear();
    evaluation.goals.clear();
    for run in &mut evaluation.runs {
        run.by.clear();
        run.micro.clear();
        run.curve = None;
        run.ndcg.clear();
        run.components.clear();
        run.routing.clear();
        run.collaboration.clear();
    }
    evaluation
}

/// Evaluation with `queries` queries per run.
pub(crate) fn large(queries: usize) -> Evaluation {
    let mut evaluation = two_runs();
    evaluation.gold.queries = queries;
    for (better, run) in (0..).zip(&mut evaluation.runs) {
        run.queries = (0..queries).map(|i| query(i, better)).collect();
        let all: Vec<&QueryEvaluation> = run.queries.iter().collect();
        run.means = means(&all);
        run.scored = scored(&all);
        run.retrieved = all.iter().map(|it| it.retrieved).sum();
        run.relevant = all.iter().map(|it| it.relevant).sum();
        run.relevant_retrieved = all.iter().map(|it| it.relevant_retrieved).sum();
        run.missing.clear();
    }
    evaluation
}

fn run(name: &str, better: u32, answered: usize) -> RunEvaluation {
    let queries: Vec<_> = (0..answered).map(|i| query(i, better)).collect();
    let all: Vec<&QueryEvaluation> = queries.iter().collect();
    let by = |label: &str, values: &[&str]| Slice {
        name: label.to_owned(),
        values: (0..values.len())
            .map(|at| {
                let part = queries.iter().skip(at).step_by(values.len());
                let part: Vec<_> = part.collect();
                SliceValue {
                    value: values[at].to_owned(),
                    queries: part.len(),
                    means: means(&part),
                    scored: scored(&part),
                }
            })
            .collect(),
    };
    let count = u64::from(better);
    RunEvaluation {
        name: name.to_owned(),
        tag: Some(format!("{name}-tag")),
        missing: (answered..60).map(key).collect(),
        unknown: vec![HOSTILE.to_owned()],
        not_eligible: 0,
        retrieved: all.iter().map(|it| it.retrieved).sum(),
        relevant: all.iter().map(|it| it.relevant).sum(),
        relevant_retrieved: all.iter().map(|it| it.relevant_retrieved).sum(),
        means: means(&all),
        scored: scored(&all),
        bounds: Vec::new(),
        perfect: Vec::new(),
        micro: vec![Micro {
            cutoff: 5,
            true_positives: 150 + 30 * count,
            false_positives: 140 - 30 * count,
            false_negatives: 330 - 30 * count,
        }],
        by: vec![by("query_type", &TYPES), by("primary_domain", &DOMAINS)],
        curve: Some(std::array::from_fn(|i| {
            0.95 - 0.07 * f64::from(u32::try_from(i).unwrap()) + 0.04 * f64::from(better)
        })),
        ndcg: [1, 2, 3, 5, 10, 20]
            .into_iter()
            .zip([0.58, 0.61, 0.63, 0.66, 0.7, 0.73])
            .map(|(cutoff, ndcg)| (cutoff, ndcg + 0.1 * f64::from(better)))
            .collect(),
        points: Vec::new(),
        components: vec![
            ComponentFacts {
                name: "rne".to_owned(),
                trigger: [[10, 5], [3, 40]],
                hops: [116 + count, 64, 15, 2],
            },
            ComponentFacts {
                name: "a2a".to_owned(),
                trigger: [[20, 12], [4, 22]],
                hops: [0; 4],
            },
        ],
        routing: matrix(9, 3),
        collaboration: matrix(30, 7),
        queries,
    }
}

fn matrix(own: u64, other: u64) -> BTreeMap<(String, String), u64> {
    let pairs = DOMAINS.iter().enumerate().flat_map(|(i, a)| {
        DOMAINS.iter().enumerate().filter_map(move |(j, b)| {
            let count = if i == j {
                own
            } else {
                other * u64::from((i + 2 * j) % 3 == 0)
            };
            (count > 0).then(|| (((*a).to_owned(), (*b).to_owned()), count))
        })
    });
    pairs.collect()
}

fn key(i: usize) -> String {
    if i == 7 {
        HOSTILE.to_owned()
    } else {
        format!("Q{i:03}")
    }
}

fn query(i: usize, better: u32) -> QueryEvaluation {
    // Thirds and sevenths: numbers that need all digits.
    let part = f64::from(u32::try_from(i * 7 % 10).unwrap()) / 10.0;
    let score = |weight: f64| Some((part / weight + f64::from(better) / 9.0).min(1.0));
    let found = u64::from(better) + 3;
    QueryEvaluation {
        key: key(i),
        text: (!i.is_multiple_of(5)).then(|| TEXTS[i % 4].to_owned()),
        answered: true,
        retrieved: 10,
        relevant: 8,
        relevant_retrieved: found,
        scores: vec![
            score(0.6),
            score(0.8),
            score(0.7),
            score(0.5),
            score(0.65),
            Some(0.7),
            i.is_multiple_of(3).then_some(part / 3.0),
            None,
        ],
        bounds: Vec::new(),
        documents: Some(QueryDocuments {
            retrieved: vec!["doc-1".to_owned(), HOSTILE.to_owned()],
            relevant: vec!["doc-1".to_owned(), "doc-2".to_owned()],
            missed: vec!["doc-2".to_owned()],
            answer: None,
        }),
    }
}

fn scored(queries: &[&QueryEvaluation]) -> Vec<usize> {
    (0..MEASURES.len())
        .map(|measure| {
            let scores = queries.iter().filter_map(|it| it.scores[measure]);
            scores.count()
        })
        .collect()
}

fn means(queries: &[&QueryEvaluation]) -> Vec<Option<f64>> {
    (0..MEASURES.len())
        .map(|measure| {
            let scores: Vec<f64> = queries.iter().filter_map(|it| it.scores[measure]).collect();
            let count = u32::try_from(scores.len()).unwrap();
            (count > 0).then(|| scores.iter().sum::<f64>() / f64::from(count))
        })
        .collect()
}
