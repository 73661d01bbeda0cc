//! Topics as the brokers describe them.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::{Client, ClientContext, DefaultClientContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::MetadataPartition;
use tracing::info;

use crate::{Error, Settings};

/// Number and interval of the requests for a topic that was created.
const METADATA_ATTEMPTS: usize = 40;
const METADATA_INTERVAL: Duration = Duration::from_millis(50);

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

/// Returns the number of brokers that lead partitions of these topics; at least 1.
pub(crate) fn leaders<C: ClientContext>(
    client: &Client<C>,
    names: &[String],
    wait: Duration,
) -> usize {
    let found = names.iter().filter_map(|name| {
        let metadata = client.fetch_metadata(Some(name), wait).ok()?;
        let topic = metadata
            .topics()
            .iter()
            .find(|found| found.name() == name.as_str());
        let leaders = topic?.partitions().iter().map(MetadataPartition::leader);
        Some(leaders.collect::<Vec<_>>())
    });
    let leaders: BTreeSet<i32> = found.flatten().filter(|leader| *leader >= 0).collect();
    leaders.len().max(1)
}

/// Returns the numbers of partitions of the topics that are read; without a topic of feedback alone, that
/// of the search topic twice.
///
/// # Errors
/// [`Error::UnequalPartitions`], or the reason for which a topic cannot be read yet.
pub(crate) fn matching_partitions<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    wait: Duration,
) -> Result<[usize; 2], Error> {
    let search = partitions(client, settings, &settings.search_topic, wait)?;
    if settings.kinds().len() == 1 {
        return Ok([search; 2]);
    }
    let feedback = partitions(client, settings, &settings.feedback_topic, wait)?;
    let counts = [search, feedback];
    settings.check_partitions(counts).map(|()| counts)
}

/// Creates the topic of the owner, unless it exists.
///
/// # Errors
/// [`Error::OwnerTopic`], if it cannot be created or has more than one partition.
pub(crate) fn ensure_owner<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    wait: Duration,
) -> Result<(), Error> {
    let topic = settings.owner_topic();
    let failed = |error: String| Error::OwnerTopic {
        topic: topic.clone(),
        error,
    };
    match partitions(client, settings, &topic, wait) {
        Ok(1) => return Ok(()),
        Ok(count) => return Err(failed(format!("it has {count} partitions"))),
        Err(Error::NoTopic(_)) => {}
        Err(problem) => return Err(problem),
    }
    // The brokers choose the number of replicas.
    let wanted = NewTopic::new(&topic, 1, TopicReplication::Fixed(-1));
    create(client, settings, &wanted, (1, wait), failed)?;
    info!(topic, "topic of the owner created");
    Ok(())
}

/// Creates a topic, unless another process just did, and waits until its partitions are known.
fn create<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    wanted: &NewTopic<'_>,
    (number, wait): (usize, Duration),
    failed: impl Fn(String) -> Error,
) -> Result<(), Error> {
    let admin: AdminClient<DefaultClientContext> = settings
        .client()
        .create()
        .map_err(|error| Error::of_configuration(&error, settings))?;
    let options = AdminOptions::new().operation_timeout(Some(wait));
    let created = block_on(admin.create_topics([wanted], &options));
    let created = created.map_err(|error| failed(settings.text_of(&error)))?;
    for result in created {
        match result {
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((_, code)) => return Err(failed(code.to_string())),
        }
    }
    // It is known when its leader is.
    for _ in 0..METADATA_ATTEMPTS {
        if partitions(client, settings, wanted.name, wait) == Ok(number) {
            return Ok(());
        }
        thread::sleep(METADATA_INTERVAL);
    }
    Err(failed("it is not available yet".to_owned()))
}

/// Configuration of an internal topic. Its records are larger than those of its source, by their headers.
/// The retention outlasts a weekend without a reader.
pub(crate) const INTERNAL_CONFIGURATION: [(&str, &str); 4] = [
    ("cleanup.policy", "delete"),
    ("retention.ms", "259200000"),
    ("message.timestamp.type", "CreateTime"),
    ("max.message.bytes", "104857600"),
];

/// Creates the internal topics of forwarders, unless they exist: with as many partitions as the larger one of
/// the source topics. Returns the number of partitions of each internal topic.
///
/// # Errors
/// [`Error::InternalTopic`], if one cannot be created, or they have different numbers of partitions.
pub(crate) fn ensure_internal<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    sources: [usize; 2],
    wait: Duration,
) -> Result<usize, Error> {
    let names: Vec<String> = (settings.kinds().iter())
        .map(|kind| settings.internal_topic(*kind))
        .collect();
    let mut counts = Vec::new();
    for name in &names {
        counts.push(match partitions(client, settings, name, wait) {
            Ok(count) => Some(count),
            Err(Error::NoTopic(_)) => None,
            Err(problem) => return Err(problem),
        });
    }
    let known = counts.iter().flatten().max().copied();
    let number = known.unwrap_or(sources[0].max(sources[1]));
    for (name, count) in names.iter().zip(counts) {
        let failed = |error: String| Error::InternalTopic {
            topic: name.clone(),
            partitions: number,
            error,
        };
        match count {
            Some(count) if count == number => continue,
            Some(count) => return Err(failed(format!("it has {count} partitions"))),
            None => {}
        }
        let partitions_of = i32::try_from(number).unwrap_or(i32::MAX);
        let topic = NewTopic::new(name, partitions_of, TopicReplication::Fixed(-1));
        let topic = (INTERNAL_CONFIGURATION.iter())
            .fold(topic, |topic, (key, value)| topic.set(key, value));
        create(client, settings, &topic, (number, wait), failed)?;
        info!(topic = name, partitions = number, "internal topic created");
    }
    Ok(number)
}

/// Waits for a request on the current thread.
pub(crate) fn block_on<F: Future>(request: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut request = pin!(request);
    loop {
        match request.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
