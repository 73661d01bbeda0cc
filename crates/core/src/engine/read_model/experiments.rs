//! Experiments: units of the arms, their split, and differences from the control.

use super::model::ReadModel;
use crate::detection::ArmDifference;
use crate::engine::fleet::SharedTest;
use crate::engine::score_column::column_of;
use crate::engine::series::Series;
use crate::engine::settings::Experiment;
use crate::engine::units::ExperimentUnits;
use crate::measure::direction::Direction;
use crate::number::real;

/// Arm of an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmReading<'m> {
    /// Name of the variant.
    pub variant: &'m str,
    /// True for the control.
    pub is_control: bool,
    /// Declared share of the units.
    pub share: f64,
    /// Units since the start: users or sessions.
    pub sessions: u64,
    /// Series of the scores of the arm in the experiment. `None` before its first search.
    pub series: Option<Series>,
    /// Position in the split.
    place: usize,
}

/// Difference of an arm from its control in one measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredDifference {
    /// Mean of the arm minus mean of the control.
    pub estimate: f64,
    /// Interval that contains the difference at every time, of this replica.
    pub interval: [f64; 2],
    /// Factor of the number of searches that would exclude 0 from the interval, if the difference stays
    /// the same. `None` if it is excluded.
    pub factor_to_decide: Option<f64>,
    /// Log evidence (ln) that the arm is worse: of the fleet if its replicas share it, else of this replica.
    /// `None` for a measure without a better direction.
    pub log_evidence_worse: Option<f64>,
}

impl ReadModel<'_> {
    fn units(&self, experiment: &Experiment) -> Option<&ExperimentUnits> {
        let mut declared = self.settings.experiments.iter();
        let place = declared.position(|it| it.id == experiment.id)?;
        self.snapshot.totals.units.of(place)
    }

    /// Arms of an experiment, in the order of its split.
    pub fn arms<'m>(&'m self, experiment: &'m Experiment) -> Vec<ArmReading<'m>> {
        let units = self.units(experiment);
        let arms = experiment.split.iter().enumerate();
        arms.map(|(place, (variant, share))| ArmReading {
            variant,
            is_control: *variant == experiment.control,
            share: *share,
            sessions: units.map_or(0, |units| units.units(place)),
            series: self.find(variant, Experiment::SLICE, &experiment.id),
            place,
        })
        .collect()
    }

    /// Log evidence (ln) that units are not split as declared: of the fleet if its replicas share it, else
    /// of this replica. `None` without units.
    pub fn split_evidence(&self, experiment: &Experiment) -> Option<f64> {
        let workers = self.settings.detection.workers;
        let units = self.units(experiment);
        let own = units.and_then(|units| units.split_evidence(workers));
        self.of_fleet(SharedTest::Split, &[&experiment.id], None, own)
    }

    /// Threshold of [`split_evidence`](Self::split_evidence). Of this replica alone, it is higher: a replica
    /// that is missing counts 0.
    pub fn split_threshold(&self) -> f64 {
        self.settings.detection.split_threshold + self.replicas_margin()
    }

    /// Mean of a measure in `arm` minus its mean in the control, since the start. `None` for the control,
    /// and with fewer than 100 buckets of units in one of the arms.
    pub fn difference(
        &self,
        measure: usize,
        arm: &ArmReading<'_>,
        experiment: &Experiment,
    ) -> Option<MeasuredDifference> {
        if arm.is_control {
            return None;
        }
        let units = self.units(experiment)?;
        let mut arms = experiment.split.iter();
        let control = arms.position(|(variant, _)| *variant == experiment.control)?;
        let column = column_of(measure);
        let found = ArmDifference::of(
            units.scores(arm.place, column)?,
            units.scores(control, column)?,
        )?;
        let detection = &self.settings.detection;
        let alpha = detection.alpha / real(detection.replicas.max(1));
        let direction = self.settings.measures.get(measure)?.descriptor().direction;
        let own = match direction {
            Direction::Up => Some(found.log_evidence_worse(false)),
            Direction::Down => Some(found.log_evidence_worse(true)),
            Direction::Neither => None,
        };
        let labels = [&*experiment.id, self.measures.get(measure)?, arm.variant];
        let of_fleet = |own| self.of_fleet(SharedTest::Difference, &labels, None, Some(own));
        Some(MeasuredDifference {
            estimate: found.difference,
            interval: found.interval(alpha),
            factor_to_decide: found.factor_to_decide(alpha),
            log_evidence_worse: own.and_then(of_fleet),
        })
    }
}
