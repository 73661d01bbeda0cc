//! Schemas of Avro in JSON, with named types of other schemas.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::canonical;

/// Maximum number of types of a schema.
const MAX_TYPES: usize = 10_000;

/// Type of a value. Other types are referred to by their place in the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Bool,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    Text,
    /// Number of bytes.
    Fixed(usize),
    /// 16 bytes of an id.
    Uuid,
    /// Whole number of units of the power of ten; the number of bytes, if it is fixed.
    Decimal {
        fixed: Option<usize>,
        scale: i32,
    },
    /// Ticks a millisecond.
    Time {
        ticks: i64,
    },
    Enum(Vec<Box<str>>),
    Record(Vec<(Box<str>, usize)>),
    Array(usize),
    Map(usize),
    Union(Vec<usize>),
}

/// Schema of the values of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::decode) struct Schema {
    pub(super) types: Vec<Type>,
    pub(super) root: usize,
    /// Name of the root, if it has one.
    pub(in crate::decode) name: Option<String>,
    /// Fingerprint CRC-64-AVRO of the canonical form.
    pub(in crate::decode) fingerprint: u64,
}

impl Schema {
    /// Parses a schema. `references` are schemas whose named types it uses, each after those that it
    /// uses itself. The root is the type `message`, or else the whole schema.
    ///
    /// # Errors
    /// Problem and place of an invalid schema.
    pub(in crate::decode) fn parse(
        text: &str,
        references: &[&str],
        message: Option<&str>,
    ) -> Result<Self, String> {
        let mut parser = Parser::default();
        for reference in references {
            let value = json(reference)?;
            parser.parse(&value, "", "")?;
        }
        let value = json(text)?;
        let whole = parser.parse(&value, "", "")?;
        let root = match message {
            None => whole,
            Some(name) => *parser.names.get(name).ok_or_else(|| {
                let mut known: Vec<&str> = parser.names.keys().map(String::as_str).collect();
                known.sort_unstable();
                format!("has no type {name}; it has {}", known.join(", "))
            })?,
        };
        let named = parser.names.iter().find(|(_, place)| **place == root);
        Ok(Self {
            name: named.map(|(name, _)| name.clone()),
            types: parser.types,
            root,
            fingerprint: canonical::fingerprint(&value),
        })
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("is no Avro schema: {error}"))
}

/// Name with its namespace.
pub(super) fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}

/// Namespace of the types within a named type.
pub(super) fn namespace_of(full_name: &str) -> &str {
    full_name.rsplit_once('.').map_or("", |(space, _)| space)
}

/// Full name of a named type.
pub(super) fn name_of(schema: &Map<String, Value>, namespace: &str) -> Option<String> {
    let name = schema.get("name")?.as_str()?;
    let namespace = match schema.get("namespace") {
        Some(Value::String(namespace)) => namespace,
        _ => namespace,
    };
    Some(full_name(name, namespace))
}

#[derive(Default)]
struct Parser {
    types: Vec<Type>,
    names: HashMap<String, usize>,
}

fn primitive(name: &str) -> Option<Type> {
    Some(match name {
        "null" => Type::Null,
        "boolean" => Type::Bool,
        "int" => Type::Int,
        "long" => Type::Long,
        "float" => Type::Float,
        "double" => Type::Double,
        "bytes" => Type::Bytes,
        "string" => Type::Text,
        _ => return None,
    })
}

/// Type with a logical type; an unknown one, or one of another type, is ignored.
fn logical(base: Type, schema: &Map<String, Value>) -> Type {
    let name = schema.get("logicalType").and_then(Value::as_str);
    let scale = || {
        let scale = schema.get("scale").and_then(Value::as_i64).unwrap_or(0);
        i32::try_from(scale).unwrap_or(0)
    };
    match (base, name.unwrap_or_default()) {
        (Type::Long, "timestamp-millis" | "local-timestamp-millis") => Type::Time { ticks: 1 },
        (Type::Long, "timestamp-micros" | "local-timestamp-micros") => Type::Time { ticks: 1_000 },
        (Type::Long, "timestamp-nanos" | "local-timestamp-nanos") => {
            Type::Time { ticks: 1_000_000 }
        }
        (Type::Bytes, "decimal") => Type::Decimal {
            fixed: None,
            scale: scale(),
        },
        (Type::Fixed(size), "decimal") => Type::Decimal {
            fixed: Some(size),
            scale: scale(),
        },
        (Type::Fixed(16), "uuid") => Type::Uuid,
        (base, _) => base,
    }
}

impl Parser {
    fn add(&mut self, of: Type) -> Result<usize, String> {
        if self.types.len() >= MAX_TYPES {
            return Err(format!("has more than {MAX_TYPES} types"));
        }
        self.types.push(of);
        Ok(self.types.len() - 1)
    }

    fn set(&mut self, place: usize, of: Type) {
        if let Some(known) = self.types.get_mut(place) {
            *known = of;
        }
    }

    /// Adds the type of a schema, and returns its place.
    fn parse(&mut self, schema: &Value, namespace: &str, at: &str) -> Result<usize, String> {
        let invalid = |problem: &str| {
            let place = if at.is_empty() { "the schema" } else { at };
            format!("is no Avro schema: {place} {problem}")
        };
        match schema {
            Value::String(name) => self
                .named(name, namespace)
                .unwrap_or_else(|| Err(invalid(&format!("has the unknown type {name}")))),
            Value::Array(branches) => {
                let place = self.add(Type::Null)?;
                let branches = branches.iter().map(|it| self.parse(it, namespace, at));
                let branches = branches.collect::<Result<_, _>>()?;
                self.set(place, Type::Union(branches));
                Ok(place)
            }
            Value::Object(written) => {
                let of = written.get("type").ok_or_else(|| invalid("has no type"))?;
                let Value::String(name) = of else {
                    return self.parse(of, namespace, at);
                };
                let member = |name: &str| {
                    let value = written.get(name);
                    value.ok_or_else(|| invalid(&format!("has no {name}")))
                };
                let place = match &**name {
                    "array" => {
                        let items = self.parse(member("items")?, namespace, at)?;
                        self.add(Type::Array(items))?
                    }
                    "map" => {
                        let values = self.parse(member("values")?, namespace, at)?;
                        self.add(Type::Map(values))?
                    }
                    "record" | "error" | "enum" | "fixed" => {
                        let full =
                            name_of(written, namespace).ok_or_else(|| invalid("has no name"))?;
                        let place = self.add(Type::Null)?;
                        if self.names.insert(full.clone(), place).is_some() {
                            return Err(invalid(&format!("defines {full} a second time")));
                        }
                        let of = match &**name {
                            "enum" => enumeration(member("symbols")?).map_err(|it| invalid(&it))?,
                            "fixed" => {
                                let size = member("size")?.as_u64();
                                let size = size.and_then(|size| usize::try_from(size).ok());
                                let size = size.ok_or_else(|| invalid("has no valid size"))?;
                                logical(Type::Fixed(size), written)
                            }
                            _ => self.record(member("fields")?, &full)?,
                        };
                        self.set(place, of);
                        place
                    }
                    name => match primitive(name) {
                        Some(of) => self.add(logical(of, written))?,
                        None => self.parse(of, namespace, at)?,
                    },
                };
                Ok(place)
            }
            _ => Err(invalid("is neither a name, a list nor an object")),
        }
    }

    /// Place of a type by its name.
    fn named(&mut self, name: &str, namespace: &str) -> Option<Result<usize, String>> {
        if let Some(of) = primitive(name) {
            return Some(self.add(of));
        }
        let known = self.names.get(&full_name(name, namespace));
        let known = known.or_else(|| self.names.get(name));
        known.map(|place| Ok(*place))
    }

    fn record(&mut self, fields: &Value, full_name: &str) -> Result<Type, String> {
        let invalid = |problem: &str| format!("is no Avro schema: {full_name} {problem}");
        let list = fields.as_array();
        let list = list.ok_or_else(|| invalid("has no list of fields"))?;
        let mut fields: Vec<(Box<str>, usize)> = Vec::new();
        for field in list {
            let name = field.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| invalid("has a field without a name"))?;
            if fields.iter().any(|(known, _)| **known == *name) {
                return Err(invalid(&format!("has the field {name} twice")));
            }
            let at = format!("{full_name}.{name}");
            let of = field.get("type");
            let of = of.ok_or_else(|| invalid(&format!("has the field {name} without a type")))?;
            let of = self.parse(of, namespace_of(full_name), &at)?;
            fields.push((name.into(), of));
        }
        Ok(Type::Record(fields))
    }
}

fn enumeration(symbols: &Value) -> Result<Type, String> {
    let symbols = symbols.as_array().ok_or("has no list of symbols")?;
    let symbols = symbols.iter().map(|it| {
        it.as_str()
            .map(Into::into)
            .ok_or("has a symbol that is no text")
    });
    Ok(Type::Enum(symbols.collect::<Result<_, _>>()?))
}
