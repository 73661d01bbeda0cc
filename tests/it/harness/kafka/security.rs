//! Broker with a listener for TLS and SCRAM, and an authorizer.
//!
//! Clients of the harness use the listener without security, where they may do everything.

use std::fs;

use super::super::{free_port, scratch_folder};
use super::{Broker, format_storage, server_properties};

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
        format_storage(&settings, &scram);
        let mut broker = Broker {
            program: None,
            folder,
            bootstrap: format!("127.0.0.1:{plain}"),
            behind_gate: 0,
        };
        broker.restart();
        Self { broker, port }
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
