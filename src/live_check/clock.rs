//! Clocks of the producers, compared with this machine, with Kafka, and with each other.

use std::collections::HashMap;
use std::time::Duration;

use super::finding::{Finding, percent, span};
use super::records::{Sample, SampledFeedback};
use super::sample::TopicSample;
use crate::config::Config;
use rankgauge_core::event::Kind;
use rankgauge_core::time::{EventTime, Millis, WallTime};

/// Distance between two clocks that is not reported, in milliseconds.
const TOLERANCE: i64 = 2_000;

/// Findings about the times of the records.
pub(super) fn check(
    config: &Config,
    samples: &[Option<TopicSample>; 2],
    sample: &Sample,
    wall: WallTime,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for kind in Kind::ALL {
        findings.extend(ahead(config, samples, sample, kind, wall));
        findings.extend(out_of_order(config, sample, kind));
    }
    findings.extend(feedback_before_search(config, sample));
    findings.extend(feedback_after_window(config, sample));
    let is_empty = sample.searches.is_empty() && sample.feedback.is_empty();
    if findings.is_empty() && !is_empty {
        let text = "event times agree with the clock of this machine and with each other";
        findings.push(Finding::ok("clock", text));
    }
    findings
}

/// Times of the valid records of a topic, with their partitions, in the order of reading.
fn times(sample: &Sample, kind: Kind) -> Vec<(i32, EventTime)> {
    match kind {
        Kind::Search => {
            let searches = sample.searches.iter();
            searches.map(|it| (it.at.partition, it.ts)).collect()
        }
        Kind::Feedback => {
            let feedback = sample.feedback.iter();
            feedback.map(|it| (it.at.partition, it.ts)).collect()
        }
    }
}

/// Records from the future, by the clock of this machine.
fn ahead(
    config: &Config,
    samples: &[Option<TopicSample>; 2],
    sample: &Sample,
    kind: Kind,
    wall: WallTime,
) -> Option<Finding> {
    let topic = config.kafka.topic(kind);
    let times = times(sample, kind);
    let future = &sample.future[kind.index()];
    // The broker or the producer sets Kafka's timestamp. If it is ahead too, the clock of this
    // machine may be slow.
    let records = samples[kind.index()].iter().flat_map(|it| &it.records);
    let newest = records.filter_map(|record| record.content.timestamp).max();
    let is_kafka_ahead = newest.is_some_and(|newest| newest.0 - wall.0 > TOLERANCE);
    let cause = if is_kafka_ahead {
        "synchronise the clocks of this machine, the brokers and the producers with NTP: the \
         timestamps of Kafka are ahead of this machine too"
    } else {
        "synchronise the clocks of the producers with NTP, and check the unit and the time zone of ts"
    };
    if let Some(furthest) = future.iter().max() {
        let rejected = future.len();
        return Some(Finding::error(
            "clock",
            format!(
                "{rejected} of {} sampled records of {topic} ({}) have a ts up to {} ahead of the \
                 clock of this machine, beyond engine.max_future_skew, and are rejected as \
                 future_time",
                times.len(),
                percent(rejected, times.len()),
                span(furthest.0)
            ),
            cause,
        ));
    }
    let latest = times.iter().map(|(_, ts)| ts.0).max()?;
    (latest - wall.0 > TOLERANCE).then(|| {
        Finding::warning(
            "clock",
            format!(
                "the newest ts of {topic} is {} ahead of the clock of this machine",
                span(latest - wall.0)
            ),
            cause,
        )
    })
}

/// Records that arrive later than `engine.out_of_orderness` allows.
fn out_of_order(config: &Config, sample: &Sample, kind: Kind) -> Option<Finding> {
    let allowed = Millis::from(config.engine.out_of_orderness);
    let mut newest: HashMap<i32, EventTime> = HashMap::new();
    let (mut late, mut latest) = (0, Millis(0));
    let times = times(sample, kind);
    for (partition, ts) in &times {
        let newest = newest.entry(*partition).or_insert(*ts);
        *newest = (*newest).max(*ts);
        let behind = newest.since(*ts);
        if behind > allowed {
            late += 1;
            latest = latest.max(behind);
        }
    }
    (late * 100 >= times.len().max(1)).then(|| {
        Finding::warning(
            "clock",
            format!(
                "{late} of {} sampled records of {} ({}) are up to {} older than a record before \
                 them, and engine.out_of_orderness is {}",
                times.len(),
                config.kafka.topic(kind),
                percent(late, times.len()),
                span(latest.0),
                span(allowed.0)
            ),
            "raise engine.out_of_orderness above the usual delay; records behind it are counted \
             as late",
        )
    })
}

/// Distance of each sampled feedback event that is `meant` from its search; negative if it is earlier.
fn distances(sample: &Sample, meant: impl Fn(&SampledFeedback) -> bool) -> Vec<Millis> {
    let searches: HashMap<&str, EventTime> = sample
        .searches
        .iter()
        .map(|search| (search.query_id.as_str(), search.ts))
        .collect();
    let feedback = sample.feedback.iter();
    feedback
        .filter(|it| meant(it))
        .filter_map(|it| Some(it.ts.since(*searches.get(it.query_id.as_deref()?)?)))
        .collect()
}

/// Feedback that is earlier than its search: the clocks of the producers differ.
fn feedback_before_search(config: &Config, sample: &Sample) -> Option<Finding> {
    let distances = distances(sample, |_| true);
    let early = || distances.iter().filter(|distance| distance.0 < -TOLERANCE);
    let earliest = early().min()?;
    let window = Millis::from(config.engine.feedback_window);
    let message = format!(
        "{} of {} sampled feedback events ({}) are earlier than their search, by up to {}",
        early().count(),
        distances.len(),
        percent(early().count(), distances.len()),
        span(-earliest.0)
    );
    let remedy = "synchronise the clocks of the producers of both topics with NTP, and check that \
                  ts of feedback is the time of the user action";
    Some(if -earliest.0 > window.0 {
        Finding::error("clock", message, remedy)
    } else {
        Finding::warning("clock", message, remedy)
    })
}

/// Feedback that comes too late for its search.
fn feedback_after_window(config: &Config, sample: &Sample) -> Option<Finding> {
    let has_own_window = config.engine.conversion_window.is_some();
    let distances = distances(sample, |it| !(has_own_window && it.is_conversion));
    let window: Duration = config.engine.feedback_window;
    let window = Millis::from(window);
    let late = distances.iter().filter(|distance| **distance > window);
    let count = late.clone().count();
    let longest = late.max()?;
    Some(Finding::warning(
        "clock",
        format!(
            "{count} of {} sampled feedback events ({}) are up to {} later than their search, and \
             engine.feedback_window is {}",
            distances.len(),
            percent(count, distances.len()),
            span(longest.0),
            span(window.0)
        ),
        "raise engine.feedback_window if this feedback should be joined",
    ))
}
