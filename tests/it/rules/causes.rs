//! Every shipped alert on a real Prometheus and a real Alertmanager. Its cause is planted as the sample
//! series of its `promtool` test.
//!
//! A minute of a test is half a second here. The minutes before the alert are blocks in the storage of
//! Prometheus, and an exporter serves the later ones. Each alert has a namespace of its own, so one
//! Prometheus holds the causes of all alerts.

mod clusters;
mod scrapes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use marked_yaml::types::MarkedMappingNode;

use super::{Alert, alerts, mappings, read, test_files, text_of};
use crate::dashboards::folder;
use crate::harness::alertmanager::{Alertmanager, Notified, accelerated_rules};
use crate::harness::prometheus::Prometheus;
use crate::harness::wait_until;

/// Acceleration of time: a minute is half a second.
const SPEED: u32 = 120;
const MINUTE: Duration = Duration::from_millis(500);
/// A window of two minutes contains at least three scrapes.
const SCRAPE_INTERVAL: Duration = Duration::from_millis(250);
/// Time that the blocks of the past and the start of Prometheus take on an idle machine.
const PREPARATION: Duration = Duration::from_secs(10);
/// Time after the end of the past within which Prometheus must run: two minutes of a test.
const MAX_DELAY: Duration = MINUTE.saturating_mul(2);
/// Time limit of all alerts on a busy machine. The longest `for` takes 7.5 seconds.
const NOTIFIED: Duration = Duration::from_mins(2);

type Labels = BTreeMap<String, String>;

/// Sample series of one alert, and the alerts that they raise.
struct Cause {
    alert: String,
    series: Vec<SampleSeries>,
    /// Minute of the test that is the start of Prometheus.
    start: f64,
    /// Labels of the expected alerts.
    raised: Vec<Labels>,
}

/// First case of a test in which the alert fires.
fn firing_case<'a>(alert: &Alert, test: &'a MarkedMappingNode) -> Option<&'a MarkedMappingNode> {
    mappings(test, "alert_rule_test").into_iter().find(|case| {
        text_of(case, "alertname") == alert.name && !mappings(case, "exp_alerts").is_empty()
    })
}

/// Sample series in the notation of `promtool test rules`.
struct SampleSeries {
    /// Name and labels.
    name: String,
    /// Minutes between two values.
    interval: f64,
    values: Vec<Option<f64>>,
    /// Increase of each value after the last one.
    step: f64,
}

impl Cause {
    /// Cause in the first test in which the alert fires.
    fn of(alert: &Alert, tests: &[&MarkedMappingNode]) -> Self {
        let mut firing = tests
            .iter()
            .filter_map(|test| Some((test, firing_case(alert, test)?)));
        let (test, case) = firing
            .next()
            .unwrap_or_else(|| panic!("no test plants the cause of {}", alert.name));
        let namespace = alert.name.to_lowercase();
        let raised = mappings(case, "exp_alerts").into_iter().map(|expected| {
            let labels = expected.get_mapping("exp_labels").expect("exp_labels");
            let labels = labels.iter().map(|(key, value)| {
                let value = value.as_scalar().expect("a label").as_str();
                (key.as_str().to_owned(), value.to_owned())
            });
            let own = [
                ("alertname".to_owned(), alert.name.clone()),
                ("namespace".to_owned(), namespace.clone()),
            ];
            labels.chain(own).collect()
        });
        let mut raised: Vec<Labels> = raised.collect();
        if alert.name == ABSENT {
            // The expression makes the labels.
            for labels in &mut raised {
                labels.remove("namespace");
            }
        }
        let waits_for = alert.waits_for.as_deref().map_or(0.0, minutes);
        let interval = minutes(text_of(test, "interval"));
        let series = mappings(test, "input_series").into_iter();
        Self {
            series: series
                .map(|series| SampleSeries::read(series, &namespace, interval))
                .collect(),
            start: (minutes(text_of(case, "eval_time")) - waits_for).max(0.0),
            alert: alert.name.clone(),
            raised,
        }
    }

    /// Time of a minute of the test, in seconds since the epoch, if Prometheus starts at `now`.
    fn time(&self, minute: f64, now: f64) -> f64 {
        now + (minute - self.start) * MINUTE.as_secs_f64()
    }

    /// Value of a series in a minute of the test. A time is a time of the test, and a rate is as
    /// accelerated as the counters are.
    fn value(&self, series: &SampleSeries, minute: f64, now: f64) -> Option<f64> {
        let value = series.at(minute)?;
        Some(if series.name.contains("_timestamp_seconds{") {
            self.time(value / 60.0, now)
        } else if series.name.contains("objective=\"throughput\"") {
            value * f64::from(SPEED)
        } else {
            value
        })
    }
}

impl SampleSeries {
    fn read(node: &MarkedMappingNode, namespace: &str, interval: f64) -> Self {
        // OpenMetrics has no empty labels, and no spaces between labels.
        let name = text_of(node, "series").replace(", value=\"\"", "");
        let name = name.replace("\", ", "\",");
        let (metric, labels) = name
            .split_once('{')
            .map_or((&*name, ""), |(metric, labels)| {
                (metric, labels.trim_end_matches('}'))
            });
        let comma = if labels.is_empty() { "" } else { "," };
        let mut values = Vec::new();
        let mut step = 0.0;
        for item in text_of(node, "values").split_whitespace() {
            let (start, increase, count) = item_of(item);
            step = increase;
            values.extend((0..=count).scan(start, |next, _| {
                let value = *next;
                *next = next.map(|value| value + increase);
                Some(value)
            }));
            // "_x9" is nine missing samples, "1x9" ten samples.
            if start.is_none() && count > 0 {
                values.pop();
            }
        }
        Self {
            name: format!("{metric}{{namespace=\"{namespace}\"{comma}{labels}}}"),
            interval,
            values,
            step,
        }
    }

    /// Value in a minute of the test. After its last value, the series continues as its last item does.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "small numbers of minutes"
    )]
    fn at(&self, minute: f64) -> Option<f64> {
        let index = (minute / self.interval).max(0.0) as usize;
        if let Some(value) = self.values.get(index) {
            return *value;
        }
        let beyond = (index + 1 - self.values.len()) as f64;
        let last = self.values.last().copied().flatten()?;
        Some(last + beyond * self.step)
    }
}

/// Item of a sample series, as `0+60x20`, `7.5x50`, `_x9` or `4`: the start, the increase, and the
/// number of samples after the first one.
fn item_of(item: &str) -> (Option<f64>, f64, usize) {
    let (values, count) = item.split_once('x').unwrap_or((item, "0"));
    let count = count
        .parse()
        .unwrap_or_else(|_| panic!("{item:?} is no item of a series"));
    let sign = values
        .char_indices()
        .skip(1)
        .find(|(_, c)| "+-".contains(*c));
    let (start, increase) = sign.map_or((values, "0"), |(at, _)| values.split_at(at));
    let increase = increase
        .parse()
        .unwrap_or_else(|_| panic!("{item:?} is no item of a series"));
    (start.parse().ok(), increase, count)
}

/// Minutes of a duration with one unit, as `30s`, `14m` or `3d`.
fn minutes(duration: &str) -> f64 {
    let unit = duration.len() - 1;
    let (number, unit) = duration.split_at(unit);
    let number: f64 = number
        .parse()
        .unwrap_or_else(|_| panic!("{duration:?} is no duration"));
    let unit = match unit {
        "s" => 1.0 / 60.0,
        "m" => 1.0,
        "h" => 60.0,
        "d" => 1_440.0,
        _ => panic!("{duration:?} has an unknown unit"),
    };
    number * unit
}

/// Samples of the causes before `now`, in OpenMetrics.
fn past(causes: &[Cause], now: f64) -> String {
    let mut text = String::new();
    // The samples of a series are in the order of time.
    for cause in causes {
        for series in &cause.series {
            let mut minute = 0.0;
            while minute < cause.start {
                if let Some(value) = cause.value(series, minute, now) {
                    let time = cause.time(minute, now);
                    writeln!(text, "{} {value} {time:.3}", series.name)
                        .expect("invariant: a string");
                }
                minute += series.interval;
            }
        }
    }
    text + "# EOF\n"
}

/// Samples of the causes at the present time, as an exporter serves them.
fn present(causes: &[Cause], now: f64) -> String {
    let mut text = String::new();
    let elapsed = (seconds() - now) / MINUTE.as_secs_f64();
    // The blocks have the samples of the past.
    for cause in causes.iter().filter(|_| elapsed >= 0.0) {
        for series in &cause.series {
            if let Some(value) = cause.value(series, cause.start + elapsed, now) {
                writeln!(text, "{} {value}", series.name).expect("invariant: a string");
            }
        }
    }
    text
}

/// Seconds since the epoch.
fn seconds() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("invariant: after 1970").as_secs_f64()
}

/// HTTP server whose every response is an exposition; dropping it ends the server.
struct Exporter {
    address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Exporter {
    fn start(exposition: impl Fn() -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("invariant: it is bound");
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let thread = thread::spawn(move || {
            for connection in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                // Prometheus scrapes again after a broken connection.
                drop(connection.and_then(|stream| respond(stream, &exposition())));
            }
        });
        Self {
            address,
            is_stopped,
            thread: Some(thread),
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // The thread waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            // Its panic was printed; a destructor cannot do more.
            drop(thread.join());
        }
    }
}

/// Reads a request up to its empty line and responds.
fn respond(mut stream: TcpStream, body: &str) -> std::io::Result<()> {
    let request = BufReader::new(stream.try_clone()?).lines();
    for line in request {
        if line?.is_empty() {
            break;
        }
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The alert on missing targets. Its cause is the absence of every target of another alert, so it has a
/// Prometheus of its own.
const ABSENT: &str = "RankgaugeAbsent";

/// Severity of the alerts that are listed and not notified.
const INFO: &str = "info";

/// Plants the causes and waits until every alert of them is notified. Returns the notified alerts with
/// their receivers.
fn notified(causes: Vec<Cause>) -> Vec<(String, Notified)> {
    let expected: Vec<Labels> = causes
        .iter()
        .flat_map(|cause| cause.raised.clone())
        .collect();
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    let rules = folder("deploy/prometheus/rules");
    let files = accelerated_rules(&rules, scratch.path(), SPEED.into());
    in_seconds_of_the_test(&files);
    let recorded = scratch.path().join("recorded.rules.yaml");
    let alertmanager = Alertmanager::start(&folder("deploy/alertmanager/alertmanager.yaml"));
    let files: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let _running = running(
        &Arc::new(causes),
        (recorded.as_path(), files.as_slice()),
        alertmanager.address(),
    );
    let sent = || -> Vec<(String, Notified)> {
        let notifications = alertmanager.notifications().into_iter();
        let alerts = notifications.flat_map(|notification| {
            let receiver = notification.receiver;
            let alerts = notification.alerts.into_iter();
            alerts.map(move |alert| (receiver.clone(), alert))
        });
        alerts
            .filter(|(_, alert)| alert.status == "firing")
            .collect()
    };
    // Alerts without a notification are listed.
    let (listed, expected): (Vec<Labels>, Vec<Labels>) =
        (expected.into_iter()).partition(|labels| labels["severity"] == INFO);
    for labels in listed {
        wait_until(NOTIFIED, &format!("listed: {labels:?}"), || {
            let found = alertmanager.alerts();
            let mut found = found.iter().filter(|it| it.status.state == "active");
            found.any(|it| it.labels == labels).then_some(())
        });
    }
    for labels in expected {
        let what = format!("notified: {labels:?}");
        wait_until(NOTIFIED, &what, || {
            let sent = sent();
            let mut sent = sent.iter().map(|(_, alert)| &alert.labels);
            sent.any(|sent| *sent == labels).then_some(())
        });
    }
    sent()
}

/// Prometheus with the causes, and the exporter of their present samples.
///
/// The past ends at a time that is chosen before its blocks are written. A cause may last for a few seconds
/// only, so Prometheus must run at that time. On a busy machine, it is chosen again, later.
fn running(
    causes: &Arc<Vec<Cause>>,
    rules: (&Path, &[&Path]),
    alertmanager: SocketAddr,
) -> (Prometheus, Exporter) {
    let mut preparation = PREPARATION;
    loop {
        let now = seconds() + preparation.as_secs_f64();
        let planted = Arc::clone(causes);
        let exporter = Exporter::start(move || present(&planted, now));
        let past = past(causes, now);
        let prometheus = Prometheus::start_after(
            &past,
            rules,
            SCRAPE_INTERVAL,
            exporter.address,
            alertmanager,
        );
        if seconds() < now + MAX_DELAY.as_secs_f64() {
            return (prometheus, exporter);
        }
        assert!(preparation < NOTIFIED, "Prometheus does not start");
        preparation *= 2;
    }
}

/// Converts the times in the expressions that are numbers of seconds.
fn in_seconds_of_the_test(files: &[PathBuf]) {
    let file = files
        .iter()
        .find(|file| file.ends_with("pipeline.rules.yaml"));
    let file = file.expect("the file is shipped");
    let mut text = fs::read_to_string(file).expect("it was written");
    let times = [
        (") - 300\n", ") - 2.5\n", "RankgaugeGoldReloadFailing"),
        (")) < 300\n", ")) < 2.5\n", "RankgaugeStateNotShared"),
        ("(300 + 3 * ", "(2.5 + 0.025 * ", "RankgaugeStateNotShared"),
    ];
    for (seconds, converted, alert) in times {
        assert_eq!(text.matches(seconds).count(), 1, "{alert}: {seconds:?}");
        text = text.replace(seconds, converted);
    }
    fs::write(file, text).expect("it can be written");
}

#[test]
fn every_alert_is_notified_to_its_receiver_for_its_cause() {
    let alerts = alerts();
    let files: Vec<_> = test_files().iter().map(|path| read(path)).collect();
    let tests = files
        .iter()
        .flat_map(|file| mappings(file.as_mapping().expect("a mapping"), "tests"));
    let tests: Vec<&MarkedMappingNode> = tests.collect();
    let (absent, others): (Vec<Cause>, Vec<Cause>) = alerts
        .iter()
        .map(|alert| Cause::of(alert, &tests))
        .partition(|cause| cause.alert == ABSENT);
    let sent = thread::scope(|scope| {
        let absent = scope.spawn(|| notified(absent));
        let mut sent = notified(others);
        sent.extend(absent.join().expect("a cause is notified"));
        sent
    });
    for (receiver, alert) in &sent {
        let name = &alert.labels["alertname"];
        let expected = match alert.labels["severity"].as_str() {
            "critical" => "on-call",
            "warning" => "search-team",
            severity => panic!("{name}: {severity} is notified"),
        };
        assert_eq!(*receiver, expected, "{name}");
        for (key, text) in &alert.annotations {
            // Prometheus reports an error of a template in the text.
            assert!(
                !text.is_empty() && !text.contains("<error"),
                "{name}: {key}: {text}"
            );
        }
    }
    let names: BTreeSet<&String> = sent
        .iter()
        .map(|(_, alert)| &alert.labels["alertname"])
        .collect();
    let notified = alerts.iter().filter(|alert| alert.severity != INFO);
    assert_eq!(names.len(), notified.count());
}
