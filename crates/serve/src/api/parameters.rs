//! Query parameters of an endpoint and of a request.

use super::problem::ApiError;

/// Query parameter of an endpoint.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) values: Values,
    pub(crate) help: &'static str,
}

/// Values of a parameter.
#[derive(Debug)]
pub(crate) enum Values {
    /// A text, which is not empty.
    Text,
    /// Texts that are not empty: the parameter may be repeated.
    Texts,
    /// A name that can be empty, as that of the variant of searches without one.
    Name,
    /// Names that can be empty: the parameter may be repeated.
    Names,
    /// A whole number.
    Whole {
        least: usize,
        most: usize,
        default: Option<usize>,
    },
    /// One of several words. Without a default, the parameter is required.
    Word {
        words: &'static [&'static str],
        default: Option<&'static str>,
    },
}

impl Parameter {
    /// Maximum number of entries of a page.
    pub(crate) const fn limit(most: usize, default: usize) -> Self {
        Self {
            name: "limit",
            values: Values::Whole {
                least: 1,
                most,
                default: Some(default),
            },
            help: "Maximum number of entries of the page.",
        }
    }

    /// Filter by texts.
    pub(crate) const fn filter(name: &'static str, help: &'static str) -> Self {
        Self::of(name, Values::Texts, help)
    }

    /// Filter by names that can be empty.
    pub(crate) const fn names(name: &'static str, help: &'static str) -> Self {
        Self::of(name, Values::Names, help)
    }

    /// Text that is given once.
    pub(crate) const fn text(name: &'static str, help: &'static str) -> Self {
        Self::of(name, Values::Text, help)
    }

    /// Name that is given once and can be empty.
    pub(crate) const fn name(name: &'static str, help: &'static str) -> Self {
        Self::of(name, Values::Name, help)
    }

    const fn of(name: &'static str, values: Values, help: &'static str) -> Self {
        Self { name, values, help }
    }

    /// Returns true if an empty value is a name.
    fn is_name(&self) -> bool {
        matches!(self.values, Values::Name | Values::Names)
    }

    /// Problem of the values in a request.
    fn problem(&self, given: &[&str]) -> Option<String> {
        let Self { name, values, .. } = self;
        if given.len() > 1 && !matches!(values, Values::Texts | Values::Names) {
            return Some(format!("{name} is given twice; give it once"));
        }
        match (values, given.first()) {
            (Values::Text | Values::Texts, _) if given.contains(&"") => Some(format!(
                "{name} has no value; give one as {name}=VALUE, or leave {name} out"
            )),
            (Values::Whole { least, most, .. }, Some(text)) => {
                let number = text.parse::<usize>().ok();
                let is_within = number.is_some_and(|number| (*least..=*most).contains(&number));
                (!is_within).then(|| {
                    format!("{name}: \"{text}\" is not a whole number from {least} to {most}")
                })
            }
            (Values::Word { words, .. }, Some(text)) => (!words.contains(text))
                .then(|| format!("{name}: \"{text}\" is none of {}", words.join(", "))),
            (Values::Word { words, default }, None) if default.is_none() => Some(format!(
                "the parameter {name} is missing; use one of {}",
                words.join(", ")
            )),
            _ => None,
        }
    }
}

/// Filter by variant.
pub(crate) const VARIANT: Parameter =
    Parameter::names("variant", "Variant; empty for searches without one.");

/// Cursor of a page.
pub(crate) const CURSOR: Parameter = Parameter::text(
    "cursor",
    "The `next_cursor` of the previous page, with the same other parameters.",
);

/// Parameters of a request to an endpoint. All names and values are those of its table.
#[derive(Debug)]
pub(crate) struct Parameters {
    /// Text in place of the braces in the path of the endpoint.
    pub(crate) path: String,
    pairs: Vec<(String, String)>,
    known: &'static [Parameter],
}

impl Parameters {
    /// Parses the query string of a request to an endpoint with the parameters `known`. Other names are
    /// rejected. A screen has `accepted` names as well, which are left out, as are the empty fields of its
    /// forms.
    pub(crate) fn of(
        path: String,
        query: Option<&str>,
        known: &'static [Parameter],
        accepted: Option<&[&str]>,
    ) -> Result<Self, ApiError> {
        let known_as = |name: &str| known.iter().find(|parameter| parameter.name == name);
        let is_known = |name: &str| known_as(name).is_some();
        let is_given = |name: &str, value: &str| match (accepted, known_as(name)) {
            (None, _) => true,
            (Some(_), Some(parameter)) => !value.is_empty() || parameter.is_name(),
            (Some(accepted), None) => !accepted.contains(&name),
        };
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs: Vec<(String, String)> = pairs
            .into_owned()
            .filter(|(name, value)| is_given(name, value))
            .collect();
        if let Some((name, _)) = pairs.iter().find(|(name, _)| !is_known(name)) {
            let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
            let error = match names.as_slice() {
                [] => "this endpoint has none".to_owned(),
                names => format!("use one of {}", names.join(", ")),
            };
            let error = format!("\"{name}\" is not a parameter: {error}");
            return Err(ApiError::bad_request(error));
        }
        let params = Self { path, pairs, known };
        let problem = known.iter().find_map(|parameter| {
            let given: Vec<&str> = params.values(parameter.name).collect();
            parameter.problem(&given)
        });
        problem.map_or(Ok(params), |text| Err(ApiError::bad_request(text)))
    }

    /// Parameters of a request that the page makes itself.
    pub(crate) fn from_pairs<'a>(
        known: &'static [Parameter],
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            path: String::new(),
            pairs: pairs.collect(),
            known,
        }
    }

    /// Names and values, in the order of the request.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.pairs.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// All values of `name`.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.pairs.iter().filter(move |(known, _)| known == name);
        pairs.map(|(_, value)| value.as_str())
    }

    /// The value of `name`, if it is given.
    pub(crate) fn single<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).next()
    }

    /// The whole number `name`, or its default.
    pub(crate) fn whole(&self, name: &str) -> Option<usize> {
        let given = self.single(name).and_then(|text| text.parse().ok());
        given.or_else(|| match self.known(name)? {
            Values::Whole { default, .. } => *default,
            Values::Text | Values::Texts | Values::Name | Values::Names | Values::Word { .. } => {
                None
            }
        })
    }

    /// The `limit` of a page.
    pub(super) fn limit(&self) -> usize {
        self.whole("limit").unwrap_or(usize::MAX)
    }

    /// The word `name`, or its default.
    pub(crate) fn word(&self, name: &str) -> &'static str {
        let Some(Values::Word { words, default }) = self.known(name) else {
            return "";
        };
        let given = self.single(name);
        let word = words.iter().find(|word| Some(**word) == given).copied();
        word.or(*default).unwrap_or_default()
    }

    /// Returns true if the filter `name` selects `value`: it has this value, or is absent.
    pub(crate) fn matches(&self, name: &str, value: &str) -> bool {
        let mut values = self.values(name).peekable();
        values.peek().is_none() || values.any(|wanted| wanted == value)
    }

    fn known(&self, name: &str) -> Option<&'static Values> {
        let mut known = self.known.iter();
        known.find(|it| it.name == name).map(|it| &it.values)
    }
}

#[cfg(test)]
mod tests {
    use super::{CURSOR, Parameter, Parameters, VARIANT};

    static KNOWN: [Parameter; 4] = [
        Parameter::text("search", "Part of a text."),
        Parameter::filter("window", "Rolling window."),
        VARIANT,
        CURSOR,
    ];

    #[test]
    fn a_parameter_without_a_value_is_refused_by_its_name() {
        for (query, name) in [
            ("search=", "search"),
            ("search", "search"),
            ("window=1h&window=", "window"),
            ("cursor=", "cursor"),
        ] {
            let refused = Parameters::of(String::new(), Some(query), &KNOWN, None);
            let detail = refused.expect_err(query).detail;
            let expected =
                format!("{name} has no value; give one as {name}=VALUE, or leave {name} out");
            assert_eq!(detail, expected, "{query}");
        }
    }

    #[test]
    fn searches_without_a_variant_are_selected_by_its_empty_name() {
        let given = Parameters::of(String::new(), Some("variant="), &KNOWN, None);
        let given = given.expect("a name");
        assert!(given.matches("variant", ""));
        assert!(!given.matches("variant", "V5"));
    }

    #[test]
    fn empty_fields_of_the_forms_of_a_screen_are_left_out() {
        let query = Some("search=&variant=&done=reloaded&window=1h");
        let given = Parameters::of(String::new(), query, &KNOWN, Some(&["done"]));
        let given = given.expect("the fields of a form");
        let pairs: Vec<_> = given.pairs().collect();
        assert_eq!(pairs, [("variant", ""), ("window", "1h")]);
    }
}
