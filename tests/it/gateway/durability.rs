//! Every event that was answered with 200 is in the topic, whatever happens to the gateway or the broker.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::client::{Gateway, SOON, request, search};
use crate::harness::kafka::{Broker, broker};
use crate::harness::wait_until;

/// Time limit of an answer on a busy machine. librdkafka itself gives up after five minutes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Events in a request.
const BATCH: usize = 50;

/// Time for which the broker is away; `RANKGAUGE_AWAY_SECONDS` sets another.
fn away() -> Duration {
    let seconds = std::env::var("RANKGAUGE_AWAY_SECONDS").ok();
    let seconds = seconds.map(|it| it.parse().expect("RANKGAUGE_AWAY_SECONDS is a number"));
    Duration::from_secs(seconds.unwrap_or(2))
}

/// Requests of several clients, until they are told to stop.
struct Load {
    next: AtomicUsize,
    stop: AtomicBool,
    /// Numbers of the events that were answered with 200.
    confirmed: Mutex<BTreeSet<usize>>,
}

impl Load {
    fn new() -> Self {
        Self {
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            confirmed: Mutex::default(),
        }
    }

    fn confirmed(&self) -> usize {
        self.confirmed.lock().expect("no panic").len()
    }

    fn client(&self, address: SocketAddr) {
        while !self.stop.load(Ordering::Relaxed) {
            let first = self.next.fetch_add(BATCH, Ordering::Relaxed);
            let numbers = first..first + BATCH;
            let body: Vec<String> = numbers.clone().map(search).collect();
            let answer = request(
                address,
                "POST /v1/searches",
                &[],
                body.join("\n").as_bytes(),
            );
            match answer {
                Ok(answer) if answer.status == 200 => {
                    self.confirmed.lock().expect("no panic").extend(numbers);
                }
                Ok(_) => {}
                // The gateway was killed.
                Err(_) => return,
            }
        }
    }
}

/// Number of records for each event of a topic.
fn records(broker: &Broker, topic: &str) -> BTreeMap<String, usize> {
    let mut records = BTreeMap::new();
    for record in broker.consume(topic) {
        let key = String::from_utf8(record.key).expect("a key");
        *records.entry(key).or_default() += 1;
    }
    records
}

/// Checks that the topic has each confirmed event once. Returns their number.
fn assert_confirmed_once(load: Load, records: &BTreeMap<String, usize>) -> usize {
    let confirmed = load.confirmed.into_inner().expect("no panic");
    for number in &confirmed {
        let written = records.get(&format!("q{number}"));
        assert_eq!(written, Some(&1), "event {number}");
    }
    confirmed.len()
}

#[test]
fn a_killed_gateway_loses_nothing_that_it_confirmed() {
    let mut gateway = Gateway::start("");
    let load = Load::new();
    let address = gateway.address;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load.client(address));
        }
        wait_until(SOON, "events are confirmed", || {
            (load.confirmed() > 2_000).then_some(())
        });
        gateway.process.kill();
        load.stop.store(true, Ordering::Relaxed);
    });
    assert_confirmed_once(load, &records(broker(), &gateway.search));
}

#[test]
fn a_gateway_answers_what_it_took_before_it_ends() {
    let mut gateway = Gateway::start("");
    let load = Load::new();
    let address = gateway.address;
    let status = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| load.client(address));
        }
        wait_until(SOON, "events are confirmed", || {
            (load.confirmed() > 1_000).then_some(())
        });
        let status = gateway.process.terminate(SOON);
        load.stop.store(true, Ordering::Relaxed);
        status
    });
    assert_eq!(status.code(), Some(0));
    let records = records(broker(), &gateway.search);
    let confirmed = assert_confirmed_once(load, &records);
    // What has no answer is not in the topic either: the gateway took it before its end, or refused it.
    assert_eq!(records.len(), confirmed);
}

#[test]
fn a_broker_that_is_away_is_answered_with_503_and_nothing_is_missing_after_it() {
    let mut broker = Broker::private();
    let topics = broker.unique_topics("gateway", 2);
    let more = "gateway: {timeout: 500ms, memory: 4MiB}";
    let gateway = Gateway::on(&broker, topics, more);
    let mut confirmed = BTreeSet::new();
    let mut next = 0;
    let mut send = |confirmed: &mut BTreeSet<usize>| {
        let numbers = next..next + BATCH;
        next += BATCH;
        let body: Vec<String> = numbers.clone().map(search).collect();
        let started = Instant::now();
        let answer = gateway.post("/v1/searches", &body.join("\n"));
        let took = started.elapsed();
        assert!(took < ANSWER_TIMEOUT, "{took:?}");
        if answer.status == 200 {
            confirmed.extend(numbers);
        } else {
            assert_eq!(answer.status, 503, "{answer:?}");
            assert!(answer.head.contains("retry-after: "), "{}", answer.head);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(text.contains("repeat the whole request"), "{text}");
        }
        (answer.status, took)
    };
    // The first batch of a new topic can take longer than the short timeout.
    wait_until(SOON, "the broker takes events", || {
        (send(&mut confirmed).0 == 200).then_some(())
    });
    broker.stop();
    let stopped = Instant::now();
    let mut answers = Vec::new();
    while stopped.elapsed() < away() {
        let (status, took) = send(&mut confirmed);
        assert_eq!(status, 503);
        answers.push(took);
        let (status, text) = gateway.process.get("/readyz");
        assert_eq!(status, 503, "{text}");
        assert!(text.contains("clients receive 503"), "{text}");
        assert_eq!(gateway.process.get("/healthz").0, 200);
    }
    // With the default of `gateway.timeout`, all answers would take ten seconds.
    let quickest = answers.iter().min().expect("an answer");
    assert!(*quickest < Duration::from_secs(7), "{answers:?}");
    broker.restart();
    wait_until(3 * SOON, "the broker takes events again", || {
        (send(&mut confirmed).0 == 200).then_some(())
    });
    wait_until(SOON, "the gateway is ready again", || {
        (gateway.process.get("/readyz").0 == 200).then_some(())
    });
    let records = records(&broker, &gateway.search);
    for number in &confirmed {
        assert!(
            records.contains_key(&format!("q{number}")),
            "event {number}"
        );
    }
    let memory = gateway.process.metrics();
    assert_eq!(
        memory.value("rankgauge_gateway_memory_bytes", &[]),
        Some(0.0)
    );
}

#[test]
fn a_slow_broker_costs_limited_memory_and_time() {
    const MEMORY: f64 = 1_048_576.0;
    let broker = Broker::private();
    let topics = broker.unique_topics("gateway", 2);
    let gateway = Gateway::on(&broker, topics, "gateway: {timeout: 1s, memory: 1MiB}");
    let resident = || {
        let metrics = gateway.process.metrics();
        let value = |name| metrics.value(name, &[]).expect("a metric");
        let [used, resident] = [
            "rankgauge_gateway_memory_bytes",
            "process_resident_memory_bytes",
        ]
        .map(value);
        assert!(used <= MEMORY, "{used} bytes in use");
        resident
    };
    let before = resident();
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    let address = gateway.address;
    // More than the memory holds, in all requests together.
    let body: Vec<String> = (0..BATCH).map(search).collect();
    let body = body.join("\n") + &" ".repeat(100_000);
    let slowest = Mutex::new(Duration::ZERO);
    // Accepted and refused requests.
    let outcomes = [const { AtomicUsize::new(0) }; 2];
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                // The time limit ends the clients of a test that fails.
                while !is_over.load(Ordering::Relaxed) && begun.elapsed() < 2 * SOON {
                    let started = Instant::now();
                    let answer = request(address, "POST /v1/searches", &[], body.as_bytes());
                    let answer = answer.expect("a response");
                    let mut slowest = slowest.lock().expect("no panic");
                    *slowest = started.elapsed().max(*slowest);
                    match answer.status {
                        200 => outcomes[0].fetch_add(1, Ordering::Relaxed),
                        503 => outcomes[1].fetch_add(1, Ordering::Relaxed),
                        other => panic!("status {other}"),
                    };
                }
            });
        }
        // The broker answers for a moment, and then not until a request is refused.
        for _ in 0..5 {
            let more = |outcome: usize| {
                let count = || outcomes[outcome].load(Ordering::Relaxed);
                let earlier = count();
                wait_until(SOON, "a request has this outcome", || {
                    (count() > earlier).then_some(())
                });
            };
            more(0);
            broker.pause();
            more(1);
            let now = resident();
            assert!(now - before < 60e6, "{before} bytes before, {now} after");
            broker.resume();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let [accepted, refused] = outcomes.map(AtomicUsize::into_inner);
    assert!(
        accepted > 0 && refused > 0,
        "{accepted} accepted, {refused} refused"
    );
    let slowest = slowest.into_inner().expect("no panic");
    assert!(slowest < ANSWER_TIMEOUT, "{slowest:?}");
    let mut written: usize = records(&broker, &gateway.search).values().sum();
    written /= BATCH;
    assert!(written >= accepted, "{written} of {accepted} requests");
    let used = gateway.process.metrics();
    let used = used.value("rankgauge_gateway_memory_bytes", &[]);
    assert_eq!(used, Some(0.0));
}

#[test]
fn a_gateway_starts_without_a_broker() {
    let mut broker = Broker::private();
    let topics = broker.unique_topics("gateway", 2);
    broker.stop();
    let settings = format!(
        "kafka:\n  brokers: {}\n  search_topic: {}\n  feedback_topic: {}\n",
        broker.bootstrap(),
        topics.0,
        topics.1
    );
    let process = crate::harness::sidecar::Sidecar::gateway(&settings);
    let address = process.gateway_address();
    let post = || request(address, "POST /v1/searches", &[], search(1).as_bytes());
    let refused = post().expect("a response");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(process.get("/readyz").0, 503);
    assert_eq!(process.get("/healthz").0, 200);
    broker.restart();
    wait_until(SOON, "the gateway is ready", || {
        (process.get("/readyz").0 == 200).then_some(())
    });
    assert_eq!(post().expect("a response").status, 200);
}
