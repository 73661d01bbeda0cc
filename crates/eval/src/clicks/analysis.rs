//! Grades from the clicks of a cleaned log, with the checks that decide whether to trust them.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use serde::Serialize;
use statrs::distribution::{Beta, ContinuousCDF as _};

use super::counts::Pairs;
use super::held_out::{self, HeldOut, browsing_context};
use super::human::{self, Both, HumanAgreement};
use super::log::{CleanLog, LeftOut, LoggedQuery, position};
use super::model::{PRIOR_CLICKS, PRIOR_MISSES, Propensities, exposure, fit, propensities};
use rankgauge_core::gold::{GoldSet, Grade};
use rankgauge_core::number::{percent, real, real_length};

/// Highest grade from clicks.
const HIGHEST_GRADE: f64 = 3.0;
/// Quantile of attractiveness that has the highest grade.
const HIGHEST_QUANTILE: f64 = 0.95;
/// Minimum number of pairs of a set that is trusted.
const MIN_PAIRS: usize = 100;
/// Minimum agreement of a set that is trusted.
const MIN_AGREEMENT: f64 = 0.75;
/// Documents with human judgements that are enough for the human scale.
const MIN_HUMAN_DOCUMENTS: usize = 50;
/// Gain of the user browsing model, in log-likelihood of a search, from which users read downwards.
const MAX_UBM_GAIN: f64 = 0.05;
/// Share of measurement at rank 2, below which positions are guessed.
const MIN_HARVESTED: f64 = 0.5;
/// Share of searches left out, above which a warning is printed.
const MAX_LEFT_OUT: f64 = 0.2;
/// Results that count for the judged share.
const JUDGED_CUTOFF: usize = 10;
/// Difference of the judged shares of variants, above which they are not comparable.
const MAX_VARIANT_DIFFERENCE: f64 = 0.02;
/// Results of a variant whose judged share is compared.
const MIN_SERVED: u64 = 1_000;
/// Difference of the judged shares of ranks, above which a warning is printed.
const MAX_RANK_DIFFERENCE: f64 = 0.3;
/// Queries with grades, below which a warning is printed.
const MIN_QUERIES: usize = 30;

/// Click model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClickModel {
    /// Position-based model with harvested propensities.
    Pbm,
    /// User browsing model.
    Ubm,
}

/// Options of an analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnalysisOptions {
    /// Model of the grades.
    pub model: ClickModel,
    /// Minimum exposure of a pair: number of impressions that users examined.
    pub min_exposure: f64,
}

/// Grade of a document from clicks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClickGrade {
    /// Document id.
    pub document: String,
    /// Grade.
    pub grade: f64,
    /// Probability of a click on the examined document.
    pub attractiveness: f64,
    /// 90 % interval of the attractiveness.
    pub interval: [f64; 2],
    /// Examined impressions.
    pub exposure: f64,
}

/// Query with graded documents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GradedQuery {
    /// Key of the query in its searches, if they agree on one.
    pub key: Option<String>,
    /// Text of its first search.
    pub text: String,
    /// Number of searches.
    pub searches: u64,
    /// Documents, highest grade first.
    pub documents: Vec<ClickGrade>,
}

/// Result of an analysis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// Model of the grades.
    pub model: ClickModel,
    /// Searches that were read.
    pub searches_read: u64,
    /// Searches that count.
    pub searches: usize,
    /// Searches that were left out, by reason.
    pub searches_left_out: LeftOut,
    /// Probability that users examine each rank.
    pub propensities: Vec<f64>,
    /// Measured share of each propensity; 0 is guessed from the model alone.
    pub harvested: Vec<f64>,
    /// Graded pairs of query and document.
    pub pairs: usize,
    /// Pairs that were shown, graded or not.
    pub pairs_shown: usize,
    /// Queries with graded documents.
    pub queries: usize,
    /// Queries of the searches that count.
    pub queries_searched: usize,
    /// Searches that count, of the queries with graded documents.
    pub searches_covered: usize,
    /// Pairwise agreement with human judgements. `None` without them.
    pub agreement: Option<f64>,
    /// Kappa with quadratic weights. `None` without human judgements.
    pub kappa: Option<f64>,
    /// Documents with both grades.
    pub human_documents: usize,
    /// Mean log-likelihood of a held-out search.
    pub log_likelihood: Option<held_out::ByModel>,
    /// Perplexity on held-out searches.
    pub perplexity: Option<held_out::ByModel>,
    /// Number of held-out searches.
    pub held_out_searches: usize,
    /// Share of the first 10 results that are graded, by variant.
    #[serde(rename = "judged_at_10")]
    pub judged: BTreeMap<String, f64>,
    /// True if the grades may be used.
    pub trusted: bool,
    /// Reasons for which they may not.
    pub reasons: Vec<String>,
    /// Limits of the grades.
    pub warnings: Vec<String>,
    /// Highest grade of the scale.
    pub scale_max: f64,
    /// Graded queries, most searched first.
    #[serde(skip)]
    pub graded: Vec<GradedQuery>,
}

/// Pair whose exposure is enough.
struct Kept {
    pair: (u32, u32),
    attractiveness: f64,
    exposure: f64,
}

/// Fits the model, checks it, and grades the pairs with enough exposure.
pub fn analyse(log: &CleanLog, human: Option<&GoldSet>, options: AnalysisOptions) -> Analysis {
    let pairs = Pairs::of(log);
    let (number, depth) = (pairs.pairs.len(), log.depth);
    let by_rank = pairs.cells(&log.searches, |shown| shown.rank);
    let alone = fit(&by_rank, number, depth, None);
    let harvested = propensities(&pairs.harvest(&log.searches), &alone.examination);
    let (model, cells) = match options.model {
        ClickModel::Pbm => {
            let model = fit(&by_rank, number, depth, Some(&harvested.by_rank));
            (model, by_rank)
        }
        ClickModel::Ubm => {
            let cells = pairs.cells(&log.searches, |shown| browsing_context(shown, depth));
            (fit(&cells, number, depth * (depth + 1), None), cells)
        }
    };
    let exposures = exposure(&cells, number, &model.examination);
    let mut kept: Vec<Kept> = pairs
        .pairs
        .iter()
        .zip(model.attractiveness.iter().zip(&exposures))
        .filter(|(_, (_, exposure))| **exposure >= options.min_exposure)
        .map(|(pair, (attractiveness, exposure))| Kept {
            pair: *pair,
            attractiveness: *attractiveness,
            exposure: *exposure,
        })
        .collect();
    kept.sort_by(|a, b| {
        let by_query = a.pair.0.cmp(&b.pair.0);
        by_query
            .then(b.attractiveness.total_cmp(&a.attractiveness))
            .then_with(|| document(log, a.pair.1).cmp(document(log, b.pair.1)))
    });
    let attractive: Vec<f64> = kept.iter().map(|kept| kept.attractiveness).collect();
    let highest = quantile(attractive, HIGHEST_QUANTILE);
    let share = |attractiveness: f64| (attractiveness / highest).min(1.0);

    let human_max = human.and_then(GoldSet::scale_max).map(Grade::get);
    let human_max = human_max.filter(|max| *max > 0.0).unwrap_or(HIGHEST_GRADE);
    let both = human.map_or_else(Vec::new, |human| {
        let of_kept = kept.iter().filter_map(|kept| {
            let query = query(log, kept.pair.0)?;
            let found = human.find(query.key.as_deref(), Some(&query.text))?;
            let judgements = &human.query(found).judgements;
            let (_, grade) = judgements.find(document(log, kept.pair.1))?;
            Some(Both {
                query: kept.pair.0,
                attractiveness: kept.attractiveness,
                clicks: human_max * share(kept.attractiveness),
                human: grade.get().max(0.0),
            })
        });
        of_kept.collect()
    });
    let agreement = human.map(|_| human::compare(&both));
    let scale = (both.len() >= MIN_HUMAN_DOCUMENTS).then(|| human::Scale::of(&both));
    let grade = |attractiveness: f64| match &scale {
        Some(scale) => scale.grade(attractiveness),
        None => (HIGHEST_GRADE * share(attractiveness) * 100.0).round() / 100.0,
    };
    let graded = graded(log, &kept, &grade);
    let held_out = held_out::check(&pairs, &log.searches, depth);
    let reasons = reasons(kept.len(), held_out.as_ref(), agreement.as_ref());
    let extent = Extent::of(log, &kept);
    let mut warnings = warnings(log, held_out.as_ref(), agreement.as_ref(), &harvested);
    warnings.extend(extent.warnings(graded.len()));
    Analysis {
        model: options.model,
        searches_read: log.searches_read,
        searches: log.searches.len(),
        searches_left_out: log.left_out,
        pairs: kept.len(),
        pairs_shown: number,
        queries: graded.len(),
        queries_searched: extent.queries,
        searches_covered: extent.searches_covered,
        agreement: agreement.and_then(|it| it.agreement),
        kappa: agreement.and_then(|it| it.kappa),
        human_documents: both.len(),
        log_likelihood: held_out.map(|it| it.log_likelihood),
        perplexity: held_out.map(|it| it.perplexity),
        held_out_searches: held_out.map_or(0, |it| it.searches),
        judged: extent.shares(),
        trusted: reasons.is_empty(),
        reasons,
        warnings,
        scale_max: if scale.is_some() {
            human_max
        } else {
            HIGHEST_GRADE
        },
        propensities: harvested.by_rank,
        harvested: harvested.harvested,
        graded,
    }
}

fn query(log: &CleanLog, index: u32) -> Option<&LoggedQuery> {
    position(index).and_then(|at| log.queries.get(at))
}

fn document(log: &CleanLog, index: u32) -> &str {
    let document = position(index).and_then(|at| log.documents.get(at));
    document.map_or("", |document| document.as_ref())
}

/// Quantile by linear interpolation. 1 without values.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else {
        return 1.0;
    };
    let at = share * real_length(last);
    let below = values.iter().enumerate();
    let below = below
        .take_while(|(index, _)| real_length(*index) <= at)
        .last();
    let (index, low) = below.map_or((0, 1.0), |(index, value)| (index, *value));
    let high = values.get(index + 1).copied().unwrap_or(low);
    low + (high - low) * (at - real_length(index))
}

fn graded(log: &CleanLog, kept: &[Kept], grade: &dyn Fn(f64) -> f64) -> Vec<GradedQuery> {
    let of_queries = kept.chunk_by(|a, b| a.pair.0 == b.pair.0);
    let mut graded: Vec<(&str, GradedQuery)> = of_queries
        .filter_map(|of_query| {
            let query = query(log, of_query.first()?.pair.0)?;
            let documents = of_query.iter().map(|kept| ClickGrade {
                document: document(log, kept.pair.1).to_owned(),
                grade: grade(kept.attractiveness),
                attractiveness: kept.attractiveness,
                interval: interval(kept),
                exposure: kept.exposure,
            });
            let graded = GradedQuery {
                key: query.key.as_deref().map(str::to_owned),
                text: query.text.to_string(),
                searches: query.searches,
                documents: documents.collect(),
            };
            Some((query.normal.as_ref(), graded))
        })
        .collect();
    graded.sort_by(|(a_text, a), (b_text, b)| {
        b.searches.cmp(&a.searches).then_with(|| a_text.cmp(b_text))
    });
    graded.into_iter().map(|(_, query)| query).collect()
}

/// 90 % interval of the attractiveness, from its posterior.
fn interval(kept: &Kept) -> [f64; 2] {
    let clicks = PRIOR_CLICKS + kept.attractiveness * kept.exposure;
    let misses = PRIOR_MISSES + (1.0 - kept.attractiveness) * kept.exposure;
    let posterior = Beta::new(clicks, misses);
    posterior.map_or([0.0, 1.0], |posterior| {
        [posterior.inverse_cdf(0.05), posterior.inverse_cdf(0.95)]
    })
}

/// Results of searches, and the graded ones among them.
#[derive(Clone, Copy, Debug, Default)]
struct Judged {
    served: u64,
    graded: u64,
}

impl Judged {
    fn add(&mut self, is_graded: bool) {
        self.served += 1;
        self.graded += u64::from(is_graded);
    }

    fn share(self) -> f64 {
        real(self.graded) / real(self.served.max(1))
    }
}

/// Extent of the grades in the searches that count.
struct Extent<'a> {
    /// Queries of the searches.
    queries: usize,
    /// Searches of the queries with grades.
    searches_covered: usize,
    /// First results by variant.
    by_variant: Vec<(&'a str, Judged)>,
    /// First results by rank.
    by_rank: Vec<Judged>,
}

impl<'a> Extent<'a> {
    fn of(log: &'a CleanLog, kept: &[Kept]) -> Self {
        let graded: FxHashSet<(u32, u32)> = kept.iter().map(|kept| kept.pair).collect();
        let covered: FxHashSet<u32> = kept.iter().map(|kept| kept.pair.0).collect();
        let searched: FxHashSet<u32> = log.searches.iter().map(|it| it.query).collect();
        let variants = log.variants.iter();
        let mut extent = Self {
            queries: searched.len(),
            searches_covered: 0,
            by_variant: variants
                .map(|it| (it.as_str(), Judged::default()))
                .collect(),
            by_rank: vec![Judged::default(); JUDGED_CUTOFF],
        };
        for search in &log.searches {
            extent.searches_covered += usize::from(covered.contains(&search.query));
            let Some((_, of_variant)) = extent.by_variant.get_mut(usize::from(search.variant))
            else {
                continue;
            };
            for (document, of_rank) in search.documents.iter().zip(&mut extent.by_rank) {
                if position(*document).is_some() {
                    let is_graded = graded.contains(&(search.query, *document));
                    of_variant.add(is_graded);
                    of_rank.add(is_graded);
                }
            }
        }
        extent
    }

    /// Share of the first results that are graded, by variant.
    fn shares(&self) -> BTreeMap<String, f64> {
        let served = self.by_variant.iter().filter(|(_, it)| it.served > 0);
        served
            .map(|(variant, judged)| ((*variant).to_owned(), judged.share()))
            .collect()
    }

    fn warnings(&self, queries: usize) -> Vec<String> {
        let mut warnings = Vec::new();
        if queries < MIN_QUERIES {
            warnings.push(format!(
                "{queries} of {} queries have enough clicks, fewer than {MIN_QUERIES}: their mean is not that of all \
                 searches; read a longer time",
                self.queries
            ));
        }
        let of_variants = self.by_variant.iter().map(|(_, judged)| *judged);
        let compared = of_variants.filter(|it| it.served >= MIN_SERVED);
        let (low, high) = compared.fold((1.0_f64, 0.0_f64), |(low, high), judged| {
            (low.min(judged.share()), high.max(judged.share()))
        });
        if high - low > MAX_VARIANT_DIFFERENCE {
            warnings.push(format!(
                "judged@{JUDGED_CUTOFF} of the variants is from {} to {}: do not compare them with this set",
                percent(low, 0),
                percent(high, 0)
            ));
        }
        let first = self.by_rank.first().copied().unwrap_or_default();
        let mut ranks = self.by_rank.iter().enumerate();
        // Ranks that few lists reach say little.
        let last = ranks.rfind(|(_, it)| it.served * 10 >= first.served.max(1));
        if let Some((index, last)) =
            last.filter(|(_, it)| first.share() - it.share() > MAX_RANK_DIFFERENCE)
        {
            warnings.push(format!(
                "rank 1 is judged at {}, rank {} at {}: a system that moves lower results up scores too low",
                percent(first.share(), 0),
                index + 1,
                percent(last.share(), 0)
            ));
        }
        warnings
    }
}

fn reasons(
    pairs: usize,
    held_out: Option<&HeldOut>,
    agreement: Option<&HumanAgreement>,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if pairs < MIN_PAIRS {
        reasons.push(format!(
            "{pairs} pairs of query and document have enough exposure, fewer than {MIN_PAIRS}; read \
             a longer time, or lower --min-exposure"
        ));
    }
    match held_out.map(|it| it.log_likelihood) {
        Some(likelihood) if likelihood.pbm > likelihood.rank_only => {}
        Some(likelihood) => reasons.push(format!(
            "the documents do not explain clicks better than their ranks: log-likelihood {:.4} a \
             search against {:.4}",
            likelihood.pbm, likelihood.rank_only
        )),
        None => reasons.push("there are too few searches for a check on the last of them".into()),
    }
    if let Some(agreement) = agreement.and_then(|it| it.agreement)
        && agreement < MIN_AGREEMENT
    {
        reasons.push(format!(
            "clicks order {} of the pairs of documents as human judgements do, fewer than \
             {}",
            percent(agreement, 0),
            percent(MIN_AGREEMENT, 0)
        ));
    }
    reasons
}

fn warnings(
    log: &CleanLog,
    held_out: Option<&HeldOut>,
    agreement: Option<&HumanAgreement>,
    propensities: &Propensities,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let left_out = real(log.left_out.total()) / real(log.searches_read.max(1));
    if left_out > MAX_LEFT_OUT {
        warnings.push(format!(
            "{} of the searches were left out",
            percent(left_out, 0)
        ));
    }
    if let Some(likelihood) = held_out.map(|it| it.log_likelihood)
        && likelihood.ubm > likelihood.pbm + MAX_UBM_GAIN
    {
        warnings.push("users read downwards and stop; expect 0.03 less agreement".into());
    }
    if propensities
        .harvested
        .get(1)
        .is_some_and(|it| *it < MIN_HARVESTED)
    {
        warnings.push("positions are guessed; swap neighbours in 2 % of traffic".into());
    }
    match agreement {
        None => warnings.push("no human gold: unknown whether clicks mean relevance here".into()),
        Some(HumanAgreement {
            documents,
            agreement: None,
            ..
        }) => warnings.push(format!(
            "{documents} of the documents with grades from clicks are in the human gold, and no two of a query with \
             different grades: unknown whether clicks mean relevance here"
        )),
        Some(_) => {}
    }
    warnings
}
