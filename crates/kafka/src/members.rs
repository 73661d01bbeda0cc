//! Members of the consumer group, as the brokers describe them.
//!
//! A static member (`group.instance.id`) takes the place of an earlier one with the same id. That is meant for
//! a replica that restarts; two running processes with one id would fence each other for ever. The client id of
//! a worker names its process, so a worker finds out whose place it would take before it joins.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use rdkafka::client::{Client, ClientContext};
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::groups::GroupInfo;

use crate::{Error, Settings};

/// Longest text of a client that is shown.
const MAX_SHOWN: usize = 120;

/// Largest number of topics of a member that are read.
const MAX_TOPICS: usize = 100;

/// Member of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Member id. That of a static member begins with its `group.instance.id`.
    pub id: String,
    /// Client id.
    pub client: String,
    /// Address of the client.
    pub host: String,
    /// Topics to which it subscribes.
    pub topics: BTreeSet<String>,
}

impl fmt::Display for GroupMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topics: Vec<&str> = self.topics.iter().map(String::as_str).collect();
        let topics = shown(&topics.join(", "));
        let (client, host) = (
            shown(&self.client),
            shown(self.host.trim_start_matches('/')),
        );
        write!(f, "client {client} at {host}, which reads {topics}")
    }
}

/// Text of another client, without control characters and not longer than a line.
fn shown(text: &str) -> String {
    let text: String = text.chars().take(MAX_SHOWN).collect();
    text.escape_debug().to_string()
}

/// Requests the members of the group. Empty for a group that does not exist, and for a protocol whose members
/// the brokers do not describe in this way.
///
/// # Errors
/// [`Error::ForbiddenGroup`] without permission, [`Error::NoAnswer`] without an answer.
pub(crate) fn members<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    wait: Duration,
) -> Result<Vec<GroupMember>, Error> {
    let group = settings.consumer_group();
    let found = client.fetch_group_list(Some(&group), wait);
    let found = found.map_err(|error| match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::GroupAuthorizationFailed) => Error::ForbiddenGroup(group.clone()),
        _ => Error::NoAnswer,
    })?;
    let groups = found.groups().iter();
    let members = groups.filter(|it| it.name() == group);
    let members = members.flat_map(GroupInfo::members).map(|it| GroupMember {
        id: it.id().to_owned(),
        client: it.client_id().to_owned(),
        host: it.client_host().to_owned(),
        topics: it.metadata().map(topics_of).unwrap_or_default(),
    });
    Ok(members.collect())
}

/// Topics of a subscription in the format of the consumer protocol: version, number of topics, and their names.
fn topics_of(metadata: &[u8]) -> BTreeSet<String> {
    let mut topics = BTreeSet::new();
    let Some((count, mut rest)) = metadata.get(2..).and_then(|it| it.split_first_chunk::<4>())
    else {
        return topics;
    };
    let count = usize::try_from(i32::from_be_bytes(*count)).unwrap_or(0);
    for _ in 0..count.min(MAX_TOPICS) {
        let Some((length, names)) = rest.split_first_chunk::<2>() else {
            break;
        };
        let length = usize::try_from(i16::from_be_bytes(*length)).unwrap_or(0);
        let Some((name, next)) = names.split_at_checked(length) else {
            break;
        };
        topics.insert(String::from_utf8_lossy(name).into_owned());
        rest = next;
    }
    topics
}

impl Settings {
    /// Member that has the `group.instance.id` of worker `number`, and belongs to another process.
    pub(crate) fn owner_of_instance<'m>(
        &self,
        number: usize,
        members: &'m [GroupMember],
    ) -> Option<&'m GroupMember> {
        let config = self.consumer(number);
        let instance = format!("{}-", config.get("group.instance.id")?);
        let client = config.get("client.id")?;
        let mut of_instance = members.iter().filter(|it| it.id.starts_with(&instance));
        of_instance.find(|it| it.client != client)
    }

    /// Returns true if a member is no worker of rankgauge with the same topics.
    pub fn is_foreign(&self, member: &GroupMember) -> bool {
        let topics: BTreeSet<String> = self.subscription().into_iter().collect();
        !member.client.starts_with("rankgauge-") || member.topics != topics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_a_subscription_are_read() {
        let metadata = b"\0\x01\0\0\0\x02\0\x01a\0\x03b-c\xff\xff\xff\xff";
        let found: Vec<String> = topics_of(metadata).into_iter().collect();
        assert_eq!(found, ["a", "b-c"]);
        // A cut or hostile subscription gives what can be read.
        assert_eq!(topics_of(&metadata[..9]).len(), 1);
        for end in 0..metadata.len() {
            assert!(topics_of(&metadata[..end]).len() <= 2);
        }
        assert_eq!(topics_of(b"\0\0\x7f\xff\xff\xff\x7f\xff").len(), 0);
        assert_eq!(topics_of(b"\0\0\xff\xff\xff\xff").len(), 0);
    }

    #[test]
    fn texts_of_clients_are_escaped() {
        let member = GroupMember {
            id: String::new(),
            client: "\u{1b}[31mred".to_owned(),
            host: "/10.0.0.1".to_owned(),
            topics: BTreeSet::from(["t".to_owned()]),
        };
        assert_eq!(
            member.to_string(),
            "client \\u{1b}[31mred at 10.0.0.1, which reads t"
        );
    }
}
