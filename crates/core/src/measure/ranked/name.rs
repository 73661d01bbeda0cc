//! Descriptors and canonical spellings of the measures of ranked retrieval: parameters with their
//! default value are omitted, the others are in alphabetical order.

use std::fmt;

use super::{Denominator, Fraction, Gain, Ideal, Ranked, Weighting};
use crate::measure::catalogue::entry;
use crate::measure::descriptor::Descriptor;
use crate::measure::grammar::{shown, write_canonical};

impl Ranked {
    /// Returns the facts about the measure.
    pub(in crate::measure) fn descriptor(&self) -> &'static Descriptor {
        match self {
            Self::Precision { .. } => const { entry("P") },
            Self::Recall { .. } => const { entry("R") },
            Self::F1 { .. } => const { entry("F1") },
            Self::Success { .. } => const { entry("Success") },
            Self::AllHit { .. } => const { entry("AllHit") },
            Self::ReciprocalRank { .. } => const { entry("RR") },
            Self::AveragePrecision { .. } => const { entry("AP") },
            Self::Ndcg { .. } => const { entry("nDCG") },
            Self::Judged { .. } => const { entry("Judged") },
            Self::Bpref { .. } => const { entry("Bpref") },
            Self::RankBiasedPrecision { .. } => const { entry("RBP") },
            Self::ExpectedReciprocalRank { .. } => const { entry("ERR") },
            Self::InterpolatedPrecision { .. } => const { entry("IPrec") },
            Self::TruePositives { .. } => const { entry("TP") },
            Self::FalsePositives { .. } => const { entry("FP") },
            Self::FalseNegatives { .. } => const { entry("FN") },
        }
    }
}

impl fmt::Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.descriptor().name;
        let (rel, cutoff) = match self {
            Self::Precision {
                cutoff,
                rel,
                denominator,
            }
            | Self::F1 {
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
                return write_canonical(f, name, None, &parameters, Some(cutoff));
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
                return write_canonical(f, name, None, &parameters, shown(cutoff.as_ref()));
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
                return write_canonical(f, name, None, &parameters, None);
            }
            Self::ExpectedReciprocalRank { cutoff, max } => {
                return write_canonical(
                    f,
                    name,
                    None,
                    &[("max", shown(max.as_ref()))],
                    Some(cutoff),
                );
            }
            Self::InterpolatedPrecision { recall, rel } => {
                let parameters = [("rel", shown(rel.as_ref()))];
                return write_canonical(f, name, None, &parameters, Some(recall));
            }
            Self::Recall { cutoff, rel }
            | Self::Success { cutoff, rel }
            | Self::AllHit { cutoff, rel }
            | Self::TruePositives { cutoff, rel }
            | Self::FalsePositives { cutoff, rel }
            | Self::FalseNegatives { cutoff, rel } => (rel, Some(cutoff)),
            Self::ReciprocalRank { cutoff, rel } | Self::AveragePrecision { cutoff, rel } => {
                (rel, cutoff.as_ref())
            }
            Self::Judged { cutoff } => (&None, Some(cutoff)),
            Self::Bpref { rel } => (rel, None),
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
