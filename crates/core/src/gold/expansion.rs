//! Expansion of judgements along the document graph: a document that is related to a document of
//! the highest grade is relevant too.
//!
//! Strategy of the law-search methodology (5.4): from every document of the highest grade, one
//! step along edges whose relation has a grade. Existing judgements are not changed. If several
//! edges lead to a document, the highest grade wins, then the document that is judged first. This
//! module must not know files.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::judgements::{Grade, Judgements};
use super::problem::GradeBeyondScale;
use super::query::{GoldQuery, JudgementDetail};
use super::set::GoldSet;

/// Relation between two documents: one edge of an edge file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Id of the source document.
    pub from: String,
    /// Id of the target document.
    pub to: String,
    /// Name of the relation in lower case, with `_` for spaces and hyphens.
    pub name: String,
}

impl Relation {
    /// Normalises the name of a relation for comparison: lower case, `_` for spaces and hyphens.
    pub fn normalise(written: &str) -> String {
        let name = written.trim().to_lowercase();
        name.replace([' ', '-'], "_")
    }
}

/// Rules of an expansion: the grade for each relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpansionRules {
    /// Grades by the name of the relation.
    pub grades: BTreeMap<String, Grade>,
    /// Symmetric relations. Their edges are followed in both directions.
    pub symmetric: BTreeSet<String>,
    /// Grade of the documents from which edges are followed. Default: the highest of the scale.
    pub from_grade: Option<Grade>,
}

impl Default for ExpansionRules {
    /// Rules of the methodology: other paragraphs of the same article 2, decrees and rules 2,
    /// references 1.
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
            symmetric: BTreeSet::from(["same_article".to_owned()]),
            from_grade: None,
        }
    }
}

/// Result of an expansion.
#[derive(Clone, Debug, Serialize)]
pub struct Expansion {
    /// Set with the added judgements. The hash and the locations of the queries are those of the
    /// source set.
    #[serde(skip)]
    pub set: GoldSet,
    /// Added judgements by relation. Relations with a grade and without added judgements are
    /// included with 0.
    #[serde(rename = "added_by_relation")]
    pub added: BTreeMap<String, usize>,
    /// Grade of the documents from which edges were followed.
    pub from_grade: Option<Grade>,
    /// (query, document) pairs from which edges were followed.
    pub origins: usize,
    /// Steps that led to an already judged document.
    pub already_judged: usize,
    /// Number of edges.
    pub edges: usize,
    /// Edges that were ignored because their relation has no grade, by relation.
    #[serde(rename = "edges_without_grade")]
    pub without_grade: BTreeMap<String, usize>,
}

/// Edge from which a judgement is derived.
struct DerivedJudgement<'a> {
    grade: Grade,
    relation: &'a str,
    from: &'a str,
}

impl ExpansionRules {
    /// Adds the judgements that follow from `relations` to `set`.
    ///
    /// # Errors
    /// The grade of a relation is above the highest grade that the set states.
    pub fn expand(
        &self,
        set: &GoldSet,
        relations: &[Relation],
    ) -> Result<Expansion, GradeBeyondScale> {
        let mut without_grade: BTreeMap<String, usize> = BTreeMap::new();
        let mut ways: FxHashMap<&str, Vec<(&str, &str, Grade)>> = FxHashMap::default();
        for Relation { from, to, name } in relations {
            let Some(grade) = self.grades.get(name).copied() else {
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
            if self.symmetric.contains(name) {
                ways.entry(to).or_default().push((from, name, grade));
            }
        }
        let from_grade = self.from_grade.or(set.scale_max);
        let graded = self.grades.keys().map(|name| (name.clone(), 0));
        let mut expansion = Expansion {
            set: set.clone(),
            added: graded.collect(),
            from_grade,
            origins: 0,
            already_judged: 0,
            edges: relations.len(),
            without_grade,
        };
        for (query, expanded) in set.queries.iter().zip(&mut expansion.set.queries) {
            let mut found: Vec<(&str, DerivedJudgement<'_>)> = Vec::new();
            let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
            let documents = query.judgements.documents();
            // Gold texts are not documents: no edges lead from them.
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
                    let way = DerivedJudgement {
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
            // Scores by the two sets are not comparable: their versions must differ.
            version.push_str("+expanded");
            expansion.set.version.clone_from(version);
        }
        Ok(expansion)
    }
}

/// Adds the judgements in `found` to those of `query`, which are `documents`.
fn add(query: &mut GoldQuery, documents: &[(&str, Grade)], found: &[(&str, DerivedJudgement<'_>)]) {
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
    // A stated count is outdated by the added judgements: replace it.
    let counted = u64::try_from(query.judgements.relevant(None)).ok();
    query.total_relevant = query.total_relevant.and(counted);
}
