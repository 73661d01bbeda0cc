//! Served result lists, as query statistics keep them.

use rankgauge_core::engine::JudgedSearch;
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::event::{Action, Feedback};
use rankgauge_core::gold::Grade;
use rankgauge_core::time::EventTime;

use super::limits::MAX_DOCUMENTS;

/// Maximum number of bytes kept of the stage names of one result.
const MAX_STAGES_BYTES: usize = 96;

/// Maximum number of citations of an answer that are kept, and of bytes of their ids together.
const MAX_CITATIONS: usize = 20;
const MAX_CITATIONS_BYTES: usize = 2_048;

/// Number of components whose results are marked.
const MAX_COMPONENTS: usize = 32;

/// Served result list.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// Id of the search that returned the list.
    pub query_id: String,
    /// Time of the search, in milliseconds since the Unix epoch.
    ts: i64,
    /// Number of documents in the served list.
    pub length: usize,
    /// Concatenated ids and stages of the first [`MAX_DOCUMENTS`] documents. One long reused buffer
    /// is cheaper than many short ones.
    text: String,
    documents: Vec<StoredDocument>,
    scores: Vec<(usize, Nano)>,
    /// Score in the trend column.
    pub(super) score: Option<Nano>,
    /// Answer of the search, without its text.
    answer: Option<Box<ServedAnswer>>,
    /// True while the list belongs to a baseline that is not complete.
    pub(super) is_in_baseline: bool,
}

/// Answer of a search, without its text.
#[derive(Clone, Debug, Default)]
pub struct ServedAnswer {
    /// True if the model declined to answer.
    pub is_refusal: bool,
    /// Number of cited documents.
    pub cited: usize,
    /// The first cited documents.
    pub citations: Vec<ServedCitation>,
}

/// Document that an answer cites.
#[derive(Clone, Debug)]
pub struct ServedCitation {
    /// Id as it is cited.
    pub id: Box<str>,
    /// Grade; `None` for an unjudged document.
    pub grade: Option<Grade>,
    /// False for a document that was not among the results and not in the context: an invention.
    pub is_served: bool,
}

impl ServedAnswer {
    fn of(seen: &JudgedSearch<'_>) -> Option<Self> {
        let judged = seen.judged.answer()?;
        let cited = judged.cited();
        let mut bytes = 0;
        let kept = cited.iter().take(MAX_CITATIONS).take_while(|it| {
            bytes += it.id.len();
            bytes <= MAX_CITATIONS_BYTES
        });
        let citations = kept.map(|it| ServedCitation {
            id: it.id.clone(),
            grade: it.judged.map(|(_, grade)| grade),
            is_served: it.is_served,
        });
        Some(Self {
            is_refusal: judged.answer.is_refusal(),
            cited: cited.len(),
            citations: citations.collect(),
        })
    }

    fn bytes(&self) -> usize {
        let ids: usize = self.citations.iter().map(|it| it.id.len()).sum();
        size_of::<Self>() + self.citations.capacity() * size_of::<ServedCitation>() + ids
    }
}

/// Document of a list. Its texts are in the buffer of the list.
#[derive(Clone, Copy, Debug)]
struct StoredDocument {
    /// End offset of the id.
    id_end: u32,
    /// End offset of the stages.
    stages_end: u32,
    grade: Option<Grade>,
    /// Score of the search system; not a number if it is not stated.
    score: f64,
    /// Components of the result, one bit for each.
    components: u32,
    actions: UserActions,
}

/// Actions of users on one result of one search.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UserActions {
    /// Number of clicks.
    pub clicks: u16,
    /// Number of conversions.
    pub conversions: u16,
    /// Sum of the dwell times in milliseconds.
    pub dwell_ms: f32,
}

/// Served document.
#[derive(Clone, Copy, Debug)]
pub struct ServedDocument<'a> {
    /// Id of the judged document.
    pub id: &'a str,
    /// Grade; `None` for an unjudged document.
    pub grade: Option<Grade>,
    /// Stages that found the result, separated by spaces.
    pub stages: &'a str,
    /// Score given by the search system.
    pub score: Option<f64>,
    /// User actions on the result.
    pub actions: UserActions,
    components: u32,
}

impl ServedDocument<'_> {
    /// Returns true if the result belongs to the component at this position of the settings.
    pub fn is_of_component(&self, position: usize) -> bool {
        position < MAX_COMPONENTS && self.components & (1 << position) != 0
    }
}

impl Served {
    /// Event time of the search.
    pub fn at(&self) -> EventTime {
        EventTime(self.ts)
    }

    /// The first documents, in rank order.
    pub fn documents(&self) -> impl Iterator<Item = ServedDocument<'_>> {
        let mut start = 0;
        self.documents.iter().map(move |stored| {
            let [id_end, stages_end] = [stored.id_end, stored.stages_end].map(offset);
            let id = self.text.get(start..id_end).unwrap_or_default();
            let stages = self.text.get(id_end..stages_end);
            start = stages_end;
            ServedDocument {
                id,
                grade: stored.grade,
                stages: stages.unwrap_or_default(),
                score: Some(stored.score).filter(|score| score.is_finite()),
                actions: stored.actions,
                components: stored.components,
            }
        })
    }

    /// Answer of the search. `None` without one.
    pub fn answer(&self) -> Option<&ServedAnswer> {
        self.answer.as_deref()
    }

    /// Scores of the list as pairs of column and score. Undefined scores are omitted.
    pub fn scores(&self) -> &[(usize, Nano)] {
        &self.scores
    }

    /// Sort key of the lists of a query and variant. It does not depend on the reading order.
    pub(super) fn recency(&self) -> (i64, &str) {
        (self.ts, &self.query_id)
    }

    pub(super) fn is_older_than(&self, seen: &JudgedSearch<'_>) -> bool {
        let search = seen.judged.search;
        self.recency() < (search.ts.0, &*search.query_id)
    }

    pub(super) fn fill(&mut self, seen: &JudgedSearch<'_>, score: Option<Nano>) {
        let search = seen.judged.search;
        self.query_id.clear();
        self.query_id.push_str(&search.query_id);
        self.ts = search.ts.0;
        self.length = search.results.len();
        self.text.clear();
        self.documents.clear();
        for ((id, grade), hit) in seen
            .judged
            .documents()
            .zip(&search.results)
            .take(MAX_DOCUMENTS)
        {
            self.text.push_str(id);
            let id_end = self.text.len();
            for stage in hit.details().stages.iter().flatten() {
                if self.text.len() - id_end + stage.len() >= MAX_STAGES_BYTES {
                    break;
                }
                if self.text.len() > id_end {
                    self.text.push(' ');
                }
                self.text.push_str(stage);
            }
            self.documents.push(StoredDocument {
                id_end: end(id_end),
                stages_end: end(self.text.len()),
                grade,
                score: hit.score.map_or(f64::NAN, |score| score.get()),
                components: 0,
                actions: UserActions::default(),
            });
        }
        for (position, part) in seen.judged.parts().take(MAX_COMPONENTS).enumerate() {
            for (document, membership) in self.documents.iter_mut().zip(part.memberships) {
                document.components |= u32::from(membership.belongs()) << position;
            }
        }
        self.answer = ServedAnswer::of(seen).map(Box::new);
        self.scores.clear();
        self.scores.extend_from_slice(seen.scores);
        self.score = score;
    }

    /// Adds a user action on one of the documents. Returns the id of a clicked document that is not
    /// judged.
    pub(super) fn add_feedback(&mut self, feedback: &Feedback<'_>) -> Option<Box<str>> {
        let at = match (&feedback.object_id, feedback.position) {
            (Some(id), _) => self.documents().position(|document| document.id == &**id),
            (None, Some(position)) => usize::try_from(position).ok()?.checked_sub(1),
            (None, None) => None,
        }?;
        let stored = self.documents.get_mut(at)?;
        let actions = &mut stored.actions;
        match feedback.action {
            Action::Click => actions.clicks = actions.clicks.saturating_add(1),
            Action::Dwell { dwell_ms } => actions.dwell_ms += narrow(dwell_ms),
            Action::Conversion { .. } => {
                actions.conversions = actions.conversions.saturating_add(1);
            }
            _ => return None,
        }
        if feedback.action != Action::Click || stored.grade.is_some() {
            return None;
        }
        self.documents().nth(at).map(|document| document.id.into())
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.query_id.capacity()
            + self.text.capacity()
            + self.documents.capacity() * size_of::<StoredDocument>()
            + self.scores.capacity() * size_of::<(usize, Nano)>()
            + self.answer.as_deref().map_or(0, ServedAnswer::bytes)
    }
}

/// Offset within the texts of a list. A record is smaller than 4 GiB.
fn end(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

fn offset(end: u32) -> usize {
    usize::try_from(end).unwrap_or(usize::MAX)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "a dwell time is shown with three digits"
)]
fn narrow(dwell_ms: f64) -> f32 {
    dwell_ms as f32
}
