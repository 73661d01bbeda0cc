//! Keys of the records of the state topic.
//!
//! A key is `worker/ID/baselines/GROUP/PART`, `worker/ID/incident/ID`, `worker/ID/evidence/PART`,
//! `worker/ID/history/PART`, `worker/ID/learned/PART` or `command/TIME/HASH`, so that a worker replaces only
//! its own records.

use sha2::{Digest as _, Sha256};

use rankgauge_core::engine::fleet::SharedBaselines;
use rankgauge_serve::live::{Order, ReportedCommand};

/// Maximum length of a key.
const MAX_KEY_BYTES: usize = 256;

/// Key of a record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// Part of the baselines of a worker.
    Baselines {
        /// Worker.
        id: u64,
        /// Hash of gold set, variant and measure.
        group: u64,
        part: u32,
    },
    /// Share of a worker in an incident.
    Incident {
        /// Worker.
        id: u64,
        /// Id of the incident.
        incident: u64,
    },
    /// Part of what a worker learned of its series.
    Learned {
        /// Worker.
        id: u64,
        part: u32,
    },
    /// Part of the evidence of a process, under the id of its first worker.
    Evidence {
        /// Worker.
        id: u64,
        part: u32,
    },
    /// Part of the score history of a process, under the id of its first worker.
    History {
        /// Worker.
        id: u64,
        part: u32,
    },
    /// Command of an operator.
    Command {
        /// Time of the command.
        reported: i64,
        /// Hash of the command.
        hash: u64,
    },
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    let hash = hash.finalize();
    hash.iter()
        .take(8)
        .fold(0, |id, byte| id << 8 | u64::from(*byte))
}

impl Key {
    /// Text of the key.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Baselines { id, group, part } => {
                format!("worker/{id:016x}/baselines/{group:016x}/{part}")
            }
            Self::Incident { id, incident } => {
                format!("worker/{id:016x}/incident/{incident:016x}")
            }
            Self::Learned { id, part } => format!("worker/{id:016x}/learned/{part}"),
            Self::Evidence { id, part } => format!("worker/{id:016x}/evidence/{part}"),
            Self::History { id, part } => format!("worker/{id:016x}/history/{part}"),
            Self::Command { reported, hash } => format!("command/{reported}/{hash:016x}"),
        }
    }

    /// Reads the key of a record; `None` for another key than those of rankgauge.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok();
        let text = text.filter(|it| it.len() <= MAX_KEY_BYTES)?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let parts: Vec<&str> = text.split('/').collect();
        let key = match *parts.as_slice() {
            ["worker", id, "baselines", group, part] => number(id)
                .zip(number(group))
                .zip(part.parse().ok())
                .map(|((id, group), part)| Self::Baselines { id, group, part }),
            ["worker", id, "incident", incident] => number(id)
                .zip(number(incident))
                .map(|(id, incident)| Self::Incident { id, incident }),
            ["worker", id, "learned", part] => number(id)
                .zip(part.parse().ok())
                .map(|(id, part)| Self::Learned { id, part }),
            ["worker", id, "evidence", part] => number(id)
                .zip(part.parse().ok())
                .map(|(id, part)| Self::Evidence { id, part }),
            ["worker", id, "history", part] => number(id)
                .zip(part.parse().ok())
                .map(|(id, part)| Self::History { id, part }),
            ["command", reported, hash] => reported
                .parse()
                .ok()
                .zip(number(hash))
                .map(|(reported, hash)| Self::Command { reported, hash }),
            _ => None,
        };
        // Another spelling of a number would be another key of the topic.
        key.filter(|key| key.text() == text)
    }

    /// Key of a part of the baselines of a worker.
    pub(super) fn of_baselines(id: u64, shared: &SharedBaselines, part: u32) -> Self {
        let group = Self::group_of(shared);
        Self::Baselines { id, group, part }
    }

    /// Hash of gold set, variant and measure.
    pub(super) fn group_of(shared: &SharedBaselines) -> u64 {
        let names = [&shared.gold, &shared.variant, &shared.measure];
        hash(&names.map(|it| it.as_bytes()))
    }

    /// Id of the worker that writes the record.
    pub(super) fn worker(&self) -> Option<u64> {
        match self {
            Self::Baselines { id, .. }
            | Self::Incident { id, .. }
            | Self::Learned { id, .. }
            | Self::Evidence { id, .. }
            | Self::History { id, .. } => Some(*id),
            Self::Command { .. } => None,
        }
    }

    /// Returns true if the record is that of a process, not of a worker.
    pub(super) fn is_of_process(&self) -> bool {
        matches!(self, Self::Evidence { .. } | Self::History { .. })
    }

    /// Key of a command.
    pub(super) fn of_command(command: &ReportedCommand) -> Self {
        let order = match &command.order {
            Order::ResetBaselines => hash(&[b"reset"]),
            Order::Acknowledge(it) => hash(&[b"acknowledge", &it.to_be_bytes()]),
            Order::Note { incident, text } => {
                hash(&[b"note", &incident.to_be_bytes(), text.as_bytes()])
            }
            Order::Deploy(it) => hash(&[b"deploy", it.variant.as_bytes(), it.version.as_bytes()]),
        };
        Self::Command {
            reported: command.reported.0,
            hash: order,
        }
    }
}
