//! Objects of JSON as lists of their members.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use rankgauge_core::event::Text;

/// Entries of an object in their order, including repeated names.
pub(super) struct Entries<'t, T>(pub(super) Vec<(Cow<'t, str>, T)>);

impl<'t, 'de: 't, T: Deserialize<'de>> Deserialize<'de> for Entries<'t, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'t, T>(PhantomData<(&'t (), T)>);

        impl<'t, 'de: 't, T: Deserialize<'de>> Visitor<'de> for Reader<'t, T> {
            type Value = Entries<'t, T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}
