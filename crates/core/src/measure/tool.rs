//! Names of measures in other tools, as spellings of the catalogue.
//!
//! A bare name that trec_eval has means trec_eval's measure; any other is read by the catalogue, whose
//! names are those of ir_measures. `tool:name` names the tool.

use super::arguments;
use super::catalogue::Measure;
use super::grammar::{self, MeasureError};
use super::parameter::{Fraction, Number, Rounding, Weighting};
use super::ranked::Ranked;
use super::retrieval::Retrieval;
use crate::gold::Grade;

/// Version of trec_eval whose values are computed where its versions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// trec_eval 9.
    #[default]
    TrecEval9,
    /// trec_eval 10: levels of recall are rounded to the nearest number of documents, RBP has p = 0.9
    /// and gains by grade, and scores of runs are 64-bit floats.
    TrecEval10,
}

/// Error for an unknown name of a compatible tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown tool `{0}`; it is trec_eval@9 or trec_eval@10")]
pub struct UnknownCompat(String);

impl std::str::FromStr for Compat {
    type Err = UnknownCompat;

    fn from_str(text: &str) -> Result<Self, UnknownCompat> {
        match text {
            "trec_eval@9" => Ok(Self::TrecEval9),
            "trec_eval@10" => Ok(Self::TrecEval10),
            _ => Err(UnknownCompat(text.to_owned())),
        }
    }
}

/// Tool whose names of measures are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    TrecEval,
    IrMeasures,
    Ranx,
    Elasticsearch,
    Quepid,
    Torchmetrics,
}

const TOOLS: [(&str, Tool); 8] = [
    ("trec_eval", Tool::TrecEval),
    ("pytrec_eval", Tool::TrecEval),
    ("ir_measures", Tool::IrMeasures),
    ("ranx", Tool::Ranx),
    ("elasticsearch", Tool::Elasticsearch),
    ("opensearch", Tool::Elasticsearch),
    ("quepid", Tool::Quepid),
    ("torchmetrics", Tool::Torchmetrics),
];

/// Measure of a tool.
struct Foreign {
    /// Name in the tool, in lower case.
    name: &'static str,
    /// Measure without a cutoff, in the form `Name` or `Name(parameter=value)`; empty without one.
    whole: &'static str,
    /// Measure with a cutoff; empty without one.
    cut: &'static str,
}

const fn foreign(name: &'static str, whole: &'static str, cut: &'static str) -> Foreign {
    Foreign { name, whole, cut }
}

const RANX: &[Foreign] = &[
    foreign("hits", "TP", "TP"),
    foreign("hit_rate", "SetSuccess", "Success"),
    foreign("precision", "SetP", "P"),
    foreign("recall", "SetR", "R"),
    foreign("f1", "SetF", "F1"),
    foreign("r-precision", "Rprec", ""),
    foreign("mrr", "RR", "RR"),
    foreign("map", "AP", "AP"),
    foreign("dcg", "DCG", "DCG"),
    foreign("dcg_burges", "DCG(gain=exp)", "DCG(gain=exp)"),
    foreign("ndcg", "nDCG", "nDCG"),
    foreign("ndcg_burges", "nDCG(gain=exp)", "nDCG(gain=exp)"),
    foreign("bpref", "Bpref", ""),
];

const ELASTICSEARCH: &[Foreign] = &[
    foreign("precision", "", "P(denominator=retrieved)"),
    foreign("recall", "", "R"),
    foreign("mean_reciprocal_rank", "", "RR"),
    foreign("mrr", "", "RR"),
    foreign("dcg", "", "DCG(gain=exp)"),
    foreign("ndcg", "", "nDCG(gain=exp,ideal=shown)"),
    foreign("expected_reciprocal_rank", "", "ERR"),
    foreign("err", "", "ERR"),
];

/// Scorers of `db/scorers` in Quepid, with the scale that each has there.
const QUEPID: &[Foreign] = &[
    foreign("p", "", "P(denominator=retrieved)"),
    foreign("ap", "", "AP"),
    foreign("rr", "", "RR"),
    foreign("cg", "", "CG"),
    foreign("dcg", "", "DCG(gain=exp)"),
    foreign("ndcg", "", "nDCG(gain=exp,ideal=uncut)"),
    foreign("ndcg_cut", "", "nDCG(gain=exp)"),
    foreign("err", "", "ERR(max=3)"),
];

const TORCHMETRICS: &[Foreign] = &[
    foreign("average_precision", "AP", "AP(denominator=found)"),
    foreign("map", "AP", "AP(denominator=found)"),
    foreign("reciprocal_rank", "RR", "RR"),
    foreign("mrr", "RR", "RR"),
    foreign("precision", "SetP", "P"),
    foreign("recall", "SetR", "R"),
    foreign("fall_out", "Fallout", "Fallout"),
    foreign("hit_rate", "SetSuccess", "Success"),
    foreign("normalized_dcg", "nDCG", "nDCG"),
    foreign("r_precision", "Rprec", ""),
    foreign("auroc", "Accuracy", "Accuracy"),
];

/// Families of trec_eval with the cutoffs that it uses by default.
const FAMILIES: &[(&str, &[&str])] = &[
    ("iprec_at_recall", TENTHS),
    ("P", DEPTHS),
    ("recall", DEPTHS),
    ("Rprec_mult", FIFTHS),
    ("ndcg_cut", DEPTHS),
    ("map_cut", DEPTHS),
    ("relative_P", DEPTHS),
    ("success", &["1", "5", "10"]),
    ("unj", &["5", "10", "20"]),
    ("P_avgjg", DEPTHS),
    ("Rprec_mult_avgjg", FIFTHS),
];

const DEPTHS: &[&str] = &["5", "10", "15", "20", "30", "100", "200", "500", "1000"];
const TENTHS: &[&str] = &[
    "0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
];
const FIFTHS: &[&str] = &[
    "0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6", "1.8", "2.0",
];

/// Names that stand for several measures of trec_eval.
const NICKNAMES: &[(&str, &str)] = &[
    (
        "official",
        "num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P",
    ),
    (
        "set",
        "num_q num_ret num_rel num_rel_ret utility set_P set_relative_P set_recall set_map set_F",
    ),
    ("qrels_jg", "map_avgjg P_avgjg Rprec_mult_avgjg"),
    (
        "all_trec",
        "official recall infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut map_cut \
         relative_P success set_P set_relative_P set_recall set_map set_F num_nonrel_judged_ret",
    ),
];

/// Measures that version 10 has added to `all_trec`.
const ALL_OF_VERSION_10: &str = "rbp rbp_resid unj";

/// Splits a list of spellings. Parameters of trec_eval, as in `P.5,10` and `ndcg.1=3,2=9`, belong to the
/// spelling before them.
pub(super) fn split(list: &str) -> Vec<String> {
    let is_parameter = |piece: &str| {
        let (name, number) = piece.split_once('=').unwrap_or(("0", piece));
        let is_grade = name.bytes().all(|byte| byte.is_ascii_digit());
        is_grade && number.parse::<f64>().is_ok_and(f64::is_finite)
    };
    let mut pieces: Vec<String> = Vec::new();
    for part in grammar::split_at_blanks(list) {
        let mut before: Option<String> = None;
        for piece in grammar::split(part) {
            match &mut before {
                Some(before) if is_parameter(piece) && is_dotted(before) => {
                    before.push(',');
                    before.push_str(piece);
                }
                _ => pieces.extend(before.replace(piece.to_owned())),
            }
        }
        pieces.extend(before);
    }
    pieces
}

/// Returns true for a spelling with parameters as trec_eval writes them.
fn is_dotted(text: &str) -> bool {
    !text.contains(['(', '@']) && text.contains('.')
}

/// Parses a spelling, which may stand for several measures.
pub(super) fn parse(text: &str, compat: Compat) -> Result<Vec<Measure>, MeasureError> {
    let text = text.trim();
    let name = text.split(['(', '@']).next().unwrap_or(text);
    let Some((prefix, _)) = name.split_once(':') else {
        if let Some(measures) = of_trec_eval(text, compat)? {
            return Ok(measures);
        }
        return Ok(vec![adapted(of_ir_measures(text)?, text, compat)]);
    };
    let rest = text.get(prefix.len() + 1..).unwrap_or_default().trim();
    let prefix = prefix.trim();
    let mut tools = TOOLS.iter();
    let Some((_, tool)) = tools.find(|(name, _)| name.eq_ignore_ascii_case(prefix)) else {
        return Err(MeasureError::UnknownTool {
            text: text.to_owned(),
            tool: prefix.to_owned(),
            known: TOOLS.map(|(name, _)| name).join(", "),
        });
    };
    let table = match tool {
        Tool::TrecEval => {
            return match of_trec_eval(rest, compat)? {
                Some(measures) => Ok(measures),
                None => Ok(vec![adapted(arguments::parse(rest)?, rest, compat)]),
            };
        }
        Tool::IrMeasures => return Ok(vec![with_grades_of_gdeval(of_ir_measures(rest)?)]),
        Tool::Ranx => RANX,
        Tool::Elasticsearch => ELASTICSEARCH,
        Tool::Quepid => QUEPID,
        Tool::Torchmetrics => TORCHMETRICS,
    };
    let spelling = of_table(*tool, table, rest).ok_or_else(|| MeasureError::UnknownForeign {
        text: text.to_owned(),
        tool: prefix.to_owned(),
        known: table
            .iter()
            .map(Foreign::form)
            .collect::<Vec<_>>()
            .join(", "),
    })?;
    Ok(vec![arguments::parse(&spelling)?])
}

impl Foreign {
    /// Form of the name in messages.
    fn form(&self) -> String {
        match (self.whole, self.cut) {
            ("", _) => format!("{}@k", self.name),
            (_, "") => self.name.to_owned(),
            _ => format!("{}[@k]", self.name),
        }
    }
}

/// Spelling of a measure of a tool with a table. `None` if the tool has no such measure.
fn of_table(tool: Tool, table: &[Foreign], text: &str) -> Option<String> {
    let (text, level) = match tool {
        Tool::Ranx => text
            .rsplit_once("-l")
            .map_or((text, None), |(text, level)| (text, Some(level))),
        _ => (text, None),
    };
    if let (Tool::Ranx, Some(persistence)) = (tool, text.strip_prefix("rbp")) {
        let digits = persistence.strip_prefix(['.', '@'])?;
        let rel = level.map_or_else(String::new, |level| format!(",rel={level}"));
        return Some(format!("RBP(p=0.{digits}{rel})"));
    }
    let (text, cutoff) = match text.split_once('@') {
        Some((text, cutoff)) => (text, Some(cutoff)),
        None => (text, None),
    };
    let (name, inside) = match text.split_once('(') {
        Some((name, inside)) => (name, inside.strip_suffix(')')?),
        None => (text, ""),
    };
    let mut name = name.trim().to_ascii_lowercase();
    if tool == Tool::Torchmetrics {
        // `RetrievalMRR`, `retrieval_reciprocal_rank`.
        let stem = name.trim_start_matches("retrieval").trim_start_matches('_');
        let stem = match stem {
            "normalizeddcg" | "ndcg" => "normalized_dcg",
            "fallout" => "fall_out",
            "hitrate" => "hit_rate",
            "rprecision" => "r_precision",
            stem => stem,
        };
        name = stem.to_owned();
    }
    let mut cutoff = cutoff.map(|it| it.trim().to_owned());
    let mut denominator = None;
    let mut parameters: Vec<String> = Vec::new();
    parameters.extend(level.map(|level| format!("rel={level}")));
    for parameter in inside.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        let (key, value) = parameter.split_once('=')?;
        match (tool, key.trim(), value.trim()) {
            (Tool::Torchmetrics, "top_k", "None")
            | (Tool::Elasticsearch, "normalize" | "ignore_unlabeled", "false") => {}
            (Tool::Elasticsearch, "k", value) | (Tool::Torchmetrics, "top_k", value) => {
                cutoff = Some(value.to_owned());
            }
            (Tool::Elasticsearch, "relevant_rating_threshold", value) => {
                parameters.push(format!("rel={value}"));
            }
            (Tool::Elasticsearch, "maximum_relevance", value) => {
                parameters.push(format!("max={value}"));
            }
            (Tool::Elasticsearch, "normalize", "true") => "ndcg".clone_into(&mut name),
            (Tool::Elasticsearch, "ignore_unlabeled", "true") if name == "precision" => {
                denominator = Some("denominator=judged");
            }
            (Tool::Torchmetrics, "adaptive_k", "true" | "True") if name == "precision" => {
                denominator = Some("denominator=retrieved");
            }
            (Tool::Torchmetrics, "adaptive_k", "false" | "False") if name == "precision" => {}
            _ => return None,
        }
    }
    if tool == Tool::Elasticsearch {
        cutoff.get_or_insert_with(|| "10".to_owned());
    }
    let found = table.iter().find(|foreign| foreign.name == name)?;
    let measure = if cutoff.is_some() {
        found.cut
    } else {
        found.whole
    };
    if measure.is_empty() {
        return None;
    }
    let (name, stated) = match measure.split_once('(') {
        Some((name, stated)) => (name, stated.trim_end_matches(')')),
        None => (measure, ""),
    };
    // The precision of a whole list has only one denominator.
    let stated = denominator.filter(|_| cutoff.is_some()).unwrap_or(stated);
    let inside: Vec<&str> = std::iter::once(stated)
        .chain(parameters.iter().map(String::as_str))
        .filter(|it| !it.is_empty())
        .collect();
    let inside = if inside.is_empty() {
        String::new()
    } else {
        format!("({})", inside.join(","))
    };
    let cutoff = cutoff.map_or_else(String::new, |cutoff| format!("@{cutoff}"));
    Some(format!("{name}{inside}{cutoff}"))
}

/// Measures of a name of trec_eval that the catalogue does not read by itself. `None` for other names.
fn of_trec_eval(text: &str, compat: Compat) -> Result<Option<Vec<Measure>>, MeasureError> {
    if let Some((_, names)) = NICKNAMES.iter().find(|(name, _)| *name == text) {
        let added = match compat {
            Compat::TrecEval10 if text == "all_trec" => ALL_OF_VERSION_10,
            Compat::TrecEval9 | Compat::TrecEval10 => "",
        };
        let mut all = Vec::new();
        for name in format!("{names} {added}").split_ascii_whitespace() {
            all.extend(parse(name, compat)?);
        }
        return Ok(Some(all));
    }
    let cut = |family: &str, cutoffs: &[&str]| {
        let spellings = cutoffs.iter().map(|cutoff| format!("{family}_{cutoff}"));
        let measures = spellings.map(|it| Ok(adapted(arguments::parse(&it)?, "", compat)));
        measures.collect::<Result<Vec<Measure>, MeasureError>>()
    };
    if let Some((family, cutoffs)) = FAMILIES.iter().find(|(family, _)| *family == text) {
        return cut(family, cutoffs).map(Some);
    }
    let version_10 = |spelling: &str| arguments::parse(spelling).map(|it| Some(vec![it]));
    let Some((name, parameters)) = text.split_once('.').filter(|_| is_dotted(text)) else {
        return match (text, compat) {
            ("rbp", Compat::TrecEval10) => version_10("RBP(graded=query,p=0.9)"),
            ("utility", _) => version_10("Utility"),
            _ => Ok(None),
        };
    };
    let values: Vec<&str> = parameters.split(',').map(str::trim).collect();
    if FAMILIES.iter().any(|(family, _)| *family == name) {
        return cut(name, &values).map(Some);
    }
    let spelling = match (name, values.as_slice()) {
        ("ndcg" | "dcg" | "ideal_dcg", gains) if gains.iter().all(|it| it.contains('=')) => {
            format!("{name}(gains={})", gains.join(";").replace('=', ":"))
        }
        ("set_F", [beta]) => format!("SetF(beta={beta})"),
        ("utility", [a, b, c, d]) => format!("Utility(a={a},b={b},c={c},d={d})"),
        ("rbp_resid", [p]) if p.starts_with("p=") => format!("RBPResid({p})"),
        ("rbp", [p]) if p.starts_with("p=") => match compat {
            Compat::TrecEval9 => format!("RBP({p})"),
            Compat::TrecEval10 => format!("RBP(graded=query,{p})"),
        },
        _ => return Ok(None),
    };
    version_10(&spelling)
}

/// Measure in the notation of ir_measures: texts in quotes, truth values in title case, `dcg` for the gain.
fn of_ir_measures(text: &str) -> Result<Measure, MeasureError> {
    let known = |text: &str| {
        let text = text.replace(['\'', '"'], "");
        let text = text.replace("dcg=exp-log2", "gain=exp");
        let text = text.replace("dcg=log2", "gain=linear");
        let Some(inside) = text
            .strip_prefix("SetP(")
            .and_then(|it| it.strip_suffix(')'))
        else {
            return text;
        };
        let parts = || inside.split(',').map(str::trim);
        let name = if parts().any(|part| part == "relative=True") {
            "SetRelP"
        } else {
            "SetP"
        };
        let others = parts().filter(|part| !part.starts_with("relative="));
        let others = others.collect::<Vec<_>>().join(",");
        if others.is_empty() {
            name.to_owned()
        } else {
            format!("{name}({others})")
        }
    };
    // ir_measures prints its NumRelRet so. An error names the given text.
    if let Some(rest) = text.strip_prefix("NumRet(")
        && let Ok(measure) = arguments::parse(&format!("NumRelRet({rest}"))
    {
        return Ok(measure);
    }
    if text.contains(['\'', '"']) || text.contains("dcg=") || text.contains("relative=") {
        return arguments::parse(&known(text));
    }
    arguments::parse(text)
}

/// Returns the measure as ir_measures computes it: its ERR is that of gdeval, whose highest grade is 4.
fn with_grades_of_gdeval(measure: Measure) -> Measure {
    match measure {
        Measure::Ranked(Ranked::ExpectedReciprocalRank {
            judged_only,
            max: None,
            cutoff,
        }) => Measure::Ranked(Ranked::ExpectedReciprocalRank {
            judged_only,
            max: Grade::new(4.0),
            cutoff,
        }),
        other => other,
    }
}

/// Returns the measure as the version of trec_eval defines it, unless `text` states otherwise.
fn adapted(measure: Measure, text: &str, compat: Compat) -> Measure {
    if compat == Compat::TrecEval9 || text.contains("rounding") {
        return measure;
    }
    match measure {
        Measure::Ranked(Ranked::InterpolatedPrecision {
            judged_only,
            rel,
            recall,
            ..
        }) => Measure::Ranked(Ranked::InterpolatedPrecision {
            judged_only,
            rel,
            recall,
            rounding: Rounding::Nearest,
        }),
        Measure::Retrieval(Retrieval::ElevenPoints { rel, .. }) => {
            Measure::Retrieval(Retrieval::ElevenPoints {
                rel,
                rounding: Rounding::Nearest,
            })
        }
        Measure::Ranked(Ranked::RankBiasedPrecision { judged_only, .. }) if !text.contains('(') => {
            Measure::Ranked(Ranked::RankBiasedPrecision {
                weighting: Weighting::OfQuery,
                persistence: Fraction::PERSISTENCE_10,
                judged_only,
            })
        }
        other => other,
    }
}

impl Measure {
    /// Returns the measure with the number of documents of the collection, if it uses that.
    #[must_use]
    pub fn with_collection(self, documents: Number) -> Self {
        match self {
            Self::Retrieval(Retrieval::Utility {
                a, b, c, d, rel, ..
            }) => Self::Retrieval(Retrieval::Utility {
                a,
                b,
                c,
                d,
                documents,
                rel,
            }),
            other => other,
        }
    }
}
