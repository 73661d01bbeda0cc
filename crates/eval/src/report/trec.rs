//! Output in the format of trec_eval: `%-22s\t%s\t%6.4f`, names and order as in trec_eval 10.0.
//!
//! The layout follows `meas_print_single.c` and `meas_print_final.c`, the order of measures
//! `measures.c`. Queries are in the byte order of their keys, as trec_eval sorts them. A measure
//! that trec_eval lacks keeps its rankgauge name and follows trec_eval's measures.

use std::fmt::Write as _;

use super::zscores::{Normalisation, ZScores};
use crate::evaluate::{Evaluation, QueryEvaluation, RunEvaluation};
use crate::text_layout::escape_controls;
use rankgauge_core::measure::Mean;
use rankgauge_core::number::{real, real_length};

/// Name of a measure in trec_eval, with its position in the output order.
#[derive(Debug, PartialEq, PartialOrd)]
struct Known {
    /// Position of its family in `te_trec_measures`.
    family: usize,
    /// Cutoff or recall level, by which the members of a family are sorted.
    cutoff: f64,
    name: String,
}

/// Counts of every output, which trec_eval prints before its measures.
const COUNTS: [&str; 4] = ["NumQ", "NumRet", "NumRel", "NumRelRet"];

/// Measures that trec_eval prints in the summary only.
const SUMMARY_ONLY: [&str; 2] = ["gm_map", "gm_bpref"];

/// Writes the normalised scores of all runs in sequence, and returns the number of scores without a mean. As in
/// trec_eval, the summary has their means, their sums for counts, and 0 for geometric means.
pub(super) fn write_normalised(
    evaluation: &Evaluation,
    per_query: bool,
    zscores: &ZScores,
) -> (String, usize) {
    let columns = columns(&evaluation.measures);
    let mut normalisation = Normalisation::new(zscores);
    let mut out = String::new();
    for run in &evaluation.runs {
        let names = ["num_ret", "num_rel", "num_rel_ret"].into_iter();
        let names: Vec<&str> = names
            .chain(columns.iter().map(|(_, name)| name.as_str()))
            .collect();
        let mut totals = vec![(0.0, 0.0); names.len()];
        for query in by_key(run) {
            let counts = [query.retrieved, query.relevant, query.relevant_retrieved];
            let counts = counts.into_iter().map(|count| Some(real(count)));
            let scores = columns
                .iter()
                .map(|(at, _)| query.scores.get(*at).copied().flatten());
            for ((name, score), (sum, number)) in
                names.iter().zip(counts.chain(scores)).zip(&mut totals)
            {
                let Some(score) = score.filter(|_| !SUMMARY_ONLY.contains(name)) else {
                    continue;
                };
                let score = normalisation.of(&query.key, name, score);
                (*sum, *number) = (*sum + score, *number + 1.0);
                if per_query {
                    normalised(&mut out, name, &escape_controls(&query.key), score);
                }
            }
        }
        let tag = escape_controls(run.tag.as_deref().unwrap_or(&run.name));
        line(&mut out, "runid", "all", &tag);
        normalised(&mut out, "num_q", "all", real_length(run.queries.len()));
        for (name, (sum, number)) in names.iter().zip(totals) {
            if number > 0.0 {
                // The summary of a count is a sum.
                let is_number = name.starts_with("num_");
                let summary = if is_number { sum } else { sum / number };
                normalised(&mut out, name, "all", summary);
            } else if SUMMARY_ONLY.contains(name) {
                normalised(&mut out, name, "all", 0.0);
            }
        }
    }
    (out, normalisation.missing)
}

fn normalised(out: &mut String, name: &str, key: &str, score: f64) {
    writeln!(out, "Z{name:<22}\t{key}\t{score:6.4}").expect("invariant: a String takes all text");
}

/// Queries in the byte order of their keys.
fn by_key(run: &RunEvaluation) -> Vec<&QueryEvaluation> {
    let mut queries: Vec<_> = run.queries.iter().collect();
    queries.sort_by(|a, b| a.key.as_bytes().cmp(b.key.as_bytes()));
    queries
}

/// Writes all runs in sequence.
pub(super) fn write(evaluation: &Evaluation, per_query: bool) -> String {
    let columns = columns(&evaluation.measures);
    let of_query: Vec<(usize, String)> = columns
        .iter()
        .filter(|(_, name)| !SUMMARY_ONLY.contains(&name.as_str()))
        .cloned()
        .collect();
    let mut out = String::new();
    for run in &evaluation.runs {
        if per_query {
            for query in by_key(run) {
                let key = escape_controls(&query.key);
                count(&mut out, "num_ret", &key, query.retrieved);
                count(&mut out, "num_rel", &key, query.relevant);
                count(&mut out, "num_rel_ret", &key, query.relevant_retrieved);
                scores(&mut out, &of_query, &key, &query.scores);
            }
        }
        summary(&mut out, &columns, run);
    }
    out
}

fn summary(out: &mut String, columns: &[(usize, String)], run: &RunEvaluation) {
    let tag = escape_controls(run.tag.as_deref().unwrap_or(&run.name));
    line(out, "runid", "all", &tag);
    line(out, "num_q", "all", &run.queries.len().to_string());
    count(out, "num_ret", "all", run.retrieved);
    count(out, "num_rel", "all", run.relevant);
    count(out, "num_rel_ret", "all", run.relevant_retrieved);
    scores(out, columns, "all", &run.means);
}

/// Writes a line for each score that is defined.
fn scores(out: &mut String, columns: &[(usize, String)], key: &str, scores: &[Option<f64>]) {
    for (measure, name) in columns {
        if let Some(score) = scores.get(*measure).copied().flatten() {
            let score = if Mean::of(name) == Mean::Sum {
                format!("{score:.0}")
            } else {
                format!("{score:6.4}")
            };
            line(out, name, key, &score);
        }
    }
}

fn count(out: &mut String, name: &str, key: &str, count: u64) {
    line(out, name, key, &count.to_string());
}

fn line(out: &mut String, name: &str, key: &str, value: &str) {
    writeln!(out, "{name:<22}\t{key}\t{value}").expect("invariant: a String takes all text");
}

/// Positions and names of the measures in trec_eval's output order: first its own, then the others
/// in the requested order.
fn columns(measures: &[String]) -> Vec<(usize, String)> {
    let mut known = Vec::new();
    let mut others = Vec::new();
    let measures = measures.iter().enumerate();
    for (position, measure) in measures.filter(|(_, it)| !COUNTS.contains(&it.as_str())) {
        match Known::of(measure) {
            Some(name) => known.push((position, name)),
            None => others.push((position, measure.clone())),
        }
    }
    known.sort_by(|(_, a), (_, b)| {
        let families = a.family.cmp(&b.family);
        families.then(a.cutoff.total_cmp(&b.cutoff))
    });
    let known = known.into_iter().map(|(position, it)| (position, it.name));
    known.chain(others).collect()
}

/// Measures of trec_eval in its order: the name in rankgauge without a cutoff, whether it has a cutoff,
/// and the name in trec_eval.
const NAMES: &[(&str, bool, &str)] = &[
    ("AP", false, "map"),
    ("GMAP", false, "gm_map"),
    ("Rprec", false, "Rprec"),
    ("Bpref", false, "bpref"),
    ("RR", false, "recip_rank"),
    ("IPrec", true, "iprec_at_recall"),
    ("IPrec(rounding=nearest)", true, "iprec_at_recall"),
    ("P", true, "P"),
    ("R", true, "recall"),
    ("infAP", false, "infAP"),
    ("GMBpref", false, "gm_bpref"),
    ("RprecMult", true, "Rprec_mult"),
    ("Utility", false, "utility"),
    ("IPrecAvg", false, "11pt_avg"),
    ("IPrecAvg(rounding=nearest)", false, "11pt_avg"),
    ("binG", false, "binG"),
    ("G", false, "G"),
    ("DCG", false, "dcg"),
    ("IDCG", false, "ideal_dcg"),
    ("nDCG", false, "ndcg"),
    ("nDCGRel", false, "ndcg_rel"),
    ("RnDCG", false, "Rndcg"),
    ("nDCG", true, "ndcg_cut"),
    ("AP", true, "map_cut"),
    ("RelP", true, "relative_P"),
    ("Success", true, "success"),
    ("SetP", false, "set_P"),
    ("SetRelP", false, "set_relative_P"),
    ("SetR", false, "set_recall"),
    ("SetAP", false, "set_map"),
    ("SetF", false, "set_F"),
    ("NumNonrelJudgedRet", false, "num_nonrel_judged_ret"),
    ("GroupAP", false, "map_avgjg"),
    ("GroupP", true, "P_avgjg"),
    ("GroupRprecMult", true, "Rprec_mult_avgjg"),
    ("yaap", false, "yaap"),
    ("RBP(graded=query,p=0.9)", false, "rbp"),
    ("RBPResid", false, "rbp_resid"),
    ("Unjudged", true, "unj"),
];

impl Known {
    fn of(measure: &str) -> Option<Self> {
        let (name, cutoff) = match measure.split_once('@') {
            Some((name, cutoff)) => (name, Some(cutoff)),
            None => (measure, None),
        };
        // A written parameter differs from its default, and trec_eval defines only the default.
        let is_named = |(known, has_cutoff, _): &&(&str, bool, &str)| {
            *known == name && *has_cutoff == cutoff.is_some()
        };
        let family = NAMES.iter().position(|it| is_named(&it))?;
        let (_, _, stem) = NAMES.get(family)?;
        let Some(text) = cutoff else {
            let (cutoff, name) = (0.0, (*stem).to_owned());
            return Some(Self {
                family,
                cutoff,
                name,
            });
        };
        let cutoff: f64 = text.parse().ok()?;
        let name = if matches!(*stem, "iprec_at_recall" | "Rprec_mult" | "Rprec_mult_avgjg") {
            format!("{stem}_{cutoff:.2}")
        } else {
            format!("{stem}_{text}")
        };
        Some(Self {
            family,
            cutoff,
            name,
        })
    }
}
