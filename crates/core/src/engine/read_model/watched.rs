//! Detection: tests, bounds and drops of watched series, and baselines.

use super::fleet::shared;
use super::model::ReadModel;
use crate::detection::{DropExtent, Part};
use crate::engine::evidence::{Detector, QueryBaselines, Test};
use crate::engine::score_column::column_of;
use crate::engine::series::{Label, Series};
use crate::engine::settings::MonitoredMeasure;

/// State of detection for one watched measure and series, of all workers of this process together. The
/// evidence is that of the fleet if its replicas share it.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchedSeries {
    /// Position of the measure in the settings.
    pub measure: usize,
    /// Series of scores.
    pub series: Series,
    /// Log evidence (ln) by test, in the order of [`Test::ALL`]. `None` if the test has no reference: a
    /// target, or a baseline with which a search was compared.
    pub log_evidence: [Option<f64>; Test::ALL.len()],
    /// Start and size of a drop that has at least half of the evidence for an alarm.
    pub drop: Option<DropExtent>,
    /// Part of the queries that has the larger share of the evidence of a drop. `None` without `drop`.
    pub part: Option<Part>,
    /// Log evidence (ln) of a drop of the upper bound over unjudged results, and of the share of judged
    /// results, since a drop is suspected. `None` without unjudged results.
    pub unjudged_log_evidence: Option<[f64; 2]>,
    /// Tolerated drop. `None` before the first comparison.
    pub tolerance: Option<f64>,
    /// End of the warm-up, in minutes of event time since 1970. `None` before the first comparison.
    pub warm_up_until: Option<i64>,
    /// True if the newest search of the series is in the warm-up.
    pub is_warm_up: bool,
    /// Lower and upper anytime-valid confidence bound of the mean of all searches since the last deployment.
    pub bounds: Option<[f64; 2]>,
    /// Number of searches behind the bounds.
    pub bounded_searches: u64,
    /// True if the evidence is sufficient for an alarm, or an incident with the series is open, by test;
    /// `None` without evidence.
    pub has_alarm: [Option<bool>; Test::ALL.len()],
}

impl WatchedSeries {
    /// Tests with an active alarm.
    pub fn alarms(&self) -> impl Iterator<Item = Test> {
        let tests = Test::ALL.into_iter().zip(self.has_alarm);
        tests.filter_map(|(test, has_alarm)| (has_alarm == Some(true)).then_some(test))
    }
}

impl ReadModel<'_> {
    /// State of detection of every watched measure and series, in the order of the watched measures.
    pub fn watched(&self) -> Vec<WatchedSeries> {
        let mut watched = Vec::new();
        for (series, column, detector) in self.snapshot.totals.evidence.detectors() {
            let measure = column.checked_sub(column_of(0));
            let measure = measure.filter(|_| self.names(series).is_some());
            let watch = measure.and_then(|measure| self.watch_of(measure));
            watched.extend(watch.map(|(place, it)| (place, self.state_of(it, series, detector))));
        }
        watched.sort_by_key(|(place, _)| *place);
        watched.into_iter().map(|(_, state)| state).collect()
    }

    /// State of detection of one measure and series; `None` if it is not watched.
    pub fn watched_series(&self, measure: usize, series: Series) -> Option<WatchedSeries> {
        let evidence = &self.snapshot.totals.evidence;
        let detector = evidence.detector(series, column_of(measure))?;
        let (_, watched) = self.watch_of(measure)?;
        Some(self.state_of(watched, series, detector))
    }

    /// Watched measure at a position in the settings, with its place among the watched measures.
    pub(super) fn watch_of(&self, measure: usize) -> Option<(usize, &MonitoredMeasure)> {
        let watched = self.settings.detection.measures.iter().enumerate();
        watched.rev().find(|(_, it)| it.index == measure)
    }

    fn state_of(
        &self,
        watched: &MonitoredMeasure,
        series: Series,
        detector: &Detector,
    ) -> WatchedSeries {
        let detection = &self.settings.detection;
        let own = [
            detector.target_log_evidence(watched, detection.workers),
            detector.drop_log_evidence(),
        ];
        let log_evidence = self.watched_evidence(watched.index, series, own);
        let thresholds = [
            detection.target_threshold + self.replicas_margin(),
            detection.drop_threshold,
        ];
        let has_alarm = |test: Test| {
            let evidence = log_evidence[test as usize]?;
            let is_open = test == Test::Drop && self.is_in_open_incident(watched.index, series);
            Some(is_open || evidence >= thresholds[test as usize])
        };
        let threshold = detection.target_threshold_of_worker();
        let drop = detector.drop_extent(detection);
        let test = detector.drop_series();
        let rules = detection.series_rules(watched);
        let warm_up_until = test.warm_up_until(&rules);
        WatchedSeries {
            measure: watched.index,
            series,
            part: drop.map(|_| test.part()),
            drop,
            unjudged_log_evidence: detector.unjudged_log_evidence(),
            tolerance: test.has_comparisons().then(|| test.tolerance()),
            warm_up_until,
            is_warm_up: test
                .minute()
                .zip(warm_up_until)
                .is_some_and(|(now, end)| now < end),
            bounds: detector.bounds(threshold, watched.is_lower_better),
            bounded_searches: detector.bounded_searches(),
            has_alarm: Test::ALL.map(has_alarm),
            log_evidence,
        }
    }

    /// Evidence of a measure and series by test: of the fleet if its replicas share it. `own` is that of
    /// this process.
    fn watched_evidence(
        &self,
        measure: usize,
        series: Series,
        own: [Option<f64>; Test::ALL.len()],
    ) -> [Option<f64>; Test::ALL.len()] {
        let names = self.measures.get(measure).zip(self.names(series));
        let Some((measure, it)) = names.filter(|_| self.snapshot.fleet.is_some()) else {
            return own;
        };
        let labels = [measure.as_str(), it.variant, it.slice, it.value];
        let of_test = |test: Test| {
            let own = own[test as usize];
            self.of_fleet(shared(test), &labels, Some(it.variant), own)
        };
        Test::ALL.map(of_test)
    }

    /// Returns true if an open incident contains the measure and the series. The evidence of a lasting
    /// drop decreases, because its searches join the baseline.
    fn is_in_open_incident(&self, measure: usize, series: Series) -> bool {
        let names = self.measures.get(measure).zip(self.names(series));
        names.is_some_and(|(measure, it)| {
            let name = (measure.as_str(), it.slice, it.value);
            let mut incidents = self.snapshot.totals.evidence.incidents();
            incidents.any(|of| of.ended.is_none() && *of.variant == *it.variant && of.has(name))
        })
    }

    /// Baselines by measure and variant.
    pub fn baselines(&self) -> impl Iterator<Item = (usize, Label, &QueryBaselines)> {
        let baselines = self.snapshot.totals.evidence.baselines();
        baselines.filter_map(|(variant, column, baselines)| {
            let measure = column.checked_sub(column_of(0))?;
            (measure < self.measures.len()).then_some((measure, variant, baselines))
        })
    }

    /// Baselines of one measure and variant; `None` if the measure is not watched.
    pub fn baseline(&self, measure: usize, variant: Label) -> Option<&QueryBaselines> {
        let mut baselines = self.baselines();
        let found = baselines.find(|(of, label, _)| (*of, *label) == (measure, variant));
        found.map(|(_, _, baselines)| baselines)
    }
}
