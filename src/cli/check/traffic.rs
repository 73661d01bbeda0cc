//! Warnings of `check` about regression detection: targets that are not watched, and tests that the
//! stated traffic cannot decide within a day.

use crate::capacity::Load;
use crate::config::Config;
use rankgauge_core::detection::BlockTest;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::number::real_length;
use rankgauge_core::text::count_of;

const DAY: f64 = 86_400.0;

/// Drop of a mean that should be found within a day.
const DROP: f64 = 0.05;

/// Number of blocks after which the target test can raise an alarm for a large miss.
const BLOCKS_TO_ALARM: f64 = 6.0;

/// Returns a warning that names the measures with a target that are not watched.
pub(super) fn unwatched_targets(config: &Config) -> Option<String> {
    let watched = |index: usize| {
        let mut measures = config.engine.detection.measures.iter();
        measures.any(|it| it.index == index)
    };
    let measures = config.engine.measures.iter().enumerate();
    let unwatched = measures.filter(|(index, measure)| {
        let mut targets = config.targets.iter();
        targets.any(|target| target.measure == **measure) && !watched(*index)
    });
    let (possible, impossible): (Vec<_>, Vec<_>) =
        unwatched.partition(|(_, measure)| measure.is_share());
    let names = |measures: &[(usize, &rankgauge_core::measure::Measure)]| {
        let names: Vec<String> = measures.iter().map(|(_, it)| it.to_string()).collect();
        names.join(" ")
    };
    let mut warnings = Vec::new();
    if !possible.is_empty() {
        warnings.push(format!(
            "no alarm is raised for the targets of {}, because detection.measures does not \
             list them; add them, or remove detection.measures to watch every measure with a target",
            names(&possible)
        ));
    }
    if !impossible.is_empty() {
        warnings.push(format!(
            "no alarm is raised for the targets of {}, because their scores are not \
             between 0 and 1; their means and targets are exposed",
            names(&impossible)
        ));
    }
    (!warnings.is_empty()).then(|| lines(&warnings))
}

/// Returns warnings about tests that the load cannot decide within a day.
pub(super) fn warnings(config: &Config, gold: Option<&GoldSet>, load: &Load) -> String {
    let detection = &config.engine.detection;
    let mut warnings = Vec::new();
    if detection.measures.is_empty() {
        return String::new();
    }
    let per_day = load.searches_per_second * DAY / real_length(load.variants.max(1));
    let series = detection.measures.len()
        * load.variants.max(1)
        * (1 + detection.slices.len() * load.slice_values);
    if u64::try_from(series).unwrap_or(u64::MAX) > config.false_alarms.series {
        warnings.push(format!(
            "{series} series are watched ({}, {}, {}), more than \
             detection.series ({}), so that false alarms of drops are more frequent than \
             detection.false_alarms; raise detection.series to {series}",
            count_of(detection.measures.len(), "measure", "measures"),
            count_of(load.variants, "variant", "variants"),
            count_of(detection.slices.len(), "slice", "slices"),
            config.false_alarms.series,
        ));
    }
    if let Some(gold) = gold.filter(|gold| !gold.queries().is_empty()) {
        let queries = gold.queries().len();
        // A query counts once in the repeat window.
        let window = f64::from(i32::try_from(detection.burst.repeat_window()).unwrap_or(i32::MAX));
        let counted = (per_day / real_length(queries)).min(1_440.0 / window);
        if counted < 2.0 {
            warnings.push(format!(
                "baselines are not learned within a day: each of the {queries} gold queries \
                 has {counted:.2} counted searches a day and variant, and a query is compared from its \
                 second one; use a gold set of more frequent queries, or fewer variants"
            ));
        }
        // No bet gains more than this for each counted search.
        let gain = (2.0 * (DROP - detection.tolerance)).ln_1p();
        let needed = detection.drop_threshold / gain;
        let compared = counted * real_length(queries);
        if gain <= 0.0 {
            warnings.push(format!(
                "drops of {DROP} are never found, because detection.tolerance is {}; lower \
                 it",
                detection.tolerance
            ));
        } else if compared < needed {
            warnings.push(format!(
                "the traffic does not reach the threshold of a drop within a day: a drop of \
                 {DROP} takes at least {needed:.0} counted searches of a variant, and it has \
                 {compared:.0} a day; lower detection.series, raise detection.false_alarms, or expect \
                 alarms after {:.1} days",
                needed / compared
            ));
        }
    }
    let has_target = detection.measures.iter().any(|it| it.target.is_some());
    let least = BLOCKS_TO_ALARM * f64::from(u32::try_from(BlockTest::MIN_SEARCHES).unwrap_or(30));
    if has_target && per_day < least {
        warnings.push(format!(
            "the traffic does not reach the threshold of a missed target within a day: it \
             takes at least {least:.0} searches of a variant, and it has {per_day:.0} a day"
        ));
    }
    lines(&warnings)
}

fn lines(warnings: &[String]) -> String {
    let lines: Vec<String> = warnings
        .iter()
        .map(|it| format!("warning: {it}\n"))
        .collect();
    lines.concat()
}
