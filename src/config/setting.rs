//! Settings for users: every value with the place where it was written. Secrets are masked.
//!
//! Values are shown as they are written, not as they are parsed.

use rankgauge_kafka::settings::Properties;
use serde::{Serialize, Serializer};

use super::layers::{Node, Tree};
use super::problem::Place;

/// A setting in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted key (`engine.feedback_window`, `targets[2].measure`).
    pub key: String,
    /// Value, or `***` in place of a secret.
    pub value: SettingValue,
    /// Place where the value was written.
    pub place: Place,
}

/// Value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingValue {
    /// Scalar, as written.
    Text(String),
    /// List of scalars.
    List(Vec<String>),
    /// Section without keys.
    EmptySection,
}

impl std::fmt::Display for SettingValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::List(elements) => write!(f, "[{}]", elements.join(", ")),
            Self::EmptySection => f.write_str("{}"),
        }
    }
}

impl Serialize for SettingValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(elements) => elements.serialize(serializer),
            Self::EmptySection => serializer.collect_map(std::iter::empty::<(&str, &str)>()),
        }
    }
}

/// Every setting in `tree`, sorted by key.
pub(super) fn all(tree: &Tree) -> Vec<Setting> {
    let settings = tree.nodes.iter().filter_map(|(key, node)| {
        let value = match node {
            Node::Text(_) if is_listed(tree, key) => return None,
            Node::Text(_) if is_secret_key(key) => SettingValue::Text("***".to_owned()),
            Node::Text(text) => SettingValue::Text(text.clone()),
            Node::List(length) => SettingValue::List(scalars(tree, key, *length)?),
            Node::Section(keys) if keys.is_empty() && !key.is_empty() => SettingValue::EmptySection,
            Node::Section(_) | Node::Nothing | Node::Invalid => return None,
        };
        Some(Setting {
            key: key.clone(),
            value,
            place: tree.place(key),
        })
    });
    settings.collect()
}

/// Returns true if `key` is an element of a list that is shown as a whole.
fn is_listed(tree: &Tree, key: &str) -> bool {
    let list = key.strip_suffix(']').and_then(|key| key.rsplit_once('['));
    list.is_some_and(|(list, _)| match tree.nodes.get(list) {
        Some(Node::List(length)) => scalars(tree, list, *length).is_some(),
        _ => false,
    })
}

/// Elements of the list at `path`, if all of them are scalars.
fn scalars(tree: &Tree, path: &str, length: usize) -> Option<Vec<String>> {
    let elements = (0..length).map(|index| match tree.nodes.get(&format!("{path}[{index}]")) {
        Some(Node::Text(text)) => Some(text.clone()),
        _ => None,
    });
    elements.collect()
}

fn is_secret_key(key: &str) -> bool {
    let property = key.strip_prefix("kafka.properties.");
    if ["registry.password", "registry.token"].contains(&key) {
        return true;
    }
    let is_header = key.starts_with("probe.targets[") && key.contains("].headers.");
    is_header || property.is_some_and(Properties::is_secret)
}
