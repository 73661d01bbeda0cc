//! HTTP server of a test: it answers every request as the test decides, and records it.

use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Received request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Method, path and parameters: `GET /search?q=x`.
    pub(crate) line: String,
    /// Headers, with names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    /// Value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|it| it.0 == name).map(|it| it.1.as_str())
    }
}

/// Answer to a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Status, extra header lines (each with its line end), body.
    Status(u16, String, Vec<u8>),
    /// Nothing: the connection stays open.
    Hang,
    /// Head of an answer whose body never ends: a byte now and then.
    Trickle,
    /// Head of an answer with endless data.
    Endless,
    /// The connection is closed without an answer.
    Close,
    /// Bytes that are not HTTP.
    Garbage,
}

impl Reply {
    /// Status 200 with JSON.
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Self::Status(200, String::new(), body.into().into_bytes())
    }

    /// A status without a body.
    pub(crate) fn status(status: u16) -> Self {
        Self::Status(status, String::new(), Vec::new())
    }
}

/// Running server. Its threads end with the test process.
pub(crate) struct Server {
    /// Address: `127.0.0.1:PORT`.
    pub(crate) address: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    /// Starts a server. `reply` gets each request and its number, from 0.
    pub(crate) fn start(reply: impl Fn(&Received, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (requests, reply) = (Arc::clone(&received), Arc::new(reply));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (requests, reply) = (Arc::clone(&requests), Arc::clone(&reply));
                std::thread::spawn(move || {
                    // A client that closes its connection ends the exchange.
                    drop(serve(connection, &requests, &*reply));
                });
            }
        });
        Self { address, received }
    }

    /// Requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no panic").clone()
    }
}

fn serve(
    connection: TcpStream,
    requests: &Mutex<Vec<Received>>,
    reply: &dyn Fn(&Received, usize) -> Reply,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut connection = connection;
    while let Some(request) = read(&mut reader)? {
        let number = {
            let mut requests = requests.lock().expect("no panic");
            requests.push(request.clone());
            requests.len() - 1
        };
        match reply(&request, number) {
            Reply::Status(status, headers, body) => {
                let length = body.len();
                write!(
                    connection,
                    "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n\
                     content-length: {length}\r\n{headers}\r\n"
                )?;
                connection.write_all(&body)?;
            }
            Reply::Hang => loop {
                std::thread::park();
            },
            Reply::Close => return Ok(()),
            Reply::Garbage => return connection.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
            Reply::Trickle => {
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")?;
                loop {
                    connection.write_all(b" ")?;
                    std::thread::park_timeout(Duration::from_millis(20));
                }
            }
            Reply::Endless => {
                connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
                loop {
                    let chunk = [b' '; 4096];
                    connection.write_all(b"1000\r\n")?;
                    connection.write_all(&chunk)?;
                    connection.write_all(b"\r\n")?;
                }
            }
        }
    }
    Ok(())
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut impl std::io::BufRead) -> std::io::Result<Option<Received>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|it| it.0 == "content-length");
    let length = length.and_then(|it| it.1.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).expect("the body of a request is UTF-8");
    Ok(Some(Received {
        line,
        headers,
        body,
    }))
}
