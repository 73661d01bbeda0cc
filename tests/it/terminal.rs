//! Display of the demo in a terminal emulator, and as plain lines in a pipe.

mod alarm;
mod picture;

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::harness::http_get;
use crate::harness::pty::{Size, Terminal};

const DEMO: &str = env!("CARGO_BIN_EXE_rankgauge");

/// Free ports, so that demos run beside each other.
const PORTS: [&str; 4] = [
    "--set",
    "metrics.listen=127.0.0.1:0",
    "--set",
    "admin.listen=127.0.0.1:0",
];

const LIMIT: Duration = Duration::from_mins(1);

fn arguments(further: &[&'static str]) -> Vec<&'static str> {
    let law = ["demo", "--library", "law", "--rate", "40"];
    [&law, further, &PORTS].concat()
}

fn start(further: &[&'static str], size: Size, colour: bool) -> Terminal {
    Terminal::start(DEMO, &arguments(further), size, colour)
}

/// Waits for a screen with results, and returns its text.
fn results(terminal: &mut Terminal) -> String {
    terminal.wait(LIMIT, "the demo shows results", |screen| {
        let text = screen.contents();
        let row = |name: &str| text.lines().find(|line| line.starts_with(name));
        // V1 misses its target, with a mark that needs no colour. The first searches do not show it.
        let is_missed = row("V1").is_some_and(|line| line.contains('✗'));
        let has_results = is_missed && row("V5").is_some_and(|line| line.contains("0."));
        // A frame that is not complete has no last lines, or those of the frame before it.
        let is_complete = text.contains("V5 gets worse in ") && text.contains("stop      Ctrl-C");
        (screen.alternate_screen() && has_results && is_complete).then_some(text)
    })
}

/// Asserts that the terminal is as a shell left it, with the summary on its ordinary screen.
fn assert_clean(terminal: &mut Terminal) {
    let text = terminal.wait(LIMIT, "the summary", |screen| {
        let text = screen.contents();
        text.contains("see README.md").then_some(text)
    });
    terminal.wait(LIMIT, "the ordinary screen", |screen| {
        (!screen.alternate_screen() && !screen.hide_cursor()).then_some(())
    });
    assert!(text.contains("search "), "{text}");
    assert!(text.contains(" received:"), "{text}");
    assert!(!text.contains("Ctrl-C"), "{text}");
    assert!(terminal.has_echo());
    assert_eq!(terminal.wrapped(), Vec::<String>::new());
}

fn is_coloured(screen: &vt100::Screen) -> bool {
    let (rows, columns) = screen.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let mut colours = cells.filter_map(|(row, column)| Some(screen.cell(row, column)?.fgcolor()));
    colours.any(|colour| colour != vt100::Color::Default)
}

#[test]
fn screen_fits_three_sizes_and_the_terminal_is_left_clean() {
    // The second run has NO_COLOR.
    let runs = [((80, 24), true), ((120, 40), false), ((200, 50), true)];
    thread::scope(|scope| {
        for (size, colour) in runs {
            scope.spawn(move || {
                // The run without colours ends by itself.
                let time: &[&str] = if colour { &[] } else { &["--for", "20s"] };
                let mut terminal = start(time, size, colour);
                let text = results(&mut terminal);
                assert!(text.contains("V5 gets worse in "), "{text}");
                assert!(text.contains("stop      Ctrl-C"), "{text}");
                let is_shown = terminal.wait(LIMIT, "a screen", |it| Some(is_coloured(it)));
                assert_eq!(is_shown, colour, "{text}");
                let page = text
                    .lines()
                    .find_map(|line| line.strip_prefix("open      "));
                let page = page
                    .and_then(|rest| rest.split(' ').next())
                    .expect("an address");
                let (status, _) = http_get(page).expect("the admin listener answers");
                assert_eq!(status, 200, "{page}");
                if colour {
                    terminal.type_in(b"\x03");
                }
                assert!(terminal.wait_for_end(LIMIT).success());
                assert_clean(&mut terminal);
            });
        }
    });
}

#[test]
fn ctrl_c_leaves_a_clean_terminal_after_the_window_became_smaller() {
    let mut terminal = start(&[], (200, 50), true);
    results(&mut terminal);
    terminal.resize((80, 24));
    // The frames before the program knew the new size can continue on the next row.
    terminal.next_frame(LIMIT);
    terminal.next_frame(LIMIT);
    terminal.forget_wrapped();
    terminal.next_frame(LIMIT);
    let text = results(&mut terminal);
    assert!(text.contains("stop      Ctrl-C"), "{text}");
    // Other keys are not shown: neither now, nor in the shell.
    terminal.type_in(b"lost keys\x1a");
    terminal.type_in(b"\x03");
    assert!(terminal.wait_for_end(LIMIT).success());
    assert_clean(&mut terminal);
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("lost keys"));
}

#[test]
fn output_in_a_pipe_is_plain_lines() {
    let output = Command::new(DEMO)
        .args(arguments(&["--for", "1s", "--no-regression"]))
        .env("TERM", "xterm-256color")
        .output()
        .expect("the demo runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(
        text.starts_with("rankgauge demo: Korean law search"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(text.lines().any(|line| line.starts_with("V5 ")), "{text}");
    // The summary comes last, without the line about Ctrl-C.
    assert!(text.contains(" received:"), "{text}");
    assert!(text.ends_with("see README.md\n"), "{text}");
}

#[test]
fn settings_of_the_demo_are_checked_as_elsewhere() {
    let refused = |further: &[&'static str]| {
        let output = Command::new(DEMO).args(arguments(further)).output();
        let output = output.expect("the demo ends");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let unknown = refused(&["--set", "engine.feedback_windw=1m"]);
    assert!(unknown.contains("feedback_windw"), "{unknown}");
    let own = refused(&["--set", "kafka.brokers=kafka:9092"]);
    assert!(own.contains("the demo has its own broker"), "{own}");
    let missing = refused(&["--config", "/nowhere/rankgauge.yaml"]);
    assert!(missing.contains("/nowhere/rankgauge.yaml"), "{missing}");
}
