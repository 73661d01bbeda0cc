//! Pages in a browser: beacons, and origins that are allowed or refused.

use super::client::{Gateway, click};

#[test]
fn a_page_of_a_configured_origin_can_send_feedback() {
    let gateway = Gateway::start("gateway: {cors_origins: ['https://shop.example']}");
    let page = ("Origin", "https://shop.example");
    let asked = [
        page,
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
    ];
    let preflight = gateway.request("OPTIONS /v1/feedback", &asked, b"");
    assert_eq!(preflight.status, 204, "{preflight:?}");
    for header in [
        "access-control-allow-origin: https://shop.example",
        "access-control-allow-methods: post",
        "vary: origin",
    ] {
        assert!(preflight.head.contains(header), "{}", preflight.head);
    }
    // navigator.sendBeacon with a text.
    let beacon = [page, ("Content-Type", "text/plain;charset=UTF-8")];
    let answer = gateway.request("POST /v1/feedback", &beacon, click(1).as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(
        answer
            .head
            .contains("access-control-allow-origin: https://shop.example"),
        "{}",
        answer.head
    );
    assert_eq!(Gateway::records(&gateway.feedback).len(), 1);
}

#[test]
fn a_page_of_another_origin_is_refused() {
    for settings in ["", "gateway: {cors_origins: ['https://shop.example']}"] {
        let gateway = Gateway::start(settings);
        for origin in ["https://shop.example.evil", "http://shop.example", "null"] {
            let page = [("Origin", origin)];
            let answer = gateway.request("POST /v1/feedback", &page, click(1).as_bytes());
            assert_eq!(answer.status, 403, "{answer:?}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
            let preflight = gateway.request("OPTIONS /v1/feedback", &page, b"");
            assert_eq!(preflight.status, 405, "{preflight:?}");
        }
        assert!(Gateway::records(&gateway.feedback).is_empty());
    }
}
