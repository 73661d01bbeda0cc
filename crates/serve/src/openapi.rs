//! Description of the API, derived from the table of endpoints: as OpenAPI 3.1 and as Markdown.

use std::fmt::Write as _;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::api::parameters::{Parameter, Values};
use crate::api::problem::ApiError;
use crate::endpoints::{Answer, Endpoint, described};

/// The description as OpenAPI 3.1.
static DOCUMENT: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut responses = generator(SchemaSettings::draft2020_12().for_serialize());
    let mut bodies = generator(SchemaSettings::draft2020_12().for_deserialize());
    let problem = responses.subschema_for::<ApiError>();
    let mut paths = Map::new();
    for endpoint in described() {
        let mut operation = operation(endpoint, &mut responses, &mut bodies);
        let of_path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        for method in endpoint.documented_methods() {
            of_path[method.to_lowercase()] = operation.clone();
            // Another method of the same operation has another id.
            operation["operationId"] = format!("{}AsPut", endpoint.name).into();
        }
    }
    let mut schemas = responses.take_definitions(true);
    schemas.extend(bodies.take_definitions(true));
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "rankgauge API",
            "version": "1",
            "description": "State of one replica. Times are RFC 3339 in UTC. Unknown parameters are \
                            rejected with 400.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:9469" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "Problem details.",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
        },
    });
    document.as_object().cloned().unwrap_or_default()
});

/// Statuses of errors of every endpoint.
const ERRORS: [u16; 3] = [400, 403, 503];

/// Generator of schemas without members other than those that are described.
fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let strict = |schema: &mut Schema| {
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if object.contains_key("properties") {
            object.entry("additionalProperties").or_insert(false.into());
        }
        // The formats of numbers are those of Rust's types.
        if object
            .get("format")
            .is_some_and(|format| format != "date-time")
        {
            object.remove("format");
        }
    };
    let settings = settings.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings
        .with_transform(RecursiveTransform(strict))
        .into_generator()
}

fn operation(
    endpoint: &Endpoint,
    responses: &mut SchemaGenerator,
    bodies: &mut SchemaGenerator,
) -> Value {
    let json_of = |schema: Schema| json!({ "application/json": { "schema": schema } });
    let (content, body) = match &endpoint.answer {
        Answer::Json { schema, .. } => (json_of(schema(responses)), None),
        Answer::Csv(_) => (
            json!({ "text/csv": { "schema": { "type": "string" } } }),
            None,
        ),
        Answer::Command { schema, body, .. } => (json_of(schema(responses)), *body),
        Answer::Screen(_) | Answer::Asset { .. } => (json!({}), None),
    };
    let mut answers = json!({
        endpoint.status.as_str(): { "description": "Success.", "content": content },
    });
    for status in ERRORS.iter().chain(endpoint.errors) {
        answers[status.to_string()] = json!({ "$ref": "#/components/responses/Problem" });
    }
    let path = endpoint.path_parameter().map(|name| {
        json!({
            "name": name,
            "in": "path",
            "required": true,
            "schema": { "type": "string", "minLength": 1 },
        })
    });
    let parameters = endpoint.parameters.iter().map(parameter);
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": path.into_iter().chain(parameters).collect::<Vec<Value>>(),
        "responses": answers,
    });
    if let Some(body) = body {
        operation["requestBody"] = json!({ "required": true, "content": json_of(body(bodies)) });
    }
    operation
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.values {
        Values::Text => json!({ "type": "string", "minLength": 1 }),
        Values::Texts => json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
        Values::Name => json!({ "type": "string" }),
        Values::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Values::Whole { least, most, .. } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Values::Word { words, .. } => json!({ "type": "string", "enum": words }),
    };
    let mut described = json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.help,
        "schema": schema,
    });
    match parameter.values {
        Values::Texts | Values::Names => {
            described["style"] = "form".into();
            described["explode"] = true.into();
        }
        Values::Whole {
            default: Some(default),
            ..
        } => described["schema"]["default"] = default.into(),
        Values::Word {
            default: Some(default),
            ..
        } => described["schema"]["default"] = default.into(),
        Values::Word { default: None, .. } => described["required"] = true.into(),
        Values::Text | Values::Name | Values::Whole { default: None, .. } => {}
    }
    described
}

/// The description of the API as OpenAPI 3.1.
pub fn document() -> &'static Map<String, Value> {
    &DOCUMENT
}

/// The endpoints and their parameters as tables in Markdown.
pub fn reference() -> String {
    let mut text = String::from("| endpoint | |\n|---|---|\n");
    let mut parameters =
        String::from("\n| endpoint | parameter | values | default | |\n|---|---|---|---|---|\n");
    for endpoint in described() {
        let methods: Vec<&str> = endpoint.documented_methods().collect();
        let name = format!("`{} {}`", methods.join("`, `"), endpoint.path);
        // Writing to a string cannot fail.
        let mut written = writeln!(text, "| {name} | {} |", endpoint.summary);
        for parameter in endpoint.parameters {
            let (values, default) = match parameter.values {
                Values::Text => ("text".to_owned(), String::new()),
                Values::Texts => ("texts; may be repeated".to_owned(), String::new()),
                Values::Name => ("text; may be empty".to_owned(), String::new()),
                Values::Names => ("texts; may be empty and repeated".to_owned(), String::new()),
                Values::Whole {
                    least,
                    most,
                    default,
                } => {
                    let default = default.map_or_else(String::new, |default| default.to_string());
                    (format!("{least} to {most}"), default)
                }
                Values::Word { words, default } => {
                    let default =
                        default.map_or("required".to_owned(), |default| format!("`{default}`"));
                    (format!("`{}`", words.join("`, `")), default)
                }
            };
            let (name, help) = (parameter.name, parameter.help);
            let row = writeln!(
                parameters,
                "| `{}` | `{name}` | {values} | {default} | {help} |",
                endpoint.path
            );
            written = written.and(row);
        }
        debug_assert!(written.is_ok());
    }
    text + &parameters
}
