//! Keys of the configuration: path, type, default, help.
//!
//! The type of a key parses its values and describes them for schemas. This module must not know
//! which keys exist.

use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Bound, RangeBounds as _};
use std::str::FromStr;
use std::time::Duration;

use super::units;

/// Key of the configuration.
///
/// In its path, `[]` stands for an element of a list, and [`NAME`] for a name that the user chooses.
pub(super) struct Key<K: 'static> {
    pub(super) path: Cow<'static, str>,
    pub(super) kind: &'static K,
    /// Default as written in a variable: a list with commas, names as `name: value`.
    pub(super) default: Option<&'static str>,
    pub(super) help: &'static [&'static str],
    pub(super) examples: &'static [&'static str],
}

/// Segment of a path that stands for a name that the user chooses.
pub const NAME: &str = "NAME";

impl<K> Key<K> {
    /// The key within `element`, an element of a list or a section with a chosen name.
    pub(super) fn of(&self, element: &str) -> Self {
        let element_end = ["[]", NAME].map(|end| self.path.rfind(end).map(|at| at + end.len()));
        let end = element_end.into_iter().flatten().max().unwrap_or_default();
        Self {
            path: format!("{element}{}", &self.path[end..]).into(),
            kind: self.kind,
            default: self.default,
            help: self.help,
            examples: self.examples,
        }
    }
}

/// Description of a key, for readers of any type.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path, as `engine.memory`, `targets[].measure` or `components.NAME.stages`.
    pub path: &'static str,
    /// Values that the key can have.
    pub shape: Shape,
    /// Default as written in a variable: a list with commas, names as `name: value`.
    pub default: Option<&'static str>,
    /// Lines of help.
    pub help: &'static [&'static str],
    /// Examples of values as written in a file.
    pub examples: &'static [&'static str],
}

/// Values that a key can have.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Whole number within a range.
    Whole(usize, usize),
    /// Number within a range.
    Number(Bound<f64>, Bound<f64>),
    /// Amount of memory within a range, in bytes.
    Bytes(usize, usize),
    /// Duration within a range.
    Duration(Duration, Duration),
    /// One of several words.
    Words(Vec<&'static str>),
    /// Any scalar; the type of the key checks it.
    Text,
    /// List of scalars, with the lowest and the highest number of elements.
    List(Box<Shape>, usize, usize),
    /// Scalars, or lists of scalars, by names that the user chooses.
    Names(Box<Shape>),
    /// Section of keys, which have entries of their own.
    Section,
    /// List of sections.
    Sections,
    /// Sections by names that the user chooses.
    NamedSections,
    /// Section of any form; the module of its section checks it.
    Free,
}

impl Shape {
    /// Returns true if a value is one scalar.
    pub fn is_scalar(&self) -> bool {
        match self {
            Self::Whole(..)
            | Self::Number(..)
            | Self::Bytes(..)
            | Self::Duration(..)
            | Self::Words(_)
            | Self::Text => true,
            Self::List(..)
            | Self::Names(_)
            | Self::Section
            | Self::Sections
            | Self::NamedSections
            | Self::Free => false,
        }
    }
}

/// Key of any type.
pub(super) trait AnyKey: Sync {
    /// Description.
    fn entry(&'static self) -> Entry;
}

impl<K: Kind + Sync> AnyKey for Key<K> {
    fn entry(&'static self) -> Entry {
        Entry {
            path: &self.path,
            shape: self.kind.shape(),
            default: self.default,
            help: self.help,
            examples: self.examples,
        }
    }
}

/// Type of the values of a key.
pub(super) trait Kind {
    /// Values that the key can have.
    fn shape(&self) -> Shape;
}

/// Type of scalars.
pub(super) trait Scalar {
    type Value;

    /// Values that the key can have.
    fn shape(&self) -> Shape;

    /// Parses a text.
    ///
    /// # Errors
    /// A problem that follows the quoted text, as `is not …`.
    fn parse(&self, text: &str) -> Result<Self::Value, String>;

    /// Returns true if problems name the text themselves, and do not follow it.
    fn names_text(&self) -> bool {
        false
    }
}

impl<K: Scalar> Kind for K {
    fn shape(&self) -> Shape {
        Scalar::shape(self)
    }
}

/// Whole number from the first to the second one.
pub(super) struct Whole(pub(super) usize, pub(super) usize);

impl Scalar for Whole {
    type Value = usize;

    fn shape(&self) -> Shape {
        Shape::Whole(self.0, self.1)
    }

    fn parse(&self, text: &str) -> Result<usize, String> {
        let Self(min, max) = self;
        match text.parse() {
            Ok(number) => within(min, max, number, usize::to_string),
            Err(_) if finite(text).is_some() => {
                Err(format!("is not a whole number between {min} and {max}"))
            }
            Err(_) => Err("is not a whole number".to_owned()),
        }
    }
}

/// `value`, if it is not below `min` or above `max`.
fn within<T: PartialOrd>(
    min: &T,
    max: &T,
    value: T,
    format: impl Fn(&T) -> String,
) -> Result<T, String> {
    if *min <= value && value <= *max {
        return Ok(value);
    }
    let (min, max) = (format(min), format(max));
    Err(format!("is not between {min} and {max}"))
}

/// Number between bounds, which the text describes.
pub(super) struct Number(
    pub(super) Bound<f64>,
    pub(super) Bound<f64>,
    pub(super) &'static str,
);

impl Scalar for Number {
    type Value = f64;

    fn shape(&self) -> Shape {
        Shape::Number(self.0, self.1)
    }

    fn parse(&self, text: &str) -> Result<f64, String> {
        let Self(min, max, expected) = self;
        let number = finite(text).filter(|number| (*min, *max).contains(number));
        number.ok_or_else(|| format!("is not {expected}"))
    }
}

/// Parses a finite decimal number.
fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Amount of memory from the first to the second one, in bytes.
pub(super) struct Bytes(pub(super) usize, pub(super) usize);

impl Scalar for Bytes {
    type Value = usize;

    fn shape(&self) -> Shape {
        Shape::Bytes(self.0, self.1)
    }

    fn parse(&self, text: &str) -> Result<usize, String> {
        let bytes = units::parse_bytes(text).ok_or(units::BYTES)?;
        within(&self.0, &self.1, bytes, |bytes| units::format_bytes(*bytes))
    }
}

/// Duration from the first to the second one.
pub(super) struct Span(pub(super) Duration, pub(super) Duration);

impl Scalar for Span {
    type Value = Duration;

    fn shape(&self) -> Shape {
        Shape::Duration(self.0, self.1)
    }

    fn parse(&self, text: &str) -> Result<Duration, String> {
        let value = units::parse_duration(text).ok_or(units::DURATION)?;
        within(&self.0, &self.1, value, |it| units::format_duration(*it))
    }
}

/// One of several words.
pub(super) struct Word<T: 'static>(pub(super) &'static [(&'static str, T)]);

impl<T: Clone> Scalar for Word<T> {
    type Value = T;

    fn shape(&self) -> Shape {
        Shape::Words(self.0.iter().map(|(word, _)| *word).collect())
    }

    fn parse(&self, text: &str) -> Result<T, String> {
        one_of(text, self.0)
    }
}

/// Parses one of several words.
pub(super) fn one_of<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("is none of {}", words.join(", "))
    })
}

/// Text that a function checks.
pub(super) struct Checked<T> {
    parse: fn(&str) -> Result<T, String>,
    names_text: bool,
}

impl<T> Scalar for Checked<T> {
    type Value = T;

    fn shape(&self) -> Shape {
        Shape::Text
    }

    fn parse(&self, text: &str) -> Result<T, String> {
        (self.parse)(text)
    }

    fn names_text(&self) -> bool {
        self.names_text
    }
}

/// Text that a function checks, whose problem follows the quoted text.
pub(super) const fn checked<T>(parse: fn(&str) -> Result<T, String>) -> Checked<T> {
    Checked {
        parse,
        names_text: false,
    }
}

/// Text that a function checks, whose problem names the text.
pub(super) const fn named<T>(parse: fn(&str) -> Result<T, String>) -> Checked<T> {
    Checked {
        parse,
        names_text: true,
    }
}

/// Any text.
pub(super) const TEXT: Checked<String> = checked(|text| Ok(text.to_owned()));

/// Type with a parser whose errors name the text.
pub(super) fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse::<T>().map_err(|error| error.to_string())
}

/// List of scalars, with the lowest and the highest number of elements.
pub(super) struct List<K>(pub(super) K, pub(super) usize, pub(super) usize);

impl<K: Scalar> Kind for List<K> {
    fn shape(&self) -> Shape {
        Shape::List(Box::new(self.0.shape()), self.1, self.2)
    }
}

/// Scalars by names that the user chooses.
pub(super) struct Names<K>(pub(super) K);

impl<K: Scalar> Kind for Names<K> {
    fn shape(&self) -> Shape {
        Shape::Names(Box::new(self.0.shape()))
    }
}

/// Lists of scalars by names that the user chooses. One scalar is a list too.
pub(super) struct NamedLists<K>(pub(super) K, pub(super) usize);

impl<K: Scalar> Kind for NamedLists<K> {
    fn shape(&self) -> Shape {
        let list = Shape::List(Box::new(self.0.shape()), 1, self.1);
        Shape::Names(Box::new(list))
    }
}

/// Section, list of sections, or sections with names, whose keys have entries of their own.
pub(super) struct Group(pub(super) Shape);

impl Kind for Group {
    fn shape(&self) -> Shape {
        self.0.clone()
    }
}

/// Declares the keys as statics, and all of them as a function. The documentation of a key is its
/// help.
macro_rules! keys {
    ($(#[doc = $about:literal])* $visibility:vis fn $all:ident; $(
        $(#[doc = $help:literal])*
        $name:ident: $kind:ty = $path:literal, $value:expr
        $(, default $default:literal)? $(, example $example:literal)*;
    )*) => {
        $(
            $(#[doc = $help])*
            pub(super) static $name: $crate::config::key::Key<$kind> = $crate::config::key::Key {
                path: std::borrow::Cow::Borrowed($path),
                kind: &$value,
                default: $crate::config::key::last(&[$($default)?]),
                help: &[$($help),*],
                examples: &[$($example),*],
            };
        )*

        $(#[doc = $about])*
        $visibility fn $all() -> Vec<$crate::config::key::Entry> {
            let keys: &[&'static dyn $crate::config::key::AnyKey] = &[$(&$name),*];
            keys.iter().map(|key| key.entry()).collect()
        }
    };
}
pub(super) use keys;

/// The default in a declaration, if there is one.
pub(super) const fn last(default: &[&'static str]) -> Option<&'static str> {
    match default {
        [] => None,
        [default, ..] => Some(*default),
    }
}
