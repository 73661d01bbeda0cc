//! Limits of a listener, with short time limits: slow clients, used-up capacity, and values that
//! concurrent requests share.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use rankgauge_serve::build::BuildInfo;
use rankgauge_serve::process::BaseMetrics;
use rankgauge_serve::server::{Handler, HttpResponse, Limits, serve};
use rankgauge_serve::shared::Shared;
use rankgauge_serve::web::Web;
use tokio::sync::{Notify, Semaphore, watch};

/// Time limit of a condition that holds at once on an idle machine.
const SOON: Duration = Duration::from_secs(30);

/// Limits that no test reaches by accident.
const GENEROUS: Limits = Limits {
    requests: 2,
    connections: 100,
    request: Duration::from_mins(10),
    response: Duration::from_mins(10),
    drain: Duration::from_secs(2),
    idle: Duration::from_mins(10),
};

/// Time limit of a phase that a test exceeds.
const SHORT: Duration = Duration::from_millis(300);

/// Larger than the buffers of a connection.
const LARGE: usize = 64 << 20;

/// Handler with a probe, a response that waits for its release, and a large response.
struct Site {
    released: Semaphore,
    waiting: AtomicUsize,
}

impl Handler for Site {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        (request.uri().path() == "/probe").then(|| text("alive"))
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        match request.uri().path() {
            "/wait" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                drop(self.released.acquire().await);
                text("released")
            }
            "/large" => Response::new(Full::new(Bytes::from(vec![b'x'; LARGE]))),
            _ => text("here"),
        }
    }

    fn error(&self, status: StatusCode, problem: &str) -> HttpResponse {
        let mut response = text(problem);
        *response.status_mut() = status;
        response
    }
}

fn text(text: &str) -> HttpResponse {
    Response::new(Full::new(Bytes::from(text.to_owned())))
}

/// Listener in a thread of its own, stopped on drop.
struct Served {
    address: SocketAddr,
    site: Arc<Site>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn with(limits: Limits) -> Self {
        let site = Arc::new(Site {
            released: Semaphore::new(0),
            waiting: AtomicUsize::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        let metrics = BaseMetrics::new(BuildInfo::default(), Arc::default())
            .unwrap()
            .listener("test");
        let (stop, stopping) = watch::channel(false);
        let handler = Arc::clone(&site);
        let web = Arc::new(Web::default());
        let thread = thread::spawn(move || {
            runtime.block_on(serve(listener, handler, web, limits, metrics, stopping));
        });
        Self {
            address,
            site,
            stop,
            thread: Some(thread),
        }
    }

    fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(SOON)).unwrap();
        connection
    }

    /// Sends a request on a connection that stays open.
    fn send(&self, path: &str) -> TcpStream {
        let mut connection = self.connect();
        write!(connection, "GET {path} HTTP/1.1\r\nHost: site\r\n\r\n").unwrap();
        connection
    }

    /// Complete response to a request on a connection of its own.
    fn ask(&self, path: &str) -> String {
        let mut connection = self.connect();
        let head = "Host: site\r\nConnection: close\r\n\r\n";
        write!(connection, "GET {path} HTTP/1.1\r\n{head}").unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        response
    }

    /// Waits until the handler has this number of requests in `/wait`.
    fn wait_for(&self, requests: usize) {
        wait_until(SOON, "the requests reach the handler", || {
            (self.site.waiting.load(Ordering::SeqCst) == requests).then_some(())
        });
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            thread::panicking() || ended.is_some_and(|it| it.is_ok()),
            "the listener panicked"
        );
    }
}

/// Polls `condition` until it returns a value.
fn wait_until<T>(limit: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(start.elapsed() < limit, "timed out after {limit:?}: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns true if the server closes the connection without any further byte.
fn is_closed(connection: &mut TcpStream) -> bool {
    match connection.read(&mut [0; 1]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

/// First bytes of a response: its status line.
fn status(connection: &mut TcpStream) -> String {
    let mut line = [0; 12];
    connection.read_exact(&mut line).unwrap();
    String::from_utf8_lossy(&line).into_owned()
}

#[test]
fn incomplete_requests_are_closed_at_their_time_limit() {
    let served = Served::with(Limits {
        request: SHORT,
        ..GENEROUS
    });
    let started = Instant::now();
    for beginning in ["", "G", "GET /metrics HTTP/1.1\r\nHost: si"] {
        let mut connection = served.connect();
        connection.write_all(beginning.as_bytes()).unwrap();
        assert!(is_closed(&mut connection), "after {beginning:?}");
    }
    assert!(started.elapsed() > SHORT);
}

#[test]
fn bytes_that_arrive_one_by_one_do_not_extend_the_time_limit() {
    let served = Served::with(Limits {
        request: SHORT,
        ..GENEROUS
    });
    let mut connection = served.connect();
    connection.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").unwrap();
    wait_until(SOON, "the connection is closed", || {
        connection.write_all(b"x").err()
    });
    // The same holds for the second request of a connection, whose idle time is longer.
    let mut connection = served.send("/");
    assert_eq!(status(&mut connection), "HTTP/1.1 200");
    wait_until(SOON, "the connection is closed", || {
        connection.write_all(b"x").err()
    });
}

#[test]
fn idle_connections_are_closed_at_their_time_limit() {
    let served = Served::with(Limits {
        idle: SHORT,
        ..GENEROUS
    });
    let mut connection = served.send("/");
    assert_eq!(status(&mut connection), "HTTP/1.1 200");
    let mut rest = String::new();
    connection.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("here"), "{rest}");
}

#[test]
fn a_response_that_is_not_read_is_aborted_at_its_time_limit() {
    let served = Served::with(Limits {
        requests: 1,
        response: SHORT,
        ..GENEROUS
    });
    let mut slow_client = served.send("/large");
    assert_eq!(status(&mut slow_client), "HTTP/1.1 200");
    assert!(served.ask("/").starts_with("HTTP/1.1 503"));
    wait_until(SOON, "the request slot is free again", || {
        served.ask("/").starts_with("HTTP/1.1 200").then_some(())
    });
    let mut received = Vec::new();
    // An aborted connection ends with a reset or an early end.
    drop(slow_client.read_to_end(&mut received));
    assert!(received.len() < LARGE, "{}", received.len());
}

#[test]
fn a_large_response_that_is_read_is_complete() {
    let served = Served::with(GENEROUS);
    assert!(served.ask("/large").len() > LARGE);
}

#[test]
fn requests_beyond_the_capacity_are_rejected_at_once_and_probes_are_answered() {
    let served = Served::with(GENEROUS);
    let mut waiting = [served.send("/wait"), served.send("/wait")];
    served.wait_for(2);
    let rejected = served.ask("/").to_lowercase();
    assert!(rejected.starts_with("http/1.1 503"), "{rejected}");
    assert!(rejected.contains("\r\nretry-after: 1\r\n"), "{rejected}");
    assert!(rejected.contains("\r\nconnection: close\r\n"), "{rejected}");
    assert!(
        rejected.ends_with("2 requests are in progress, the maximum of this listener; retry later"),
        "{rejected}"
    );
    for _ in 0..10 {
        assert!(served.ask("/probe").ends_with("alive"));
    }
    served.site.released.add_permits(2);
    for connection in &mut waiting {
        assert_eq!(status(connection), "HTTP/1.1 200");
    }
    wait_until(SOON, "the requests have ended", || {
        served.ask("/").ends_with("here").then_some(())
    });
}

#[test]
fn a_new_connection_replaces_the_one_that_has_waited_longest() {
    let served = Served::with(Limits {
        connections: 4,
        ..GENEROUS
    });
    let mut working = served.send("/wait");
    served.wait_for(1);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| served.connect()).collect();
    for connection in &mut silent[..17] {
        assert!(is_closed(connection));
    }
    assert!(served.ask("/probe").ends_with("alive"));
    // The connection with a request in progress was kept.
    served.site.released.add_permits(1);
    assert_eq!(status(&mut working), "HTTP/1.1 200");
    let newest = silent.last_mut().expect("there are 20");
    newest
        .write_all(b"GET / HTTP/1.1\r\nHost: site\r\n\r\n")
        .unwrap();
    assert_eq!(status(newest), "HTTP/1.1 200");
}

#[test]
fn large_request_heads_are_rejected() {
    let served = Served::with(GENEROUS);
    let mut connection = served.connect();
    write!(connection, "GET / HTTP/1.1\r\nX-Large: ").unwrap();
    // The server may close the connection before it has received everything.
    drop(connection.write_all(&vec![b'x'; 17 << 10]));
    assert_eq!(status(&mut connection), "HTTP/1.1 431");
    let many = "X-Many: y\r\n".repeat(200);
    let mut connection = served.connect();
    drop(write!(connection, "GET / HTTP/1.1\r\n{many}\r\n"));
    assert_eq!(status(&mut connection), "HTTP/1.1 431");
}

#[test]
fn bodies_of_requests_are_not_awaited() {
    let served = Served::with(GENEROUS);
    let mut connection = served.connect();
    write!(
        connection,
        "POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 1000000\r\n\r\n"
    )
    .unwrap();
    assert_eq!(status(&mut connection), "HTTP/1.1 200");
    let mut rest = String::new();
    connection.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("here"), "{rest}");
}

#[test]
fn every_response_has_security_headers() {
    let served = Served::with(Limits {
        requests: 1,
        ..GENEROUS
    });
    let mut waiting = served.send("/wait");
    served.wait_for(1);
    let responses = ["/probe", "/"].map(|path| served.ask(path));
    served.site.released.add_permits(1);
    assert_eq!(status(&mut waiting), "HTTP/1.1 200");
    for response in responses {
        let response = response.to_lowercase();
        for header in [
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'; frame-ancestors 'none'",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(
                response.contains(&format!("\r\n{header}\r\n")),
                "{response}"
            );
        }
    }
}

#[test]
fn concurrent_callers_share_a_value_that_is_not_older_than_their_call() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let shared = Arc::new(Shared::<usize>::default());
        let computed = Arc::new(AtomicUsize::new(0));
        let release = Arc::new(Notify::new());
        let call = || {
            let (shared, computed, release) = (shared.clone(), computed.clone(), release.clone());
            tokio::task::spawn_local(async move {
                let compute = || async {
                    let number = computed.fetch_add(1, Ordering::SeqCst) + 1;
                    release.notified().await;
                    number
                };
                shared.get(compute).await
            })
        };
        let first = call();
        while computed.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // The first computation began before these calls.
        let later: Vec<_> = (0..30).map(|_| call()).collect();
        tokio::task::yield_now().await;
        release.notify_one();
        assert_eq!(first.await.unwrap(), 1);
        release.notify_one();
        for call in later {
            assert_eq!(call.await.unwrap(), 2);
        }
        // A cancelled computation does not keep the next caller waiting.
        let cancelled = call();
        while computed.load(Ordering::SeqCst) < 3 {
            tokio::task::yield_now().await;
        }
        cancelled.abort();
        let next = call();
        while computed.load(Ordering::SeqCst) < 4 {
            tokio::task::yield_now().await;
        }
        release.notify_one();
        assert_eq!(next.await.unwrap(), 4);
    });
}
