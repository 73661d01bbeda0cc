//! Judgements of one query in a file, with repeated documents set aside.
//!
//! Documents are stored as the set keeps them, so that assembly moves them. This module must not know
//! the syntax of a file.

use std::borrow::Cow;
use std::num::NonZeroU32;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::gold::documents::{Columns, Documents, Span};
use crate::gold::judgements::Grade;
use crate::gold::normal_form::composed;
use crate::gold::query::JudgementDetail;

/// Line of a judgement, in formats with one line per judgement.
type Line = Option<NonZeroU32>;

/// Judgement of one (query, document) pair in a file.
#[derive(Debug)]
pub(in crate::gold) struct JudgementDraft<'a> {
    line: Line,
    document: Cow<'a, str>,
    grade: Grade,
    /// Fields other than the grade. Most judgements have none.
    detail: Option<Box<JudgementDetail>>,
}

impl<'a> JudgementDraft<'a> {
    /// Returns a judgement without further fields.
    pub(in crate::gold) fn new(document: impl Into<Cow<'a, str>>, grade: Grade) -> Self {
        Self {
            line: None,
            document: document.into(),
            grade,
            detail: None,
        }
    }

    /// Size of the document id.
    pub(super) fn bytes(&self) -> usize {
        self.document.len()
    }

    /// Returns the judgement with its line.
    pub(super) fn on_line(self, line: usize) -> Self {
        Self {
            line: u32::try_from(line).ok().and_then(NonZeroU32::new),
            ..self
        }
    }

    /// Id of the document.
    pub(in crate::gold) fn document(&self) -> &str {
        &self.document
    }

    /// Grade of the document.
    pub(in crate::gold) fn grade(&self) -> Grade {
        self.grade
    }

    /// 1-based line of the judgement, if it is known.
    pub(in crate::gold) fn line(&self) -> Option<usize> {
        usize::try_from(self.line?.get()).ok()
    }

    /// Returns the judgement with a composed document id.
    pub(in crate::gold) fn composed(self) -> Self {
        Self {
            document: composed(self.document),
            ..self
        }
    }

    fn into_owned(self) -> JudgementDraft<'static> {
        JudgementDraft {
            line: self.line,
            document: Cow::Owned(self.document.into_owned()),
            grade: self.grade,
            detail: self.detail,
        }
    }

    /// Returns the judgement with further fields.
    pub(super) fn with_detail(mut self, detail: JudgementDetail) -> Self {
        self.detail = (!detail.is_empty()).then(|| Box::new(detail));
        self
    }
}

/// Judgements of one query in a file, by the parts of the file that contain them.
#[derive(Debug, Default)]
pub(in crate::gold) struct JudgementDrafts(SmallVec<[Judged; 1]>);

/// Judgements of one query in a part of a file.
#[derive(Debug, Default)]
pub(in crate::gold) struct Judged {
    pub(in crate::gold) documents: Documents,
    /// Fields of each document other than the grade. Empty if no judgement has any.
    pub(in crate::gold) details: Vec<JudgementDetail>,
    /// Judgements of documents that are already judged, in their order.
    pub(in crate::gold) repeated: Vec<Repeated>,
    /// Lines of the documents in the columns.
    lines: Arc<Vec<Line>>,
}

/// Judgement of a document that is already judged.
#[derive(Debug)]
pub(in crate::gold) struct Repeated {
    /// Number of the document.
    pub(in crate::gold) number: usize,
    /// Number of documents before this judgement.
    pub(in crate::gold) position: usize,
    pub(in crate::gold) line: Line,
    pub(in crate::gold) grade: Grade,
}

impl JudgementDrafts {
    /// Returns true without judgements.
    pub(in crate::gold) fn is_empty(&self) -> bool {
        self.0.iter().all(|part| part.documents.len() == 0)
    }

    /// Highest grade. `None` without judgements.
    pub(in crate::gold) fn highest(&self) -> Option<Grade> {
        let grades = self.0.iter().flat_map(|part| {
            let repeated = part.repeated.iter().map(|repeated| repeated.grade);
            repeated.chain(part.documents.descending().first().copied())
        });
        grades.max()
    }

    /// Adds the judgements of a later part of the file.
    pub(super) fn append(&mut self, part: Self) {
        self.0.extend(part.0);
    }

    /// Judgements in their order.
    pub(in crate::gold) fn drafts(&self) -> impl Iterator<Item = JudgementDraft<'static>> {
        let judgements = self.0.iter().flat_map(Judged::judgements);
        judgements.map(JudgementDraft::into_owned)
    }

    /// Returns the judgements of all parts together.
    pub(in crate::gold) fn into_judged(mut self) -> Judged {
        if self.0.len() <= 1 {
            return self.0.pop().unwrap_or_default();
        }
        let judgements = self.0.iter().flat_map(Judged::judgements);
        let together: Self = judgements.collect();
        together.into_judged()
    }
}

impl<'a> FromIterator<JudgementDraft<'a>> for JudgementDrafts {
    fn from_iter<T: IntoIterator<Item = JudgementDraft<'a>>>(judgements: T) -> Self {
        let mut judgements: Vec<JudgementDraft<'a>> = judgements.into_iter().collect();
        let mut builder = Builder::default();
        let bytes = judgements.iter().map(JudgementDraft::bytes).sum();
        builder.reserve(judgements.len(), bytes);
        builder.add(judgements.iter_mut());
        builder.finish().next().unwrap_or_default()
    }
}

impl Judged {
    /// Line of a document by its number.
    pub(in crate::gold) fn line(&self, number: usize) -> Line {
        let lines = self.documents.of(&self.lines);
        lines.get(number).copied().flatten()
    }

    /// Judgements in their order. Judgements of documents that are already judged lack further fields.
    fn judgements(&self) -> Vec<JudgementDraft<'_>> {
        let draft = |number, grade, line| {
            let document = self.documents.id(number).unwrap_or_default();
            JudgementDraft {
                line,
                ..JudgementDraft::new(document, grade)
            }
        };
        let mut all = Vec::new();
        let mut repeated = self.repeated.iter().peekable();
        for (position, grade) in self.documents.grades().iter().enumerate() {
            while let Some(again) = repeated.next_if(|it| it.position == position) {
                all.push(draft(again.number, again.grade, again.line));
            }
            let judgement = draft(position, *grade, self.line(position));
            all.push(match self.details.get(position) {
                Some(detail) => judgement.with_detail(detail.clone()),
                None => judgement,
            });
        }
        all.extend(repeated.map(|again| draft(again.number, again.grade, again.line)));
        all
    }
}

/// Builder of the judgements of several queries.
#[derive(Default)]
pub(super) struct Builder {
    columns: Columns,
    lines: Vec<Line>,
    queries: Vec<(Span, Vec<JudgementDetail>, Vec<Repeated>)>,
}

impl Builder {
    /// Reserves capacity for `count` judgements with ids of `bytes` bytes in total.
    pub(super) fn reserve(&mut self, count: usize, bytes: usize) {
        self.columns.reserve(count, bytes);
        self.lines.reserve(count);
    }

    /// Adds the judgements of the next query.
    pub(super) fn add<'j, 'a: 'j>(
        &mut self,
        judgements: impl ExactSizeIterator<Item = &'j mut JudgementDraft<'a>>,
    ) {
        let mut span = self.columns.begin(judgements.len());
        let mut details = Vec::new();
        let mut repeated = Vec::new();
        for judgement in judgements {
            let JudgementDraft { line, grade, .. } = *judgement;
            let detail = judgement.detail.take();
            let position = span.len();
            if detail.is_some() {
                details.resize_with(position, JudgementDetail::default);
            }
            let inserted = self.columns.insert(&mut span, &judgement.document, grade);
            match inserted {
                Ok(()) => {
                    self.lines.push(line);
                    if detail.is_some() || !details.is_empty() {
                        details.push(detail.map(|detail| *detail).unwrap_or_default());
                    }
                }
                Err(number) => repeated.push(Repeated {
                    number,
                    position,
                    line,
                    grade,
                }),
            }
        }
        self.columns.end(&span);
        self.queries.push((span, details, repeated));
    }

    /// Returns the judgements of each query.
    pub(super) fn finish(self) -> impl Iterator<Item = JudgementDrafts> {
        let (columns, lines) = (Arc::new(self.columns), Arc::new(self.lines));
        self.queries
            .into_iter()
            .map(move |(span, details, repeated)| {
                JudgementDrafts(smallvec![Judged {
                    documents: Documents::new(Arc::clone(&columns), span),
                    details,
                    repeated,
                    lines: Arc::clone(&lines),
                }])
            })
    }
}
