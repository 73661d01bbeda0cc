//! The two kinds of events in the form that the engine judges, borrowed from the record they came
//! in.
//!
//! Wire formats ([`crate::decode`]) produce these; nothing here knows of Kafka or of gold sets.
//! The fields are those of `docs/events.md`.

pub(crate) mod read;
mod rejection;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::time::EventTime;
use read::{objects, some_object, some_objects};
pub use rejection::{Limits, Reason};

/// Which of the two topics a record belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An executed search.
    Search,
    /// What a person did with a search.
    Feedback,
}

impl Kind {
    /// Both kinds, in the order of [`Kind::index`].
    pub const ALL: [Self; 2] = [Self::Search, Self::Feedback];

    /// 0 for searches, 1 for feedback.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The label value: `search`, `feedback`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Feedback => "feedback",
        }
    }
}

/// Text of a record, borrowed from it unless it contained escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(pub Cow<'a, str>);

/// An identifier: a string, or an integer in its decimal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for Id<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// One executed search.
#[derive(Clone, Debug, Deserialize)]
pub struct Search<'a> {
    /// Id of this execution, 1–256 bytes.
    #[serde(borrow)]
    pub query_id: Id<'a>,
    /// When the results were served.
    #[serde(deserialize_with = "read::written_time")]
    pub ts: EventTime,
    /// What was asked.
    #[serde(borrow, default)]
    pub query: Option<Text<'a>>,
    /// Key of the gold query, where the caller knows it.
    #[serde(borrow, default)]
    pub query_key: Option<Id<'a>>,
    /// The served list, in served order.
    #[serde(borrow, deserialize_with = "objects")]
    pub results: Vec<Hit<'a>>,
    /// Duration of the whole search in milliseconds.
    #[serde(default)]
    pub latency_ms: Option<f64>,
    /// Steps of the search.
    #[serde(borrow, default, deserialize_with = "some_objects")]
    pub stages: Option<Vec<Stage<'a>>>,
    /// Model calls made for the search.
    #[serde(borrow, default, deserialize_with = "some_objects")]
    pub usage: Option<Vec<Usage<'a>>>,
    /// Cost of the whole search; wins over the sum of `usage`.
    #[serde(borrow, default, deserialize_with = "some_object")]
    pub cost: Option<Cost<'a>>,
    /// Domains considered, best first.
    #[serde(borrow, default)]
    pub routing: Option<Vec<Text<'a>>>,
    /// The domain chosen.
    #[serde(borrow, default)]
    pub domain: Option<Text<'a>>,
    /// Component -> did it run.
    #[serde(borrow, default)]
    pub fired: Option<Attributes<'a>>,
    /// Ids before deduplication.
    #[serde(borrow, default)]
    pub merged_from: Option<Vec<Id<'a>>>,
    /// Ids handed to the answering model.
    #[serde(borrow, default)]
    pub context: Option<Vec<Id<'a>>>,
    /// Experiment and arm.
    #[serde(borrow, default, deserialize_with = "some_object")]
    pub experiment: Option<Experiment<'a>>,
    /// System version, where there is no experiment.
    #[serde(borrow, default)]
    pub variant: Option<Text<'a>>,
    /// The session that the search belongs to.
    #[serde(borrow, default)]
    pub session_id: Option<Id<'a>>,
    /// The device or installation that searched.
    #[serde(borrow, default)]
    pub client_id: Option<Id<'a>>,
    /// The person who searched.
    #[serde(borrow, default)]
    pub user_id: Option<Id<'a>>,
    /// The trace that the search belongs to.
    #[serde(borrow, default)]
    pub trace_id: Option<Id<'a>>,
    /// The application that searched.
    #[serde(borrow, default)]
    pub application: Option<Text<'a>>,
    /// Documents that matched, served or not.
    #[serde(default)]
    pub total_hits: Option<u64>,
    /// Page of results, 1-based.
    #[serde(default)]
    pub page: Option<u32>,
    /// Why the search failed, if it did.
    #[serde(borrow, default)]
    pub error_type: Option<Text<'a>>,
    /// Values for slices.
    #[serde(borrow, default)]
    pub labels: Option<Attributes<'a>>,
    /// Anything else.
    #[serde(borrow, default)]
    pub attrs: Option<Attributes<'a>>,
}

impl<'a> Search<'a> {
    /// A search that says nothing but which documents it found, as a run file does.
    pub fn of_documents(query_id: Id<'a>, documents: impl Iterator<Item = Id<'a>>) -> Self {
        let hit = |id| Hit {
            id,
            rank: None,
            score: None,
            group_id: None,
            stages: None,
            team: None,
            text: None,
            hops: None,
            depth: None,
            path: None,
            attrs: None,
        };
        Self {
            query_id,
            ts: EventTime(0),
            query: None,
            query_key: None,
            results: documents.map(hit).collect(),
            latency_ms: None,
            stages: None,
            usage: None,
            cost: None,
            routing: None,
            domain: None,
            fired: None,
            merged_from: None,
            context: None,
            experiment: None,
            variant: None,
            session_id: None,
            client_id: None,
            user_id: None,
            trace_id: None,
            application: None,
            total_hits: None,
            page: None,
            error_type: None,
            labels: None,
            attrs: None,
        }
    }

    /// The system version or experiment arm that served the search; empty when not stated.
    pub fn variant(&self) -> &str {
        let arm = self
            .experiment
            .as_ref()
            .and_then(|experiment| experiment.variant.as_deref());
        arm.or(self.variant.as_deref()).unwrap_or("")
    }
}

/// One served result.
#[derive(Clone, Debug, Deserialize)]
pub struct Hit<'a> {
    /// The document or chunk.
    #[serde(borrow)]
    pub id: Id<'a>,
    /// 1-based position; where every result has one, it decides the order.
    #[serde(default)]
    pub rank: Option<u32>,
    /// The system's score.
    #[serde(default)]
    pub score: Option<f64>,
    /// The document that a chunk belongs to.
    #[serde(borrow, default)]
    pub group_id: Option<Id<'a>>,
    /// Where the result came from: `exact`, `vector`, `rne_1hop`.
    #[serde(borrow, default)]
    pub stages: Option<Vec<Text<'a>>>,
    /// Interleaving team.
    #[serde(borrow, default)]
    pub team: Option<Text<'a>>,
    /// The text itself, for gold sets without ids.
    #[serde(borrow, default)]
    pub text: Option<Text<'a>>,
    /// Graph distance from the seed result.
    #[serde(default)]
    pub hops: Option<u32>,
    /// Depth in the document hierarchy.
    #[serde(default)]
    pub depth: Option<u32>,
    /// Graph edges walked to reach the result.
    #[serde(borrow, default, deserialize_with = "some_objects")]
    pub path: Option<Vec<Edge<'a>>>,
    /// Facets: `law_type`, `doc_type`, `source`, `domain`.
    #[serde(borrow, default)]
    pub attrs: Option<Attributes<'a>>,
}

/// A directed graph edge.
#[derive(Clone, Debug, Deserialize)]
pub struct Edge<'a> {
    /// Where the edge starts.
    #[serde(borrow)]
    pub from: Id<'a>,
    /// Where it ends.
    #[serde(borrow)]
    pub to: Id<'a>,
}

/// One step of a search.
#[derive(Clone, Debug, Deserialize)]
pub struct Stage<'a> {
    /// The step's name.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Its duration in milliseconds.
    #[serde(default)]
    pub latency_ms: Option<f64>,
    /// Results it contributed.
    #[serde(default)]
    pub hits: Option<u64>,
    /// Why it failed, if it did.
    #[serde(borrow, default)]
    pub error: Option<Text<'a>>,
}

/// One model call, in the names of OpenTelemetry's GenAI conventions.
#[derive(Clone, Debug, Deserialize)]
pub struct Usage<'a> {
    /// `chat`, `embeddings`, `rerank`.
    #[serde(borrow, default)]
    pub operation: Option<Text<'a>>,
    /// `openai`, `anthropic`.
    #[serde(borrow, default)]
    pub provider: Option<Text<'a>>,
    /// The model called.
    #[serde(borrow, default)]
    pub model: Option<Text<'a>>,
    /// All input tokens, those read from a cache included.
    #[serde(default)]
    pub input_tokens: Option<u64>,
    /// All output tokens, reasoning included.
    #[serde(default)]
    pub output_tokens: Option<u64>,
    /// Input tokens that the provider read from its cache.
    #[serde(default)]
    pub cache_read_input_tokens: Option<u64>,
    /// Output tokens spent on reasoning.
    #[serde(default)]
    pub reasoning_output_tokens: Option<u64>,
    /// What the call cost, where it is known.
    #[serde(borrow, default, deserialize_with = "some_object")]
    pub cost: Option<Cost<'a>>,
}

/// An amount of money.
#[derive(Clone, Debug, Deserialize)]
pub struct Cost<'a> {
    /// In units of the currency, not negative.
    pub amount: f64,
    /// ISO 4217 code; US dollars when not stated.
    #[serde(borrow, default)]
    pub currency: Option<Text<'a>>,
}

impl Cost<'_> {
    /// The currency's code.
    pub fn currency(&self) -> &str {
        self.currency.as_deref().unwrap_or("USD")
    }
}

/// The experiment that a search took part in.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment<'a> {
    /// The experiment.
    #[serde(borrow, default)]
    pub id: Option<Id<'a>>,
    /// Its arm.
    #[serde(borrow, default)]
    pub variant: Option<Text<'a>>,
}

/// What a person did with the results of a search.
#[derive(Clone, Debug)]
pub struct Feedback<'a> {
    /// Id of the event.
    pub event_id: Id<'a>,
    /// When it happened.
    pub ts: EventTime,
    /// The search that it is about; absent for what is said of a whole session.
    pub query_id: Option<Id<'a>>,
    /// The session that it is about.
    pub session_id: Option<Id<'a>>,
    /// The result that it is about.
    pub object_id: Option<Id<'a>>,
    /// 1-based position of that result.
    pub position: Option<u32>,
    /// What happened.
    pub action: Action,
}

/// What happened, with what is particular to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Results came into view.
    Impression,
    /// A result was opened.
    Click,
    /// A result was looked at for so many milliseconds.
    Dwell {
        /// Milliseconds, not negative.
        dwell_ms: f64,
    },
    /// The goal was reached: bought, cited, copied.
    Conversion,
    /// A thumb up or down.
    Thumbs {
        /// Whether it pointed up.
        up: bool,
    },
    /// A rating on a scale.
    Rating {
        /// The rating.
        value: f64,
        /// Lowest value of the scale.
        min: f64,
        /// Highest value of the scale.
        max: f64,
    },
    /// A grade given to a document in production.
    Judgment {
        /// The grade.
        grade: f64,
    },
    /// The query was asked again in other words.
    Reformulation,
    /// A remark.
    Comment,
    /// Anything else that has a name.
    Custom,
}

impl Action {
    /// The `type` of every action, in the order of [`Action::index`].
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
            Self::Conversion => 3,
            Self::Thumbs { .. } => 4,
            Self::Rating { .. } => 5,
            Self::Judgment { .. } => 6,
            Self::Reformulation => 7,
            Self::Comment => 8,
            Self::Custom => 9,
        }
    }
}

/// A flat map of names to values, in the order of the record.
#[derive(Clone, Debug, Default)]
pub struct Attributes<'a>(pub Vec<(Text<'a>, Value<'a>)>);

/// A value that can become a label or a facet.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// Text.
    Text(Text<'a>),
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// An array, an object or null: nothing that can be a label.
    Other,
}

impl Attributes<'_> {
    /// The value under `name` as label text; numbers in their shortest decimal form.
    pub fn label(&self, name: &str) -> Option<Cow<'_, str>> {
        let (_, value) = self.0.iter().find(|(key, _)| &**key == name)?;
        match value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            Value::Bool(true) => Some(Cow::Borrowed("true")),
            Value::Bool(false) => Some(Cow::Borrowed("false")),
            Value::Other => None,
        }
    }
}
