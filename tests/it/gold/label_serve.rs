//! `label serve`: its page in a browser, and its requests.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::browser::look;
use crate::harness::command::{assert_exit, assert_reports, command, json, rankgauge};

/// Sample of three rows in `folder`.
fn draw(folder: &Path) {
    let frame = "query\tdocument\ta_A\ttext\n\
                 용도지역 변경\t법률_제17조\t0.2\t=1+1\n\
                 건폐율\td2\t0.2\t<script>alert(1)</script> 건폐율의 한도\n\
                 건폐율\td3\t0.2\t\n";
    fs::write(folder.join("frame.tsv"), frame).unwrap();
    let arguments = "label draw --frame frame.tsv --seed 6 --output draw.json --sheet sheet.csv";
    assert_exit(&rankgauge(folder, arguments), 0);
}

/// Command that serves the sheet in `folder`.
fn serve(folder: &Path) -> Command {
    command(folder, "label serve --draw draw.json --sheet sheet.csv")
}

/// Running command.
struct Serving {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    address: String,
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut child = serve(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address
            .unwrap_or_else(|| panic!("no address in {line:?}"))
            .to_owned();
        Self {
            child,
            output,
            address,
        }
    }

    fn request(&self, head: &str, headers: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).expect("a listener");
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("a response");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head[9..12].parse().expect("a status");
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn label(&self, label: &Value) -> (u16, Value) {
        let host = format!("Host: {}\r\n", self.address);
        self.request("POST /label", &host, &label.to_string())
    }

    /// Ends the command as Ctrl-C does, and returns its last output.
    fn stop(&mut self) -> String {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("an id"), Signal::INT).expect("a running command");
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("output");
        assert!(self.child.wait().expect("an end").success(), "{rest}");
        rest
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn grades(folder: &Path) -> Vec<String> {
    let sheet = fs::read_to_string(folder.join("sheet.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(sheet.trim_start_matches('\u{feff}').as_bytes());
    let rows = reader.records().map(|row| {
        let row = row.expect("a row");
        row.iter().skip(4).collect::<Vec<_>>().join("/")
    });
    rows.collect()
}

#[test]
fn two_annotators_label_with_the_keyboard() {
    let folder = tempfile::tempdir().unwrap();
    draw(folder.path());
    let mut serving = Serving::start(folder.path());
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("label");
    let address = format!("http://{}/", serving.address);
    look("label.mjs", &[&address, &pictures]);
    let end = serving.stop();
    assert!(
        end.contains("3 labels in sheet.csv, 3 of the second annotator"),
        "{end}"
    );
    assert_eq!(grades(folder.path()), ["2/1", "skip/1", "0/0"]);

    let estimate = "label estimate --draw draw.json --sheet sheet.csv --format json";
    let report = json(&rankgauge(folder.path(), estimate));
    assert_eq!(report["estimates"][0]["labels"], 3);
    assert_eq!(
        report["annotators"],
        json!({"rows": 2, "equal": 0.5, "kappa": 1.0})
    );
}

#[test]
fn labels_keep_the_order_and_the_file() {
    let folder = tempfile::tempdir().unwrap();
    draw(folder.path());
    let mut serving = Serving::start(folder.path());
    let label = |serving: &Serving, row: u32, grade: Value| {
        serving.label(&json!({"annotator": 1, "row": row, "grade": grade}))
    };
    let error = |(status, body): (u16, Value)| {
        (
            status,
            body["error"].as_str().unwrap_or_default().to_owned(),
        )
    };

    assert_eq!(
        error(label(&serving, 2, json!(1))),
        (
            409,
            "row 2 is not the next one: label row 1 first".to_owned()
        )
    );
    for grade in [json!(4), json!(-1), json!("good"), Value::Null, json!([1])] {
        let (status, text) = error(label(&serving, 1, grade));
        assert_eq!(
            (status, text.as_str()),
            (400, "`grade` is a number from 0 to 3, or \"skip\"")
        );
    }
    assert_eq!(error(label(&serving, 4, json!(1))).0, 409);
    assert_eq!(label(&serving, 1, json!(2.5)).1["labelled"], 1);
    assert_eq!(grades(folder.path()), ["2.5", "", ""]);

    // Pages of other sites, and names that lead to this machine.
    let body = r#"{"annotator": 1, "row": 2, "grade": 1}"#;
    let host = format!("Host: {}\r\n", serving.address);
    let foreign = format!("{host}Origin: https://evil.example\r\n");
    assert_eq!(serving.request("POST /label", &foreign, body).0, 403);
    assert_eq!(
        serving
            .request("POST /label", "Host: evil.example\r\n", body)
            .0,
        403
    );
    assert_eq!(
        serving
            .request("GET /label", "Host: evil.example\r\n", "")
            .0,
        403
    );
    assert_eq!(serving.request("GET /other", &host, "").0, 404);
    assert_eq!(
        serving.request("POST /label", &host, &"x".repeat(5_000)).0,
        400
    );
    assert_eq!(serving.request("GET /label?annotator=3", &host, "").0, 400);

    // A sheet that another program writes is not overwritten.
    let sheet = fs::read_to_string(folder.path().join("sheet.csv")).unwrap();
    fs::write(folder.path().join("sheet.csv"), format!("{sheet}\n")).unwrap();
    let (status, text) = error(label(&serving, 2, json!(1)));
    assert_eq!(status, 409);
    assert!(
        text.starts_with("sheet.csv was changed by another program"),
        "{text}"
    );
    fs::write(folder.path().join("sheet.csv"), sheet).unwrap();
    assert_eq!(label(&serving, 2, json!("skip")).0, 200);
    assert!(serving.stop().contains("2 labels in sheet.csv; next:"));

    let refused = serve(folder.path())
        .args(["--listen", "0.0.0.0:0"])
        .output()
        .expect("the command runs");
    assert_reports(&refused, 2, "on the loopback only");
}
