//! Alarm rules that are common in practice and promise nothing, for comparison with the drop test on
//! the same streams.

use std::collections::HashMap;

use super::traffic::Search;
use rankgauge_core::detection::{DropTest, SeriesRules};
use rankgauge_core::number::{real, real_length};

/// Minutes of an hour and of a day.
const HOUR: usize = 60;
const DAY: usize = 1_440;

/// Rule that monitors a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Drop test of the sidecar.
    Drop,
    /// Mean of 5 minutes below the mean of the day before minus 0.05, for 5 minutes.
    Average,
    /// One-sided z-test of each hour against the day before, at 5 %.
    ZTest,
    /// Cumulative sum of the differences from the baseline of each query.
    Cusum,
    /// Error budget of 5 % bad searches: 14.4 times over 1 hour and 5 minutes, or 6 times over 6
    /// hours and 30 minutes.
    BurnRate,
}

impl Rule {
    pub(super) const ALL: [Self; 5] = [
        Self::Drop,
        Self::Average,
        Self::ZTest,
        Self::Cusum,
        Self::BurnRate,
    ];

    /// Name for the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop test",
            Self::Average => "average over 5 minutes",
            Self::ZTest => "hourly z-test",
            Self::Cusum => "CUSUM",
            Self::BurnRate => "burn rate",
        }
    }
}

/// Margin of the average below the day before, and minutes until it raises an alarm.
const MARGIN: f64 = 0.05;
const PENDING: u32 = 5;

/// 5 % quantile of the standard normal distribution.
const CRITICAL: f64 = -1.644_853_626_951_472_7;

/// Allowance and threshold of the cumulative sum. With independent normal scores (standard deviation
/// 0.15) at one search a second, it raises an alarm in about 90 days.
const ALLOWANCE: f64 = 0.01;
const SUM_THRESHOLD: f64 = 12.5;

/// Scores of a query from which the cumulative sum compares it.
const MIN_SCORES: u32 = 5;

/// Share of bad searches that the objective allows: the first day has as many below its bar.
const BUDGET: f64 = 0.05;

/// Burn rates with their windows in minutes.
const BURN_RATES: [(f64, usize, usize); 2] = [(14.4, 60, 5), (6.0, 360, 30)];

/// Sums of the scores until a minute.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    sum: f64,
    squares: f64,
    bad: u64,
}

impl Sums {
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / real(self.count))
    }

    fn variance(&self) -> f64 {
        let mean = self.mean().unwrap_or_default();
        (self.squares / real(self.count) - mean * mean).max(0.0)
    }
}

/// Cumulated sums, one a minute.
#[derive(Default)]
struct Minutes {
    ends: Vec<Sums>,
    open: Sums,
}

impl Minutes {
    fn add(&mut self, score: f64, is_bad: bool) {
        self.open.count += 1;
        self.open.sum += score;
        self.open.squares += score * score;
        self.open.bad += u64::from(is_bad);
    }

    /// Sums of the minutes from `from` to `to` minutes ago.
    fn window(&self, from: usize, to: usize) -> Sums {
        let at = |ago: usize| {
            let place = self.ends.len().checked_sub(ago + 1);
            place.map_or_else(Sums::default, |place| self.ends[place])
        };
        let (start, end) = (at(from), at(to));
        Sums {
            count: end.count - start.count,
            sum: end.sum - start.sum,
            squares: end.squares - start.squares,
            bad: end.bad - start.bad,
        }
    }
}

/// State of a rule on one stream.
struct Watch {
    rule: Rule,
    /// Log evidence of an alarm of the drop test.
    threshold: f64,
    is_firing: bool,
    minute: Option<i64>,
    minutes: Minutes,
    pending: u32,
    queries: HashMap<u32, (f64, u32)>,
    sum: f64,
    first_day: Vec<f64>,
    bar: Option<f64>,
    drop: DropTest<u32>,
}

impl Watch {
    fn new(rule: Rule, rules: &SeriesRules) -> Self {
        Self {
            rule,
            threshold: rules.threshold,
            is_firing: false,
            minute: None,
            minutes: Minutes::default(),
            pending: 0,
            queries: HashMap::new(),
            sum: 0.0,
            first_day: Vec::new(),
            bar: None,
            drop: DropTest::new(*rules),
        }
    }

    /// Adds a search. Returns true if the rule begins to fire.
    fn add(&mut self, search: &Search) -> bool {
        let was_firing = self.is_firing;
        match self.rule {
            Rule::Drop => self.add_to_drop_test(search),
            Rule::Cusum => self.add_to_sum(search),
            Rule::Average | Rule::ZTest | Rule::BurnRate => return self.add_to_windows(search),
        }
        self.is_firing && !was_firing
    }

    fn add_to_drop_test(&mut self, search: &Search) {
        if self.drop.add(search.ts, search.query, search.score) {
            self.is_firing = self.drop.reaches(self.threshold);
        }
    }

    fn add_to_sum(&mut self, search: &Search) {
        let Some(query) = search.query else { return };
        let (sum, count) = self.queries.entry(query).or_default();
        if *count >= MIN_SCORES {
            let difference = *sum / f64::from(*count) - search.score;
            self.sum = (self.sum + difference - ALLOWANCE).max(0.0);
            // An operator resets the sum after an alarm.
            self.is_firing = self.sum >= SUM_THRESHOLD;
            if self.is_firing {
                self.sum = 0.0;
            }
        }
        if *count < 100 {
            *sum += search.score;
            *count += 1;
        }
    }

    fn add_to_windows(&mut self, search: &Search) -> bool {
        let minute = search.ts.div_euclid(60_000);
        let mut begins = false;
        let mut last = *self.minute.get_or_insert(minute);
        while last < minute {
            last += 1;
            self.minutes.ends.push(self.minutes.open);
            let was_firing = self.is_firing;
            self.evaluate();
            begins |= self.is_firing && !was_firing;
        }
        self.minute = Some(last);
        let is_bad = self.bar.is_some_and(|bar| search.score < bar);
        self.minutes.add(search.score, is_bad);
        if self.rule == Rule::BurnRate && self.bar.is_none() {
            self.first_day.push(search.score);
        }
        begins
    }

    /// Evaluates the rule at the end of a minute.
    fn evaluate(&mut self) {
        let passed = self.minutes.ends.len();
        match self.rule {
            Rule::Average => {
                let (now, before) = (self.minutes.window(5, 0), self.minutes.window(DAY + 5, 5));
                let is_below = passed > HOUR
                    && now
                        .mean()
                        .zip(before.mean())
                        .is_some_and(|(now, before)| now < before - MARGIN);
                self.pending = if is_below { self.pending + 1 } else { 0 };
                self.is_firing = self.pending > PENDING;
            }
            Rule::ZTest if passed.is_multiple_of(HOUR) => {
                let now = self.minutes.window(HOUR, 0);
                let before = self.minutes.window(DAY + HOUR, HOUR);
                let error =
                    before.variance() * (real(now.count).recip() + real(before.count).recip());
                let z = now
                    .mean()
                    .zip(before.mean())
                    .map(|(now, before)| (now - before) / error.sqrt());
                self.is_firing = z.is_some_and(|z| z < CRITICAL);
            }
            Rule::BurnRate => {
                if passed == DAY {
                    self.first_day.sort_by(f64::total_cmp);
                    let place = self.first_day.len() / 20;
                    self.bar = self.first_day.get(place).copied();
                    self.first_day = Vec::new();
                }
                let share = |minutes: usize| {
                    let window = self.minutes.window(minutes, 0);
                    real(window.bad) / real(window.count.max(1))
                };
                self.is_firing = passed > DAY + HOUR
                    && BURN_RATES.iter().any(|(rate, long, short)| {
                        let bad = (rate * BUDGET).min(1.0);
                        share(*long) >= bad && share(*short) >= bad
                    });
            }
            Rule::ZTest | Rule::Drop | Rule::Cusum => {}
        }
    }
}

/// Alarms of a rule on a stream: their number before the drop, and the position of the first one
/// after it.
pub(super) fn alarms(
    rule: Rule,
    rules: &SeriesRules,
    searches: &[Search],
    from: usize,
) -> (u32, Option<usize>) {
    let mut watch = Watch::new(rule, rules);
    let mut before = 0;
    for (place, search) in searches.iter().enumerate() {
        if watch.add(search) {
            if place >= from {
                return (before, Some(place));
            }
            before += 1;
        }
    }
    (before, None)
}

/// Number of alarms of 7 days.
pub(super) fn a_week(alarms: f64, hours: f64) -> f64 {
    alarms * 168.0 / hours
}

/// Hours between the first and the last search.
pub(super) fn hours_of(searches: &[Search]) -> f64 {
    let ends = searches.first().zip(searches.last());
    let millis = ends.map_or(0, |(first, last)| last.ts - first.ts);
    real_length(usize::try_from(millis / 60_000).unwrap_or_default()) / 60.0
}
