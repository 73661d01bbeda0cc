//! Values of a starter configuration.

/// Values that the starter configuration states.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Format of the search topic: `native` or `ubi`.
    pub format: &'static str,
    /// Labels for slices, with their number of values.
    pub slices: Vec<(String, usize)>,
    /// Measures.
    pub measures: Vec<String>,
    /// Field that identifies the judged document.
    pub judge_by: &'static str,
    /// Maximum number of results of one search.
    pub results_per_search: usize,
    /// Maximum size of a record in bytes.
    pub record_bytes: usize,
    /// Maximum number of values of one label.
    pub values_per_label: usize,
    /// Sentences about the sample.
    pub findings: Vec<String>,
    /// Gold queries: text and document to judge.
    pub queries: Vec<(String, String)>,
}

impl Default for Proposal {
    fn default() -> Self {
        let text = |text: &str| text.to_owned();
        Self {
            format: "native",
            slices: vec![(text("query_type"), 2), (text("difficulty"), 2)],
            measures: [
                "P@5",
                "R@10",
                "nDCG@10",
                "RR",
                "CTR",
                "Abandoned",
                "ZeroResult",
            ]
            .map(text)
            .to_vec(),
            judge_by: "id",
            results_per_search: 10_000,
            record_bytes: 1 << 20,
            values_per_label: 200,
            findings: Vec::new(),
            queries: vec![
                (text("용도지역 변경 절차"), text("국토계획법_제36조")),
                (text("건폐율이란?"), text("국토계획법_제77조")),
                (text("opening hours"), text("contact-page")),
            ],
        }
    }
}
