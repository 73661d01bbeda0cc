//! Configuration of regression detection: watched measures, slices and accepted false alarms.

use std::time::Duration;

use super::judging::{Target, finite};
use super::reader::Reader;
use rankgauge_core::detection::{ALPHA, Burst, FalseAlarms, SPLIT_ALPHA, log_threshold};
use rankgauge_core::engine::settings::{Detection, MonitoredMeasure, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::measure::direction::Direction;

const MEASURES: &str = "detection.measures";

/// Maximum of `detection.burst`. Blocks of the target test are five times as long.
const MAX_BURST: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads the watched measures and slices, which must be among those of `settings`, and the accepted
/// false alarms.
pub(super) fn read(
    reader: &mut Reader,
    settings: &Settings,
    targets: &[Target],
    workers: usize,
) -> (Detection, FalseAlarms) {
    let elements = reader.list(MEASURES, &[]);
    let mut measures: Vec<MonitoredMeasure> = Vec::new();
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
        } else if measures.iter().any(|it| it.index == index) {
            reader.problem(&path, format!("{measure} is listed twice"));
        } else {
            let of_measure = targets.iter().filter(|target| target.measure == measure);
            for target in of_measure.clone() {
                if !(0.0..=1.0).contains(&target.value) {
                    reader.problem(
                        &target.value_key,
                        format!(
                            "{} is not between 0 and 1, but {measure} is, and detection.measures \
                             watches it; write a share such as 0.65",
                            target.value
                        ),
                    );
                }
            }
            let is_lower_better = measure.descriptor().direction == Direction::Down;
            measures.push(MonitoredMeasure {
                index,
                target: of_measure
                    .map(|target| target.value)
                    // The least demanding target.
                    .min_by(|a, b| {
                        let order = a.total_cmp(b);
                        if is_lower_better {
                            order.reverse()
                        } else {
                            order
                        }
                    }),
                is_lower_better,
                is_user_measure: measure.is_user_measure(),
            });
        }
    }
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
        Duration::from_secs(60),
        &(Duration::from_secs(1)..=MAX_BURST),
    );
    let burst = i64::try_from(burst.as_millis()).unwrap_or(i64::MAX);
    let detection = Detection {
        measures,
        slices,
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
