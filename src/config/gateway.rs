//! Configuration of the gateway, the section `gateway`.

use super::keys;
use super::reader::Reader;
use rankgauge_gateway::Settings;

pub(super) fn read(reader: &mut Reader) -> Settings {
    Settings {
        listen: reader.get(&keys::GATEWAY_LISTEN),
        web: reader.find(&keys::GATEWAY_WEB),
        tokens: reader.find(&keys::GATEWAY_TOKENS),
        key: reader.get(&keys::GATEWAY_KEY),
        cors_origins: origins(reader),
        memory: reader.get(&keys::GATEWAY_MEMORY),
        max_body: reader.get(&keys::GATEWAY_MAX_BODY),
        max_decompressed: reader.get(&keys::GATEWAY_MAX_DECOMPRESSED),
        max_events: reader.get(&keys::GATEWAY_MAX_EVENTS),
        max_connections: reader.get(&keys::GATEWAY_CONNECTIONS),
        timeout: reader.get(&keys::GATEWAY_TIMEOUT),
    }
}

/// Origins as browsers write them.
fn origins(reader: &mut Reader) -> Vec<String> {
    let mut origins = Vec::new();
    for element in reader.list(&keys::GATEWAY_ORIGINS) {
        let origin = element.value;
        let host = ["https://", "http://"]
            .iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        let is_origin = host.is_some_and(|host| {
            !host.is_empty()
                && host
                    .bytes()
                    .all(|it| it.is_ascii_graphic() && it != b'/' && it != b'*')
        });
        if is_origin || origin == "*" {
            origins.push(origin);
        } else {
            let text = format!(
                "\"{origin}\" is no origin; write scheme, host and port as https://shop.example, or *"
            );
            reader.problem(&element.path, text);
        }
    }
    origins
}
