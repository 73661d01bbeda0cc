//! Sample of records, and the proposal that follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::events::Shape;
use super::guess::{Guess, guess};
use super::missing;
use super::proposal::{OwnFormat, Proposal, StarterQuery};
use super::yaml::yaml;
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Term};
use rankgauge_core::decode::{EventRef, Format, Formats, OwnedRecord};
use rankgauge_core::event::{Acceptance, Kind, Limits, Search};
use rankgauge_core::time::EventTime;

/// Maximum number of values of a label that is proposed as a slice.
const MAX_SLICE_VALUES: usize = 20;

/// Maximum number of proposed slices.
const MAX_SLICES: usize = 5;

/// Maximum number of different values or queries that are counted.
const MAX_COUNTED: usize = 100_000;

/// Names of label that Prometheus and the configuration accept.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !["all", "experiment", "synthetic"].contains(&text)
}

/// Name of the format that is proposed for records of an unknown shape.
const OWN: &str = "own";

/// Maximum number of records from which a mapping is proposed.
const MAX_SHAPES: usize = 50_000;

/// Time of a record without one.
const ANY_TIME: EventTime = EventTime(1_763_337_600_000);

/// Limits of the records of a sample, which propose the limits.
const ACCEPTANCE: Acceptance = Acceptance {
    limits: Limits {
        record_bytes: 64 << 20,
        results_per_search: 1_000_000,
    },
    has_gold_texts: false,
};

/// Record of a sample: a line of a file, or a record of a topic.
#[derive(Clone, Debug)]
pub struct SampleRecord {
    /// Content, without white space at the end of a line.
    pub content: OwnedRecord,
    /// File or topic.
    pub source: String,
    /// True for a topic.
    pub is_topic: bool,
}

impl SampleRecord {
    /// Shape of a record that is JSON, with or without the framing of a schema registry.
    /// `files` are the names of the files and topics before.
    fn shape<'a>(&'a self, files: &mut Vec<&'a str>) -> Option<Shape> {
        let payload = self.content.payload.as_slice();
        let unframed = Framing::unframed(payload).map(|(_, content)| content);
        let value = serde_json::from_slice(unframed.unwrap_or(payload)).ok()?;
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(str::to_owned);
        let headers = self.content.headers.iter();
        let headers =
            headers.filter_map(|(name, value)| Some((format!("header:{name}"), text(value)?)));
        let key = self.content.key.as_deref().and_then(text);
        let key = key.map(|key| ("key".to_owned(), key));
        let file = files.iter().position(|it| *it == self.source);
        Some(Shape {
            value,
            envelope: headers.chain(key).collect(),
            file: file.unwrap_or_else(|| {
                files.push(&self.source);
                files.len() - 1
            }),
        })
    }
}

/// Sample that shows no events.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// No record.
    #[error("no record; name a file or a topic with search events")]
    Empty,
    /// Records without an event.
    #[error("no search event among {records} records{problem}{gaps}")]
    NoEvent {
        /// Number of records in the sample.
        records: usize,
        /// First problem with its record.
        problem: String,
        /// Parts of a mapping that were not found.
        gaps: String,
    },
}

/// Facts about the events of a sample under one format.
#[derive(Debug, Default)]
struct Sample {
    records: usize,
    searches: usize,
    feedback: usize,
    ignored: usize,
    rejected: usize,
    first_problem: Option<(usize, String)>,
    max_bytes: usize,
    max_results: usize,
    with_group: usize,
    with_session: usize,
    with_cost: usize,
    with_latency: usize,
    variants: BTreeSet<String>,
    /// Values of each label, and the number of searches that have it.
    labels: BTreeMap<String, (BTreeSet<String>, usize)>,
    /// Query texts with their number.
    queries: BTreeMap<String, usize>,
    /// Events of each kind by file or topic.
    events: [BTreeMap<String, usize>; 2],
    /// Sources that are topics.
    topics: BTreeSet<String>,
    /// Files and topics.
    sources: BTreeMap<String, SourceCounts>,
}

/// Records of a file or topic.
#[derive(Debug, Default)]
struct SourceCounts {
    records: usize,
    /// Records with an event.
    decoded: usize,
    ignored: usize,
    first_problem: Option<String>,
}

/// Proposes a configuration for the records.
///
/// # Errors
/// If no record is an event.
pub fn proposal(records: &mut [SampleRecord]) -> Result<Proposal, SampleError> {
    if records.is_empty() {
        return Err(SampleError::Empty);
    }
    // Searches and feedback can come from one file or topic.
    let of = |format: Format| Formats {
        search: format,
        feedback: format,
        is_shared: true,
        ..Formats::NATIVE
    };
    let known = [Format::Native, Format::Ubi].map(|format| {
        let mut sample = Sample::default();
        for record in &*records {
            sample.add(record, &of(format), &[Kind::Search]);
        }
        (sample, format)
    });
    let best = known
        .iter()
        .max_by_key(|(sample, format)| (sample.searches, *format == Format::Native));
    match best {
        Some((sample, format)) if sample.searches > 0 => {
            let mut proposal = sample.proposal(sample.is_shared());
            format.name().clone_into(&mut proposal.format);
            Ok(proposal)
        }
        _ => unknown(records),
    }
}

/// Proposes a mapping for records of an unknown shape.
fn unknown(records: &mut [SampleRecord]) -> Result<Proposal, SampleError> {
    let has_time_of_kafka = records.iter().any(|it| it.content.timestamp.is_some());
    // Any time stands for that of a record in a file: the line of the mapping is then marked.
    for record in &mut *records {
        record.content.timestamp.get_or_insert(ANY_TIME);
    }
    let records = &*records;
    let mut files = Vec::new();
    let shapes: Vec<Shape> = records
        .iter()
        .take(MAX_SHAPES)
        .filter_map(|record| record.shape(&mut files))
        .filter(|shape| shape.value.is_object())
        .collect();
    let Guess {
        sections,
        gaps,
        notes,
    } = guess(&shapes);
    let framed = records
        .iter()
        .filter(|record| Framing::unframed(&record.content.payload).is_some());
    let is_framed = framed.count() * 2 > records.len();
    let form = Form {
        encoding: Encoding::Json,
        framing: if is_framed {
            Framing::Confluent
        } else {
            Framing::None
        },
        compression: Compression::None,
    };
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| sections.iter().any(|(name, _)| name == kind.name()))
        .collect();
    let failed = |first: Option<(usize, String)>| SampleError::NoEvent {
        records: records.len(),
        problem: first.map_or_else(String::new, |(record, problem)| {
            format!("; the first problem is in record {record}: {problem}")
        }),
        gaps: gaps.iter().fold(String::new(), |mut text, gap| {
            text.extend(["; ", gap]);
            text
        }),
    };
    let mapped = Mapped::compile(OWN, form, Term::Section(sections.clone()));
    let (Ok(mapped), false) = (mapped, kinds.is_empty()) else {
        let first = records.first().and_then(|record| {
            let formats = Formats::NATIVE;
            let decoded = formats.events(Kind::Search, &record.content, &ACCEPTANCE, &mut |_| ());
            Some((1, decoded.err()?.to_string()))
        });
        return Err(failed(first));
    };
    let (sample, is_shared) = Sample::of_mapping(records, mapped, &kinds);
    if sample.searches + sample.feedback == 0 {
        return Err(failed(sample.first_problem));
    }
    let mut proposal = sample.proposal(is_shared);
    OWN.clone_into(&mut proposal.format);
    let mut mapping = yaml(&sections, 3);
    if !has_time_of_kafka {
        mapping = missing::without_time_of_kafka(&mapping);
    }
    let (mapping, missing) = missing::marked(&mapping);
    proposal
        .findings
        .insert(0, sample.share(missing.is_empty()));
    let sentences = gaps.into_iter().map(|gap| format!("Not found: {gap}."));
    proposal.findings.extend(sentences.chain(notes));
    proposal.own = Some(OwnFormat {
        mapping,
        missing,
        is_framed,
        kinds,
    });
    Ok(proposal)
}

impl Sample {
    /// Facts about the records under a mapping, with true for one topic of both kinds. Otherwise a file or topic
    /// is read for the kind of which it has most events, as a run with the proposal does.
    fn of_mapping(records: &[SampleRecord], mapped: Mapped, kinds: &[Kind]) -> (Self, bool) {
        let is_selective = mapped.is_selective(Kind::Search);
        let mapped = Some(Arc::new(mapped));
        let mut formats = Formats {
            search: Format::Mapped,
            feedback: Format::Mapped,
            mapped: [mapped.clone(), mapped],
            ..Formats::NATIVE
        };
        let mut of_both = Self::default();
        for record in records {
            of_both.add(record, &formats, kinds);
        }
        formats.is_shared = is_selective && of_both.is_shared();
        let mut sample = Self::default();
        for record in records {
            let most = kinds
                .iter()
                .max_by_key(|kind| {
                    let events = &of_both.events[kind.index()];
                    (events.get(&record.source), kind.other().index())
                })
                .copied();
            let kind = if formats.is_shared {
                Some(Kind::Search)
            } else {
                most
            };
            sample.add(record, &formats, kind.as_slice());
        }
        (sample, formats.is_shared)
    }

    /// Returns true if most searches and most feedback come from the same file or topic.
    fn is_shared(&self) -> bool {
        let [search, feedback] = Kind::ALL.map(|kind| self.main_source(kind));
        search.is_some() && search == feedback
    }

    /// File or topic with most events of a kind.
    fn main_source(&self, kind: Kind) -> Option<&String> {
        let events = self.events[kind.index()].iter();
        let most = events.max_by_key(|(_, events)| **events);
        most.map(|(source, _)| source)
    }

    /// Adds a record, as far as it is an event of the kinds.
    fn add(&mut self, record: &SampleRecord, formats: &Formats, kinds: &[Kind]) {
        self.records += 1;
        let (mut events, mut problem) = (0, None);
        for &kind in kinds {
            let decoded = formats.events(kind, &record.content, &ACCEPTANCE, &mut |event| {
                let kind = match event {
                    Ok(EventRef::Search(search)) => {
                        self.note(search);
                        Kind::Search
                    }
                    Ok(EventRef::Feedback(_)) => {
                        self.feedback += 1;
                        Kind::Feedback
                    }
                    Err(rejection) => {
                        problem.get_or_insert(rejection.to_string());
                        return;
                    }
                };
                events += 1;
                let counted = &mut self.events[kind.index()];
                *counted.entry(record.source.clone()).or_default() += 1;
                if record.is_topic {
                    self.topics.insert(record.source.clone());
                }
            });
            if let Err(rejection) = decoded {
                problem.get_or_insert(rejection.to_string());
            }
        }
        let source = self.sources.entry(record.source.clone()).or_default();
        source.records += 1;
        match problem {
            _ if events > 0 => {
                source.decoded += 1;
                self.max_bytes = self.max_bytes.max(record.content.payload.len());
            }
            None => {
                source.ignored += 1;
                self.ignored += 1;
            }
            Some(problem) => {
                self.rejected += 1;
                source.first_problem.get_or_insert_with(|| problem.clone());
                self.first_problem.get_or_insert((self.records, problem));
            }
        }
    }

    /// Files and topics without any event.
    fn left_out(&self) -> impl Iterator<Item = (&String, &SourceCounts)> {
        let sources = self.sources.iter();
        sources.filter(|(_, counts)| counts.decoded == 0)
    }

    /// Sentence about the records that a proposed mapping decodes, once its marked lines are complete.
    fn share(&self, is_complete: bool) -> String {
        let decoded = self.records - self.rejected - self.ignored;
        // Single records of another kind are left out on purpose, a whole file or topic is not.
        let left_out: usize = self.left_out().map(|(_, counts)| counts.ignored).sum();
        let chosen = (decoded + self.rejected + left_out).max(1);
        let mapping = if is_complete {
            "The proposed mapping"
        } else {
            "With its marked lines completed, the proposed mapping"
        };
        format!(
            "The records have a shape of their own. {mapping} decodes {decoded} of {chosen} \
             records ({} %): {} searches and {} feedback events; {} records are of other kinds.",
            decoded * 100 / chosen,
            self.searches,
            self.feedback,
            self.ignored - left_out
        )
    }

    fn note(&mut self, search: &Search<'_>) {
        self.searches += 1;
        self.max_results = self.max_results.max(search.results.len());
        self.with_group += usize::from(
            search
                .results
                .iter()
                .any(|it| it.details().group_id.is_some()),
        );
        self.with_session += usize::from(search.session_id.is_some());
        self.with_cost += usize::from(search.cost.is_some() || search.usage.is_some());
        self.with_latency += usize::from(search.latency_ms.is_some());
        if self.variants.len() < MAX_COUNTED {
            self.variants.insert(search.variant().to_owned());
        }
        let labels = search.labels.iter().flat_map(|labels| &labels.0);
        for (name, _) in labels {
            let value = search.labels.as_ref().and_then(|labels| labels.label(name));
            let is_known = self.labels.contains_key(&**name);
            let Some(value) = value.filter(|_| is_known || self.labels.len() < 1_000) else {
                continue;
            };
            let (values, searches) = self.labels.entry(name.to_string()).or_default();
            *searches += 1;
            if values.len() <= MAX_SLICE_VALUES {
                values.insert(value.into_owned());
            }
        }
        if let Some(query) = search.query.as_deref()
            && (self.queries.len() < MAX_COUNTED || self.queries.contains_key(query))
        {
            *self.queries.entry(query.to_owned()).or_default() += 1;
        }
    }

    /// The proposal that follows from the sample.
    fn proposal(&self, is_shared: bool) -> Proposal {
        let searches = self.searches;
        let usual = Proposal::default();
        let is_group = self.with_group * 2 > searches;
        let mut findings = Vec::new();
        if searches > 0 {
            findings.push(format!(
                "Proposed from {searches} searches: at most {} results and {} bytes each, {} variants.",
                self.max_results,
                self.max_bytes,
                self.variants.len()
            ));
        }
        if self.rejected > 0 {
            let (line, problem) = self.first_problem.clone().unwrap_or_default();
            let rejected = self.rejected;
            findings.push(format!(
                "{rejected} records are not events; the first is record {line}: {}",
                problem.replace('\n', " ")
            ));
        }
        for (source, counts) in self.left_out() {
            let problem = counts.first_problem.as_deref().unwrap_or_default();
            let records = counts.records;
            let separator = if problem.is_empty() { "" } else { ": " };
            findings.push(format!(
                "None of the {records} records of {source} is an event{separator}{}",
                problem.replace('\n', " ")
            ));
        }
        if self.with_latency < searches {
            let number = searches - self.with_latency;
            findings.push(format!("{number} searches have no latency_ms."));
        }
        if self.with_cost > 0 {
            findings.push("Searches report model calls or costs: see prices.".to_owned());
        }
        let topic = |kind: Kind| {
            let topic = self.main_source(kind);
            topic.filter(|it| self.topics.contains(*it)).cloned()
        };
        let [search_topic, feedback_topic] = Kind::ALL.map(topic);
        let search_topic = search_topic.unwrap_or(usual.search_topic);
        let feedback_topic = if is_shared {
            findings.push(
                "Searches and feedback share a file or topic: both topics are the same.".to_owned(),
            );
            search_topic.clone()
        } else {
            feedback_topic.unwrap_or(usual.feedback_topic)
        };
        Proposal {
            search_topic,
            feedback_topic,
            slices: self.slices(searches),
            measures: self.measures(searches),
            judge_by: if is_group { "group_id" } else { "id" },
            // Ten times the sample leaves room for growth.
            results_per_search: if searches == 0 {
                usual.results_per_search
            } else {
                (self.max_results * 10).clamp(100, 1_000_000)
            },
            record_bytes: (self.max_bytes * 10).clamp(1 << 16, 1 << 30),
            values_per_label: usual.values_per_label.max(self.variants.len() * 2),
            findings,
            queries: self.top_queries(),
            ..Proposal::default()
        }
    }

    /// Labels with few values, those of most searches first.
    fn slices(&self, searches: usize) -> Vec<(String, usize)> {
        let few = self.labels.iter().filter(|(name, (values, with_it))| {
            is_name(name)
                && (2..=MAX_SLICE_VALUES).contains(&values.len())
                && with_it * 10 >= searches
        });
        let mut few: Vec<_> = few.collect();
        few.sort_by_key(|(name, (_, with_it))| (usize::MAX - with_it, *name));
        let few = few.into_iter().take(MAX_SLICES);
        few.map(|(name, (values, _))| (name.clone(), values.len()))
            .collect()
    }

    fn measures(&self, searches: usize) -> Vec<String> {
        // A cutoff beyond the longest list measures the same as a lower one.
        let cutoff = match self.max_results {
            0..=4 => 3,
            5..=9 => 5,
            _ => 10,
        };
        let mut measures = vec![
            format!("P@{}", cutoff.min(5)),
            format!("R@{cutoff}"),
            format!("nDCG@{cutoff}"),
            "RR".to_owned(),
            format!("Judged@{cutoff}"),
        ];
        measures.extend(["CTR", "Abandoned", "ZeroResult"].map(str::to_owned));
        if self.with_session * 2 > searches {
            measures.extend(["Reformulated", "SessionSuccess"].map(str::to_owned));
        }
        measures
    }

    /// The three most frequent queries, else the examples without their labels. Texts that differ only in case or
    /// white space are one query.
    fn top_queries(&self) -> Vec<StarterQuery> {
        let mut queries: Vec<_> = self.queries.iter().collect();
        queries.sort_by_key(|(text, number)| (usize::MAX - **number, *text));
        let mut seen = BTreeSet::new();
        let own = queries.into_iter().filter(|(text, _)| {
            let normalised = rankgauge_core::gold::normalise(text).into_owned();
            !normalised.is_empty() && seen.insert(normalised)
        });
        let mut top: Vec<String> = own.take(3).map(|(text, _)| text.clone()).collect();
        if top.is_empty() {
            let examples = Proposal::default().queries.into_iter();
            top.extend(examples.map(|query| query.text));
        }
        let unlabelled = |text| StarterQuery { text, labels: &[] };
        top.into_iter().map(unlabelled).collect()
    }
}
