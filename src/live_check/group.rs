//! Members of the consumer group that do not belong to this deployment.

use super::finding::Finding;
use crate::config::Config;
use rankgauge_kafka::reader::Reader;

/// Maximum number of members that are named.
const MAX_NAMED: usize = 3;

/// Checks the members of the group. A group without members, and one that may not be described, has no finding.
pub(super) fn check(config: &Config, reader: &Reader<'_>) -> Option<Finding> {
    let kafka = &config.kafka;
    let members = reader.group_members().ok()?;
    let foreign = members.iter().filter(|it| kafka.is_foreign(it));
    let foreign: Vec<String> = foreign.map(ToString::to_string).collect();
    let group = kafka.consumer_group();
    if foreign.is_empty() {
        let all = members.len();
        return (all > 0).then(|| {
            let text = format!(
                "consumer group {group} has {all} members, all of them rankgauge with these topics"
            );
            Finding::ok("group", text)
        });
    }
    let named = foreign.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>();
    let more = match foreign.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(Finding::error(
        "group",
        format!(
            "consumer group {group} has members that are not of this deployment: {}{more}",
            named.join("; ")
        ),
        "set another kafka.group_id: members of a group receive each other's partitions and replace each \
         other's offsets",
    ))
}
