//! Assembly and validation of a gold set from drafts, with the checks across files.
//!
//! A problem is recorded and validation continues: one run finds all problems. The caller discards
//! a set with problems.

use std::collections::hash_map::Entry;
use std::num::NonZeroU32;

use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::formats::draft::{Draft, QueryDraft, Topic};
use super::formats::judgements::{Judged, JudgementDraft};
use super::judgement_hashes::LazyHashes;
use super::judgements::{Grade, Judgements};
use super::normal_form::{composed, normalise};
use super::problem::{Place, Problem, Problems};
use super::query::GoldQuery;
use super::set::{GoldSet, MIN_QUERIES, Options, QueryIndex, SetMetadata, hash_text};
use super::subtopics::Subtopics;

/// Digits of the SHA-256 in a derived version.
const VERSION_DIGITS: usize = 12;

/// Builds a set from `drafts` and adds its problems to `problems`.
pub(super) fn assemble(
    mut drafts: Vec<Draft>,
    options: &Options,
    sha256: String,
    problems: &mut Problems,
) -> GoldSet {
    let stated_level = agreed("relevance_level", &drafts, |d| d.relevance_level, problems);
    let stated_scale = agreed("scale_max", &drafts, |d| d.scale_max, problems);
    let file_level = stated_level.unwrap_or(Grade::ONE);
    let relevance_level = options.relevance_level.unwrap_or(file_level);
    let stated_version = stated(&drafts, |draft| draft.version.as_deref());
    let created_at = stated(&drafts, |draft| draft.created_at.as_deref());
    let version = stated_version
        .clone()
        .unwrap_or_else(|| sha256.chars().take(VERSION_DIGITS).collect());

    let topics = drafts.iter_mut().flat_map(|draft| draft.topics.drain(..));
    let topics = topics.map(|topic| Topic {
        key: if options.compose_ids {
            composed(topic.key.into()).into_owned()
        } else {
            topic.key
        },
        ..topic
    });
    let mut repeated = Problems::default();
    let topics = topics_by_key(topics, &mut repeated);
    let count = drafts.iter().map(|draft| draft.queries.len()).sum();
    if count > 0 {
        // Without judgements, the texts are mostly documents, and their repetition is no problem of its own.
        problems.append(repeated);
    }
    let queries = drafts.iter().flat_map(|draft| &draft.queries);
    let highest = queries.filter_map(|query| query.judgements.highest()).max();
    let scale_max = stated_scale.or(highest);
    let scale = Scale {
        file_level,
        relevance_level,
        stated_max: stated_scale,
        max: scale_max.unwrap_or(Grade::ZERO),
    };

    let mut set = GoldSet {
        queries: Vec::with_capacity(count),
        by_key: FxHashMap::with_capacity_and_hasher(count, FxBuildHasher),
        by_text: FxHashMap::default(),
        by_normalised: FxHashMap::default(),
        version,
        sha256,
        relevance_level,
        scale_max,
        places: Vec::with_capacity(count),
        files: drafts
            .iter()
            .map(|draft| draft.place.file.clone())
            .collect(),
        stated: SetMetadata {
            version: stated_version,
            created_at,
            kind: one_kind(&drafts, problems),
            relevance_level: stated_level,
            scale_max: stated_scale,
        },
        judgement_hashes: LazyHashes::default(),
    };
    let is_one_file = drafts.len() == 1;
    let drafts = drafts.into_iter().map(|draft| draft.queries);
    let drafts = drafts.reduce(|mut all, more| {
        all.extend(more);
        all
    });
    let mut drafts = drafts.unwrap_or_default();
    if options.compose_ids {
        let composed = drafts.into_iter().map(|draft| draft.composed(problems));
        drafts = composed.collect();
    }
    if !is_one_file {
        drafts = merge_files(drafts, problems);
    }
    let queries = drafts
        .into_par_iter()
        .with_min_len(MIN_QUERIES)
        .map(|mut draft| {
            if draft.text.is_none() {
                draft.text = topics.get(&draft.key).map(|topic| topic.text.clone());
            }
            let place = draft.place.clone();
            let mut problems = Problems::default();
            (scale.query(draft, &mut problems), (place, problems))
        });
    let mut places = Vec::new();
    queries.unzip_into_vecs(&mut set.queries, &mut places);
    for (place, found) in places {
        problems.append(found);
        index(&mut set, place, problems);
    }
    set
}

/// Merges the queries that several files define, unless their texts differ or one file defines one of them
/// twice, which is a problem.
fn merge_files(drafts: Vec<QueryDraft>, problems: &mut Problems) -> Vec<QueryDraft> {
    let mut positions: FxHashMap<String, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<QueryDraft>> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let group = positions.get(&draft.key).and_then(|at| groups.get_mut(*at));
        let accepts = |known: &QueryDraft| {
            let texts = known.text.as_ref().zip(draft.text.as_ref());
            known.place.file != draft.place.file && texts.is_none_or(|(one, other)| one == other)
        };
        match group {
            Some(group) if group.iter().all(accepts) => group.push(draft),
            Some(_) => groups.push(vec![draft]),
            None => {
                positions.insert(draft.key.clone(), groups.len());
                groups.push(vec![draft]);
            }
        }
    }
    let merged = groups
        .into_iter()
        .filter_map(|mut group| match group.len() {
            1 => group.pop(),
            _ => QueryDraft::merged(group, problems),
        });
    merged.collect()
}

/// Returns the value of a setting from the files that state it; different values are a problem.
fn agreed(
    setting: &'static str,
    drafts: &[Draft],
    stated: impl Fn(&Draft) -> Option<Grade>,
    problems: &mut Problems,
) -> Option<Grade> {
    let mut first: Option<(Grade, &Place)> = None;
    for draft in drafts {
        let Some(value) = stated(draft) else { continue };
        match first {
            None => first = Some((value, &draft.place)),
            Some((other, _)) if other == value => {}
            Some((other, place)) => problems.push(Problem::Disagreement {
                place: draft.place.clone(),
                setting,
                value,
                other,
                first: place.clone(),
            }),
        }
    }
    first.map(|(value, _)| value)
}

/// Returns the origin of the judgements; files of different origins are a problem.
fn one_kind(drafts: &[Draft], problems: &mut Problems) -> Option<String> {
    let mut with_queries = drafts.iter().filter(|draft| !draft.queries.is_empty());
    let first = with_queries.next()?;
    for draft in with_queries.filter(|draft| draft.kind != first.kind) {
        let name = |draft: &Draft| draft.kind.clone().unwrap_or_else(|| "human".to_owned());
        problems.push(Problem::MixedKinds {
            place: draft.place.clone(),
            kind: name(draft),
            other: name(first),
            first: first.place.clone(),
        });
    }
    first.kind.clone()
}

/// Returns a value if all files that state it agree.
fn stated(drafts: &[Draft], of: impl for<'d> Fn(&'d Draft) -> Option<&'d str>) -> Option<String> {
    let mut stated = drafts.iter().filter_map(of);
    let first = stated.next().filter(|first| !first.is_empty())?;
    stated.all(|other| other == first).then(|| first.to_owned())
}

fn topics_by_key(
    topics: impl Iterator<Item = Topic>,
    problems: &mut Problems,
) -> FxHashMap<String, Topic> {
    let mut by_key: FxHashMap<String, Topic> = FxHashMap::default();
    for topic in topics {
        if let Some(first) = by_key.get(&topic.key) {
            problems.push(Problem::RepeatedTopic {
                place: topic.place,
                key: topic.key,
                first: first.place.clone(),
            });
        } else {
            by_key.insert(topic.key.clone(), topic);
        }
    }
    by_key
}

/// Scale of a set: relevance levels and highest grade.
struct Scale {
    /// Relevance level by which the files count relevant documents.
    file_level: Grade,
    /// Effective relevance level.
    relevance_level: Grade,
    /// Highest grade of the scale, if a file states it.
    stated_max: Option<Grade>,
    /// Highest grade of the scale.
    max: Grade,
}

impl Scale {
    fn query(&self, mut draft: QueryDraft, problems: &mut Problems) -> GoldQuery {
        if draft.key.trim().is_empty() {
            problems.push(Problem::EmptyQueryId {
                place: draft.place.clone(),
            });
        }
        draft.answer.check(&draft.place, &draft.key, problems);
        let by_text = draft.judgements.is_empty() && !draft.texts.is_empty();
        if by_text {
            let grade = self.relevance_level.max(Grade::ZERO);
            let texts = draft.texts.iter();
            let of_text = |text: &String| JudgementDraft::new(text.clone(), grade);
            draft.judgements = texts.map(of_text).collect();
        }
        let judged = std::mem::take(&mut draft.judgements).into_judged();
        self.check(&draft, &judged, problems);
        for number in 0..judged.documents.len() {
            let id = judged.documents.id(number);
            if id.is_some_and(|id| id.trim().is_empty()) {
                problems.push(Problem::EmptyDocumentId {
                    place: place_of(&draft, judged.line(number)),
                    key: draft.key.clone(),
                });
            }
        }
        for field in draft.fields_with_empty_ids() {
            problems.push(Problem::EmptyIdIn {
                place: draft.place.clone(),
                key: draft.key.clone(),
                field,
            });
        }
        let Judged {
            documents, details, ..
        } = judged;
        let judgements = Judgements::of(self.relevance_level, documents).with_scale_max(self.max);
        let counted = judgements.relevant(Some(self.file_level));
        if let Some(stated) = draft.total_relevant
            && draft.check_total_relevant
            && usize::try_from(stated) != Ok(counted)
        {
            problems.push(Problem::TotalRelevant {
                place: draft.place,
                key: draft.key.clone(),
                stated,
                counted,
                level: self.file_level,
            });
        }
        let stated = std::mem::take(&mut draft.subtopics);
        let subtopics = (!stated.is_empty()).then(|| {
            let stated = stated.iter();
            let stated = stated.map(|it| (&*it.document, &*it.subtopic, it.grade));
            Box::new(Subtopics::of(&judgements, stated))
        });
        GoldQuery {
            key: draft.key,
            text: draft.text,
            aliases: draft.aliases,
            labels: draft.labels,
            total_relevant: draft.total_relevant,
            judgements,
            details: details.into(),
            subtopics,
            needs: draft.needs,
            expected: draft.expected,
            required: draft.required,
            answer: draft.answer,
            graph: draft.graph,
            texts: draft.texts,
            by_text,
        }
    }

    /// Checks the judgements of a query, in their order.
    fn check(&self, draft: &QueryDraft, judged: &Judged, problems: &mut Problems) {
        if judged.repeated.is_empty() && self.stated_max.is_none() {
            return;
        }
        let place = |line| place_of(draft, line);
        let documents = &judged.documents;
        let id_of = |number| documents.id(number).unwrap_or_default().to_owned();
        let mut repeated = judged.repeated.iter().peekable();
        for position in 0..=documents.len() {
            while let Some(again) = repeated.next_if(|it| it.position == position) {
                let (key, document) = (draft.key.clone(), id_of(again.number));
                let first = place(judged.line(again.number));
                let grade = again.grade;
                let known = documents.grades().get(again.number).copied();
                problems.push(match known.filter(|known| *known != grade) {
                    None => Problem::RepeatedDocument {
                        place: place(again.line),
                        key,
                        document,
                        first,
                    },
                    Some(other) => Problem::Contradiction {
                        place: place(again.line),
                        key,
                        document,
                        grade,
                        other,
                        first,
                    },
                });
            }
            let grade = documents.grades().get(position).copied();
            if let (Some(grade), Some(scale_max)) = (grade, self.stated_max)
                && grade > scale_max
            {
                problems.push(Problem::BeyondScale {
                    place: place(judged.line(position)),
                    key: draft.key.clone(),
                    document: id_of(position),
                    grade,
                    scale_max,
                });
            }
        }
    }
}

/// Place of a judgement of a query, on its line if that is known.
fn place_of(draft: &QueryDraft, line: Option<NonZeroU32>) -> Place {
    Place {
        file: draft.place.file.clone(),
        line: line
            .and_then(|line| usize::try_from(line.get()).ok())
            .or(draft.place.line),
    }
}

/// Indexes the first query of the set that has no place yet, by its key, text and aliases.
pub(super) fn index(set: &mut GoldSet, place: Place, problems: &mut Problems) {
    let at = set.places.len();
    set.places.push(place);
    let (queries, places) = (&set.queries, &set.places);
    let (Some(query), Some(place)) = (queries.get(at), places.get(at)) else {
        return;
    };
    // Four billion queries do not fit in memory; any beyond that would share the last index.
    let index = QueryIndex(u32::try_from(at).unwrap_or(u32::MAX));
    let place_of = |index: QueryIndex| places.get(index.position()).unwrap_or(place).clone();

    match set.by_key.entry(hash_text(&query.key)) {
        Entry::Vacant(entry) => entry.insert(index),
        Entry::Occupied(first) => {
            // The texts of a repeated query would be reported again, as shared with the first.
            return problems.push(Problem::RepeatedQuery {
                place: place.clone(),
                key: query.key.clone(),
                first: place_of(*first.get()),
            });
        }
    };

    for text in query.text.iter().chain(&query.aliases) {
        let form = normalise(text);
        if form.is_empty() {
            problems.push(Problem::BlankText {
                place: place.clone(),
                key: query.key.clone(),
            });
            continue;
        }
        let normalised = hash_text(&form);
        match set.by_normalised.get(&normalised).copied() {
            Some(other) if other != index => {
                let other_key = queries.get(other.position()).map(|query| query.key.clone());
                problems.push(Problem::DuplicateText {
                    place: place.clone(),
                    text: text.clone(),
                    key: query.key.clone(),
                    other: other_key.unwrap_or_default(),
                    first: place_of(other),
                });
            }
            _ => {
                set.by_normalised.insert(normalised, index);
                set.by_text.insert(hash_text(text), index);
            }
        }
    }
}
