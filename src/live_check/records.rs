//! Decoding of a sample, and the share of its records that are invalid.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::finding::{Finding, percent};
use super::sample::{SampledRecord, TopicSample};
use crate::config::Config;
use rankgauge_core::decode::EventRef;
use rankgauge_core::event::{
    Acceptance, Action, Feedback, Kind, Reason, RecordCounts, Rejection, Search, SpanOutcome,
};
use rankgauge_core::gold::{GoldSet, QueryIndex};
use rankgauge_core::ranking::Ineligible;
use rankgauge_core::time::{EventTime, Millis, WallTime};

/// Share of invalid records, as one in this many, from which the check fails.
const ERROR_SHARE: usize = 100;

/// Share of searches with the id of another one, as one in this many, from which the check warns and from which it
/// fails.
const REPEATED_SHARES: [usize; 2] = [50, 5];

/// Share of clicks on results that were not served, as one in this many, from which the check warns.
const UNSERVED_SHARE: usize = 20;

/// Place of a record in its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) partition: i32,
    pub(super) offset: i64,
}

/// Search of a sample, as far as the checks need it.
#[derive(Clone, Debug)]
pub(super) struct SampledSearch {
    pub(super) at: Place,
    pub(super) key: Option<Vec<u8>>,
    pub(super) ts: EventTime,
    pub(super) query_id: String,
    pub(super) session_id: Option<String>,
    pub(super) variant: String,
    /// Ids of the results.
    pub(super) results: Vec<String>,
    /// Values of the slices of the configuration.
    pub(super) slices: Vec<Option<String>>,
    /// Gold query of an eligible search.
    pub(super) gold: Option<QueryIndex>,
    /// Reason for which the search is not judged.
    pub(super) ineligible: Option<Ineligible>,
    /// Text of the query, or its key without a text.
    pub(super) query: String,
    /// First result, under the id that is judged.
    pub(super) first_result: Option<String>,
    /// Number of results that are judged for the gold query; `None` if results are judged by text.
    pub(super) judged: Option<usize>,
}

/// Feedback of a sample, as far as the checks need it.
#[derive(Clone, Debug)]
pub(super) struct SampledFeedback {
    pub(super) at: Place,
    pub(super) key: Option<Vec<u8>>,
    pub(super) ts: EventTime,
    pub(super) query_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) is_conversion: bool,
    /// True for a click or an impression, which counts for its search alone.
    pub(super) is_of_search: bool,
    /// Result of a click.
    pub(super) clicked: Option<Clicked>,
}

/// Result of a click, as the click states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Clicked {
    /// Id of the result.
    Document(String),
    /// Position, from 1.
    Position(u32),
}

impl Clicked {
    fn of(event: &Feedback<'_>) -> Option<Self> {
        if !matches!(event.action, Action::Click) {
            return None;
        }
        let document = event.object_id.as_deref();
        let document = document.map(|id| Self::Document(id.to_owned()));
        document.or_else(|| event.position.map(Self::Position))
    }

    /// Returns true if it is one of the results.
    fn is_in(&self, results: &[String]) -> bool {
        match self {
            Self::Document(id) => results.contains(id),
            Self::Position(position) => {
                usize::try_from(*position).is_ok_and(|it| (1..=results.len()).contains(&it))
            }
        }
    }
}

/// Invalid record of a sample.
#[derive(Clone, Debug)]
pub(super) struct Invalid {
    pub(super) at: Place,
    pub(super) why: Rejection,
}

/// Decoded sample of both topics.
#[derive(Debug, Default)]
pub(super) struct Sample {
    pub(super) searches: Vec<SampledSearch>,
    pub(super) feedback: Vec<SampledFeedback>,
    /// Number of events of each topic, valid or not. A record of spans holds any number of them.
    pub(super) events: [usize; 2],
    /// Counts of the records of both topics.
    pub(super) counts: RecordCounts,
    /// Invalid events of each topic.
    pub(super) invalid: [Vec<Invalid>; 2],
    /// Distances of the records of each topic whose time is too far ahead of the wall time.
    pub(super) future: [Vec<Millis>; 2],
}

impl Sample {
    /// Decodes the records as the sidecar does at the time `wall`.
    pub(super) fn decode(
        config: &Config,
        gold: Option<&GoldSet>,
        samples: &[Option<TopicSample>; 2],
        wall: WallTime,
    ) -> Self {
        let mut decoded = Self::default();
        let acceptance = acceptance(config, gold);
        let latest = wall
            .as_event_time()
            .plus(config.engine.max_future_skew.into());
        for kind in Kind::ALL {
            let sample = samples[kind.index()].as_ref();
            for record in sample.iter().flat_map(|sample| &sample.records) {
                let formats = &config.formats;
                let counts = formats.events(kind, &record.content, &acceptance, &mut |event| {
                    let ts = event.map(|event| match event {
                        EventRef::Search(event) => {
                            let search = search(config, gold, record, event);
                            decoded.searches.push(search);
                            event.ts
                        }
                        EventRef::Feedback(event) => {
                            decoded.feedback.push(feedback(record, event));
                            event.ts
                        }
                    });
                    decoded.note(kind, record, ts, wall, latest);
                });
                match counts {
                    Ok(counts) => decoded.counts += counts,
                    Err(why) => decoded.note(kind, record, Err(why), wall, latest),
                }
            }
        }
        decoded
    }

    /// Earliest time of the searches, if the sample has feedback and none of it belongs to one of them.
    pub(super) fn unjoined_since(&self) -> Option<EventTime> {
        let ids: HashSet<&str> = self.searches.iter().map(|it| &*it.query_id).collect();
        let sessions: HashSet<&str> = self
            .searches
            .iter()
            .filter_map(|it| it.session_id.as_deref())
            .collect();
        let is_joined = |it: &SampledFeedback| match (&it.query_id, &it.session_id) {
            (Some(id), _) => ids.contains(&**id),
            (None, Some(session)) => sessions.contains(&**session),
            (None, None) => false,
        };
        let is_apart = !self.feedback.is_empty() && !self.feedback.iter().any(is_joined);
        let earliest = self.searches.iter().map(|it| it.ts).min();
        earliest.filter(|_| is_apart)
    }

    /// Notes the time of an event, or its rejection.
    fn note(
        &mut self,
        kind: Kind,
        record: &SampledRecord,
        ts: Result<EventTime, Rejection>,
        wall: WallTime,
        latest: EventTime,
    ) {
        self.events[kind.index()] += 1;
        match ts {
            Ok(ts) if ts > latest => {
                let ahead = ts.since(wall.as_event_time());
                self.future[kind.index()].push(ahead);
            }
            Ok(_) => {}
            Err(why) => self.invalid[kind.index()].push(Invalid {
                at: place(record),
                why,
            }),
        }
    }
}

pub(super) fn acceptance(config: &Config, gold: Option<&GoldSet>) -> Acceptance {
    Acceptance {
        limits: config.engine.record_limits,
        has_gold_texts: gold.is_some_and(GoldSet::has_texts),
    }
}

/// Earliest event time of a record; `None` if it has no valid event.
pub(super) fn time_of(config: &Config, kind: Kind, record: &SampledRecord) -> Option<EventTime> {
    let acceptance = acceptance(config, None);
    let mut earliest: Option<EventTime> = None;
    let read = config
        .formats
        .events(kind, &record.content, &acceptance, &mut |event| {
            let ts = event.ok().map(|event| match event {
                EventRef::Search(event) => event.ts,
                EventRef::Feedback(event) => event.ts,
            });
            earliest = earliest.into_iter().chain(ts).min();
        });
    read.ok().and(earliest)
}

fn place(record: &SampledRecord) -> Place {
    Place {
        partition: record.partition,
        offset: record.offset,
    }
}

fn search(
    config: &Config,
    gold: Option<&GoldSet>,
    record: &SampledRecord,
    event: &Search<'_>,
) -> SampledSearch {
    let judge_by = config.engine.judging.judge_by;
    let ineligible = config.engine.judging.eligibility.check(event).err();
    let index = gold
        .filter(|_| ineligible.is_none())
        .and_then(|gold| gold.find(event.query_key.as_deref(), event.query.as_deref()));
    let query = gold.zip(index).map(|(gold, index)| gold.query(index));
    let judged = query.filter(|query| !query.by_text).map(|query| {
        let hits = event.results.iter();
        let judgements = &query.judgements;
        hits.filter(|hit| judgements.find(judge_by.document(hit)).is_some())
            .count()
    });
    let slice = |name: &String| {
        let of_gold = query.and_then(|query| query.labels.get(name).cloned());
        let labels = event.labels.as_ref();
        of_gold.or_else(|| Some(labels?.label(name)?.into_owned()))
    };
    let text = event
        .query
        .as_deref()
        .or(event.query_key.as_deref())
        .unwrap_or_default();
    SampledSearch {
        at: place(record),
        key: record.content.key.clone(),
        ts: event.ts,
        query_id: event.query_id.to_string(),
        session_id: event.session_id.as_deref().map(str::to_owned),
        variant: event.variant().to_owned(),
        results: event.results.iter().map(|hit| hit.id.to_string()).collect(),
        slices: config.engine.slices.iter().map(slice).collect(),
        gold: index,
        ineligible,
        query: text.to_owned(),
        first_result: event
            .results
            .first()
            .map(|hit| judge_by.document(hit).to_owned()),
        judged,
    }
}

fn feedback(record: &SampledRecord, event: &Feedback<'_>) -> SampledFeedback {
    SampledFeedback {
        at: place(record),
        key: record.content.key.clone(),
        ts: event.ts,
        query_id: event.query_id.as_deref().map(str::to_owned),
        session_id: event.session_id.as_deref().map(str::to_owned),
        is_conversion: matches!(event.action, Action::Conversion { .. }),
        is_of_search: matches!(event.action, Action::Click | Action::Impression),
        clicked: Clicked::of(event),
    }
}

/// Findings about the number of records and the invalid ones among them.
pub(super) fn check(
    config: &Config,
    samples: &[Option<TopicSample>; 2],
    decoded: &Sample,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for kind in Kind::ALL {
        let topic = config.kafka.topic(kind);
        let Some(sample) = &samples[kind.index()] else {
            continue;
        };
        let count = sample.records.len();
        if count == 0 {
            findings.push(Finding::warning(
                "records",
                format!("{topic} has no records"),
                "check that its producer runs; keys, clocks, gold set and capacity need a sample",
            ));
            continue;
        }
        if config.formats.of(kind).is_otlp() && kind == Kind::Search {
            findings.push(spans(topic, &decoded.counts));
        }
        let invalid = &decoded.invalid[kind.index()];
        // Events, which are the records unless a record holds several, or is of no interest.
        let events = decoded.events[kind.index()];
        if events == 0 && !config.formats.of(kind).is_otlp() {
            findings.push(none_selected(config, kind, count));
            continue;
        }
        let noun = if events == count { "records" } else { "events" };
        let count = events;
        if invalid.is_empty() {
            let text = format!("{count} sampled {noun} of {topic} are valid");
            findings.push(Finding::ok("records", text));
            continue;
        }
        let mut by_reason: BTreeMap<Reason, Vec<&Invalid>> = BTreeMap::new();
        for record in invalid {
            by_reason.entry(record.why.reason).or_default().push(record);
        }
        for (reason, records) in by_reason {
            let Some(first) = records.first() else {
                continue;
            };
            let message = format!(
                "{} of {count} sampled {noun} of {topic} are invalid, reason {} ({}): first at \
                 [{}] offset {}: {}",
                records.len(),
                reason.name(),
                percent(records.len(), count),
                first.at.partition,
                first.at.offset,
                first.why.detail
            );
            findings.push(if invalid.len() * ERROR_SHARE >= count {
                Finding::error("records", message, reason.remedy())
            } else {
                Finding::warning("records", message, reason.remedy())
            });
        }
    }
    findings
}

/// Findings about the ids of searches, and of the searches of feedback.
pub(super) fn ids(sample: &Sample) -> Vec<Finding> {
    let mut findings = Vec::new();
    let searches = sample.searches.len();
    let mut known = HashSet::new();
    let repeats = sample.searches.iter();
    let repeats: Vec<&SampledSearch> = repeats.filter(|it| !known.insert(&*it.query_id)).collect();
    let [few, many] = REPEATED_SHARES.map(|share| repeats.len() * share >= searches);
    if let Some(first) = repeats.first().filter(|_| few) {
        let message = format!(
            "{} of {searches} sampled searches ({}) have the query_id of another one, and do not count: first \
             \"{}\" at [{}] offset {}",
            repeats.len(),
            percent(repeats.len(), searches),
            first.query_id.escape_default(),
            first.at.partition,
            first.at.offset
        );
        let remedy = "each search, and each page of its results, needs a query_id of its own: state another id, or \
                      map one that occurs once";
        findings.push(if many {
            Finding::error("ids", message, remedy)
        } else {
            Finding::warning("ids", message, remedy)
        });
    }
    let of_search = sample.feedback.iter().filter(|it| it.is_of_search);
    let all = of_search.clone().count();
    let without = of_search.filter(|it| it.query_id.is_none()).count();
    if without * ERROR_SHARE >= all.max(1) {
        let message = format!(
            "{without} of {all} sampled clicks and impressions ({}) have no query_id, and count for no search",
            percent(without, all)
        );
        let remedy = "pass the query_id of the search to the page of results, and from there to the feedback";
        findings.push(if without == all {
            Finding::error("ids", message, remedy)
        } else {
            Finding::warning("ids", message, remedy)
        });
    }
    findings
}

/// Finding about clicks on results that their searches did not serve.
pub(super) fn unserved(sample: &Sample) -> Option<Finding> {
    let searches = sample.searches.iter().map(|it| (&*it.query_id, it));
    let searches: HashMap<&str, &SampledSearch> = searches.collect();
    let clicks = sample.feedback.iter().filter_map(|click| {
        let search = *searches.get(click.query_id.as_deref()?)?;
        Some((click, click.clicked.as_ref()?, search))
    });
    let all = clicks.clone().count();
    let mut unserved = clicks.filter(|(_, clicked, search)| !clicked.is_in(&search.results));
    let (click, clicked, search) = unserved.next()?;
    let count = 1 + unserved.count();
    if count * UNSERVED_SHARE < all {
        return None;
    }
    let result = match clicked {
        Clicked::Document(id) => format!("\"{}\"", id.escape_default()),
        Clicked::Position(position) => format!("position {position}"),
    };
    let served = search.results.first().map_or_else(
        || "nothing".to_owned(),
        |id| {
            format!(
                "{} results, \"{}\" first",
                search.results.len(),
                id.escape_default()
            )
        },
    );
    Some(Finding::warning(
        "ids",
        format!(
            "{count} of {all} sampled clicks ({}) are on results that their search did not serve, and count for no \
             measure: first on {result} at [{}] offset {}, where the search served {served}",
            percent(count, all),
            click.at.partition,
            click.at.offset
        ),
        "state the id of the result in the search and in the click; a further page of results is a search with a \
         query_id of its own",
    ))
}

/// Finding about a topic of which no record is an event.
fn none_selected(config: &Config, kind: Kind, records: usize) -> Finding {
    let topic = config.kafka.topic(kind);
    let (of, key) = match kind {
        Kind::Search => ("a search", "mapping.search.when"),
        Kind::Feedback => ("feedback", "mapping.feedback.when"),
    };
    let message = format!("none of {records} sampled records of {topic} is {of}");
    let remedy = format!(
        "compare the conditions in {key} with a record of the topic: no other record is counted"
    );
    // One topic can have few events of a kind.
    if config.formats.is_shared && kind == Kind::Feedback {
        Finding::warning("records", message, remedy)
    } else {
        Finding::error("records", message, remedy)
    }
}

/// Finding about the spans of the search topic.
fn spans(topic: &str, counts: &RecordCounts) -> Finding {
    let by_outcome: Vec<String> = SpanOutcome::ALL
        .into_iter()
        .zip(SpanOutcome::NAMES)
        .map(|(outcome, name)| format!("{name} {}", counts[outcome]))
        .collect();
    let text = format!(
        "{} sampled spans of {topic} by outcome: {}",
        counts.spans(),
        by_outcome.join(", ")
    );
    if counts[SpanOutcome::Search] > 0 {
        Finding::ok("spans", text)
    } else {
        Finding::warning(
            "spans",
            text,
            "check otlp.search_spans and otlp.names, and that the instrumentation records documents",
        )
    }
}
