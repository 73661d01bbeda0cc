//! What differs between two gold sets, query by query.
//!
//! Queries are the same that have the same id; a query that was renamed is one removed and one
//! added. Order does not count, nor do versions and hashes: they differ by nature.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::Serialize;

use rankgauge_core::gold::{GoldQuery, GoldSet, Grade, JudgementDetail};

/// What something was and is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the old set; `None` where it had none.
    pub old: T,
    /// In the new set.
    pub new: T,
}

impl<T: PartialEq> Change<T> {
    fn between(old: T, new: T) -> Option<Self> {
        (old != new).then_some(Self { old, new })
    }
}

/// The judgements of a query that differ, by document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgementChanges {
    /// Judged in the new set only.
    pub added: BTreeMap<String, Grade>,
    /// Judged in the old set only.
    pub removed: BTreeMap<String, Grade>,
    /// Of another grade.
    pub changed: BTreeMap<String, Change<Grade>>,
    /// Of the same grade, with other facets, annotations or notes.
    pub details: BTreeSet<String>,
}

/// A query that is in both sets and differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryChange {
    /// Its id.
    pub query: String,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Change<Option<String>>>,
    /// Its labels, by name.
    pub labels: BTreeMap<String, Change<Option<String>>>,
    /// Other fields that differ: `aliases`, `needs`, `expected`, `required`, `graph`, `texts`.
    pub fields: Vec<&'static str>,
    /// Its judgements.
    pub judgements: JudgementChanges,
}

/// How many differences there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Queries of the new set only.
    pub queries_added: usize,
    /// Queries of the old set only.
    pub queries_removed: usize,
    /// Queries of both that differ.
    pub queries_changed: usize,
    /// Judgements added to queries of both, removed from them, and of another grade.
    pub judgements_added: usize,
    /// See there.
    pub judgements_removed: usize,
    /// See there.
    pub judgements_changed: usize,
}

/// All that differs between two sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Whether nothing does.
    pub equal: bool,
    /// The relevance level in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance_level: Option<Change<Grade>>,
    /// The end of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_max: Option<Change<Option<Grade>>>,
    /// In numbers.
    pub totals: Totals,
    /// Ids of queries of the new set only, in its order.
    pub added: Vec<String>,
    /// Ids of queries of the old set only, in its order.
    pub removed: Vec<String>,
    /// Queries of both that differ, in the order of the old set.
    pub changed: Vec<QueryChange>,
}

impl Difference {
    /// From `old` to `new`.
    pub fn between(old: &GoldSet, new: &GoldSet) -> Self {
        let (before, after) = (by_key(old), by_key(new));
        let only = |of: &GoldSet, other: &FxHashMap<&str, &GoldQuery>| -> Vec<String> {
            let keys = of.queries().iter().map(|query| &query.key);
            keys.filter(|key| !other.contains_key(key.as_str()))
                .cloned()
                .collect()
        };
        let (added, removed) = (only(new, &before), only(old, &after));
        let both = old.queries().iter();
        let changed: Vec<QueryChange> = both
            .filter_map(|query| change(query, after.get(query.key.as_str())?))
            .collect();
        let sum = |count: fn(&JudgementChanges) -> usize| {
            changed.iter().map(|query| count(&query.judgements)).sum()
        };
        let totals = Totals {
            queries_added: added.len(),
            queries_removed: removed.len(),
            queries_changed: changed.len(),
            judgements_added: sum(|changes| changes.added.len()),
            judgements_removed: sum(|changes| changes.removed.len()),
            judgements_changed: sum(|changes| changes.changed.len()),
        };
        let relevance_level = Change::between(old.relevance_level(), new.relevance_level());
        let scale_max = Change::between(old.scale_max(), new.scale_max());
        Self {
            equal: relevance_level.is_none()
                && scale_max.is_none()
                && added.is_empty()
                && removed.is_empty()
                && changed.is_empty(),
            relevance_level,
            scale_max,
            totals,
            added,
            removed,
            changed,
        }
    }
}

fn by_key(set: &GoldSet) -> FxHashMap<&str, &GoldQuery> {
    let queries = set.queries().iter();
    queries.map(|query| (query.key.as_str(), query)).collect()
}

/// What differs between two queries of one id; `None` when nothing does.
fn change(old: &GoldQuery, new: &GoldQuery) -> Option<QueryChange> {
    let names: BTreeSet<&String> = old.labels.keys().chain(new.labels.keys()).collect();
    let labels = names.into_iter().filter_map(|name| {
        let (old, new) = (old.labels.get(name), new.labels.get(name));
        Some((name.clone(), Change::between(old.cloned(), new.cloned())?))
    });
    let fields = [
        ("aliases", old.aliases != new.aliases),
        ("needs", old.needs != new.needs),
        ("expected", old.expected != new.expected),
        ("required", old.required != new.required),
        ("graph", old.graph != new.graph),
        ("texts", old.texts != new.texts),
    ];
    let fields = fields.into_iter().filter(|(_, differs)| *differs);
    let change = QueryChange {
        query: old.key.clone(),
        text: Change::between(old.text.clone(), new.text.clone()),
        labels: labels.collect(),
        fields: fields.map(|(name, _)| name).collect(),
        judgements: judgements(old, new),
    };
    let same = change.text.is_none()
        && change.labels.is_empty()
        && change.fields.is_empty()
        && change.judgements == JudgementChanges::default();
    (!same).then_some(change)
}

fn judgements(old: &GoldQuery, new: &GoldQuery) -> JudgementChanges {
    let mut changes = JudgementChanges::default();
    for (document, grade) in old.judgements.documents() {
        let id = document.to_owned();
        match new.judgements.find(document) {
            None => {
                changes.removed.insert(id, grade);
            }
            Some((_, now)) if now != grade => {
                let change = Change {
                    old: grade,
                    new: now,
                };
                changes.changed.insert(id, change);
            }
            Some(_) if detail(old, document) != detail(new, document) => {
                changes.details.insert(id);
            }
            Some(_) => {}
        }
    }
    for (document, grade) in new.judgements.documents() {
        if old.judgements.find(document).is_none() {
            changes.added.insert(document.to_owned(), grade);
        }
    }
    changes
}

/// What a query says of a judged document beside the grade, if anything.
fn detail<'a>(query: &'a GoldQuery, document: &str) -> Option<&'a JudgementDetail> {
    let (position, _) = query.judgements.find(document)?;
    let detail = query.details.get(position)?;
    (!detail.is_empty()).then_some(detail)
}
