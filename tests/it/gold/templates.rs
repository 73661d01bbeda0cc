//! `gold propose --templates`.

use std::fs;

use super::commands::run;
use crate::harness::command::{assert_exit, json, stdout};

#[test]
fn the_sheet_of_generated_queries_is_adopted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (sheet, gold) = (path("sheet.csv"), path("gold.json"));
    let proposed = run(&format!(
        "propose --gold v1.json --templates templates.txt --documents documents.csv --edges edges.jsonl \
         --sheet {sheet} --format json"
    ));
    let found = json(&proposed);
    let queries = found["queries"].as_array().expect("queries");
    assert!(
        queries.iter().any(|it| it["query_text"] == "용도지역 기준"),
        "{found}"
    );
    let text = fs::read_to_string(&sheet).expect("a sheet");
    let graded: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(line, row)| match line {
            0 => row.to_owned(),
            _ => format!("{row}2"),
        })
        .collect();
    fs::write(&sheet, graded.join("\n")).expect("the sheet");
    let adopted = run(&format!(
        "adopt --gold v1.json --sheet {sheet} --output {gold}"
    ));
    assert_exit(&adopted, 0);
    let added = fs::read_to_string(&gold).expect("the set");
    assert!(added.contains("용도지역 기준"), "{}", stdout(&adopted));
    assert!(
        !added.contains("clicked in 0 of 0"),
        "no clicks are stated for a generated query"
    );
}
