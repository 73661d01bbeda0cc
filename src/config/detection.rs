//! Configuration of regression detection: watched measures, slices and accepted false alarms.

use super::judging::check_is_computed;
use super::keys;
use super::reader::Reader;
use rankgauge_core::detection::{Burst, FalseAlarms, SplitTest, log_threshold};
use rankgauge_core::engine::settings::{Detection, MonitoredMeasure, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::measure::direction::Direction;
use rankgauge_serve::target::Target;

/// Reads the watched measures and slices, which must be among those of `settings`, and the accepted
/// false alarms.
pub(super) fn read(
    reader: &mut Reader,
    settings: &Settings,
    targets: &[Target],
    workers: usize,
) -> (Detection, FalseAlarms) {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let alpha = reader.get(&keys::ALPHA);
    let workers = number(workers).max(1);
    let replicas = number(reader.get(&keys::REPLICAS));
    let accepted = FalseAlarms {
        per_quarter: reader.get(&keys::FALSE_ALARMS),
        series: number(reader.get(&keys::SERIES)),
        // Each worker of a replica has separate detectors.
        replicas: replicas.saturating_mul(workers),
    };
    let burst = reader.get(&keys::BURST).as_millis();
    let mut measures = measures(reader, settings, targets);
    seasonal(reader, settings, &mut measures);
    let detection = Detection {
        measures,
        slices: slices(reader, settings),
        // Read later, because they depend on the prices.
        means: Vec::new(),
        tolerance: reader.get(&keys::TOLERANCE),
        warm_up_tolerance: reader.get(&keys::WARM_UP_TOLERANCE),
        local: reader.get(&keys::LOCAL),
        burst: Burst::of_millis(i64::try_from(burst).unwrap_or(i64::MAX)),
        alpha,
        target_threshold: log_threshold(alpha),
        workers,
        replicas,
        drop_threshold: accepted.log_threshold(),
        split_threshold: SplitTest::threshold(),
    };
    (detection, accepted)
}

fn slices(reader: &mut Reader, settings: &Settings) -> Vec<usize> {
    let mut slices = Vec::new();
    for element in reader.set(&keys::WATCHED_SLICES, |it| format!("\"{}\"", it.text)) {
        let index = settings.slices.iter().position(|it| *it == element.value);
        if index.is_none() {
            let text = "is not one of the slices; add it to slices";
            reader.problem(&element.path, format!("\"{}\" {text}", element.value));
        }
        slices.extend(index);
    }
    slices
}

/// Marks the watched measures that are listed as seasonal.
fn seasonal(reader: &mut Reader, settings: &Settings, watched: &mut [MonitoredMeasure]) {
    for element in reader.set(&keys::SEASONAL, |it| it.value.to_string()) {
        let measure = element.value;
        let index = settings.measures.iter().position(|it| *it == measure);
        if let Some(found) = watched.iter_mut().find(|it| Some(it.index) == index) {
            found.is_seasonal = true;
        } else {
            let text = format!(
                "{measure} is not watched; add it to detection.measures, or give it a target"
            );
            reader.problem(&element.path, text);
        }
    }
}

/// Watched measures: those that are listed, or else those with a target. A measure can be watched if
/// its scores are from 0 to 1.
fn measures(reader: &mut Reader, settings: &Settings, targets: &[Target]) -> Vec<MonitoredMeasure> {
    let mut watched: Vec<MonitoredMeasure> = Vec::new();
    if !reader.is_written(&keys::WATCHED.path) {
        for (index, measure) in settings.measures.iter().enumerate() {
            if measure.is_share() && targets.iter().any(|target| target.measure == *measure) {
                watched.push(monitored(index, measure, targets));
            }
        }
    }
    for element in reader.set(&keys::WATCHED, |it| it.value.to_string()) {
        let measure = element.value;
        let index = check_is_computed(reader, &element.path, &measure, &settings.measures);
        let Some(index) = index else { continue };
        if measure.is_share() {
            watched.push(monitored(index, &measure, targets));
        } else {
            let text = format!("{measure} is not between 0 and 1, and cannot be watched");
            reader.problem(&element.path, text);
        }
    }
    watched
}

/// Watched measure with its least demanding target.
fn monitored(index: usize, measure: &Measure, targets: &[Target]) -> MonitoredMeasure {
    let is_lower_better = measure.descriptor().direction == Direction::Down;
    let of_measure = targets.iter().filter(|target| target.measure == *measure);
    MonitoredMeasure {
        index,
        target: of_measure.map(|target| target.value).min_by(|a, b| {
            let order = a.total_cmp(b);
            if is_lower_better {
                order.reverse()
            } else {
                order
            }
        }),
        is_lower_better,
        is_user_measure: measure.is_user_measure(),
        is_seasonal: measure.is_user_measure(),
    }
}
