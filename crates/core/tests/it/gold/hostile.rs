//! Hostile gold files: reading ends quickly, with a readable message, for any content.

use rankgauge_core::gold::{self, Format, Options};

/// Error messages for `content`, with every format configured and with none.
fn messages(content: &[u8]) -> Vec<String> {
    let formats = Format::ALL.into_iter().map(Some).chain([None]);
    formats
        .filter_map(|format| {
            let options = Options {
                format,
                ..Options::default()
            };
            gold::parse("gold", content, &options).err()
        })
        .map(|error| error.to_string())
        .collect()
}

#[track_caller]
fn assert_clear(content: &[u8]) {
    let messages = messages(content);
    assert!(messages.len() >= Format::ALL.len(), "{messages:?}");
    for message in messages {
        assert!(message.contains("gold"), "{message}");
        assert!(message.len() < 20_000, "a message of {}", message.len());
    }
}

#[test]
fn deep_nesting_is_rejected() {
    for open in [
        "[",
        "{\"queries\":",
        "{\"a\":",
        "[{\"relevant_chunk_ids\":[",
        "{\"q\":{\"d\":",
    ] {
        assert_clear(open.repeat(100_000).as_bytes());
    }
    let deep = "[".repeat(5000) + &"]".repeat(5000);
    assert_clear(deep.as_bytes());
    assert_clear(format!("{{\"queries\": [{deep}]}}").as_bytes());
    assert_clear(
        format!("[{{\"query_id\": 1, \"relevant_articles\": [{{\"hang_id\": 1, \"relevance\": 1, \"x\": {deep}}}]}}]")
            .as_bytes(),
    );
}

#[test]
fn huge_numbers_are_rejected() {
    let number = "9".repeat(400);
    for file in [
        format!("{{\"q\": {{\"d\": {number}}}}}"),
        format!("{{\"q\": {{\"d\": 1e400}}, \"r\": {{\"d\": {number}}}}}"),
        format!("q 0 d {number}"),
        format!("query,docid,rating\nq,d,{number}\n"),
        format!("query-id\tcorpus-id\tscore\nq\td\t{number}\n"),
    ] {
        assert_clear(file.as_bytes());
    }
}

#[test]
fn binary_content_is_rejected() {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_clear(&bytes);
    assert_clear(&vec![0; 100_000]);
    assert_clear(b"\x1f\x8b\x08\x00\x00\x00");
}

#[test]
fn a_line_of_fifty_megabytes_is_rejected_with_a_short_message() {
    let long = "가나다:라::마".repeat(3_000_000);
    for content in [
        long.clone(),
        "a ".repeat(25_000_000),
        format!("q 0 {long} x{long}"),
        format!(
            "{{\"queries\": [{{\"query_id\": {{}}, \"ground_truth\": {{\"{long}\": \"{long}\"}}}}]}}"
        ),
        format!("query,docid,rating\n\"{long}"),
    ] {
        let error = gold::parse("gold", content.as_bytes(), &Options::default());
        let message = error.expect_err("not a gold file").to_string();
        assert!(message.len() < 2000, "a message of {}", message.len());
        assert!(message.contains("gold:"), "{message}");
    }
}

#[test]
fn problems_beyond_the_limit_are_counted_but_not_kept() {
    let content = "q 0 d 1\n".repeat(20_001);
    let error = gold::parse("gold", content.as_bytes(), &Options::default()).expect_err("repeats");
    assert_eq!((error.problems().len(), error.more()), (1000, 19_000));
    assert!(
        error
            .to_string()
            .starts_with("the gold set has 20000 problems:")
    );
    assert!(error.to_string().ends_with("\n  … and 19950 more"));
}
