//! Queries from templates, documents and edges.

use rankgauge_core::gold::GoldSet;
use rankgauge_core::gold::expansion::Relation;
use rankgauge_eval::template::{Bounds, Documents, Template, TemplateError, generate};

use super::parse;

const BOUNDS: Bounds = Bounds {
    queries: 10,
    per_query: 5,
};

fn templates(text: &str) -> Vec<Template> {
    Template::parse_all("templates.txt", text).expect("valid templates")
}

fn documents(lines: &str) -> Documents {
    Documents::parse("documents", lines).expect("valid documents")
}

fn edge(from: &str, to: &str) -> Relation {
    Relation {
        from: from.to_owned(),
        to: to.to_owned(),
        name: "references".to_owned(),
    }
}

#[test]
fn keywords_give_queries_the_most_frequent_first() {
    let documents = documents(
        "{\"id\": \"a\", \"keyword\": [\"용도지역\", \"건폐율\"], \"number\": 17}\n\
         {\"id\": \"b\", \"keyword\": [\"용도지역\"]}\n\
         {\"id\": \"c\"}\n",
    );
    let gold = GoldSet::empty();
    let templates = templates("# comment\n{keyword} 기준\n{number}조 검색\n");
    let found = generate(&templates, &documents, &[edge("b", "c")], &gold, BOUNDS);
    let found = found.expect("attributes that exist");
    let queries: Vec<(&str, Vec<(&str, &str)>)> = found
        .queries
        .iter()
        .map(|query| {
            let documents = query.documents.iter();
            let documents = documents.map(|it| (it.document_id.as_str(), it.reason.as_str()));
            (query.query_text.as_str(), documents.collect())
        })
        .collect();
    assert_eq!(
        queries,
        [
            (
                "용도지역 기준",
                vec![("a", "template"), ("b", "template"), ("c", "references")]
            ),
            ("건폐율 기준", vec![("a", "template")]),
            ("17조 검색", vec![("a", "template")]),
        ]
    );
    let counts: Vec<usize> = found.by_template.iter().map(|(_, count)| *count).collect();
    assert_eq!(counts, [2, 1]);
}

#[test]
fn edges_give_queries_with_both_ends_as_candidates() {
    let documents = documents("id,number\na,17\nb,18\n");
    let gold = GoldSet::empty();
    let templates = templates("{from.number}조와 {to.number}조의 관계\n{from} {relation} {to}");
    let edges = [edge("a", "b"), edge("a", "x")];
    let documents = documents.with_ends(&edges);
    let found = generate(&templates, &documents, &edges, &gold, BOUNDS).expect("edges");
    let texts: Vec<&str> = found
        .queries
        .iter()
        .map(|it| it.query_text.as_str())
        .collect();
    // The other end of the second edge has no number.
    assert_eq!(
        texts,
        ["17조와 18조의 관계", "a references b", "a references x"]
    );
}

#[test]
fn queries_of_the_gold_set_are_left_out_and_its_facets_are_attributes() {
    let gold = parse(
        r#"{"queries": [{"query_id": "q", "query_text": "법률 검색",
            "ground_truth": {"a": {"relevance": 1, "law_type": "법률"},
                             "b": {"relevance": 1, "law_type": "시행령"}}}]}"#,
    );
    let documents = Documents::of_gold(&gold);
    let found = generate(
        &templates("{law_type} 검색"),
        &documents,
        &[],
        &gold,
        BOUNDS,
    );
    let found = found.expect("a facet");
    assert_eq!(found.known, 1);
    assert_eq!(found.queries.len(), 1);
    assert_eq!(found.queries[0].query_text, "시행령 검색");
}

#[test]
fn wrong_templates_and_documents_are_rejected_with_their_place() {
    for (text, problem) in [
        ("{number", "templates.txt:1: `{` without `}`"),
        ("\n{}조", "templates.txt:2: an empty placeholder"),
        ("검색", "the template has no placeholder"),
        (
            "{number} {to.number}",
            "placeholders of a document and of an edge",
        ),
        ("# nothing", "no template"),
    ] {
        let error = Template::parse_all("templates.txt", text).expect_err(text);
        assert!(error.to_string().contains(problem), "{error}");
    }
    let gold = GoldSet::empty();
    let known = documents("{\"id\": \"a\", \"number\": 1}");
    let error = generate(&templates("{title}"), &known, &[], &gold, BOUNDS).expect_err("unknown");
    assert!(
        error.to_string().contains("the attributes are id, number"),
        "{error}"
    );
    let error = generate(&templates("{from.id}"), &known, &[], &gold, BOUNDS);
    assert!(matches!(error, Err(TemplateError::NoEdges { .. })));
    for (text, problem) in [
        ("{\"number\": 1}", "documents:1: a document needs an `id`"),
        (
            "{\"id\": \"a\"}\nnonsense",
            "documents:2: not a JSON object",
        ),
        ("name,number\na,1\n", "the header has no column `id`"),
        (
            "id,number\na,1\n,2\n",
            "documents:3: a document needs an `id`",
        ),
    ] {
        let error = Documents::parse("documents", text).expect_err(text);
        assert!(error.to_string().contains(problem), "{error}");
    }
}
