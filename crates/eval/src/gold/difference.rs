//! Differences between two gold sets, by query.
//!
//! Queries are matched by id: a renamed query counts as one removed and one added. The order,
//! versions and hashes are ignored.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::Serialize;

use rankgauge_core::gold::{GoldQuery, GoldSet, Grade, JudgementDetail};

/// Old and new value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// Value in the old set; `None` if absent.
    pub old: T,
    /// Value in the new set.
    pub new: T,
}

impl<T: PartialEq> Change<T> {
    fn between(old: T, new: T) -> Option<Self> {
        (old != new).then_some(Self { old, new })
    }
}

/// Changed judgements of a query, by document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgementChanges {
    /// Judgements of the new set only.
    pub added: BTreeMap<String, Grade>,
    /// Judgements of the old set only.
    pub removed: BTreeMap<String, Grade>,
    /// Judgements with a changed grade.
    pub changed: BTreeMap<String, Change<Grade>>,
    /// Documents with the same grade and changed facets, annotations or notes.
    pub details: BTreeSet<String>,
}

/// Changes of a query that is in both sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryChange {
    /// Id of the query.
    pub query: String,
    /// Change of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<Change<Option<String>>>,
    /// Changes of the labels, by name.
    pub labels: BTreeMap<String, Change<Option<String>>>,
    /// Other changed fields: `aliases`, `needs`, `expected`, `required`, `graph`, `texts`.
    pub fields: Vec<&'static str>,
    /// Changes of the judgements.
    pub judgements: JudgementChanges,
}

/// Numbers of differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Queries of the new set only.
    pub queries_added: usize,
    /// Queries of the old set only.
    pub queries_removed: usize,
    /// Queries of both sets that differ.
    pub queries_changed: usize,
    /// Judgements added to queries of both sets.
    pub judgements_added: usize,
    /// Judgements removed from queries of both sets.
    pub judgements_removed: usize,
    /// Judgements with a changed grade in queries of both sets.
    pub judgements_changed: usize,
}

/// Differences between two sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// True if there are no differences.
    pub equal: bool,
    /// Change of the effective relevance level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance_level: Option<Change<Grade>>,
    /// Change of the highest grade of the scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_max: Option<Change<Option<Grade>>>,
    /// Numbers of differences.
    pub totals: Totals,
    /// Ids of the queries of the new set only, in its order.
    pub added: Vec<String>,
    /// Ids of the queries of the old set only, in its order.
    pub removed: Vec<String>,
    /// Queries of both sets that differ, in the order of the old set.
    pub changed: Vec<QueryChange>,
}

impl Difference {
    /// Computes the changes from `old` to `new`.
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

/// Compares two queries with the same id; `None` when they are equal.
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
        ("subtopics", old.subtopics != new.subtopics),
        ("answers", old.answer.references != new.answer.references),
        ("must_cite", old.answer.must_cite != new.answer.must_cite),
        (
            "must_contain",
            old.answer.must_contain != new.answer.must_contain,
        ),
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

/// Fields of a judged document other than the grade, if any.
fn detail<'a>(query: &'a GoldQuery, document: &str) -> Option<&'a JudgementDetail> {
    let (position, _) = query.judgements.find(document)?;
    let detail = query.details.get(position)?;
    (!detail.is_empty()).then_some(detail)
}
