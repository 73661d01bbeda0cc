//! Eligibility: the searches that are judged.
//!
//! Judgements grade the first results of a query as users type it. A further page, a filter or another
//! order serves other results, and a score of them says nothing about the ranking.

use std::borrow::Cow;

use crate::event::Search;

/// Reason for which a search is not judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ineligible {
    /// Its page is not the first one.
    Page,
    /// It is filtered.
    Filters,
    /// Its results are sorted by something else than relevance.
    Sort,
    /// Its results begin below rank 1.
    Rank,
    /// It does not meet a configured condition.
    Configured,
}

impl Ineligible {
    /// All reasons, in the order of [`Ineligible::NAMES`].
    pub const ALL: [Self; 5] = [
        Self::Page,
        Self::Filters,
        Self::Sort,
        Self::Rank,
        Self::Configured,
    ];

    /// Label values, by position.
    pub const NAMES: [&'static str; 5] = ["page", "filters", "sort", "rank", "configured"];

    /// Label value.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Member of a search that a condition can be about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchMember {
    /// `page`; 1 if absent.
    Page,
    /// `page_size`.
    PageSize,
    /// `filters`: `true` for a filtered search, else `false`.
    Filters,
    /// `sort`; `relevance` if absent.
    Sort,
    /// `application`.
    Application,
    /// `domain`.
    Domain,
    /// Experiment arm or system version.
    Variant,
    /// `error_type`.
    ErrorType,
    /// `synthetic`: `true` or `false`.
    Synthetic,
    /// `total_hits`.
    TotalHits,
    /// `session_id`.
    SessionId,
    /// `client_id`.
    ClientId,
    /// `user_id`.
    UserId,
    /// Value in `labels`.
    Label(String),
    /// Value in `attrs`.
    Attribute(String),
}

impl SearchMember {
    /// Names of the members without a name of their own.
    const NAMES: [(&'static str, Self); 13] = [
        ("page", Self::Page),
        ("page_size", Self::PageSize),
        ("filters", Self::Filters),
        ("sort", Self::Sort),
        ("application", Self::Application),
        ("domain", Self::Domain),
        ("variant", Self::Variant),
        ("error_type", Self::ErrorType),
        ("synthetic", Self::Synthetic),
        ("total_hits", Self::TotalHits),
        ("session_id", Self::SessionId),
        ("client_id", Self::ClientId),
        ("user_id", Self::UserId),
    ];

    /// Parses the name of a member.
    ///
    /// # Errors
    /// A problem that follows the quoted name, as `is not …`.
    pub fn parse(name: &str) -> Result<Self, String> {
        let known = Self::NAMES.into_iter().find(|(known, _)| *known == name);
        let named = |prefix| name.strip_prefix(prefix).filter(|name| !name.is_empty());
        if let Some((_, member)) = known {
            Ok(member)
        } else if let Some(label) = named("labels.") {
            Ok(Self::Label(label.to_owned()))
        } else if let Some(attribute) = named("attrs.") {
            Ok(Self::Attribute(attribute.to_owned()))
        } else {
            let known = Self::NAMES.map(|(name, _)| name).join(", ");
            Err(format!(
                "is none of {known}, labels.NAME and attrs.NAME of a search"
            ))
        }
    }

    /// Value in `search`; empty for an absent member.
    fn value<'s>(&self, search: &'s Search<'_>) -> Cow<'s, str> {
        let flag = |flag: bool| Cow::Borrowed(if flag { "true" } else { "false" });
        let text = |text: Option<&'s str>| Cow::Borrowed(text.unwrap_or_default());
        let number =
            |number: Option<u64>| number.map_or_else(Cow::default, |it| it.to_string().into());
        match self {
            Self::Page => number(Some(search.page.unwrap_or(1).into())),
            Self::PageSize => number(search.page_size.map(u64::from)),
            Self::Filters => flag(search.is_filtered),
            Self::Sort => text(search.sort.as_deref().or(Some(RELEVANCE))),
            Self::Application => text(search.application.as_deref()),
            Self::Domain => text(search.domain.as_deref()),
            Self::Variant => text(Some(search.variant())),
            Self::ErrorType => text(search.error_type.as_deref()),
            Self::Synthetic => flag(search.is_synthetic()),
            Self::TotalHits => number(search.total_hits),
            Self::SessionId => text(search.session_id.as_deref()),
            Self::ClientId => text(search.client_id.as_deref()),
            Self::UserId => text(search.user_id.as_deref()),
            Self::Label(name) => {
                let labels = search.labels.as_ref();
                labels.and_then(|it| it.label(name)).unwrap_or_default()
            }
            Self::Attribute(name) => {
                let attributes = search.attrs.as_ref();
                attributes.and_then(|it| it.label(name)).unwrap_or_default()
            }
        }
    }
}

/// Order of the results that judgements are about.
const RELEVANCE: &str = "relevance";

/// Value of a condition that every search meets.
const ANY: &str = "*";

/// Conditions under which a search is judged. Without any, first pages without filters and in order of
/// relevance are. A condition about `page`, `filters` or `sort` replaces that rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Eligibility {
    conditions: Vec<(SearchMember, Vec<String>)>,
    /// Rules that a condition replaces: of `page`, `filters` and `sort`.
    replaced: [bool; 3],
}

impl Eligibility {
    /// Conditions: each a member with the values that it may have. `*` is any value.
    pub fn new(conditions: Vec<(SearchMember, Vec<String>)>) -> Self {
        let has = |of: &SearchMember| conditions.iter().any(|(member, _)| member == of);
        Self {
            replaced: [
                SearchMember::Page,
                SearchMember::Filters,
                SearchMember::Sort,
            ]
            .map(|member| has(&member)),
            conditions,
        }
    }

    /// Checks a search.
    ///
    /// # Errors
    /// The first reason for which it is not judged.
    pub fn check(&self, search: &Search<'_>) -> Result<(), Ineligible> {
        let [page, ..] = self.replaced;
        if !page && search.page.is_some_and(|page| page > 1) {
            return Err(Ineligible::Page);
        }
        self.check_order(search)?;
        // Results that all have ranks are in their order.
        let first = search.results.first().and_then(|hit| hit.rank);
        if first.is_some_and(|rank| rank > 1)
            && search
                .results
                .iter()
                .all(|hit| hit.rank.is_some_and(|rank| rank > 1))
        {
            return Err(Ineligible::Rank);
        }
        self.check_conditions(search)
    }

    /// Checks a search of any page, for a reader that moves the results of later pages to their ranks.
    ///
    /// # Errors
    /// The first reason for which it is not judged on any page.
    pub fn check_any_page(&self, search: &Search<'_>) -> Result<(), Ineligible> {
        self.check_order(search)?;
        self.check_conditions(search)
    }

    /// Checks that the results are those of the query alone, by relevance.
    fn check_order(&self, search: &Search<'_>) -> Result<(), Ineligible> {
        let [_, filters, sort] = self.replaced;
        if !filters && search.is_filtered {
            return Err(Ineligible::Filters);
        }
        if !sort && search.sort.as_deref().is_some_and(|it| it != RELEVANCE) {
            return Err(Ineligible::Sort);
        }
        Ok(())
    }

    fn check_conditions(&self, search: &Search<'_>) -> Result<(), Ineligible> {
        let meets = |(member, values): &(SearchMember, Vec<String>)| {
            let value = member.value(search);
            values.iter().any(|it| *it == *value || it == ANY)
        };
        if self.conditions.iter().all(meets) {
            Ok(())
        } else {
            Err(Ineligible::Configured)
        }
    }
}
