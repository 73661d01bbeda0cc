//! Span with the attributes that the mapping reads, from either encoding.

use super::keys::{Attribute, DocumentField, DocumentKey, DocumentList};
use super::mapping::Mapping;
use super::value::{Any, Raw, Unreadable};

/// Status code of a failed span.
pub(super) const STATUS_ERROR: u64 = 2;

/// Name of the event that holds the type of an exception.
pub(super) const EXCEPTION: &str = "exception";

/// Attribute of that event.
pub(super) const EXCEPTION_TYPE: &str = "exception.type";

/// Attribute of a document in a flattened list.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentAttribute<'a> {
    pub(super) list: DocumentList,
    pub(super) position: u32,
    pub(super) field: DocumentField,
    pub(super) value: Raw<'a>,
}

/// Attributes that the mapping reads. Of attributes with the same name, the first is kept.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    known: [Option<Raw<'a>>; Attribute::COUNT],
    /// Attributes that the configuration names, in the order of [`Mapping::span_attributes`].
    pub(super) configured: Vec<Option<Raw<'a>>>,
    pub(super) documents: Vec<DocumentAttribute<'a>>,
}

impl<'a> Attributes<'a> {
    pub(super) fn new(mapping: &Mapping) -> Self {
        Self {
            known: [None; Attribute::COUNT],
            configured: vec![None; mapping.span_attributes.len()],
            documents: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.known = [None; Attribute::COUNT];
        self.configured.fill(None);
        self.documents.clear();
    }

    /// Adds an attribute if the mapping reads it.
    #[inline]
    pub(super) fn add(&mut self, key: &[u8], value: Raw<'a>, mapping: &Mapping) {
        if let Some(DocumentKey {
            list,
            position,
            field,
        }) = DocumentKey::parse(key)
        {
            self.documents.push(DocumentAttribute {
                list,
                position,
                field,
                value,
            });
            return;
        }
        if let Some(attribute) = Attribute::parse(key) {
            self.known[attribute as usize].get_or_insert(value);
        }
        let names = mapping.span_attributes.iter().zip(&mut self.configured);
        for (_, slot) in names.filter(|(name, _)| name.as_bytes() == key) {
            slot.get_or_insert(value);
        }
    }

    /// Returns true if the span has an attribute of a retrieved document.
    pub(super) fn has_retrieved_documents(&self) -> bool {
        let mut documents = self.documents.iter();
        documents.any(|document| document.list == DocumentList::Retrieved)
    }

    /// Returns true if the span has the attribute.
    pub(super) fn has(&self, attribute: Attribute) -> bool {
        self.known[attribute as usize].is_some()
    }

    /// Attribute that is not decoded.
    pub(super) fn raw(&self, attribute: Attribute) -> Option<Raw<'a>> {
        self.known[attribute as usize]
    }

    /// Decodes an attribute; [`Any::Empty`] if it is absent.
    ///
    /// # Errors
    /// Its value is malformed.
    pub(super) fn get(&self, attribute: Attribute) -> Result<Any<'a>, Unreadable> {
        self.known[attribute as usize].map_or(Ok(Any::Empty), Raw::decode)
    }
}

/// Type of the exception that ended a span.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExceptionType<'a> {
    /// Value of the attribute.
    Value(Raw<'a>),
    /// No exception was recorded.
    Absent,
}

/// Text of the record that may not be UTF-8.
pub(super) type Bytes<'a> = std::borrow::Cow<'a, [u8]>;

/// Span without its attributes.
#[derive(Clone, Debug)]
#[allow(clippy::struct_field_names, reason = "the names of the protocol")]
pub(super) struct Span<'a> {
    /// `None` if the id does not have 16 bytes or is zero.
    pub(super) trace_id: Option<[u8; 16]>,
    /// `None` if the id does not have 8 bytes or is zero.
    pub(super) span_id: Option<[u8; 8]>,
    pub(super) name: Bytes<'a>,
    /// Start, in nanoseconds since the epoch.
    pub(super) start: u64,
    /// End, in nanoseconds since the epoch.
    pub(super) end: u64,
    /// Number of attributes that the process dropped.
    pub(super) dropped: u64,
    pub(super) is_error: bool,
    pub(super) exception: ExceptionType<'a>,
}

/// Returns an id of `N` bytes; `None` if it has another length or is zero.
pub(super) fn id<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let id = <[u8; N]>::try_from(bytes).ok()?;
    (id != [0; N]).then_some(id)
}

/// Returns the hexadecimal form of an id.
pub(super) fn hex(id: &[u8], text: &mut String) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    for byte in id {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Resource attributes that the mapping reads, with the selection of a scope.
#[derive(Debug)]
pub(super) struct Resource<'a> {
    pub(super) service_name: Option<Raw<'a>>,
    /// Attributes that the configuration names, in the order of [`Mapping::resource_attributes`].
    pub(super) configured: Vec<Option<Raw<'a>>>,
    /// True if spans of this resource and of the present scope can be searches.
    pub(super) is_selected: bool,
}

impl<'a> Resource<'a> {
    pub(super) fn new(mapping: &Mapping) -> Self {
        Self {
            service_name: None,
            configured: vec![None; mapping.resource_attributes.len()],
            is_selected: true,
        }
    }

    /// Adds an attribute if the mapping reads it.
    pub(super) fn add(&mut self, key: &[u8], value: Raw<'a>, mapping: &Mapping) {
        if key == b"service.name" {
            self.service_name.get_or_insert(value);
        }
        let names = mapping.resource_attributes.iter().zip(&mut self.configured);
        for (_, slot) in names.filter(|(name, _)| name.as_bytes() == key) {
            slot.get_or_insert(value);
        }
    }
}
