//! `ctl` commands: status and commands of a running sidecar, over its admin listener.

use std::fmt::Write as _;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::failure::Failure;
use super::output::OutputFormat;
use super::settings::SettingsArguments;
use crate::config::SettingValue;
use crate::https;
use rankgauge_eval::text_layout::{count_of, escape_controls};

/// Variable with the password of `--user`.
const PASSWORD: &str = "RANKGAUGE_PASSWORD";

/// Maximum duration of a request. A reload reads the gold set before it answers.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum size of a response in bytes.
const MAX_RESPONSE: u64 = 16 << 20;

/// Subcommand of `ctl`.
#[derive(Debug, Subcommand)]
pub(super) enum CtlCommand {
    /// Show readiness, positions, gold set and outcomes of events.
    Status(Status),
    /// Show the incidents: the open ones first, then the ended ones, newest first.
    Incidents(Incidents),
    /// Acknowledge an incident: an operator works on it.
    Acknowledge(Acknowledge),
    /// Add a note to an incident.
    Note(Note),
    /// Report a deployment, which resets the baselines of its variant.
    Deploy(Deploy),
    /// Reset the baselines of all variants.
    Baseline(Connection),
    /// Reload the gold set.
    Reload(Connection),
    /// Show the log level, or change it until the next restart.
    LogLevel(LogLevel),
}

/// Running sidecar.
#[derive(Debug, Args)]
pub(super) struct Connection {
    #[command(flatten)]
    settings: SettingsArguments,
    /// URL of the admin listener; by default that of admin.listen in the configuration.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// User of basic authentication; the password is in the variable `RANKGAUGE_PASSWORD`.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Certificates (PEM) that sign the one of the listener; by default those of the system.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    output_format: OutputFormat,
}

#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Args)]
pub(super) struct Incidents {
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Args)]
pub(super) struct Acknowledge {
    #[command(flatten)]
    connection: Connection,
    /// Id of the incident, as `ctl incidents` shows it.
    #[arg(value_name = "ID")]
    id: String,
    /// Name of the operator. With authentication, the user is stored instead.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Note {
    #[command(flatten)]
    connection: Connection,
    /// Id of the incident, as `ctl incidents` shows it.
    #[arg(value_name = "ID")]
    id: String,
    /// Text of the note, at most 2,000 bytes.
    #[arg(value_name = "TEXT")]
    text: String,
    /// Name of the operator. With authentication, the user is stored instead.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Deploy {
    #[command(flatten)]
    connection: Connection,
    /// Variant; an empty text for searches without one.
    #[arg(value_name = "VARIANT")]
    variant: String,
    /// Deployed version.
    #[arg(value_name = "VERSION")]
    deployed: String,
    /// Time of the deployment, ISO 8601 with an offset (2025-11-17T09:00:00+09:00); now by default.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Remark.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Keep the baselines, so that a drop which begins with the deployment is found.
    #[arg(long)]
    keep_baselines: bool,
}

#[derive(Debug, Args)]
pub(super) struct LogLevel {
    #[command(flatten)]
    connection: Connection,
    /// New level: error, warn, info, debug or trace, or off.
    #[arg(value_name = "LEVEL")]
    level: Option<String>,
}

/// Runs a command.
pub(super) fn run(command: &CtlCommand) -> Result<(), Failure> {
    let (connection, answer, text): (_, _, fn(&Value) -> String) = match command {
        CtlCommand::Status(Status { connection }) => {
            let answer = Client::new(connection)?.get("/api/v1/status")?;
            (connection, answer, status)
        }
        CtlCommand::Incidents(Incidents { connection }) => {
            let answer = Client::new(connection)?.all("/api/v1/incidents", "incidents")?;
            (connection, answer, incidents)
        }
        CtlCommand::Acknowledge(Acknowledge { connection, id, by }) => {
            let body = by.as_ref().map(|by| json!({"by": by}).to_string());
            let address = format!("/api/v1/incidents/{}/acknowledge", in_path(id));
            let answer = Client::new(connection)?.post(&address, body.unwrap_or_default())?;
            (connection, answer, acknowledged)
        }
        CtlCommand::Note(Note {
            connection,
            id,
            text,
            by,
        }) => {
            let body = json!({"text": text, "by": by}).to_string();
            let address = format!("/api/v1/incidents/{}/notes", in_path(id));
            let answer = Client::new(connection)?.post(&address, body)?;
            (connection, answer, noted)
        }
        CtlCommand::Deploy(deploy) => {
            let mut body = json!({"variant": deploy.variant, "version": deploy.deployed});
            for (name, value) in [("ts", &deploy.at), ("note", &deploy.note)] {
                if let Some(value) = value {
                    body[name] = value.as_str().into();
                }
            }
            if deploy.keep_baselines {
                body["keeps_baselines"] = true.into();
            }
            let client = Client::new(&deploy.connection)?;
            let answer = client.post("/-/deployment", body.to_string())?;
            (&deploy.connection, answer, deployed)
        }
        CtlCommand::Baseline(connection) => {
            let answer = Client::new(connection)?.post("/-/baseline", String::new())?;
            (connection, answer, baselines)
        }
        CtlCommand::Reload(connection) => {
            let answer = Client::new(connection)?.post("/-/reload", String::new())?;
            (connection, answer, reloaded)
        }
        CtlCommand::LogLevel(LogLevel { connection, level }) => {
            let client = Client::new(connection)?;
            let answer = if let Some(level) = level {
                let address = format!("/-/log-level?level={}", in_path(level));
                client.post(&address, String::new())?
            } else {
                client.get("/-/log-level")?
            };
            (connection, answer, log_level)
        }
    };
    connection.output_format.print(|| text(&answer), &answer)
}

/// HTTP client of one sidecar.
struct Client {
    agent: ureq::Agent,
    /// URL without a slash at its end.
    url: String,
    authorization: Option<String>,
}

impl Client {
    fn new(connection: &Connection) -> Result<Self, Failure> {
        let url = match &connection.url {
            Some(url) => url.trim_end_matches('/').to_owned(),
            None => configured_url(&connection.settings)?,
        };
        if !url.starts_with("http://") && !url.starts_with("https://") {
            let problem = anyhow!("--url {url}: write http://HOST:PORT or https://HOST:PORT");
            return Err(Failure::Usage(problem));
        }
        let authorization = connection.user.as_ref().map(|user| {
            let password = std::env::var(PASSWORD).map_err(|_| {
                Failure::Usage(anyhow!(
                    "--user needs the password in the variable {PASSWORD}"
                ))
            })?;
            let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
            Ok(format!("Basic {encoded}"))
        });
        let agent = https::agent(&url, connection.ca_file.as_deref(), "--ca-file", TIMEOUT)
            .map_err(Failure::Usage)?;
        Ok(Self {
            agent,
            url,
            authorization: authorization.transpose()?,
        })
    }

    fn get(&self, path: &str) -> Result<Value, Failure> {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        self.answer(request.call())
    }

    /// All pages of a list.
    fn all(&self, path: &str, name: &str) -> Result<Value, Failure> {
        let mut list = self.get(path)?;
        while let Some(cursor) = list["next_cursor"].as_str() {
            let cursor = in_path(cursor);
            let mut page = self.get(&format!("{path}?cursor={cursor}"))?;
            list["next_cursor"] = page["next_cursor"].take();
            let Some(entries) = page[name].as_array_mut().filter(|it| !it.is_empty()) else {
                break;
            };
            if let Some(all) = list[name].as_array_mut() {
                all.append(entries);
            }
        }
        Ok(list)
    }

    fn post(&self, path: &str, body: String) -> Result<Value, Failure> {
        let mut request = self.agent.post(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        self.answer(request.content_type("application/json").send(body))
    }

    fn answer(
        &self,
        response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<Value, Failure> {
        let response = response.map_err(|problem| {
            let remedy = https::remedy(&problem, &self.url, ["--url", "--ca-file"]);
            let remedy = remedy.unwrap_or_else(|| {
                "is the sidecar running, and is this its admin.listen?".to_owned()
            });
            Failure::Running(anyhow!("{} does not answer: {problem}; {remedy}", self.url))
        })?;
        let status = response.status();
        let mut text = Vec::new();
        let mut body = response.into_body().into_reader().take(MAX_RESPONSE);
        let read = body.read_to_end(&mut text);
        read.with_context(|| format!("the response of {} ends early", self.url))
            .map_err(Failure::Running)?;
        let answer: Option<Value> = serde_json::from_slice(&text).ok();
        if status.is_success() {
            return answer.ok_or_else(|| {
                Failure::Running(anyhow!(
                    "{} answers with {status} and something that is not JSON; is this the admin.listen of \
                     a sidecar?",
                    self.url
                ))
            });
        }
        let detail = answer.as_ref().and_then(|it| it["detail"].as_str());
        let remedy = match status.as_u16() {
            401 => "; name a user of its web configuration with --user",
            _ => "",
        };
        Err(Failure::Running(anyhow!(
            "{} answers with {status}{}{}{remedy}",
            self.url,
            if detail.is_some() { ": " } else { "" },
            escape_controls(detail.unwrap_or_default())
        )))
    }
}

/// A text as a part of a URL.
fn in_path(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// URL of `admin.listen` on this machine.
fn configured_url(settings: &SettingsArguments) -> Result<String, Failure> {
    let settings = settings.settings()?;
    let value = |key: &str| {
        let setting = settings.iter().find(|setting| setting.key == key)?;
        match &setting.value {
            SettingValue::Text(text) => Some(text.clone()),
            SettingValue::List(_) | SettingValue::EmptySection => None,
        }
    };
    let listen = value("admin.listen").unwrap_or_default();
    let Ok(mut address) = listen.parse::<SocketAddr>() else {
        return Err(Failure::Usage(anyhow!(
            "admin.listen is '{listen}': there is no admin listener to talk to; set it, or name one with --url"
        )));
    };
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    let scheme = match value("admin.web_config_file") {
        // With TLS, the name in the certificate decides, and only the user knows it.
        Some(file) if !file.is_empty() && has_tls(Path::new(&file)) => {
            return Err(Failure::Usage(anyhow!(
                "the admin listener has TLS ({file}): name it with --url https://HOST:{}",
                address.port()
            )));
        }
        _ => "http",
    };
    Ok(format!("{scheme}://{address}"))
}

fn has_tls(web_config: &Path) -> bool {
    std::fs::read_to_string(web_config).is_ok_and(|text| text.contains("tls_server_config"))
}

/// Text at a JSON pointer, safe to display.
fn text_at(value: &Value, pointer: &str) -> String {
    match value.pointer(pointer) {
        Some(Value::String(text)) => escape_controls(text),
        Some(Value::Null) | None => "-".to_owned(),
        Some(other) => escape_controls(&other.to_string()),
    }
}

fn items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// Lines of `status`.
fn status(status: &Value) -> String {
    let mut text = String::new();
    let problem = status["readiness_problem"].as_str();
    let readiness = match problem {
        None => "ready".to_owned(),
        Some(problem) => format!("not ready: {}", escape_controls(problem)),
    };
    let workers = items(status, "workers");
    let connected = workers.iter().filter(|it| it["connected"] == true).count();
    let partitions = items(status, "partitions");
    let lags = partitions.iter().filter_map(|it| it["lag"].as_object());
    let lag: Option<u64> = lags.flat_map(|it| it.values()).map(Value::as_u64).sum();
    // Without an assignment, or after its revocation, no partition has a lag.
    let is_assigned = workers.iter().all(|it| it["assigned"] == true);
    let lag = lag.filter(|_| is_assigned && !partitions.is_empty());
    let lag = lag.map_or("unknown".to_owned(), |lag| lag.to_string());
    // A write to a String does not fail.
    _ = write!(
        text,
        "readiness   {readiness}\nversion     {} ({}), since {}\nworkers     {connected} of {} connected\n\
         partitions  {}, lag {lag}, watermark {}\n",
        text_at(status, "/version"),
        text_at(status, "/revision"),
        text_at(status, "/started"),
        workers.len(),
        partitions.len(),
        text_at(status, "/watermark"),
    );
    if status["gold"].is_object() {
        _ = writeln!(
            text,
            "gold set    {}, version {}",
            queries_at(status, "/gold/queries"),
            text_at(status, "/gold/version"),
        );
    } else {
        text.push_str("gold set    none\n");
    }
    for kind in ["search", "feedback"] {
        let outcomes = status["events"][kind].as_object();
        let outcomes = outcomes.into_iter().flatten();
        let counted = outcomes.filter(|(_, count)| **count != 0);
        let counted: Vec<String> = counted.map(|(name, it)| format!("{it} {name}")).collect();
        let counted = if counted.is_empty() {
            "none".to_owned()
        } else {
            counted.join(", ")
        };
        _ = writeln!(text, "{kind:<11} {}", escape_controls(&counted));
    }
    text
}

/// Lines of `incidents`.
fn incidents(answer: &Value) -> String {
    let incidents = items(answer, "incidents");
    if incidents.is_empty() {
        return "no incident\n".to_owned();
    }
    let mut text = String::new();
    for incident in incidents {
        let state = match incident["ended_by"].as_str() {
            Some(ended_by) => ended_by.to_owned(),
            None => "open".to_owned(),
        };
        _ = writeln!(
            text,
            "{}  {:<9}  {}",
            text_at(incident, "/id"),
            escape_controls(&state),
            text_at(incident, "/summary"),
        );
    }
    text
}

/// Name at a JSON pointer after the word `by`; empty without one.
fn by_at(answer: &Value, pointer: &str) -> String {
    let name = answer.pointer(pointer).and_then(Value::as_str);
    name.map_or_else(String::new, |name| format!(" by {}", escape_controls(name)))
}

fn acknowledged(answer: &Value) -> String {
    let was = if answer["is_first"] == false {
        " was already"
    } else {
        ""
    };
    format!(
        "incident {}{was} acknowledged{} at {}\n",
        text_at(answer, "/id"),
        by_at(answer, "/acknowledged/by"),
        text_at(answer, "/acknowledged/at"),
    )
}

fn noted(answer: &Value) -> String {
    format!(
        "note on incident {}{} at {}\n",
        text_at(answer, "/id"),
        by_at(answer, "/note/by"),
        text_at(answer, "/note/at"),
    )
}

fn workers(answer: &Value) -> String {
    let workers = answer["workers"].as_u64().unwrap_or_default();
    let workers = usize::try_from(workers).unwrap_or(usize::MAX);
    count_of(workers, "worker", "workers")
}

fn deployed(answer: &Value) -> String {
    let outcome = if answer["has_searches"] == false {
        "no search has this variant yet; check the name".to_owned()
    } else if answer["deployment"]["keeps_baselines"] == true {
        "its baselines are kept".to_owned()
    } else if answer["workers"] == 1 {
        "1 worker resets its baselines".to_owned()
    } else {
        format!("{} reset their baselines", workers(answer))
    };
    format!(
        "deployment of {} {} at {}: {outcome}\n",
        text_at(answer, "/deployment/variant"),
        text_at(answer, "/deployment/version"),
        text_at(answer, "/deployment/time"),
    )
}

fn baselines(answer: &Value) -> String {
    format!(
        "baselines of all variants are reset by {}\n",
        workers(answer)
    )
}

fn queries_at(answer: &Value, pointer: &str) -> String {
    let queries = answer.pointer(pointer).and_then(Value::as_u64);
    count_of(queries.unwrap_or(0), "query", "queries")
}

fn reloaded(answer: &Value) -> String {
    let change = if answer["changed"] == true {
        "changed"
    } else {
        "did not change"
    };
    format!(
        "the gold set {change}: {}, version {}\n",
        queries_at(answer, "/after/queries"),
        text_at(answer, "/after/version"),
    )
}

fn log_level(answer: &Value) -> String {
    match answer["level"].as_str() {
        Some(level) => format!("{}\n", escape_controls(level)),
        None => format!(
            "{}, was {}\n",
            text_at(answer, "/after"),
            text_at(answer, "/before")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_without_partitions_is_unknown() {
        let printed = |partitions: Value| {
            status(&json!({
                "workers": [{"connected": true, "assigned": true}],
                "partitions": partitions,
            }))
        };
        let revoked = printed(json!([]));
        assert!(revoked.contains("partitions  0, lag unknown"), "{revoked}");
        let assigned = printed(json!([{"lag": {"searches": 2, "feedback": 3}}]));
        assert!(assigned.contains("partitions  1, lag 5"), "{assigned}");
        let unread = printed(json!([{"lag": {"searches": 2, "feedback": null}}]));
        assert!(unread.contains("lag unknown"), "{unread}");
    }
}
