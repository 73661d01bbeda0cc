//! Walk through an `ExportTraceServiceRequest` (or `TracesData`, the same bytes) in the wire format of
//! Protocol Buffers.
//!
//! A record is checked as a whole first, so that a damaged one yields no events. The check covers the
//! structure down to the attributes; values of attributes are decoded when they are used.

use std::borrow::Cow;

use super::super::wire::{Field, Fields, Malformed, parts};
use super::feedback::{Item, ItemAttributes, Scope, Target, VisitItem};
use super::mapping::Mapping;
use super::span::{
    Attributes, EXCEPTION, EXCEPTION_TYPE, ExceptionType, Resource, STATUS_ERROR, Span, id,
};
use super::value::{Raw, key_value};

/// Checks the structure of a record. Returns the number of its spans.
///
/// # Errors
/// The record is malformed.
pub(super) fn check(record: &[u8]) -> Result<usize, Malformed> {
    parts(record, 1).map(|it| check_resource_spans(it?)).sum()
}

fn check_resource_spans(message: &[u8]) -> Result<usize, Malformed> {
    let mut spans = 0;
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => check_resource(field.bytes(number)?)?,
            2 => spans += check_scope_spans(field.bytes(number)?)?,
            _ => {}
        }
    }
    Ok(spans)
}

fn check_resource(message: &[u8]) -> Result<(), Malformed> {
    parts(message, 1).try_for_each(|attribute| key_value(attribute?).map(|_| ()))
}

fn check_scope_spans(message: &[u8]) -> Result<usize, Malformed> {
    let mut spans = 0;
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => {
                scope_name(field.bytes(number)?)?;
            }
            2 => {
                check_span(field.bytes(number)?)?;
                spans += 1;
            }
            _ => {}
        }
    }
    Ok(spans)
}

fn check_span(message: &[u8]) -> Result<(), Malformed> {
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            9 => {
                key_value(field.bytes(number)?)?;
            }
            1..=5 | 13 => {
                field.bytes(number)?;
            }
            7 | 8 => {
                field.fixed64(number)?;
            }
            6 | 10 | 12 | 14 => {
                field.varint(number)?;
            }
            11 => check_event(field.bytes(number)?)?,
            15 => {
                status(field.bytes(number)?)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_event(message: &[u8]) -> Result<(), Malformed> {
    exception_type(message).map(|_| ())
}

/// Calls `visit` for each span of a record that was [checked](check), with its attributes and its
/// resource.
///
/// # Errors
/// The record is malformed.
pub(super) fn walk<'a>(
    record: &'a [u8],
    mapping: &Mapping,
    visit: &mut dyn FnMut(&Span<'a>, &mut Attributes<'a>, &Resource<'a>),
) -> Result<(), Malformed> {
    let mut attributes = Attributes::new(mapping);
    for message in parts(record, 1) {
        let message = message?;
        let mut resource = resource(message, mapping)?;
        let is_selected = mapping.selects_resource(&resource);
        for message in parts(message, 2) {
            let message = message?;
            resource.is_selected = is_selected && selects_scope(message, mapping)?;
            for message in parts(message, 2) {
                attributes.clear();
                let span = span(message?, &mut attributes, mapping)?;
                visit(&span, &mut attributes, &resource);
            }
        }
    }
    Ok(())
}

/// Returns true if the scope of a `ScopeSpans`, wherever it stands in the message, is selected.
fn selects_scope(message: &[u8], mapping: &Mapping) -> Result<bool, Malformed> {
    if mapping.scopes.is_empty() {
        return Ok(true);
    }
    let mut name: &[u8] = &[];
    for scope in parts(message, 1) {
        name = scope_name(scope?)?.unwrap_or(name);
    }
    Ok(mapping.selects_scope(name))
}

/// Returns the name of an instrumentation scope.
fn scope_name(message: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    parts(message, 1).try_fold(None, |_, name| name.map(Some))
}

/// Reads the resource of a `ResourceSpans`, wherever it stands in the message.
fn resource<'a>(message: &'a [u8], mapping: &Mapping) -> Result<Resource<'a>, Malformed> {
    let mut resource = Resource::new(mapping);
    for message in parts(message, 1) {
        for attribute in parts(message?, 1) {
            let (key, value) = key_value(attribute?)?;
            resource.add(key, Raw::Proto(value), mapping);
        }
    }
    Ok(resource)
}

fn span<'a>(
    message: &'a [u8],
    attributes: &mut Attributes<'a>,
    mapping: &Mapping,
) -> Result<Span<'a>, Malformed> {
    let mut span = Span {
        trace_id: None,
        span_id: None,
        name: Cow::Borrowed(&[]),
        start: 0,
        end: 0,
        dropped: 0,
        is_error: false,
        exception: ExceptionType::Absent,
    };
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => span.trace_id = id(field.bytes(number)?),
            2 => span.span_id = id(field.bytes(number)?),
            5 => span.name = Cow::Borrowed(field.bytes(number)?),
            7 => span.start = field.fixed64(number)?,
            8 => span.end = field.fixed64(number)?,
            9 => {
                let (key, value) = key_value(field.bytes(number)?)?;
                attributes.add(key, Raw::Proto(value), mapping);
            }
            // An unsigned number of 32 bits, of which a longer encoding keeps the lowest.
            10 => span.dropped = field.varint(number)? & u64::from(u32::MAX),
            11 => {
                if let Some(value) = exception_type(field.bytes(number)?)? {
                    span.exception = ExceptionType::Value(Raw::Proto(value));
                }
            }
            15 => span.is_error = status(field.bytes(number)?)?.unwrap_or(0) == STATUS_ERROR,
            _ => {}
        }
    }
    Ok(span)
}

/// Returns the type of the exception that an event records.
fn exception_type(message: &[u8]) -> Result<Option<&[u8]>, Malformed> {
    let mut fields = Fields::of(message);
    let (mut name, mut found): (&[u8], _) = (&[], None);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => {
                field.fixed64(number)?;
            }
            2 => name = field.bytes(number)?,
            3 => {
                let (key, value) = key_value(field.bytes(number)?)?;
                if key == EXCEPTION_TYPE.as_bytes() {
                    found = Some(value);
                }
            }
            _ => {}
        }
    }
    Ok(found.filter(|_| name == EXCEPTION.as_bytes()))
}

/// Returns the code of a status.
fn status(message: &[u8]) -> Result<Option<u64>, Malformed> {
    let mut fields = Fields::of(message);
    let mut code = None;
    while let Some((number, field)) = fields.next()? {
        match number {
            2 => {
                field.bytes(number)?;
            }
            3 => code = Some(field.varint(number)?),
            _ => {}
        }
    }
    Ok(code)
}

/// Calls `visit` for each log record or span of a feedback topic, with its scope and its attributes.
///
/// # Errors
/// The record is malformed.
pub(super) fn walk_items<'a>(
    record: &'a [u8],
    visit: &mut VisitItem<'_, 'a>,
) -> Result<(), Malformed> {
    let mut attributes = ItemAttributes::new();
    for message in parts(record, 1) {
        for message in parts(message?, 2) {
            let message = message?;
            let scope = scope_of(message)?;
            for message in parts(message, 2) {
                attributes.clear();
                let item = item(message?, &mut attributes)?;
                visit(&item, &scope, &attributes);
            }
        }
    }
    Ok(())
}

/// Reads the scope of a `ScopeLogs` or a `ScopeSpans`, wherever it stands in the message.
fn scope_of(message: &[u8]) -> Result<Scope<'_>, Malformed> {
    let mut scope = Scope::default();
    for message in parts(message, 1) {
        let mut fields = Fields::of(message?);
        while let Some((number, field)) = fields.next()? {
            match number {
                1 => scope.name = Cow::Borrowed(field.bytes(number)?),
                2 => scope.version = Cow::Borrowed(field.bytes(number)?),
                _ => {}
            }
        }
    }
    Ok(scope)
}

/// Reads a log record or a span. Both have the same place in their records; the types of their
/// fields tell them apart.
fn item<'a>(message: &'a [u8], attributes: &mut ItemAttributes<'a>) -> Result<Item<'a>, Malformed> {
    if is_log(message)? {
        log_record(message, attributes)
    } else {
        annotating_span(message, attributes)
    }
}

/// A log record begins with its time or has a time of observation, which a span does not have.
fn is_log(message: &[u8]) -> Result<bool, Malformed> {
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match (number, field) {
            (1 | 11, Field::Fixed64(_)) => return Ok(true),
            (1, Field::Bytes(_)) => return Ok(false),
            _ => {}
        }
    }
    Ok(false)
}

fn log_record<'a>(
    message: &'a [u8],
    attributes: &mut ItemAttributes<'a>,
) -> Result<Item<'a>, Malformed> {
    let mut target = Target::default();
    let (mut time, mut observed) = (0, 0);
    let mut event_name: &[u8] = &[];
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            1 => time = field.fixed64(number)?,
            6 => attributes.push(attribute(field.bytes(number)?)?),
            9 => target.trace_id = id(field.bytes(number)?),
            10 => target.span_id = id(field.bytes(number)?),
            11 => observed = field.fixed64(number)?,
            12 => event_name = field.bytes(number)?,
            _ => {}
        }
    }
    Ok(Item::Log {
        event_name: Cow::Borrowed(event_name),
        target,
        time: if time == 0 { observed } else { time },
    })
}

fn annotating_span<'a>(
    message: &'a [u8],
    attributes: &mut ItemAttributes<'a>,
) -> Result<Item<'a>, Malformed> {
    let (mut link, mut links, mut time) = (Target::default(), 0, 0);
    let mut fields = Fields::of(message);
    while let Some((number, field)) = fields.next()? {
        match number {
            8 => time = field.fixed64(number)?,
            9 => attributes.push(attribute(field.bytes(number)?)?),
            13 => {
                links += 1;
                let mut fields = Fields::of(field.bytes(number)?);
                while let Some((number, field)) = fields.next()? {
                    match number {
                        1 => link.trace_id = id(field.bytes(number)?),
                        2 => link.span_id = id(field.bytes(number)?),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    let link = (links == 1).then_some(link);
    Ok(Item::Span { link, time })
}

fn attribute(message: &[u8]) -> Result<(Cow<'_, [u8]>, Raw<'_>), Malformed> {
    let (key, value) = key_value(message)?;
    Ok((Cow::Borrowed(key), Raw::Proto(value)))
}
