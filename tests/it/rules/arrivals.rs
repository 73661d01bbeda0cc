//! `RankgaugeNoEvents` for services with few searches and uneven gaps between them: silent in usual days, and firing
//! within the time that docs/runbooks.md states after all events stop at 13:00 of the fourth day.

use std::fmt::Write as _;
use std::thread;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::promtool_tests::{self, Kept};
use super::rule_files;
use crate::dashboards::folder;

/// Minutes of a day.
const DAY: u32 = 1_440;
/// Minutes between two samples.
const STEP: u32 = 2;
/// Minute in which the events stop.
const STOP: u32 = 3 * DAY + 13 * 60;

/// Traffic of a service.
struct Traffic {
    events_a_day: u32,
    /// First minute and number of minutes of a day with events.
    hours: (u32, u32),
    /// Longest usual gap between two events of a day, in whole minutes.
    longest_gap: u32,
    /// Minutes within which the alert fires after the last event.
    fires_within: u32,
}

const FLAT: (u32, u32) = (0, DAY);
const OFFICE: (u32, u32) = (8 * 60, 10 * 60);

const TRAFFIC: [Traffic; 5] = [
    traffic(300, FLAT, 29, 200),
    traffic(1_000, FLAT, 16, 30),
    traffic(3_000, FLAT, 4, 35),
    traffic(100, OFFICE, 28, 190),
    traffic(1_000, OFFICE, 6, 35),
];

const fn traffic(
    events_a_day: u32,
    hours: (u32, u32),
    longest_gap: u32,
    fires_within: u32,
) -> Traffic {
    Traffic {
        events_a_day,
        hours,
        longest_gap,
        fires_within,
    }
}

impl Traffic {
    /// Seconds of the events, in order.
    fn events(&self) -> Vec<u32> {
        let mut chance = ChaCha8Rng::seed_from_u64(u64::from(self.events_a_day));
        let (first, minutes) = self.hours;
        let mut events: Vec<u32> = (0..4)
            .flat_map(|day| (0..self.events_a_day).map(move |_| day * DAY + first))
            .map(|start| start * 60 + chance.random_range(0..minutes * 60))
            .filter(|second| *second < STOP * 60)
            .collect();
        events.sort_unstable();
        events
    }

    /// Longest gap within a day, in whole minutes.
    fn longest_gap(&self, events: &[u32]) -> u32 {
        let gaps = events.windows(2).filter_map(|pair| {
            let is_night = self.hours != FLAT && pair[0] / (DAY * 60) != pair[1] / (DAY * 60);
            (!is_night).then(|| (pair[1] - pair[0]) / 60)
        });
        gaps.max().unwrap_or_default()
    }

    /// Test of `promtool`.
    fn test(&self, events: &[u32]) -> String {
        let end = STOP + self.fires_within;
        let mut samples = String::new();
        for minute in (0..=end).step_by(STEP as usize) {
            let count = events.partition_point(|second| *second <= minute * 60);
            write!(samples, "{count} ").expect("invariant: a string");
        }
        let firing = "ALERTS{alertname=\"RankgaugeNoEvents\", alertstate=\"firing\"}";
        format!(
            "rule_files: {:?}\nevaluation_interval: 5m\ntests:\n  - name: RankgaugeNoEvents of {} a day\n    \
             interval: {STEP}m\n    input_series:\n      \
             - series: 'rankgauge_build_info{{job=\"rankgauge\", instance=\"a\"}}'\n        values: '1x{}'\n      \
             - series: 'rankgauge_events_total{{job=\"rankgauge\", instance=\"a\", kind=\"search\"}}'\n        \
             values: '{samples}'\n    promql_expr_test:\n      \
             - expr: count_over_time({firing}[{STOP}m])\n        eval_time: {STOP}m\n        exp_samples: []\n      \
             - expr: count(max_over_time({firing}[{}m]))\n        eval_time: {end}m\n        \
             exp_samples: [{{labels: '{{}}', value: 1}}]\n",
            rule_files(),
            self.events_a_day,
            end / STEP,
            self.fires_within,
        )
    }
}

#[test]
fn missing_events_are_found_within_the_stated_time_and_usual_gaps_are_silent() {
    let failures: Vec<String> = thread::scope(|scope| {
        let runs = TRAFFIC.iter().map(|traffic| {
            let events = traffic.events();
            assert_eq!(
                traffic.longest_gap(&events),
                traffic.longest_gap,
                "{} a day",
                traffic.events_a_day
            );
            let test = traffic.test(&events);
            scope.spawn(move || {
                promtool_tests::failure(&test, &folder("deploy/prometheus"), Kept::Asserted)
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .filter_map(|run| run.join().expect("promtool runs"))
            .collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
