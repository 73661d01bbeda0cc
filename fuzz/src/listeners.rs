//! Both listeners of a running sidecar, which has a gold set and no broker.
#![allow(
    clippy::disallowed_methods,
    reason = "the sidecar runs beside the fuzzer, on a thread of its own"
)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rankgauge::app::App;
use rankgauge::log::LogQueue;

use super::choice;

/// Time limit for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Addresses of the listeners of a sidecar that runs until the process ends.
fn addresses() -> [SocketAddr; 2] {
    static ADDRESSES: OnceLock<[SocketAddr; 2]> = OnceLock::new();
    *ADDRESSES.get_or_init(|| {
        let overrides = [
            ("kafka.brokers", "127.0.0.1:1"),
            (
                "gold.paths",
                concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/gold.json"),
            ),
            ("metrics.listen", "127.0.0.1:0"),
            ("admin.listen", "127.0.0.1:0"),
        ];
        let overrides = overrides.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let config = rankgauge::config::load(&[], std::iter::empty(), &overrides);
        let config = config.expect("a valid configuration");
        let (send, receive) = channel();
        let sidecar = move || {
            let log = LogQueue::start(std::io::sink()).expect("a thread");
            let mut app = App::start(config, &log, None).expect("the sidecar starts");
            let admin = app.admin_address().expect("the admin listener is enabled");
            send.send([app.address(), admin]).expect("a receiver");
            app.run_until(std::future::pending::<()>())
                .expect("the sidecar runs");
        };
        let thread = thread::Builder::new().name("sidecar".to_owned());
        thread.spawn(sidecar).expect("a thread");
        receive.recv().expect("the sidecar starts")
    })
}

/// Sends the input as a request. The server responds in HTTP, or closes the connection.
pub(super) fn request(input: &[u8]) {
    let address = choice(input, &addresses());
    let mut connection = TcpStream::connect(address).expect("it listens");
    connection
        .set_read_timeout(Some(RESPONSE_TIMEOUT))
        .expect("a time limit");
    // The server may close the connection before the end of an invalid request.
    drop(connection.write_all(input));
    drop(connection.shutdown(Shutdown::Write));
    let mut response = Vec::new();
    match connection.read_to_end(&mut response) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        Err(error) => panic!("no end of the response: {error}"),
    }
    assert!(
        response.is_empty() || response.starts_with(b"HTTP/1."),
        "{response:?}"
    );
}
