//! Relative changes as text, for the page and the API alike.

/// A relative change in per cent with its sign, as `−24 %`; from ten times on as `× 10`.
pub(crate) fn per_cent(change: f64) -> String {
    if change >= 9.5 {
        return format!("× {:.0}", change + 1.0);
    }
    let text = format!("{:+.0} %", change * 100.0).replace('-', "−");
    if matches!(text.as_str(), "+0 %" | "−0 %") {
        return "±0 %".to_owned();
    }
    text
}
