//! Configuration of judging: measures, slices, components, targets.
//!
//! It refers to measures by name only and must not know what they compute.

use super::reader::Reader;
use super::values::label_name;
use super::{keys, objectives};
use rankgauge_core::measure::{Mean, Measure};
use rankgauge_core::ranking::{
    Component, Difference, Eligibility, Reference, Rules, SearchMember, TextMatch,
};
use rankgauge_serve::target::Target;

pub(super) fn measures(reader: &mut Reader, has_feedback: bool) -> Vec<Measure> {
    let measures = reader.set(&keys::COMPUTED, |it| it.value.to_string());
    let mut measures: Vec<Measure> = measures.into_iter().map(|it| it.value).collect();
    let is_possible = |measure: &Measure| match measure {
        Measure::User(measure) => has_feedback || !measure.needs_feedback(),
        Measure::Ranked(_)
        | Measure::Retrieval(_)
        | Measure::Component(_)
        | Measure::Diversity(_)
        | Measure::Novelty(_)
        | Measure::Routing(_)
        | Measure::Answer(_) => true,
    };
    if reader.is_written(&keys::COMPUTED.path) {
        for measure in measures.iter().filter(|it| !is_possible(it)) {
            reader.problem(
                &keys::COMPUTED.path,
                format!("{measure} needs feedback, and kafka.feedback_topic is none; remove it"),
            );
        }
    }
    for measure in measures
        .iter()
        .filter(|it| it.descriptor().mean == Mean::Geometric)
    {
        reader.problem(
            &keys::COMPUTED.path,
            format!(
                "{measure} is a mean over all queries of a run, and no search has it; remove it, and use \
                 it with `evaluate --measures`"
            ),
        );
    }
    measures.retain(is_possible);
    measures
}

pub(super) fn slices(reader: &mut Reader) -> Vec<String> {
    let slices = reader.set(&keys::SLICES, |it| format!("\"{}\"", it.text));
    slices.into_iter().map(|it| it.value).collect()
}

/// Reads the rules for judging searches. The components that `measures` need must exist.
pub(super) fn rules(reader: &mut Reader, measures: &[Measure]) -> Rules {
    let text = TextMatch {
        rouge: reader.get(&keys::TEXT_MATCH),
        threshold: reader.get(&keys::TEXT_THRESHOLD),
    };
    let named = reader.named(&keys::COMPONENTS).into_iter();
    let components: Vec<Component> = named
        .map(|(name, path)| component(reader, name, &path))
        .collect();
    for measure in measures {
        if let Some(name) = measure.component()
            && !components.iter().any(|component| component.name == name)
        {
            // Without it the measure would silently have no score.
            reader.problem(
                &keys::COMPUTED.path,
                format!("{measure} needs the component \"{name}\"; add it to components"),
            );
        }
    }
    Rules {
        judge_by: reader.get(&keys::JUDGE_BY),
        text,
        references: references(reader),
        components,
        eligibility: eligibility(reader),
    }
}

fn references(reader: &mut Reader) -> Vec<Reference> {
    let mut references = Vec::new();
    for path in reader.sections(&keys::REFERENCES) {
        let (pattern_key, id_key) = (
            keys::REFERENCE_PATTERN.of(&path),
            keys::REFERENCE_ID.of(&path),
        );
        let (pattern, id) = (reader.required(&pattern_key), reader.required(&id_key));
        let (Some(pattern), Some(id)) = (pattern, id) else {
            continue;
        };
        match Reference::new(&pattern, &id) {
            Ok(reference) => references.push(reference),
            Err((is_id, text)) => {
                let (key, value) = if is_id {
                    (id_key, id)
                } else {
                    (pattern_key, pattern)
                };
                reader.problem(&key.path, format!("\"{value}\" {text}"));
            }
        }
    }
    references
}

fn eligibility(reader: &mut Reader) -> Eligibility {
    let conditions = reader.named_lists(&keys::JUDGE_WHEN).into_iter();
    let conditions = conditions.filter_map(|(name, values)| {
        let path = format!("{}.{name}", keys::JUDGE_WHEN.path);
        let member = SearchMember::parse(&name);
        let problem = |text| reader.problem(&path, format!("\"{name}\" {text}"));
        Some((member.map_err(problem).ok()?, values))
    });
    Eligibility::new(conditions.collect())
}

fn component(reader: &mut Reader, name: String, path: &str) -> Component {
    if let Err(text) = label_name(&name) {
        reader.problem(path, format!("\"{name}\" {text}"));
    }
    let stages = reader.values(&keys::STAGES.of(path));
    let component = Component {
        name,
        stages,
        attributes: reader.names(&keys::ATTRS.of(path)),
        differs: difference(reader, path),
    };
    let has_rule = !component.stages.is_empty()
        || !component.attributes.is_empty()
        || component.differs.is_some();
    if !has_rule {
        reader.problem(path, "has no rule; give it stages, attrs or differs");
    }
    component
}

fn difference(reader: &mut Reader, path: &str) -> Option<Difference> {
    let attr = keys::DIFFERS_ATTR.of(path);
    let field = keys::DIFFERS_FIELD.of(path);
    let is_written = [&attr.path, &field.path].map(|path| reader.is_written(path));
    for (path, is_missing) in [(&attr.path, !is_written[0]), (&field.path, !is_written[1])] {
        if is_missing && is_written.contains(&true) {
            reader.problem(path, "is missing; differs needs attr and field");
        }
    }
    let (attribute, field) = (reader.find(&attr), reader.find(&field));
    Some(Difference {
        attribute: attribute?,
        field: field?,
    })
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
    let measure_key = keys::TARGET_MEASURE.of(path);
    let measure = reader.required(&measure_key);
    if let Some(measure) = &measure {
        // No score is ever compared with such a target, so its alert could never fire.
        check_is_computed(reader, &measure_key.path, measure, measures);
    }
    let tier_key = keys::TARGET_TIER.of(path);
    let tier = reader.required(&tier_key);
    let tier = tier.and_then(|tier| {
        let checked = label_name(&tier);
        let problem = |text| reader.problem(&tier_key.path, format!("\"{tier}\" {text}"));
        checked.map_err(problem).ok()
    });
    let value_key = keys::TARGET_VALUE.of(path);
    let value = reader.required(&value_key);
    let (measure, value) = (measure?, value?);
    let range = measure.descriptor().range;
    if !(range.min..=range.max).contains(&value) {
        let advice = if measure.is_share() {
            "; write a share such as 0.65"
        } else {
            ""
        };
        reader.problem(
            &value_key.path,
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
        value_key: value_key.path.into_owned(),
    })
}

/// Position of `measure` among the measures that are computed; another one is a problem.
pub(super) fn check_is_computed(
    reader: &mut Reader,
    path: &str,
    measure: &Measure,
    measures: &[Measure],
) -> Option<usize> {
    let index = measures.iter().position(|it| it == measure);
    if index.is_none() {
        let text = format!("{measure} is not computed; add it to measures");
        reader.problem(path, text);
    }
    index
}
