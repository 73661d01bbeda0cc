//! Request checks of the admin listener against pages of other sites in a browser, which must neither
//! read its data nor send commands. By default the listener is on the loopback and has no
//! authentication, so these checks are what protects it from such pages.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;

/// Request that is refused, with the reason. The status of the response is 403.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

/// Rejects a request whose `Host` is neither `localhost` nor an address: an attacker may have
/// pointed any other name at this machine (DNS rebinding).
///
/// An address cannot be redirected. If the listener is bound to one address, `Host` has to be that
/// address or a loopback address.
///
/// # Errors
/// The reason for which the request is refused.
pub fn host(headers: &HeaderMap, listening: SocketAddr) -> Result<(), Refused> {
    let host = headers.get(HOST).and_then(authority);
    let is_allowed = host.as_ref().is_some_and(|authority| {
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
    if is_allowed {
        return Ok(());
    }
    let error = format!(
        "the Host header must be localhost or the address of this listener ({}): a page of another \
         site could have chosen any other name",
        listening.ip()
    );
    Err(Refused(error))
}

/// Rejects a request that a browser sends on behalf of a page of another site. The checked headers
/// are `Sec-Fetch-Site` and `Origin`; `scheme` is that of the listener. Other programs send neither of them; a browser sends at least
/// one of them with every POST.
///
/// # Errors
/// The reason for which the request is refused.
pub fn same_site(headers: &HeaderMap, scheme: &str) -> Result<(), Refused> {
    let same_fetch = headers
        .get("sec-fetch-site")
        .is_none_or(|site| site == "same-origin" || site == "none");
    let host = headers.get(HOST).and_then(authority);
    let same_origin = headers.get(ORIGIN).is_none_or(|origin| {
        let origin = origin.to_str().ok();
        let origin = origin.and_then(|origin| origin.strip_prefix(scheme)?.strip_prefix("://"));
        let origin = origin.and_then(|origin| origin.parse::<Authority>().ok());
        origin.is_some() && origin == host
    });
    if same_fetch && same_origin {
        return Ok(());
    }
    let error = "pages of other sites cannot send commands; use a program such as curl";
    Err(Refused(error.into()))
}

fn authority(value: &HeaderValue) -> Option<Authority> {
    value.to_str().ok()?.parse().ok()
}
