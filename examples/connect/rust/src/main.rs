//! Search and feedback events from Rust: cargo run -- BROKERS SEARCH_TOPIC FEEDBACK_TOPIC
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use rdkafka::{ClientConfig, ClientContext};
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

const QUERIES: [&str; 3] = ["용도지역 변경", "건폐율", "opening hours"];

/// Counts the events that Kafka did not take.
#[derive(Default)]
struct Failed(AtomicUsize);

impl ClientContext for Failed {}

impl ProducerContext for Failed {
    type DeliveryOpaque = ();
    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        self.0.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
    }
}

/// The key joins a search with its feedback: both reach the same partition.
fn send(producer: &BaseProducer<Failed>, topic: &str, id: &str, mut event: Value) -> Result<(), Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    event["query_id"] = json!(id);
    event["ts"] = json!(u64::try_from(now.as_millis())?);
    let event = event.to_string();
    let record = BaseRecord::to(topic).key(id).payload(&event);
    Ok(producer.send(record).map_err(|(error, _)| error)?)
}

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &args[1]);
    let producer: BaseProducer<Failed> = config.create_with_context(Failed::default())?;
    for number in 0..10 {
        let (id, text) = (format!("rust-{}-{number}", std::process::id()), QUERIES[number % 3]);
        // Stands for the search service: five documents.
        let document = |rank| json!({ "id": format!("doc-{}", (number + rank) % 7) });
        let results: Vec<Value> = (0..5).map(document).collect();
        let clicked = &results[number % 3]["id"];
        let click = json!({ "event_id": format!("click-{id}"), "type": "click", "object_id": clicked });
        let latency_ms = 10 * (number + 1);
        let search = json!({ "query": text, "variant": "V1", "latency_ms": latency_ms, "results": results });
        send(&producer, &args[2], &id, search)?;
        // The user opens a result of every second search.
        (number % 2 == 0).then(|| send(&producer, &args[3], &id, click)).transpose()?;
    }
    producer.flush(Duration::from_secs(30))?;
    match producer.context().0.load(Ordering::Relaxed) {
        0 => Ok(()),
        failed => Err(format!("{failed} events are not delivered").into()),
    }
}
