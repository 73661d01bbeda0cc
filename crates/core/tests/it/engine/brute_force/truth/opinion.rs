//! Thumbs and ratings, computed from their definitions.

use serde_json::Value;

use super::{bit, count};

/// Scores of feedback, on its own or of one search.
pub(super) fn scores_of_opinions(events: &[Value]) -> Vec<(&'static str, f64)> {
    let mean = |values: Vec<f64>| {
        let number = count(values.len());
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / number)
    };
    let of_type = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    let thumbs = mean(of_type("thumbs").filter_map(opinion_of).collect());
    let rated = mean(of_type("rating").filter_map(opinion_of).collect());
    let top = mean(
        of_type("rating")
            .map(|event| bit(is_top_two(event)))
            .collect(),
    );
    let scores = [("ThumbsUp", thumbs), ("Rating", rated), ("Satisfied", top)];
    scores
        .into_iter()
        .filter_map(|(name, score)| Some((name, score?)))
        .collect()
}

/// Value, lowest value and highest value of a rating.
fn scale(rating: &Value) -> [f64; 3] {
    let number = |name: &str, default: f64| {
        rating
            .get(name)
            .map_or(default, |it| it.as_f64().expect("a number"))
    };
    [number("value", 0.0), number("min", 1.0), number("max", 5.0)]
}

/// Thumb or rating as a score from 0 to 1.
pub(super) fn opinion_of(event: &Value) -> Option<f64> {
    match event["type"].as_str() {
        Some("thumbs") => Some(bit(is_up(event))),
        Some("rating") => {
            let [value, min, max] = scale(event);
            Some((value - min) / (max - min))
        }
        _ => None,
    }
}

fn is_up(thumb: &Value) -> bool {
    thumb["value"] == true || thumb["value"] == 1
}

fn is_above_middle(rating: &Value) -> bool {
    let [value, min, max] = scale(rating);
    value - min > max - value
}

pub(super) fn is_praise(event: &Value) -> bool {
    match event["type"].as_str() {
        Some("thumbs") => is_up(event),
        Some("rating") => is_above_middle(event),
        _ => false,
    }
}

fn is_top_two(rating: &Value) -> bool {
    let [value, min, max] = scale(rating);
    let steps = max - min;
    let is_whole = |number: f64| number.fract().abs() < f64::EPSILON;
    let top = if is_whole(min) && is_whole(max) && (2.0..=10.0).contains(&steps) {
        value > max - 2.0
    } else {
        (value - min) / steps >= 0.75
    };
    top && is_above_middle(rating)
}
