//! Whom the admin listener answers. Nobody has to say who they are, because it listens on the loopback;
//! but a browser of that machine shows pages of other sites, and those must neither read nor command.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::{StatusCode, http::uri::Authority};

use super::Refusal;

/// Refuses a request that was sent to a name somebody else may have pointed at this machine (DNS
/// rebinding): the name has to be `localhost` or an address.
///
/// An address cannot be pointed elsewhere. Of a listener for one address, it has to be a loopback's or
/// that one.
pub(super) fn host(headers: &HeaderMap, listening: SocketAddr) -> Result<(), Refusal> {
    let host = headers.get(HOST).and_then(authority);
    let is_ours = host.as_ref().is_some_and(|authority| {
        let name = authority.host();
        let literal = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        match literal.unwrap_or(name).parse::<IpAddr>() {
            Ok(address) => {
                let own = listening.ip();
                own.is_unspecified() || address.is_loopback() || address == own
            }
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    });
    if is_ours {
        return Ok(());
    }
    let error = format!(
        "this listener answers to the name localhost and to its address ({}), and to no other name: a \
         page of another site could have chosen that",
        listening.ip()
    );
    Err(Refusal::new(StatusCode::FORBIDDEN, error))
}

/// Refuses what a browser sends because a page of another site asked for it. Programs send neither of
/// the headers that say so; a browser sends at least one of them with every POST.
pub(super) fn same_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let same_fetch = headers
        .get("sec-fetch-site")
        .is_none_or(|site| site == "same-origin" || site == "none");
    let host = headers.get(HOST).and_then(authority);
    let same_origin = headers.get(ORIGIN).is_none_or(|origin| {
        let origin = origin.to_str().ok();
        let origin = origin.and_then(|origin| origin.strip_prefix("http://"));
        let origin = origin.and_then(|origin| origin.parse::<Authority>().ok());
        origin.is_some() && origin == host
    });
    if same_fetch && same_origin {
        return Ok(());
    }
    let error = "pages of other sites cannot give commands here; use a program such as curl";
    Err(Refusal::new(StatusCode::FORBIDDEN, error))
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.parse().ok()
}
