//! Gateway: events of HTTP clients, written to Kafka as native events.
//!
//! A request is read within its limits ([`memory`], `body`), its events are checked by the decoder
//! (`events`), and it is answered when the broker has them (`handler`). Kafka is the store: the gateway
//! keeps nothing that it has not answered.
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::time::Duration;
//!
//! use hyper::{HeaderMap, Uri};
//! use rankgauge_core::decode::Formats;
//! use rankgauge_core::event::{Acceptance, Limits};
//! use rankgauge_gateway::offline::Offline;
//! use rankgauge_gateway::{KeyBy, KnownFormats, Settings};
//!
//! let gateway = Offline {
//!     settings: Settings {
//!         listen: None,
//!         web: None,
//!         tokens: None,
//!         key: KeyBy::QueryId,
//!         cors_origins: Vec::new(),
//!         memory: 1 << 20,
//!         max_body: 1 << 16,
//!         max_decompressed: 1 << 16,
//!         max_events: 100,
//!         max_connections: 1,
//!         timeout: Duration::from_secs(1),
//!     },
//!     acceptance: Acceptance {
//!         limits: Limits { record_bytes: 1 << 16, results_per_search: 100 },
//!         has_gold_texts: false,
//!     },
//!     formats: KnownFormats::new(&Formats::NATIVE, &BTreeMap::new()),
//! };
//! let search = br#"{"query_id": "7f3a", "ts": 1763337600120, "query": "tents", "results": [{"id": "d1"}]}"#;
//! let response = gateway.post(&Uri::from_static("/v1/searches"), &HeaderMap::new(), search.to_vec());
//! assert_eq!((response.status, response.records[0].key.as_str()), (200, "7f3a"));
//! ```
#![allow(
    clippy::disallowed_methods,
    reason = "the shell: a gateway has threads, sockets and time limits"
)]

mod answer;
mod body;
mod cors;
mod events;
mod handler;
pub mod memory;
pub mod offline;
mod routes;
mod server;
mod settings;
mod tokens;

pub use routes::KnownFormats;
pub use server::{Gateway, StartError};
pub use settings::{KeyBy, Settings};
pub use tokens::{Application, ReadApplications, Tokens};
