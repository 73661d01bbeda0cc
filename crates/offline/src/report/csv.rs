//! Scores in long form: `run,slice,value,measure,score,queries`, RFC 4180, in full precision.
//!
//! Ids are written unchanged, even if a spreadsheet would interpret them as a formula.

use super::micro_averages;
use crate::evaluate::Evaluation;

/// Column names. `slice` and `value` are empty for a whole run, the label and its value for a
/// slice, and [`QUERY`] and the query's key for one query. `score` is empty if it is undefined.
/// `queries` is the number of queries that the row covers.
const COLUMNS: [&str; 6] = ["run", "slice", "value", "measure", "score", "queries"];

/// Value of `slice` in the row of one query.
const QUERY: &str = "query_key";

/// Writes the scores of all runs.
pub(super) fn write(evaluation: &Evaluation, per_query: bool) -> String {
    const IN_MEMORY: &str = "invariant: memory takes every record of six fields";
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).expect(IN_MEMORY);
    let mut row = |run: &str, part: [&str; 2], measure: &str, score: Option<f64>, queries| {
        let score = score.map_or_else(String::new, |score| score.to_string());
        let [slice, value] = part;
        let queries: usize = queries;
        writer
            .write_record([run, slice, value, measure, &score, &queries.to_string()])
            .expect(IN_MEMORY);
    };
    for run in &evaluation.runs {
        let queries = run.queries.len();
        for (measure, mean) in evaluation.measures.iter().zip(&run.means) {
            row(&run.name, ["", ""], measure, *mean, queries);
        }
        for micro in &run.micro {
            for (name, average) in micro_averages(micro) {
                let measure = format!("micro {name}@{}", micro.cutoff);
                row(&run.name, ["", ""], &measure, average, queries);
            }
        }
        for slice in &run.by {
            for value in &slice.values {
                let part = [slice.name.as_str(), value.value.as_str()];
                for (measure, mean) in evaluation.measures.iter().zip(&value.means) {
                    row(&run.name, part, measure, *mean, value.queries);
                }
            }
        }
        if per_query {
            for query in &run.queries {
                let part = [QUERY, query.key.as_str()];
                for (measure, score) in evaluation.measures.iter().zip(&query.scores) {
                    row(&run.name, part, measure, *score, 1);
                }
            }
        }
    }
    let bytes = writer.into_inner().expect(IN_MEMORY);
    String::from_utf8(bytes).expect("invariant: all fields are UTF-8")
}
