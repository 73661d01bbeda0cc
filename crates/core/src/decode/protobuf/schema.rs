//! Linked schema: messages and enums refer to each other by place.

use std::collections::HashMap;

use super::file::{self, File, Scalar, TypeName};
use super::{descriptor, proto_text};

/// Maximum number of messages, enums and fields of a schema.
const MAX_ITEMS: usize = 50_000;

/// Types that need no definition in a schema.
const WELL_KNOWN: &str = r#"
syntax = "proto3";
package google.protobuf;
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message Any { string type_url = 1; bytes value = 2; }
message Empty {}
message FieldMask { repeated string paths = 1; }
message DoubleValue { double value = 1; }
message FloatValue { float value = 1; }
message Int64Value { int64 value = 1; }
message UInt64Value { uint64 value = 1; }
message Int32Value { int32 value = 1; }
message UInt32Value { uint32 value = 1; }
message BoolValue { bool value = 1; }
message StringValue { string value = 1; }
message BytesValue { bytes value = 1; }
message Struct { map<string, Value> fields = 1; }
message ListValue { repeated Value values = 1; }
message Value {
  oneof kind {
    NullValue null_value = 1;
    double number_value = 2;
    string string_value = 3;
    bool bool_value = 4;
    Struct struct_value = 5;
    ListValue list_value = 6;
  }
}
enum NullValue { NULL_VALUE = 0; }
"#;

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Scalar(Scalar),
    Message(usize),
    Enum(usize),
    /// Entries of a map: place of the message of an entry.
    Map(usize),
    /// Group, which is not read.
    Group,
}

/// Meaning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    /// Time with seconds and nanoseconds.
    Timestamp,
    /// Value of the first field.
    First,
    /// Value of the field that is set.
    Any,
}

/// Field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) name: Box<str>,
    pub(super) of: Type,
    pub(super) is_repeated: bool,
    /// True if a missing value is one: no elements, false, 0 or the first name of an enum.
    pub(super) has_default: bool,
}

/// Message with its fields by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    pub(super) shape: Shape,
    /// True if any field has a default.
    pub(super) has_defaults: bool,
    nested: Vec<usize>,
}

/// Enum with its names by number.
pub(super) type Enum = Vec<(i32, Box<str>)>;

/// Schema of the records of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::decode) struct Schema {
    pub(super) messages: Vec<Message>,
    pub(super) enums: Vec<Enum>,
    /// Messages of the main file that lie in no other.
    roots: Vec<usize>,
}

impl Schema {
    /// Schema of a `FileDescriptorSet`. The last file is the main one, as the compiler writes it.
    ///
    /// # Errors
    /// The problem.
    pub(in crate::decode) fn of_set(bytes: &[u8]) -> Result<Self, String> {
        let files = descriptor::files_of_set(bytes);
        let files = files.map_err(|error| {
            format!(
                "is no descriptor set: {error}; write it with protoc --include_imports \
                 --descriptor_set_out, or buf build -o schema.binpb"
            )
        })?;
        Linker::link(&files)
    }

    /// Schema of a `FileDescriptorProto` or the text of a file, and of those that it imports.
    ///
    /// # Errors
    /// The problem.
    pub(in crate::decode) fn of_files(main: &[u8], imports: &[&[u8]]) -> Result<Self, String> {
        let files = imports.iter().copied().chain([main]).map(|bytes| {
            // A descriptor begins with the key of its name, which is no beginning of a text.
            match std::str::from_utf8(bytes) {
                Ok(text) if !bytes.starts_with(&[0x0a]) => proto_text::parse(text),
                _ => descriptor::file(bytes).or_else(|error| match std::str::from_utf8(bytes) {
                    Ok(text) => proto_text::parse(text),
                    Err(_) => Err(format!("is no descriptor of a file: {error}")),
                }),
            }
        });
        Linker::link(&files.collect::<Result<Vec<_>, _>>()?)
    }

    /// Place of the message of a full name; without one, of the only message of the main file.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub(in crate::decode) fn message(&self, name: Option<&str>) -> Result<usize, String> {
        let names = || {
            let names = self.roots.iter().filter_map(|it| self.messages.get(*it));
            let names: Vec<&str> = names.map(|it| &*it.name).take(20).collect();
            names.join(", ")
        };
        match (name, self.roots.as_slice()) {
            (Some(name), _) => {
                let place = self.messages.iter().position(|it| it.name == name);
                place.ok_or_else(|| format!("has no message {name}; it has {}", names()))
            }
            (None, [only]) => Ok(*only),
            (None, _) => Err(format!(
                "has the messages {}; name one with message",
                names()
            )),
        }
    }

    /// Name of a message.
    pub(in crate::decode) fn name(&self, message: usize) -> Option<&str> {
        self.messages.get(message).map(|it| &*it.name)
    }

    /// Place of the message at a path of indexes: in the main file, then in each message.
    pub(in crate::decode) fn at(&self, path: &[usize]) -> Option<usize> {
        let mut siblings = &self.roots;
        let mut place = None;
        for index in path {
            let found = *siblings.get(*index)?;
            siblings = &self.messages.get(found)?.nested;
            place = Some(found);
        }
        place
    }
}

/// Places of the messages and enums by full name.
#[derive(Default)]
struct Linker<'f> {
    names: HashMap<String, Type>,
    messages: Vec<(&'f file::Message, String)>,
    nested: Vec<Vec<usize>>,
    enums: Vec<&'f file::Enum>,
    items: usize,
}

fn joined(scope: &str, name: &str) -> String {
    if scope.is_empty() {
        name.to_owned()
    } else {
        format!("{scope}.{name}")
    }
}

impl<'f> Linker<'f> {
    /// Links files. The last one is the main one.
    fn link(files: &'f [File]) -> Result<Schema, String> {
        let well_known = proto_text::parse(WELL_KNOWN)?;
        let mut linker = Linker::default();
        let mut roots = Vec::new();
        for file in files {
            roots = linker.add_all(&file.messages, &file.enums, &file.package)?;
        }
        if !linker.names.contains_key("google.protobuf.Timestamp")
            || !linker.names.contains_key("google.protobuf.Value")
        {
            linker.add_all(&well_known.messages, &well_known.enums, &well_known.package)?;
        }
        linker.schema(roots)
    }

    fn add_all(
        &mut self,
        messages: &'f [file::Message],
        enums: &'f [file::Enum],
        scope: &str,
    ) -> Result<Vec<usize>, String> {
        for it in enums {
            self.count(it.values.len())?;
            let place = Type::Enum(self.enums.len());
            self.enums.push(it);
            // The first definition applies: a well-known type can come with the schema.
            self.names.entry(joined(scope, &it.name)).or_insert(place);
        }
        let mut places = Vec::new();
        for it in messages {
            self.count(it.fields.len())?;
            let (name, place) = (joined(scope, &it.name), self.messages.len());
            let known = self.names.entry(name.clone());
            known.or_insert(Type::Message(place));
            self.messages.push((it, name.clone()));
            self.nested.push(Vec::new());
            let nested = self.add_all(&it.messages, &it.enums, &name)?;
            if let Some(known) = self.nested.get_mut(place) {
                *known = nested;
            }
            places.push(place);
        }
        Ok(places)
    }

    fn count(&mut self, items: usize) -> Result<(), String> {
        self.items += items + 1;
        if self.items > MAX_ITEMS {
            return Err(format!("has more than {MAX_ITEMS} messages and fields"));
        }
        Ok(())
    }

    fn schema(self, roots: Vec<usize>) -> Result<Schema, String> {
        let mut messages = Vec::new();
        let mut entries = Vec::new();
        for ((message, name), nested) in self.messages.iter().zip(&self.nested) {
            let mut fields: Vec<Field> = Vec::new();
            for field in &message.fields {
                let linked = self.field(field, name, &mut entries)?;
                fields.push(linked);
            }
            fields.sort_by_key(|field| field.number);
            let twice = fields.windows(2).find(|pair| match pair {
                [one, other] => one.number == other.number,
                _ => false,
            });
            if let Some([one, ..]) = twice {
                return Err(format!("has two fields {} in {name}", one.number));
            }
            let mut names: Vec<&str> = fields.iter().map(|field| &*field.name).collect();
            names.sort_unstable();
            if let Some([one, _]) = names.windows(2).find(|it| it.first() == it.last()) {
                return Err(format!("has the field {one} of {name} twice"));
            }
            messages.push(Message {
                shape: shape(name, &fields),
                name: name.clone(),
                has_defaults: fields.iter().any(|field| field.has_default),
                fields,
                nested: nested.clone(),
            });
        }
        messages.extend(entries);
        let enums = self.enums.iter().map(|it| {
            let values = it.values.iter();
            values
                .map(|(number, name)| (*number, name.as_str().into()))
                .collect()
        });
        Ok(Schema {
            messages,
            enums: enums.collect(),
            roots,
        })
    }

    fn field(
        &self,
        field: &file::Field,
        scope: &str,
        entries: &mut Vec<Message>,
    ) -> Result<Field, String> {
        let (of, mut is_repeated) = (self.of(&field.of, scope, entries)?, field.is_repeated);
        if let Type::Map(_) = of {
            is_repeated = true;
        }
        let has_default = match of {
            Type::Map(_) | Type::Group => false,
            _ if is_repeated => true,
            Type::Scalar(Scalar::Text | Scalar::Bytes) | Type::Message(_) => false,
            Type::Scalar(_) | Type::Enum(_) => field.is_implicit,
        };
        Ok(Field {
            number: field.number,
            name: field.name.as_str().into(),
            of,
            is_repeated,
            has_default,
        })
    }

    fn of(&self, of: &TypeName, scope: &str, entries: &mut Vec<Message>) -> Result<Type, String> {
        match of {
            TypeName::Scalar(scalar) => Ok(Type::Scalar(*scalar)),
            TypeName::Group => Ok(Type::Group),
            TypeName::Map(key, value) => {
                let place = self.messages.len() + entries.len();
                let value = self.of(value, scope, entries)?;
                let field = |number, name: &str, of| Field {
                    number,
                    name: name.into(),
                    of,
                    is_repeated: false,
                    has_default: false,
                };
                entries.push(Message {
                    name: String::new(),
                    fields: vec![
                        field(1, "key", Type::Scalar(*key)),
                        field(2, "value", value),
                    ],
                    shape: Shape::Plain,
                    has_defaults: false,
                    nested: Vec::new(),
                });
                Ok(Type::Map(place))
            }
            TypeName::Named(name) => {
                let found = self.resolve(name, scope);
                let found = found.ok_or_else(|| {
                    format!(
                        "has no type {name}, which {scope} uses; add the file that defines it \
                         (protoc --include_imports)"
                    )
                })?;
                Ok(match found {
                    Type::Message(place)
                        if self.messages.get(place).is_some_and(|(it, _)| it.is_entry) =>
                    {
                        Type::Map(place)
                    }
                    found => found,
                })
            }
        }
    }

    /// Type of a name, from the innermost scope outwards.
    fn resolve(&self, name: &str, scope: &str) -> Option<Type> {
        if let Some(full) = name.strip_prefix('.') {
            return self.names.get(full).copied();
        }
        let mut scope = scope;
        loop {
            if let Some(found) = self.names.get(&joined(scope, name)) {
                return Some(*found);
            }
            if scope.is_empty() {
                return None;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }
}

/// Meaning of the well-known message of a name.
fn shape(name: &str, fields: &[Field]) -> Shape {
    let Some(name) = name.strip_prefix("google.protobuf.") else {
        return Shape::Plain;
    };
    match name {
        "Timestamp" => Shape::Timestamp,
        "Value" => Shape::Any,
        "Struct" | "ListValue" | "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value"
        | "Int32Value" | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue"
            if !fields.is_empty() =>
        {
            Shape::First
        }
        _ => Shape::Plain,
    }
}
