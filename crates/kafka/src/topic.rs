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
    let count = match partitions(client, settings, &topic, wait) {
        Err(Error::NoTopic(_)) => {
            let count = create(client, settings, (&topic, 1, &[]), wait, failed)?;
            info!(topic, "topic of the owner created");
            count
        }
        known => known?,
    };
    if count == 1 {
        Ok(())
    } else {
        Err(failed(format!("it has {count} partitions")))
    }
}

/// Connects a client for requests that take at most `wait` on a broker.
///
/// # Errors
/// The settings of the connection are not valid.
pub(crate) fn admin(
    settings: &Settings,
    wait: Duration,
) -> Result<(AdminClient<DefaultClientContext>, AdminOptions), Error> {
    let admin = settings.client().create();
    let admin = admin.map_err(|error| Error::of_configuration(&error, settings))?;
    Ok((admin, AdminOptions::new().operation_timeout(Some(wait))))
}

/// Name, number of partitions and configuration of a topic to create.
type Wanted<'a> = (&'a str, usize, &'a [(&'a str, &'a str)]);

/// Creates a topic, unless another process just did, and waits until its partitions are known. Returns their
/// number, which is larger than the wanted one if another process chose it.
///
/// # Errors
/// The one that `failed` makes of the reason.
pub(crate) fn create<C: ClientContext>(
    client: &Client<C>,
    settings: &Settings,
    (name, number, configuration): Wanted<'_>,
    wait: Duration,
    failed: impl Fn(String) -> Error,
) -> Result<usize, Error> {
    let (admin, options) = admin(settings, wait)?;
    // The brokers choose the number of replicas.
    let wanted = i32::try_from(number).unwrap_or(i32::MAX);
    let wanted = NewTopic::new(name, wanted, TopicReplication::Fixed(-1));
    let wanted = (configuration.iter()).fold(wanted, |topic, (key, value)| topic.set(key, value));
    let created = block_on(admin.create_topics([&wanted], &options));
    let created = created.map_err(|error| failed(settings.text_of(&error)))?;
    for result in created {
        match result {
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((_, code)) => return Err(failed(code.to_string())),
        }
    }
    // It is known when its leader is.
    for _ in 0..METADATA_ATTEMPTS {
        match partitions(client, settings, name, wait) {
            Ok(count) if count >= number => return Ok(count),
            _ => thread::sleep(METADATA_INTERVAL),
        }
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
        let count = if let Some(count) = count {
            count
        } else {
            let wanted: Wanted<'_> = (name, number, &INTERNAL_CONFIGURATION);
            let count = create(client, settings, wanted, wait, failed)?;
            info!(topic = name, partitions = count, "internal topic created");
            count
        };
        if count != number {
            return Err(failed(format!("it has {count} partitions")));
        }
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
