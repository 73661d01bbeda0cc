//! Catalogue of measures: one [`Descriptor`] per measure.
//!
//! The catalogue contains no formulas. A table lists the measures of each family, and the submodule
//! `arguments` parses spellings.

mod arguments;
mod component;
mod diversity;
mod ranked;
mod routing;
mod user;

pub(super) use arguments::{Arguments, parse};

use super::descriptor::{Descriptor, Named, Parameter, ParameterDefault};

/// Tables of all families.
static FAMILIES: [&[Descriptor]; 5] = [
    ranked::TABLE,
    component::TABLE,
    diversity::TABLE,
    routing::TABLE,
    user::TABLE,
];

/// Returns the descriptors of all measures, family by family.
pub fn catalogue() -> impl Iterator<Item = &'static Descriptor> + Clone {
    FAMILIES.iter().copied().flatten()
}

/// Returns the measure with this name or alias, in any case.
pub(super) fn find(name: &str) -> Option<Named<'_>> {
    catalogue().find_map(|descriptor| descriptor.find_name(name))
}

/// Returns the descriptor with this canonical name. Call it in a `const` block, where a name that
/// the catalogue does not contain is a compilation error.
#[allow(clippy::panic, reason = "evaluated at compile time only")]
pub(super) const fn entry(name: &str) -> &'static Descriptor {
    let mut family = 0;
    while family < FAMILIES.len() {
        let table = FAMILIES[family];
        let mut position = 0;
        while position < table.len() {
            if is_same(table[position].name.as_bytes(), name.as_bytes()) {
                return &table[position];
            }
            position += 1;
        }
        family += 1;
    }
    panic!("the catalogue contains no measure with this name")
}

/// Returns true if two texts are equal. `==` cannot be used in a `const fn`.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut position = 0;
    while position < a.len() && position < b.len() && a[position] == b[position] {
        position += 1;
    }
    position == a.len() && position == b.len()
}

/// Relevance level.
const REL: Parameter = Parameter {
    name: "rel",
    values: "a grade from 0 to 1000",
    default: ParameterDefault::GoldSet("relevance level"),
};

/// Restriction to queries that start from documents with this value of the facet.
const FROM: Parameter = Parameter {
    name: "from",
    values: "a value of the facet",
    default: ParameterDefault::None,
};

/// Restriction to searches in which the component fired.
const WHEN: Parameter = Parameter {
    name: "when",
    values: "`fired` or `needed`",
    default: ParameterDefault::None,
};

/// Treatment of absent values.
const ABSENT: Parameter = Parameter {
    name: "absent",
    values: "`skip` (the default) or `zero`",
    default: ParameterDefault::Value("skip"),
};

/// Denominator of `P@k` and of the precision in `F1@k`.
const DENOMINATOR: Parameter = Parameter {
    name: "denominator",
    values: "`cutoff` (the default) or `retrieved`",
    default: ParameterDefault::Value("cutoff"),
};

/// Gain of a grade in nDCG.
const GAIN: Parameter = Parameter {
    name: "gain",
    values: "`linear` (the default), `exp` or `binary`",
    default: ParameterDefault::Value("linear"),
};

/// Ideal ranking of nDCG.
const IDEAL: Parameter = Parameter {
    name: "ideal",
    values: "`judged` (the default) or `retrieved`",
    default: ParameterDefault::Value("judged"),
};

/// Gain by grade in RBP.
const GRADED: Parameter = Parameter {
    name: "graded",
    values: "`false` (the default) or `true`",
    default: ParameterDefault::Value("false"),
};

/// Persistence of RBP.
const PERSISTENCE: Parameter = Parameter {
    name: "p",
    values: "a number from 0 to 1, below 1",
    default: ParameterDefault::Value("0.8"),
};

/// Highest grade of ERR.
const MAX: Parameter = Parameter {
    name: "max",
    values: "a grade above 0, up to 1000",
    default: ParameterDefault::GoldSet("highest grade of the scale"),
};

/// Minimum dwell time of a satisfying click.
const DWELL: Parameter = Parameter {
    name: "dwell",
    values: "whole seconds from 1 to 3600",
    default: ParameterDefault::Value("30"),
};

/// Maximum time to a reformulation.
const WITHIN: Parameter = Parameter {
    name: "within",
    values: "whole seconds from 1 to 3600",
    default: ParameterDefault::Value("60"),
};
