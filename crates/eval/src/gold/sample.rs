//! Sample of a gold set's judgements for a second look, and the error rate that its answers show.
//!
//! A sample is stratified by a label: each stratum has its share of the sample, and at least one
//! judgement. The choice follows from a hash of the seed, the query and the document. It therefore
//! depends neither on the order of the files nor on judgements that are added later.

use std::collections::BTreeMap;

use serde::Serialize;

use super::wilson::wilson;
use rankgauge_core::gold::adoption::{FilledRow, SheetRow};
use rankgauge_core::gold::{GoldSet, Grade};

/// Size of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Share of all judgements, above 0, up to 1.
    Share(f64),
    /// Number of judgements.
    Count(usize),
}

/// One sampled judgement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sampled {
    /// Key of the query.
    pub query: String,
    /// Text of the query.
    #[serde(skip)]
    pub text: Option<String>,
    /// Id of the document.
    pub document: String,
    /// Value of the label that defines the stratum; empty without one.
    pub stratum: String,
}

/// Draws a sample, in the order of the gold set. `by` is the label that defines the strata.
pub fn sample(set: &GoldSet, size: Size, by: Option<&str>, seed: u64) -> Vec<Sampled> {
    let mut strata: BTreeMap<String, Vec<(u64, usize, Sampled)>> = BTreeMap::new();
    let mut position = 0;
    for query in set.queries() {
        let value = by.and_then(|label| query.labels.get(label));
        let stratum = value.cloned().unwrap_or_default();
        for (document, _) in query.documents() {
            let key = hash(seed, &query.key, document);
            let sampled = Sampled {
                query: query.key.clone(),
                text: query.text.clone(),
                document: document.to_owned(),
                stratum: stratum.clone(),
            };
            let members = strata.entry(stratum.clone()).or_default();
            members.push((key, position, sampled));
            position += 1;
        }
    }
    let sizes: Vec<usize> = strata.values().map(Vec::len).collect();
    let wanted = match size {
        Size::Count(count) => count,
        Size::Share(share) => sizes.iter().map(|size| ceiling(share, *size)).sum(),
    };
    let quotas = quotas(&sizes, wanted);
    let mut chosen: Vec<(usize, Sampled)> = Vec::new();
    for (mut members, quota) in strata.into_values().zip(quotas) {
        members.sort_by_key(|it| (it.0, it.1));
        let members = members.into_iter().take(quota);
        chosen.extend(members.map(|(_, position, sampled)| (position, sampled)));
    }
    chosen.sort_by_key(|(position, _)| *position);
    chosen.into_iter().map(|(_, sampled)| sampled).collect()
}

/// Number of judgements for each stratum: proportional to its size, at least one, and together
/// `wanted` if the strata permit it. Remainders go to the strata with the largest fraction.
fn quotas(sizes: &[usize], wanted: usize) -> Vec<usize> {
    let all: usize = sizes.iter().sum();
    if all == 0 || wanted == 0 {
        return vec![0; sizes.len()];
    }
    let mut quotas: Vec<usize> = sizes
        .iter()
        .map(|size| (wanted * size / all).clamp(1, (*size).max(1)).min(*size))
        .collect();
    let mut by_remainder: Vec<usize> = (0..sizes.len()).collect();
    by_remainder.sort_by_key(|stratum| std::cmp::Reverse(wanted * sizes[*stratum] % all));
    let wanted = wanted.min(all);
    while quotas.iter().sum::<usize>() < wanted {
        let before: usize = quotas.iter().sum();
        for stratum in &by_remainder {
            if quotas.iter().sum::<usize>() < wanted && quotas[*stratum] < sizes[*stratum] {
                quotas[*stratum] += 1;
            }
        }
        if quotas.iter().sum::<usize>() == before {
            break;
        }
    }
    quotas
}

/// Smallest number of judgements that is at least `share` of `size`.
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a gold set has far fewer than 2^52 judgements, and the product is not negative"
)]
fn ceiling(share: f64, size: usize) -> usize {
    (share.clamp(0.0, 1.0) * size as f64).ceil() as usize
}

/// Hash of a judgement: FNV-1a over the parts, then the finaliser of splitmix64.
fn hash(seed: u64, query: &str, document: &str) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let seed = seed.to_le_bytes();
    let parts = [seed.as_slice(), query.as_bytes(), &[0], document.as_bytes()];
    for byte in parts.into_iter().flatten() {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// Rows of an annotation sheet without grades, so that annotators judge without knowing them.
pub fn rows(sample: &[Sampled]) -> Vec<SheetRow> {
    let row = |sampled: &Sampled| SheetRow {
        query_id: sampled.query.clone(),
        query_text: sampled.text.clone().unwrap_or_default(),
        document_id: sampled.document.clone(),
        ..SheetRow::default()
    };
    sample.iter().map(row).collect()
}

/// Error rate of a gold set according to the answers to a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorRate {
    /// Number of answered judgements.
    pub answered: u32,
    /// Number of rows without a grade.
    pub open: u32,
    /// Number of answers with another grade than the gold set.
    pub other_grade: u32,
    /// Number of answers that disagree on relevant or not.
    pub other_relevance: u32,
    /// Share of the answers with another grade; `None` without answers.
    pub rate: Option<f64>,
    /// 95 % interval of the share (Wilson).
    pub interval: [f64; 2],
    /// Share of the answers that disagree on relevant or not.
    pub relevance_rate: Option<f64>,
    /// 95 % interval of that share.
    pub relevance_interval: [f64; 2],
    /// Disagreements, largest first.
    pub disagreements: Vec<Disagreement>,
}

/// Answer with another grade than the gold set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Disagreement {
    /// Key of the query.
    pub query: String,
    /// Id of the document.
    pub document: String,
    /// Grade in the gold set.
    pub gold: Grade,
    /// Grade in the answer.
    pub answer: Grade,
}

/// Error: the answers are about judgements that the gold set does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line}: the gold set has no judgement of document `{document}` for query `{query}`; use the \
     gold set that the sample was drawn from"
)]
pub struct UnknownJudgement {
    /// Line of the sheet.
    pub line: usize,
    /// Key of the query.
    pub query: String,
    /// Id of the document.
    pub document: String,
}

/// Compares the answers to a sample with the gold set.
///
/// # Errors
/// A row is about a judgement that the gold set does not have.
pub fn error_rate(set: &GoldSet, rows: &[FilledRow]) -> Result<ErrorRate, UnknownJudgement> {
    let (mut answered, mut open, mut other_relevance) = (0, 0, 0);
    let mut disagreements = Vec::new();
    for row in rows {
        let query = set
            .find(Some(&row.query_id), None)
            .map(|index| set.query(index));
        let judged =
            query.and_then(|query| Some((query, query.judgements.find(&row.document_id)?.1)));
        let Some((query, gold)) = judged else {
            return Err(UnknownJudgement {
                line: row.line,
                query: row.query_id.clone(),
                document: row.document_id.clone(),
            });
        };
        let Some(answer) = row.grade else {
            open += 1;
            continue;
        };
        answered += 1;
        let level = query.judgements.level();
        other_relevance += u32::from(answer.is_relevant_at(level) != gold.is_relevant_at(level));
        if answer != gold {
            disagreements.push(Disagreement {
                query: query.key.clone(),
                document: row.document_id.clone(),
                gold,
                answer,
            });
        }
    }
    let distance = |it: &Disagreement| (it.gold.get() - it.answer.get()).abs();
    disagreements.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let other_grade = u32::try_from(disagreements.len()).unwrap_or(u32::MAX);
    let share = |part: u32| (answered > 0).then(|| f64::from(part) / f64::from(answered));
    Ok(ErrorRate {
        answered,
        open,
        other_grade,
        other_relevance,
        rate: share(other_grade),
        interval: wilson(other_grade, answered),
        relevance_rate: share(other_relevance),
        relevance_interval: wilson(other_relevance, answered),
        disagreements,
    })
}
