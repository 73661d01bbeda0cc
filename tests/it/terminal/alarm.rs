//! Screen of the demo with the alarm on V5, in event time: the engine processes the demo's traffic,
//! and the emulator shows the frames.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rankgauge::config::{self, Config};
use rankgauge::demo::history::{History, PlannedDrop, Story};
use rankgauge::demo::screen::{Context, Size, frame};
use rankgauge::demo::setting::{Library, Scenario};
use rankgauge::demo::terminal::Canvas;
use rankgauge::demo::view::View;
use rankgauge::demo::{self, DemoOptions};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::gold;
use rankgauge_core::records;
use rankgauge_core::time::{Millis, WallTime};
use rankgauge_lab::traffic::TrafficSettings;
use rankgauge_serve::collect::Names;

use crate::harness::pty::{emulator, wrapped};

/// Event time before the drop, as in the demo: the history and one minute.
const BEFORE: Millis = Millis(180_000);

/// Event time after the drop within which it must be found.
const AFTER: i64 = 150_000;

const HEADLINE: &str = "nDCG@10";

/// Configuration of a library of the demo.
fn configuration(library: Library) -> Config {
    let names = demo::files(library).iter().map(|(name, _)| *name);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config");
    let files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    config::load(&files, std::iter::empty(), &[]).expect("the demo's configuration")
}

/// Processes the traffic of the demo until the drop is found, but at least until `after` its beginning, with two
/// views a second.
pub(super) fn found(library: Library, after: Millis) -> (View, History, Context) {
    let config = configuration(library);
    let settings = Arc::new(config.engine);
    let registry = Arc::new(Engine::registry(&settings));
    let names = Names {
        settings: Arc::clone(&settings),
        registry: Arc::clone(&registry),
        topics: vec!["search.log".into(), "feedback.log".into()],
    };
    let options = DemoOptions {
        regress_after: Some(Duration::from_mins(1)),
        ..DemoOptions::new(library, Scenario::Drop)
    };
    let start = TrafficSettings::default().start;
    let (traffic, gold, _) = demo::played(&options, start);
    let drop_at = start.plus(BEFORE);
    let mut engine = Engine::new(settings, registry, WallTime(start.0));
    let gold = gold::parse("gold.json", gold.as_bytes(), &gold::Options::default());
    let gold = Arc::new(gold.expect("a gold set"));
    engine.apply(Input::Gold(Arc::clone(&gold)));
    let context = Context {
        page: Some("http://127.0.0.1:9469/".into()),
        metrics: "127.0.0.1:9468".parse().expect("an address"),
        headline: HEADLINE.into(),
        targets: config.targets,
        queries: gold
            .queries()
            .iter()
            .filter_map(|query| Some((query.key.clone(), query.text.clone()?)))
            .collect::<BTreeMap<_, _>>(),
        messages: Vec::new(),
        library,
        expectation: Some(Scenario::Drop.expectation(library.changing())),
    };
    let mut history = History::new(Some(PlannedDrop {
        wall: WallTime(drop_at.0),
        end: None,
        event: drop_at,
        scenario: Scenario::Drop,
        system: library.changing(),
    }));
    let (mut offsets, mut tick) = ([0; 2], 0);
    for record in traffic {
        let kind = record.kind;
        let (partition, offset) = (0, offsets[kind.index()]);
        offsets[kind.index()] += 1;
        let at = Position { partition, offset };
        let payload = (kind, at, &*record.payload);
        let rejected = records::apply(&mut engine, &Formats::NATIVE, [payload], |_, _, _| ());
        assert_eq!(rejected, []);
        if record.ts.0 / 1_000 == tick {
            continue;
        }
        tick = record.ts.0 / 1_000;
        let wall = WallTime(record.ts.0);
        engine.apply(Input::Tick { wall, others: None });
        engine.take_effects();
        // As in the demo, the history arrives at once.
        if record.ts.since(start).0 > 100_000 {
            let view = View::of(&engine.snapshot(), &names);
            history.add(&view);
            // Queries are named from their third search on.
            let is_found =
                matches!(history.story(), Story::Found(found) if found.incident.queries.len() > 1);
            if is_found && record.ts.since(drop_at) >= after {
                return (view, history, context);
            }
        }
        assert!(record.ts.since(drop_at).0 < AFTER, "the drop is not found");
    }
    panic!("the traffic has an end");
}

#[test]
fn alarm_of_v5_is_told_with_its_delay_and_queries_at_every_size() {
    let (view, history, context) = found(Library::Law, Millis(0));
    let Story::Found(found) = history.story() else {
        panic!("found");
    };
    // A fifth of 100 searches a second is of V5.
    let seconds = found.delay.0 / 1_000;
    let expected = u64::try_from(seconds).expect("after the drop") * 20;
    assert!(
        (expected * 8 / 10..=expected * 12 / 10 + 20).contains(&found.searches),
        "{found:?}"
    );
    let sentence = found.sentence();
    assert!(sentence.starts_with("V5 "), "{sentence}");
    for part in [
        format!(
            ": found after {} searches, {seconds} second",
            found.searches
        ),
        format!("most affected queries {}", found.incident.queries[0].query),
    ] {
        assert!(sentence.contains(&part), "{sentence}");
    }
    for (columns, rows) in [(80, 24), (120, 40), (200, 50)] {
        let size = Size { columns, rows };
        let lines = frame(&view, &history, &context, size, 0);
        let too_wide: Vec<_> = lines
            .iter()
            .filter(|it| it.width() > usize::from(columns))
            .collect();
        assert!(too_wide.is_empty(), "{too_wide:?}");
        assert!(lines.len() <= usize::from(rows));
        let mut bytes = Vec::new();
        let mut canvas = Canvas::new(&mut bytes, true);
        // What a larger frame showed before must not remain.
        let before = frame(&view, &history, &context, size, 20);
        canvas.draw(before, size).expect("memory");
        canvas.draw(lines, size).expect("memory");
        let mut terminal = emulator((columns, rows));
        terminal.process(&bytes);
        let screen = terminal.screen();
        assert_eq!(wrapped(screen), Vec::<String>::new());
        let text = screen.contents();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&sentence), "{text}");
        let v5 = text
            .lines()
            .find(|line| line.starts_with("V5 "))
            .expect("a row");
        assert!(v5.contains("−0."), "{text}");
        // The sparkline falls from its highest block.
        assert!(v5.contains('█') || v5.contains('▇'), "{text}");
        for moved in found.incident.queries.iter().take(2) {
            let korean = &context.queries[&*moved.query];
            assert!(text.contains(korean.as_str()), "{korean} in {text}");
        }
        assert!(text.contains("http://127.0.0.1:9469/"), "{text}");
        // Only the alarm and bad values are red.
        let is_red = |row: u16, column: u16| {
            screen
                .cell(row, column)
                .is_some_and(|cell| cell.fgcolor() == vt100::Color::Idx(9))
        };
        let place = text.lines().position(|line| line.starts_with("▼ V5 "));
        let place = u16::try_from(place.expect("the alarm")).expect("a row");
        assert!(is_red(place, 0), "{text}");
        assert!(!is_red(0, 0), "{text}");
    }
}

#[test]
fn users_of_the_demo_react_within_its_feedback_window() {
    let (view, ..) = found(Library::Shop, Millis(0));
    let view = serde_json::to_value(&view).expect("a summary");
    let feedback = &view["outcomes"]["feedback"];
    let joined = feedback["joined"].as_u64().unwrap_or(0);
    assert!(joined > 1_000, "{feedback}");
    assert_eq!(feedback["orphaned"].as_u64().unwrap_or(0), 0, "{feedback}");
}
