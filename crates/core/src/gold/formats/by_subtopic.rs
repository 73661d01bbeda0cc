//! Judgements of documents for subtopics of their queries, row by row.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::draft::{Draft, SourceFile, SubtopicDraft};
use super::rows::Rows;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Problem, Problems};

/// Judgement of a document, mostly for a subtopic.
pub(in crate::gold) struct Judged<'t> {
    pub(in crate::gold) line: usize,
    pub(in crate::gold) key: Cow<'t, str>,
    pub(in crate::gold) subtopic: Option<Cow<'t, str>>,
    pub(in crate::gold) document: Cow<'t, str>,
    pub(in crate::gold) grade: Grade,
}

/// Judgements of one document of a query.
struct Document<'t> {
    key: Cow<'t, str>,
    id: Cow<'t, str>,
    line: usize,
    grades: Vec<(Option<Cow<'t, str>>, Grade)>,
}

/// Judgements by document.
#[derive(Default)]
pub(in crate::gold) struct BySubtopic<'t> {
    documents: Vec<Document<'t>>,
    positions: FxHashMap<(Cow<'t, str>, Cow<'t, str>), usize>,
}

impl<'t> BySubtopic<'t> {
    /// Adds a judgement. One of a document that is judged for the same subtopic is a problem.
    pub(in crate::gold) fn add(
        &mut self,
        file: &SourceFile,
        judged: Judged<'t>,
        problems: &mut Problems,
    ) {
        let Judged {
            line,
            key,
            subtopic,
            document: id,
            grade,
        } = judged;
        let place = (key.clone(), id.clone());
        let position = *self.positions.entry(place).or_insert(self.documents.len());
        match self.documents.get_mut(position) {
            Some(document) if document.grades.iter().any(|(it, _)| *it == subtopic) => {
                problems.push(Problem::RepeatedDocument {
                    place: file.place(Some(line)),
                    key: key.into_owned(),
                    document: id.into_owned(),
                    first: file.place(Some(document.line)),
                });
            }
            Some(document) => document.grades.push((subtopic, grade)),
            None => self.documents.push(Document {
                key,
                id,
                line,
                grades: vec![(subtopic, grade)],
            }),
        }
    }

    /// Draft of the judgements. The grade of a document is its highest one. `rows` has queries without
    /// judgements.
    pub(in crate::gold) fn into_draft(self, mut rows: Rows<'t>, file: &SourceFile) -> Draft {
        let mut subtopics: FxHashMap<Cow<'t, str>, Vec<SubtopicDraft>> = FxHashMap::default();
        for document in self.documents {
            let Document {
                key,
                id,
                line,
                grades,
            } = document;
            if let Some(highest) = grades.iter().map(|(_, grade)| *grade).max() {
                rows.judge(key.clone(), line, id.clone(), highest);
            }
            let of_query = subtopics.entry(key).or_default();
            of_query.extend(grades.into_iter().filter_map(|(subtopic, grade)| {
                Some(SubtopicDraft {
                    document: id.clone().into_owned(),
                    subtopic: subtopic?.into_owned(),
                    grade,
                })
            }));
        }
        let mut draft = rows.into_draft(file);
        for query in &mut draft.queries {
            query.subtopics = subtopics.remove(query.key.as_str()).unwrap_or_default();
        }
        draft
    }
}
