//! Broker with a listener for TLS and SCRAM, and an authorizer.
//!
//! Clients of the harness use the listener without security, where they may do everything.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::super::{free_port, scratch_folder};
use super::{Broker, format_storage, jvm_of_a_test, server_properties};

/// Type of a resource, as the protocol of Kafka numbers it.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Resource {
    Topic = 2,
    Group = 3,
    TransactionalId = 5,
}

/// Operation on a resource, as the protocol of Kafka numbers it.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Operation {
    Read = 3,
    Write = 4,
    DescribeConfigs = 10,
}

/// Broker with a secure listener.
pub(crate) struct SecureBroker {
    broker: Broker,
    port: u16,
}

impl SecureBroker {
    /// Starts a broker with these users (name, password) of SCRAM-SHA-512. Only the first may use
    /// topics and groups. `certificate` and `key` are PEM.
    pub(crate) fn start(users: &[(&str, &str)], certificate: &str, key: &str) -> Self {
        let folder = scratch_folder("kafka");
        let (plain, port) = (free_port(), free_port());
        let keystore = folder.path().join("keystore.pem");
        fs::write(&keystore, format!("{key}{certificate}")).expect("a file can be written");
        let (first, _) = users.first().expect("a user");
        let properties = server_properties(plain, None, folder.path())
            .replace(
                &format!("listeners=PLAINTEXT://127.0.0.1:{plain}"),
                &format!("listeners=SECURE://127.0.0.1:{port},PLAINTEXT://127.0.0.1:{plain}"),
            )
            .replace("GATE:PLAINTEXT", "SECURE:SASL_SSL");
        let security = format!(
            "sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secure.ssl.keystore.type=PEM
listener.name.secure.ssl.keystore.location={}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:{first}
",
            keystore.display()
        );
        let settings = folder.path().join("server.properties");
        fs::write(&settings, properties + &security).expect("a file can be written");
        let scram: Vec<String> = users
            .iter()
            .map(|(name, password)| format!("SCRAM-SHA-512=[name={name},password={password}]"))
            .collect();
        let jvm = jvm_of_a_test();
        format_storage(&settings, &scram, &jvm);
        let mut broker = Broker {
            program: None,
            folder,
            bootstrap: format!("127.0.0.1:{plain}"),
            behind_gate: 0,
            jvm,
        };
        broker.restart();
        Self { broker, port }
    }

    /// Allows operations on all resources of a type to a user. The client of the harness has no such
    /// request.
    pub(crate) fn allow(&self, user: &str, allowed: &[(Resource, Operation)]) {
        const CREATE_ACLS: i16 = 30;
        const VERSION: i16 = 1;
        const LITERAL: u8 = 3;
        const ALLOW: u8 = 3;
        let text = |text: &str| {
            let length = u16::try_from(text.len()).expect("a short text");
            [&length.to_be_bytes(), text.as_bytes()].concat()
        };
        let number = |bytes: usize| u32::try_from(bytes).expect("a short request").to_be_bytes();
        let mut request = [CREATE_ACLS.to_be_bytes(), VERSION.to_be_bytes()].concat();
        // A number of the request, and no name of the client.
        request.extend([0, 0, 0, 1, 0xff, 0xff]);
        request.extend(number(allowed.len()));
        for (resource, operation) in allowed {
            request.push(*resource as u8);
            request.extend(text("*"));
            request.push(LITERAL);
            request.extend(text(&format!("User:{user}")));
            request.extend(text("*"));
            request.extend([*operation as u8, ALLOW]);
        }
        let mut broker = TcpStream::connect(&self.broker.bootstrap).expect("the broker runs");
        broker
            .write_all(&[&number(request.len()), request.as_slice()].concat())
            .expect("the broker reads");
        let mut length = [0; 4];
        broker.read_exact(&mut length).expect("an answer");
        let mut answer = vec![0; usize::try_from(u32::from_be_bytes(length)).expect("a length")];
        broker.read_exact(&mut answer).expect("an answer");
        // After three numbers, each result has a code, which is 0, and no text.
        let results = answer.get(12..).unwrap_or_default();
        let is_allowed = results.chunks(4).all(|it| it.starts_with(&[0, 0]));
        assert!(
            is_allowed && results.len() == 4 * allowed.len(),
            "{answer:?}"
        );
    }

    /// The broker, for clients without security.
    pub(crate) fn plain(&self) -> &Broker {
        &self.broker
    }

    /// Value of `bootstrap.servers` for clients with security.
    pub(crate) fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Replaces the certificate, and restarts the broker with it.
    pub(crate) fn rotate(&mut self, certificate: &str, key: &str) {
        let keystore = self.broker.folder.path().join("keystore.pem");
        fs::write(keystore, format!("{key}{certificate}")).expect("a file can be written");
        self.broker.restart();
    }
}
