//! Conditions on the searches that are judged.

use super::{assert_problem, load};

#[test]
fn conditions_are_checked() {
    for (text, expected) in [
        (
            "pages: 1",
            "pages: \"pages\" is none of page, page_size, filters, sort, application, domain, \
                      variant, error_type, synthetic, total_hits, session_id, client_id, user_id, \
                      labels.NAME and attrs.NAME of a search",
        ),
        (
            "page: []",
            "page: has 0 page; between 1 and 1000 are possible",
        ),
        ("page: [[1]]", "page[0]: is a list; one value is expected"),
        (
            "labels.a: {a: b}",
            "labels.a: is a section of keys; one value is expected",
        ),
    ] {
        let expected = format!("0.yaml:3: gold.judge_when.{expected}");
        assert_problem(&format!("gold:\n  judge_when:\n    {text}"), &expected);
    }
    let of = |text: &str| {
        load(&[text], &[], &[])
            .expect("valid")
            .engine
            .judging
            .eligibility
    };
    assert_eq!(
        of("gold: {judge_when: {page: '1, 2', labels.a: x}}"),
        of("gold: {judge_when: {page: [1, 2], labels.a: [x]}}")
    );
    let written = load(&[], &[], &[("gold.judge_when.sort", "a,b")]).expect("valid");
    assert_eq!(
        written.engine.judging.eligibility,
        of("gold: {judge_when: {sort: [a, b]}}")
    );
}
