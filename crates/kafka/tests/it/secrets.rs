//! Values of secret properties appear in no error.

use rankgauge_core::engine::position::Join;
use rankgauge_kafka::reader::Reader;
use rankgauge_kafka::settings::{GroupProtocol, Properties, Settings, StalledPartition, Start};

const MARKER: &str = "planted-marker-5f3a";

/// Secret properties of librdkafka 2.12, with misspelled ones, whose values may be secrets as well.
const SECRETS: [&str; 18] = [
    "sasl.oauthbearer.assertion.jwt.template.file.key",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.password",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "sasl.pasword",
    "sasl.oauthbearer.client.secre",
    "sasl_password",
    "ssl.key",
    "ssl.kee.passphrase",
];

fn settings(properties: &[(&str, &str)]) -> Settings {
    let owned = properties.iter();
    let owned = owned.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Settings {
        brokers: "127.0.0.1:1".to_owned(),
        group_id: "group".to_owned(),
        search_topic: "search".to_owned(),
        feedback_topic: "feedback".to_owned(),
        dead_letter_topic: None,
        start: Start::Latest,
        stalled_partition: StalledPartition::Wait,
        group_protocol: GroupProtocol::Classic,
        owner: "host".to_owned(),
        join: Join::Partition,
        properties: owned.collect(),
    }
}

/// Every text that `settings` cause without a broker.
fn texts(settings: &Settings) -> Vec<String> {
    let mut texts = vec![format!("{:?}", settings.properties)];
    let problems = settings.problems().into_iter();
    texts.extend(problems.map(|(key, problem)| format!("{key}: {problem}")));
    if let Err(error) = Reader::new(settings) {
        texts.extend([error.to_string(), format!("{error:?}")]);
    }
    texts
}

#[test]
fn no_error_contains_the_value_of_a_secret_property() {
    let mut refused = 0;
    for name in SECRETS {
        for protocol in ["plaintext", "sasl_ssl"] {
            let settings = settings(&[("security.protocol", protocol), (name, MARKER)]);
            // The summary shows the values of unknown names that look like no secret.
            for text in texts(&settings).into_iter().skip(1) {
                assert!(!text.contains(MARKER), "{name}: {text}");
                refused += 1;
            }
        }
        if Properties::is_secret(name) {
            let summary = settings(&[(name, MARKER)]).properties.to_string();
            assert!(!summary.contains(MARKER), "{summary}");
        }
    }
    assert!(refused > 20, "the properties were not refused: {refused}");
}

#[test]
fn an_error_names_the_property_and_the_problem() {
    let error = |properties| {
        let settings = settings(properties);
        let created = Reader::new(&settings).map(drop);
        created.expect_err("the property is refused").to_string()
    };
    let unknown = error(&[("no.such.property", "1")]);
    assert!(
        unknown.contains("kafka.properties): no.such.property: librdkafka has no such property"),
        "{unknown}"
    );
    let wrong = error(&[("fetch.wait.max.ms", "soon")]);
    assert!(
        wrong.contains("fetch.wait.max.ms: librdkafka rejects the value: "),
        "{wrong}"
    );
}
