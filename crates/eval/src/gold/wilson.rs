//! Wilson's interval of a share.

/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's (1927) 95 % interval of the share `hits` / `of`; [0, 1] without observations. Unlike the
/// normal approximation, it is valid for few observations and for shares of 0 and 1.
pub fn wilson(hits: u32, of: u32) -> [f64; 2] {
    if of == 0 {
        return [0.0, 1.0];
    }
    let n = f64::from(of);
    let share = f64::from(hits.min(of)) / n;
    let square = Z * Z;
    let centre = share + square / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let end = |sum: f64| (sum / (1.0 + square / n)).clamp(0.0, 1.0);
    [end(centre - spread), end(centre + spread)]
}
