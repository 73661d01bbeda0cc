//! Exact costs of searches: worked examples.

use rankgauge_core::engine::money::{Money, Price, PriceTable};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::time::EventTime;
use serde_json::{Value, json};

use super::{START, Samples, World, assign, read_feedback, read_search, settings, tick};

fn money(text: &str) -> Money {
    Money::from_decimal(text).expect("a plain decimal")
}

/// Price per million tokens: input, output, cached input, reasoning.
fn price(model: &str, valid_from: Option<i64>, amounts: [&str; 4]) -> Price {
    let [input, output, cache_read, reasoning] = amounts.map(money);
    Price {
        model: model.into(),
        currency: "USD".into(),
        valid_from: valid_from.map(EventTime),
        input,
        output,
        cache_read,
        reasoning,
    }
}

fn priced() -> Settings {
    Settings {
        prices: PriceTable::new(vec![
            price("gpt", None, ["2.50", "10", "1.25", "10"]),
            price("gpt", Some(START + 5_000), ["2", "8", "0.5", "12"]),
            price("embed", None, ["0.02", "0", "0.02", "0"]),
        ]),
        ..settings()
    }
}

/// Search at `time` that made these calls, with the fields of `more`.
fn search(id: &str, time: i64, usage: &Value, more: Value) -> String {
    let mut event = json!({
        "query_id": id, "ts": START + time, "query": "q", "results": [], "usage": usage,
    });
    let Value::Object(more) = more else {
        return event.to_string();
    };
    for (name, value) in more {
        event[name] = value;
    }
    event.to_string()
}

/// Samples that are exposed when the watermark has passed all `searches`.
fn after(searches: &[String]) -> Samples {
    let world = World::new(priced());
    let mut engine = world.engine();
    assign(&mut engine, 0);
    for (offset, search) in (0..).zip(searches) {
        read_search(&mut engine, 0, offset, search);
    }
    let offset = i64::try_from(searches.len()).expect("few");
    read_search(
        &mut engine,
        0,
        offset,
        &search("last", 14_000, &json!([]), json!({})),
    );
    let comment =
        json!({"event_id": 1, "query_id": "last", "ts": START + 14_000, "type": "comment"});
    read_feedback(&mut engine, 0, 0, &comment.to_string());
    tick(&mut engine, START + 14_000);
    world.samples(&engine.snapshot())
}

/// Asserts samples by their names and values. The value of a sample that is not exposed is `-`.
#[track_caller]
fn assert_samples(samples: &Samples, expected: &[&str]) {
    for sample in expected {
        let (name, value) = sample.rsplit_once(' ').expect("a name and a value");
        assert_eq!(
            samples.get(name).map_or("-", String::as_str),
            value,
            "{name}"
        );
    }
}

#[test]
fn tokens_are_priced_by_direction_without_double_counting() {
    // Of 1,000 input tokens 400 came from the cache, of 500 output tokens 200 were reasoning:
    // 600 × 2.50 + 400 × 1.25 + 300 × 10 + 200 × 10 = 7,000 millionths.
    let usage = json!([{
        "operation": "chat", "model": "gpt", "input_tokens": 1_000, "output_tokens": 500,
        "cache_read_input_tokens": 400, "reasoning_output_tokens": 200,
    }]);
    let samples = after(&[search("q", 0, &usage, json!({"variant": "V1"}))]);
    assert_samples(
        &samples,
        &[
            r#"tokens_total{direction="input",model="gpt",variant="V1"} 600"#,
            r#"tokens_total{direction="cache_read",model="gpt",variant="V1"} 400"#,
            r#"tokens_total{direction="output",model="gpt",variant="V1"} 300"#,
            r#"tokens_total{direction="reasoning",model="gpt",variant="V1"} 200"#,
            r#"llm_calls_total{model="gpt",operation="chat",variant="V1"} 1"#,
            r#"cost_total{currency="USD",model="gpt",variant="V1"} 0.007"#,
            r#"cost_per_query_mean{currency="USD",variant="V1",window="2m"} 0.007"#,
        ],
    );
}

#[test]
fn a_price_is_valid_from_its_date_on() {
    let usage = json!([{"model": "gpt", "input_tokens": 1_000_000}]);
    let one = |time| {
        let samples = after(&[search("q", time, &usage, json!({}))]);
        samples[r#"cost_total{currency="USD",model="gpt",variant=""}"#].clone()
    };
    assert_eq!(one(4_999), "2.5");
    assert_eq!(one(5_000), "2");
}

#[test]
fn a_single_token_is_not_rounded_away() {
    // 3 × 0.02 / 1,000,000.
    let usage = json!([{"model": "embed", "input_tokens": 3}]);
    let samples = after(&[search("q", 0, &usage, json!({}))]);
    let name = r#"cost_total{currency="USD",model="embed",variant=""}"#;
    assert_eq!(samples[name], "0.00000006");
}

#[test]
fn ten_amounts_of_a_tenth_sum_to_exactly_one() {
    let searches: Vec<String> = (0..10)
        .map(|number| {
            let cost = json!({"cost": {"amount": 0.1}});
            search(&number.to_string(), 0, &json!([]), cost)
        })
        .collect();
    let samples = after(&searches);
    assert_samples(
        &samples,
        &[r#"cost_total{currency="USD",model="",variant=""} 1"#],
    );
}

#[test]
fn the_stated_cost_of_a_search_takes_precedence_over_its_usage() {
    let usage = json!([
        {"model": "gpt", "input_tokens": 1_000, "cost": {"amount": 3, "currency": "EUR"}},
        {"model": "unlisted model", "input_tokens": 5},
    ]);
    let stated = json!({"cost": {"amount": 0.25, "currency": "KRW"}});
    let samples = after(&[search("q", 0, &usage, stated)]);
    assert_samples(
        &samples,
        &[
            r#"cost_total{currency="KRW",model="",variant=""} 0.25"#,
            r#"cost_total{currency="USD",model="gpt",variant=""} -"#,
            r#"cost_total{currency="EUR",model="gpt",variant=""} -"#,
            r#"tokens_total{direction="input",model="gpt",variant=""} 1000"#,
            r#"unpriced_usage_total{model="unlisted model"} -"#,
            r#"cost_per_query_mean{currency="KRW",variant="",window="2m"} 0.25"#,
        ],
    );
}

#[test]
fn the_stated_cost_of_a_call_takes_precedence_over_the_price_table() {
    let usage = json!([
        {"model": "gpt", "input_tokens": 1_000_000, "cost": {"amount": 0.5}},
        {"model": "gpt", "input_tokens": 1_000_000},
    ]);
    let samples = after(&[search("q", 0, &usage, json!({}))]);
    assert_samples(
        &samples,
        &[
            r#"cost_total{currency="USD",model="gpt",variant=""} 3"#,
            r#"cost_per_query_mean{currency="USD",variant="",window="2m"} 3"#,
        ],
    );
}

#[test]
fn unpriced_usage_is_counted_and_its_search_is_excluded_from_cost_per_query() {
    let half_known = json!([
        {"model": "gpt", "input_tokens": 1_000_000},
        {"model": "new", "output_tokens": 10},
    ]);
    let known = json!([{"model": "gpt", "output_tokens": 1_000_000}]);
    let nothing_used = json!([{"model": "new"}]);
    let samples = after(&[
        search("a", 0, &half_known, json!({})),
        search("b", 0, &known, json!({})),
        search("c", 0, &nothing_used, json!({})),
    ]);
    assert_samples(
        &samples,
        &[
            r#"unpriced_usage_total{model="new"} 1"#,
            r#"cost_total{currency="USD",model="gpt",variant=""} 12.5"#,
            r#"cost_total{currency="USD",model="new",variant=""} -"#,
            r#"cost_per_query_mean{currency="USD",variant="",window="2m"} 10"#,
        ],
    );
}

#[test]
fn amounts_in_different_currencies_are_not_summed() {
    let usage = json!([
        {"model": "a", "input_tokens": 1, "cost": {"amount": 1.5, "currency": "EUR"}},
        {"model": "b", "input_tokens": 1, "cost": {"amount": 2, "currency": "USD"}},
    ]);
    let samples = after(&[search("q", 0, &usage, json!({}))]);
    assert_samples(
        &samples,
        &[
            r#"cost_total{currency="EUR",model="a",variant=""} 1.5"#,
            r#"cost_total{currency="USD",model="b",variant=""} 2"#,
            r#"cost_per_query_mean{currency="EUR",variant="",window="2m"} 1.5"#,
            r#"cost_per_query_mean{currency="USD",variant="",window="2m"} 2"#,
        ],
    );
}

#[test]
fn mean_cost_is_exact_and_the_95th_percentile_is_within_one_percent() {
    // 19 searches of 0.01 and one of 1: the mean is 1.19 / 20.
    let searches: Vec<String> = (0..20)
        .map(|number| {
            let amount = if number == 7 { 1.0 } else { 0.01 };
            search(
                &number.to_string(),
                0,
                &json!([]),
                json!({"cost": {"amount": amount}}),
            )
        })
        .collect();
    let samples = after(&searches);
    let value = |name: &str| samples[name].parse::<f64>().expect("a number");
    let mean = value(r#"cost_per_query_mean{currency="USD",variant="",window="2m"}"#);
    assert_eq!(mean.to_string(), "0.0595");
    let p95 =
        value(r#"cost_per_query_quantile{currency="USD",quantile="0.95",variant="",window="2m"}"#);
    assert!((p95 / 0.01 - 1.0).abs() < 0.01, "{p95}");
}

#[test]
fn amounts_are_plain_decimals_of_at_most_nine_places() {
    for (text, units) in [
        ("0", 0),
        ("0.000000001", 1_000_000),
        ("2.50", 2_500_000_000_000_000),
        ("12", 12_000_000_000_000_000),
    ] {
        assert_eq!(
            Money::from_decimal(text).map(Money::units),
            Some(units),
            "{text}"
        );
    }
    for text in [
        "",
        ".",
        "-1",
        "+1",
        "1.",
        ".5",
        "1e3",
        "1,5",
        "0.0000000001",
        "1.2.3",
        "٣",
        "NaN",
    ] {
        assert_eq!(Money::from_decimal(text), None, "{text}");
    }
}

#[test]
fn the_maximum_price_times_the_maximum_token_count_does_not_overflow() {
    let price = money("999999999999.999999999");
    let cost = price.for_tokens(1_000_000_000_000);
    assert_eq!(
        cost.units(),
        999_999_999_999_999_999_999_000_000 * 1_000_000
    );
}
