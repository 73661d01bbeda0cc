//! Check of the metrics and labels in a PromQL expression.
//!
//! In Prometheus, a misspelt metric name selects nothing, and a misspelt label merges everything
//! into one series; neither is an error. Here, both are errors, in panels, rules and alert texts.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use promql_parser::label::Labels as GroupingLabels;
use promql_parser::parser::token::{T_BOTTOMK, T_COUNT_VALUES, T_TOPK};
use promql_parser::parser::{self, Call, Expr, LabelModifier, VectorSelector};
use promql_parser::util::{ExprVisitor, walk_expr};
use rankgauge_core::engine::family::{self, Type};

/// Label names.
pub(crate) type Labels = BTreeSet<String>;

/// Labels that Prometheus adds to every series of a target, limited to those in use.
const OF_THE_TARGET: [&str; 4] = ["cluster", "namespace", "job", "instance"];

/// Labels of the alerts of the shipped rules, limited to those in use.
const OF_ALERTS: [&str; 11] = [
    "alertname",
    "alertstate",
    "concern",
    "job",
    "measure",
    "cluster",
    "namespace",
    "severity",
    "slice",
    "value",
    "variant",
];

/// Process metrics of the client library.
const OF_THE_PROCESS: [&str; 7] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_threads",
    "process_virtual_memory_bytes",
];

/// Series names that a query may select, with their labels.
#[derive(Debug)]
pub(crate) struct Series(BTreeMap<String, Labels>);

impl Series {
    /// Series that a sidecar exposes, `up` and `ALERTS`.
    pub(crate) fn exposed() -> Self {
        let mut series = Self(BTreeMap::new());
        for name in OF_THE_PROCESS.into_iter().chain(["up"]) {
            series.add(name, labels(OF_THE_TARGET));
        }
        series.add("ALERTS", labels(OF_ALERTS));
        for family in family::ALL {
            let name = family.full_name();
            let mut known = labels(OF_THE_TARGET);
            known.extend(labels(family.label_names()));
            if family.kind == Type::Histogram {
                series.add(&format!("{name}_sum"), known.clone());
                series.add(&format!("{name}_count"), known.clone());
                known.insert("le".to_owned());
                series.add(&format!("{name}_bucket"), known);
            } else {
                series.add(&name, known);
            }
        }
        series
    }

    /// Adds the series of a recording rule.
    pub(crate) fn add(&mut self, name: &str, labels: Labels) {
        self.0.insert(name.to_owned(), labels);
    }

    /// Labels that the result of `expr` can have.
    ///
    /// # Errors
    /// A sentence about the first unknown metric or label, or about a syntax error.
    pub(crate) fn labels_of(&self, expr: &str) -> Result<Labels, String> {
        let parsed = parser::parse(expr).map_err(|error| format!("{expr}: {error}"))?;
        self.walk(&parsed)
            .map_err(|problem| format!("{expr}: {problem}"))
    }

    fn walk(&self, expr: &Expr) -> Result<Labels, String> {
        match expr {
            Expr::Aggregate(aggregate) => {
                let inner = self.walk(&aggregate.expr)?;
                match &aggregate.modifier {
                    Some(LabelModifier::Include(by)) => {
                        let mut carried = chosen(by, &inner)?;
                        // The values become the label named by the parameter.
                        if let (T_COUNT_VALUES, Some(Expr::StringLiteral(name))) =
                            (aggregate.op.id(), aggregate.param.as_deref())
                        {
                            carried.insert(name.val.clone());
                        }
                        Ok(carried)
                    }
                    Some(LabelModifier::Exclude(without)) => {
                        let dropped = chosen(without, &inner)?;
                        Ok(&inner - &dropped)
                    }
                    // These operators select series and do not change their labels.
                    None if matches!(aggregate.op.id(), T_TOPK | T_BOTTOMK) => Ok(inner),
                    None => Ok(Labels::new()),
                }
            }
            Expr::Binary(binary) => {
                let left = self.walk(&binary.lhs)?;
                let right = self.walk(&binary.rhs)?;
                let matching = binary.modifier.as_ref().and_then(|m| m.matching.as_ref());
                if let Some(matching) = matching {
                    chosen(matching.labels(), &left)?;
                    chosen(matching.labels(), &right)?;
                }
                Ok(&left | &right)
            }
            Expr::Call(call) => self.walk_call(call),
            Expr::Unary(unary) => self.walk(&unary.expr),
            Expr::Paren(paren) => self.walk(&paren.expr),
            Expr::Subquery(subquery) => self.walk(&subquery.expr),
            Expr::VectorSelector(selector) => self.selected(selector),
            Expr::MatrixSelector(matrix) => self.selected(&matrix.vs),
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) => Ok(Labels::new()),
            Expr::Extension(_) => Err("an expression that no Prometheus knows".to_owned()),
        }
    }

    fn walk_call(&self, call: &Call) -> Result<Labels, String> {
        let mut carried = Labels::new();
        for argument in &call.args.args {
            carried.extend(self.walk(argument)?);
        }
        match (call.func.name, call.args.args.as_slice()) {
            ("histogram_quantile", _) => {
                carried.remove("le");
            }
            // The result has labels only for equality matchers.
            ("absent" | "absent_over_time", _) => carried.clear(),
            ("label_replace", [_, target, ..]) => {
                if let Expr::StringLiteral(name) = target.as_ref() {
                    carried.insert(name.val.clone());
                }
            }
            _ => {}
        }
        Ok(carried)
    }

    fn selected(&self, selector: &VectorSelector) -> Result<Labels, String> {
        let name = selector.name.as_deref().unwrap_or_default();
        let known = self.0.get(name).ok_or_else(|| {
            format!("{name:?} is no metric that rankgauge exposes or a rule records")
        })?;
        let matchers = &selector.matchers;
        for matcher in matchers
            .matchers
            .iter()
            .chain(matchers.or_matchers.iter().flatten())
        {
            if !known.contains(&matcher.name) {
                return Err(format!(
                    "{name} has no label {:?}, only {known:?}",
                    matcher.name
                ));
            }
        }
        Ok(known.clone())
    }
}

/// `grouping` as a set, if the operand has all of its labels.
fn chosen(grouping: &GroupingLabels, carried: &Labels) -> Result<Labels, String> {
    let wanted = labels(grouping.labels.iter().map(String::as_str));
    match wanted.difference(carried).next() {
        Some(missing) => Err(format!(
            "groups by {missing:?}, but its operand has only {carried:?}"
        )),
        None => Ok(wanted),
    }
}

fn labels<'a>(names: impl IntoIterator<Item = &'a str>) -> Labels {
    names.into_iter().map(str::to_owned).collect()
}

/// Metrics that an expression selects.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    metrics: BTreeSet<String>,
    /// True if a function has a result without samples of these metrics.
    has_result_of_nothing: bool,
}

impl Selection {
    /// Names of the metrics.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = &str> {
        self.metrics.iter().map(String::as_str)
    }

    fn add(&mut self, selector: &VectorSelector) {
        match &selector.name {
            Some(name) => {
                self.metrics.insert(name.clone());
            }
            // Selects metrics by labels.
            None => self.has_result_of_nothing = true,
        }
    }

    /// True if the expression can have a result while only these metrics have samples.
    pub(crate) fn can_have_result(&self, with_samples: &BTreeSet<&str>) -> bool {
        let mut metrics = self.metrics.iter();
        self.has_result_of_nothing || metrics.any(|name| with_samples.contains(name.as_str()))
    }
}

impl ExprVisitor for Selection {
    type Error = Infallible;

    fn pre_visit(&mut self, expr: &Expr) -> Result<bool, Infallible> {
        match expr {
            Expr::VectorSelector(selector) => self.add(selector),
            Expr::MatrixSelector(matrix) => self.add(&matrix.vs),
            Expr::Call(call) => {
                let of_nothing = ["absent", "absent_over_time", "scalar", "time", "vector"];
                self.has_result_of_nothing |= of_nothing.contains(&call.func.name);
            }
            _ => {}
        }
        Ok(true)
    }
}

/// Metrics that an expression selects.
///
/// # Errors
/// A syntax error.
pub(crate) fn selection(expr: &str) -> Result<Selection, String> {
    let parsed = parser::parse(expr)?;
    let mut selection = Selection::default();
    match walk_expr(&mut selection, &parsed) {
        Ok(_) => Ok(selection),
    }
}

#[test]
fn an_expression_can_have_a_result_with_samples_of_one_of_its_metrics() {
    let with_samples = BTreeSet::from(["a", "b:rate5m"]);
    for (expr, expected) in [
        ("sum(rate(a{l=\"x\"}[5m])) / sum(c)", true),
        ("max_over_time(b:rate5m[1h:5m]) > 0", true),
        ("c unless d", false),
        ("absent(c)", true),
        ("time() - c", true),
        ("1 - c", false),
        ("{l=\"x\"}", true),
    ] {
        let selection = selection(expr).expect(expr);
        assert_eq!(selection.can_have_result(&with_samples), expected, "{expr}");
    }
}

#[test]
fn misspelt_metric_matcher_or_grouping_is_an_error() {
    let series = Series::exposed();
    for (expr, problem) in [
        ("rankgauge_scores", "is no metric"),
        (
            "rankgauge_score{varaint=\"V1\"}",
            "has no label \"varaint\"",
        ),
        (
            "sum by (varaint) (rankgauge_score)",
            "groups by \"varaint\"",
        ),
        (
            "sum by (measure) (rankgauge_score) / on (variant) rankgauge_score",
            "groups by \"variant\"",
        ),
        ("rate(rankgauge_search_latency_seconds[1m])", "is no metric"),
        ("sum(", "sum("),
    ] {
        let found = series.labels_of(expr).expect_err(expr);
        assert!(found.contains(problem), "{expr}: {found}");
    }
    let by_stage = "histogram_quantile(0.9, sum by (le, stage) (rate(rankgauge_search_latency_seconds_bucket[1m])))";
    assert_eq!(series.labels_of(by_stage), Ok(labels(["stage"])));
    let most = "topk(3, sum by (expected) (rankgauge_routing_total))";
    assert_eq!(series.labels_of(most), Ok(labels(["expected"])));
    let number = "count_values by (team) (\"n\", rankgauge_interleaving_wins_total)";
    assert_eq!(series.labels_of(number), Ok(labels(["n", "team"])));
}
