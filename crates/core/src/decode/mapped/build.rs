//! Events from the values that were found in a record.

use std::borrow::Cow;

use serde::de::IntoDeserializer;

use super::plan::{
    AnswerField, CostField, EdgeField, EvaluatorField, FeedbackField, FieldSources, HitField,
    NamedSources, Plan, RowPlan, SearchField, Sources, StageField, TimeUnit, UsageField,
};
use super::scalar::Scalar;
use super::trie::Found;
use crate::decode::action::{ActionName, FeedbackValue};
use crate::decode::json;
use crate::decode::native::{self, EvaluatorWire, FeedbackWire};
use crate::decode::record::Event;
use crate::decode::ubi::{Meaning, derived_id};
use crate::event::read::{OTHER, TIME_IN_SECONDS, deserialize_time, steps_to_unit};
use crate::event::{
    Answer, Attributes, Citation, Cost, Edge, Experiment, Hit, HitDetails, Id, Kind, Limits,
    Reason, Rejection, Score, Search, Stage, Text, Usage, Value,
};
use crate::time::EventTime;

/// Times before this one, in milliseconds, are those of another unit: no event is from early 1970.
const EARLIEST: i64 = 10_000_000_000;

/// Values of an event or of an element, and the sources of its fields.
struct Values<'s, 'a> {
    fields: &'a FieldSources,
    slots: &'s [Scalar<'a>],
}

fn wrong(sources: &Sources, expected: &str, found: &Scalar<'_>) -> Rejection {
    Rejection::new(
        Reason::WrongType,
        format_args!(
            "{}: {expected} is expected, it is {}",
            sources.text,
            found.kind()
        ),
    )
}

fn out_of_range(sources: &Sources) -> Rejection {
    Rejection::new(
        Reason::BadValue,
        format_args!("{}: the number is out of range", sources.text),
    )
}

/// Value of a field with its sources.
type Sourced<'s, 'a> = (&'a Sources, Cow<'s, Scalar<'a>>);

fn converted<'a, T>(
    found: Option<Sourced<'_, 'a>>,
    expected: &str,
    convert: impl FnOnce(&Scalar<'a>) -> Option<T>,
) -> Result<Option<T>, Rejection> {
    let Some((sources, value)) = found else {
        return Ok(None);
    };
    let converted = convert(&value);
    converted.map_or_else(|| Err(wrong(sources, expected, &value)), |it| Ok(Some(it)))
}

impl<'s, 'a> Values<'s, 'a> {
    fn sources(&self, field: usize) -> Option<&'a Sources> {
        self.fields.get(field)?.as_ref()
    }

    /// Value of a field with its sources; `None` if it is absent, or a number that is left out.
    fn get(&self, field: usize) -> Option<Sourced<'s, 'a>> {
        let found = self.get_number(field);
        found.filter(|(_, value)| !matches!(**value, Scalar::Unset))
    }

    /// Value of a field that can be 0.
    fn get_number(&self, field: usize) -> Option<Sourced<'s, 'a>> {
        let sources = self.sources(field)?;
        let value = sources.value(self.slots);
        (!matches!(*value, Scalar::Absent)).then_some((sources, value))
    }

    fn of<T>(
        &self,
        field: usize,
        expected: &str,
        convert: impl FnOnce(&Scalar<'a>) -> Option<T>,
    ) -> Result<Option<T>, Rejection> {
        converted(self.get(field), expected, convert)
    }

    fn id(&self, field: usize) -> Result<Option<Id<'a>>, Rejection> {
        self.of(field, "text or a whole number", Scalar::id)
    }

    fn text(&self, field: usize) -> Result<Option<Text<'a>>, Rejection> {
        self.of(field, "text", |value| value.text().map(Text))
    }

    fn number(&self, field: usize) -> Result<Option<f64>, Rejection> {
        converted(self.get_number(field), "a number", Scalar::number)
    }

    fn whole<T: TryFrom<i64>>(&self, field: usize) -> Result<Option<T>, Rejection> {
        let found = self.get_number(field);
        let Some(number) = converted(found, "a whole number", Scalar::whole)? else {
            return Ok(None);
        };
        let sources = self.sources(field);
        T::try_from(number)
            .map(Some)
            .map_err(|_| sources.map_or_else(|| json::bad("", ""), out_of_range))
    }

    /// Whole number that is never 0.
    fn counted<T: TryFrom<i64>>(&self, field: usize) -> Result<Option<T>, Rejection> {
        match self.get(field) {
            None => Ok(None),
            Some(_) => self.whole(field),
        }
    }

    /// Position that counts from `base`, as one that counts from 1.
    fn position(&self, field: usize, base: u32) -> Result<Option<u32>, Rejection> {
        let position = match base {
            0 => self.whole::<u32>(field)?,
            _ => self.counted(field)?,
        };
        let Some(position) = position else {
            return Ok(None);
        };
        if position < base {
            let sources = self.sources(field);
            return Err(sources.map_or_else(|| json::bad("", ""), out_of_range));
        }
        Ok(position.checked_add(1 - base))
    }

    fn list<T>(
        &self,
        field: usize,
        expected: &str,
        convert: impl Fn(&Scalar<'a>) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Rejection> {
        let Some((sources, value)) = self.get(field) else {
            return Ok(None);
        };
        let Scalar::List(values) = &*value else {
            // A single value is a list of one.
            let one = convert(&value).map(|value| vec![value]);
            return one.map_or_else(|| Err(wrong(sources, expected, &value)), |it| Ok(Some(it)));
        };
        let mut all = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            all.push(convert(value).ok_or_else(|| {
                let text = &sources.text;
                let found = value.kind();
                Rejection::new(
                    Reason::WrongType,
                    format_args!("{text}: {expected} is expected, element {index} is {found}"),
                )
            })?);
        }
        Ok(Some(all))
    }

    fn texts(&self, field: usize) -> Result<Option<Vec<Text<'a>>>, Rejection> {
        self.list(field, "a list of texts", |value| value.text().map(Text))
    }

    fn ids(&self, field: usize) -> Result<Option<Vec<Id<'a>>>, Rejection> {
        self.list(field, "a list of ids", Scalar::id)
    }

    fn required<T>(&self, field: usize, value: Option<T>) -> Result<T, Rejection> {
        value.ok_or_else(|| {
            self.sources(field)
                .map_or_else(|| json::missing(""), Sources::missing)
        })
    }

    fn time(&self, field: usize, unit: Option<TimeUnit>) -> Result<EventTime, Rejection> {
        let (sources, value) = self.required(field, self.get(field))?;
        time(&value, unit).map_err(|(reason, problem)| {
            Rejection::new(reason, format_args!("{}: {problem}", sources.text))
        })
    }
}

fn time(value: &Scalar<'_>, unit: Option<TimeUnit>) -> Result<EventTime, (Reason, String)> {
    let is_type = |expected: &str| {
        let text = format!("{expected} is expected, it is {}", value.kind());
        (Reason::WrongType, text)
    };
    let whole = || value.whole().ok_or_else(|| is_type("a whole number"));
    let millis = match (unit, value) {
        (_, Scalar::Time(time)) => return Ok(*time),
        (None | Some(TimeUnit::Rfc3339), Scalar::Text(text)) => {
            let time: Result<_, serde::de::value::Error> =
                deserialize_time((&**text).into_deserializer());
            return time.map_err(|error| (Reason::BadValue, error.to_string()));
        }
        (Some(TimeUnit::Rfc3339), _) => return Err(is_type("text of ISO 8601 with an offset")),
        (None | Some(TimeUnit::Millis), _) => Some(whole()?),
        (Some(TimeUnit::Seconds), _) => {
            if let Some(seconds) = value.whole() {
                seconds.checked_mul(1_000)
            } else {
                let seconds = value.number().ok_or_else(|| is_type("a number"))?;
                // Milliseconds of a time with a fraction, as text: no cast of floating-point numbers.
                format!("{:.0}", seconds * 1_000.0).parse().ok()
            }
        }
        (Some(TimeUnit::Micros), _) => Some(whole()?.div_euclid(1_000)),
        (Some(TimeUnit::Nanos), _) => Some(whole()?.div_euclid(1_000_000)),
    };
    let millis = millis.ok_or_else(|| (Reason::BadValue, "the time is out of range".to_owned()))?;
    if (0..EARLIEST).contains(&millis) {
        let (reason, text) = match unit {
            None | Some(TimeUnit::Millis) if millis >= 100_000_000 => (
                Reason::TimeInSeconds,
                format!("{TIME_IN_SECONDS}; set `time: seconds` in the mapping"),
            ),
            _ => (
                Reason::BadValue,
                "a time of 1970; set `time` in the mapping to the unit of the records".to_owned(),
            ),
        };
        return Err((reason, text));
    }
    if let Some(steps) = steps_to_unit(millis) {
        let unit = unit.unwrap_or(TimeUnit::Millis).smaller(steps);
        let text = unit.map_or_else(
            || "the time is out of range".to_owned(),
            |unit| format!("a time in {unit}; set `time: {unit}` in the mapping"),
        );
        return Err((Reason::BadValue, text));
    }
    Ok(EventTime(millis))
}

/// Sources of a result.
#[derive(Clone, Debug)]
pub(super) struct HitPlan {
    pub(super) fields: FieldSources,
    pub(super) attributes: NamedSources,
    pub(super) path: Option<RowPlan>,
    pub(super) position_base: u32,
}

impl HitPlan {
    /// Result of an element of a list.
    pub(super) fn hit<'a>(&'a self, element: &Found<'a>) -> Result<Hit<'a>, Rejection> {
        use HitField as F;
        let slots = &*element.slots;
        let it = Values {
            fields: &self.fields,
            slots,
        };
        let id = it.required(F::Id as usize, it.id(F::Id as usize)?)?;
        let mut hit = Hit::of_document(id);
        hit.rank = it.position(F::Rank as usize, self.position_base)?;
        hit.score = it.number(F::Score as usize)?.map(Score::from);
        let others = self.fields.get(F::Group as usize..).unwrap_or_default();
        let has_others = others.iter().any(Option::is_some) || self.path.is_some();
        if self.attributes.is_empty() && !has_others {
            return Ok(hit);
        }
        let path = match &self.path {
            Some(plan) => Some(rows(plan, &element.rows, edge)?).filter(|path| !path.is_empty()),
            None => None,
        };
        Ok(hit.with_details(HitDetails {
            group_id: it.id(F::Group as usize)?,
            stages: it.texts(F::Stages as usize)?,
            team: it.text(F::Team as usize)?,
            text: it.text(F::Text as usize)?,
            hops: it.whole(F::Hops as usize)?,
            depth: it.whole(F::Depth as usize)?,
            path,
            attrs: attributes(&self.attributes, slots),
        }))
    }
}

/// Attributes with the names that the user chose. Absent ones are left out.
fn attributes<'a>(named: &'a NamedSources, slots: &[Scalar<'a>]) -> Option<Attributes<'a>> {
    if named.is_empty() {
        return None;
    }
    let entries = named.iter().filter_map(|(name, sources)| {
        let value = sources.value(slots).value()?;
        Some((Text(Cow::Borrowed(name.as_str())), value))
    });
    Some(Attributes(entries.collect()))
}

impl Plan {
    /// Event of the values of a record; `None` if the mapping does not select it.
    pub(super) fn build<'a>(
        &'a self,
        found: Found<'a>,
        limits: &Limits,
    ) -> Result<Option<Event<'a>>, Rejection> {
        let is_selected = self.when.iter().all(|(sources, wanted)| {
            let value = sources.value(&found.slots);
            wanted.iter().any(|wanted| match wanted {
                Some(text) => value.is(text),
                None => *value == Scalar::Absent,
            })
        });
        if !is_selected {
            return Ok(None);
        }
        let event = match self.kind {
            Kind::Search => self
                .search(found)
                .and_then(|search| native::checked_search(search, limits))
                .map(Event::Search),
            Kind::Feedback => self
                .feedback(&found)
                .and_then(native::checked_feedback)
                .map(Event::Feedback),
        };
        event.map(Some).map_err(|rejection| self.located(rejection))
    }

    /// Sources of the fields that an event has once, with their sections in the mapping, and their names in these.
    fn field_sources(&self) -> impl Iterator<Item = (&'static str, &'static str, &Sources)> {
        let of = |section, fields: Option<_>, names: &'static [&'static str]| {
            let fields: &[Option<Sources>] = fields.map_or(&[], |it: &FieldSources| it);
            names
                .iter()
                .zip(fields)
                .filter_map(move |(name, sources)| Some((section, *name, sources.as_ref()?)))
        };
        of("fields", Some(&self.fields), self.names())
            .chain(of("answer", self.answer.as_ref(), AnswerField::NAMES))
            .chain(of(
                "evaluator",
                self.evaluator.as_ref(),
                EvaluatorField::NAMES,
            ))
            .chain(of("cost", self.cost.as_ref(), CostField::NAMES))
    }

    /// Sources of everything that an event has once, with their keys in the mapping.
    pub(super) fn sources(&self) -> impl Iterator<Item = (String, &Sources)> {
        let named = [
            ("labels", &self.labels),
            ("attrs", &self.attrs),
            ("fired", &self.fired),
        ];
        let named = named.into_iter().flat_map(|(section, named)| {
            let of_section = named.iter();
            of_section.map(move |(name, sources)| (format!("{section}.{name}"), sources))
        });
        let fields = self
            .field_sources()
            .map(|(section, name, sources)| (format!("{section}.{name}"), sources));
        fields.chain(named)
    }

    /// Adds the sources of the field that a check of native events names.
    #[cold]
    fn located(&self, rejection: Rejection) -> Rejection {
        let field = self
            .field_sources()
            .map(|(section, name, sources)| match section {
                "fields" => (name.to_owned(), sources),
                section => (format!("{section}.{name}"), sources),
            })
            .find(|(name, _)| {
                let detail = &rejection.detail;
                let rest = detail.strip_prefix(name.as_str());
                rest.is_some_and(|rest| rest.starts_with(':'))
                    || detail.contains(&format!("`{name}`"))
            });
        match field {
            Some((name, sources)) => Rejection::new(
                rejection.reason,
                format_args!(
                    "{} ({name} is mapped to {})",
                    rejection.detail, sources.text
                ),
            ),
            None => rejection,
        }
    }

    fn search<'a>(&'a self, mut found: Found<'a>) -> Result<Box<Search<'a>>, Rejection> {
        use SearchField as F;
        let results = found.hits.take().ok_or_else(|| {
            let list = self.hits.as_deref().unwrap_or_default();
            Rejection::new(
                Reason::MissingField,
                format_args!("{list} is missing; a search without results has an empty list"),
            )
        })?;
        let slots = &*found.slots;
        let it = Values {
            fields: &self.fields,
            slots,
        };
        let mut search = Box::new(Search {
            query_id: it.required(F::QueryId as usize, it.id(F::QueryId as usize)?)?,
            ts: it.time(F::Ts as usize, self.time)?,
            query: it.text(F::Query as usize)?,
            query_key: it.id(F::QueryKey as usize)?,
            synthetic: it.of(F::Synthetic as usize, "a boolean", Scalar::truth)?,
            results,
            latency_ms: it.number(F::LatencyMs as usize)?,
            routing: it.texts(F::Routing as usize)?,
            domain: it.text(F::Domain as usize)?,
            merged_from: it.ids(F::MergedFrom as usize)?,
            context: it.ids(F::Context as usize)?,
            variant: it.text(F::Variant as usize)?,
            session_id: it.id(F::SessionId as usize)?,
            client_id: it.id(F::ClientId as usize)?,
            user_id: it.id(F::UserId as usize)?,
            trace_id: it.id(F::TraceId as usize)?,
            application: it.text(F::Application as usize)?,
            total_hits: it.whole(F::TotalHits as usize)?,
            page: match self.page_base {
                // A page 0 is rejected by the check of native events, with its reason.
                1 => it.counted(F::Page as usize)?,
                base => it.position(F::Page as usize, base)?,
            },
            page_size: it.counted(F::PageSize as usize)?,
            is_filtered: it
                .get(F::Filters as usize)
                .is_some_and(|(_, value)| value.is_set()),
            sort: it.get(F::Sort as usize).map(|(_, value)| match &*value {
                Scalar::Text(text) => Text(text.clone()),
                _ => Text(Cow::Borrowed(OTHER)),
            }),
            error_type: it.text(F::ErrorType as usize)?,
            labels: attributes(&self.labels, slots),
            attrs: attributes(&self.attrs, slots),
            ..Search::default()
        });
        if let (None, Some(offset)) = (search.page, it.whole(F::Offset as usize)?) {
            search.page = Some(page_at(offset, &search));
        }
        if let Some(id) = it.id(F::Experiment as usize)? {
            search.experiment = Some(Experiment {
                id: Some(id),
                variant: search.variant.clone(),
            });
        }
        if !self.fired.is_empty() {
            search.fired = Some(self.fired(slots)?);
        }
        if let Some(fields) = &self.answer {
            search.answer = answer(&Values { fields, slots })?;
        }
        search.cost = self.cost(slots)?;
        if let Some(plan) = &self.stages {
            search.stages = Some(rows(plan, &found.rows, stage)?);
        }
        if let Some(plan) = &self.usage {
            search.usage = Some(rows(plan, &found.rows, usage)?);
        }
        Ok(search)
    }

    fn fired<'a>(&'a self, slots: &[Scalar<'a>]) -> Result<Attributes<'a>, Rejection> {
        let mut fired = Vec::with_capacity(self.fired.len());
        for (name, sources) in &self.fired {
            let value = sources.value(slots);
            if *value == Scalar::Absent {
                continue;
            }
            let truth = value
                .truth()
                .ok_or_else(|| wrong(sources, "a boolean", &value))?;
            fired.push((Text(Cow::Borrowed(name.as_str())), Value::Bool(truth)));
        }
        Ok(Attributes(fired))
    }

    fn feedback<'a>(&'a self, found: &Found<'a>) -> Result<FeedbackWire<'a>, Rejection> {
        use FeedbackField as F;
        let it = Values {
            fields: &self.fields,
            slots: &found.slots,
        };
        let ts = it.time(F::Ts as usize, self.time)?;
        let name = it.required(F::Type as usize, it.text(F::Type as usize)?)?;
        let value = match it.get_number(F::Value as usize) {
            None => None,
            Some((sources, value)) => Some(match (value.truth(), value.number()) {
                (Some(truth), _) => FeedbackValue::Bool(truth),
                (None, Some(number)) => FeedbackValue::Number(number),
                (None, None) => return Err(wrong(sources, "a number or a boolean", &value)),
            }),
        };
        let (action, value) = match self.actions.get(&*name) {
            Some(Meaning::Type(action)) => (*action, value),
            Some(Meaning::Thumb { up }) => (ActionName::Thumbs, Some(FeedbackValue::Bool(*up))),
            None => (
                ActionName::named(&name).unwrap_or(ActionName::Custom),
                value,
            ),
        };
        let query_id = it.id(F::QueryId as usize)?;
        let session_id = it.id(F::SessionId as usize)?;
        let object_id = it.id(F::ObjectId as usize)?;
        let position = it.position(F::Position as usize, self.position_base)?;
        let event_id = match it.id(F::EventId as usize)? {
            Some(event_id) => event_id,
            None if it.sources(F::EventId as usize).is_some() => {
                return it.required(F::EventId as usize, None);
            }
            // Formats without ids: equal events are the same event.
            None => derived_id(&[
                session_id.as_deref(),
                query_id.as_deref(),
                Some(&*name),
                Some(&*ts.0.to_string()),
                object_id.as_deref(),
                position.map(|position| position.to_string()).as_deref(),
            ]),
        };
        let max = it.of(F::Max as usize, "a number", Scalar::number)?;
        Ok(FeedbackWire {
            event_id,
            ts,
            action,
            query_id,
            session_id,
            object_id,
            position,
            value,
            // Without the other bound, a bound that is left out is none.
            min: match max {
                Some(_) => it.number(F::Min as usize)?,
                None => it.of(F::Min as usize, "a number", Scalar::number)?,
            },
            max,
            dwell_ms: it.number(F::DwellMs as usize)?,
            amount: it.number(F::Amount as usize)?,
            currency: it.text(F::Currency as usize)?,
            // A custom action has its own name. A judgment without one is about relevance.
            name: match it.text(F::Name as usize)? {
                None if action == ActionName::Custom => Some(name),
                name => name,
            },
            target: it.text(F::Target as usize)?,
            request: it.text(F::Request as usize)?,
            evaluator: self.evaluator(&found.slots)?,
            cost: self.cost(&found.slots)?,
            comment: it.text(F::Comment as usize)?,
            client_id: it.id(F::ClientId as usize)?,
            user_id: it.id(F::UserId as usize)?,
            trace_id: it.id(F::TraceId as usize)?,
            application: it.text(F::Application as usize)?,
            labels: attributes(&self.labels, &found.slots),
            attrs: attributes(&self.attrs, &found.slots),
        })
    }

    /// Cost of a search or of a judgment; `None` if the record states none.
    fn cost<'a>(&'a self, slots: &[Scalar<'a>]) -> Result<Option<Cost<'a>>, Rejection> {
        let Some(fields) = &self.cost else {
            return Ok(None);
        };
        let it = Values { fields, slots };
        cost(
            &it,
            CostField::Amount as usize,
            CostField::Currency as usize,
        )
    }

    /// Evaluator of a judgment; `None` if the record states none.
    fn evaluator<'a>(
        &'a self,
        slots: &[Scalar<'a>],
    ) -> Result<Option<Box<EvaluatorWire<'a>>>, Rejection> {
        use EvaluatorField as F;
        let Some(fields) = &self.evaluator else {
            return Ok(None);
        };
        let it = Values { fields, slots };
        let Some(id) = it.id(F::Id as usize)? else {
            return Ok(None);
        };
        Ok(Some(Box::new(EvaluatorWire {
            id,
            version: it.id(F::Version as usize)?,
            kind: it.text(F::Kind as usize)?,
        })))
    }
}

/// Page of a search that states the number of results before its first one. The size of a page is its number of
/// results, if the record does not state it.
fn page_at(offset: u32, search: &Search<'_>) -> u32 {
    let served = u32::try_from(search.results.len()).ok();
    let size = search.page_size.or(served).unwrap_or(1).max(1);
    let first = if offset == 0 { 1 } else { 2 };
    (offset / size).saturating_add(1).max(first)
}

/// Elements of a list of objects.
fn rows<'a, T>(
    plan: &'a RowPlan,
    rows: &[Vec<Found<'a>>],
    convert: impl Fn(&Values<'_, 'a>) -> Result<T, Rejection>,
) -> Result<Vec<T>, Rejection> {
    let rows = rows.get(plan.list).map(Vec::as_slice).unwrap_or_default();
    let converted = rows.iter().enumerate().map(|(index, row)| {
        let values = Values {
            fields: &plan.fields,
            slots: &row.slots,
        };
        let placed = |it: Rejection| it.placed_at(&format!("{}/{index}", plan.pointer));
        convert(&values).map_err(placed)
    });
    converted.collect()
}

fn edge<'a>(it: &Values<'_, 'a>) -> Result<Edge<'a>, Rejection> {
    use EdgeField as F;
    Ok(Edge {
        from: it.required(F::From as usize, it.id(F::From as usize)?)?,
        to: it.required(F::To as usize, it.id(F::To as usize)?)?,
    })
}

fn stage<'a>(it: &Values<'_, 'a>) -> Result<Stage<'a>, Rejection> {
    use StageField as F;
    Ok(Stage {
        name: it.required(F::Name as usize, it.text(F::Name as usize)?)?,
        latency_ms: it.number(F::LatencyMs as usize)?,
        hits: it.whole(F::Hits as usize)?,
        error: it.text(F::Error as usize)?,
    })
}

fn usage<'a>(it: &Values<'_, 'a>) -> Result<Usage<'a>, Rejection> {
    use UsageField as F;
    Ok(Usage {
        operation: it.text(F::Operation as usize)?,
        provider: it.text(F::Provider as usize)?,
        model: it.text(F::Model as usize)?,
        input_tokens: it.whole(F::InputTokens as usize)?,
        output_tokens: it.whole(F::OutputTokens as usize)?,
        cache_read_input_tokens: it.whole(F::CacheReadInputTokens as usize)?,
        reasoning_output_tokens: it.whole(F::ReasoningOutputTokens as usize)?,
        cost: cost(it, F::Cost as usize, F::Currency as usize)?,
    })
}

/// Answer of a search; `None` if the record has none of its members.
fn answer<'a>(it: &Values<'_, 'a>) -> Result<Option<Box<Answer<'a>>>, Rejection> {
    use AnswerField as F;
    let citations = it.ids(F::Citations as usize)?;
    let answer = Answer {
        id: it.id(F::Id as usize)?,
        text: it.text(F::Text as usize)?,
        citations: citations.map(|ids| ids.into_iter().map(|id| Citation { id }).collect()),
        refused: it.of(F::Refused as usize, "a boolean", Scalar::truth)?,
        model: it.text(F::Model as usize)?,
    };
    let is_absent = answer.id.is_none()
        && answer.text.is_none()
        && answer.citations.is_none()
        && answer.refused.is_none();
    Ok((!is_absent).then(|| Box::new(answer)))
}

fn cost<'a>(
    it: &Values<'_, 'a>,
    amount: usize,
    currency: usize,
) -> Result<Option<Cost<'a>>, Rejection> {
    let Some(amount) = it.number(amount)? else {
        return Ok(None);
    };
    let currency = it.text(currency)?;
    Ok(Some(Cost { amount, currency }))
}
