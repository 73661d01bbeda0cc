//! `gold propose`: documents for annotators to judge, proposed from production traffic, or queries
//! from templates.

mod arguments;
mod templates;

use anyhow::anyhow;
use serde::Serialize;

use super::adopt::write_set;
use crate::cli::failure::Failure;
use crate::cli::layout::Page;
use crate::cli::logging;
use crate::config::Config;
use crate::ingest::history::Record;
use rankgauge_core::event::Kind;
use rankgauge_core::gold::GoldSet;
use rankgauge_core::gold::adoption::{Adoption, FilledRow, GradeSource};
use rankgauge_core::number::percent;
use rankgauge_eval::proposal::{
    DEFAULT_MEMORY_LIMIT, DocumentProposal, ProposalOptions, Proposals, QueryProposal, Tally,
};
use rankgauge_eval::text_layout::{Column, TextTable, count_of, escape_controls, truncate};

pub(in crate::cli) use arguments::Propose;
use arguments::{Written, write_sheet};

/// Maximum width of a query text in the text output, in columns.
const MAX_TEXT_COLUMNS: usize = 50;

#[derive(Serialize)]
struct Report<'a> {
    gold_version: &'a str,
    gold_sha256: &'a str,
    #[serde(flatten)]
    proposals: &'a Proposals,
    invalid_searches: u64,
    invalid_feedback: u64,
    sheet: Option<Written>,
    candidate: Option<Written>,
}

/// Counts of invalid records by kind, and the first error of a search.
#[derive(Default)]
struct Invalid {
    counts: [u64; 2],
    first: Option<String>,
}

pub(super) fn run(arguments: &Propose) -> Result<(), Failure> {
    let config = arguments.settings.load()?;
    let _log = logging::start(&config)?;
    if let Some(path) = &arguments.templates {
        return templates::run(arguments, &config, path);
    }
    let gold = arguments.input.set(&arguments.gold, &config)?;
    let mut invalid = Invalid::default();
    let proposals = arguments.proposals(&config, &gold, &mut invalid)?;
    if let (0, Some(first)) = (proposals.searches.read, &invalid.first) {
        let wrong = anyhow!("no search could be read; first: {first}");
        return Err(match arguments.recorded.last {
            None => Failure::Usage(wrong),
            Some(_) => Failure::Running(wrong),
        });
    }
    let (sheet, candidate) = arguments.write(&gold, &proposals)?;
    let [invalid_searches, invalid_feedback] = invalid.counts;
    let report = Report {
        gold_version: gold.version(),
        gold_sha256: gold.sha256(),
        proposals: &proposals,
        invalid_searches,
        invalid_feedback,
        sheet,
        candidate,
    };
    arguments
        .output_format
        .print(|| text(&report, arguments.min_clicks), &report)
}

impl Propose {
    fn proposals(
        &self,
        config: &Config,
        gold: &GoldSet,
        invalid: &mut Invalid,
    ) -> Result<Proposals, Failure> {
        let mut tally = Tally::new(gold, config.engine.judging.judge_by, DEFAULT_MEMORY_LIMIT);
        let mut take = |record: Record<'_>| match record {
            Record::Search(event) => tally.search(event),
            Record::Feedback(event) => tally.feedback(event),
            Record::Rejected { kind, place, why } => {
                let [searches, feedback] = &mut invalid.counts;
                *match kind {
                    Kind::Search => searches,
                    Kind::Feedback => feedback,
                } += 1;
                if kind == Kind::Search && invalid.first.is_none() {
                    invalid.first = Some(format!("{place}: {why}"));
                }
            }
        };
        self.recorded.read(config, &mut take)?;
        Ok(tally.proposals(&ProposalOptions {
            min_clicks: self.min_clicks,
            min_searches: self.min_searches,
            queries: self.limit,
            per_query: self.per_query,
        }))
    }

    /// Writes the requested files.
    fn write(
        &self,
        gold: &GoldSet,
        proposals: &Proposals,
    ) -> Result<(Option<Written>, Option<Written>), Failure> {
        let rows = proposals.rows();
        let mut written = (write_sheet(self, &rows)?, None);
        if let Some(path) = &self.output {
            let rows: Vec<FilledRow> = rows.into_iter().map(FilledRow::from).collect();
            let version = gold.metadata().version.as_ref();
            let version = version.map(|version| format!("{version}+proposed"));
            let grades = GradeSource::AnnotatorsOrProduction;
            let adoption = Adoption::of(gold, "the proposals", rows, grades, version.as_deref())
                .map_err(Failure::running)?;
            write_set(&adoption.set, path, self.force)?;
            written.1 = Some(Written {
                path: path.display().to_string(),
                count: adoption.from_production,
            });
        }
        Ok(written)
    }
}

fn text(report: &Report<'_>, min_clicks: u32) -> String {
    let mut page = Page::default();
    let proposals = report.proposals;
    read_line(&mut page, report);

    let documents = proposals.queries.iter().map(|query| query.documents.len());
    let documents: usize = documents.sum();
    if documents == 0 {
        page.heading("No unjudged document has enough user reactions.");
        page.item(&format!(
            "A document needs clicks, conversions or ratings in at least {min_clicks} searches, or \
             one grade from production; --min-clicks lowers the limit."
        ));
    } else {
        let what = if min_clicks == 0 {
            "Unjudged"
        } else {
            "Unjudged, with user reactions"
        };
        page.heading(&format!(
            "{what}: {} of {}",
            count_of(documents, "document", "documents"),
            count_of(proposals.queries.len(), "query", "queries")
        ));
    }
    for query in &proposals.queries {
        query_lines(&mut page, query);
    }
    more(&mut page, proposals.queries_more);

    if !proposals.unknown_queries.is_empty() {
        page.heading("Searched, but not in the gold set: candidates for new queries");
    }
    for query in &proposals.unknown_queries {
        query_lines(&mut page, query);
    }
    more(&mut page, proposals.unknown_queries_more);

    let production = &proposals.production;
    page.heading("Grades from production");
    match (production.kappa, production.agreement) {
        (Some(kappa), Some(equal)) => page.item(&format!(
            "{} of {} are in the gold set as well; Cohen's kappa of relevant or not is {kappa:.3}, \
             {} agree",
            production.n,
            count_of(production.judged, "judged document", "judged documents"),
            percent(equal, 1)
        )),
        _ if production.judged == 0 => page.item("There are none."),
        _ => page.item(&format!(
            "{}, none of which the gold set judges: their agreement is unknown",
            count_of(production.judged, "judged document", "judged documents")
        )),
    }
    if report.sheet.is_some() || report.candidate.is_some() {
        page.gap();
    }
    if let Some(sheet) = &report.sheet {
        page.line(format_args!(
            "wrote {} to {}; fill in `grade`, then `gold adopt`",
            count_of(sheet.count, "row", "rows"),
            sheet.path
        ));
    }
    if let Some(candidate) = &report.candidate {
        page.line(format_args!(
            "wrote the gold set with {} from production to {}",
            count_of(candidate.count, "judgement", "judgements"),
            candidate.path
        ));
    }
    page.into_text()
}

/// Adds the numbers of records read and of records not used.
fn read_line(page: &mut Page, report: &Report<'_>) {
    let (searches, feedback) = (report.proposals.searches, report.proposals.feedback);
    page.line(format_args!(
        "{} read, {} of queries in the gold set {}",
        count_of(searches.read, "search", "searches"),
        searches.known,
        escape_controls(report.gold_version)
    ));
    page.line(format_args!(
        "{} read, {} of them about a document",
        count_of(feedback.read, "feedback event", "feedback events"),
        feedback.used
    ));
    let notes = [
        (report.invalid_searches, "searches are invalid"),
        (searches.duplicate, "searches were read twice"),
        (report.invalid_feedback, "feedback events are invalid"),
        (feedback.duplicate, "feedback events were read twice"),
        (feedback.orphaned, "feedback events have no matching search"),
        (
            feedback.not_served,
            "reactions are to results that were not served",
        ),
        (
            searches.over_limit,
            "searches were LEFT OUT: memory limit reached; read less",
        ),
        (
            feedback.over_limit,
            "feedback events were LEFT OUT: memory limit reached; read less",
        ),
        (
            searches.documents_over_limit,
            "results were LEFT OUT: memory limit reached; read less",
        ),
    ];
    page.counts(notes.into_iter().filter(|(count, _)| *count > 0));
}

fn query_lines(page: &mut Page, query: &QueryProposal) {
    page.gap();
    let id = query.query_id.as_deref().map(escape_controls);
    let text = query.query_text.as_deref().map(escape_controls);
    let text = text.map(|text| truncate(&text, MAX_TEXT_COLUMNS));
    let name: Vec<String> = [id, text].into_iter().flatten().collect();
    let count = usize::try_from(query.searches).unwrap_or(usize::MAX);
    page.line(format_args!(
        "{}  ({})",
        name.join("  "),
        count_of(count, "search", "searches")
    ));
    if query.documents.is_empty() {
        page.line(format_args!("  nothing was found"));
        return;
    }
    let number = Column::right(1, 6);
    let mut documents = TextTable::new([
        Column::right(0, 8),
        number,
        number,
        number,
        number,
        number,
        number,
        Column::right(1, 5),
        Column::left(2, 0),
    ]);
    documents.row([
        "shown", "clicks", "rate", ">=30s", "conv.", "rating", "pos.", "grade", "document",
    ]);
    for document in &query.documents {
        documents.row(cells(document));
    }
    page.table(&documents);
    more(page, query.documents_more);
}

fn cells(document: &DocumentProposal) -> [String; 9] {
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let rate = document.click_rate.map(|rate| percent(rate, 0));
    let rating = document.rating_mean.map(|mean| format!("{mean:.2}"));
    let position = document.mean_position.map(|mean| format!("{mean:.1}"));
    let grade = document.production_grade.map(|grade| grade.to_string());
    [
        document.searches.to_string(),
        document.clicks.to_string(),
        or_none(rate),
        document.satisfied_clicks.to_string(),
        document.conversions.to_string(),
        or_none(rating),
        or_none(position),
        or_none(grade),
        escape_controls(&document.document_id),
    ]
}

fn more(page: &mut Page, count: usize) {
    if count > 0 {
        page.line(format_args!("  … and {count} more"));
    }
}
