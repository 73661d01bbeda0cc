//! Topics as the brokers describe them.

use std::time::Duration;

use rdkafka::client::{Client, ClientContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::{Error, Settings};

/// Returns the number of partitions of topic `name`.
///
/// # Errors
/// The reason for which the topic cannot be read yet.
pub(crate) fn partitions<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    name: &str,
    wait: Duration,
) -> Result<usize, Error> {
    let metadata = client
        .fetch_metadata(Some(name), wait)
        .map_err(|_| Error::NoAnswer)?;
    let found = metadata.topics().iter().find(|found| found.name() == name);
    let Some(found) = found else {
        return Err(Error::NoTopic(name.to_owned()));
    };
    match found.error().map(RDKafkaErrorCode::from) {
        None if !found.partitions().is_empty() => Ok(found.partitions().len()),
        None => Err(Error::NoTopic(name.to_owned())),
        Some(code) => Err(Error::of_topic(name, &KafkaError::Global(code), settings)),
    }
}

/// Returns the number of partitions of both topics.
///
/// # Errors
/// [`Error::UnequalPartitions`], or the reason for which a topic cannot be read yet.
pub(crate) fn matching_partitions<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    wait: Duration,
) -> Result<usize, Error> {
    let search = partitions(client, settings, &settings.search_topic, wait)?;
    if settings.kinds().len() == 1 {
        return Ok(search);
    }
    let feedback = partitions(client, settings, &settings.feedback_topic, wait)?;
    settings.equal_partitions([search, feedback])
}
