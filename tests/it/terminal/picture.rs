//! Picture of the demo's terminal, drawn from the screen of the emulator: `make pictures-terminal`.

use std::fmt::Write as _;
use std::fs;

use rankgauge::demo::screen::{Size, frame};
use rankgauge::demo::setting::Library;
use rankgauge::demo::terminal::Canvas;

use rankgauge_core::time::Millis;

use super::alarm::found;
use crate::dashboards::folder;
use crate::harness::pty::emulator;

const SIZE: Size = Size {
    columns: 112,
    rows: 36,
};

/// Size of a cell in pixels.
const CELL: (u32, u32) = (9, 19);
const MARGIN: u32 = 14;

/// Time after the beginning of the drop, as README.md states it.
const AFTER: Millis = Millis(40_000);

const BACKGROUND: &str = "#0d1117";
const FOREGROUND: &str = "#e6edf3";

/// Colour of a cell in the picture.
fn colour(cell: &vt100::Cell) -> &'static str {
    match cell.fgcolor() {
        vt100::Color::Idx(9) => "#ff7b72",
        vt100::Color::Idx(12) => "#79c0ff",
        _ if cell.dim() => "#9198a1",
        _ => FOREGROUND,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Screen as SVG: one element for each run of cells of the same style, at its column.
fn svg(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (width, height) = (
        u32::from(columns.get()) * CELL.0 + 2 * MARGIN,
        u32::from(rows.get()) * CELL.1 + 2 * MARGIN,
    );
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"Terminal of rankgauge demo with the alarm on one of three systems\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{BACKGROUND}\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', 'Noto Sans Mono CJK KR', 'Noto Sans Mono', monospace\" \
         font-size=\"14\">\n\
         <style>text {{ white-space: pre; }}</style>\n"
    );
    for row in 0..rows.get() {
        // Column, style and text.
        let mut runs: Vec<(u16, (&str, bool), String)> = Vec::new();
        for column in 0..columns.get() {
            let cell = screen.cell(row, column).expect("a cell of the screen");
            if cell.is_wide_continuation() {
                continue;
            }
            let contents = if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
            let style = (colour(cell), cell.bold());
            match runs.last_mut() {
                Some((_, same, text)) if *same == style => text.push_str(contents),
                _ => runs.push((column, style, contents.to_owned())),
            }
        }
        for (column, (colour, is_bold), run) in runs {
            let shown = run.trim_end();
            let before = shown.len() - shown.trim_start().len();
            let shown = shown.trim_start();
            if shown.is_empty() {
                continue;
            }
            let start = u32::from(column) + u32::try_from(before).expect("a column");
            let cells = unicode_width::UnicodeWidthStr::width(shown);
            let length = u32::try_from(cells).expect("a width") * CELL.0;
            let (x, y) = (
                MARGIN + start * CELL.0,
                MARGIN + u32::from(row) * CELL.1 + 14,
            );
            let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
            writeln!(
                text,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\"{weight} textLength=\"{length}\" \
                 lengthAdjust=\"spacingAndGlyphs\">{}</text>",
                escaped(shown)
            )
            .expect("a string");
        }
    }
    text + "</g>\n</svg>\n"
}

#[test]
fn picture_shows_the_alarm_and_is_written_on_request() {
    let (view, history, context) = found(Library::Shop, AFTER);
    let mut bytes = Vec::new();
    let lines = frame(&view, &history, &context, SIZE, 0);
    Canvas::new(&mut bytes, true)
        .draw(lines, SIZE)
        .expect("memory");
    let mut terminal = emulator((SIZE.columns, SIZE.rows));
    terminal.process(&bytes);
    let fresh = svg(terminal.screen());
    let path = folder("docs/pictures").join("terminal.svg");
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(folder("docs/pictures")).expect("the folder can be made");
        fs::write(&path, &fresh).expect("the picture can be written");
    }
    let committed = fs::read_to_string(&path).expect("make pictures-terminal writes it");
    // The numbers follow detection and traffic; the lines are those of the screen.
    for picture in [&fresh, &committed] {
        assert!(
            picture.contains("▼ rerank got worse: found after "),
            "{picture}"
        );
        assert!(picture.contains("most affected queries Q"), "{picture}");
        assert!(picture.contains(">hybrid<"), "{picture}");
        assert!(!picture.contains('\u{1b}'), "{picture}");
    }
}
