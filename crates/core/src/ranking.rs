//! Judged ranking: the served list of one search, graded by the judgements of its gold query.
//!
//! The input is a search and a gold query. The output is the grade of each result, and the
//! component that it came from. The module knows nothing of measures.

mod answer;
mod component;
mod eligibility;
mod judged;
mod list;
mod text;

pub use crate::overlap::Rouge;
pub(crate) use answer::JudgedAnswer;
pub use answer::Reference;
pub(crate) use component::Membership;
pub use component::{Component, Difference, SearchField};
pub use eligibility::{Eligibility, Ineligible, SearchMember};
pub use judged::{Contribution, Judge, Judged, Rules};
pub use list::{JudgeBy, Ranking};
pub use text::TextMatch;
