//! Adoption of annotation sheets into a gold set: grades for proposed documents become judgements.
//!
//! Existing judgements are not changed: a row with another grade is reported as a contradiction.
//! This module must not know files or events; `proposal` fills the rows of a new sheet.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::answer::ExpectedAnswer;
use super::details::Details;
use super::judgements::{Grade, Judgements};
use super::normal_form::normalise;
use super::problem::{GoldError, Place, Problem, Problems};
use super::query::{GoldQuery, JudgementDetail};
use super::set::{GoldSet, QueryIndex, hash_text};
use super::validate;

/// Proposed document: row of a sheet without a grade.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SheetRow {
    /// Key of the gold query; empty for a query that is not in the gold set.
    pub query_id: String,
    /// Text of the query.
    pub query_text: String,
    /// Id of the document.
    pub document_id: String,
    /// Searches with a click on the document.
    pub clicks: u32,
    /// Searches that served the document.
    pub searches: u32,
    /// Searches with a satisfied click: a click with a long dwell time.
    pub satisfied_clicks: u32,
    /// Searches with a conversion of the document.
    pub conversions: u32,
    /// Mean rating, 0 to 1.
    pub rating_mean: Option<f64>,
    /// Mean served position, 1-based.
    pub mean_position: Option<f64>,
    /// Number of grades from production.
    pub production_judgments: u32,
    /// Median grade from production.
    pub production_grade: Option<Grade>,
}

impl SheetRow {
    /// Columns of a sheet, in the order of output.
    pub const COLUMNS: [&str; 12] = [
        "query_id",
        "query_text",
        "document_id",
        "clicks",
        "searches",
        "satisfied_clicks",
        "conversions",
        "rating_mean",
        "mean_position",
        "production_judgments",
        "production_grade",
        "grade",
    ];
}

/// Row of an annotated sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledRow {
    /// 1-based line of the sheet on which the row begins.
    pub line: usize,
    /// Key of the gold query; empty if the query is identified by its text.
    pub query_id: String,
    /// Text of the query.
    pub query_text: String,
    /// Id of the document.
    pub document_id: String,
    /// Grade from the annotator; `None` if not judged yet.
    pub grade: Option<Grade>,
    /// Median grade from production.
    pub production_grade: Option<Grade>,
    /// Number of grades from production.
    pub production_judgments: Option<u32>,
    /// Searches with a click on the document, and searches that served it.
    pub clicks: Option<(u32, u32)>,
    /// Grades of the individual annotators, by column name.
    pub annotations: BTreeMap<String, Grade>,
}

impl From<SheetRow> for FilledRow {
    /// Converts a row as if its sheet were returned without annotations.
    fn from(row: SheetRow) -> Self {
        Self {
            line: 0,
            query_id: row.query_id,
            query_text: row.query_text,
            document_id: row.document_id,
            grade: None,
            production_grade: row.production_grade,
            production_judgments: Some(row.production_judgments),
            clicks: Some((row.clicks, row.searches)),
            annotations: BTreeMap::new(),
        }
    }
}

impl FilledRow {
    /// Origin of the judgement, for its notes.
    fn origin(&self) -> String {
        let from = match (self.grade, self.production_grade, self.production_judgments) {
            (None, Some(_), Some(1)) => "production: 1 judgment".to_owned(),
            (None, Some(_), Some(count)) => format!("production: median of {count} judgments"),
            (None, Some(_), None) => "production: median of the judgments".to_owned(),
            (_, Some(grade), _) => format!("proposed: grade {grade} in production"),
            (_, None, _) => "proposed from production".to_owned(),
        };
        match self.clicks {
            // A query from a template was never searched.
            Some((_, 0)) if self.production_grade.is_none() => "proposed".to_owned(),
            Some((clicks, searches)) => {
                format!("{from}, clicked in {clicks} of {searches} searches")
            }
            None => from,
        }
    }
}

/// Result of an adoption.
#[derive(Clone, Debug, Serialize)]
pub struct Adoption {
    /// Set with the added judgements. The hash is that of the source set.
    #[serde(skip)]
    pub set: GoldSet,
    /// Judgements added from the annotators' grades.
    #[serde(skip)]
    pub annotated: usize,
    /// Judgements added from grades given in production.
    #[serde(rename = "added_from_production")]
    pub from_production: usize,
    /// Added queries.
    pub new_queries: usize,
    /// Rows whose document is already judged, with the same grade or with only a grade from
    /// production.
    pub already_judged: usize,
    /// Rows without a grade.
    #[serde(rename = "without_grade")]
    pub open: usize,
    /// Rows whose grade from production is above the highest grade that the set states.
    #[serde(rename = "production_beyond_scale")]
    pub beyond_scale: usize,
}

/// Grades to adopt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GradeSource {
    /// Grades from annotators.
    Annotated,
    /// Grades from annotators, else grades from production.
    AnnotatorsOrProduction,
}

/// Judgement to add.
struct Added {
    document: String,
    grade: Grade,
    detail: JudgementDetail,
    line: usize,
}

/// Query that receives judgements: a query of the set, or a new one.
struct Target {
    /// Position in the set; `None` for a new query.
    known: Option<usize>,
    /// Name in messages: the id, or the text of a new query without an id.
    name: String,
    has_key: bool,
    text: Option<String>,
    line: usize,
    added: Vec<Added>,
    positions: FxHashMap<String, usize>,
}

impl Adoption {
    /// Adds the judgements of `rows` to `set`. `sheet` is the file name in messages. `version` is the
    /// version of the new set. Default: the old version followed by `+adopted`.
    ///
    /// # Errors
    /// All problems of the rows.
    pub fn of(
        set: &GoldSet,
        sheet: &str,
        rows: Vec<FilledRow>,
        grades: GradeSource,
        version: Option<&str>,
    ) -> Result<Self, GoldError> {
        let mut adoption = Self {
            set: set.clone(),
            annotated: 0,
            from_production: 0,
            new_queries: 0,
            already_judged: 0,
            open: 0,
            beyond_scale: 0,
        };
        let mut work = Work {
            set,
            sheet,
            problems: Problems::default(),
            targets: Vec::new(),
            known: FxHashMap::default(),
            new: FxHashMap::default(),
        };
        for row in rows {
            let from_production = row.production_grade.filter(|_| row.grade.is_none());
            let grade = match grades {
                GradeSource::Annotated => row.grade,
                GradeSource::AnnotatorsOrProduction => row.grade.or(from_production),
            };
            match grade {
                Some(grade) => work.take(row, grade, from_production.is_some(), &mut adoption),
                None => adoption.open += 1,
            }
        }
        work.finish(&mut adoption, version)?;
        Ok(adoption)
    }
}

/// Location of a line of the sheet. Line 0 means that the row is not from a file.
fn place_in(sheet: &str, line: usize) -> Place {
    Place {
        file: sheet.into(),
        line: (line > 0).then_some(line),
    }
}

struct Work<'a> {
    set: &'a GoldSet,
    sheet: &'a str,
    problems: Problems,
    targets: Vec<Target>,
    /// Targets by the position of the query in the set.
    known: FxHashMap<usize, usize>,
    /// New targets by key (`true`), or by normalised text if they have no key (`false`).
    new: FxHashMap<(bool, String), usize>,
}

impl Work<'_> {
    fn place(&self, line: usize) -> Place {
        place_in(self.sheet, line)
    }

    fn row_error(&mut self, line: usize, reason: &str) {
        self.problems.push(Problem::Row {
            place: self.place(line),
            reason: reason.to_owned(),
        });
    }

    /// Adds the judgement of a row. `is_production` is true if the grade is from production.
    fn take(&mut self, row: FilledRow, grade: Grade, is_production: bool, adoption: &mut Adoption) {
        let line = row.line;
        if row.document_id.trim().is_empty() {
            return self.row_error(line, "a grade without a `document_id`");
        }
        let Some(target) = self.target(&row) else {
            return;
        };
        let beyond = self.set.stated.scale_max.filter(|max| grade > *max);
        if beyond.is_some() && is_production {
            adoption.beyond_scale += 1;
            return;
        }
        let (place, sheet) = (self.place(line), self.sheet);
        let Some(target) = self.targets.get_mut(target) else {
            return;
        };
        if let Some(scale_max) = beyond {
            self.problems.push(Problem::BeyondScale {
                place,
                key: target.name.clone(),
                document: row.document_id,
                grade,
                scale_max,
            });
            return;
        }
        let known = target.known.and_then(|at| self.set.queries.get(at));
        let in_set = known.and_then(|query| query.judgements.find(&row.document_id));
        let in_sheet = target.positions.get(&row.document_id).copied();
        let in_sheet = in_sheet.and_then(|at| target.added.get(at));
        let before = match (in_set, in_sheet) {
            (Some((_, grade)), _) => {
                let place = target.known.and_then(|at| self.set.place(at));
                Some((grade, place.cloned()))
            }
            (None, Some(added)) => Some((added.grade, Some(place_in(sheet, added.line)))),
            (None, None) => None,
        };
        match before {
            Some((other, first)) if other != grade && !is_production => {
                self.problems.push(Problem::Contradiction {
                    first: first.unwrap_or_else(|| place.clone()),
                    place,
                    key: target.name.clone(),
                    document: row.document_id,
                    grade,
                    other,
                });
            }
            Some(_) => adoption.already_judged += 1,
            None => {
                if is_production {
                    adoption.from_production += 1;
                } else {
                    adoption.annotated += 1;
                }
                let detail = JudgementDetail {
                    notes: Some(row.origin()),
                    annotations: row.annotations,
                    ..JudgementDetail::default()
                };
                let position = target.added.len();
                target.positions.insert(row.document_id.clone(), position);
                target.added.push(Added {
                    document: row.document_id,
                    grade,
                    detail,
                    line,
                });
            }
        }
    }

    /// Returns the target of a row; `None` after a problem.
    fn target(&mut self, row: &FilledRow) -> Option<usize> {
        let text = Some(row.query_text.as_str()).filter(|text| !text.trim().is_empty());
        let key = Some(row.query_id.as_str()).filter(|key| !key.trim().is_empty());
        let by_key = key.and_then(|key| self.set.find(Some(key), None));
        let by_text = text.and_then(|text| self.set.find(None, text.into()));
        if let (Some(index), Some(other)) = (by_key, by_text)
            && index != other
        {
            let place = self.place(row.line);
            let first = self.set.place(other.position()).cloned();
            self.problems.push(Problem::DuplicateText {
                first: first.unwrap_or_else(|| place.clone()),
                place,
                text: row.query_text.clone(),
                key: row.query_id.clone(),
                other: self.set.query(other).key.clone(),
            });
            return None;
        }
        let found = by_key.or(by_text.filter(|_| key.is_none()));
        if let Some(index) = found {
            return self.known_target(index, row.line);
        }
        let Some(name) = key.or(text) else {
            self.row_error(
                row.line,
                "a grade without a query; fill in `query_id` or `query_text`",
            );
            return None;
        };
        let lookup_key = match key {
            Some(key) => (true, key.to_owned()),
            None => (false, normalise(name).into_owned()),
        };
        let next = self.targets.len();
        let target = *self.new.entry(lookup_key).or_insert(next);
        let Some(known) = self.targets.get_mut(target) else {
            self.targets.push(Target {
                known: None,
                name: name.to_owned(),
                has_key: key.is_some(),
                text: text.map(str::to_owned),
                line: row.line,
                added: Vec::new(),
                positions: FxHashMap::default(),
            });
            return Some(next);
        };
        let before = known.text.as_deref().map(normalise);
        match (before, text.map(normalise)) {
            (Some(before), Some(text)) if before != text => {
                let reason = format!(
                    "the new query `{name}` has another `query_text` at line {}; keep one of the two",
                    known.line
                );
                self.row_error(row.line, &reason);
                return None;
            }
            (None, Some(_)) => known.text = text.map(str::to_owned),
            _ => {}
        }
        Some(target)
    }

    fn known_target(&mut self, index: QueryIndex, line: usize) -> Option<usize> {
        let query = self.set.query(index);
        if query.by_text {
            self.row_error(
                line,
                &format!(
                    "query `{}` is judged by gold texts, and a document cannot be added to it",
                    query.key
                ),
            );
            return None;
        }
        let next = self.targets.len();
        let target = *self.known.entry(index.position()).or_insert(next);
        if target == next {
            self.targets.push(Target {
                known: Some(index.position()),
                name: query.key.clone(),
                has_key: true,
                text: None,
                line,
                added: Vec::new(),
                positions: FxHashMap::default(),
            });
        }
        Some(target)
    }

    /// Adds all targets to the set.
    fn finish(mut self, adoption: &mut Adoption, version: Option<&str>) -> Result<(), GoldError> {
        let set = &mut adoption.set;
        let added = self.targets.iter().flat_map(|target| &target.added);
        let highest = added.map(|added| added.grade).max();
        let scale_max = self
            .set
            .stated
            .scale_max
            .or(self.set.scale_max.max(highest));
        let scale = Scale {
            level: self.set.relevance_level,
            max: scale_max.unwrap_or(Grade::ZERO),
        };
        let mut targets = std::mem::take(&mut self.targets);
        // Targets with an explicit key take precedence over keys derived from texts.
        targets.sort_by_key(|target| !target.has_key);
        for target in targets.into_iter().filter(|it| !it.added.is_empty()) {
            let known = target.known.and_then(|at| set.queries.get_mut(at));
            if let Some(query) = known {
                extend(query, target.added, scale);
                continue;
            }
            let mut query = GoldQuery {
                key: if target.has_key {
                    target.name
                } else {
                    free_key(set, target.name)
                },
                text: target.text,
                ..empty_query(scale)
            };
            extend(&mut query, target.added, scale);
            let place = self.place(target.line);
            set.queries.push(query);
            validate::index(set, place, &mut self.problems);
            adoption.new_queries += 1;
        }
        if let Some(error) = self.problems.into_error() {
            return Err(error.about("the sheet"));
        }
        if set.scale_max != scale_max {
            set.scale_max = scale_max;
            for query in &mut set.queries {
                let judgements = query.judgements.clone();
                query.judgements = judgements.with_scale_max(scale_max.unwrap_or(Grade::ZERO));
            }
        }
        if adoption.annotated + adoption.from_production > 0 {
            // Scores by the two sets are not comparable: their versions must differ.
            let old = set.stated.version.as_deref();
            let marked = old.map(|old| format!("{old}+adopted"));
            set.stated.version = version.map(str::to_owned).or(marked);
            if let Some(version) = &set.stated.version {
                set.version.clone_from(version);
            }
        }
        Ok(())
    }
}

/// Derives an unused key from the text of a query: the text, with a number appended if another
/// query has that key.
fn free_key(set: &GoldSet, text: String) -> String {
    let is_free = |key: &String| !set.by_key.contains_key(&hash_text(key));
    let numbered = (2_u64..).map(|number| format!("{text} ({number})"));
    let mut keys = std::iter::once(text.clone()).chain(numbered);
    keys.find(is_free).unwrap_or(text)
}

/// Returns a query with default fields.
fn empty_query(scale: Scale) -> GoldQuery {
    GoldQuery {
        key: String::new(),
        text: None,
        aliases: Vec::new(),
        labels: BTreeMap::new(),
        total_relevant: None,
        judgements: scale.judgements(Vec::new()),
        details: Details::default(),
        subtopics: None,
        needs: BTreeMap::new(),
        expected: BTreeMap::new(),
        required: Vec::new(),
        answer: ExpectedAnswer::default(),
        graph: None,
        texts: Vec::new(),
        by_text: false,
    }
}

/// Relevance level and highest grade of the new set.
#[derive(Clone, Copy)]
struct Scale {
    level: Grade,
    max: Grade,
}

impl Scale {
    fn judgements(self, documents: Vec<(Box<str>, Grade)>) -> Judgements {
        Judgements::new(self.level, documents)
            .expect("invariant: only documents that are not judged were added, each once")
            .with_scale_max(self.max)
    }
}

/// Adds judgements to a query.
fn extend(query: &mut GoldQuery, added: Vec<Added>, scale: Scale) {
    let before = query.judgements.documents();
    let mut all: Vec<(Box<str>, Grade)> = before
        .into_iter()
        .map(|(document, grade)| (Box::from(document), grade))
        .collect();
    query
        .details
        .resize_with(all.len(), JudgementDetail::default);
    for added in added {
        all.push((added.document.into(), added.grade));
        query.details.push(added.detail);
    }
    query.judgements = scale.judgements(all);
    // A stated count is outdated by the added judgements: replace it.
    let counted = u64::try_from(query.judgements.relevant(None)).ok();
    query.total_relevant = query.total_relevant.and(counted);
}
