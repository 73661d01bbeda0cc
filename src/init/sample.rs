//! Sample of search events, and the proposal that follows from it.

use std::collections::{BTreeMap, BTreeSet};

use super::proposal::Proposal;
use rankgauge_core::decode::{native, ubi};
use rankgauge_core::event::{Limits, Search};

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

/// Sample without a search event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no search event among {lines} lines; the first problem is in line {line}: {problem}")]
pub struct SampleError {
    lines: usize,
    line: usize,
    problem: String,
}

/// Facts about search events.
#[derive(Debug, Default)]
pub struct Sample {
    lines: usize,
    searches: [usize; 2],
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
    /// Query texts with their number and the first result.
    queries: BTreeMap<String, (usize, String)>,
}

impl Sample {
    /// Adds a line of a file.
    pub fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        let limits = Limits {
            record_bytes: 64 << 20,
            results_per_search: 1_000_000,
        };
        let native = native::search(line, &limits);
        let decoded = match native {
            Ok(search) => Ok((0, search)),
            Err(problem) => match ubi::search(line, &limits) {
                Ok(search) => Ok((1, search)),
                Err(_) => Err(problem),
            },
        };
        match decoded {
            Ok((format, search)) => {
                self.searches[format] += 1;
                self.max_bytes = self.max_bytes.max(line.len());
                self.note(&search);
            }
            Err(problem) => {
                self.rejected += 1;
                let line = self.lines;
                self.first_problem
                    .get_or_insert((line, problem.to_string()));
            }
        }
    }

    fn note(&mut self, search: &Search<'_>) {
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
            && let Some(first) = search.results.first()
            && (self.queries.len() < MAX_COUNTED || self.queries.contains_key(query))
        {
            let first = first.id.to_string();
            let counted = self.queries.entry(query.to_owned()).or_insert((0, first));
            counted.0 += 1;
        }
    }

    /// The proposal that follows from the sample.
    ///
    /// # Errors
    /// If no line is a search event.
    pub fn proposal(&self) -> Result<Proposal, SampleError> {
        let searches: usize = self.searches.iter().sum();
        if searches == 0 {
            let (line, problem) = self.first_problem.clone().unwrap_or_default();
            return Err(SampleError {
                lines: self.lines,
                line,
                problem,
            });
        }
        let usual = Proposal::default();
        let is_group = self.with_group * 2 > searches;
        let mut findings = vec![format!(
            "Proposed from {searches} searches: at most {} results and {} bytes each, {} variants.",
            self.max_results,
            self.max_bytes,
            self.variants.len()
        )];
        if self.rejected > 0 {
            let (line, problem) = self.first_problem.clone().unwrap_or_default();
            let rejected = self.rejected;
            findings.push(format!(
                "{rejected} lines are not search events; the first is line {line}: {}",
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
        Ok(Proposal {
            format: if self.searches[1] > self.searches[0] {
                "ubi"
            } else {
                "native"
            },
            slices: self.slices(searches),
            measures: self.measures(searches),
            judge_by: if is_group { "group_id" } else { "id" },
            // Ten times the sample leaves room for growth.
            results_per_search: (self.max_results * 10).clamp(100, 1_000_000),
            record_bytes: (self.max_bytes * 10).clamp(1 << 16, 1 << 30),
            values_per_label: usual.values_per_label.max(self.variants.len() * 2),
            findings,
            queries: self.top_queries(usual.queries),
        })
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

    /// The three most frequent queries. Texts that differ only in case or white space are one query.
    fn top_queries(&self, usual: Vec<(String, String)>) -> Vec<(String, String)> {
        let mut queries: Vec<_> = self.queries.iter().collect();
        queries.sort_by_key(|(text, (number, _))| (usize::MAX - number, *text));
        let mut seen = BTreeSet::new();
        let own = queries.into_iter().filter(|(text, _)| {
            let normalised = rankgauge_core::gold::normalise(text).into_owned();
            !normalised.is_empty() && seen.insert(normalised)
        });
        let mut top: Vec<(String, String)> = own
            .take(3)
            .map(|(text, (_, first))| (text.clone(), first.clone()))
            .collect();
        let missing = 3 - top.len();
        let known: BTreeSet<String> = top.iter().map(|(text, _)| text.clone()).collect();
        let more = usual.into_iter().filter(|(text, _)| !known.contains(text));
        top.extend(more.take(missing));
        top
    }
}
