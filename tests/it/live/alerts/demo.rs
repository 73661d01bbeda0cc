//! Alerts of the demo: its traffic with the configuration of `rankgauge demo`.

use std::collections::BTreeSet;

use rankgauge_core::time::Millis;
use rankgauge_serve::clock::wall_now;
use serde_json::json;

use super::super::stream::Stream;
use super::super::{SOON, scrape_when_received, settings, yaml};
use super::{alertmanager, has_every_scrape, label, prometheus};
use crate::harness::alertmanager::{Alertmanager, Notification, Notified};
use crate::harness::kafka::broker;
use crate::harness::prometheus::PAGE;
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

/// Searches per second and per minute of event time.
const RATE: f64 = 40.0;
const PER_MINUTE: usize = 2_400;

const HOUR: Millis = Millis(3_600_000);

/// The law-search profile and the additions of the demo to it, without those for the terminal.
const PROFILE: &str = include_str!("../../../../config/law-search.yaml");
const DEMO: &str = include_str!("../../../../config/demo.yaml");

/// Alerts that the regression of the demo raises: alert, variant, measure. V5 drops in the watched
/// ranking measures, and is then worse than the control V4, which the drop inhibits; V1, V2 and V3 are
/// worse by design, in one alert each. Of the interleaved rankings, users prefer one by design.
const DEMO_ALERTS: [[&str; 3]; 7] = [
    ["RankgaugeExperimentArmWorse", "V1", ""],
    ["RankgaugeExperimentArmWorse", "V2", ""],
    ["RankgaugeExperimentArmWorse", "V3", ""],
    ["RankgaugeExperimentArmWorse", "V5", ""],
    ["RankgaugeQualityDropped", "V5", "RR"],
    ["RankgaugeQualityDropped", "V5", "nDCG@10"],
    ["RankgaugeRankingPreferred", "", ""],
];

/// Event time runs ahead of the clock: each minute takes one scrape. The target test needs 25 minutes
/// and decides nothing here.
#[test]
fn regression_of_the_demo_raises_exactly_the_expected_alerts() {
    let regression = Some(Millis(8 * 60_000));
    // A query counts once a minute, and scores vary by the hour. The traffic begins with an hour, so that
    // the evidence does not depend on the time of the test: that of RR is near its threshold.
    let until_hour = Millis(HOUR.0 - wall_now().0.rem_euclid(HOUR.0));
    let mut stream = Stream::of_queries(broker(), 200, RATE, Millis(-until_hour.0), regression);
    let sidecar = demo(&stream);
    stream.produce(broker(), PER_MINUTE);
    scrape_when_received(&sidecar, stream.produced());
    let alertmanager = alertmanager();
    let prometheus = prometheus(&[&sidecar], &alertmanager);
    let raised = || raised(&alertmanager);
    let expected = names(&DEMO_ALERTS);
    for _ in 0..21 {
        stream.produce(broker(), PER_MINUTE);
        scrape_when_received(&sidecar, stream.produced());
        prometheus.wait_for_scrapes(1);
        if raised() == expected {
            break;
        }
    }
    wait_until(SOON, "all alerts are evaluated", || {
        stream.produce(broker(), 10);
        prometheus.wait_for_scrapes(1);
        (raised().len() >= expected.len()).then_some(())
    });
    assert_eq!(raised(), expected);
    let told = wait_until(SOON, "every variant is notified", || {
        stream.produce(broker(), 10);
        prometheus.wait_for_scrapes(1);
        let told = alertmanager.notifications();
        (notified(&told, "on-call").len() + notified(&told, "search-team").len() >= 4)
            .then_some(told)
    });
    // Wrong documents of the demo have no judgements: its incident is a warning, unless a scrape was before more unjudged
    // results were found.
    let was_critical = !prometheus
        .query("max_over_time(rankgauge_incident_info{severity=\"critical\"}[1d])")
        .is_empty();
    let drop = BTreeSet::from([["RankgaugeQualityDropped", "V5"]]);
    let arms = ["V1", "V2", "V3"].map(|variant| ["RankgaugeExperimentArmWorse", variant]);
    let arms = BTreeSet::from(arms);
    let of_teams = ["on-call", "search-team"].map(|receiver| notified(&told, receiver));
    let expected = if was_critical {
        [drop, arms]
    } else {
        [BTreeSet::new(), &drop | &arms]
    };
    assert_eq!(of_teams, expected, "{told:?}");
    // One notification for each worse arm, none for the preferred ranking, and for the drop of V5 one, and one more if its
    // measures drop at different times.
    if has_every_scrape(&prometheus) {
        assert!((4..=5).contains(&told.len()), "{told:?}");
    }
    let dropped = told.iter().flat_map(|notification| &notification.alerts);
    let mut dropped = dropped.filter(|it| it.labels["alertname"] == "RankgaugeQualityDropped");
    let dropped = dropped.next().expect("a drop");
    let description = &dropped.annotations["description"];
    assert!(description.contains("The loss is now 0."), "{description}");
    assert!(description.contains(", since about 20"), "{description}");
    let link = &dropped.annotations["incident_url"];
    assert!(description.contains(link), "{description}");
    let path = link.strip_prefix(PAGE).expect("the address of the page");
    assert_ne!(path, "/incidents");
    sidecar.page(path);
}

/// Alerts that a receiver was notified of: name and variant.
fn notified<'a>(told: &'a [Notification], receiver: &str) -> BTreeSet<[&'a str; 2]> {
    let to_receiver = told.iter().filter(|it| it.receiver == receiver);
    let alerts = to_receiver.flat_map(|notification| &notification.alerts);
    let label = |alert: &'a Notified, name| alert.labels.get(name).map_or("", String::as_str);
    alerts
        .map(|alert| ["alertname", "variant"].map(|name| label(alert, name)))
        .collect()
}

/// Alerts on an hour of the demo without its regression. V1, V2 and V3 are worse than the control by
/// design, the mean nDCG@10 of V1 is below its lowest target, and users prefer one of the interleaved
/// rankings.
const HEALTHY_DEMO_ALERTS: [[&str; 3]; 5] = [
    ["RankgaugeExperimentArmWorse", "V1", ""],
    ["RankgaugeExperimentArmWorse", "V2", ""],
    ["RankgaugeExperimentArmWorse", "V3", ""],
    ["RankgaugeQualityBelowTarget", "V1", "nDCG@10"],
    ["RankgaugeRankingPreferred", "", ""],
];

/// Event time runs ahead of the clock: each minute takes one scrape.
#[test]
#[ignore = "takes minutes: make alerts-test"]
fn healthy_hour_of_the_demo_raises_only_true_alerts() {
    let mut stream = Stream::of_queries(broker(), 200, RATE, Millis(0), None);
    let sidecar = demo(&stream);
    stream.produce(broker(), PER_MINUTE);
    scrape_when_received(&sidecar, stream.produced());
    let alertmanager = alertmanager();
    let prometheus = prometheus(&[&sidecar], &alertmanager);
    for _ in 0..60 {
        stream.produce(broker(), PER_MINUTE);
        scrape_when_received(&sidecar, stream.produced());
        prometheus.wait_for_scrapes(1);
    }
    let expected = names(&HEALTHY_DEMO_ALERTS);
    // Alerts that were resolved are included.
    let fired = || -> BTreeSet<[String; 3]> {
        let fired = prometheus.query("count_over_time(ALERTS{alertstate=\"firing\"}[1d])");
        let keys = ["alertname", "variant", "measure"];
        let labels = fired
            .iter()
            .map(|sample| keys.map(|key| sample.labels.get(key).cloned().unwrap_or_default()));
        labels.collect()
    };
    wait_until(SOON, "all alerts are evaluated", || {
        stream.produce(broker(), 10);
        prometheus.wait_for_scrapes(1);
        (fired().len() >= expected.len()).then_some(())
    });
    assert_eq!(fired(), expected);
    let sent = alertmanager.notifications();
    let on_call = sent.iter().filter(|it| it.receiver == "on-call").count();
    eprintln!(
        "{} searches in 61 minutes of event time: alerts {expected:?}; {} notifications, {on_call} of \
         them to the engineer on call",
        stream.produced()[0],
        sent.len(),
    );
    assert_eq!(on_call, 0, "{sent:?}");
}

/// Starts a sidecar with the configuration of the demo.
fn demo(stream: &Stream) -> Sidecar {
    let mut settings = settings(broker(), stream);
    settings["engine"] = json!({
        "out_of_orderness": "1s",
        "feedback_window": "1m",
        "max_future_skew": "24h",
    });
    let (_, additions) = DEMO
        .split_once("\nexperiments:\n")
        .expect("the demo declares its experiment");
    let configuration = format!("{PROFILE}\nexperiments:\n{additions}\n{}", yaml(&settings));
    Sidecar::start(&configuration, &[])
}

/// Alerts in Alertmanager, inhibited or not: name, variant and measure.
fn raised(alertmanager: &Alertmanager) -> BTreeSet<[String; 3]> {
    let keys = ["alertname", "variant", "measure"];
    let alerts = alertmanager.alerts();
    let alerts = alerts.iter();
    alerts
        .map(|alert| keys.map(|key| label(alert, key).to_owned()))
        .collect()
}

fn names(alerts: &[[&str; 3]]) -> BTreeSet<[String; 3]> {
    let alerts = alerts.iter();
    alerts.map(|labels| labels.map(str::to_owned)).collect()
}
