//! Scores of recorded search events: judged against a gold set, in order of event time, with the
//! baseline of their query.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::anyhow;
use clap::Args;

use super::arguments::TestArguments;
use super::record::{self, Place, PlacedRecord, Record};
use crate::cli::evaluate::check_component;
use crate::cli::failure::Failure;
use crate::cli::recorded::receive_schemas;
use crate::cli::settings::SettingsArguments;
use crate::config::Config;
use crate::ingest::replay::open_records;
use rankgauge_core::decode::EventRef;
use rankgauge_core::event::{Acceptance, Kind, Rejection, Search};
use rankgauge_core::gold::{self, GoldSet, QueryIndex};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Judge;

/// Milliseconds per minute.
const MINUTE: i64 = 60_000;

/// Maximum number of ticks for a gap in the events, in minutes: a year.
const MAX_GAP_MINUTES: i64 = 525_600;

/// Recorded events and the measure of their scores.
#[derive(Debug, Args)]
pub(super) struct EventArguments {
    /// Files of search events to test instead of standard input, one event per line.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "measure", conflicts_with = "simulate")]
    search: Vec<PathBuf>,
    /// Measure of each search: nDCG@10.
    #[arg(long, value_name = "MEASURE", requires = "search")]
    measure: Option<Measure>,
    /// File or folder with judgements; may be repeated. Without it, the gold set of the
    /// configuration.
    #[arg(long, value_name = "PATH", requires = "search")]
    gold: Vec<PathBuf>,
    /// Test only the searches of this variant.
    #[arg(long, value_name = "NAME", requires = "search")]
    variant: Option<String>,
    /// Number of first searches of a query that are not tested; their mean is its baseline. No
    /// effect with --m.
    #[arg(long, value_name = "N", requires = "search", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    learn: u32,
    /// Test the events as the sidecar does: a query is compared with its earlier searches, and a
    /// block of time is one observation of the mean.
    #[arg(long, requires = "search", conflicts_with = "learn")]
    as_sidecar: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Judged search with its score.
struct Scored {
    place: Place,
    ts: i64,
    query: QueryIndex,
    score: f64,
}

impl Scored {
    /// Record of the search, as the sidecar has it.
    fn record(&self, gold: &GoldSet) -> PlacedRecord {
        PlacedRecord {
            record: Record::Search(record::Search {
                ts: self.ts,
                score: self.score,
                high: None,
                judged: None,
                query: Some(gold.query(self.query).key.as_str().into()),
            }),
            place: self.place.clone(),
            ts: Some(self.ts),
        }
    }
}

impl EventArguments {
    /// Returns true if files of events are given.
    pub(super) fn has_files(&self) -> bool {
        !self.search.is_empty()
    }

    /// Returns the records of the events.
    pub(super) fn records(
        &self,
        test_arguments: &TestArguments,
    ) -> Result<Vec<PlacedRecord>, Failure> {
        let usage = |what: String| Failure::Usage(anyhow!(what));
        let config = self.settings.load()?;
        let measure = self.measure(&config)?;
        let paths = if self.gold.is_empty() {
            &config.gold.paths
        } else {
            &self.gold
        };
        if paths.is_empty() {
            return Err(usage("no gold set: name one with --gold".to_owned()));
        }
        let gold = gold::load(paths, &config.gold.options).map_err(Failure::usage)?;
        let mut judge = Judge::new(config.engine.judging.clone());
        let mut scored = Vec::new();
        for path in &self.search {
            self.read(path, &config, measure, &gold, &mut judge, &mut scored)?;
        }
        if scored.is_empty() {
            return Err(usage(format!(
                "no search in the files has a score for {measure}: none is in the gold set{}",
                self.variant
                    .as_ref()
                    .map_or_else(String::new, |variant| format!(
                        " and of variant `{variant}`"
                    ))
            )));
        }
        scored.sort_by_key(|search| search.ts);
        if self.as_sidecar {
            return Ok(scored.iter().map(|search| search.record(&gold)).collect());
        }
        let recorded = in_order(&scored, test_arguments.m.is_none().then_some(self.learn));
        if recorded.iter().all(|it| it.record == Record::Tick) {
            return Err(usage(format!(
                "no query has more than the {} searches of its baseline; give more events, a \
                 smaller --learn, or the mean to test against with --m",
                self.learn
            )));
        }
        Ok(recorded)
    }

    /// Returns the measure if its scores can be tested.
    fn measure(&self, config: &Config) -> Result<&Measure, Failure> {
        let refuse = |what: String| Err(Failure::Usage(anyhow!(what)));
        let Some(measure) = &self.measure else {
            return refuse("no measure: name one with --measure, for example nDCG@10".to_owned());
        };
        if measure.is_user_measure() {
            return refuse(format!(
                "{measure} measures user feedback, which search events do not contain"
            ));
        }
        check_component(measure, config)?;
        Ok(measure)
    }

    fn read(
        &self,
        path: &Path,
        config: &Config,
        measure: &Measure,
        gold: &GoldSet,
        judge: &mut Judge,
        scored: &mut Vec<Scored>,
    ) -> Result<(), Failure> {
        let unreadable = |problem: std::io::Error| {
            Failure::Usage(anyhow!("{}: cannot be read: {problem}", path.display()))
        };
        let limits = config.engine.record_limits;
        receive_schemas(config, &[(Kind::Search, &[path.to_owned()])]).map_err(Failure::Usage)?;
        let file = open_records(path, Kind::Search, &config.formats, limits.record_bytes);
        let mut file = file.map_err(unreadable)?;
        let name = Rc::from(path.display().to_string());
        let mut record = Vec::new();
        while let Some(number) = file.next(&mut record).map_err(unreadable)? {
            let place = Place::new(&name, u64::try_from(number).unwrap_or_default());
            if record.trim_ascii().is_empty() {
                continue;
            }
            let invalid = |rejection: Rejection| {
                place.wrong(&format!("not a search event: {}", rejection.detail))
            };
            let acceptance = Acceptance {
                limits,
                has_gold_texts: gold.has_texts(),
            };
            let mut outcome = Ok(());
            let kind = Kind::Search;
            let decoded =
                file.formats()
                    .events(kind, &record, &acceptance, &mut |event| match event {
                        Ok(EventRef::Search(search)) if outcome.is_ok() => {
                            let score = self.score(search, &place, measure, gold, judge);
                            outcome = score.map(|score| scored.extend(score));
                        }
                        Ok(_) => {}
                        Err(rejection) => outcome = Err(invalid(rejection)),
                    });
            decoded.map_err(invalid)?;
            outcome?;
        }
        Ok(())
    }

    /// Judges a search; `None` if it is left out.
    fn score(
        &self,
        search: &Search<'_>,
        place: &Place,
        measure: &Measure,
        gold: &GoldSet,
        judge: &mut Judge,
    ) -> Result<Option<Scored>, Failure> {
        let other = |variant: &String| search.variant() != variant;
        if self.variant.as_ref().is_some_and(other) {
            return Ok(None);
        }
        if judge.rules().eligibility.check(search).is_err() {
            return Ok(None);
        }
        let Some(query) = gold.find(search.query_key.as_deref(), search.query.as_deref()) else {
            return Ok(None);
        };
        let judged = judge.judge(search, gold.query(query));
        let Some(score) = measure.score(&judged) else {
            return Ok(None);
        };
        if !(0.0..=1.0).contains(&score) {
            return Err(place.wrong(&format!(
                "{measure} is {score}; only a measure from 0 to 1 can be tested"
            )));
        }
        Ok(Some(Scored {
            place: place.clone(),
            ts: search.ts.0,
            query,
            score,
        }))
    }
}

/// Returns scores and minute ticks in order of event time. With `learn`, the first scores of each
/// query form its baseline and are left out; without it, all scores are kept and have no baseline.
fn in_order(scored: &[Scored], learn: Option<u32>) -> Vec<PlacedRecord> {
    let mut records = Vec::new();
    let mut learned: HashMap<usize, (u32, f64)> = HashMap::new();
    let mut minute = None;
    for search in scored {
        let now = search.ts.div_euclid(MINUTE);
        let gap = now - minute.replace(now).unwrap_or(now);
        let as_recorded = |record, ts| PlacedRecord {
            record,
            place: search.place.clone(),
            ts,
        };
        let minutes = 0..gap.min(MAX_GAP_MINUTES);
        records.extend(minutes.map(|_| as_recorded(Record::Tick, None)));
        let baseline = match learn {
            None => None,
            Some(limit) => {
                let (count, sum) = learned.entry(search.query.position()).or_default();
                if *count < limit {
                    *count += 1;
                    *sum += search.score;
                    continue;
                }
                Some(*sum / f64::from(*count))
            }
        };
        let score = search.score;
        records.push(as_recorded(
            Record::Score { score, baseline },
            Some(search.ts),
        ));
    }
    records
}
