//! The table of endpoints of the admin listener: paths, methods, parameters, schemas and handlers.
//!
//! Routing, allowed methods, the checks of parameters, the list of endpoints, the description of the
//! API and the reference in `docs/api.md` follow from it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::LazyLock;

use hyper::{Method, StatusCode, Uri};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use tracing::warn;

use crate::api::body::Body;
use crate::api::deployments::{AcceptedDeployment, Report};
use crate::api::incident_notes::{AcknowledgedIncident, Acknowledgement, NewNote, NotedIncident};
use crate::api::log_level::ChangedLevel;
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::{
    Accepted, AdminApi, Reload, SNAPSHOT_PARAMETERS, deployments, evaluators, experiments, gold,
    incident_notes, incidents, list_changes, log_level, measures, pipeline, quality, queries,
    query, status, systems,
};
use crate::clock::wall_now;
use crate::openapi;
use crate::page::{self, Screen};

/// Endpoint of the admin listener.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// Path. A name in braces stands for any text in the path of a request.
    pub(crate) path: &'static str,
    pub(crate) methods: &'static [Method],
    /// Name of the operation in the description of the API; empty for the page.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: &'static [Parameter],
    /// Status of a success.
    pub(crate) status: StatusCode,
    /// Statuses of errors, apart from those of every endpoint.
    pub(crate) errors: &'static [u16],
    pub(crate) answer: Answer,
}

/// Answer to a request.
pub(crate) enum Answer {
    /// A response in JSON.
    Json {
        read: Box<Read>,
        schema: SchemaOf,
        /// The same response in Markdown, for `format=markdown`.
        markdown: Option<ReadText>,
    },
    /// A table in CSV.
    Csv(ReadCsv),
    /// A change of the state.
    Command {
        run: Run,
        schema: SchemaOf,
        /// Schema of the body of a request, if it is read.
        body: Option<SchemaOf>,
    },
    /// A screen of the page.
    Screen(fn(&AdminApi, &Parameters) -> Result<Screen, ApiError>),
    /// A file of the page.
    Asset {
        content_type: &'static str,
        text: &'static str,
    },
}

/// Function of a response in JSON.
pub(crate) type Read = dyn Fn(&AdminApi, &Parameters) -> Result<Vec<u8>, ApiError> + Send + Sync;

/// Function of a response in Markdown.
pub(crate) type ReadText = fn(&AdminApi, &Parameters) -> Result<String, ApiError>;

/// Function of a response in CSV.
pub(crate) type ReadCsv = fn(&AdminApi, &Parameters) -> Result<Vec<u8>, ApiError>;

/// Schema of a type.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Function of a command.
pub(crate) type Run = fn(&AdminApi, Parameters, Body) -> Running<'_>;

type Running<'a> = Pin<Box<dyn Future<Output = Result<Done, ApiError>> + Send + 'a>>;

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) json: Vec<u8>,
    /// Address of the screen that a browser reads then.
    pub(crate) page: Option<&'static str>,
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json { .. } => "Json",
            Self::Csv(_) => "Csv",
            Self::Command { .. } => "Command",
            Self::Screen(_) => "Screen",
            Self::Asset { .. } => "Asset",
        })
    }
}

impl Endpoint {
    /// Text at the place of the braces if this is an endpoint for `path`.
    pub(crate) fn captured<'a>(&self, path: &'a str) -> Option<&'a str> {
        match self.parts() {
            Some((before, _, after)) => path.strip_prefix(before)?.strip_suffix(after),
            None => (self.path == path).then_some(""),
        }
    }

    /// Number of bytes of the path outside of its braces: of two endpoints at a path, the one with more is
    /// meant.
    pub(crate) fn fixed_length(&self) -> usize {
        self.parts().map_or(self.path.len(), |(before, _, after)| {
            before.len() + after.len()
        })
    }

    /// Text before the braces of the path, the name in them, and the text after them.
    fn parts(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let (before, rest) = self.path.split_once('{')?;
        let (name, after) = rest.split_once('}')?;
        Some((before, name, after))
    }

    /// Names of the methods; HEAD goes without saying.
    pub(crate) fn documented_methods(&self) -> impl Iterator<Item = &'static str> {
        let methods = self.methods.iter().map(Method::as_str);
        methods.filter(|method| *method != "HEAD")
    }

    /// Returns true if a request changes the state.
    pub(crate) fn is_command(&self) -> bool {
        matches!(self.answer, Answer::Command { .. })
    }

    /// Parameters of a request.
    pub(crate) fn parameters(&self, uri: &Uri) -> Result<Parameters, ApiError> {
        let captured = self.captured(uri.path()).unwrap_or_default();
        let decoded = percent_encoding::percent_decode_str(captured).decode_utf8();
        let decoded = decoded.map_err(|_| {
            let name = self.path_parameter().unwrap_or_default();
            ApiError::bad_request(format!(
                "the {name} is not UTF-8; encode it as UTF-8 before its percent-encoding"
            ))
        })?;
        let accepted = match self.answer {
            Answer::Screen(_) => Some(page::ACCEPTED.as_slice()),
            _ => None,
        };
        Parameters::of(decoded.into_owned(), uri.query(), self.parameters, accepted)
    }

    /// Name in the braces of the path.
    pub(crate) fn path_parameter(&self) -> Option<&'static str> {
        self.parts().map(|(_, name, _)| name)
    }
}

/// All endpoints, in the order of their documentation.
pub(crate) static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let mut endpoints = vec![
        json("/api/v1", "index", |_, _| Ok(Index { endpoints: names() }))
            .about("List of the endpoints."),
        json("/api/v1/openapi.json", "openapi", |_, _| {
            Ok(openapi::document())
        })
        .about("Description of the API (OpenAPI 3.1)."),
        json("/api/v1/status", "status", |api, _| {
            Ok(status::of(api, wall_now()))
        })
        .about("Workers, partitions, gold set, outcomes of records."),
        json("/api/v1/measures", "measures", |api, params| {
            measures::of(&api.exposition, params)
        })
        .about("Means since the start and in each rolling window.")
        .with_parameters(&measures::PARAMETERS),
        json("/api/v1/snapshot", "snapshot", AdminApi::snapshot)
            .about("The samples of `/metrics`.")
            .with_parameters(&SNAPSHOT_PARAMETERS),
        json("/api/v1/systems", "systems", AdminApi::systems)
            .about("Variants side by side: targets, baseline, control, history; missed targets.")
            .with_parameters(&systems::PARAMETERS),
        json("/api/v1/queries", "queries", |api, params| {
            queries::list(&api.exposition, params)
        })
        .about("Gold queries, worst or most regressed first.")
        .with_parameters(&queries::PARAMETERS)
        .with_errors(&[409]),
        endpoint(
            "/api/v1/queries.csv",
            "queriesTable",
            Answer::Csv(|api, params| queries::table(&api.exposition, params)),
        )
        .about("All gold queries of a request as CSV.")
        .with_parameters(&queries::TABLE_PARAMETERS)
        .with_errors(&[409]),
        json("/api/v1/queries/{key}", "query", |api, params| {
            query::query_detail(&api.exposition, &params.path, params)
        })
        .about("One gold query and its last rankings; the key is its id in the gold set.")
        .with_parameters(&query::PARAMETERS)
        .with_errors(&[404, 409]),
        json("/api/v1/incidents", "incidents", incidents::list)
            .about(
                "Incidents: drops with a beginning, one reference and an end. The open ones first.",
            )
            .with_parameters(&incidents::PARAMETERS)
            .with_markdown(|api, params| Ok(incidents::list(api, params)?.markdown())),
        json("/api/v1/incidents/{id}", "incident", incidents::one)
            .about("One incident.")
            .with_parameters(&incidents::ONE_PARAMETERS)
            .with_errors(&[404])
            .with_markdown(|api, params| Ok(incidents::one(api, params)?.markdown())),
        command::<AcknowledgedIncident>(
            "/api/v1/incidents/{id}/acknowledge",
            "acknowledgeIncident",
            acknowledge,
        )
        .about("Acknowledgement: an operator works on the incident.")
        .with_status(StatusCode::ACCEPTED)
        .with_body::<Acknowledgement>()
        .with_errors(&[404, 408, 413]),
        command::<NotedIncident>("/api/v1/incidents/{id}/notes", "addNote", add_note)
            .about("Note on an incident.")
            .with_status(StatusCode::ACCEPTED)
            .with_body::<NewNote>()
            .with_errors(&[404, 408, 409, 413]),
        json("/api/v1/experiments", "experiments", |api, _| {
            Ok(experiments::of(&api.exposition))
        })
        .about("Arms against the control."),
        json("/api/v1/pipeline", "pipeline", |api, _| {
            Ok(pipeline::of(&api.exposition))
        })
        .about("Records by outcome, rejected records, memory."),
        json("/api/v1/gold", "gold", |api, params| {
            gold::of(&api.exposition, params)
        })
        .about("Gold set, its coverage, queries without traffic, and unjudged clicked documents.")
        .with_parameters(&gold::PARAMETERS)
        .with_errors(&[409]),
        json("/api/v1/deployments", "deployments", |api, _| {
            Ok(deployments::list(&api.exposition.control.deployments))
        })
        .about("Deployments that operators reported."),
        json("/api/v1/quality", "quality", |api, params| {
            Ok(quality::of(&api.exposition, params))
        })
        .about("Quality of all traffic, estimated from labels.")
        .with_parameters(&quality::PARAMETERS),
        json("/api/v1/evaluators", "evaluators", |api, _| {
            Ok(evaluators::of(&api.exposition))
        })
        .about("Evaluators of results and answers: agreement with people, bias, and its drift."),
        json("/api/v1/list-changes", "listChanges", |api, params| {
            list_changes::of(&api.exposition, params)
        })
        .about("Change of the lists of frequent queries between versions, without judgements.")
        .with_parameters(&list_changes::PARAMETERS)
        .with_errors(&[404]),
        command::<Reload>("/-/reload", "reload", reload)
            .about("Reload of the gold set.")
            .with_errors(&[409, 422]),
        command::<Accepted>("/-/baseline", "resetBaselines", reset_baselines)
            .about("Reset of the baselines.")
            .with_status(StatusCode::ACCEPTED),
        command::<AcceptedDeployment>("/-/deployment", "reportDeployment", deploy)
            .about("Report of a deployment, which resets the baselines of its variant.")
            .with_status(StatusCode::ACCEPTED)
            .with_body::<Report>()
            .with_errors(&[408, 413]),
        json("/-/log-level", "logLevel", |api, _| {
            log_level::current(api.log_level.as_ref())
        })
        .about("Log level.")
        .with_errors(&[409]),
        command::<ChangedLevel>("/-/log-level", "changeLogLevel", change_log_level)
            .about("Change of the log level.")
            .with_methods(&[Method::POST, Method::PUT])
            .with_parameters(&log_level::PARAMETERS)
            .with_errors(&[409]),
    ];
    for (path, parameters, screen) in page::SCREENS {
        endpoints.push(endpoint(path, "", Answer::Screen(screen)).with_parameters(parameters));
    }
    for (path, content_type, text) in page::ASSETS {
        let asset = endpoint(path, "", Answer::Asset { content_type, text });
        endpoints.push(asset.with_parameters(&page::ASSET_PARAMETERS));
    }
    endpoints
});

/// Endpoints of the API, without those of the page.
pub(crate) fn described() -> impl Iterator<Item = &'static Endpoint> {
    ENDPOINTS
        .iter()
        .filter(|endpoint| !endpoint.name.is_empty())
}

/// Names of the endpoints of the API, as listed at `/api/v1` and in the response to an unknown path.
pub(crate) fn names() -> Vec<String> {
    let names = described().map(|endpoint| {
        let path = match endpoint.parts() {
            Some((before, name, after)) => format!("{before}{}{after}", name.to_uppercase()),
            None => endpoint.path.to_owned(),
        };
        format!("{} {path}", endpoint.methods[0])
    });
    names.collect()
}

/// List of the endpoints.
#[derive(Debug, Serialize, JsonSchema)]
struct Index {
    endpoints: Vec<String>,
}

fn endpoint(path: &'static str, name: &'static str, answer: Answer) -> Endpoint {
    Endpoint {
        path,
        methods: &[Method::GET, Method::HEAD],
        name,
        summary: "",
        parameters: &[],
        status: StatusCode::OK,
        errors: &[],
        answer,
    }
}

/// Endpoint with a response in JSON.
fn json<T: Serialize + JsonSchema>(
    path: &'static str,
    name: &'static str,
    read: impl Fn(&AdminApi, &Parameters) -> Result<T, ApiError> + Send + Sync + 'static,
) -> Endpoint {
    let read = move |api: &AdminApi, params: &Parameters| serialised(&read(api, params)?);
    let answer = Answer::Json {
        read: Box::new(read),
        schema: schema_of::<T>,
        markdown: None,
    };
    endpoint(path, name, answer)
}

/// Endpoint that changes the state.
fn command<T: JsonSchema>(path: &'static str, name: &'static str, run: Run) -> Endpoint {
    let answer = Answer::Command {
        run,
        schema: schema_of::<T>,
        body: None,
    };
    endpoint(path, name, answer).with_methods(&[Method::POST])
}

impl Endpoint {
    fn about(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    fn with_markdown(mut self, text: ReadText) -> Self {
        if let Answer::Json { markdown, .. } = &mut self.answer {
            *markdown = Some(text);
        }
        self
    }

    fn with_methods(self, methods: &'static [Method]) -> Self {
        Self { methods, ..self }
    }

    fn with_parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    fn with_errors(self, errors: &'static [u16]) -> Self {
        Self { errors, ..self }
    }

    fn with_body<T: JsonSchema>(mut self) -> Self {
        if let Answer::Command { body, .. } = &mut self.answer {
            *body = Some(schema_of::<T>);
        }
        self
    }
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn serialised(body: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(body).map_err(|problem| {
        warn!(error = %problem, "response serialisation failed");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, problem.to_string())
    })
}

fn done(result: &impl Serialize, page: &'static str) -> Result<Done, ApiError> {
    Ok(Done {
        json: serialised(result)?,
        page: Some(page),
    })
}

fn reload(api: &AdminApi, _: Parameters, _: Body) -> Running<'_> {
    Box::pin(async {
        let reload = api.reload().await?;
        let page = if reload.changed {
            "/gold?done=reloaded"
        } else {
            "/gold?done=unchanged"
        };
        done(&reload, page)
    })
}

fn reset_baselines(api: &AdminApi, _: Parameters, body: Body) -> Running<'_> {
    Box::pin(async { done(&api.reset_baselines(body.by), "/systems?done=baselines") })
}

fn deploy(api: &AdminApi, _: Parameters, body: Body) -> Running<'_> {
    Box::pin(async move { done(&api.deploy(&body)?, "/systems?done=deployed") })
}

fn acknowledge(api: &AdminApi, params: Parameters, body: Body) -> Running<'_> {
    Box::pin(async move {
        let accepted = incident_notes::acknowledge(api, &params, &body)?;
        done(&accepted, "/incidents?done=acknowledged")
    })
}

fn add_note(api: &AdminApi, params: Parameters, body: Body) -> Running<'_> {
    Box::pin(async move {
        let kept = incident_notes::note(api, &params, &body)?;
        done(&kept, "/incidents?done=noted")
    })
}

fn change_log_level(api: &AdminApi, params: Parameters, _: Body) -> Running<'_> {
    Box::pin(async move {
        let changed = log_level::change(api.log_level.as_ref(), &params)?;
        Ok(Done {
            json: serialised(&changed)?,
            page: None,
        })
    })
}
