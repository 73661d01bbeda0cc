//! Content of a `.proto` file, before its names are resolved.

/// Type of a field without other types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Double,
    Float,
    Int64,
    Uint64,
    Int32,
    Uint32,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    Text,
    Bytes,
}

impl Scalar {
    /// Every scalar with its name.
    pub(super) const NAMES: [(&str, Self); 15] = [
        ("double", Self::Double),
        ("float", Self::Float),
        ("int64", Self::Int64),
        ("uint64", Self::Uint64),
        ("int32", Self::Int32),
        ("uint32", Self::Uint32),
        ("sint32", Self::Sint32),
        ("sint64", Self::Sint64),
        ("fixed32", Self::Fixed32),
        ("fixed64", Self::Fixed64),
        ("sfixed32", Self::Sfixed32),
        ("sfixed64", Self::Sfixed64),
        ("bool", Self::Bool),
        ("string", Self::Text),
        ("bytes", Self::Bytes),
    ];

    /// Scalar of a name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, scalar)| *scalar)
    }
}

/// Type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypeName {
    Scalar(Scalar),
    /// Message or enum: a full name after a dot, or a name relative to the message.
    Named(String),
    /// Map with text or numbers as keys.
    Map(Scalar, Box<TypeName>),
    /// Group, which is not read.
    Group,
}

/// Field of a message.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) number: u32,
    pub(super) of: TypeName,
    pub(super) is_repeated: bool,
    /// True if a missing value is the default of its type.
    pub(super) is_implicit: bool,
}

/// Enum with its names by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) values: Vec<(i32, String)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    pub(super) messages: Vec<Message>,
    pub(super) enums: Vec<Enum>,
    /// True for the entries of a map field of a descriptor.
    pub(super) is_entry: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) package: String,
    pub(super) messages: Vec<Message>,
    pub(super) enums: Vec<Enum>,
}
