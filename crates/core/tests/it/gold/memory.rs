//! Gold sets of judgements in memory.

use rankgauge_core::gold::{self, GoldSet, Grade, JudgedPart, JudgedRows, Options, SubtopicRow};

/// Rows of a query, a document and a grade, in parts of `size` rows.
fn parts(rows: &[(&str, &str, u8)], size: usize) -> Vec<JudgedPart> {
    let numbered: Vec<(usize, &(&str, &str, u8))> = (1..).zip(rows).collect();
    let parts = numbered.chunks(size).map(|part| {
        let mut rows = JudgedRows::default();
        for (row, (query, document, grade)) in part {
            rows.judge(query, *row, document, Grade::from(*grade));
        }
        rows.finish()
    });
    parts.collect()
}

fn contents(set: &GoldSet) -> Vec<(&str, Vec<(&str, Grade)>)> {
    let queries = set.queries().iter();
    queries
        .map(|query| (query.key.as_str(), query.documents()))
        .collect()
}

#[test]
fn rows_in_parts_equal_a_file() {
    let rows = [
        ("q1", "a", 2),
        ("q1", "b", 0),
        ("q2", "a", 1),
        ("q1", "c", 1),
        ("질의", "문서 하나", 3),
    ];
    let lines = ["q1 0 a 2", "q1 0 b 0", "q2 0 a 1", "q1 0 c 1"].join("\n");
    let file = gold::parse("x.qrels", lines.as_bytes(), &Options::default()).expect("qrels");
    for size in 1..=rows.len() {
        let set = GoldSet::from_parts("qrels", parts(&rows, size), &Options::default());
        let set = set.expect("judgements");
        assert_eq!(contents(&set)[..2], contents(&file)[..]);
        assert_eq!(
            contents(&set)[2],
            ("질의", vec![("문서 하나", Grade::from(3))])
        );
        assert_eq!(set.judgement_count(), 5);
    }
}

#[test]
fn a_query_may_have_no_judgement() {
    let mut rows = JudgedRows::default();
    rows.add_query("q0", 1);
    rows.judge("q1", 2, "a", Grade::ONE);
    let set = GoldSet::from_parts("qrels", vec![rows.finish()], &Options::default());
    assert_eq!(
        contents(&set.expect("judgements")),
        [("q0", vec![]), ("q1", vec![("a", Grade::ONE)])]
    );
}

#[test]
fn problems_name_the_row() {
    let rows = [("q1", "a", 2), ("q2", "a", 1), ("q1", "a", 0)];
    for size in 1..=rows.len() {
        let error = GoldSet::from_parts("qrels", parts(&rows, size), &Options::default());
        let text = error.expect_err("judged twice").to_string();
        assert!(
            text.contains("qrels:3: ") && text.contains("qrels:1"),
            "{text}"
        );
    }
}

/// Judgements for subtopics. A name without a letter is none.
fn by_subtopic<'a>(rows: &[(&'a str, &'a str, &'a str, u8)]) -> Vec<SubtopicRow<'a>> {
    let rows = rows.iter();
    rows.map(|&(query, subtopic, document, grade)| SubtopicRow {
        query,
        subtopic: Some(subtopic).filter(|it| !it.is_empty()),
        document,
        grade: Grade::from(grade),
    })
    .collect()
}

#[test]
fn rows_of_subtopics_equal_a_file() {
    let rows = [
        ("1", "x", "a", 1),
        ("1", "y", "a", 2),
        ("2", "x", "d", 1),
        ("1", "x", "b", 0),
        ("1", "", "c", 1),
    ];
    let lines = rows.map(|(query, subtopic, document, grade)| {
        format!("{query},{subtopic},{document},{grade}\n")
    });
    let table = format!("query,subtopic,docid,rating\n{}", lines.concat());
    let file = gold::parse("x.csv", table.as_bytes(), &Options::default()).expect("a table");
    let set = GoldSet::from_subtopics("qrels", by_subtopic(&rows), &Options::default());
    let set = set.expect("judgements");
    assert_eq!(contents(&set), contents(&file));
    let subtopics = |set: &GoldSet| {
        let queries = set.queries().iter();
        queries
            .map(|query| query.subtopics.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(subtopics(&set), subtopics(&file));
    let names = set.queries()[0].subtopics.as_ref().map(|it| it.names());
    assert_eq!(names.map(<[_]>::len), Some(2));
    let other = by_subtopic(&rows[..4]);
    let other = GoldSet::from_subtopics("qrels", other, &Options::default());
    assert_ne!(other.expect("judgements").sha256(), set.sha256());
}

#[test]
fn problems_of_subtopics_name_the_row() {
    let rows = [("1", "x", "a", 1), ("1", "y", "a", 1), ("1", "x", "a", 1)];
    let error = GoldSet::from_subtopics("qrels", by_subtopic(&rows), &Options::default());
    let text = error.expect_err("judged twice").to_string();
    assert!(
        text.contains("qrels:3: ") && text.contains("qrels:1"),
        "{text}"
    );
    let none = GoldSet::from_subtopics("qrels", Vec::new(), &Options::default());
    assert!(none.is_err());
}

#[test]
fn judgements_are_required() {
    let mut rows = JudgedRows::default();
    rows.add_query("q0", 1);
    for parts in [Vec::new(), vec![rows.finish()]] {
        let error = GoldSet::from_parts("qrels", parts, &Options::default());
        let text = error.expect_err("no judgement").to_string();
        assert_eq!(
            text,
            "the gold set has a problem: qrels is empty; give it queries with judgements"
        );
    }
}

#[test]
fn other_judgements_have_another_hash() {
    let hash = |grade| {
        let set = GoldSet::from_parts("qrels", parts(&[("q", "a", grade)], 1), &Options::default());
        set.expect("judgements").sha256().to_owned()
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
