//! Interaction of two components.
//!
//! For each query, the combined effect (both - base) minus the sum of the single effects, (a -
//! base) + (b - base). This equals both - (a + b - base): the score of both against the score
//! expected if effects were additive. It is tested like any other pair.

use std::collections::BTreeSet;

use super::error::CompareError;
use super::pair::{Columns, MIN_QUERIES, MeasureComparison, Tests};
use super::scores::RunScores;

/// Interaction of two components.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// Names of the runs: with neither, with one, with the other, with both.
    pub runs: [String; 4],
    /// Number of queries that all four runs have.
    pub common: usize,
    /// Results by measure.
    pub measures: Vec<InteractionMeasure>,
}

impl Interaction {
    /// Returns true if there are too few queries to show much.
    pub fn has_few_queries(&self) -> bool {
        self.common < MIN_QUERIES
    }
}

/// Interaction in one measure. All effects are means over the same queries.
#[derive(Clone, Debug, PartialEq)]
pub struct InteractionMeasure {
    /// Effect of one component: a - base.
    pub effect_a: Option<f64>,
    /// Effect of the other component: b - base.
    pub effect_b: Option<f64>,
    /// Sum of the single effects.
    pub sum: Option<f64>,
    /// Combined effect: both - base.
    pub combined: Option<f64>,
    /// Test of the run with both (second) against the sum of the single effects (first). Its
    /// difference is `combined` - `sum`.
    pub test: MeasureComparison,
}

/// Tests the interaction of the four named runs.
pub(super) fn interaction(
    runs: &[RunScores],
    names: &[String; 4],
    tests: &Tests<'_>,
) -> Result<Interaction, CompareError> {
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(CompareError::RepeatedRun { name: name.clone() });
    }
    let find = |name: &String| {
        let found = runs.iter().find(|run| run.name == *name);
        found.ok_or_else(|| CompareError::UnknownRun {
            name: name.clone(),
            known: runs.iter().map(|run| run.name.clone()).collect(),
        })
    };
    let [base, a, b, both] = names;
    let [base, a, b, both] = [find(base)?, find(a)?, find(b)?, find(both)?];
    let mut common = 0;
    let mut columns: Columns = vec![Vec::new(); tests.measures.len()];
    let mut effects: Vec<[Vec<f64>; 3]> = vec![Default::default(); tests.measures.len()];
    for (query, of_base) in &base.queries {
        let others = [a, b, both].map(|run| run.queries.get(query));
        let [Some(of_a), Some(of_b), Some(of_both)] = others else {
            continue;
        };
        common += 1;
        for measure in 0..tests.measures.len() {
            let scores = [of_base, of_a, of_b, of_both].map(|of| of[measure]);
            let [Some(base), Some(a), Some(b), Some(both)] = scores else {
                continue;
            };
            columns[measure].push((a + b - base, both));
            for (effects, with) in effects[measure].iter_mut().zip([a, b, both]) {
                effects.push(with - base);
            }
        }
    }
    let slices: Vec<&[(f64, f64)]> = columns.iter().map(Vec::as_slice).collect();
    let judged = tests.judged(tests.columns(&slices));
    let measures = judged.into_iter().zip(&effects).map(|(test, effects)| {
        let [effect_a, effect_b, combined] = effects.each_ref().map(|effects| mean(effects));
        InteractionMeasure {
            effect_a,
            effect_b,
            sum: effect_a.zip(effect_b).map(|(a, b)| a + b),
            combined,
            test,
        }
    });
    Ok(Interaction {
        runs: names.clone(),
        common,
        measures: measures.collect(),
    })
}

/// Arithmetic mean; `None` if there are no numbers or the sum overflows.
pub(super) fn mean(numbers: &[f64]) -> Option<f64> {
    let count = u32::try_from(numbers.len()).ok()?;
    let mean = numbers.iter().sum::<f64>() / f64::from(count);
    mean.is_finite().then_some(mean)
}
