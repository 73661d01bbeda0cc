//! Judgements that follow from the document graph: what is related to a document of the highest
//! grade is relevant too.
//!
//! The strategy of the law-search methodology (5.4): from every document of the highest grade, one
//! step along edges whose relation has a grade. Nothing that is judged already is touched, whatever
//! its grade; where several edges lead to a document, the highest grade wins, then the document
//! that is judged first. It knows no files.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::{GoldQuery, GoldSet, Grade, JudgementDetail, Judgements};

/// A relation between two documents, as an edge file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Id of the document it leads from.
    pub from: String,
    /// Id of the document it leads to.
    pub to: String,
    /// What it is, normalised by [`relation_name`].
    pub name: String,
}

/// A relation's name as names are compared: lower case, `_` for spaces and hyphens.
pub fn relation_name(written: &str) -> String {
    let name = written.trim().to_lowercase();
    name.replace([' ', '-'], "_")
}

/// The grades that relations give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpansionRules {
    /// By the relation's name.
    pub grades: BTreeMap<String, Grade>,
    /// Relations that hold both ways, so that an edge is followed in both directions.
    pub both_ways: BTreeSet<String>,
    /// The grade from which edges are followed; without it the highest of the scale.
    pub from_grade: Option<Grade>,
}

impl Default for ExpansionRules {
    /// The methodology's: other paragraphs of the same article 2, decrees and rules 2, references 1.
    fn default() -> Self {
        let grades = [
            ("same_article", Grade::TWO),
            ("decree", Grade::TWO),
            ("rule", Grade::TWO),
            ("decree/rule", Grade::TWO),
            ("references", Grade::ONE),
        ];
        Self {
            grades: grades.map(|(name, grade)| (name.to_owned(), grade)).into(),
            both_ways: BTreeSet::from(["same_article".to_owned()]),
            from_grade: None,
        }
    }
}

/// A set with more judgements.
#[derive(Clone, Debug)]
pub struct Expansion {
    /// The set. Its hash and the places of its queries are its source's.
    pub set: GoldSet,
    /// Judgements added, by relation; a relation with a grade that added none is there with 0.
    pub added: BTreeMap<String, usize>,
    /// Edges that were left out because their relation has no grade, by relation.
    pub without_grade: BTreeMap<String, usize>,
    /// The grade from which edges were followed.
    pub from_grade: Option<Grade>,
    /// (query, document) pairs from which they were followed.
    pub origins: usize,
    /// Steps that led to a document that is judged already.
    pub already_judged: usize,
}

/// Why a set cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the relation `{relation}` would give the grade {grade}, beyond the set's scale_max \
     {scale_max}; give it a lower one with --grade {relation}=…"
)]
pub struct GradeBeyondScale {
    relation: String,
    grade: Grade,
    scale_max: Grade,
}

/// How a document comes to be judged.
struct Way<'a> {
    grade: Grade,
    relation: &'a str,
    from: &'a str,
}

/// Adds to `set` the judgements that follow from `relations`.
///
/// # Errors
/// When a relation's grade is beyond the scale that the set states.
pub fn expand(
    set: &GoldSet,
    relations: &[Relation],
    rules: &ExpansionRules,
) -> Result<Expansion, GradeBeyondScale> {
    let mut without_grade: BTreeMap<String, usize> = BTreeMap::new();
    let mut ways: FxHashMap<&str, Vec<(&str, &str, Grade)>> = FxHashMap::default();
    for Relation { from, to, name } in relations {
        let Some(grade) = rules.grades.get(name).copied() else {
            *without_grade.entry(name.clone()).or_default() += 1;
            continue;
        };
        if let Some(scale_max) = set.stated.scale_max.filter(|max| grade > *max) {
            return Err(GradeBeyondScale {
                relation: name.clone(),
                grade,
                scale_max,
            });
        }
        ways.entry(from).or_default().push((to, name, grade));
        if rules.both_ways.contains(name) {
            ways.entry(to).or_default().push((from, name, grade));
        }
    }
    let from_grade = rules.from_grade.or(set.scale_max);
    let graded = rules.grades.keys().map(|name| (name.clone(), 0));
    let mut expansion = Expansion {
        set: set.clone(),
        added: graded.collect(),
        without_grade,
        from_grade,
        origins: 0,
        already_judged: 0,
    };
    for (query, expanded) in set.queries.iter().zip(&mut expansion.set.queries) {
        let mut found: Vec<(&str, Way<'_>)> = Vec::new();
        let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
        let documents = query.judgements.documents();
        // Texts are no documents, and nothing in a graph leads from them.
        let origins = documents
            .iter()
            .filter(|(_, grade)| !query.by_text && Some(*grade) == from_grade);
        for (from, _) in origins {
            expansion.origins += 1;
            for (to, relation, grade) in ways.get(from).into_iter().flatten() {
                if query.judgements.find(to).is_some() {
                    expansion.already_judged += 1;
                    continue;
                }
                let way = Way {
                    grade: *grade,
                    relation,
                    from,
                };
                let known = positions
                    .get(to)
                    .and_then(|position| found.get_mut(*position));
                match known {
                    Some((_, before)) if before.grade >= *grade => {}
                    Some((_, before)) => *before = way,
                    None => {
                        positions.insert(to, found.len());
                        found.push((to, way));
                    }
                }
            }
        }
        for (_, way) in &found {
            *expansion.added.entry(way.relation.to_owned()).or_default() += 1;
        }
        if !found.is_empty() {
            add(expanded, &documents, &found);
        }
    }
    let added = expansion.added.values().any(|count| *count > 0);
    if added && let Some(version) = &mut expansion.set.stated.version {
        // Scores against the two sets are not comparable, so their versions must differ.
        version.push_str("+expanded");
        expansion.set.version.clone_from(version);
    }
    Ok(expansion)
}

/// Adds what was found to the judgements of `query`, which are `documents`.
fn add(query: &mut GoldQuery, documents: &[(&str, Grade)], found: &[(&str, Way<'_>)]) {
    query
        .details
        .resize_with(documents.len(), JudgementDetail::default);
    query.details.extend(found.iter().map(|(_, way)| {
        let notes = format!("expanded: {} from {}", way.relation, way.from);
        JudgementDetail {
            notes: Some(notes),
            ..JudgementDetail::default()
        }
    }));
    let added = found.iter().map(|(document, way)| (*document, way.grade));
    let all = documents.iter().copied().chain(added);
    let all = all.map(|(document, grade)| (Box::from(document), grade));
    let scale_max = query.judgements.scale_max();
    query.judgements = Judgements::new(query.judgements.level(), all)
        .expect("invariant: only documents that are not judged were added, each once")
        .with_scale_max(scale_max);
    // What the file counted, it counted before.
    let counted = u64::try_from(query.judgements.relevant(None)).ok();
    query.total_relevant = query.total_relevant.and(counted);
}
