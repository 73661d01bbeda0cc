//! Benchmark of the gateway with a real Kafka, compared with producers that send the same events.
//!
//! Three programs send the same searches, in turns: the gateway, whose clients post batches over HTTP;
//! a Python producer; and a Rust producer that does nothing else. Each is a process of its own, so that
//! its CPU time is that of all its threads and of nothing else. All wait for the broker with `acks=all`
//! and idempotence, and as many events wait at most. Then the gateway runs at half of its throughput, with
//! batches at fixed times. Before any value is printed, the topics are read: each of them has every event
//! once. `docs/performance.md` explains the numbers.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::panic,
    reason = "a benchmark reads clocks, prints its results, and panics on failure"
)]

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use clap::Parser;
use rdkafka::ClientConfig;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};

use cargo::CargoArguments;
use goal::Goal;
use it::harness::kafka::Broker;
use it::harness::sidecar::Sidecar;
use it::harness::wait_until;
use process::cpu_seconds;
use table::{print_heading, print_row, ratios};
use workload::Workload;

#[path = "rounds/cargo.rs"]
mod cargo;
#[path = "rounds/goal.rs"]
mod goal;
#[path = "rounds/process.rs"]
#[allow(dead_code, reason = "other benchmarks measure threads and memory")]
mod process;
#[path = "rounds/spread.rs"]
mod spread;
#[path = "rounds/table.rs"]
mod table;
#[path = "rounds/workload.rs"]
#[allow(dead_code, reason = "other benchmarks judge the records")]
mod workload;

#[path = "../tests/it"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "test harness; only its broker and its sidecar are used here"
)]
mod it {
    pub(crate) mod harness;
}

/// Events in a request.
const BATCH: usize = 100;
/// Connections of clients, each with one request at a time.
const CONNECTIONS: usize = 8;
/// Number of partitions of a topic.
const PARTITIONS: usize = 4;
/// Lowest number of events per CPU second of the gateway that is accepted.
const TARGET: f64 = 50_000.0;
/// Time limit of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// First argument of the process that only produces.
const PRODUCE: &str = "produce";

/// CPU time of the gateway for events in batches, compared with a Python and a Rust producer, and its
/// latency at half load.
#[derive(Parser)]
struct Arguments {
    /// Number of searches of each round.
    #[arg(long, default_value_t = 200_000)]
    searches: u64,
    /// Number of rounds of each program, in turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds at half load.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Run without the Python producer.
    #[arg(long)]
    no_peers: bool,
    #[command(flatten)]
    cargo: CargoArguments,
}

fn main() -> anyhow::Result<()> {
    let mut own_arguments = std::env::args().skip(1).peekable();
    if own_arguments.next_if(|first| first == PRODUCE).is_some() {
        return produce(&Producing::parse_from(
            std::iter::once(PRODUCE.to_owned()).chain(own_arguments),
        ));
    }
    let arguments = Arguments::parse();
    if !arguments.cargo.is_selected("gateway") {
        return Ok(());
    }
    let python = (!arguments.no_peers).then(python).transpose()?;
    let broker = Broker::of_a_benchmark();
    let fixture = Fixture::prepare(&broker, arguments.searches)?;
    println!("{}", fixture.description);
    let mut results = Results::default();
    for number in 1..=arguments.rounds.max(1) {
        println!("round {number} of {}", arguments.rounds.max(1));
        results.gateway.push(fixture.gateway()?);
        results.producer.push(fixture.producer()?);
        if let Some(python) = &python {
            results.python.push(fixture.python(python)?);
        }
    }
    let throughput = spread::Spread::of(all(&results.gateway, Measured::per_second)).median;
    let latency = fixture.half_load(throughput / 2.0, arguments.seconds)?;
    println!("results: every event is in its topic once, in every round");
    results.print();
    latency.print();
    Ok(())
}

/// Measurements of one run of a program.
#[derive(Clone, Copy, Debug, serde::Deserialize, serde::Serialize)]
struct Measured {
    events: u64,
    /// Wall time of `events`.
    seconds: f64,
    /// User and system time of `events`.
    cpu_seconds: f64,
}

#[allow(
    clippy::cast_precision_loss,
    reason = "an event count is far below 2^52"
)]
impl Measured {
    fn per_second(&self) -> f64 {
        self.events as f64 / self.seconds
    }

    fn per_cpu_second(&self) -> f64 {
        self.events as f64 / self.cpu_seconds
    }

    fn cpu_micros(&self) -> f64 {
        1e6 * self.cpu_seconds / self.events as f64
    }
}

fn all(rounds: &[Measured], value: impl Fn(&Measured) -> f64) -> Vec<f64> {
    rounds.iter().map(value).collect()
}

/// Measurements of every round.
#[derive(Default)]
struct Results {
    gateway: Vec<Measured>,
    producer: Vec<Measured>,
    python: Vec<Measured>,
}

impl Results {
    fn print(&self) {
        let programs = [
            ("gateway, batches of 100 over HTTP", &self.gateway),
            ("Rust producer alone", &self.producer),
            ("Python producer alone", &self.python),
        ];
        let programs = || programs.iter().filter(|(_, rounds)| !rounds.is_empty());
        print_heading("events/s, by the wall clock");
        for (name, rounds) in programs() {
            print_row(name, &all(rounds, Measured::per_second), 0);
        }
        print_heading("CPU, µs/event");
        for (name, rounds) in programs() {
            print_row(name, &all(rounds, Measured::cpu_micros), 2);
        }
        print_heading("events per CPU second");
        let mut medians = programs()
            .map(|(name, rounds)| print_row(name, &all(rounds, Measured::per_cpu_second), 0));
        let gateway = medians.next().unwrap_or_default();
        medians.for_each(drop);
        print_heading("ratio of CPU within a round");
        let cpu = |rounds: &[Measured]| all(rounds, Measured::cpu_micros);
        for (name, rounds) in programs().skip(1) {
            let name = format!("gateway to {name}");
            print_row(&name, &ratios(&cpu(&self.gateway), &cpu(rounds)), 2);
        }
        println!();
        Goal::AtLeast(TARGET).print("events per CPU second of the gateway", gateway, "events/s");
    }
}

/// Times from the moment at which a batch was due to its answer, sorted.
struct Latency {
    /// Events a second.
    rate: f64,
    times: Vec<Duration>,
}

impl Latency {
    fn print(&self) {
        let at = |per_mille: usize| {
            let rank = (self.times.len() * per_mille).div_ceil(1_000).max(1);
            self.times[rank - 1].as_secs_f64() * 1e3
        };
        println!(
            "latency of a batch of {BATCH} at {:.0} events/s, half of the throughput: p50 {:.1} ms, p90 \
             {:.1} ms, p99 {:.1} ms, maximum {:.1} ms ({} batches; clients, gateway and broker share the \
             cores)",
            self.rate,
            at(500),
            at(900),
            at(990),
            at(1_000),
            self.times.len()
        );
    }
}

/// Searches to send, and the broker that receives them.
struct Fixture<'a> {
    broker: &'a Broker,
    folder: tempfile::TempDir,
    /// Bodies of the requests.
    batches: Vec<Vec<u8>>,
    events: u64,
    /// Sum of the hashes of all events.
    expected: u64,
    description: String,
}

impl<'a> Fixture<'a> {
    fn prepare(broker: &'a Broker, searches: u64) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        // Whole batches only.
        let events = searches.next_multiple_of(u64::try_from(BATCH)?);
        let mut file = BufWriter::new(fs::File::create(folder.path().join("events"))?);
        let mut batches: Vec<Vec<u8>> = Vec::new();
        let (mut bytes, mut expected) = (0, 0_u64);
        for (number, record) in Workload::default().searches(events).enumerate() {
            if number.is_multiple_of(BATCH) {
                batches.push(Vec::new());
            }
            if let Some(batch) = batches.last_mut() {
                batch.extend(&record.payload);
                batch.push(b'\n');
            }
            writeln!(
                file,
                "{}\t{}",
                record.key,
                std::str::from_utf8(&record.payload)?
            )?;
            bytes += record.payload.len();
            expected = expected.wrapping_add(hash(record.key.as_bytes(), &record.payload));
        }
        file.flush()?;
        let count = std::thread::available_parallelism().map_or(1, usize::from);
        let description = format!(
            "{events} searches of {} bytes with {} results, in batches of {BATCH} over {CONNECTIONS} \
             connections; {PARTITIONS} partitions; {count} cores, which clients, gateway and broker share",
            bytes / usize::try_from(events)?.max(1),
            Workload::default().results,
        );
        Ok(Self {
            broker,
            folder,
            batches,
            events,
            expected,
            description,
        })
    }

    /// Events that wait for the broker at most.
    fn in_flight() -> usize {
        CONNECTIONS * BATCH
    }

    /// Starts a gateway that writes to a topic.
    fn start(&self, topics: &(String, String)) -> anyhow::Result<(Sidecar, SocketAddr)> {
        let settings = format!(
            "kafka: {{brokers: '{}', search_topic: {}, feedback_topic: {}}}\n\
             gateway: {{key: session_id}}\n",
            self.broker.bootstrap(),
            topics.0,
            topics.1
        );
        let process = Sidecar::gateway(&settings);
        wait_until(ANSWER_TIMEOUT, "the gateway is ready", || {
            (process.get("/readyz").0 == 200).then_some(())
        });
        let address = process.gateway_address();
        // The first request of a connection and of a producer costs more than the others.
        Client::connect(address)?.post("/v1/feedback", b"")?;
        Ok((process, address))
    }

    /// Posts all batches, as fast as the gateway answers them.
    fn gateway(&self) -> anyhow::Result<Measured> {
        let topics = self.broker.unique_topics("bench", PARTITIONS);
        let (process, address) = self.start(&topics)?;
        let before = process.cpu_seconds();
        let started = Instant::now();
        let next = AtomicUsize::new(0);
        let client = || -> anyhow::Result<()> {
            let mut client = Client::connect(address)?;
            while let Some(batch) = self.batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                client.send(batch)?;
            }
            Ok(())
        };
        in_parallel(&client)?;
        let measured = Measured {
            events: self.events,
            seconds: started.elapsed().as_secs_f64(),
            cpu_seconds: process.cpu_seconds() - before,
        };
        drop(process);
        self.check(&topics, 1)?;
        Ok(measured)
    }

    /// Posts batches at fixed times, `rate` events a second.
    fn half_load(&self, rate: f64, seconds: u32) -> anyhow::Result<Latency> {
        let topics = self.broker.unique_topics("bench", PARTITIONS);
        let (process, address) = self.start(&topics)?;
        #[allow(clippy::cast_precision_loss, reason = "a batch has a hundred events")]
        let interval = Duration::from_secs_f64(BATCH as f64 / rate);
        let wanted =
            Duration::from_secs(u64::from(seconds)).as_nanos() / interval.as_nanos().max(1);
        // Whole passes over the batches, so that the topic can be checked.
        let passes = usize::try_from(wanted)?.div_ceil(self.batches.len()).max(1);
        let count = u32::try_from(passes * self.batches.len())?;
        let times = Mutex::new(Vec::new());
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        let client = || -> anyhow::Result<()> {
            let mut client = Client::connect(address)?;
            let mut own = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = u32::try_from(number).ok().filter(|it| *it < count) else {
                    break;
                };
                let due = started + interval * place;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                client.send(&self.batches[number % self.batches.len()])?;
                own.push(due.elapsed());
            }
            times.lock().expect("no client panics").extend(own);
            Ok(())
        };
        in_parallel(&client)?;
        drop(process);
        self.check(&topics, u64::try_from(passes)?)?;
        let mut times = times.into_inner().expect("no client panics");
        times.sort_unstable();
        Ok(Latency { rate, times })
    }

    /// Arguments of the producers.
    fn common(&self, command: &mut Command, topic: &str) {
        command
            .args(["--brokers", self.broker.bootstrap()])
            .args(["--topic", topic])
            .arg("--events")
            .arg(self.folder.path().join("events"))
            .args(["--in-flight", &Self::in_flight().to_string()]);
    }

    /// Runs the Rust producer.
    fn producer(&self) -> anyhow::Result<Measured> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(PRODUCE);
        self.measure(command)
    }

    /// Runs the Python producer.
    fn python(&self, python: &Path) -> anyhow::Result<Measured> {
        let mut command = Command::new(python);
        command.arg(script("produce.py"));
        self.measure(command)
    }

    fn measure(&self, mut command: Command) -> anyhow::Result<Measured> {
        let topics = self.broker.unique_topics("bench", PARTITIONS);
        self.common(&mut command, &topics.0);
        let name = format!("{command:?}");
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {name}"))?;
        ensure!(output.status.success(), "{name} failed: {}", output.status);
        let report = String::from_utf8_lossy(&output.stdout);
        let last = report.lines().last().unwrap_or_default();
        let measured: Measured = serde_json::from_str(last)
            .with_context(|| format!("{name}: no report in {report:?}"))?;
        ensure!(measured.events == self.events, "{name}: {measured:?}");
        self.check(&topics, 1)?;
        Ok(measured)
    }

    /// Checks that a topic has each event this number of times, and removes it.
    fn check(&self, topics: &(String, String), times: u64) -> anyhow::Result<()> {
        let records = self.broker.consume(&topics.0);
        let sum = records.iter().fold(0_u64, |sum, record| {
            sum.wrapping_add(hash(&record.key, &record.payload))
        });
        let count = u64::try_from(records.len())?;
        ensure!(
            count == self.events * times && sum == self.expected.wrapping_mul(times),
            "{} has {count} records, and not each of {} events {times} times",
            topics.0,
            self.events
        );
        self.broker.delete_topic(&topics.0);
        self.broker.delete_topic(&topics.1);
        Ok(())
    }
}

fn hash(key: &[u8], payload: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, payload).hash(&mut hasher);
    hasher.finish()
}

/// Runs a client on every connection.
fn in_parallel(client: &(dyn Fn() -> anyhow::Result<()> + Sync)) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(client)).collect();
        clients
            .into_iter()
            .try_for_each(|client| match client.join() {
                Ok(result) => result,
                Err(_) => bail!("a client panicked"),
            })
    })
}

/// Client with one connection.
struct Client {
    connection: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let connection = TcpStream::connect(address)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(Self {
            connection: BufReader::new(connection),
            request: Vec::new(),
        })
    }

    /// Posts a batch of searches. Each of them has to be accepted.
    fn send(&mut self, batch: &[u8]) -> anyhow::Result<()> {
        let (status, body) = self.post("/v1/searches", batch)?;
        let accepted = format!(r#"{{"accepted":{BATCH},"rejected":[]}}"#);
        ensure!(status == 200 && body == accepted, "{status}: {body}");
        Ok(())
    }

    /// Posts a body, and returns the status and the body of the answer.
    fn post(&mut self, path: &str, body: &[u8]) -> anyhow::Result<(u16, String)> {
        self.request.clear();
        write!(
            self.request,
            "POST {path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/x-ndjson\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        )?;
        self.request.extend(body);
        self.connection.get_mut().write_all(&self.request)?;
        let mut line = String::new();
        self.connection.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|it| it.parse().ok());
        let status = status.with_context(|| format!("no status in {line:?}"))?;
        let mut length = 0;
        loop {
            line.clear();
            self.connection.read_line(&mut line)?;
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body)?;
        Ok((status, String::from_utf8(body)?))
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/python")
        .join(name)
}

/// Interpreter of the environment that `tests/setup.sh bench` creates.
fn python() -> anyhow::Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .context("cargo's temporary directory lies in the target directory")?;
    let python = target.join("bench-peers/bin/python");
    ensure!(
        python.exists(),
        "the Python programs are not installed in {}: run tests/setup.sh bench, or pass --no-peers",
        python.display()
    );
    Ok(python)
}

/// Sends the events of a file with the settings of the gateway's producer, and does nothing else.
#[derive(Parser)]
struct Producing {
    #[arg(long)]
    brokers: String,
    #[arg(long)]
    topic: String,
    #[arg(long)]
    events: PathBuf,
    #[arg(long)]
    in_flight: u64,
}

/// Counts of delivery reports.
#[derive(Default)]
struct Reports {
    delivered: AtomicU64,
    failed: AtomicU64,
}

impl rdkafka::ClientContext for Reports {}

impl ProducerContext for Reports {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let count = match result {
            Ok(_) => &self.delivered,
            Err(_) => &self.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

fn produce(arguments: &Producing) -> anyhow::Result<()> {
    let producer: BaseProducer<Reports> = ClientConfig::new()
        .set("bootstrap.servers", &arguments.brokers)
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("partitioner", "murmur2_random")
        .create_with_context(Reports::default())?;
    let client = producer.client();
    client.fetch_metadata(Some(&arguments.topic), ANSWER_TIMEOUT)?;
    let delivered = || producer.context().delivered.load(Ordering::Relaxed);
    let (started, cpu_started) = (Instant::now(), cpu_seconds("self")?);
    let mut sent = 0;
    for line in BufReader::new(fs::File::open(&arguments.events)?).lines() {
        let line = line?;
        let (key, payload) = line.split_once('\t').context("a key and an event")?;
        let mut record = BaseRecord::to(&arguments.topic).key(key).payload(payload);
        while let Err((problem, refused)) = producer.send(record) {
            ensure!(
                problem.rdkafka_error_code() == Some(RDKafkaErrorCode::QueueFull),
                "{problem}"
            );
            producer.poll(Duration::from_millis(10));
            record = refused;
        }
        sent += 1;
        producer.poll(Duration::ZERO);
        while sent - delivered() >= arguments.in_flight {
            producer.poll(Duration::from_millis(10));
            let failed = producer.context().failed.load(Ordering::Relaxed);
            ensure!(failed == 0, "{failed} events not delivered");
        }
    }
    producer.flush(ANSWER_TIMEOUT)?;
    ensure!(
        delivered() == sent,
        "{} of {sent} events delivered",
        delivered()
    );
    let measured = Measured {
        events: sent,
        seconds: started.elapsed().as_secs_f64(),
        cpu_seconds: cpu_seconds("self")? - cpu_started,
    };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}
