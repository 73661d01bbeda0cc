//! Configuration of goals: bounds that a run has to meet together, and the measures of the overall
//! tier.
//!
//! Only offline evaluation uses them. A goal must not need a measure that is not computed.

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
    for path in reader.sections("goals") {
        let name_path = format!("{path}.name");
        let name = reader.required(&name_path);
        let require_path = format!("{path}.require");
        let elements = reader.list(&require_path, &[]);
        if elements.is_empty() {
            reader.problem(&require_path, "is missing; list bounds such as P@10>=0.7");
        }
        let mut requirements = Vec::new();
        for (element, requirement) in reader.parse_all::<Requirement>(elements) {
            check_is_computed(reader, &element, &requirement.measure, measures);
            requirements.push(requirement);
        }
        let Some(name) = name else { continue };
        if name.is_empty() || name.contains(['<', '>']) {
            reader.problem(
                &name_path,
                format!("\"{name}\" is not a name; write some text without < and >"),
            );
        } else if goals.iter().any(|goal| goal.name == name) {
            reader.problem(&name_path, format!("\"{name}\" is the name of two goals"));
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
    let elements = reader.list("tier_measures", &[]);
    let mut chosen: Vec<Measure> = Vec::new();
    for (path, measure) in reader.parse_all::<Measure>(elements) {
        check_is_computed(reader, &path, &measure, measures);
        if !targets.iter().any(|target| target.measure == measure) {
            reader.problem(&path, format!("{measure} has no target; add it to targets"));
        }
        if chosen.contains(&measure) {
            reader.problem(&path, format!("{measure} is listed twice"));
        } else {
            chosen.push(measure);
        }
    }
    chosen
}

fn check_is_computed(reader: &mut Reader, path: &str, measure: &Measure, measures: &[Measure]) {
    if !measures.contains(measure) {
        reader.problem(
            path,
            format!("{measure} is not computed; add it to measures"),
        );
    }
}
