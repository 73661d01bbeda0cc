//! Configuration of goals: bounds that a run has to meet together, and the measures of the overall
//! tier.
//!
//! Only offline evaluation uses them. A goal must not need a measure that is not computed.

use super::judging::check_is_computed;
use super::keys;
use super::reader::Reader;
use rankgauge_core::measure::{Measure, Requirement};
use rankgauge_serve::target::Target;

/// Goal of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// Name of the goal.
    pub name: String,
    /// Bounds to meet together; at least one.
    pub requirements: Vec<Requirement>,
}

pub(super) fn goals(reader: &mut Reader, measures: &[Measure]) -> Vec<Goal> {
    let mut goals: Vec<Goal> = Vec::new();
    for path in reader.sections(&keys::GOALS) {
        let name_key = keys::GOAL_NAME.of(&path);
        let name = reader.required(&name_key);
        let require = keys::GOAL_REQUIRE.of(&path);
        if reader.is_empty_list(&require) {
            reader.problem(&require.path, "is missing; list bounds such as P@10>=0.7");
        }
        let mut requirements = Vec::new();
        for element in reader.list(&require) {
            check_is_computed(reader, &element.path, &element.value.measure, measures);
            requirements.push(element.value);
        }
        let Some(name) = name else { continue };
        if goals.iter().any(|goal| goal.name == name) {
            let text = format!("\"{name}\" is the name of two goals");
            reader.problem(&name_key.path, text);
        } else {
            goals.push(Goal { name, requirements });
        }
    }
    goals
}

/// Reads the measures of the overall tier. Each must have a target, because a measure without one
/// reaches no tier.
pub(super) fn tier_measures(
    reader: &mut Reader,
    measures: &[Measure],
    targets: &[Target],
) -> Vec<Measure> {
    let chosen = reader.set(&keys::TIER_MEASURES, |it| it.value.to_string());
    for element in &chosen {
        let measure = &element.value;
        check_is_computed(reader, &element.path, measure, measures);
        if !targets.iter().any(|target| target.measure == *measure) {
            let text = format!("{measure} has no target; add it to targets");
            reader.problem(&element.path, text);
        }
    }
    chosen.into_iter().map(|element| element.value).collect()
}
