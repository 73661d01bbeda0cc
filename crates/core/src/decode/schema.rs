//! Schemas of the records of a format: of a file, or of a schema registry by id.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::binary::Broken;
use super::{avro, protobuf};
use crate::event::{Reason, Rejection};

/// Number of chains of the cache.
const CHAINS: usize = 64;

/// Maximum number of ids in a cache. Records of further ids are invalid.
const MAX_IDS: usize = 10_000;

/// Schema of records in Avro or Protocol Buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema(pub(super) Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Avro(avro::Schema),
    Protobuf(protobuf::Schema),
}

impl Schema {
    /// Parses a schema of Avro. `references` are schemas whose named types it uses, each after those that
    /// it uses itself. The records have the type `message`, or else the whole schema.
    ///
    /// # Errors
    /// Problem, as the end of a sentence that begins with the name of the schema.
    pub fn avro(text: &str, references: &[&str], message: Option<&str>) -> Result<Self, String> {
        let schema = avro::Schema::parse(text, references, message)?;
        Ok(Self(Kind::Avro(schema)))
    }

    /// Reads a descriptor set of Protocol Buffers. Its last file is the main one.
    ///
    /// # Errors
    /// Problem, as above.
    pub fn descriptor_set(bytes: &[u8]) -> Result<Self, String> {
        let schema = protobuf::Schema::of_set(bytes)?;
        Ok(Self(Kind::Protobuf(schema)))
    }

    /// Reads a file of Protocol Buffers, and those that it imports: as text, or as a descriptor
    /// (`FileDescriptorProto`). Files of `google/protobuf` need not be among them.
    ///
    /// # Errors
    /// Problem, as above.
    pub fn protobuf(main: &[u8], imports: &[&[u8]]) -> Result<Self, String> {
        let schema = protobuf::Schema::of_files(main, imports)?;
        Ok(Self(Kind::Protobuf(schema)))
    }

    /// Number of bytes of the value at the beginning of `bytes`.
    ///
    /// # Errors
    /// The bytes do not begin with a value of the schema, or it is not of Avro.
    pub(super) fn value_bytes(&self, bytes: &[u8]) -> Result<usize, Broken> {
        match &self.0 {
            Kind::Avro(schema) => avro::length(schema, bytes),
            Kind::Protobuf(_) => Err(Broken::new("a value without a length")),
        }
    }

    /// Checks that records without the name of their message can have this one.
    ///
    /// # Errors
    /// Problem, as above.
    pub fn check_message(&self, name: Option<&str>) -> Result<(), String> {
        match &self.0 {
            Kind::Avro(_) => Ok(()),
            Kind::Protobuf(schema) => schema.message(name).map(|_| ()),
        }
    }
}

/// State of an id in a cache.
#[derive(Debug)]
pub(crate) enum Cached<'a> {
    /// Schema, or its problem.
    Known(&'a Result<Schema, String>),
    /// The registry has no schema with this id.
    Missing,
    /// The registry was not asked, or did not answer.
    Unknown,
    /// The cache has the maximum number of ids.
    Full,
}

/// Schemas of a registry by id. Schemas never change, so that they stay until the end of the process.
///
/// A chain only grows: readers take no lock.
#[derive(Debug)]
pub struct SchemaCache {
    chains: [OnceLock<Box<Entry>>; CHAINS],
    ids: AtomicUsize,
}

#[derive(Debug)]
struct Entry {
    id: u32,
    schema: OnceLock<Result<Schema, String>>,
    is_missing: AtomicBool,
    next: OnceLock<Box<Self>>,
}

impl Default for SchemaCache {
    fn default() -> Self {
        Self {
            chains: std::array::from_fn(|_| OnceLock::new()),
            ids: AtomicUsize::new(0),
        }
    }
}

impl SchemaCache {
    fn chain(&self, id: u32) -> &OnceLock<Box<Entry>> {
        let place = usize::try_from(id).unwrap_or_default() % CHAINS;
        &self.chains[place]
    }

    fn find(&self, id: u32) -> Option<&Entry> {
        let mut link = self.chain(id);
        while let Some(entry) = link.get() {
            if entry.id == id {
                return Some(entry);
            }
            link = &entry.next;
        }
        None
    }

    /// State of an id.
    pub(crate) fn get(&self, id: u32) -> Cached<'_> {
        let Some(entry) = self.find(id) else {
            return if self.ids.load(Ordering::Relaxed) < MAX_IDS {
                Cached::Unknown
            } else {
                Cached::Full
            };
        };
        match entry.schema.get() {
            Some(schema) => Cached::Known(schema),
            None if entry.is_missing.load(Ordering::Acquire) => Cached::Missing,
            None => Cached::Unknown,
        }
    }

    /// Adds an id if necessary. The cache can exceed its maximum by a few ids that are added at once.
    fn entry(&self, id: u32) -> &Entry {
        let mut link = self.chain(id);
        loop {
            let entry = link.get_or_init(|| {
                self.ids.fetch_add(1, Ordering::Relaxed);
                Box::new(Entry {
                    id,
                    schema: OnceLock::new(),
                    is_missing: AtomicBool::new(false),
                    next: OnceLock::new(),
                })
            });
            if entry.id == id {
                return entry;
            }
            link = &entry.next;
        }
    }

    /// Sets the schema of an id, or its problem. The first one stays.
    pub fn set(&self, id: u32, schema: Result<Schema, String>) {
        self.entry(id).schema.get_or_init(|| schema);
    }

    /// Notes that the registry has no schema of an id, or that it has to be asked again.
    pub fn set_missing(&self, id: u32, is_missing: bool) {
        let missing = &self.entry(id).is_missing;
        missing.store(is_missing, Ordering::Release);
    }
}

/// Source of the schemas of a format.
#[derive(Clone, Debug, Default)]
pub enum Source {
    /// None: JSON.
    #[default]
    None,
    /// Schema of a file.
    File(Arc<Schema>),
    /// Schemas of a registry.
    Registry(Arc<SchemaCache>),
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => one == other,
            // Caches follow from the settings of the registry.
            (Self::None, Self::None) | (Self::Registry(_), Self::Registry(_)) => true,
            (Self::None | Self::File(_) | Self::Registry(_), _) => false,
        }
    }
}

impl Eq for Source {}

/// Schemas of a format, and the message that its mapping is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemas {
    /// A file, a registry, or none for a format that needs no schema.
    pub source: Source,
    /// Full name of the message. Records of other messages are ignored.
    pub message: Option<String>,
}

impl Schemas {
    /// Cache of the registry; `None` without one.
    pub fn cache(&self) -> Option<&Arc<SchemaCache>> {
        match &self.source {
            Source::Registry(cache) => Some(cache),
            Source::None | Source::File(_) => None,
        }
    }

    /// Schema of a record, which states `id` if it is framed.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn of(&self, id: Option<u32>) -> Result<&Schema, Rejection> {
        match (&self.source, id) {
            (Source::File(schema), _) => Ok(schema),
            (Source::Registry(cache), Some(id)) => of_id(cache, id),
            (Source::None, _) | (Source::Registry(_), None) => Err(Rejection::new(
                Reason::UnknownSchema,
                "the format has no schema; set schema to a file, or registry.url",
            )),
        }
    }
}

fn of_id(cache: &SchemaCache, id: u32) -> Result<&Schema, Rejection> {
    let rejection = |detail: String| Rejection::new(Reason::UnknownSchema, detail);
    match cache.get(id) {
        Cached::Known(Ok(schema)) => Ok(schema),
        Cached::Known(Err(problem)) => Err(rejection(format!("schema {id} {problem}"))),
        Cached::Missing => Err(rejection(format!("the registry has no schema {id}"))),
        Cached::Unknown => Err(rejection(format!(
            "schema {id} was not received from the registry"
        ))),
        Cached::Full => Err(rejection(format!(
            "schema {id}: the records have more than {MAX_IDS} schemas"
        ))),
    }
}
