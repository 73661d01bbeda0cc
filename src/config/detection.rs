//! Configuration of regression detection: watched measures, slices and accepted false alarms.

use std::time::Duration;

use super::judging::finite;
use super::reader::Reader;
use rankgauge_core::detection::{ALPHA, Burst, FalseAlarms, SPLIT_ALPHA, log_threshold};
use rankgauge_core::engine::settings::{Detection, MonitoredMeasure, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::measure::direction::Direction;
use rankgauge_serve::target::Target;

const MEASURES: &str = "detection.measures";

/// Maximum of `detection.burst`. Blocks of the target test are five times as long.
const MAX_BURST: Duration = Duration::from_hours(24);

/// Reads the watched measures and slices, which must be among those of `settings`, and the accepted
/// false alarms.
pub(super) fn read(
    reader: &mut Reader,
    settings: &Settings,
    targets: &[Target],
    workers: usize,
) -> (Detection, FalseAlarms) {
    let measures = measures(reader, settings, targets);
    let mut slices = Vec::new();
    for (path, slice) in reader.list("detection.slices", &[]) {
        match settings.slices.iter().position(|it| *it == slice) {
            Some(index) if slices.contains(&index) => {
                reader.problem(&path, format!("\"{slice}\" is listed twice"));
            }
            Some(index) => slices.push(index),
            None => {
                reader.problem(
                    &path,
                    format!("\"{slice}\" is not one of the slices; add it to slices"),
                );
            }
        }
    }
    let number = |reader: &mut Reader, path: &str, default: f64, max: f64| {
        let number = reader.parsed(path, |text| {
            finite(text)
                .filter(|number| *number > 0.0 && *number <= max)
                .ok_or_else(|| format!("is not a number above 0, up to {max}"))
        });
        number.unwrap_or(default)
    };
    let whole = |reader: &mut Reader, path: &str, default: usize| {
        u64::try_from(reader.whole(path, default, 1..=1_000_000)).unwrap_or(1)
    };
    let alpha = number(reader, "detection.alpha", ALPHA, 0.5);
    let workers = u64::try_from(workers).unwrap_or(1).max(1);
    let replicas = whole(reader, "detection.replicas", 1);
    let accepted = FalseAlarms {
        per_quarter: number(reader, "detection.false_alarms", 1.0, 1e6),
        series: whole(reader, "detection.series", 50),
        // Each worker of a replica has separate detectors.
        replicas: replicas.saturating_mul(workers),
    };
    let burst = reader.duration(
        "detection.burst",
        Duration::from_mins(1),
        &(Duration::from_secs(1)..=MAX_BURST),
    );
    let burst = i64::try_from(burst.as_millis()).unwrap_or(i64::MAX);
    let detection = Detection {
        measures,
        slices,
        // Read later, because they depend on the prices.
        means: Vec::new(),
        tolerance: number(reader, "detection.tolerance", 0.01, 0.5),
        burst: Burst::of_millis(burst),
        alpha,
        target_threshold: log_threshold(alpha),
        workers,
        replicas,
        drop_threshold: accepted.log_threshold(),
        ceiling: accepted.ceiling(),
        split_threshold: log_threshold(SPLIT_ALPHA),
    };
    (detection, accepted)
}

/// Watched measures: those that are listed, or else those with a target. A measure can be watched if
/// its scores are from 0 to 1.
fn measures(reader: &mut Reader, settings: &Settings, targets: &[Target]) -> Vec<MonitoredMeasure> {
    // The key is read in any case, because it is known.
    let elements = reader.list(MEASURES, &[]);
    let is_switched = reader.is_written(MEASURES);
    let mut watched: Vec<MonitoredMeasure> = Vec::new();
    if !is_switched {
        for (index, measure) in settings.measures.iter().enumerate() {
            if measure.is_share() && targets.iter().any(|target| target.measure == *measure) {
                watched.push(monitored(index, measure, targets));
            }
        }
    }
    for (path, measure) in reader.parse_all::<Measure>(elements) {
        let Some(index) = settings.measures.iter().position(|it| *it == measure) else {
            reader.problem(
                &path,
                format!("{measure} is not computed; add it to measures"),
            );
            continue;
        };
        if !measure.is_share() {
            reader.problem(
                &path,
                format!("{measure} is not between 0 and 1, and cannot be watched"),
            );
        } else if watched.iter().any(|it| it.index == index) {
            reader.problem(&path, format!("{measure} is listed twice"));
        } else {
            watched.push(monitored(index, &measure, targets));
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
    }
}
