//! Search and feedback events, in the form that the engine processes, borrowed from their record.
//!
//! Wire formats ([`crate::decode`]) produce these events. The module knows nothing of Kafka or of
//! gold sets. The fields are those of `docs/events.md`.

mod answer;
mod cost;
mod evaluation;
pub(crate) mod read;
mod record;
mod rejection;
mod score;
mod text;
mod write;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::EventTime;
pub use answer::Answer;
pub(crate) use answer::Citation;
pub use cost::Cost;
pub use evaluation::{Evaluation, EvaluatorKind, JudgmentTarget};
pub use read::deserialize_time;
use read::{objects, optional_object, optional_objects};
pub(crate) use record::RecordOutcome;
pub use record::{RecordCounts, SpanOutcome};
pub use rejection::{Acceptance, Limits, Reason, Rejection};
pub use score::Score;
pub use text::{Attributes, Id, Text, Value};

/// Topic that a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Executed search.
    Search,
    /// User feedback on a search.
    Feedback,
}

impl Kind {
    /// Both kinds, in the order of [`Kind::index`].
    pub const ALL: [Self; 2] = [Self::Search, Self::Feedback];

    /// Index of the kind: 0 for searches, 1 for feedback.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The other kind.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Search => Self::Feedback,
            Self::Feedback => Self::Search,
        }
    }

    /// Label value: `search` or `feedback`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Feedback => "feedback",
        }
    }
}

/// Executed search.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Search<'a> {
    /// Id of this execution, 1–256 bytes.
    #[serde(borrow)]
    pub query_id: Id<'a>,
    /// Time at which the results were served.
    #[serde(deserialize_with = "read::deserialize_time")]
    pub ts: EventTime,
    /// Query text.
    #[serde(borrow, default)]
    pub query: Option<Text<'a>>,
    /// Key of the gold query, if the producer knows it.
    #[serde(borrow, default)]
    pub query_key: Option<Id<'a>>,
    /// True for a search that a probe sent, not a user.
    #[serde(default)]
    pub synthetic: Option<bool>,
    /// Results in served order.
    #[serde(borrow, deserialize_with = "objects")]
    pub results: Vec<Hit<'a>>,
    /// Duration of the whole search in milliseconds.
    #[serde(default)]
    pub latency_ms: Option<f64>,
    /// Steps of the search.
    #[serde(borrow, default, deserialize_with = "optional_objects")]
    pub stages: Option<Vec<Stage<'a>>>,
    /// Model calls made for the search.
    #[serde(borrow, default, deserialize_with = "optional_objects")]
    pub usage: Option<Vec<Usage<'a>>>,
    /// Cost of the whole search; takes precedence over the sum of `usage`.
    #[serde(borrow, default, deserialize_with = "optional_object")]
    pub cost: Option<Cost<'a>>,
    /// Domains considered, best first.
    #[serde(borrow, default)]
    pub routing: Option<Vec<Text<'a>>>,
    /// Selected domain.
    #[serde(borrow, default)]
    pub domain: Option<Text<'a>>,
    /// Components by name; true if the component ran.
    #[serde(borrow, default, deserialize_with = "read::flags")]
    pub fired: Option<Attributes<'a>>,
    /// Ids before deduplication.
    #[serde(borrow, default)]
    pub merged_from: Option<Vec<Id<'a>>>,
    /// Ids passed to the answering model.
    #[serde(borrow, default)]
    pub context: Option<Vec<Id<'a>>>,
    /// Answer that a model gave from the results.
    #[serde(borrow, default, deserialize_with = "read::optional_boxed_object")]
    pub answer: Option<Box<Answer<'a>>>,
    /// Experiment and arm.
    #[serde(borrow, default, deserialize_with = "optional_object")]
    pub experiment: Option<Experiment<'a>>,
    /// System version, if there is no experiment.
    #[serde(borrow, default)]
    pub variant: Option<Text<'a>>,
    /// Session that the search belongs to.
    #[serde(borrow, default)]
    pub session_id: Option<Id<'a>>,
    /// Device or installation that sent the search.
    #[serde(borrow, default)]
    pub client_id: Option<Id<'a>>,
    /// User who sent the search.
    #[serde(borrow, default)]
    pub user_id: Option<Id<'a>>,
    /// Trace that the search belongs to.
    #[serde(borrow, default)]
    pub trace_id: Option<Id<'a>>,
    /// Application that sent the search.
    #[serde(borrow, default)]
    pub application: Option<Text<'a>>,
    /// Number of documents that matched, served or not.
    #[serde(default)]
    pub total_hits: Option<u64>,
    /// Page of results, 1-based.
    #[serde(default)]
    pub page: Option<u32>,
    /// Maximum number of results of a page.
    #[serde(default)]
    pub page_size: Option<u32>,
    /// True for a search with filters.
    #[serde(rename = "filters", default, deserialize_with = "read::is_set")]
    pub is_filtered: bool,
    /// Order of the results; `relevance` if not stated.
    #[serde(borrow, default, deserialize_with = "read::text_or_other")]
    pub sort: Option<Text<'a>>,
    /// Type of the error, if the search failed.
    #[serde(borrow, default)]
    pub error_type: Option<Text<'a>>,
    /// Label values for slices.
    #[serde(borrow, default, deserialize_with = "read::labels")]
    pub labels: Option<Attributes<'a>>,
    /// Other attributes.
    #[serde(borrow, default, deserialize_with = "read::attributes")]
    pub attrs: Option<Attributes<'a>>,
}

impl<'a> Search<'a> {
    /// Search that consists only of the documents found, as in a run file.
    pub fn of_documents(query_id: Id<'a>, documents: impl Iterator<Item = Id<'a>>) -> Self {
        Self {
            query_id,
            results: documents.map(Hit::of_document).collect(),
            ..Self::default()
        }
    }

    /// Returns true if a probe sent the search.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic == Some(true)
    }

    /// Session of the user; `None` for a synthetic search.
    pub fn user_session(&self) -> Option<&str> {
        let session = self.session_id.as_deref();
        session.filter(|_| !self.is_synthetic())
    }

    /// Experiment arm or system version that served the search; empty if not stated.
    pub fn variant(&self) -> &str {
        let arm = self
            .experiment
            .as_ref()
            .and_then(|experiment| experiment.variant.as_deref());
        arm.or(self.variant.as_deref()).unwrap_or("")
    }
}

/// Served result. Most results have few fields: the others are in an allocation of their own, so that
/// the results of a search lie close together.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "HitWire<'a>", bound(deserialize = "'de: 'a"))]
pub struct Hit<'a> {
    /// Id of the document or chunk.
    pub id: Id<'a>,
    /// 1-based position; if every result has one, it determines the order.
    pub rank: Option<u32>,
    /// Score given by the search system.
    pub score: Option<Score<'a>>,
    details: Option<Box<HitDetails<'a>>>,
}

/// Fields of a served result that most results do not have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HitDetails<'a> {
    /// Document that a chunk belongs to.
    pub group_id: Option<Id<'a>>,
    /// Stages that found the result: `exact`, `vector`, `rne_1hop`.
    pub stages: Option<Vec<Text<'a>>>,
    /// Interleaving team.
    pub team: Option<Text<'a>>,
    /// Text of the result, for gold sets without ids.
    pub text: Option<Text<'a>>,
    /// Graph distance from the seed result.
    pub hops: Option<u32>,
    /// Depth in the document hierarchy.
    pub depth: Option<u32>,
    /// Graph edges traversed to reach the result.
    pub path: Option<Vec<Edge<'a>>>,
    /// Facets: `law_type`, `doc_type`, `source`, `domain`.
    pub attrs: Option<Attributes<'a>>,
}

/// Details of a result that has none.
static NO_DETAILS: HitDetails<'static> = HitDetails {
    group_id: None,
    stages: None,
    team: None,
    text: None,
    hops: None,
    depth: None,
    path: None,
    attrs: None,
};

impl<'a> Hit<'a> {
    /// Result of which only the id is known.
    pub fn of_document(id: Id<'a>) -> Self {
        Self {
            id,
            ..Self::default()
        }
    }

    /// Returns the result with these details. They take memory only if there are any.
    #[must_use]
    pub fn with_details(self, details: HitDetails<'a>) -> Self {
        let has_any = details != NO_DETAILS;
        Self {
            details: has_any.then(|| Box::new(details)),
            ..self
        }
    }

    /// Fields that most results do not have.
    pub fn details(&self) -> &HitDetails<'a> {
        self.details.as_deref().unwrap_or(&NO_DETAILS)
    }

    /// Fields that most results do not have, to be set.
    pub fn details_mut(&mut self) -> &mut HitDetails<'a> {
        self.details.get_or_insert_default()
    }
}

impl fmt::Debug for Hit<'_> {
    /// Details that are all absent are equal to none.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hit = formatter.debug_struct("Hit");
        hit.field("id", &self.id);
        hit.field("rank", &self.rank).field("score", &self.score);
        hit.field("details", self.details()).finish()
    }
}

/// Served result as JSON has it.
#[derive(Deserialize)]
struct HitWire<'a> {
    #[serde(borrow)]
    id: Id<'a>,
    #[serde(default)]
    rank: Option<u32>,
    #[serde(borrow, default)]
    score: Option<Score<'a>>,
    #[serde(borrow, default)]
    group_id: Option<Id<'a>>,
    #[serde(borrow, default)]
    stages: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    team: Option<Text<'a>>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(default)]
    hops: Option<u32>,
    #[serde(default)]
    depth: Option<u32>,
    #[serde(borrow, default, deserialize_with = "optional_objects")]
    path: Option<Vec<Edge<'a>>>,
    #[serde(borrow, default, deserialize_with = "read::attributes")]
    attrs: Option<Attributes<'a>>,
}

impl<'a> From<HitWire<'a>> for Hit<'a> {
    fn from(wire: HitWire<'a>) -> Self {
        let hit = Self {
            id: wire.id,
            rank: wire.rank,
            score: wire.score,
            details: None,
        };
        hit.with_details(HitDetails {
            group_id: wire.group_id,
            stages: wire.stages,
            team: wire.team,
            text: wire.text,
            hops: wire.hops,
            depth: wire.depth,
            path: wire.path,
            attrs: wire.attrs,
        })
    }
}

/// Directed graph edge.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Edge<'a> {
    /// Start of the edge.
    #[serde(borrow)]
    pub from: Id<'a>,
    /// End of the edge.
    #[serde(borrow)]
    pub to: Id<'a>,
}

/// Step of a search.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Stage<'a> {
    /// Name of the step.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Duration in milliseconds.
    #[serde(default)]
    pub latency_ms: Option<f64>,
    /// Number of results that the step contributed.
    #[serde(default)]
    pub hits: Option<u64>,
    /// Error, if the step failed.
    #[serde(borrow, default)]
    pub error: Option<Text<'a>>,
}

/// Model call, in the names of OpenTelemetry's GenAI conventions.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Usage<'a> {
    /// Operation: `chat`, `embeddings`, `rerank`.
    #[serde(borrow, default)]
    pub operation: Option<Text<'a>>,
    /// Provider: `openai`, `anthropic`.
    #[serde(borrow, default)]
    pub provider: Option<Text<'a>>,
    /// Name of the model.
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
    /// Input tokens, including those read from a cache.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// Output tokens, including reasoning.
    #[serde(default)]
    pub output_tokens: Option<u64>,
    /// Input tokens that the provider read from its cache.
    #[serde(default)]
    pub cache_read_input_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    #[serde(default)]
    pub reasoning_output_tokens: Option<u64>,
    /// Cost of the call, if known.
    #[serde(borrow, default, deserialize_with = "optional_object")]
    pub cost: Option<Cost<'a>>,
}

/// Experiment that a search took part in.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Experiment<'a> {
    /// Id of the experiment.
    #[serde(borrow, default)]
    pub id: Option<Id<'a>>,
    /// Arm of the experiment.
    #[serde(borrow, default)]
    pub variant: Option<Text<'a>>,
}

/// User feedback on the results of a search.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// Id of the event.
    pub event_id: Id<'a>,
    /// Time of the user action.
    pub ts: EventTime,
    /// Search that the feedback is about; absent for feedback on a whole session.
    pub query_id: Option<Id<'a>>,
    /// Session that the feedback is about.
    pub session_id: Option<Id<'a>>,
    /// Result that the feedback is about.
    pub object_id: Option<Id<'a>>,
    /// 1-based position of that result.
    pub position: Option<u32>,
    /// User action.
    pub action: Action,
    /// Origin and subject of a judgment, unless it is a grade by a person without an id.
    pub evaluation: Option<Box<Evaluation<'a>>>,
}

impl Feedback<'_> {
    /// Returns true for a judgment by a model or a rule.
    pub fn is_by_machine(&self) -> bool {
        let kind = self.evaluation.as_ref().map(|it| it.kind);
        kind.is_some_and(|kind| kind != EvaluatorKind::Human)
    }
}

/// Value of a conversion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// Value in units of the currency, from 0 to 10⁹.
    pub value: f64,
    /// ISO 4217 code: three capital letters.
    pub currency: [u8; 3],
}

/// User action with its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Results that came into view.
    Impression,
    /// Opened result.
    Click,
    /// Time spent on a result.
    Dwell {
        /// Dwell time in milliseconds, not negative.
        dwell_ms: f64,
    },
    /// Conversion: the user reached the goal, for example by buying, citing or copying.
    Conversion {
        /// Value of the conversion.
        amount: Option<Amount>,
    },
    /// Thumbs up or down.
    Thumbs {
        /// True for thumbs up.
        up: bool,
    },
    /// Rating on a scale.
    Rating {
        /// Value of the rating.
        value: f64,
        /// Lowest value of the scale.
        min: f64,
        /// Highest value of the scale.
        max: f64,
    },
    /// Grade given to a document in production.
    Judgment {
        /// Value of the grade.
        grade: f64,
    },
    /// Query repeated in other words.
    Reformulation,
    /// Comment in free text.
    Comment,
    /// Any other action with a name.
    Custom,
}

impl Action {
    /// `type` of every action, in the order of [`Action::index`].
    pub const NAMES: [&'static str; 10] = [
        "impression",
        "click",
        "dwell",
        "conversion",
        "thumbs",
        "rating",
        "judgment",
        "reformulation",
        "comment",
        "custom",
    ];

    /// Position in [`Action::NAMES`].
    pub fn index(self) -> usize {
        match self {
            Self::Impression => 0,
            Self::Click => 1,
            Self::Dwell { .. } => 2,
            Self::Conversion { .. } => 3,
            Self::Thumbs { .. } => 4,
            Self::Rating { .. } => 5,
            Self::Judgment { .. } => 6,
            Self::Reformulation => 7,
            Self::Comment => 8,
            Self::Custom => 9,
        }
    }
}

/// Reason for which records are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// They were deleted before they were read.
    Deleted,
    /// An operator moved the committed offset past them.
    Moved,
    /// Their batch cannot be read, and was skipped.
    Unreadable,
}

impl LossReason {
    /// Names of all reasons, in the order of their values.
    pub const NAMES: &'static [&'static str] = &["deleted", "moved", "unreadable"];
}
