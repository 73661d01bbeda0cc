//! Drawn sample: the rows of a frame in the order in which they are labelled.

use serde::{Deserialize, Serialize};

use super::forecast::Forecast;
use super::frame::{Frame, FrameRow};
use super::order::{clock, order_of};
use rankgauge_core::labelling::uniform;

/// Format of the file.
const VERSION: u32 = 1;
/// Normal quantile of the interval that is looked at once.
pub const QUANTILE: f64 = 1.96;
/// Standard deviation of a gain, for the prediction of widths.
const DEVIATION: f64 = 0.47;

/// Value that the sample is best at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Focus {
    /// Mean of each variant.
    Level,
    /// Difference of the two variants.
    Difference,
    /// Mean of each variant, and their difference.
    Both,
}

impl Focus {
    fn size(self, row: &FrameRow) -> f64 {
        let level = match row.levels.as_slice() {
            [first, second] => f64::midpoint(*first, *second),
            levels => levels.iter().sum(),
        };
        match self {
            Self::Level => level,
            Self::Difference => row.difference.abs(),
            Self::Both => {
                let squares: f64 = row.levels.iter().map(|level| level * level).sum();
                (squares + 4.0 * row.difference * row.difference).sqrt()
            }
        }
    }
}

/// Estimated value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Mean of the variant with this index.
    Level(usize),
    /// Difference of the second variant to the first.
    Difference,
}

impl Target {
    /// Coefficient of a row.
    pub fn coefficient(self, levels: &[f64], difference: f64) -> f64 {
        match self {
            Self::Level(variant) => levels.get(variant).copied().unwrap_or(0.0),
            Self::Difference => difference,
        }
    }
}

/// Drawn row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawnRow {
    /// Query text.
    pub query: String,
    /// Document id.
    pub document: String,
    /// Coefficient in the mean of each variant.
    pub levels: Vec<f64>,
    /// Coefficient in the difference.
    pub difference: f64,
    /// Size, to which the sampling is proportional.
    pub size: f64,
    /// Prediction of the gain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<f64>,
    /// Text of the document. It is written to the sheet alone.
    #[serde(skip)]
    pub text: Option<String>,
}

/// Sample: all rows of the frame with a size, in the order of the labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Format of the file.
    pub version: u32,
    /// Name of the measure: P@k, RBP or sDCG@k.
    pub measure: String,
    /// Highest grade of the scale.
    pub scale_max: f64,
    /// Value that the sample is best at.
    pub focus: Focus,
    /// Seed of the order.
    pub seed: u64,
    /// One variant, or two, of which the first is subtracted from the second.
    pub variants: Vec<String>,
    /// Rows of the sheet.
    pub planned: usize,
    /// Values that the sample can estimate.
    pub targets: Vec<Target>,
    /// Share of the searches whose queries were seen in both variants.
    pub shared_traffic: Option<f64>,
    /// Effective number of queries.
    pub effective_queries: Option<f64>,
    /// Share of the queries of both variants whose lists differ.
    #[serde(default)]
    pub changed_queries: Option<f64>,
    /// Rows, in the order of the labels.
    pub rows: Vec<DrawnRow>,
}

/// Frame from which nothing can be drawn, or file that is no sample.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages explain the fields")]
pub enum DrawError {
    #[error(
        "no row of the frame has a size: with two variants that served the same lists there is no difference to estimate; choose --focus level"
    )]
    Empty,
    #[error("the file is no sample of `label draw`: {0}")]
    Format(String),
    #[error("row {row} of the sample is damaged: {problem}; draw it again")]
    Row { row: usize, problem: &'static str },
}

/// Draws `planned` rows; the further rows follow in the same order.
///
/// # Errors
/// If no row has a size.
pub fn draw(
    frame: Frame,
    (measure, scale_max): (String, f64),
    focus: Focus,
    seed: u64,
    planned: usize,
) -> Result<Draw, DrawError> {
    let mut targets: Vec<Target> = (0..frame.variants.len()).map(Target::Level).collect();
    if frame.variants.len() == 2 {
        targets.push(Target::Difference);
    }
    // A value needs a chance of each row that it counts.
    targets.retain(|target| {
        let mut rows = frame.rows.iter();
        let coefficient = |row: &FrameRow| target.coefficient(&row.levels, row.difference);
        rows.all(|row| coefficient(row).abs() <= 0.0 || focus.size(row) > 0.0)
            && frame.rows.iter().any(|row| coefficient(row).abs() > 0.0)
    });
    let rows: Vec<(f64, FrameRow)> = frame
        .rows
        .into_iter()
        .map(|row| (focus.size(&row), row))
        .filter(|(size, _)| *size > 0.0)
        .collect();
    let clocks = rows.iter();
    let clocks: Vec<f64> = clocks
        .map(|(size, row)| clock(uniform(seed, &row.query, &row.document), *size))
        .collect();
    let mut rows: Vec<Option<(f64, FrameRow)>> = rows.into_iter().map(Some).collect();
    let order = order_of(&clocks).into_iter();
    let rows: Vec<DrawnRow> = order
        .filter_map(|at| rows.get_mut(at)?.take())
        .map(|(size, row)| DrawnRow {
            query: row.query,
            document: row.document,
            levels: row.levels,
            difference: row.difference,
            size,
            prediction: row.prediction,
            text: row.text,
        })
        .collect();
    if rows.is_empty() || targets.is_empty() {
        return Err(DrawError::Empty);
    }
    Ok(Draw {
        version: VERSION,
        measure,
        scale_max,
        focus,
        seed,
        variants: frame.variants,
        planned: planned.min(rows.len()),
        targets,
        shared_traffic: frame.shared_traffic,
        effective_queries: frame.effective_queries,
        changed_queries: frame.changed_queries,
        rows,
    })
}

impl Draw {
    /// Reads a sample.
    ///
    /// # Errors
    /// If the text is no sample.
    pub fn parse(text: &str) -> Result<Self, DrawError> {
        let draw: Self =
            serde_json::from_str(text).map_err(|error| DrawError::Format(error.to_string()))?;
        if draw.version != VERSION || !(1..=2).contains(&draw.variants.len()) {
            return Err(DrawError::Format("another version, or no variant".into()));
        }
        if draw.rows.is_empty() || !(draw.scale_max > 0.0 && draw.scale_max.is_finite()) {
            return Err(DrawError::Format("no rows, or no scale".into()));
        }
        for (index, row) in draw.rows.iter().enumerate() {
            let problem = if row.size.is_nan() || row.size <= 0.0 || row.size.is_infinite() {
                "its size is not positive"
            } else if row.levels.len() != draw.variants.len() {
                "it has not one level for each variant"
            } else if !row.levels.iter().all(|level| level.is_finite()) {
                "a level is not a number"
            } else if !row.difference.is_finite() {
                "its difference is not a number"
            } else {
                continue;
            };
            return Err(DrawError::Row {
                row: index + 1,
                problem,
            });
        }
        Ok(draw)
    }

    /// Forecast of the standard errors.
    pub fn forecast(&self) -> Forecast {
        let sizes: Vec<f64> = self.rows.iter().map(|row| row.size).collect();
        Forecast::of(&sizes)
    }

    /// Number of labels for a half-width of the interval that is looked at once; at most all rows.
    pub fn labels_needed(&self, half_width: f64) -> usize {
        self.forecast()
            .labels_for(half_width / (QUANTILE * DEVIATION))
    }

    /// Half-width of the interval that is looked at once, predicted for the planned rows.
    pub fn predicted_half_width(&self) -> f64 {
        QUANTILE * DEVIATION * self.forecast().error(self.planned)
    }
}
