//! Query parameters of a request.

use std::ops::RangeInclusive;

use super::problem::ApiError;

/// Parameters of a request; all names are known.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses the query string `query`. All names must be among `known`.
    pub(crate) fn of(query: Option<&str>, known: &[&str]) -> Result<Self, ApiError> {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs: Vec<(String, String)> = pairs.into_owned().collect();
        match pairs
            .iter()
            .find(|(name, _)| !known.contains(&name.as_str()))
        {
            None => Ok(Self(pairs)),
            Some((name, _)) if known.is_empty() => Err(ApiError::bad_request(format!(
                "\"{name}\" is not a parameter: this endpoint has none"
            ))),
            Some((name, _)) => Err(ApiError::bad_request(format!(
                "\"{name}\" is not a parameter: use one of {}",
                known.join(", ")
            ))),
        }
    }

    /// Parameters of a request that the page makes itself.
    pub(crate) fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(pairs.collect())
    }

    /// Names and values, in the order of the request.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All values of `name`.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| value.as_str())
    }

    /// The value of `name`, which must not be repeated.
    pub(crate) fn single<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, ApiError> {
        let mut values = self.values(name);
        let first = values.next();
        match values.next() {
            None => Ok(first),
            Some(_) => Err(ApiError::bad_request(format!("{name} is given twice"))),
        }
    }

    /// The whole number `name` within `range`, if it is given.
    pub(crate) fn integer(
        &self,
        name: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, ApiError> {
        let Some(text) = self.single(name)? else {
            return Ok(None);
        };
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            ApiError::bad_request(format!(
                "{name}: \"{text}\" is not a whole number from {least} to {most}"
            ))
        })
    }

    /// Returns true if the filter `name` selects `value`: it has this value, or is absent.
    pub(crate) fn matches(&self, name: &str, value: &str) -> bool {
        let mut values = self.values(name).peekable();
        values.peek().is_none() || values.any(|wanted| wanted == value)
    }
}
