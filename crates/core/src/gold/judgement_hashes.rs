//! Hashes of the judgements of a gold set, by query. They tell which queries another set judges alike.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::answer::ExpectedAnswer;
use super::judgements::Grade;
use super::query::GoldQuery;
use super::set::GoldSet;
use super::subtopics::Subtopics;

/// Hashes of what judges each query: all that a score depends on. Texts, aliases and labels are not part of
/// it, except for the label of the domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct JudgementHashes {
    /// Hash of the key and hash of the content, in the order of the first.
    queries: Vec<(u64, u64)>,
    /// Highest grade of the scale, as bits. One judgement can change it, and with it the scores of all queries in the
    /// measures that depend on it.
    scale_max: Option<u64>,
}

impl JudgementHashes {
    pub(super) fn new(gold: &GoldSet) -> Self {
        let queries = gold.queries().iter();
        let mut queries: Vec<_> = queries.map(|it| (hash_key(&it.key), hash_of(it))).collect();
        queries.sort_unstable();
        Self {
            queries,
            scale_max: gold.scale_max().map(bits),
        }
    }

    /// Hashes for measures that depend on the highest grade of the scale, or for others.
    pub(crate) fn for_measures(&self, depend_on_scale: bool) -> Self {
        Self {
            queries: self.queries.clone(),
            scale_max: self.scale_max.filter(|_| depend_on_scale),
        }
    }

    fn find(&self, key: u64) -> Option<u64> {
        let found = self.queries.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|place| self.queries[place].1)
    }

    /// Returns true if both sets have the query with this key and judge it alike.
    pub(crate) fn agree(&self, other: &Self, key: &str) -> bool {
        self.agree_on(other, hash_key(key))
    }

    fn agree_on(&self, other: &Self, key: u64) -> bool {
        let found = self.find(key);
        self.scale_max == other.scale_max && found.is_some() && found == other.find(key)
    }

    /// Returns true if both sets judge any query alike.
    pub(crate) fn agree_on_any(&self, other: &Self) -> bool {
        let mut queries = self.queries.iter();
        queries.any(|(key, _)| self.agree_on(other, *key))
    }

    /// Approximate bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.queries.len() * size_of::<(u64, u64)>()
    }
}

/// Hashes of a gold set, computed at their first use. A copy of the set has none: its queries may change.
#[derive(Debug, Default)]
pub(super) struct LazyHashes(OnceLock<JudgementHashes>);

impl LazyHashes {
    /// Hashes of `gold`, which owns this value.
    pub(super) fn of(&self, gold: &GoldSet) -> &JudgementHashes {
        self.0.get_or_init(|| JudgementHashes::new(gold))
    }
}

impl Clone for LazyHashes {
    fn clone(&self) -> Self {
        Self::default()
    }
}

fn bits(grade: Grade) -> u64 {
    grade.get().to_bits()
}

fn hash_key(key: &str) -> u64 {
    XxHash3_64::oneshot(key.as_bytes())
}

/// Hash of what judges a query, without the scale, which is that of the gold set. The order of the judged documents does
/// not matter. It is part of saved state: another hash begins the baselines of all queries again. The form of the content
/// is therefore independent of the types.
fn hash_of(query: &GoldQuery) -> u64 {
    let GoldQuery {
        key: _,
        text: _,
        aliases: _,
        labels: _,
        total_relevant,
        judgements,
        details,
        subtopics,
        needs,
        expected,
        required,
        answer,
        graph,
        texts,
        by_text,
    } = query;
    let subtopics = subtopics.as_deref();
    let documents = judgements.documents().into_iter().enumerate();
    let documents = documents.map(|(number, (document, grade))| {
        let facets = details.get(number).map(|it| &it.facets);
        let facets = facets.filter(|it| !it.is_empty());
        let of_subtopics = subtopics
            .map(|it| it.of_document(number))
            .unwrap_or_default();
        let of_subtopics = of_subtopics.iter().map(|(it, grade)| (*it, bits(*grade)));
        let of_subtopics: Vec<(usize, u64)> = of_subtopics.collect();
        hash_content(&(document, bits(grade), facets, of_subtopics))
    });
    let documents = documents.fold(0, u64::wrapping_add);
    let ExpectedAnswer {
        references,
        must_cite,
        must_contain,
        answerable,
    } = answer;
    hash_content(&(
        documents,
        bits(judgements.level()),
        (total_relevant, subtopics.map(Subtopics::names)),
        (needs, expected, required, texts, by_text, query.domain()),
        (references, must_cite, must_contain, answerable),
        graph
            .as_ref()
            .map(|it| (it.node_hashes(), it.edge_hashes())),
    ))
}

/// Hash of the JSON of a value.
fn hash_content(content: &impl Serialize) -> u64 {
    // Numbers, texts and lists of them have a JSON form.
    XxHash3_64::oneshot(&serde_json::to_vec(content).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gold::details::Details;
    use crate::gold::query::JudgementDetail;
    use crate::gold::{Options, parse};

    fn set(queries: &str) -> GoldSet {
        let text = format!(r#"{{"queries": [{queries}]}}"#);
        let gold = parse("gold.json", text.as_bytes(), &Options::default());
        gold.expect("a gold set")
    }

    #[test]
    fn hashes_are_computed_once_for_a_set_and_again_for_a_changed_copy() {
        let gold =
            set(r#"{"query_id": "a", "query_text": "one", "ground_truth": {"d1": 2, "d2": 1}}"#);
        let first = gold.judgement_hashes();
        assert!(std::ptr::eq(first, gold.judgement_hashes()));
        let mut copy = gold.clone();
        assert_eq!(copy.judgement_hashes(), first);
        let mut changed = gold.clone();
        changed.queries[0].total_relevant = Some(9);
        assert!(!changed.judgement_hashes().agree(first, "a"));
        copy.queries.clear();
        assert!(copy.clone().judged_alike(&gold, true).is_empty());
    }

    #[test]
    fn only_what_scores_depend_on_is_compared() {
        let first = set(
            r#"{"query_id": "a", "query_text": "one", "ground_truth": {"d1": 2, "d2": 1}},
               {"query_id": "b", "query_text": "two", "ground_truth": {"d1": 2}},
               {"query_id": "c", "query_text": "three", "ground_truth": {"d1": 2}}"#,
        );
        let second = set(
            r#"{"query_id": "d", "query_text": "four", "ground_truth": {"d1": 2}},
               {"query_id": "a", "query_text": "other", "query_type": "long",
                "ground_truth": {"d2": 1, "d1": 2}},
               {"query_id": "b", "query_text": "two", "ground_truth": {"d1": 1, "d3": 2}}"#,
        );
        assert_eq!(Vec::from_iter(first.judged_alike(&second, true)), ["a"]);
        assert_eq!(first.judged_alike(&first, true).len(), 3);
        let [first, second] = [&first, &second].map(GoldSet::judgement_hashes);
        for (key, is_same) in [("a", true), ("b", false), ("c", false), ("d", false)] {
            assert_eq!(first.agree(second, key), is_same, "{key}");
        }
        assert!(!first.agree(first, "d"));
    }

    #[test]
    fn facets_are_compared_by_document_and_notes_are_not() {
        let gold =
            set(r#"{"query_id": "a", "query_text": "one", "ground_truth": {"d1": 2, "d2": 1}}"#);
        let with = |law_types: [&str; 2], notes: Option<&str>| {
            let details = law_types.map(|law_type| JudgementDetail {
                facets: [("law_type".to_owned(), law_type.to_owned())].into(),
                notes: notes.map(str::to_owned),
                ..JudgementDetail::default()
            });
            let mut gold = gold.clone();
            gold.queries[0].details = Details::from(details.to_vec());
            gold
        };
        let first = with(["법률", "시행령"], None);
        // A look-up makes the columns of the facets.
        assert!(first.queries[0].details.facet("law_type").is_some());
        let is_alike = |other: &GoldSet| {
            let hashes = first.judgement_hashes();
            hashes.agree(other.judgement_hashes(), "a")
        };
        assert!(is_alike(&with(["법률", "시행령"], Some("checked"))));
        assert!(!is_alike(&with(["시행령", "법률"], None)));
        assert!(!is_alike(&gold));
    }

    #[test]
    fn grades_do_not_change_places_between_documents() {
        let of = |grades: &str| {
            set(&format!(
                r#"{{"query_id": "a", "query_text": "one", "ground_truth": {{{grades}}}}}"#
            ))
        };
        let (one, other) = (of(r#""d1": 2, "d2": 1"#), of(r#""d1": 1, "d2": 2"#));
        assert!(one.judged_alike(&other, true).is_empty());
    }

    #[test]
    fn a_higher_grade_in_one_query_concerns_the_others_in_measures_of_the_scale() {
        let of = |grade: u8| {
            set(&format!(
                r#"{{"query_id": "a", "query_text": "one", "ground_truth": {{"d1": {grade}}}}},
                   {{"query_id": "b", "query_text": "two", "ground_truth": {{"d1": 1}}}}"#
            ))
        };
        let (one, other) = (of(2), of(3));
        assert!(one.judged_alike(&other, true).is_empty());
        assert_eq!(Vec::from_iter(one.judged_alike(&other, false)), ["b"]);
    }
}
