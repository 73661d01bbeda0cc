//! Names of the gold formats.

use std::fmt;
use std::str::FromStr;

/// Format of gold files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON with a list `queries`: the format of rankgauge and of the law-search methodology.
    Native,
    /// JSON list of queries with `relevant_chunk_ids`, as in the RAG metric design.
    Rag,
    /// JSON list of queries with `relevant_articles`, as in the multi-agent evaluation plan.
    Plan,
    /// TREC relevance judgements, `query iteration document grade`, with the query texts in a
    /// `.tsv` file in the same folder.
    Qrels,
    /// A tsv with the header `query-id corpus-id score`, with the query texts in `queries.jsonl`
    /// in the same folder or the parent folder.
    Beir,
    /// Table with a header that names a query, a document and a grade, as the ratings of Quepid with `query`,
    /// `docid` and `rating`.
    Quepid,
    /// Judgements of OpenSearch's Search Relevance Workbench: JSON with `judgmentRatings`.
    Srw,
    /// Request of the ranking evaluation of Elasticsearch: JSON with `requests`.
    RankEval,
    /// Qrels of ranx and pytrec_eval: JSON `{query: {document: grade}}`.
    Ranx,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 9] = [
        Self::Native,
        Self::Rag,
        Self::Plan,
        Self::Qrels,
        Self::Beir,
        Self::Quepid,
        Self::Srw,
        Self::RankEval,
        Self::Ranx,
    ];

    /// Maximum size of a gold file: 256 MiB, more than ten million judgements. A larger file is not a
    /// gold file and would exhaust the memory.
    pub const MAX_FILE_BYTES: usize = 256 << 20;

    /// Facet with the index of a document, in the format `rank_eval`.
    pub const RANK_EVAL_INDEX: &str = "_index";

    /// Name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Rag => "rag",
            Self::Plan => "plan",
            Self::Qrels => "qrels",
            Self::Beir => "beir",
            Self::Quepid => "quepid",
            Self::Srw => "srw",
            Self::RankEval => "rank_eval",
            Self::Ranx => "ranx",
        }
    }
}

/// Error for an unknown format name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown gold format `{name}`; expected one of {}", names())]
pub struct UnknownFormat {
    name: String,
}

fn names() -> String {
    Format::ALL.map(|format| format!("`{format}`")).join(", ")
}

impl FromStr for Format {
    type Err = UnknownFormat;

    /// Parses the name of a format, or the name of a tool that uses the format.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let by_tool = match name {
            "methodology" => Some(Self::Native),
            "trec" => Some(Self::Qrels),
            "opensearch" => Some(Self::Srw),
            "elasticsearch" => Some(Self::RankEval),
            "pytrec_eval" => Some(Self::Ranx),
            _ => Self::ALL.into_iter().find(|format| format.name() == name),
        };
        by_tool.ok_or_else(|| UnknownFormat {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
