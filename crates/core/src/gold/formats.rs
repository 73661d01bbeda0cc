//! Parsers of the gold formats, and the drafts that all of them return.
//!
//! A parser must know its own file only. Queries, texts and documents are checked for duplicates
//! later, over all files.

mod beir;
pub(super) mod by_subtopic;
mod detect;
pub(super) mod draft;
mod edges;
pub(super) mod format;
mod graded;
mod json;
pub(super) mod judgements;
mod lines;
mod ltr;
mod native;
pub(super) mod parts;
mod plan;
mod qrels;
mod quepid_json;
mod rag;
mod rank_eval;
mod ranx;
pub(super) mod rows;
mod rre;
pub(super) mod sheet;
mod srw;
mod table;

use sha2::Sha256;

use super::problem::Problems;
use super::set::Options;
use crate::text;
use detect::Content;
use draft::{Draft, SourceFile, text_of};
use format::Format;
use json::Source;
use parts::PartReader;

/// Parses one file in the format and with the columns of `options`. Default: both are detected from the content.
/// `None` after a problem that prevents further parsing.
pub(super) fn read(file: &SourceFile, options: &Options, problems: &mut Problems) -> Option<Draft> {
    let text = text_of(file, &file.bytes, problems)?;
    let source = Source { file, text };
    let columns = options.columns.as_ref();
    let content = detect::content(&source, options, problems)?;
    let draft = match content {
        Content::Native => native::read(&source, problems),
        Content::Rag => Some(rag::read(&source, problems)),
        Content::Plan => Some(plan::read(&source, problems)),
        Content::Qrels => Some(qrels::read_judgements(file, text, problems)),
        Content::Prels => Some(qrels::read_prels(file, text, problems)),
        Content::Ltr => Some(ltr::read(file, text, problems)),
        Content::Topics => Some(qrels::read_topics(file, text, problems)),
        Content::Beir => Some(beir::read_judgements(file, text, problems)),
        Content::BeirQueries => Some(beir::read_queries(file, text, problems)),
        Content::Graded => Some(graded::read(file, text, columns, problems)),
        Content::Texts => Some(graded::read_texts(file, text, problems)),
        Content::QuepidBook => quepid_json::read_book(&source, problems),
        Content::QuepidCase => quepid_json::read_case(&source, problems),
        Content::Rre => rre::read(&source, problems),
        Content::Srw => srw::read(&source, problems),
        Content::RankEval => rank_eval::read(&source, problems),
        Content::Ranx => Some(ranx::read(&source, problems)),
    }?;
    Some(Draft {
        grades: content.grades(),
        ..draft
    })
}

/// Reads the parts of a large file, which begins with `file`. `None` if it is not in a format that
/// is read in parts, or if a line is wrong.
pub(super) fn read_parts(
    file: &SourceFile,
    source: PartReader,
    options: &Options,
) -> Option<(Draft, Sha256)> {
    let text = text::decode(&file.bytes).ok()?;
    let content = detect::content(&Source { file, text }, options, &mut Problems::default())?;
    (content == Content::Qrels).then(|| qrels::read_parts(file, source))?
}

/// Returns the format of a file whose query texts may be in another file, [`Format::Qrels`] or
/// [`Format::Beir`]; `None` for other formats.
pub(super) fn format_with_separate_texts(bytes: &[u8], options: &Options) -> Option<Format> {
    if options.columns.is_some() {
        return None;
    }
    let bytes = text::without_mark(bytes);
    let mut rows = bytes.split(|byte| *byte == b'\n');
    let has_content = |row: &&[u8]| !matches!(row.trim_ascii(), [] | [b'#', ..]);
    let first = rows.find(has_content)?;
    let first = std::str::from_utf8(first).ok()?;
    match options.format {
        None if beir::is_header(first) => Some(Format::Beir),
        None if qrels::is_judgement(first) => Some(Format::Qrels),
        None => None,
        Some(format) => [Format::Beir, Format::Qrels]
            .into_iter()
            .find(|other| *other == format),
    }
}
