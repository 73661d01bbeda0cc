//! Bounds of scores over the grades of unjudged results, against every assignment of grades.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::gold::{Grade, Judgements};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Ranking;

use super::grade;

/// Served list, with `None` for an unjudged result, and grades of judged documents that are not served.
#[derive(Clone, Debug)]
struct Case {
    served: Vec<Option<f64>>,
    others: Vec<f64>,
    scale_max: f64,
}

impl Case {
    fn ids(&self) -> Vec<String> {
        (0..self.served.len()).map(|at| format!("d{at}")).collect()
    }

    /// Judgements of the case, with these grades of the unjudged results.
    fn judgements(&self, assigned: &[Option<f64>]) -> Judgements {
        let served = self.served.iter().zip(assigned).enumerate();
        let served = served.filter_map(|(at, (known, assigned))| {
            Some((format!("d{at}").into(), grade(known.or(*assigned)?)))
        });
        let others = self.others.iter().enumerate();
        let others = others.map(|(at, value)| (format!("o{at}").into(), grade(*value)));
        Judgements::new(Grade::ONE, served.chain(others))
            .expect("no document twice")
            .with_scale_max(grade(self.scale_max))
    }

    fn ranking(&self, judgements: &Judgements) -> Ranking {
        let ids = self.ids();
        let mut ranking = Ranking::new();
        ranking.judge(ids.iter().map(String::as_str), judgements);
        ranking
    }

    fn bounds(&self, measure: &Measure) -> Option<[f64; 2]> {
        let judgements = self.judgements(&vec![None; self.served.len()]);
        let ranking = self.ranking(&judgements);
        let mut assumed = Ranking::new();
        assumed.assume_relevant(&ranking, &judgements);
        let Measure::Ranked(of) = measure else {
            unreachable!("a measure of rankings")
        };
        let score = of.score(&ranking, &judgements)?;
        measure.bounds(score, &ranking, &assumed, &judgements)
    }

    fn score_if_relevant(&self, measure: &Measure) -> Option<f64> {
        let judgements = self.judgements(&vec![None; self.served.len()]);
        let mut assumed = Ranking::new();
        let ranking = self.ranking(&judgements);
        assumed.assume_relevant(&ranking, &judgements);
        measure.score_if_relevant(&assumed, &judgements)
    }

    /// Scores by every assignment of integer grades to the unjudged results.
    fn all_scores(&self, measure: &Measure) -> Vec<f64> {
        let Measure::Ranked(measure) = measure else {
            unreachable!("a measure of rankings")
        };
        let mut all = Vec::new();
        let mut assigned = vec![Some(0.0); self.served.len()];
        loop {
            let judgements = self.judgements(&assigned);
            let ranking = self.ranking(&judgements);
            all.extend(measure.score(&ranking, &judgements));
            let open = (0..self.served.len()).filter(|at| self.served[*at].is_none());
            let Some(next) = open
                .into_iter()
                .find(|at| assigned[*at] < Some(self.scale_max))
            else {
                return all;
            };
            for (known, value) in self.served.iter().zip(&mut assigned).take(next) {
                if known.is_none() {
                    *value = Some(0.0);
                }
            }
            assigned[next] = assigned[next].map(|value| value + 1.0);
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let known = prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(2.0),
        Just(3.0),
        Just(1.5),
        Just(0.4)
    ];
    let result = prop_oneof![2 => Just(None), 3 => known.clone().prop_map(Some)];
    (vec(result, 0..6), vec(known, 0..3)).prop_map(|(served, others)| Case {
        served,
        others,
        scale_max: 3.0,
    })
}

const BOUNDED: &str = "\
    P@3 P@10 P(denominator=retrieved)@4 P(rel=2)@3 R@2 R@10 F1@3 \
    F1(denominator=retrieved)@4 Success@2 AllHit@3 RR RR@2 AP AP@3 AP(rel=2) nDCG nDCG@3 \
    nDCG(gain=exp)@4 nDCG(gain=binary) ERR@4 TP@3 FP@3 FN@3 nDCG(gain=binary,rel=2)@3";

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn bounds_are_the_extreme_scores_over_all_grades(case in case()) {
        for name in BOUNDED.split(' ') {
            let measure: Measure = name.parse().expect("a measure");
            let all = case.all_scores(&measure);
            let low = all.iter().copied().fold(f64::INFINITY, f64::min);
            let high = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let bounds = case.bounds(&measure).expect("a measure with bounds");
            prop_assert!((bounds[0] - low).abs() < 1e-12, "{name}: {bounds:?}, lowest {low}");
            prop_assert!((bounds[1] - high).abs() < 1e-12, "{name}: {bounds:?}, highest {high}");
        }
    }

    #[test]
    fn the_score_with_relevant_unjudged_results_is_never_below_the_exact_bound(case in case()) {
        for name in BOUNDED.split(' ').filter(|name| !name.starts_with("FN") && !name.starts_with("FP")) {
            let measure: Measure = name.parse().expect("a measure");
            let simple = case.score_if_relevant(&measure).expect("a measure with bounds");
            let [_, exact] = case.bounds(&measure).expect("a measure with bounds");
            prop_assert!(simple >= exact - 1e-12, "{name}: {simple} < {exact}");
            prop_assert!(name.starts_with("TP") || simple <= 1.0, "{name}: {simple}");
        }
    }
}

/// The vectors of the reference implementation.
#[test]
fn bounds_equal_the_reference() {
    let case = Case {
        served: vec![Some(3.0), None, Some(0.0), None, Some(1.0)],
        others: vec![2.0],
        scale_max: 3.0,
    };
    for (name, low, high) in [
        ("P@5", 0.4, 0.8),
        ("RBP", 0.281_92, 0.872),
        ("nDCG@5", 0.711_245_848_844, 0.860_054_427_969),
    ] {
        let bounds = case
            .bounds(&name.parse().expect("a measure"))
            .expect("bounds");
        assert!((bounds[0] - low).abs() < 1e-9, "{name}: {bounds:?}");
        assert!((bounds[1] - high).abs() < 1e-9, "{name}: {bounds:?}");
    }
}

/// The bounds of long lists take work in the length of the list, not in the number of assignments.
#[test]
fn long_lists_have_bounds() {
    let case = Case {
        served: (0..1_000)
            .map(|at| (at % 10 == 0).then_some(f64::from(at % 4)))
            .collect(),
        others: vec![3.0, 2.0, 1.0],
        scale_max: 3.0,
    };
    for name in ["nDCG", "AP", "nDCG@10", "RBP"] {
        let [low, high] = case
            .bounds(&name.parse().expect("a measure"))
            .expect("bounds");
        assert!(
            0.0 <= low && low < high && high <= 1.0,
            "{name}: {low} to {high}"
        );
    }
}

#[test]
fn condensed_lists_leave_out_unjudged_results() {
    let judgements = super::judgements(&[("a", 1.0), ("b", 0.0), ("c", 1.0), ("d", 1.0)]);
    let served = ["x", "y", "a", "b", "c", "z"];
    for (condensed, whole, without) in [
        ("P(judged_only=true)@2", "P@2", 0.5),
        ("P(judged_only=True)@3", "P@3", 2.0 / 3.0),
        ("RR(judged_only=true)", "RR", 1.0),
        ("R(judged_only=true)@3", "R@3", 2.0 / 3.0),
        ("AP(judged_only=true)", "AP", (1.0 + 2.0 / 3.0) / 3.0),
        ("Success(judged_only=true)@1", "Success@1", 1.0),
    ] {
        let list = ["a", "b", "c"];
        let found = super::score(condensed, &served, &judgements);
        assert!((found - without).abs() < 1e-12, "{condensed}: {found}");
        assert!(
            (found - super::score(whole, &list, &judgements)).abs() < 1e-12,
            "{whole}"
        );
        assert!(
            found > super::score(whole, &served, &judgements),
            "{whole} counts unjudged results"
        );
    }
    let name: Measure = "nDCG(judged_only=True)@10".parse().expect("a measure");
    assert_eq!(name.to_string(), "nDCG(judged_only=true)@10");
    assert!(!name.has_range());
    for name in [
        "nDCG(ideal=retrieved)",
        "nDCG(ideal=uncut)@5",
        "P(denominator=judged)@5",
        "F1(denominator=judged)@5",
        "AP(denominator=found)",
    ] {
        let measure: Measure = name.parse().expect("a measure");
        assert!(!measure.has_range(), "{name}");
    }
    let same: Measure = "P(judged_only=false)@5".parse().expect("a measure");
    assert_eq!(same.to_string(), "P@5");
}
