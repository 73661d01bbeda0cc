//! Canonical names of the measures of ranked retrieval: parameters with their default value are
//! omitted, the others are in alphabetical order.

use std::fmt;

use super::{Denominator, Fraction, Gain, Ideal, Ranked, Weighting};
use crate::measure::grammar::{shown, write_canonical};

impl fmt::Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, rel, cutoff) = match self {
            Self::Precision {
                cutoff,
                rel,
                denominator,
            } => {
                let denominator = match denominator {
                    Denominator::Cutoff => None,
                    Denominator::Retrieved => Some(&"retrieved"),
                };
                let parameters = [
                    ("denominator", shown(denominator)),
                    ("rel", shown(rel.as_ref())),
                ];
                return write_canonical(f, "P", None, &parameters, Some(cutoff));
            }
            Self::Ndcg {
                cutoff,
                gain,
                ideal,
            } => {
                let (gain, rel) = match gain {
                    Gain::Linear => (None, None),
                    Gain::Exponential => (Some(&"exp"), None),
                    Gain::Binary { rel } => (Some(&"binary"), rel.as_ref()),
                };
                let ideal = match ideal {
                    Ideal::Judged => None,
                    Ideal::Retrieved => Some(&"retrieved"),
                };
                let parameters = [
                    ("gain", shown(gain)),
                    ("ideal", shown(ideal)),
                    ("rel", shown(rel)),
                ];
                return write_canonical(f, "nDCG", None, &parameters, shown(cutoff.as_ref()));
            }
            Self::RankBiasedPrecision {
                persistence,
                weighting,
            } => {
                let (graded, rel) = match weighting {
                    Weighting::Binary { rel } => (None, rel.as_ref()),
                    Weighting::Graded => (Some(&"true"), None),
                };
                let persistence = Some(persistence).filter(|p| **p != Fraction::PERSISTENCE);
                let parameters = [
                    ("graded", shown(graded)),
                    ("p", shown(persistence)),
                    ("rel", shown(rel)),
                ];
                return write_canonical(f, "RBP", None, &parameters, None);
            }
            Self::ExpectedReciprocalRank { cutoff, max } => {
                return write_canonical(
                    f,
                    "ERR",
                    None,
                    &[("max", shown(max.as_ref()))],
                    Some(cutoff),
                );
            }
            Self::InterpolatedPrecision { recall, rel } => {
                let parameters = [("rel", shown(rel.as_ref()))];
                return write_canonical(f, "IPrec", None, &parameters, Some(recall));
            }
            Self::Recall { cutoff, rel } => ("R", rel, Some(cutoff)),
            Self::F1 { cutoff, rel } => ("F1", rel, Some(cutoff)),
            Self::Success { cutoff, rel } => ("Success", rel, Some(cutoff)),
            Self::AllHit { cutoff, rel } => ("AllHit", rel, Some(cutoff)),
            Self::ReciprocalRank { cutoff, rel } => ("RR", rel, cutoff.as_ref()),
            Self::AveragePrecision { cutoff, rel } => ("AP", rel, cutoff.as_ref()),
            Self::Judged { cutoff } => ("Judged", &None, Some(cutoff)),
            Self::Bpref { rel } => ("Bpref", rel, None),
            Self::TruePositives { cutoff, rel } => ("TP", rel, Some(cutoff)),
            Self::FalsePositives { cutoff, rel } => ("FP", rel, Some(cutoff)),
            Self::FalseNegatives { cutoff, rel } => ("FN", rel, Some(cutoff)),
        };
        write_canonical(
            f,
            name,
            None,
            &[("rel", shown(rel.as_ref()))],
            shown(cutoff),
        )
    }
}
