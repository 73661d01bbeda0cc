//! Configuration of the schema registry, the section `registry`.

use super::keys;
use super::reader::Reader;
use crate::registry::{Credentials, Settings};

/// Settings of the registry; `None` without its URL.
pub(super) fn read(reader: &mut Reader) -> Option<Settings> {
    let url = reader.find(&keys::REGISTRY_URL);
    let username = reader.find(&keys::REGISTRY_USERNAME);
    let password = reader.find(&keys::REGISTRY_PASSWORD);
    let token = reader.find(&keys::REGISTRY_TOKEN);
    let is_written = reader.is_written(&keys::REGISTRY_URL.path);
    let credentials = match (username, password, token) {
        (_, _, Some(token)) => Some(Credentials::Bearer(token)),
        (Some(username), Some(password), None) => Some(Credentials::Basic { username, password }),
        (Some(_), None, None) if is_written => {
            reader.problem(&keys::REGISTRY_USERNAME.path, "needs registry.password");
            None
        }
        (None, Some(_), None) if is_written => {
            reader.problem(&keys::REGISTRY_PASSWORD.path, "needs registry.username");
            None
        }
        (_, _, None) => None,
    };
    let settings = Settings {
        url: url.unwrap_or_default(),
        credentials,
        ca_file: reader.find(&keys::REGISTRY_CA_FILE),
        timeout: reader.get(&keys::REGISTRY_TIMEOUT),
    };
    is_written.then_some(settings)
}
