//! Causes of failed connections to Kafka, recognised from the errors of librdkafka.

use rankgauge_kafka::connection::ConnectionProblem;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// Errors with the messages of librdkafka 2.12.
const ERRORS: [(RDKafkaErrorCode, &str, ConnectionProblem); 9] = [
    (
        RDKafkaErrorCode::BrokerTransportFailure,
        "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in \
         state CONNECT)",
        ConnectionProblem::Refused,
    ),
    (
        RDKafkaErrorCode::Resolve,
        "broker.invalid:9092/bootstrap: Failed to resolve 'broker.invalid:9092': Name or service not \
         known (after 5ms in state CONNECT)",
        ConnectionProblem::Unresolved,
    ),
    (
        RDKafkaErrorCode::SSL,
        "ssl://kafka:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate \
         verify failed: broker certificate could not be verified, verify that ssl.ca.location is \
         correctly configured",
        ConnectionProblem::Tls,
    ),
    (
        RDKafkaErrorCode::BrokerTransportFailure,
        "ssl://kafka:9092/bootstrap: SSL handshake failed: Disconnected: SSL connection closed by \
         peer: connecting to a PLAINTEXT broker listener? (after 46ms in state SSL_HANDSHAKE)",
        ConnectionProblem::Tls,
    ),
    (
        RDKafkaErrorCode::Authentication,
        "sasl_ssl://kafka:9094/bootstrap: SASL authentication error: Authentication failed during \
         authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512",
        ConnectionProblem::Authentication,
    ),
    (
        RDKafkaErrorCode::BrokerTransportFailure,
        "kafka:9092/bootstrap: Connection setup timed out in state CONNECT (after 30000ms in state \
         CONNECT)",
        ConnectionProblem::Timeout,
    ),
    (
        RDKafkaErrorCode::OperationTimedOut,
        "kafka:9092/1: 1 request(s) timed out: disconnect (average rtt 1.2ms)",
        ConnectionProblem::Timeout,
    ),
    (
        RDKafkaErrorCode::BrokerTransportFailure,
        "kafka:9092/1: Disconnected (after 1000ms in state UP)",
        ConnectionProblem::Closed,
    ),
    (
        RDKafkaErrorCode::BrokerTransportFailure,
        "kafka:9092/1: Receive failed: Connection reset by peer",
        ConnectionProblem::Closed,
    ),
];

#[test]
fn errors_of_librdkafka_have_their_cause() {
    for (code, message, problem) in ERRORS {
        let found = ConnectionProblem::of(&KafkaError::Global(code), message);
        assert_eq!(found, Some(problem), "{message}");
    }
}

#[test]
fn explanation_has_cause_message_and_remedy() {
    for (code, message, problem) in ERRORS {
        let found = ConnectionProblem::of(&KafkaError::Global(code), message);
        let explained = found.expect("the error has a cause").explain(message);
        for part in [problem.name(), message, problem.remedy()] {
            assert!(explained.contains(part), "{explained}");
        }
    }
}

#[test]
fn summaries_and_other_errors_have_no_cause() {
    for code in [
        RDKafkaErrorCode::AllBrokersDown,
        RDKafkaErrorCode::UnknownTopicOrPartition,
        RDKafkaErrorCode::PollExceeded,
    ] {
        assert_eq!(ConnectionProblem::of(&KafkaError::Global(code), ""), None);
    }
}

#[test]
fn causes_have_distinct_names() {
    let names = ConnectionProblem::ALL.map(ConnectionProblem::name);
    let distinct: std::collections::BTreeSet<&str> = names.into_iter().collect();
    assert_eq!(distinct.len(), ConnectionProblem::ALL.len());
}
