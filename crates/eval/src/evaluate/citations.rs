//! Answer of a query, as reports show it: its citations with their grades. The text of an answer is judged and kept
//! nowhere.

use serde::Serialize;

use rankgauge_core::gold::Grade;
use rankgauge_core::ranking::Judged;

/// Answer to one query, without its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueryAnswer {
    /// True if the model declined to answer.
    pub refused: bool,
    /// Cited documents in the order of the answer, each once.
    pub citations: Vec<QueryCitation>,
}

/// Document that an answer cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueryCitation {
    /// Id as it is cited.
    pub id: String,
    /// Grade; `None` for an unjudged document.
    pub grade: Option<Grade>,
    /// False if the document was neither among the results nor in the context: an invention.
    pub served: bool,
}

impl QueryAnswer {
    /// Answer of a judged search; `None` without one.
    pub(crate) fn of(judged: &Judged<'_>) -> Option<Self> {
        let answer = judged.answer()?;
        let citations = answer.cited().iter().map(|cited| QueryCitation {
            id: cited.id.to_string(),
            grade: cited.judged.map(|(_, grade)| grade),
            served: cited.is_served,
        });
        Some(Self {
            refused: answer.answer.is_refusal(),
            citations: citations.collect(),
        })
    }
}
