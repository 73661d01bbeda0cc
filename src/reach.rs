//! Targets that no ranking can reach on a gold set.

use rankgauge_core::gold::GoldSet;
use rankgauge_core::measure::HighestMean;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::real_length;

use rankgauge_serve::target::Target;

/// Rounding error of a mean of scores.
const ROUNDING: f64 = 1e-9;

/// Target that no ranking can reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Unreachable {
    /// Key of the value in the configuration.
    pub key: String,
    /// Description of the problem, with its remedy.
    pub text: String,
}

/// Returns the targets that no system can reach on the gold set.
pub fn unreachable(targets: &[Target], gold: &GoldSet) -> Vec<Unreachable> {
    if gold.queries().is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for target in targets {
        if target.measure.descriptor().direction == Direction::Down {
            continue;
        }
        let text = match target.measure.highest_mean(gold) {
            HighestMean::Unlimited => continue,
            HighestMean::NoScore => format!(
                "no query of the gold set has what {} needs, so that no search has a score; remove \
                 the target, or extend the gold set",
                target.measure
            ),
            HighestMean::Mean(mean) if target.value <= mean + ROUNDING => continue,
            HighestMean::Mean(mean) => format!(
                "{} cannot reach {}: on this gold set ({} queries with {:.1} relevant documents on \
                 average), its mean is at most {mean:.3}, with ideal rankings; lower the target, or \
                 choose a measure that can reach it",
                target.measure,
                target.value,
                gold.queries().len(),
                relevant_documents(gold),
            ),
        };
        found.push(Unreachable {
            key: target.value_key.clone(),
            text,
        });
    }
    found
}

/// Mean number of relevant documents of a query.
fn relevant_documents(gold: &GoldSet) -> f64 {
    let numbers = gold
        .queries()
        .iter()
        .map(|query| real_length(query.judgements.relevant(None)));
    numbers.sum::<f64>() / real_length(gold.queries().len())
}
