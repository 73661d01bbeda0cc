//! HTML page of estimates, in one file.

use maud::{DOCTYPE, html};
use rankgauge_core::number::percent;

use super::report::LabelReport;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse}th,td{padding:.3rem .8rem;border-bottom:1px solid #8884;text-align:right}\
th:first-child,td:first-child{text-align:left}";

/// Writes the page.
pub fn page(report: &LabelReport) -> String {
    let number = |value: f64| format!("{value:+.3}");
    let interval = |[low, high]: [f64; 2]| format!("{low:+.3} to {high:+.3}");
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Quality from labels" }
                style { (STYLE) }
            }
            body {
                h1 { "Quality from labels" }
                table {
                    thead {
                        tr {
                            th scope="col" { "Value" }
                            th scope="col" { "Estimate" }
                            th scope="col" { "Interval, looked at once" }
                            th scope="col" { "Interval, any time" }
                            th scope="col" { "Labels" }
                            th scope="col" { "Skipped" }
                        }
                    }
                    tbody {
                        @for estimate in &report.estimates {
                            tr {
                                td {
                                    (estimate.measure) " of " (estimate.variant)
                                    @if let Some(against) = &estimate.against { " - " (against) }
                                }
                                td { (number(estimate.estimate)) }
                                td { (interval(estimate.once)) }
                                td { (interval(estimate.any_time)) }
                                td { (estimate.labels) " of " (estimate.rows) }
                                td { (estimate.skipped) }
                            }
                        }
                    }
                }
                @if let Some(judge) = &report.judge {
                    h2 { "Judge " (judge.id) }
                    p {
                        "Cohen's kappa: "
                        @match judge.kappa {
                            Some(kappa) => (format!("{kappa:.2}")),
                            None => "undefined",
                        }
                        ". Errors, which the estimates correct:"
                    }
                    ul {
                        @for (name, error) in &judge.error {
                            li { (name) ": " (number(*error)) }
                        }
                    }
                }
                @if let Some(both) = &report.annotators {
                    p {
                        "Two annotators graded " (both.rows) " rows: "
                        (percent(both.equal, 0)) " equal"
                        @if let Some(kappa) = both.kappa { ", kappa " (format!("{kappa:.2}")) }
                    }
                }
                p {
                    "The intervals of 95 % are about the sampled traffic, not about future traffic or \
                     errors of annotators."
                }
            }
        }
    };
    markup.into_string()
}
