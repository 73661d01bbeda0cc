//! Expected counts of a log, computed by plain loops over the whole log: no state is evicted,
//! nothing is precomputed, and every query reads every record again.
//!
//! This module depends on the definitions and the records, and not on the workings of the engine. A
//! second is closed when the watermark is a feedback window beyond it. Counts made at that point
//! include nothing that became known later.
mod counting;
mod opinion;
mod search;
mod sums;

use std::collections::BTreeMap;

use rankgauge_core::event::Kind;
use serde_json::Value;

use self::sums::Sums;
pub(super) use self::sums::Totals;
use super::GOLD;
use super::traffic::{Case, PARTITIONS};
use crate::engine::OUT_OF_ORDERNESS;
use crate::engine::log::Record;

/// Rule by which records become late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lateness {
    /// No record is late: the order of arrival does not matter.
    Never,
    /// A record is late if it arrives when its second, or the second of its search, is closed.
    ByWatermark,
}

/// Expected samples of `case`: user behaviour, and all other counts that it requires.
pub(super) fn totals(case: &Case, lateness: Lateness) -> Totals {
    let gold: Value = serde_json::from_str(GOLD).expect("a gold set");
    let mut sums = Sums::default();
    for partition in 0..PARTITIONS {
        let records = case.records.iter();
        let records: Vec<&Record> = records.filter(|it| it.partition == partition).collect();
        let log = Log::read(&records, case.window, lateness, &gold, &mut sums);
        log.count(&mut sums);
    }
    sums.finish(case.min_samples)
}

/// Search with any outcome.
struct Search {
    arrived: usize,
    ts: i64,
    id: String,
    session: Option<String>,
    /// Query of the search, independent of its spelling.
    question: String,
    results: Vec<String>,
    teams: Vec<Option<String>>,
    experiment: String,
    variant: String,
    /// Slices and values under which its scores are counted.
    slices: Vec<(&'static str, String)>,
    /// Grades of its gold query.
    gold: Option<BTreeMap<String, f64>>,
    is_late: bool,
}

/// Feedback event that is not a duplicate.
struct Feedback {
    arrived: usize,
    ts: i64,
    event: Value,
    fate: Fate,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Its search (by number) is open for it, which is known from record `known` on.
    Joined { search: usize, known: usize },
    /// It, or its search, was closed. Holds the search if known, and the record from which on.
    Late { search: Option<(usize, usize)> },
    /// Nothing that it belongs to arrived in time.
    Orphaned,
    /// It refers to a session.
    OfSession,
}

/// Click on a served result.
struct Click {
    t: i64,
    position: usize,
    dwell_ms: Option<f64>,
}

/// Log of one partition.
struct Log {
    window: i64,
    /// First open second at the arrival of each record, and at the end.
    frontiers: Vec<i64>,
    searches: Vec<Search>,
    feedback: Vec<Feedback>,
}

impl Log {
    fn read(
        records: &[&Record],
        window: i64,
        lateness: Lateness,
        gold: &Value,
        sums: &mut Sums,
    ) -> Self {
        let events: Vec<Option<Value>> = records
            .iter()
            .map(|record| serde_json::from_str(&record.payload).ok())
            .map(|event: Option<Value>| event.filter(is_valid))
            .collect();
        let mut log = Self {
            window,
            frontiers: frontiers(records, &events, window, lateness),
            searches: Vec::new(),
            feedback: Vec::new(),
        };
        let of_kind = |kind| {
            let numbered = records.iter().zip(&events).enumerate();
            numbered.filter(move |(_, (record, _))| record.kind == kind)
        };
        for (arrived, (_, event)) in of_kind(Kind::Search) {
            let outcome = match event {
                Some(event) => log.take_search(arrived, event, gold),
                None => "invalid",
            };
            sums.outcome("search", outcome);
        }
        for (arrived, (_, event)) in of_kind(Kind::Feedback) {
            match event {
                Some(event) => log.take_feedback(arrived, event, sums),
                None => sums.outcome("feedback", "invalid"),
            }
        }
        log
    }

    /// True if the second of `ts` was still open when record number `when` arrived.
    fn is_open(&self, ts: i64, when: usize) -> bool {
        ts.div_euclid(1_000) >= self.frontiers[when]
    }

    /// Record that closed the second of `ts`. Later arrivals were not known at that point.
    fn closing(&self, ts: i64) -> usize {
        let mut after = 0..self.frontiers.len() - 1;
        let closing = after.find(|when| !self.is_open(ts, when + 1));
        closing.unwrap_or(self.frontiers.len())
    }

    fn belong(&self, one: i64, other: i64) -> bool {
        (one - other).abs() <= self.window
    }

    fn take_search(&mut self, arrived: usize, event: &Value, gold: &Value) -> &'static str {
        let (id, ts) = (text(&event["query_id"]), time(event));
        let is_late = !self.is_open(ts, arrived);
        let is_repeated = (self.searches.iter()).any(|it| it.id == id && self.belong(it.ts, ts));
        if is_repeated {
            return if is_late { "late" } else { "duplicate" };
        }
        let search = Search::read(arrived, event, gold, is_late);
        let outcome = match (is_late, &search.gold) {
            (true, _) => "late",
            (false, Some(_)) => "judged",
            (false, None) => "unjudged",
        };
        self.searches.push(search);
        outcome
    }

    fn take_feedback(&mut self, arrived: usize, event: &Value, sums: &mut Sums) {
        let ts = time(event);
        let is_about = |it: &Feedback, name: &str| it.event[name] == event[name];
        let is_same = |it: &&Feedback| {
            is_about(it, "event_id")
                && is_about(it, "query_id")
                && (event.get("query_id").is_some() || is_about(it, "session_id"))
        };
        let repeats = |fate: fn(Fate) -> bool| {
            let known = self.feedback.iter();
            known.filter(is_same).any(|it| fate(it.fate))
        };
        let is_in_time = self.is_open(ts, arrived);
        let fate = if event.get("query_id").is_none() {
            if !is_in_time {
                Some(Fate::Late { search: None })
            } else if repeats(|_| true) {
                None
            } else {
                Some(Fate::OfSession)
            }
        } else {
            let id = text(&event["query_id"]);
            let search = self
                .searches
                .iter()
                .position(|it| it.id == id && self.belong(it.ts, ts));
            match search.map(|number| (number, &self.searches[number])) {
                // It arrived after its search.
                Some((number, search)) if search.arrived < arrived => {
                    if search.is_late || !self.is_open(search.ts, arrived) {
                        Some(Fate::Late {
                            search: Some((number, arrived)),
                        })
                    } else if repeats(|fate| matches!(fate, Fate::Joined { .. })) {
                        None
                    } else {
                        Some(Fate::Joined {
                            search: number,
                            known: arrived,
                        })
                    }
                }
                _ if !is_in_time => Some(Fate::Late { search: None }),
                // Another event like it is pending already.
                _ if repeats(|_| true) => None,
                // Its search arrives while it is pending.
                Some((number, search)) if self.is_open(ts, search.arrived) => {
                    let known = search.arrived;
                    Some(if search.is_late {
                        Fate::Late {
                            search: Some((number, known)),
                        }
                    } else {
                        Fate::Joined {
                            search: number,
                            known,
                        }
                    })
                }
                _ => Some(Fate::Orphaned),
            }
        };
        match fate {
            None => sums.outcome("feedback", "duplicate"),
            Some(Fate::Late { .. }) => sums.outcome("feedback", "late"),
            Some(Fate::Orphaned) => sums.outcome("feedback", "orphaned"),
            // It is counted later, once it is known if there is a search for it.
            Some(Fate::OfSession) => {}
            Some(Fate::Joined { search, .. }) => {
                let variant = &self.searches[search].variant;
                sums.outcome("feedback", "joined");
                sums.joined(event, variant);
            }
        }
        if let Some(fate) = fate {
            self.feedback.push(Feedback {
                arrived,
                ts,
                event: event.clone(),
                fate,
            });
        }
    }
}

/// First open second at the arrival of each record, and after the last one.
fn frontiers(
    records: &[&Record],
    events: &[Option<Value>],
    window: i64,
    lateness: Lateness,
) -> Vec<i64> {
    let mut frontiers = vec![i64::MIN];
    let mut newest: [Option<i64>; 2] = [None; 2];
    for (record, event) in records.iter().zip(events) {
        let mut frontier = frontiers.last().copied().unwrap_or(i64::MIN);
        if let Some(event) = event {
            let newest_of = &mut newest[record.kind.index()];
            *newest_of = (*newest_of).max(Some(time(event)));
        }
        if let ([Some(one), Some(other)], Lateness::ByWatermark) = (newest, lateness) {
            let watermark = one.min(other) - OUT_OF_ORDERNESS;
            frontier = frontier.max((watermark - window).div_euclid(1_000));
        }
        frontiers.push(frontier);
    }
    frontiers
}

fn is_valid(event: &Value) -> bool {
    let says_which = event.get("position").is_some() || event.get("object_id").is_some();
    let in_scale = || {
        let (value, max) = (&event["value"], event.get("max"));
        value.as_f64() <= Some(max.map_or(5.0, |max| max.as_f64().expect("a number")))
    };
    match event["type"].as_str() {
        Some("click") => says_which,
        Some("rating") => in_scale(),
        _ => true,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn time(event: &Value) -> i64 {
    event["ts"].as_i64().expect("a time")
}

fn bit(is: bool) -> f64 {
    f64::from(u8::from(is))
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).expect("a small number"))
}

/// Milliseconds as a floating-point number.
fn real(millis: i64) -> f64 {
    f64::from(i32::try_from(millis).expect("a short time"))
}
