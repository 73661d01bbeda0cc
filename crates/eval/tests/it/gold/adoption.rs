//! Annotation sheets: they round-trip, and the grades filled in become judgements.

use proptest::prelude::*;
use rankgauge_core::gold::adoption::{Adoption, FilledRow, GradeSource, SheetRow};
use rankgauge_core::gold::{GoldSet, Grade, Options, escape_cell};
use rankgauge_eval::gold::write;

use super::{grade_of, native, parse};

const HEADER: &str = "query_id,query_text,document_id,grade\n";

fn gold() -> GoldSet {
    parse(
        "{\"version\": \"1\", \"scale_max\": 3, \"queries\": [
        {\"query_id\": \"q\", \"query_text\": \"17조 검색\", \"ground_truth\": {
            \"a\": {\"relevance\": 2, \"law_type\": \"법률\", \"annotator_1\": 2, \"notes\": \"왜\"}, \"b\": 0},
            \"total_relevant\": 1},
        {\"query_id\": \"t\", \"query_text\": \"본문\", \"texts\": [\"제17조\"]}]}",
    )
}

fn adopted(sheet: &str, grades: GradeSource) -> Adoption {
    let rows = FilledRow::parse_sheet("sheet.csv", sheet.as_bytes()).expect("a sheet");
    Adoption::of(&gold(), "sheet.csv", rows, grades, None).expect("nothing is wrong")
}

/// Problems of a sheet, either in itself or against the gold set.
#[track_caller]
fn wrong(sheet: &str) -> Vec<String> {
    let error = match FilledRow::parse_sheet("sheet.csv", sheet.as_bytes()) {
        Err(error) => error,
        Ok(rows) => Adoption::of(&gold(), "sheet.csv", rows, GradeSource::Annotated, None)
            .expect_err("something is wrong"),
    };
    assert!(error.to_string().starts_with("the sheet has "), "{error}");
    error.problems().iter().map(ToString::to_string).collect()
}

#[test]
fn grades_become_judgements_and_existing_judgements_are_kept() {
    let sheet = "query_id,query_text,document_id,clicks,searches,production_judgments,\
                 production_grade,grade,annotator_1,annotator_2\n\
                 q,17조 검색,x,4,20,3,2,1,1,2\n\
                 q,17조 검색,y,2,20,,,,,\n\
                 ,17조  검색,\"z, \"\"제1조\"\"\n항\",,,,,0.5,,\n\
                 q,,a,,,,,2,,\n";
    let adoption = adopted(sheet, GradeSource::Annotated);
    assert_eq!(
        (adoption.annotated, adoption.open, adoption.already_judged),
        (2, 1, 1)
    );
    let set = adoption.set;
    assert_eq!(set.version(), "1+adopted");
    let query = &set.queries()[0];
    assert_eq!(query.judgements.len(), 4);
    assert_eq!(grade_of(query, "x"), Some(1.0));
    assert_eq!(grade_of(query, "z, \"제1조\"\n항"), Some(0.5));
    assert_eq!(query.details[0], gold().queries()[0].details[0]);
    let detail = &query.details[2];
    assert_eq!(
        detail.notes.as_deref(),
        Some("proposed: grade 2 in production, clicked in 4 of 20 searches")
    );
    assert_eq!(detail.annotations.len(), 2);
    // The output is a gold set, total_relevant included.
    let written = write::write(&set, rankgauge_core::gold::Format::Native, "").expect("native");
    let again = parse(&written.judgements);
    assert_eq!(again.queries(), set.queries());
    assert_eq!(query.total_relevant, Some(2));
}

#[test]
fn production_grades_are_adopted_only_on_request_and_within_the_scale() {
    let sheet = "query_id,query_text,document_id,production_grade,grade\n\
                 q,,x,2,\nq,,y,9,\nq,,b,3,\nq,,z,2,0\n";
    let asked = adopted(sheet, GradeSource::AnnotatorsOrProduction);
    assert_eq!((asked.annotated, asked.from_production), (1, 1));
    assert_eq!((asked.beyond_scale, asked.already_judged), (1, 1));
    let query = &asked.set.queries()[0];
    assert_eq!(grade_of(query, "b"), Some(0.0));
    assert_eq!(grade_of(query, "z"), Some(0.0));
    let notes = query.details[2].notes.as_deref();
    assert_eq!(notes, Some("production: median of the judgments"));
    let not_asked = adopted(sheet, GradeSource::Annotated);
    assert_eq!((not_asked.annotated, not_asked.open), (1, 3));
    let nothing = adopted(HEADER, GradeSource::AnnotatorsOrProduction);
    assert_eq!(nothing.set.version(), "1", "nothing was added");
}

#[test]
fn new_queries_take_the_id_of_the_sheet_or_their_text() {
    let sheet = format!(
        "{HEADER},토지 보상,m,1\n, 토지  보상,n,0\nN1,용적률,m,2\nN1,,n,1\n,N1,o,1\n,q,p,1\n"
    );
    let adoption = adopted(&sheet, GradeSource::Annotated);
    assert_eq!(adoption.new_queries, 4);
    let set = adoption.set;
    let key = |text: &str| {
        set.find(None, Some(text))
            .map(|it| set.query(it).key.as_str())
    };
    assert_eq!(key("토지 보상"), Some("토지 보상"));
    assert_eq!(key("용적률"), Some("N1"));
    // Texts that equal the keys of other queries.
    assert_eq!(key("N1"), Some("N1 (2)"));
    assert_eq!(key("q"), Some("q (2)"));
    let written = write::write(&set, rankgauge_core::gold::Format::Native, "").expect("native");
    assert_eq!(parse(&written.judgements).queries(), set.queries());
}

#[test]
fn all_problems_of_a_sheet_are_reported_together_with_their_lines() {
    assert_eq!(
        wrong(&format!(
            "{HEADER}q,,x,7\nq,,a,1\n,,x,1\nq,,,1\nq,본문,x,1\nt,,x,1\nq,,y,1\nq,,y,2\nN,토지,x,1\nN,보상,y,1\nM,17조 검색,x,1\n"
        )),
        [
            "sheet.csv:2: query `q` gives document `x` the grade 7, beyond scale_max 3; correct the \
             grade or the scale",
            "sheet.csv:3: query `q` judges document `a` again and contradicts itself: grade 1, but 2 \
             at gold:2; keep one of the two judgements",
            "sheet.csv:4: a grade without a query; fill in `query_id` or `query_text`",
            "sheet.csv:5: a grade without a `document_id`",
            "sheet.csv:6: the text `본문` of query `q` also belongs to query `t` at gold:5 (letter \
             case and white space are ignored); a search for it would match both, so keep it in one \
             of the two",
            "sheet.csv:7: query `t` is judged by gold texts, and a document cannot be added to it",
            "sheet.csv:9: query `q` judges document `y` again and contradicts itself: grade 2, but 1 \
             at sheet.csv:8; keep one of the two judgements",
            "sheet.csv:11: the new query `N` has another `query_text` at line 10; keep one of the two",
            "sheet.csv:12: the text `17조 검색` of query `M` also belongs to query `q` at gold:2 \
             (letter case and white space are ignored); a search for it would match both, so keep \
             it in one of the two",
        ]
    );
    assert_eq!(
        wrong(&format!("{HEADER}q,,x,viel\nq,,y,1e9\n")),
        [
            "sheet.csv:2: the grade `viel` is not a number from -1000 to 1000",
            "sheet.csv:3: the grade `1e9` is not a number from -1000 to 1000",
        ]
    );
    assert_eq!(
        wrong(&format!("{HEADER}q,permits, 2020,x,2\n")),
        ["sheet.csv:2: 5 fields where the header has 4; quote a field that contains the separator"]
    );
    let no_sheet = "sheet.csv:1: a sheet is CSV with a header that names the columns `query_id`, \
                    `query_text`, `document_id` and `grade`";
    assert_eq!(wrong(""), [no_sheet]);
    assert_eq!(wrong("query,docid,rating\n"), [no_sheet]);
}

#[test]
fn sheets_saved_by_spreadsheets_are_read() {
    for sheet in [
        "\u{feff}Query_ID;query_text;document_id;grade\r\nq;17조 검색;x;2\r\n;;;\r\n\r\n",
        "grade\tdocument_id\tquery_text\tquery_id\textra\n2\tx\t17조 검색\tq\t?\n",
        "query_id,query_text,document_id,grade\nq,17조 검색,x, 2.0 ",
    ] {
        let set = adopted(sheet, GradeSource::Annotated).set;
        assert_eq!(grade_of(&set.queries()[0], "x"), Some(2.0), "{sheet}");
    }
    let error = FilledRow::parse_sheet(
        "sheet.csv",
        b"query_id,query_text,document_id,grade\nq,,\xb9\xfd,1\n",
    );
    let error = error.expect_err("not UTF-8").to_string();
    assert_eq!(
        error,
        "the sheet has a problem: sheet.csv:2: not UTF-8; save the file as UTF-8"
    );
}

#[test]
fn cells_of_a_sheet_are_never_formulas() {
    let ids = ["=1+1", "+x", "-x", "@x", "'x", "\tx", "\rx"];
    let rows: Vec<SheetRow> = ids.map(row).into();
    let text = write::sheet(&rows).expect("a sheet");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for record in reader.records() {
        let record = record.expect("a row");
        assert!(record[2].starts_with('\''), "{record:?}");
    }
    let read = FilledRow::parse_sheet("sheet.csv", text.as_bytes()).expect("a sheet");
    let found: Vec<&str> = read.iter().map(|row| row.document_id.as_str()).collect();
    assert_eq!(found, ids);
}

fn row(document: &str) -> SheetRow {
    SheetRow {
        query_id: "q".to_owned(),
        document_id: document.to_owned(),
        ..SheetRow::default()
    }
}

/// Texts with every character that is special in CSV or in spreadsheets.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        "[가-힣:_]{1,4}",
        "[,;\"'\r\n\t=+@ x-]{1,6}",
        any::<String>().prop_filter("some text", |text| !text.is_empty()),
    ]
}

proptest! {
    #[test]
    fn a_written_sheet_round_trips(
        rows in prop::collection::vec((hostile(), hostile(), hostile()), 1..8),
        grade in -3_i32..=3,
    ) {
        let grade = Grade::new(f64::from(grade));
        let rows: Vec<SheetRow> = rows
            .into_iter()
            .map(|(query_id, query_text, document_id)| SheetRow {
                query_id, query_text, document_id,
                clicks: 4, searches: 9, production_judgments: 2, production_grade: grade,
                ..SheetRow::default()
            })
            .collect();
        let text = write::sheet(&rows).expect("a sheet");
        let read = FilledRow::parse_sheet("sheet.csv", text.as_bytes()).expect("a sheet");
        prop_assert_eq!(read.len(), rows.len());
        for (read, row) in read.iter().zip(&rows) {
            // White space around the content of a cell is no part of it.
            let kept = |text: &str| {
                let cell = escape_cell(text);
                let cell = cell.trim();
                cell.strip_prefix('\'').unwrap_or(cell).to_owned()
            };
            prop_assert_eq!(&read.query_id, &kept(&row.query_id));
            prop_assert_eq!(&read.query_text, &kept(&row.query_text));
            prop_assert_eq!(&read.document_id, &kept(&row.document_id));
            prop_assert_eq!((read.clicks, read.grade), (Some((4, 9)), None));
            prop_assert_eq!(read.production_grade, grade);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let sheet = [HEADER.as_bytes(), &bytes].concat();
        if let Ok(rows) = FilledRow::parse_sheet("sheet.csv", &sheet) {
            drop(Adoption::of(&gold(), "sheet.csv", rows, GradeSource::AnnotatorsOrProduction, None));
        }
        drop(FilledRow::parse_sheet("sheet.csv", &bytes));
    }

    #[test]
    fn an_adopted_set_is_a_valid_gold_set(
        rows in prop::collection::vec((hostile(), hostile(), hostile(), 0_i32..=3), 1..12),
    ) {
        let set = rankgauge_core::gold::parse("gold", native("{\"query_id\": \"q\", \"ground_truth\": {\"d\": 1}}").as_bytes(), &Options::default());
        let rows: Vec<SheetRow> = rows
            .into_iter()
            .map(|(query_id, query_text, document_id, grade)| SheetRow {
                query_id, query_text, document_id,
                production_grade: Grade::new(f64::from(grade)),
                ..SheetRow::default()
            })
            .collect();
        let rows = rows.into_iter().map(Into::into).collect();
        let set = set.expect("a set");
        if let Ok(adoption) = Adoption::of(&set, "sheet", rows, GradeSource::AnnotatorsOrProduction, None) {
            let written = write::write(&adoption.set, rankgauge_core::gold::Format::Native, "");
            let again = parse(&written.expect("native").judgements);
            prop_assert_eq!(again.queries(), adoption.set.queries());
        }
    }
}
