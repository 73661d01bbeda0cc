//! Choices of the reader that every link keeps: window, slice, reference and length of the history.
//!
//! A screen is rendered without them. They are added to the links of the finished page, so that no link
//! can forget them.

use super::format::encoded;
use crate::api::parameters::{Parameter, Parameters, Values};
use crate::api::systems::Systems;

/// Names of the choices. A screen that has no use for one accepts it.
pub(crate) const NAMES: [&str; 4] = ["window", "slice", "against", "history"];

/// Choice of the reference of all changes on a screen.
pub(super) const AGAINST: Parameter = Parameter {
    name: "against",
    values: Values::Word {
        words: &["before", "control", "target"],
        default: Some(""),
    },
    help: "Reference of changes.",
};

/// Reference of all changes on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Against {
    /// The baseline of the system.
    Before,
    /// The control of the first experiment in the same window.
    Control,
    /// The least demanding target of the measure.
    Target,
}

impl Against {
    /// The requested reference; without one the time before, in which nothing differs until it changes.
    pub(super) fn of(params: &Parameters, systems: &Systems) -> Self {
        match params.word("against") {
            "target" => Self::Target,
            "control" if systems.control.is_some() => Self::Control,
            _ => Self::Before,
        }
    }

    /// The references that can be chosen, with their values in an address.
    pub(super) fn all(systems: &Systems) -> impl Iterator<Item = (Self, &'static str)> {
        let has_targets = systems.measures.iter().any(|info| !info.targets.is_empty());
        let all = [
            (Self::Before, "before", true),
            (Self::Control, "control", systems.control.is_some()),
            (Self::Target, "target", has_targets),
        ];
        let possible = all.into_iter().filter(|(.., is_possible)| *is_possible);
        possible.map(|(against, word, _)| (against, word))
    }
}

/// Choices in the address of a request.
pub(super) struct Choices(Vec<(&'static str, String)>);

impl Choices {
    pub(super) fn of(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        let pairs: Vec<_> = pairs.into_owned().collect();
        let chosen = NAMES.into_iter().filter_map(|name| {
            let (_, value) = pairs.iter().find(|(known, _)| known == name)?;
            (!value.is_empty()).then(|| (name, encoded(value)))
        });
        Self(chosen.collect())
    }

    /// The page with the choices in all links to screens, and in the forms that search.
    pub(super) fn kept_in(&self, page: String) -> String {
        if self.0.is_empty() {
            return page;
        }
        let mut kept = String::with_capacity(page.len() + page.len() / 8);
        let mut rest = page.as_str();
        // Quotes in texts are escaped, so these begin attributes.
        while let Some((before, link)) = rest.split_once(" href=\"") {
            self.add_with_forms(&mut kept, before);
            kept.push_str(" href=\"");
            let (address, after) = link.split_once('"').unwrap_or((link, ""));
            self.add_link(&mut kept, address);
            kept.push('"');
            rest = after;
        }
        self.add_with_forms(&mut kept, rest);
        kept
    }

    fn add_link(&self, page: &mut String, address: &str) {
        let is_screen = address.starts_with('?')
            || (address.starts_with('/')
                && !["/assets/", "/api/"]
                    .iter()
                    .any(|it| address.starts_with(it)));
        if !is_screen {
            page.push_str(address);
            return;
        }
        let (address, fragment) = match address.split_once('#') {
            Some((address, fragment)) => (address, Some(fragment)),
            None => (address, None),
        };
        page.push_str(address);
        let query = address.split_once('?').map(|(_, query)| query);
        let is_stated = |name: &str| {
            query.is_some_and(|query| {
                let mut pairs = query.split("&amp;");
                pairs.any(|pair| pair.split('=').next() == Some(name))
            })
        };
        let mut separator = match query {
            None => "?",
            Some("") => "",
            Some(_) => "&amp;",
        };
        for (name, value) in self.0.iter().filter(|(name, _)| !is_stated(name)) {
            page.extend([separator, name, "=", value.as_str()]);
            separator = "&amp;";
        }
        if let Some(fragment) = fragment {
            page.extend(["#", fragment]);
        }
    }

    /// Adds a part of the page. Its forms that search get the choices as hidden fields, apart from the
    /// slice, by which such a form filters.
    fn add_with_forms(&self, page: &mut String, part: &str) {
        let mut rest = part;
        while let Some(start) = rest.find("<form ") {
            let end = rest[start..]
                .find('>')
                .map_or(rest.len(), |end| start + end + 1);
            let (form, after) = rest.split_at(end);
            page.push_str(form);
            if form[start..].contains("role=\"search\"") {
                for (name, value) in self.0.iter().filter(|(name, _)| *name != "slice") {
                    let value = percent_encoding::percent_decode_str(value).decode_utf8_lossy();
                    let field = maud::html! { input type="hidden" name=(name) value=(value); };
                    page.push_str(&field.into_string());
                }
            }
            rest = after;
        }
        page.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn links_to_screens_keep_the_choices_that_they_do_not_state() {
        let choices = Choices::of(Some("window=1h&against=target&variant=V1&slice="));
        let page = concat!(
            "<a href=\"/systems/V5\">a</a><a href=\"?window=5m&amp;x=1\">b</a>",
            "<a href=\"/api/v1/status\">c</a><a href=\"#main\">d</a><a href=\"/systems#list\">e</a>",
            "<a href=\"?\">f</a><form action=\"/queries\" role=\"search\"><p>g</p></form>",
        );
        let kept = choices.kept_in(page.to_owned());
        let expected = concat!(
            "<a href=\"/systems/V5?window=1h&amp;against=target\">a</a>",
            "<a href=\"?window=5m&amp;x=1&amp;against=target\">b</a>",
            "<a href=\"/api/v1/status\">c</a><a href=\"#main\">d</a>",
            "<a href=\"/systems?window=1h&amp;against=target#list\">e</a>",
            "<a href=\"?window=1h&amp;against=target\">f</a>",
            "<form action=\"/queries\" role=\"search\">",
            "<input type=\"hidden\" name=\"window\" value=\"1h\">",
            "<input type=\"hidden\" name=\"against\" value=\"target\"><p>g</p></form>",
        );
        assert_eq!(kept, expected);
        let hostile = Choices::of(Some("window=%22%3E%3Cscript%3E"));
        let kept = hostile.kept_in("<a href=\"/\">a</a>".to_owned());
        assert_eq!(kept, "<a href=\"/?window=%22%3E%3Cscript%3E\">a</a>");
    }
}
