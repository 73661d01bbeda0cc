//! Configuration of judging: measures, slices, components, targets.
//!
//! It refers to measures by name only and must not know what they compute.

use std::collections::BTreeMap;

use super::objectives;
use super::reader::Reader;
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::{
    Component, Difference, JudgeBy, Rouge, Rules, SearchField, TextMatch,
};
use rankgauge_serve::target::Target;

/// Measures computed when none are configured.
const MEASURES: [&str; 21] = [
    "P@1",
    "P@5",
    "P@10",
    "R@5",
    "R@10",
    "nDCG@5",
    "nDCG@10",
    "AP",
    "RR",
    "Success@5",
    "Judged@10",
    "CTR",
    "CTR@3",
    "ClickRR",
    "SAT",
    "Converted",
    "Abandoned",
    "Reformulated",
    "SessionSuccess",
    "ThumbsUp",
    "ZeroResult",
];

pub(super) fn measures(reader: &mut Reader) -> Vec<Measure> {
    let elements = reader.list("measures", &MEASURES);
    let mut measures: Vec<Measure> = Vec::with_capacity(elements.len());
    for (path, measure) in reader.parse_all::<Measure>(elements) {
        if measures.contains(&measure) {
            reader.problem(&path, format!("{measure} is listed twice"));
        } else {
            measures.push(measure);
        }
    }
    measures
}

pub(super) fn slices(reader: &mut Reader) -> Vec<String> {
    let mut slices = Vec::new();
    for (path, slice) in reader.list("slices", &["query_type", "difficulty"]) {
        if let Err(text) = label_name(&slice) {
            reader.problem(&path, format!("\"{slice}\" {text}"));
        } else if slice == "all" {
            reader.problem(
                &path,
                "\"all\" is reserved for all searches; choose another label",
            );
        } else if slices.contains(&slice) {
            reader.problem(&path, format!("\"{slice}\" is listed twice"));
        } else {
            slices.push(slice);
        }
    }
    slices
}

/// Reads the rules for judging searches. The components that `measures` need must exist.
pub(super) fn rules(reader: &mut Reader, measures: &[Measure]) -> Rules {
    let judge_by = reader.choice(
        "gold.judge_by",
        JudgeBy::Id,
        &[("id", JudgeBy::Id), ("group_id", JudgeBy::GroupId)],
    );
    let text = TextMatch {
        rouge: reader.choice(
            "gold.text_match",
            Rouge::L,
            &[
                ("rouge1", Rouge::One),
                ("rouge2", Rouge::Two),
                ("rougeL", Rouge::L),
            ],
        ),
        threshold: reader
            .parsed("gold.text_threshold", |text| {
                finite(text)
                    .filter(|threshold| *threshold > 0.0 && *threshold <= 1.0)
                    .ok_or("is not a number above 0, up to 1")
            })
            .unwrap_or(0.5),
    };
    let components = components(reader);
    for measure in measures {
        if let Some(name) = measure.component()
            && !components.iter().any(|component| component.name == name)
        {
            // Without it the measure would silently have no score.
            reader.problem(
                "measures",
                format!("{measure} needs the component \"{name}\"; add it to components"),
            );
        }
    }
    Rules {
        judge_by,
        text,
        components,
    }
}

fn components(reader: &mut Reader) -> Vec<Component> {
    let names = reader.names("components");
    names
        .into_iter()
        .map(|name| component(reader, name))
        .collect()
}

fn component(reader: &mut Reader, name: String) -> Component {
    let path = format!("components.{name}");
    if let Err(text) = label_name(&name) {
        reader.problem(&path, format!("\"{name}\" {text}"));
    }
    let mut stages = Vec::new();
    for (element, stage) in reader.list(&format!("{path}.stages"), &[]) {
        if stage.is_empty() {
            reader.problem(&element, "is empty; every stage begins with an empty text");
        } else {
            stages.push(stage);
        }
    }
    let attrs = format!("{path}.attrs");
    let mut attributes = BTreeMap::new();
    for attribute in reader.names(&attrs) {
        let value = reader.scalar(&format!("{attrs}.{attribute}"));
        attributes.extend(value.map(|value| (attribute, value)));
    }
    let differs = difference(reader, &format!("{path}.differs"));
    if stages.is_empty() && attributes.is_empty() && differs.is_none() {
        reader.problem(&path, "has no rule; give it stages, attrs or differs");
    }
    Component {
        name,
        stages,
        attributes,
        differs,
    }
}

fn difference(reader: &mut Reader, path: &str) -> Option<Difference> {
    let (attr, field) = (format!("{path}.attr"), format!("{path}.field"));
    let attribute = reader.scalar(&attr);
    let fields = [
        ("domain", Some(SearchField::Domain)),
        ("application", Some(SearchField::Application)),
    ];
    let compared = reader.choice(&field, None, &fields);
    match (attribute, compared) {
        (Some(attribute), Some(field)) => Some(Difference { attribute, field }),
        (Some(_), None) if !reader.is_written(&field) => {
            reader.problem(&field, "is missing; differs needs attr and field");
            None
        }
        (None, Some(_)) if !reader.is_written(&attr) => {
            reader.problem(&attr, "is missing; differs needs attr and field");
            None
        }
        _ => None,
    }
}

/// Reads the targets of measures among the elements of `targets`.
pub(super) fn targets(
    reader: &mut Reader,
    elements: &[String],
    measures: &[Measure],
) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for path in elements {
        if objectives::is_objective(reader, path) {
            continue;
        }
        let Some(target) = target(reader, path, measures) else {
            continue;
        };
        let is_repeated =
            |other: &Target| other.measure == target.measure && other.tier == target.tier;
        if targets.iter().any(is_repeated) {
            let text = format!(
                "{} has two targets of the tier {}",
                target.measure, target.tier
            );
            reader.problem(path, text);
        } else {
            targets.push(target);
        }
    }
    targets
}

fn target(reader: &mut Reader, path: &str, measures: &[Measure]) -> Option<Target> {
    let named = format!("{path}.measure");
    let text = reader.required(&named);
    let measure = text.and_then(|text| {
        reader
            .parse_all::<Measure>(vec![(named.clone(), text)])
            .pop()
            .map(|(_, measure)| measure)
    });
    if let Some(measure) = &measure
        && !measures.contains(measure)
    {
        // No score is ever compared with such a target, so its alert could never fire.
        reader.problem(
            &named,
            format!("{measure} is not computed; add it to measures"),
        );
    }
    let tier_path = format!("{path}.tier");
    let tier = reader
        .required(&tier_path)
        .and_then(|tier| match label_name(&tier) {
            Ok(()) => Some(tier),
            Err(text) => {
                reader.problem(&tier_path, format!("\"{tier}\" {text}"));
                None
            }
        });
    let value_path = format!("{path}.value");
    let value = reader.required(&value_path).and_then(|text| {
        let number = finite(&text);
        if number.is_none() {
            reader.problem(&value_path, format!("\"{text}\" is not a number"));
        }
        number
    });
    let (measure, value) = (measure?, value?);
    let range = measure.descriptor().range;
    if !(range.min..=range.max).contains(&value) {
        let advice = if measure.is_share() {
            "; write a share such as 0.65"
        } else {
            ""
        };
        reader.problem(
            &value_path,
            format!(
                "{value} is not between {} and {}, but {measure} always is, so that no score can \
                 reach it{advice}",
                range.min, range.max
            ),
        );
    }
    Some(Target {
        measure,
        tier: tier?,
        value,
        value_key: value_path,
    })
}

/// Parses a finite decimal number.
pub(super) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Checks that `text` is a valid Prometheus label name. Slices, tiers and components must be.
fn label_name(text: &str) -> Result<(), &'static str> {
    let mut bytes = text.bytes();
    let starts_well = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if starts_well && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        Ok(())
    } else {
        Err("is not a name; use letters, digits and _, and no digit first")
    }
}
