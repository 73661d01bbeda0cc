//! Check of click models on the last searches, which they were not fitted to.

use serde::Serialize;

use super::counts::{Pairs, Shown};
use super::log::StoredSearch;
use super::model::{UNKNOWN_ATTRACTIVENESS, fit, propensities};
use rankgauge_core::number::real_length;

/// Share of the time that is held out.
const SHARE: f64 = 0.15;

/// Value by model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ByModel {
    /// Position-based model.
    pub pbm: f64,
    /// User browsing model.
    pub ubm: f64,
    /// Click rate by rank, the same for all documents.
    pub rank_only: f64,
}

/// Fit of the models to searches that they did not see.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HeldOut {
    /// Number of searches held out.
    pub searches: usize,
    /// Mean log-likelihood of a search.
    pub log_likelihood: ByModel,
    /// Perplexity: mean over ranks of 2 to the power of the mean negative log₂-likelihood.
    pub perplexity: ByModel,
}

/// First search that is held out: the last 15 % of the time, or of the searches if nearly all or
/// nearly none are in that time.
fn split(searches: &[StoredSearch]) -> usize {
    let (Some(first), Some(last)) = (searches.first(), searches.last()) else {
        return 0;
    };
    let span = last.time.saturating_sub(first.time);
    let start = last.time.saturating_sub(span / 20 * 3);
    let at = searches.partition_point(|search| search.time <= start);
    let held = real_length(searches.len() - at) / real_length(searches.len());
    if (SHARE / 3.0..=SHARE * 3.0).contains(&held) {
        at
    } else {
        searches.len() - searches.len() * 3 / 20
    }
}

/// Context of the user browsing model.
pub(super) fn browsing_context(shown: &Shown, depth: usize) -> usize {
    shown.rank * (depth + 1) + shown.last_click
}

/// Fits the models to the first searches and checks them on the last. `None` if there are too few.
pub(super) fn check(pairs: &Pairs, searches: &[StoredSearch], depth: usize) -> Option<HeldOut> {
    let (training, held_out) = searches.split_at(split(searches));
    if training.is_empty() || held_out.is_empty() {
        return None;
    }
    let number = pairs.pairs.len();
    let by_rank = pairs.cells(training, |shown| shown.rank);
    let alone = fit(&by_rank, number, depth, None);
    let harvested = propensities(&pairs.harvest(training), &alone.examination);
    let pbm = fit(&by_rank, number, depth, Some(&harvested.by_rank));
    let browsing = pairs.cells(training, |shown| browsing_context(shown, depth));
    let ubm = fit(&browsing, number, depth * (depth + 1), None);
    let mut of_rank = vec![[1.0, 2.0]; depth];
    for cell in &by_rank {
        of_rank[cell.context][0] += cell.clicked;
        of_rank[cell.context][1] += cell.shown;
    }

    let mut logs = [0.0; 3];
    let mut by_rank = vec![([0.0; 3], 0_usize); depth];
    for search in held_out {
        for shown in pairs.shown(search) {
            let attraction = |of: &[f64]| {
                let known = shown.pair.and_then(|pair| of.get(pair));
                known.copied().unwrap_or(UNKNOWN_ATTRACTIVENESS)
            };
            let [clicked, all] = of_rank[shown.rank];
            let predicted = [
                attraction(&pbm.attractiveness) * pbm.examination[shown.rank],
                attraction(&ubm.attractiveness) * ubm.examination[browsing_context(&shown, depth)],
                clicked / all,
            ];
            by_rank[shown.rank].1 += 1;
            for (model, click) in predicted.into_iter().enumerate() {
                let click = click.clamp(1e-6, 1.0 - 1e-6);
                let likelihood = if shown.clicked { click } else { 1.0 - click };
                logs[model] += likelihood.ln();
                by_rank[shown.rank].0[model] += likelihood.log2();
            }
        }
    }
    let ranks = by_rank.iter().filter(|(_, shown)| *shown > 0);
    let number = real_length(ranks.clone().count()).max(1.0);
    let perplexity = |model: usize| {
        let of_ranks = ranks.clone();
        let of_ranks = of_ranks.map(|(sums, shown)| (-sums[model] / real_length(*shown)).exp2());
        of_ranks.sum::<f64>() / number
    };
    let by_model = |value: &dyn Fn(usize) -> f64| ByModel {
        pbm: value(0),
        ubm: value(1),
        rank_only: value(2),
    };
    let searches = held_out.len();
    Some(HeldOut {
        searches,
        log_likelihood: by_model(&|model| logs[model] / real_length(searches)),
        perplexity: by_model(&perplexity),
    })
}
