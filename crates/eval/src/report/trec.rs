//! Output in the format of trec_eval: `%-22s\t%s\t%6.4f`, names and order as in trec_eval 10.0.
//!
//! The layout follows `meas_print_single.c` and `meas_print_final.c`, the order of measures
//! `measures.c`. Queries are in the byte order of their keys, as trec_eval sorts them. A measure
//! that trec_eval lacks or defines differently (RBP, whose gains it takes from the grades) keeps
//! its rankgauge name and follows trec_eval's measures.

use std::fmt::Write as _;

use crate::evaluate::{Evaluation, RunEvaluation};
use crate::text_layout::escape_controls;

/// Name of a measure in trec_eval, with its position in the output order.
#[derive(Debug, PartialEq, PartialOrd)]
struct Known {
    /// Position of its family in `te_trec_measures`.
    family: usize,
    /// Cutoff or recall level, by which the members of a family are sorted.
    cutoff: f64,
    name: String,
}

/// Writes all runs in sequence.
pub(super) fn write(evaluation: &Evaluation, per_query: bool) -> String {
    let columns = columns(&evaluation.measures);
    let mut out = String::new();
    for run in &evaluation.runs {
        if per_query {
            let mut queries: Vec<_> = run.queries.iter().collect();
            queries.sort_by(|a, b| a.key.as_bytes().cmp(b.key.as_bytes()));
            for query in queries {
                let key = escape_controls(&query.key);
                count(&mut out, "num_ret", &key, query.retrieved);
                count(&mut out, "num_rel", &key, query.relevant);
                count(&mut out, "num_rel_ret", &key, query.relevant_retrieved);
                scores(&mut out, &columns, &key, &query.scores);
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
            line(out, name, key, &format!("{score:6.4}"));
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
    for (position, measure) in measures.iter().enumerate() {
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

impl Known {
    fn of(measure: &str) -> Option<Self> {
        let (name, cutoff) = match measure.split_once('@') {
            Some((name, cutoff)) => (name, Some(cutoff)),
            None => (measure, None),
        };
        // A written parameter differs from its default, and trec_eval defines only the default.
        let (family, stem) = match (name, cutoff.is_some()) {
            ("AP", false) => (0, "map"),
            ("Bpref", false) => (1, "bpref"),
            ("RR", false) => (2, "recip_rank"),
            ("IPrec", true) => (3, "iprec_at_recall"),
            ("P", true) => (4, "P"),
            ("R", true) => (5, "recall"),
            ("nDCG", false) => (6, "ndcg"),
            ("nDCG", true) => (7, "ndcg_cut"),
            ("AP", true) => (8, "map_cut"),
            ("Success", true) => (9, "success"),
            _ => return None,
        };
        let Some(text) = cutoff else {
            let (cutoff, name) = (0.0, stem.to_owned());
            return Some(Self {
                family,
                cutoff,
                name,
            });
        };
        let cutoff: f64 = text.parse().ok()?;
        let name = if stem == "iprec_at_recall" {
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
