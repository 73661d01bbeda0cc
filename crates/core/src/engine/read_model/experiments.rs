//! Experiments: searches and sessions of the arms, their split, and differences from the control.

use super::model::ReadModel;
use crate::detection::{Arm, Difference, difference, split_log_evidence};
use crate::engine::family;
use crate::engine::fixed::{NANO_DECIMALS, units_to_f64};
use crate::engine::registry::{Dimension, Series};
use crate::engine::scores::Tally;
use crate::engine::settings::{EXPERIMENT, Experiment};

/// Arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmReading<'m> {
    /// Name of the variant.
    pub variant: &'m str,
    /// True for the control.
    pub is_control: bool,
    /// Declared share of the sessions.
    pub share: f64,
    /// Sessions since the start whose last search is final. Services assign sessions to arms, and a
    /// session of a worse arm has more searches.
    pub sessions: u64,
    /// Series of the scores of the arm in the experiment. `None` before its first search.
    pub series: Option<Series>,
}

impl ReadModel<'_> {
    /// Arms of an experiment, in the order of its split.
    pub fn arms<'m>(&'m self, experiment: &'m Experiment) -> Vec<ArmReading<'m>> {
        let id = experiment.id.as_str();
        let sessions = |arm: &str| {
            let mut counts = self.counts(&family::EXPERIMENT_SESSIONS);
            let found = counts.find(|(_, labels, _)| {
                let [experiment, variant, ..] = **labels;
                (
                    self.text(Dimension::SliceValue, experiment),
                    self.variant(variant),
                ) == (id, arm)
            });
            found.map_or(0, |(_, _, units)| u64::try_from(units).unwrap_or(u64::MAX))
        };
        let arms = experiment.split.iter();
        arms.map(|(variant, share)| ArmReading {
            variant,
            is_control: *variant == experiment.control,
            share: *share,
            sessions: sessions(variant),
            series: self.find(variant, EXPERIMENT, id),
        })
        .collect()
    }

    /// Log evidence (ln) that sessions are not split as declared. `None` without sessions.
    pub fn split_evidence(&self, arms: &[ArmReading<'_>]) -> Option<f64> {
        let sessions: Vec<u64> = arms.iter().map(|arm| arm.sessions).collect();
        let shares: Vec<f64> = arms.iter().map(|arm| arm.share).collect();
        split_log_evidence(&sessions, &shares)
    }

    /// Mean of a measure in `arm` minus its mean in the control of `arms`, since the start. `None` for
    /// the control, and with few searches.
    pub fn difference(
        &self,
        measure: usize,
        arm: &ArmReading<'_>,
        arms: &[ArmReading<'_>],
    ) -> Option<Difference> {
        let control = arms.iter().find(|arm| arm.is_control)?;
        let sums = |arm: &ArmReading<'_>| Some(self.tally(measure, arm.series?)?.as_arm());
        if arm.is_control {
            return None;
        }
        difference(&sums(arm)?, &sums(control)?, self.settings.detection.alpha)
    }
}

impl Tally {
    /// Sums as floating-point numbers, for a comparison of means.
    fn as_arm(&self) -> Arm {
        Arm {
            count: self.count,
            sum: units_to_f64(self.sum, NANO_DECIMALS),
            squares: units_to_f64(self.squares, 2 * NANO_DECIMALS),
        }
    }
}
