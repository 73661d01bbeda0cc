//! Drop that opens an incident or is added to one.

use crate::detection::{Beginning, DropClass, Losses, Part, Season};
use crate::engine::series::Series;
use crate::engine::settings::MonitoredMeasure;
use crate::time::EventTime;

/// Drop that has raised an alarm.
#[derive(Debug)]
pub(in crate::engine) struct Drop<'a> {
    pub(in crate::engine) series: Series,
    pub(in crate::engine) watched: &'a MonitoredMeasure,
    pub(in crate::engine) beginning: Beginning,
    pub(in crate::engine) alarmed_at: EventTime,
    /// Scores before the beginning.
    pub(in crate::engine) before: Losses,
    /// Losses from the beginning to the alarm.
    pub(in crate::engine) at_alarm: Losses,
    pub(in crate::engine) tolerance: f64,
    pub(in crate::engine) class: DropClass,
    pub(in crate::engine) part: Part,
    /// Season of the series, for measures that have one.
    pub(in crate::engine) season: Option<&'a Season>,
}
