//! Alarms of workers: logged once. Those about missed targets are kept for the API; a drop is an incident.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tracing::warn;

use rankgauge_core::detection::{DropClass, Part};
use rankgauge_core::engine::Registry;
use rankgauge_core::engine::evidence::{Alarm, Test};
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::series::Label;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::time::WallTime;

/// Maximum number of kept alarms.
const MAX_ALARMS: usize = 100;

/// Alarm about a missed target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TargetAlarm {
    /// Time of the alarm.
    pub(crate) at: WallTime,
    /// Measure, variant, slice and value.
    pub(crate) series: [String; 4],
}

/// Last alarms about missed targets, oldest first.
#[derive(Debug, Default)]
pub struct Alarms(Mutex<VecDeque<TargetAlarm>>);

impl Alarms {
    /// Last alarms about missed targets, newest first.
    pub(crate) fn of_targets(&self) -> Vec<TargetAlarm> {
        let latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        latest.iter().rev().cloned().collect()
    }

    /// Logs the alarms of the engine of a worker, and keeps those about missed targets.
    pub fn report(
        &self,
        alarms: Vec<Alarm>,
        settings: &Settings,
        registry: &Registry,
        at: WallTime,
    ) {
        let nothing = Snapshot::default();
        let model = ReadModel::new(&nothing, settings, registry);
        for alarm in alarms {
            let names = model.names(alarm.series);
            let name = |name: Option<&str>| name.unwrap_or(Label::OTHER_NAME).to_owned();
            let measure = model.measures().get(alarm.measure);
            let series = [
                measure.cloned().unwrap_or_default(),
                name(names.map(|it| it.variant)),
                name(names.map(|it| it.slice)),
                name(names.map(|it| it.value)),
            ];
            log(&alarm, &series);
            if alarm.test == Test::Target {
                let mut latest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if latest.len() >= MAX_ALARMS {
                    latest.pop_front();
                }
                latest.push_back(TargetAlarm { at, series });
            }
        }
    }
}

/// Logs an alarm. The size of a drop is in the log of its incident.
fn log(alarm: &Alarm, [measure, variant, slice, value]: &[String; 4]) {
    let (log_evidence, threshold) = (alarm.log_evidence, alarm.threshold);
    match alarm.test {
        Test::Target => warn!(
            measure,
            variant,
            slice,
            value,
            expected = alarm.expected,
            recent = alarm.recent,
            log_evidence,
            threshold,
            "target missed"
        ),
        Test::Drop => {
            let queries = alarm.worst_regressions.iter();
            let queries: Vec<&str> = queries.map(|it| &*it.query).collect();
            warn!(
                measure,
                variant,
                slice,
                value,
                log_evidence,
                threshold,
                part = alarm.part.map(Part::name),
                class = alarm.class.map(DropClass::name),
                queries = ?queries,
                "drop detected"
            );
        }
    }
}
