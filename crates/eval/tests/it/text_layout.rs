//! Text layout for terminals: columns are aligned by what the display shows, in which Hangul takes two
//! columns.

use rankgauge_eval::text_layout::{Column, TextTable, escape_controls, truncate, wrap};

fn counts() -> TextTable {
    let mut table = TextTable::new([
        Column::left(2, 0),
        Column::right(1, 6),
        Column::right(2, 0),
        Column::left(2, 0),
    ]);
    table.row(["name", "n", "share", "note"]);
    table.row(["용도지역", "12", "100.0 %", ""]);
    table.row(["b", "1234567", "-", "long"]);
    table
}

#[test]
fn columns_are_as_wide_as_their_widest_cell_on_the_display() {
    let expected = "  name           n    share  note
  용도지역      12  100.0 %
  b        1234567        -  long
";
    assert_eq!(counts().to_string(), expected);
}

#[test]
fn a_table_wider_than_the_display_continues_below_under_its_first_columns() {
    let expected = "  name           n
  용도지역      12
  b        1234567

  name        share
  용도지역  100.0 %
  b               -

  name      note
  용도지역
  b         long
";
    assert_eq!(counts().within(20, 1), expected);
    // A column that does not fit is shown all the same.
    assert_eq!(counts().within(1, 1), expected);
    assert_eq!(counts().within(80, 1), counts().to_string());
}

#[test]
fn paragraphs_break_at_spaces_and_never_within_a_word() {
    assert_eq!(
        wrap("국토의 계획 및  이용에 관한 법률", 16, "- ", "  "),
        "- 국토의 계획 및\n  이용에 관한\n  법률\n"
    );
    let id = "an-id-that-is-longer-than-a-line";
    assert_eq!(wrap(id, 10, "", ""), format!("{id}\n"));
    assert_eq!(
        wrap(&format!("of {id} here"), 10, "", " "),
        format!("of\n {id}\n here\n")
    );
    assert_eq!(wrap("", 10, "  ", "    "), "\n");
}

#[test]
fn a_text_that_is_cut_ends_within_its_columns() {
    assert_eq!(truncate("용도지역", 8), "용도지역");
    assert_eq!(truncate("용도지역", 7), "용도지…");
    assert_eq!(truncate("용도지역", 6), "용도…");
    assert_eq!(truncate("zoning", 4), "zon…");
}

#[test]
fn what_would_command_a_terminal_is_written_as_an_escape() {
    assert_eq!(escape_controls("제21조\n\u{1b}[2J"), "제21조\\n\\u{1b}[2J");
    assert_eq!(
        escape_controls("a\u{202e}b\u{2028}"),
        "a\\u{202e}b\\u{2028}"
    );
}
