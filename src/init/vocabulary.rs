//! Words by which fields of unknown records are recognised. Lists of names are separated by blanks, the
//! best name first.

use super::leaves::{names, words};

/// Names of members with the name of an event.
pub(super) const EVENT_NAMES: &str =
    "event eventtype eventname type cetype name action actionname kind op";

/// Names of lists of events in a record.
pub(super) const EVENT_LISTS: &str = "events batch records messages entries";

/// Names of lists of results.
pub(super) const HIT_LISTS: &str = "results hits items docs documents products skus ids hitids objectids resultids \
    productids itemids docids list objects candidates";

/// Names of ids of results and of clicked objects.
pub(super) const OBJECT_IDS: &str = "docid documentid productid itemid objectid id sku pid asin articleid uid url code \
    objectids";

/// Names of ids of searches.
pub(super) const QUERY_IDS: &str =
    "queryid searchid searcheventid requestid eventid messageid ceid id uuid traceid";
/// Names of ids of searches in feedback, where no value decides.
pub(super) const FEEDBACK_QUERY_IDS: &str = "queryid searchid searcheventid requestid";
/// Names of ids of events.
pub(super) const EVENT_IDS: &str = "eventid messageid ceid id uuid";
/// Names of texts of queries.
pub(super) const QUERIES: &str = "query userquery querytext searchterm searchtext q term text keyword keywords phrase \
    searchphrase searchquery input";
/// Names of keys of gold queries.
pub(super) const QUERY_KEYS: &str = "querykey goldkey goldquery goldqueryid goldid";
/// Names of times.
pub(super) const TIMES: &str = "ts eventtime timestamp cetime time timestampmicros timestampms at createdat \
    occurredat datetime date tsms";
/// Names of ids of sessions, and of users as their substitute.
pub(super) const SESSIONS: &str = "sessionid session sid usertoken clientid anonymousid visitorid cesubject subject \
    visitid deviceid userid key";
/// Names of ids of users.
pub(super) const USERS: &str = "userid customerid accountid memberid";
/// Names of variants.
pub(super) const VARIANTS: &str =
    "variant arm abvariant bucket abtest experimentgroup variation treatment";
/// Names of positions.
pub(super) const POSITIONS: &str =
    "position rank index pos ordinal positionordinal slot positions listposition";

/// Names of lists and objects with the filters of a search.
pub(super) const FILTERS: &str = "filters filter facetfilters appliedfilters selectedfilters activefilters appliedfacets selectedfacets fq";

/// Value of the usual order of results.
pub(super) const RELEVANCE: &str = "relevance";

/// Names of orders of results.
pub(super) const SORTS: &str = "sort sortby orderby sortorder sorting order ordering";

/// Names of numbers of results before the first one of a page.
pub(super) const OFFSETS: &str = "offset start from skip";

/// Fields of a search that are numbers, with their names.
pub(super) const NUMBERS: [(&str, &str); 4] = [
    (
        "latency_ms",
        "latencyms tookms took latency durationms responsetimems elapsedms processingtimems",
    ),
    ("page", "page pagenumber pageno"),
    ("page_size", "pagesize perpage hitsperpage rows limit"),
    (
        "total_hits",
        "totalhits nbhits numfound totalresults found total",
    ),
];

/// Type of feedback that a word of the name of an event means.
fn action_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "click" | "clicked" | "select" | "selected" | "open" | "opened" | "tap" | "tapped"
        | "visited" => "click",
        "purchase" | "purchased" | "bought" | "buy" | "order" | "ordered" | "checkout"
        | "conversion" | "converted" | "cart" | "basket" | "add" | "added" | "subscribed"
        | "booked" | "paid" => "conversion",
        "impression" | "impressed" | "shown" | "displayed" | "view" | "viewed" => "impression",
        _ => return None,
    })
}

/// Kind that the name of an event means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Search,
    Feedback(&'static str),
    Unknown,
}

/// Meaning of the name of an event.
pub(super) fn meaning(text: &str) -> Meaning {
    let words = words(text);
    let mut actions: Vec<&str> = words.iter().filter_map(|word| action_of(word)).collect();
    // The strongest action gives the type: "list item clicked in view".
    actions.sort_by_key(|action| {
        ["click", "conversion", "impression"]
            .iter()
            .position(|it| it == action)
    });
    let is_search = words.iter().any(|word| {
        matches!(
            word.as_str(),
            "search" | "searched" | "searches" | "query" | "queried" | "results" | "list"
        )
    });
    match (actions.first(), is_search) {
        (Some(&"impression") | None, true) => Meaning::Search,
        (Some(action), _) => Meaning::Feedback(action),
        (None, false) => Meaning::Unknown,
    }
}

/// Place of the name of a source in a list of names.
pub(super) fn place(source: &str, known: &str) -> Option<usize> {
    let names = names(source);
    known
        .split(' ')
        .position(|name| names.iter().any(|it| it == name))
}
