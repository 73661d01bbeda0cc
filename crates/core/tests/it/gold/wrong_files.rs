//! Files that people give as a gold set and that are none, and files beside a gold set.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rankgauge_core::gold::{self, GoldSet, Options, Unjudged};

/// Folder with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

/// Loads files of a folder. Problems name them without it.
fn load(folder: &Path, names: &[&str]) -> Result<GoldSet, Vec<String>> {
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    let folder = format!("{}/", folder.display());
    let without_folder = |problem: &gold::Problem| problem.to_string().replace(&folder, "");
    gold::load(&paths, &Options::default())
        .map_err(|error| error.problems().iter().map(without_folder).collect())
}

#[track_caller]
fn assert_rejected(folder: &Path, names: &[&str], expected: &[&str]) {
    let problems = load(folder, names).expect_err("no gold set");
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
}

const QRELS: &str = "q1 0 d1 1\n";

#[test]
fn a_gold_set_without_judgements_is_an_error_that_says_what_was_found() {
    let folder = folder(&[
        ("topics.tsv", "q1\tzoning\nq2\tpermits\n"),
        ("header.csv", "query,docid,rating\n"),
        ("header.tsv", "query-id\tcorpus-id\tscore\n"),
        ("frame.csv", "query_id,doc_id,relevance\r\n"),
        ("frame.tsv", "query_id\tdoc_id\trelevance\n"),
        ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"zoning\"}\n"),
    ]);
    let topics = "topics.tsv: no judgements, only 2 query texts (an id and a text); give documents with grades";
    assert_rejected(folder.path(), &["topics.tsv"], &[topics]);
    assert_rejected(
        folder.path(),
        &["header.tsv"],
        &["header.tsv: only the header `query-id corpus-id score`"],
    );
    assert_rejected(
        folder.path(),
        &["header.csv"],
        &["header.csv: only the header `query,docid,rating`, and no judgements"],
    );
    assert_rejected(
        folder.path(),
        &["frame.csv"],
        &["frame.csv: only the header `query_id,doc_id,relevance`, and no judgements"],
    );
    assert_rejected(
        folder.path(),
        &["frame.tsv"],
        &["frame.tsv: only the header `query_id doc_id relevance`, and no judgements"],
    );
    assert_rejected(
        folder.path(),
        &["queries.jsonl"],
        &["queries.jsonl: no judgements, only 1 query text (an id and a text)"],
    );
}

#[test]
fn a_set_in_which_nothing_is_judged_is_an_error_that_names_the_place_of_the_grades() {
    let cases = [
        (
            "ranx.json",
            r#"{"q1": {}}"#,
            "1 query, and nothing is judged; give documents with grades in `{query: {document: grade}}`",
        ),
        (
            "native.json",
            r#"{"queries": [{"query_id": "a", "query_text": "zoning", "query_type": "x", "ground_truth": {}},
                {"query_id": "b", "ground_truth": {}}]}"#,
            "2 queries, and nothing is judged; give documents with grades in `ground_truth`",
        ),
        (
            "srw.json",
            r#"{"judgmentRatings": [{"query": "zoning", "ratings": []}]}"#,
            "1 query, and nothing is judged; give documents with grades in `ratings`",
        ),
        (
            "rank_eval.json",
            r#"{"requests": [{"id": "a", "request": {}, "ratings": []}]}"#,
            "1 query, and nothing is judged; give documents with grades in `ratings`",
        ),
        (
            "quepid.csv",
            "query,docid,rating\nzoning,d1,\npermits,d2,\n",
            "2 queries, and nothing is judged; give documents with grades in the column of grades",
        ),
        (
            "rag.json",
            r#"[{"query_id": "a", "query": "zoning", "relevant_chunk_ids": []}]"#,
            "1 query, and nothing is judged; give documents with grades in `relevant_chunk_ids`",
        ),
    ];
    for (name, content, expected) in cases {
        let folder = folder(&[(name, content), ("judged.qrels", QRELS)]);
        assert_rejected(folder.path(), &[name], &[&format!("{name}: {expected}")]);
        // Another file can judge.
        assert!(
            load(folder.path(), &[name, "judged.qrels"]).is_ok(),
            "{name}"
        );
        let accepted = Options {
            unjudged: Unjudged::All,
            ..Options::default()
        };
        let set = gold::load(&[folder.path().join(name)], &accepted).expect("a begun set");
        assert!(set.is_unjudged());
    }
}

#[test]
fn expectations_other_than_judgements_make_a_set() {
    for query in [
        r#""answers": ["yes"]"#,
        r#""ground_truth": {}, "answerable": false"#,
        r#""ground_truth": {}, "primary_domain": "law""#,
        r#""ground_truth": {}, "expected": {"type": ["law"]}"#,
        r#""ground_truth": {}, "needs_a2a": true"#,
        r#""ground_truth": {}, "required": ["d1"]"#,
        r#""texts": ["a paragraph"]"#,
    ] {
        let text = format!("{{\"queries\": [{{\"query_id\": \"a\", {query}}}]}}");
        let set = gold::parse("gold.json", text.as_bytes(), &Options::default());
        assert!(set.is_ok(), "{query}: {set:?}");
    }
}

#[test]
fn a_starter_set_is_accepted_by_its_version() {
    let of_version = |version: &str| {
        let text = format!(
            "{{\"version\": \"{version}\", \"queries\": [{{\"query_id\": \"a\", \"ground_truth\": {{}}}}]}}"
        );
        let options = Options {
            unjudged: Unjudged::Starter,
            ..Options::default()
        };
        gold::parse("gold.json", text.as_bytes(), &options)
    };
    assert!(of_version(GoldSet::STARTER_VERSION).is_ok_and(|set| set.is_unjudged()));
    assert!(of_version("1").is_err());
}

#[test]
fn a_beir_dataset_is_read_by_its_folder() {
    let header = "query-id\tcorpus-id\tscore\n";
    let folder = folder(&[
        ("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"zoning\"}\n"),
        (
            "corpus.jsonl",
            "{\"_id\": \"d1\", \"title\": \"t\", \"text\": \"permit\"}\n",
        ),
        ("qrels/test.tsv", &format!("{header}q1\td1\t2\n")),
        ("qrels/train.tsv", &format!("{header}q1\td2\t1\n")),
    ]);
    let set = load(folder.path(), &[""]).expect("the test split");
    assert_eq!(set.judgement_count(), 1);
    let files = set.files().iter().map(|file| Path::new(&**file));
    let files: Vec<_> = files.map(|file| file.strip_prefix(folder.path())).collect();
    let expected = ["qrels/test.tsv", "queries.jsonl"].map(|name| Ok(Path::new(name)));
    assert_eq!(files, expected);
    assert_eq!(set.queries()[0].text.as_deref(), Some("zoning"));
    assert_rejected(
        folder.path(),
        &["qrels/test.tsv", "corpus.jsonl"],
        &["corpus.jsonl: BEIR's documents are no queries"],
    );
    fs::remove_file(folder.path().join("qrels/test.tsv")).expect("a file");
    let set = load(folder.path(), &[""]).expect("the only split");
    assert_eq!(set.judgement_count(), 1);
    fs::write(folder.path().join("qrels/dev.tsv"), header).expect("a file");
    assert_rejected(
        folder.path(),
        &[""],
        &["several files of judgements in qrels (dev.tsv, train.tsv); name one of them"],
    );
}

#[test]
fn a_file_beside_judgements_that_has_no_topics_is_named_with_its_reason() {
    let folder = folder(&[
        ("dev.qrels", QRELS),
        ("dev.tsv", "q1\td1\t1\n"),
        ("x.qrels", QRELS),
        ("x.tsv", "q1 Q0 d1 1 0.5 t\n"),
    ]);
    for (judgements, columns) in [("dev", 3), ("x", 6)] {
        let expected = format!(
            "{judgements}.tsv:1: the file is read for the query texts of {judgements}.qrels (an id, a tab, a \
             text), because it has the same name; its lines have {columns} columns"
        );
        let name = format!("{judgements}.qrels");
        assert_rejected(folder.path(), &[&name], &[&expected]);
    }
}

#[test]
fn tables_name_the_line_of_excel_and_an_open_quote_once() {
    let folder = folder(&[
        ("sep.csv", "sep=,\nquery,docid,rating\nq,d,1\n"),
        ("open.csv", "query,docid,rating\n\"q,d,1\n"),
        ("grade.csv", "query,docid,rating\nq,d,N/A\n"),
    ]);
    assert_rejected(
        folder.path(),
        &["sep.csv"],
        &["sep.csv:1: the first line `sep=,` is Excel's note of the separator; remove the line"],
    );
    assert_rejected(
        folder.path(),
        &["open.csv"],
        &["open.csv:2: a quote is opened and not closed"],
    );
    assert_rejected(
        folder.path(),
        &["grade.csv"],
        &["grade.csv:2: the grade `N/A` is not a number"],
    );
}

#[test]
fn json_of_no_format_and_numbers_of_python_are_named() {
    let folder = folder(&[
        (
            "lines.jsonl",
            "{\"query-id\": \"1\", \"score\": 1}\n{\"query-id\": \"2\", \"score\": 1}\n",
        ),
        ("list.json", "{\"q\": [\"d1\", \"d2\"]}"),
        ("empty.json", "{}"),
        ("nan.json", "{\"q\": {\"d\":\n NaN}}"),
    ]);
    for name in ["lines.jsonl", "list.json", "empty.json"] {
        assert_rejected(
            folder.path(),
            &[name],
            &["unknown gold format; expected JSON"],
        );
    }
    assert_rejected(
        folder.path(),
        &["nan.json"],
        &["nan.json:2: not valid JSON: expected value; NaN is no number in JSON"],
    );
}

#[test]
fn gold_sets_in_gzip_are_read_and_damaged_ones_are_named() {
    let folder = folder(&[("plain.qrels", QRELS), ("text.qrels.gz", QRELS)]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(QRELS.as_bytes()).expect("memory");
    let compressed = encoder.finish().expect("memory");
    let path = folder.path().join("gold.qrels.gz");
    fs::write(&path, &compressed).expect("a file");
    let count = |name| {
        load(folder.path(), &[name])
            .expect("a gold set")
            .judgement_count()
    };
    // The content decides, not the name.
    assert_eq!([count("gold.qrels.gz"), count("text.qrels.gz")], [1, 1]);
    fs::write(&path, &compressed[..compressed.len() - 6]).expect("a file");
    assert_rejected(
        folder.path(),
        &["gold.qrels.gz"],
        &["cannot be read: in gzip: "],
    );
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).expect("memory");
    encoder.finish().expect("memory")
}

/// Text of the first query.
fn text_of_first(set: &GoldSet) -> Option<&str> {
    set.queries()
        .first()
        .and_then(|query| query.text.as_deref())
}

#[test]
fn compressed_query_texts_beside_judgements_are_read() {
    let topics = "q1\tzoning\n";
    let zstd = zstd::stream::encode_all(topics.as_bytes(), 1).expect("memory");
    for (judgements, texts, content) in [
        ("law.qrels", "law.tsv.gz", gzip(topics.as_bytes())),
        ("law.qrels", "law.tsv.zst", zstd),
        ("law.qrels.gz", "law.tsv", topics.as_bytes().to_vec()),
        ("law.qrels.gz", "law.tsv.gz", gzip(topics.as_bytes())),
        ("law.qrels.gz", "law.qrels.tsv", topics.as_bytes().to_vec()),
    ] {
        let folder = folder(&[(judgements, QRELS)]);
        fs::write(folder.path().join(texts), content).expect("a file");
        let set = load(folder.path(), &[judgements]).expect("a gold set");
        assert_eq!(text_of_first(&set), Some("zoning"), "{texts}");
        // All files of the folder together are the same.
        let set = load(folder.path(), &["."]).expect("a gold set");
        assert_eq!(text_of_first(&set), Some("zoning"), "{texts}");
    }
    // Judgements in `law.tsv.gz` are not their own topics, and neither are those that were unpacked.
    let folder = folder(&[("law.tsv", QRELS)]);
    fs::write(folder.path().join("law.tsv.gz"), gzip(QRELS.as_bytes())).expect("a file");
    for name in ["law.tsv", "law.tsv.gz"] {
        let set = load(folder.path(), &[name]).expect("a gold set");
        assert_eq!(set.judgement_count(), 1, "{name}");
    }
}

#[test]
fn a_compressed_beir_dataset_is_read_by_its_folder() {
    let folder = folder(&[]);
    fs::create_dir(folder.path().join("qrels")).expect("a folder");
    let header = "query-id\tcorpus-id\tscore\n";
    for (name, content) in [
        (
            "queries.jsonl.gz",
            "{\"_id\": \"q1\", \"text\": \"zoning\"}\n",
        ),
        (
            "corpus.jsonl.gz",
            "{\"_id\": \"d1\", \"text\": \"a document\"}\n",
        ),
        ("qrels/train.tsv.gz", &format!("{header}q1\td1\t0\n")),
        ("qrels/test.tsv.gz", &format!("{header}q1\td1\t2\n")),
    ] {
        fs::write(folder.path().join(name), gzip(content.as_bytes())).expect("a file");
    }
    for names in [&["."], &["qrels/test.tsv.gz"]] {
        let set = load(folder.path(), names).expect("a gold set");
        assert_eq!(
            (set.judgement_count(), text_of_first(&set)),
            (1, Some("zoning"))
        );
        assert_eq!(set.scale_max().map(gold::Grade::get), Some(2.0));
    }
    assert_rejected(
        folder.path(),
        &["corpus.jsonl.gz"],
        &["corpus.jsonl.gz: BEIR's documents are no queries"],
    );
}

#[test]
fn a_tar_archive_is_named() {
    // The header of a file in an archive, as GNU tar and Python write it.
    let mut archive = vec![0; 1024];
    archive[..9].copy_from_slice(b"law.qrels");
    archive[257..263].copy_from_slice(b"ustar ");
    archive[512..512 + QRELS.len()].copy_from_slice(QRELS.as_bytes());
    let folder = folder(&[]);
    let zstd = zstd::stream::encode_all(archive.as_slice(), 1).expect("memory");
    for (name, content, kind) in [
        ("law.tar", archive.clone(), "a tar archive"),
        ("law.tar.gz", gzip(&archive), "a tar archive in gzip"),
        ("law.tar.zst", zstd, "a tar archive in zstd"),
    ] {
        fs::write(folder.path().join(name), content).expect("a file");
        let problem = format!(
            "{name}: cannot be read: {kind}, not a file of its own; unpack it with `tar -xf`, and name a file in it"
        );
        assert_rejected(folder.path(), &[name], &[&problem]);
    }
}

#[test]
fn a_query_that_was_begun_without_judgements_judges_nothing() {
    let folder = folder(&[(
        "gold.json",
        r#"{"version": "1", "queries": [
            {"query_id": "Q1", "query_text": "begun", "ground_truth": {}},
            {"query_id": "Q2", "query_text": "judged", "ground_truth": {"d1": 0}}]}"#,
    )]);
    let set = load(folder.path(), &["gold.json"]).expect("a gold set");
    assert_eq!(set.find(None, Some("begun")), None);
    assert_eq!(set.find(Some("Q1"), None), None);
    // Tools for the gold set name it.
    assert!(set.find_named("Q1").is_some());
    assert!(set.find(None, Some("judged")).is_some());
}

#[test]
fn gold_sets_in_zstd_and_lz4_are_read_frame_by_frame() {
    let zstd = zstd::stream::encode_all(QRELS.as_bytes(), 1).expect("memory");
    let lz4 = || {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(QRELS.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let folder = folder(&[]);
    let more = QRELS.replace("q1", "q2").replace('q', "r");
    let mut frames = lz4();
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(more.as_bytes()).expect("memory");
    frames.extend(encoder.finish().expect("memory"));
    for (name, bytes, judgements) in [("zstd", zstd, 1), ("lz4", lz4(), 1), ("frames", frames, 2)] {
        let path = folder.path().join(name);
        fs::write(&path, &bytes).expect("a file");
        let set = load(folder.path(), &[name]).expect("a gold set");
        assert_eq!(set.judgement_count(), judgements, "{name}");
        fs::write(&path, &bytes[..bytes.len() - 6]).expect("a file");
        let cause = if name == "zstd" {
            "cannot be read: in zstd: "
        } else {
            "cannot be read: in lz4: "
        };
        assert_rejected(folder.path(), &[name], &[cause]);
        fs::remove_file(path).expect("a file");
    }
}

#[test]
fn what_is_no_file_of_judgements_is_named() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let folder = folder(&[
        ("pointer.qrels", pointer),
        ("x.qrels", "BZh91AY&SY"),
        ("z.qrels", "PK\u{3}\u{4}"),
    ]);
    for (name, reason) in [
        (
            "pointer.qrels",
            "a pointer of Git LFS, not the file itself; fetch the file with `git lfs pull`",
        ),
        (
            "x.qrels",
            "compressed as bzip2; decompress it, or use gzip, zstd or lz4",
        ),
        ("z.qrels", "compressed as a zip archive"),
    ] {
        assert_rejected(folder.path(), &[name], &[reason]);
    }
}

#[test]
fn a_query_in_several_files_is_merged_where_its_judgements_agree() {
    let folder = folder(&[
        ("a.qrels", "q1 0 d1 1\nq1 0 d2 0\n"),
        ("b.qrels", "q1 0 d1 1\nq1 0 d3 2\nq2 0 d1 1\n"),
        ("c.qrels", "q2 0 d4 1\nq2 0 d1 0\n"),
    ]);
    let set = load(folder.path(), &["a.qrels", "b.qrels"]).expect("they agree");
    let documents = |key: &str| {
        let query = set.query(set.find(Some(key), None).expect("a query"));
        let documents = query.judgements.documents().into_iter();
        documents
            .map(|(id, grade)| (id.to_owned(), grade.get()))
            .collect::<Vec<_>>()
    };
    let grades = |grades: &[(&str, f64)]| {
        let grades = grades.iter().map(|(id, grade)| ((*id).to_owned(), *grade));
        grades.collect::<Vec<_>>()
    };
    assert_eq!(
        documents("q1"),
        grades(&[("d1", 1.0), ("d2", 0.0), ("d3", 2.0)])
    );
    assert_eq!(documents("q2"), grades(&[("d1", 1.0)]));
    assert_rejected(
        folder.path(),
        &["b.qrels", "c.qrels"],
        &[
            "c.qrels:2: query `q2` judges document `d1` again and contradicts itself: grade 0, but 1 at b.qrels:3",
        ],
    );
}

#[test]
fn a_query_that_the_workbench_lists_twice_is_merged() {
    let srw = |again: &str| {
        format!(
            "{{\"judgmentRatings\": [{{\"query\": \"phone\", \"ratings\": [{{\"docId\": \"a\", \"rating\": \"1.0\"}}]}},\n\
             {{\"query\": \"phone\", \"ratings\": [{{\"docId\": \"a\", \"rating\": \"{again}\"}}, {{\"docId\": \"b\", \"rating\": \"0\"}}]}}]}}"
        )
    };
    let folder = folder(&[("agree.json", &srw("1")), ("differ.json", &srw("0.5"))]);
    let set = load(folder.path(), &["agree.json"]).expect("they agree");
    assert_eq!((set.queries().len(), set.judgement_count()), (1, 2));
    assert_rejected(
        folder.path(),
        &["differ.json"],
        &[
            "differ.json:2: query `phone` judges document `a` again and contradicts itself: grade 0.5, but 1 at differ.json:1",
        ],
    );
}

#[test]
fn ids_are_composed_on_request() {
    let decomposed = "\u{1109}\u{1175}";
    let agree = format!("{decomposed} 0 {decomposed} 1\n{decomposed} 0 시 1\n");
    let differ = format!("q 0 {decomposed} 1\nq 0 시 0\n");
    let folder = folder(&[("agree.qrels", &agree), ("differ.qrels", &differ)]);
    let options = gold::Options {
        compose_ids: true,
        ..gold::Options::default()
    };
    let load = |name: &str| gold::load(&[folder.path().join(name)], &options);
    let set = load("agree.qrels").expect("they agree");
    let query = set.query(set.find(Some("시"), None).expect("the composed id"));
    assert_eq!(query.judgements.documents().len(), 1);
    let error = load("differ.qrels")
        .expect_err("two grades of one document")
        .to_string();
    assert!(
        error.contains(
            "differ.qrels:2: query `q` judges document `시` again and contradicts itself"
        ),
        "{error}"
    );
}

#[test]
fn files_of_one_name_in_different_folders_are_merged() {
    let folder = folder(&[
        ("p1/test.qrels", "q1 0 a 1\nq1 0 b 0\n"),
        ("p2/test.qrels", "q1 0 a 1\nq1 0 c 1\n"),
        ("p3/test.qrels", "q1 0 a 0\n"),
    ]);
    let names = ["p1/test.qrels", "p2/test.qrels"];
    let set = load(folder.path(), &names).expect("they agree");
    assert_eq!((set.queries().len(), set.judgement_count()), (1, 3));
    let place = set.place(0).expect("a place").to_string();
    assert_eq!(
        place,
        format!("{}/p1/test.qrels:1", folder.path().display())
    );
    assert_rejected(
        folder.path(),
        &["p1/test.qrels", "p3/test.qrels"],
        &[
            "p3/test.qrels:1: query `q1` judges document `a` again and contradicts itself: grade 0, but 1 at p1/test.qrels:1",
        ],
    );
}

#[test]
fn the_hash_is_that_of_the_content() {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(QRELS.as_bytes()).expect("memory");
    let compressed = compressed.finish().expect("memory");
    let other = "q2 0 d1 1\n";
    let folder = folder(&[
        ("a.qrels", QRELS),
        ("b/renamed.qrels", QRELS),
        ("c.qrels", other),
    ]);
    fs::write(folder.path().join("z.qrels.gz"), compressed).expect("a file");
    let hash = |names: &[&str]| {
        let set = load(folder.path(), names).expect("a set");
        set.sha256().to_owned()
    };
    // As sha256sum prints it.
    let of_qrels = "18a26f7d9f22c3b396aec350cd00ebeba14e90d9b877339be06e416787d6c616";
    for name in ["a.qrels", "b/renamed.qrels", "z.qrels.gz"] {
        assert_eq!(hash(&[name]), of_qrels, "{name}");
    }
    // As `sha256sum a.qrels c.qrels | cut -c 1-64 | sort | sha256sum` prints it.
    let of_both = "2a1504872d7cd2ff3cac435b10a0ef5567c0c0835e583101847bf06d852c6406";
    assert_eq!(hash(&["a.qrels", "c.qrels"]), of_both);
    assert_eq!(hash(&["c.qrels", "z.qrels.gz"]), of_both);
    assert_ne!(hash(&["c.qrels"]), of_qrels);
}

#[test]
fn line_ends_of_cr_alone_are_named() {
    let folder = folder(&[
        ("a.qrels", "q1 0 d1 1\rq1 0 d2 0\r"),
        ("b.csv", "query_id,doc_id,grade\rq1,d1,1\r"),
        ("c.tsv", "query-id\tcorpus-id\tscore\rq1\td1\t1\r"),
    ]);
    for name in ["a.qrels", "b.csv", "c.tsv"] {
        let expected = format!(
            "{name}:1: the lines end with CR alone; save the file with the line ends LF or CR LF"
        );
        assert_rejected(folder.path(), &[name], &[&expected]);
    }
}

#[test]
fn a_wrong_grade_in_the_first_line_is_named() {
    let folder = folder(&[
        ("a.qrels", "q1 0 a x\nq1 0 b 1\n"),
        ("b.qrels", "q1 0 a 1,5\n"),
        ("c.qrels", "q1 Q0 a high\n"),
        ("d.prels", "q1 a 1,5 1 0.5\n"),
        ("e.ltr", "x qid:1 1:0.5 # d1\n"),
        ("no.qrels", "this is no file\n"),
    ]);
    for (name, grade) in [
        ("a.qrels", "x"),
        ("b.qrels", "1,5"),
        ("c.qrels", "high"),
        ("d.prels", "1,5"),
        ("e.ltr", "x"),
    ] {
        let expected = format!("{name}:1: the grade `{grade}` is not a number");
        assert_rejected(folder.path(), &[name], &[&expected]);
    }
    assert_rejected(folder.path(), &["no.qrels"], &["unknown gold format"]);
}

#[test]
fn an_empty_document_id_is_an_error_in_every_format() {
    let folder = folder(&[
        (
            "native.json",
            r#"{"queries": [{"query_id": "q1", "ground_truth": {"": 1}}]}"#,
        ),
        ("ranx.json", r#"{"q1": {"": 1, "a": 2}}"#),
        (
            "rag.json",
            r#"[{"query_id": "q1", "relevant_chunk_ids": [""]}]"#,
        ),
        ("beir.tsv", "query-id\tcorpus-id\tscore\nq1\t\t1\n"),
        ("blank.tsv", "query-id\tcorpus-id\tscore\nq1\t \t1\n"),
    ]);
    for (name, line) in [
        ("native.json", 1),
        ("ranx.json", 1),
        ("rag.json", 1),
        ("beir.tsv", 2),
        ("blank.tsv", 2),
    ] {
        let expected = format!("{name}:{line}: query `q1` judges a document with an empty id");
        assert_rejected(folder.path(), &[name], &[&expected]);
    }
}

#[test]
fn an_empty_id_outside_the_judgements_is_an_error() {
    for (field, value) in [
        ("required", r#"["a", ""]"#),
        ("subtopics", r#"{"one": {" ": 1}}"#),
        ("graph", r#"{"nodes": ["a", ""], "edges": []}"#),
        (
            "graph",
            r#"{"nodes": ["a"], "edges": [{"from": "a", "to": ""}]}"#,
        ),
    ] {
        let text = format!(
            r#"{{"queries": [{{"query_id": "q1", "ground_truth": {{"a": 1}}, "{field}": {value}}}]}}"#
        );
        let folder = folder(&[("gold.json", &text)]);
        let expected = format!("gold.json:1: query `q1` has an empty document id in `{field}`");
        assert_rejected(folder.path(), &["gold.json"], &[&expected]);
    }
}

#[test]
fn a_table_of_queries_and_documents_alone_has_no_judgements() {
    let folder = folder(&[
        ("pairs.tsv", "q1\td1\nq1\td2\n"),
        (
            "queries.jsonl",
            "{\"_id\": \"q1\", \"text\": \"a\"}\n{\"_id\": \"q1\", \"text\": \"b\"}\n",
        ),
        ("judged.qrels", QRELS),
    ]);
    for name in ["pairs.tsv", "queries.jsonl"] {
        assert_rejected(folder.path(), &[name], &["no judgements, only"]);
    }
    // Beside judgements, two texts of one query are a problem.
    assert_rejected(
        folder.path(),
        &["pairs.tsv", "judged.qrels"],
        &["the topic `q1` is already defined"],
    );
}

#[test]
fn a_quote_in_a_table_of_tabs_swallows_no_row() {
    let folder = folder(&[
        (
            "open.tsv",
            "query_id\tdoc_id\tgrade\nq1\t\"a\t3\nq1\tb\"\t2\n",
        ),
        (
            "pandas.tsv",
            "query_id\tdoc_id\tgrade\nq1\t\"\"\"a\"\t3\nq1\t5\" pipe\t2\n",
        ),
    ]);
    assert_rejected(
        folder.path(),
        &["open.tsv"],
        &["open.tsv:2: a quote is opened and not closed"],
    );
    let set = load(folder.path(), &["pandas.tsv"]).expect("quotes in pairs");
    let documents = set.queries()[0].judgements.documents();
    let ids: Vec<&str> = documents.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["\"a", "5\" pipe"]);
}
