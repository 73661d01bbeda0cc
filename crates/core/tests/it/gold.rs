//! Gold files: content, matching of searches to gold queries, and every kind of file error.

mod documented;
mod expansion;
mod formats;
mod hostile;
mod memory;
mod published;
mod wrong_files;

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use rankgauge_core::gold::{self, Format, GoldQuery, GoldSet, Grade, Judgements, Options};

fn data(name: &str) -> PathBuf {
    crate::repository("tests/data/gold").join(name)
}

fn load(name: &str) -> GoldSet {
    gold::load(&[data(name)], &Options::default()).expect("a valid gold file")
}

fn parse(content: &str) -> GoldSet {
    gold::parse("gold", content.as_bytes(), &Options::default()).expect("a valid gold file")
}

/// Native gold set with these queries.
fn native(queries: &str) -> String {
    format!("{{\"queries\": [{queries}]}}")
}

fn found<'a>(set: &'a GoldSet, key: Option<&str>, text: Option<&str>) -> Option<&'a str> {
    set.find(key, text)
        .map(|index| set.query(index).key.as_str())
}

fn grade_of(query: &GoldQuery, document: &str) -> Option<f64> {
    query
        .judgements
        .find(document)
        .map(|(_, grade)| grade.get())
}

fn problems(name: &str, content: &[u8], options: &Options) -> Vec<String> {
    let error = gold::parse(name, content, options).expect_err("the gold file is wrong");
    error.problems().iter().map(ToString::to_string).collect()
}

#[track_caller]
fn assert_problems(content: &str, expected: &[&str]) {
    assert_eq!(
        problems("gold", content.as_bytes(), &Options::default()),
        expected
    );
}

// Formats.

#[test]
fn the_methodology_format_is_read_completely() {
    let set = load("law.json");
    assert_eq!(
        (set.version(), set.queries().len(), set.judgement_count()),
        ("1.0", 2, 5)
    );
    assert_eq!(
        (set.relevance_level().get(), set.scale_max().map(Grade::get)),
        (1.0, Some(3.0))
    );

    let [first, second] = set.queries() else {
        unreachable!("two queries")
    };
    assert_eq!(
        (first.key.as_str(), first.text.as_deref()),
        ("Q001", Some("17조 검색"))
    );
    assert_eq!(first.aliases, ["제17조"]);
    let labels: Vec<_> = first
        .labels
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(
        labels,
        [
            ("category", "A"),
            ("difficulty", "easy"),
            ("primary_domain", "도시계획 및 환경 관리"),
            ("query_type", "specific_article"),
            ("year", "2024"),
        ]
    );
    assert_eq!(
        (first.needs.get("a2a"), first.needs.get("rne")),
        (Some(&false), Some(&true))
    );
    assert_eq!(grade_of(first, "법률_제17조_제1항"), Some(3.0));
    assert_eq!(first.judgements.relevant(None), 2);
    assert_eq!(Some(first.judgements.scale_max()), Grade::new(3.0));

    let (position, _) = first.judgements.find("법률_제17조_제1항").expect("judged");
    let detail = &first.details[position];
    assert_eq!(detail.facets["law_type"], "법률");
    assert_eq!(
        detail.annotations.get("annotator_2").copied(),
        Grade::new(2.0)
    );
    assert_eq!(detail.notes.as_deref(), Some("직접적인 답변"));
    assert_eq!(first.details[1].facets["chapter"], "4");

    assert_eq!(first.expected["law_type"], ["법률", "시행령"]);
    assert_eq!(first.required, ["법률_제17조_제1항"]);
    let graph = first.graph.as_ref().expect("a graph");
    assert_eq!(
        (graph.nodes().len(), graph.edges()[0].to.as_str()),
        (2, "시행령_제17조")
    );
    assert_eq!(first.texts, ["도시계획의 수립"]);

    assert_eq!(second.key, "2");
    assert_eq!(grade_of(second, "doc::chunk 0"), Some(1.5));
    assert_eq!(grade_of(second, "doc:1"), Some(-1.0));
    assert_eq!(grade_of(second, "doc"), None);
    assert!(second.details.is_empty());
    // The scale belongs to the set, not to the query.
    assert_eq!(Some(second.judgements.scale_max()), Grade::new(3.0));
}

#[test]
fn qrels_are_read_with_the_topics_beside_them() {
    let set = load("law.qrels");
    assert_eq!(set.judgement_count(), 3);
    let [first, second] = set.queries() else {
        unreachable!("two queries")
    };
    assert_eq!(
        (first.key.as_str(), first.text.as_deref()),
        ("q1", Some("도시 계획"))
    );
    assert_eq!(grade_of(first, "국토계획법_제21조"), Some(2.0));
    assert_eq!(grade_of(first, "d2"), Some(-1.0));
    assert_eq!(
        (second.text.as_deref(), grade_of(second, "d3")),
        (Some("용도 지역"), Some(0.5))
    );
    assert_eq!(second.judgements.relevant(None), 0);
}

#[test]
fn a_missing_version_defaults_to_the_start_of_the_hash() {
    let set = load("law.qrels");
    assert_eq!(set.sha256().len(), 64);
    assert!(set.sha256().chars().all(|digit| digit.is_ascii_hexdigit()));
    assert_eq!(set.version(), &set.sha256()[..12]);
}

#[test]
fn the_relevance_level_of_the_options_overrides_that_of_the_file() {
    let file = "{\"relevance_level\": 2, \"scale_max\": 4, \"queries\": [
        {\"query_id\": \"q\", \"ground_truth\": {\"a\": 1, \"b\": 2, \"c\": 3}, \"total_relevant\": 2}]}";
    let set = parse(file);
    assert_eq!(
        (set.relevance_level().get(), set.scale_max().map(Grade::get)),
        (2.0, Some(4.0))
    );
    assert_eq!(set.queries()[0].judgements.relevant(None), 2);

    // `total_relevant` still counts by the relevance level of the file.
    let options = Options {
        relevance_level: Grade::new(3.0),
        ..Options::default()
    };
    let set = gold::parse("gold", file.as_bytes(), &options).expect("a valid gold file");
    assert_eq!(set.queries()[0].judgements.relevant(None), 1);
}

#[test]
fn a_byte_order_mark_is_ignored() {
    assert_eq!(parse("\u{feff}q 0 d 1").queries()[0].key, "q");
    assert_eq!(
        parse("\u{feff}{\"queries\": [{\"query_id\": 1, \"ground_truth\": {\"d\": 1}}]}").queries()
            [0]
        .key,
        "1"
    );
}

#[test]
fn format_names_round_trip() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    assert_eq!("pytrec_eval".parse(), Ok(Format::Ranx));
    let error = "trec_eval".parse::<Format>().expect_err("not a format");
    assert_eq!(
        error.to_string(),
        "unknown gold format `trec_eval`; expected one of `native`, `rag`, `plan`, `qrels`, `beir`, \
         `quepid`, `srw`, `rank_eval`, `ranx`"
    );
}

// Joining.

#[test]
fn a_search_matches_its_query_by_key_then_text_then_alias() {
    let set = load("law.json");
    assert_eq!(
        found(&set, Some("Q001"), Some("Zoning  Permit")),
        Some("Q001")
    );
    assert_eq!(found(&set, None, Some("17조 검색")), Some("Q001"));
    assert_eq!(found(&set, None, Some("Zoning  Permit")), Some("2"));
    // Texts are normalised: full-width letters, letter case, white space, decomposed Hangul.
    assert_eq!(
        found(&set, None, Some(" ｚoning\u{3000}PERMIT\n")),
        Some("2")
    );
    assert_eq!(
        found(&set, None, Some("17\u{110c}\u{1169} 검색")),
        Some("Q001")
    );
    assert_eq!(found(&set, None, Some("제17조")), Some("Q001"));
    assert_eq!(found(&set, None, Some("제17조 ")), Some("Q001"));
    // The text is not matched when the key is unknown: its producer means another query.
    assert_eq!(found(&set, Some("nope"), Some("17조 검색")), None);
    assert_eq!(found(&set, Some(""), Some("17조 검색")), Some("Q001"));
    assert_eq!(found(&set, Some("nope"), Some("18조")), None);
    assert_eq!(found(&set, None, None), None);
    // Keys are not normalised.
    assert_eq!(found(&set, Some("q001"), None), None);
}

#[test]
fn an_empty_set_matches_no_search() {
    let set = GoldSet::empty();
    assert_eq!(set.find(Some(""), Some("")), None);
    assert_eq!(
        (
            set.judgement_count(),
            set.scale_max().map(Grade::get),
            set.version().len()
        ),
        (0, None, 12)
    );
    let loaded = gold::load(&[], &Options::default()).expect("no paths, no problem");
    assert_eq!(loaded.sha256(), set.sha256());
}

#[test]
fn duplicate_documents_in_judgements_are_rejected() {
    let twice = ["a", "a"].map(|id| (id.into(), Grade::ONE));
    let error = Judgements::new(Grade::ONE, twice).expect_err("a repeated document");
    assert_eq!(
        error.to_string(),
        "document `a` is judged twice: keep one of the two judgements"
    );
}

#[test]
fn grades_are_finite_and_bounded() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1000.5, -1001.0] {
        assert_eq!(Grade::new(value), None);
    }
    assert_eq!(
        Grade::new(-0.0).map(|grade| grade.get().is_sign_negative()),
        Some(false)
    );
}

// Files and folders.

#[test]
fn files_of_a_folder_are_loaded_in_name_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).expect("a file");
    };
    write("b.qrels", "q2 0 d 1");
    write("a.qrels", "q1 0 d 1");
    write("topics.tsv", "q2\t두 번째\nq1\t첫 번째");
    write(".hidden", "not a gold file at all");
    fs::create_dir(folder.path().join("sub")).expect("a folder in it");
    let set = gold::load(&[folder.path().to_owned()], &Options::default()).expect("valid files");
    let keys: Vec<&str> = set
        .queries()
        .iter()
        .map(|query| query.key.as_str())
        .collect();
    assert_eq!(keys, ["q1", "q2"]);
    assert_eq!(set.queries()[1].text.as_deref(), Some("두 번째"));
}

#[cfg(unix)]
#[test]
fn a_mounted_config_map_is_read_once_and_again_after_a_swap() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for (version, content) in [("..2025_1", "q 0 d 1"), ("..2025_2", "q 0 d 1\nr 0 d 1")] {
        fs::create_dir(path(version)).expect("a version");
        fs::write(path(version).join("gold.qrels"), content).expect("a file");
    }
    symlink("..2025_1", path("..data")).expect("a link");
    symlink("..data/gold.qrels", path("gold.qrels")).expect("a link");
    let load = || gold::load(&[folder.path().to_owned()], &Options::default()).expect("valid");
    assert_eq!(load().queries().len(), 1);
    symlink("..2025_2", path("..data_tmp")).expect("a link");
    fs::rename(path("..data_tmp"), path("..data")).expect("the swap");
    assert_eq!(load().queries().len(), 2);
}

#[test]
fn every_unreadable_file_and_folder_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("missing.json");
    let paths = [missing.clone(), folder.path().to_owned()];
    let error = gold::load(&paths, &Options::default()).expect_err("nothing to read");
    let messages: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages.iter().any(|message| {
        message.starts_with(&format!("{}: cannot be read: ", missing.display()))
    }));
    assert!(messages.contains(&format!(
        "{}: the folder holds no gold file; put one there or name a file",
        folder.path().display()
    )));
}

#[test]
fn conflicting_settings_of_several_files_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).expect("a file");
    };
    let query = |id: &str| format!("{{\"query_id\": \"{id}\", \"ground_truth\": {{\"d\": 1}}}}");
    write(
        "a.json",
        &format!(
            "{{\"relevance_level\": 1, \"version\": \"1\", \"queries\": [{}]}}",
            query("q")
        ),
    );
    write(
        "b.json",
        &format!(
            "{{\"relevance_level\": 2, \"version\": \"2\", \"queries\": [\n{}]}}",
            query("q").replace("\"d\": 1", "\"e\": 1, \"d\": 2")
        ),
    );
    let load = || gold::load(&[folder.path().to_owned()], &Options::default());
    let error = load().expect_err("they do not agree");
    let messages: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (a, b) = (path("a.json"), path("b.json"));
    assert_eq!(
        messages,
        [
            format!("{b}: relevance_level is 2, but 1 at {a}; files of one gold set must agree"),
            format!(
                "{b}:2: query `q` judges document `d` again and contradicts itself: grade 2, but 1 at {a}:1; keep \
                 one of the two judgements"
            ),
        ]
    );
    assert_eq!(
        error.to_string(),
        format!(
            "the gold set has 2 problems:\n  {}\n  {}",
            messages[0], messages[1]
        )
    );

    // With two different versions, the set takes neither of them.
    write(
        "b.json",
        &format!("{{\"version\": \"2\", \"queries\": [{}]}}", query("r")),
    );
    let set = load().expect("they agree now");
    assert_eq!(set.version(), &set.sha256()[..12]);
}

// File errors.

#[test]
fn an_empty_file_is_reported_as_empty() {
    let message = "gold: the file is empty; give it queries with judgements, or leave it out";
    assert_problems("", &[message]);
    assert_problems(" \n# nothing\n", &[message]);
    assert_problems(
        "{\"queries\": []}",
        &["gold: `queries` is an empty list; give it queries, or leave the file out"],
    );
}

#[test]
fn an_unknown_format_error_lists_the_expected_formats() {
    let expected = "unknown gold format; expected JSON (native, RAG design, \
                    evaluation plan, SRW, rank_eval, ranx, Quepid, RRE), TREC qrels with four columns `query \
                    iteration document grade`, a BEIR tsv with the header `query-id corpus-id \
                    score`, or a table whose header names a query, a document and a grade, as \
                    `query_id,doc_id,relevance`";
    assert_problems("\nquery,document\n", &[&format!("gold:2: {expected}")]);
    assert_problems("[{\"query_id\": 1}]", &[&format!("gold:1: {expected}")]);
}

#[test]
fn invalid_utf_8_is_reported_with_its_line() {
    let found = problems("gold", b"q 0 d 1\nq 0 \xff 1", &Options::default());
    assert_eq!(found, ["gold:2: not UTF-8; save the file as UTF-8"]);
}

#[test]
fn invalid_json_is_reported_with_its_line() {
    assert_problems(
        "{\n\"queries\": [\n{]}",
        &["gold:3: not valid JSON: key must be a string"],
    );
    assert_problems(
        "{\"queries\": [",
        &["gold:1: not valid JSON: EOF while parsing a list"],
    );
}

#[test]
fn all_wrong_types_and_missing_fields_are_reported_by_path() {
    assert_problems(
        "{\"queries\": 3}",
        &["gold:1: queries: invalid type: integer `3`, expected a sequence"],
    );
    assert_problems(
        &native(
            "\n{\"query_id\": \"a\"},
            {\"ground_truth\": {}},
            {\"query_id\": true, \"ground_truth\": {}},
            {\"query_id\": \"b\",
             \"ground_truth\": {\"법률_제1조\": \"3\"}},
            {\"query_id\": \"c\", \"ground_truth\": {\"d\": {\"law_type\": \"법률\"}}},
            {\"query_id\": \"d\", \"ground_truth\": {\"d\": {\"relevance\": 1, \"annotator_1\": \"x\"}}},
            {\"query_id\": \"e\", \"ground_truth\": {}, \"aliases\": [1]},
            7",
        ),
        &[
            "gold:2: queries[0]: missing field `ground_truth`",
            "gold:3: queries[1]: missing field `query_id`",
            "gold:4: queries[2].query_id: invalid type: boolean `true`, expected a string or a \
             whole number",
            "gold:6: queries[3].ground_truth.법률_제1조: invalid type: string \"3\", expected a \
             grade, or an object with `relevance`",
            "gold:7: queries[4].ground_truth.d: missing field `relevance`",
            "gold:8: queries[5].ground_truth.d.annotator_1: invalid type: string \"x\", expected f64",
            "gold:9: queries[6].aliases[0]: invalid type: integer `1`, expected a string",
            "gold:10: queries[7]: not a query, which is an object with `query_id` and \
             `ground_truth`",
        ],
    );
}

#[test]
fn grades_out_of_range_are_rejected() {
    assert_problems(
        &native("{\"query_id\": \"a\", \"ground_truth\": {\"d\": 1e9}}"),
        &[
            "gold:1: queries[0].ground_truth.d: the grade 1000000000 is out of range: a grade is a \
           number from -1000 to 1000",
        ],
    );
    assert_problems(
        "q 0 a 1\nq 0 b NaN\nq 0 c inf\nq 0 d high\n",
        &[
            "gold:2: the grade `NaN` is not a number from -1000 to 1000",
            "gold:3: the grade `inf` is not a number from -1000 to 1000",
            "gold:4: the grade `high` is not a number from -1000 to 1000",
        ],
    );
    assert_problems(
        "{\"scale_max\": 3, \"queries\": [{\"query_id\": \"a\", \"ground_truth\": {\"d\": 4}}]}",
        &[
            "gold:1: query `a` gives document `d` the grade 4, beyond scale_max 3; correct the grade \
           or the scale",
        ],
    );
}

#[test]
fn an_invalid_qrels_line_is_reported_with_its_number() {
    assert_problems(
        "q 0 a 1\n\nq 0 b\nq 0 c d 1\n",
        &[
            "gold:3: 3 columns where TREC qrels have four, `query iteration document grade`, \
             separated by white space",
            "gold:4: 5 columns where TREC qrels have four, `query iteration document grade`, \
             separated by white space",
        ],
    );
}

#[test]
fn a_configured_format_disables_format_detection() {
    let qrels = Options {
        format: Some(Format::Qrels),
        ..Options::default()
    };
    assert_eq!(
        problems("gold", b"{\"queries\": []}", &qrels),
        [
            "gold:1: 2 columns where TREC qrels have four, `query iteration document grade`, \
          separated by white space"
        ],
    );
    let native = Options {
        format: Some(Format::Native),
        ..Options::default()
    };
    assert!(problems("gold", b"q 0 d 1", &native)[0].starts_with("gold:1: unknown gold format"));
}

#[test]
fn invalid_topics_are_reported_with_their_lines() {
    let options = Options::default();
    assert_eq!(
        problems(
            "topics.tsv",
            "q1\t가\nq2\nq4\t나\nq3\t \n".as_bytes(),
            &options
        ),
        [
            "topics.tsv:2: a topic is written as the query's id, a tab, and its text",
            "topics.tsv:4: a topic is written as the query's id, a tab, and its text",
        ]
    );
}

#[test]
fn duplicate_queries_and_documents_are_rejected() {
    assert_problems(
        &native(
            "{\"query_id\": \"a\", \"ground_truth\": {\"d\": 1,\n\"e\": 2, \"d\": 3}},
            {\"query_id\": \"a\", \"ground_truth\": {}},
            {\"query_id\": \" \", \"ground_truth\": {}}",
        ),
        &[
            "gold:1: query `a` judges document `d` again and contradicts itself: grade 3, but 1 at \
             gold:1; keep one of the two judgements",
            "gold:3: the query id `a` is already defined at gold:1; rename or remove one",
            "gold:4: a query has an empty id; give it a unique id",
        ],
    );
    assert_problems(
        "q 0 d 1\nr 0 d 1\nq 0 d 1\n",
        &[
            "gold:3: query `q` judges document `d` again, first at gold:1; keep one of the two \
           judgements",
        ],
    );
    assert_problems(
        &native(
            "{\"query_id\": \"a\", \"ground_truth\": {\"d\": {\"relevance\": 1, \"relevance\": 2}}}",
        ),
        &["gold:1: queries[0].ground_truth.d: duplicate field `relevance`"],
    );
}

#[test]
fn a_text_shared_by_two_queries_is_rejected() {
    assert_problems(
        &native(
            "{\"query_id\": \"a\", \"query_text\": \"Zoning Permit\", \"ground_truth\": {}},
            {\"query_id\": \"b\", \"query_text\": \"x\", \"aliases\": [\"zoning  permit\"], \"ground_truth\": {}},
            {\"query_id\": \"c\", \"query_text\": \" \", \"ground_truth\": {}}",
        ),
        &[
            "gold:2: the text `zoning  permit` of query `b` also belongs to query `a` at gold:1 \
             (letter case and white space are ignored); a search for it would match both, so keep \
             it in one of the two",
            "gold:3: query `c` has a blank text or alias; fill it in or remove it",
        ],
    );
    // A query may repeat its own text.
    let set = parse(&native(
        "{\"query_id\": 1, \"query_text\": \"A\", \"aliases\": [\"a\"], \"ground_truth\": {\"d\": 1}}",
    ));
    assert_eq!(found(&set, None, Some("a")), Some("1"));
}

#[test]
fn a_wrong_total_relevant_is_rejected() {
    assert_problems(
        &native(
            "{\"query_id\": \"a\", \"ground_truth\": {\"d\": 0, \"e\": 2}, \"total_relevant\": 2}",
        ),
        &[
            "gold:1: query `a` states total_relevant 2, but 1 of its documents have a grade of at \
           least 1; correct the number or the judgements",
        ],
    );
}

#[test]
fn a_long_list_of_problems_is_truncated_in_the_message_only() {
    let content = "q 0 d 1\n".repeat(61);
    let error = gold::parse("gold", content.as_bytes(), &Options::default()).expect_err("repeats");
    assert_eq!(error.problems().len(), 60);
    assert!(
        error
            .to_string()
            .starts_with("the gold set has 60 problems:\n  gold:2: ")
    );
    assert!(error.to_string().ends_with("\n  … and 10 more"));
}

/// Qrels larger than several parts of a file: 40 queries with 1000 documents, one query after the
/// other or scattered.
fn large_qrels(scattered: bool) -> Vec<String> {
    let line = |row: usize| {
        let (query, document) = if scattered {
            (row % 40, row / 40)
        } else {
            (row / 1000, row % 1000)
        };
        format!("q{query} 0 법률::제{document}조 {}", (query + document) % 4)
    };
    (0..40_000).map(line).collect()
}

#[test]
fn large_qrels_have_all_judgements_in_the_order_of_their_lines() {
    for scattered in [false, true] {
        let set = parse(&large_qrels(scattered).join("\n"));
        let keys: Vec<&str> = set
            .queries()
            .iter()
            .map(|query| query.key.as_str())
            .collect();
        let expected: Vec<String> = (0..40).map(|query| format!("q{query}")).collect();
        assert_eq!(keys, expected);
        for (at, query) in set.queries().iter().enumerate() {
            let line = if scattered { at + 1 } else { 1000 * at + 1 };
            assert_eq!(set.place(at).and_then(|place| place.line), Some(line));
            let documents = query.judgements.documents();
            assert_eq!(documents.len(), 1000);
            for (number, (document, grade)) in documents.into_iter().enumerate() {
                assert_eq!(document, format!("법률::제{number}조"));
                let expected = u32::try_from((at + number) % 4).expect("a small number");
                assert_eq!(Some(grade), Grade::new(f64::from(expected)));
                assert_eq!(query.judgements.find(document), Some((number, grade)));
            }
        }
    }
}

#[test]
fn problems_of_large_qrels_are_reported_with_their_lines() {
    let mut lines = large_qrels(false);
    lines[30_000] = "q7 0 법률::제5조 0".to_owned();
    lines[39_000] = "q7 0 법률::제5조 9".to_owned();
    lines[39_500] = "q9 0 법률::제5조".to_owned();
    let content = lines.join("\n");
    assert_eq!(
        problems("gold", content.as_bytes(), &Options::default()),
        [
            "gold:39501: 3 columns where TREC qrels have four, `query iteration document grade`, \
             separated by white space",
            "gold:30001: query `q7` judges document `법률::제5조` again, first at gold:7006; keep one of \
             the two judgements",
            "gold:39001: query `q7` judges document `법률::제5조` again and contradicts itself: grade 9, \
             but 0 at gold:7006; keep one of the two judgements",
        ]
    );
}

/// Asserts that a file has the same content when it is read in parts as when it is parsed as a whole.
#[track_caller]
fn assert_read_in_parts(content: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gold");
    fs::write(&path, content).expect("a written file");
    let name = path.display().to_string();
    let of_file = gold::load(&[path], &Options::default());
    match gold::parse(&name, content.as_bytes(), &Options::default()) {
        Ok(set) => {
            let of_file = of_file.expect("a valid file");
            assert_eq!(of_file.queries(), set.queries());
            assert_eq!(of_file.sha256(), set.sha256());
            let last = set.queries().len();
            for position in 0..=last {
                assert_eq!(of_file.place(position), set.place(position));
            }
        }
        Err(error) => {
            let of_file = of_file.expect_err("the same problems");
            assert_eq!(of_file.to_string(), error.to_string());
        }
    }
}

/// Qrels so large that files with them are read in parts.
fn larger_qrels(scattered: bool) -> Vec<String> {
    let lines = large_qrels(scattered).into_iter();
    lines
        .map(|line| line.replace("제", "민사소송법::제"))
        .collect()
}

#[test]
fn large_qrels_are_read_in_parts_as_they_are_parsed() {
    let lines = larger_qrels(false);
    let content = lines.join("\n");
    assert!(
        content.len() > 1 << 20,
        "only large files are read in parts"
    );
    assert_read_in_parts(&content);
    assert_read_in_parts(&larger_qrels(true).join("\n"));
    assert_read_in_parts(&(lines.join("\r\n") + "\r\n"));
    assert_read_in_parts(&format!("\u{feff}{content}\n\n"));
    // A mark at the start of any line but the first belongs to the id.
    assert_read_in_parts(&lines.join("\n\u{feff}"));
    assert_read_in_parts(&lines.join("\n# comment\n \t\n"));
    assert_read_in_parts(&format!("{content}\n#{}\nq 0 d 1", "x".repeat(3 << 20)));
    let wrong = ["q7 0 법률::제5조", "q7 0 법률::제5조 3", "q7 0 d good"];
    for line in wrong {
        assert_read_in_parts(&format!("{content}\n{line}\n{content}"));
    }
}

#[test]
fn large_qrels_with_topics_beside_them_have_the_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gold.qrels");
    fs::write(&path, larger_qrels(false).join("\n")).expect("a written file");
    fs::write(folder.path().join("gold.tsv"), "q7\t손해배상\n").expect("a written file");
    let set = gold::load(&[path], &Options::default()).expect("a valid gold set");
    assert_eq!(set.queries()[7].text.as_deref(), Some("손해배상"));
}

// Properties.

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_the_loader(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        tsv in any::<bool>(),
        format in prop::option::of(prop::sample::select(Format::ALL.to_vec())),
    ) {
        let name = if tsv { "gold.tsv" } else { "gold" };
        let options = Options { format, ..Options::default() };
        if let Err(error) = gold::parse(name, &bytes, &options) {
            prop_assert!(!error.problems().is_empty());
        }
    }

    #[test]
    fn a_corrupted_file_never_panics_the_loader(
        damages in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = fs::read(data("law.json")).expect("a gold file");
        for (place, byte) in damages {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut.index(4) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Err(error) = gold::parse("gold", &bytes, &Options::default()) {
            prop_assert!(error.to_string().starts_with("the gold set has "));
        }
    }

    #[test]
    fn qrels_keep_every_judgement(
        grades in prop::collection::btree_map(("q[0-9]", "[가-힣:_a-z]{1,6}"), -3_i32..=3, 1..40),
    ) {
        let lines: Vec<String> = grades
            .iter()
            .map(|((query, document), grade)| format!("{query} 0 {document} {grade}"))
            .collect();
        let content = lines.join("\n");
        let set = parse(&content);
        prop_assert_eq!(set.judgement_count(), grades.len());
        for ((query, document), grade) in &grades {
            let index = set.find(Some(query), None).expect("a judged query");
            prop_assert_eq!(grade_of(set.query(index), document), Some(f64::from(*grade)));
        }
    }
}
