//! Gold sets in memory, and the lookup of the gold query of a search.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use twox_hash::XxHash3_128;

use super::digest::digest;
use super::formats::format::Format;
use super::judgement_hashes::{JudgementHashes, LazyHashes};
use super::judgements::Grade;
use super::normal_form::normalise;
use super::problem::{Place, Problems};
use super::query::GoldQuery;
use super::validate;
use crate::columns::Columns;
use crate::text::count_of;

/// Options for reading gold files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Lowest grade that counts as relevant. Default: the level that the files state, else 1.
    pub relevance_level: Option<Grade>,
    /// Format of every file. Default: each format is detected from the content.
    pub format: Option<Format>,
    /// Columns of tables. By default they are found by their names.
    pub columns: Option<Columns>,
    /// True to compose the ids of queries and documents (Unicode NFC).
    pub compose_ids: bool,
    /// Accepted sets in which nothing is judged.
    pub unjudged: Unjudged,
}

/// Accepted sets in which no query has a judgement or an expectation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unjudged {
    /// None: a set judges something.
    #[default]
    None,
    /// Sets of the version [`GoldSet::STARTER_VERSION`].
    Starter,
    /// All, for commands that add judgements to a set.
    All,
}

/// Index of a gold query in its set. It is valid for that set only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryIndex(pub(super) u32);

impl QueryIndex {
    /// Position in [`GoldSet::queries`].
    pub fn position(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Hash of a key or text. At 128 bits, an accidental collision is negligible. A deliberate one gives its
/// author nothing that sending the text of the gold query would not.
pub(super) type TextHash = u128;

/// Returns the hash of a key or text.
pub(super) fn hash_text(text: &str) -> TextHash {
    XxHash3_128::oneshot(text.as_bytes())
}

/// All gold queries of one or more files, validated and indexed.
#[derive(Clone, Debug)]
pub struct GoldSet {
    pub(super) queries: Vec<GoldQuery>,
    pub(super) by_key: FxHashMap<TextHash, QueryIndex>,
    /// Queries by their texts and aliases, as written.
    pub(super) by_text: FxHashMap<TextHash, QueryIndex>,
    /// Queries by their normalised texts and aliases. A normalised text belongs to one query only.
    pub(super) by_normalised: FxHashMap<TextHash, QueryIndex>,
    pub(super) version: String,
    pub(super) sha256: String,
    pub(super) relevance_level: Grade,
    pub(super) scale_max: Option<Grade>,
    /// Location of each query in the files.
    pub(super) places: Vec<Place>,
    pub(super) files: Vec<Arc<str>>,
    pub(super) stated: SetMetadata,
    pub(super) judgement_hashes: LazyHashes,
}

/// Set-level metadata that the files state, where they agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetMetadata {
    /// Version; `None` if no file states one, or if they differ.
    pub version: Option<String>,
    /// Creation time, as written.
    pub created_at: Option<String>,
    /// Origin of the judgements: `clicks`. `None` for people.
    pub kind: Option<String>,
    /// Lowest grade that counts as relevant.
    pub relevance_level: Option<Grade>,
    /// Highest grade of the scale.
    pub scale_max: Option<Grade>,
}

impl GoldSet {
    /// Origin of the judgements: `clicks`. `None` for people.
    pub fn kind(&self) -> Option<&str> {
        self.stated.kind.as_deref()
    }
}

impl fmt::Display for GoldSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "gold set {}: {}, {}, sha256 {}",
            self.version(),
            count_of(self.queries().len(), "query", "queries"),
            count_of(self.judgement_count(), "judgement", "judgements"),
            self.sha256()
        )
    }
}

impl GoldSet {
    /// Version of a set that was begun with queries alone, as `rankgauge init` writes it.
    pub const STARTER_VERSION: &str = "starter";

    /// Returns a set without queries: every search is unjudged.
    pub fn empty() -> Self {
        // Without drafts there can be no problems.
        validate::assemble(
            Vec::new(),
            &Options::default(),
            digest(&[]),
            &mut Problems::default(),
        )
    }

    /// Returns the gold query of a search: that of the key, or without a key the first match of the
    /// exact text and the normalised text. A key that is not in the set has no gold query, because its
    /// producer means another query. Aliases count as texts. A query that was begun without judgements
    /// judges nothing. The first two lookups do not allocate.
    pub fn find(&self, query_key: Option<&str>, query: Option<&str>) -> Option<QueryIndex> {
        let found = match query_key.filter(|key| !key.is_empty()) {
            Some(key) => self.by_key.get(&hash_text(key)).copied(),
            None => self.find_text(query?),
        };
        found.filter(|index| self.query(*index).judges())
    }

    fn find_text(&self, text: &str) -> Option<QueryIndex> {
        let exact = self.by_text.get(&hash_text(text));
        let found = exact.or_else(|| self.by_normalised.get(&hash_text(&normalise(text))));
        found.copied()
    }

    /// Returns the gold query with this id, else the one with this text.
    pub fn find_named(&self, name: &str) -> Option<QueryIndex> {
        let by_key = self.by_key.get(&hash_text(name)).copied();
        by_key.or_else(|| self.find_text(name))
    }

    /// Returns a gold query of this set.
    ///
    /// # Panics
    /// Never for an index that this set returned. An index of another set returns a different
    /// query, or panics when it is out of range, as with any slice.
    pub fn query(&self, index: QueryIndex) -> &GoldQuery {
        &self.queries[index.position()]
    }

    /// All gold queries, in the order of their files.
    pub fn queries(&self) -> &[GoldQuery] {
        &self.queries
    }

    /// Location in the files of the query at this position in [`GoldSet::queries`].
    pub fn place(&self, position: usize) -> Option<&Place> {
        self.places.get(position)
    }

    /// Names of the files in the order in which they are read, including those of query texts beside judgements.
    pub fn files(&self) -> &[Arc<str>] {
        &self.files
    }

    /// Metadata that the files state, without defaults.
    pub fn metadata(&self) -> &SetMetadata {
        &self.stated
    }

    /// Returns true if no query has a judgement or an expectation.
    pub fn is_unjudged(&self) -> bool {
        !self.queries.iter().any(GoldQuery::judges)
    }

    /// Returns true if a set in which nothing is judged has to be rejected.
    pub(super) fn lacks_judgements(&self, accepted: Unjudged) -> bool {
        let is_accepted = match accepted {
            Unjudged::None => false,
            Unjudged::Starter => self.stated.version.as_deref() == Some(Self::STARTER_VERSION),
            Unjudged::All => true,
        };
        !is_accepted && self.is_unjudged()
    }

    /// Returns true if the results of any query are judged by their texts.
    pub fn has_texts(&self) -> bool {
        self.queries.iter().any(|query| query.by_text)
    }

    /// Returns true if any query states the domain that answers it.
    pub fn has_domains(&self) -> bool {
        self.queries.iter().any(|query| query.domain().is_some())
    }

    /// Number of judged (query, document) pairs.
    pub fn judgement_count(&self) -> usize {
        self.queries
            .iter()
            .map(|query| query.judgements.len())
            .sum()
    }

    /// Hashes of what judges each query.
    pub(crate) fn judgement_hashes(&self) -> &JudgementHashes {
        self.judgement_hashes.of(self)
    }

    /// Keys of the queries that `other` judges alike. With `depends_on_scale`, for measures that depend on the highest
    /// grade of the scale.
    pub fn judged_alike(&self, other: &Self, depends_on_scale: bool) -> BTreeSet<&str> {
        let of = |set: &Self| set.judgement_hashes().for_measures(depends_on_scale);
        let (own, others) = (of(self), of(other));
        let keys = self.queries.iter().map(|query| &*query.key);
        keys.filter(|key| own.agree(&others, key)).collect()
    }

    /// Version that a file states, else the first 12 digits of the SHA-256.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// SHA-256 over the names and contents of all files, in order; 64 hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Lowest grade that counts as relevant.
    pub fn relevance_level(&self) -> Grade {
        self.relevance_level
    }

    /// Warning, as a sentence, if no document is relevant although some have a grade above 0: the scale has
    /// another relevance level.
    pub fn level_warning(&self) -> Option<String> {
        let mut judgements = self.queries.iter().map(|query| &query.judgements);
        if judgements.clone().any(|it| it.relevant(None) > 0) {
            return None;
        }
        let grades = judgements
            .by_ref()
            .flat_map(|it| it.grades().iter().copied());
        let highest = grades.max().filter(|highest| *highest > Grade::ZERO)?;
        Some(format!(
            "no document counts as relevant: the highest grade is {highest}, and the relevance level is {}; set \
             gold.relevance_level to the lowest grade of a relevant document",
            self.relevance_level
        ))
    }

    /// Highest grade of the scale: as stated by a file, else the highest grade of a judgement.
    /// `None` without judgements.
    pub fn scale_max(&self) -> Option<Grade> {
        self.scale_max
    }
}

/// Minimum number of queries that a thread converts or checks.
pub(super) const MIN_QUERIES: usize = 256;
