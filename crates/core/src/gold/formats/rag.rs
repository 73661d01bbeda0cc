//! Parser of the gold data set of the RAG metric design: a list of queries with chunk ids by
//! relevance.
//!
//! ```json
//! [{"query_id": "Q001", "query": "환불 받을 수 있나요?", "query_type": "general_inquiry",
//!   "expected_doc_types": ["law"], "relevant_chunk_ids": ["case:12345::chunk0", "case:6::chunk1"],
//!   "highly_relevant_chunk_ids": ["case:12345::chunk0"], "irrelevant_chunk_ids": ["law:100::chunk0"],
//!   "metadata": {"difficulty": "easy"}}]
//! ```
//!
//! Grades are 2 for highly relevant, 1 for relevant and 0 for irrelevant chunks. Most highly
//! relevant chunks are listed as relevant too.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::draft::{Draft, QueryDraft};
use super::json::{JsonError, Source, StringOrInteger, each_query, parse, scalar, words};
use super::judgements::JudgementDraft;
use crate::gold::judgements::Grade;
use crate::gold::problem::{Place, Problems};

#[derive(Deserialize)]
struct RagQuery {
    query_id: StringOrInteger,
    #[serde(alias = "query_text")]
    query: Option<String>,
    query_type: Option<StringOrInteger>,
    expected_doc_types: Option<Vec<StringOrInteger>>,
    relevant_chunk_ids: Option<Vec<StringOrInteger>>,
    highly_relevant_chunk_ids: Option<Vec<StringOrInteger>>,
    irrelevant_chunk_ids: Option<Vec<StringOrInteger>>,
    metadata: Option<BTreeMap<String, Value>>,
}

/// Parses a list of queries, or a single query.
pub(super) fn read(source: &Source<'_>, problems: &mut Problems) -> Draft {
    let mut draft = Draft::new(source.file.place(None));
    let take = |line: usize, text: &str| -> Result<(), JsonError> {
        let query: RagQuery = parse(text)?;
        let place = source.file.place(Some(line));
        draft.queries.push(query.into_draft(place)?);
        Ok(())
    };
    let what = "a query, which is an object with `query_id` and `relevant_chunk_ids`";
    each_query(source, what, problems, take);
    draft
}

impl RagQuery {
    fn into_draft(self, place: Place) -> Result<QueryDraft, JsonError> {
        let lists = [
            &self.relevant_chunk_ids,
            &self.highly_relevant_chunk_ids,
            &self.irrelevant_chunk_ids,
        ];
        if lists.iter().all(|list| list.is_none()) {
            return Err(JsonError::missing("relevant_chunk_ids"));
        }
        let relevant = words(self.relevant_chunk_ids.unwrap_or_default());
        let highly = words(self.highly_relevant_chunk_ids.unwrap_or_default());
        let irrelevant = words(self.irrelevant_chunk_ids.unwrap_or_default());
        let listed: BTreeSet<&String> = relevant.iter().collect();
        let top: BTreeSet<&String> = highly.iter().collect();
        let mut judgements = Vec::with_capacity(relevant.len() + irrelevant.len());
        let mut judge = |document: &String, grade| {
            judgements.push(JudgementDraft::new(document.clone(), grade));
        };
        for document in &relevant {
            let is_top = top.contains(document);
            judge(document, if is_top { Grade::TWO } else { Grade::ONE });
        }
        for document in highly.iter().filter(|id| !listed.contains(id)) {
            judge(document, Grade::TWO);
        }
        for document in &irrelevant {
            judge(document, Grade::ZERO);
        }

        let metadata = self.metadata.unwrap_or_default().into_iter();
        let mut labels: BTreeMap<String, String> = metadata
            .filter_map(|(name, value)| Some((name, scalar(value)?)))
            .collect();
        if let Some(query_type) = self.query_type {
            labels.insert("query_type".to_owned(), query_type.0);
        }
        let mut expected = BTreeMap::new();
        if let Some(types) = self.expected_doc_types {
            expected.insert("doc_type".to_owned(), words(types));
        }
        Ok(QueryDraft {
            text: self.query,
            labels,
            judgements: judgements.into_iter().collect(),
            expected,
            ..QueryDraft::new(place, self.query_id.0)
        })
    }
}
