//! Judgements derived from relations between documents.

use rankgauge_core::gold::expansion::{Expansion, ExpansionRules, Relation};
use rankgauge_core::gold::{self, Grade, Options};

fn expanded(gold: &str, edges: &str, rules: &ExpansionRules) -> Expansion {
    let set = gold::parse("gold", gold.as_bytes(), &Options::default()).expect("a valid set");
    let relations = Relation::parse_all("edges", edges.as_bytes()).expect("valid edges");
    rules
        .expand(&set, &relations)
        .expect("grades within the scale")
}

/// Judgements of the only query, with their notes.
fn judged(expansion: &Expansion) -> Vec<String> {
    let query = &expansion.set.queries()[0];
    let documents = query.judgements.documents().into_iter().enumerate();
    documents
        .map(|(position, (document, grade))| {
            let detail = query.details.get(position);
            let notes = detail.and_then(|detail| detail.notes.as_deref());
            format!("{document} {grade} {}", notes.unwrap_or("-"))
        })
        .collect()
}

const GOLD: &str = "{\"version\": \"1\", \"queries\": [{\"query_id\": \"q\", \"ground_truth\":
    {\"법률_제17조_제1항\": 3, \"법률_제20조\": 2, \"법률_제17조_제3항\": 0, \"법률_제21조\": 3},
    \"total_relevant\": 3}]}";

#[test]
fn only_core_documents_are_expanded_and_judgements_are_unchanged() {
    let edges = "from,to,relation\n\
        법률_제17조_제1항,법률_제17조_제2항,same_article\n\
        법률_제17조_제1항,법률_제17조_제3항,same_article\n\
        법률_제17조_제1항,시행령_제15조,decree\n\
        법률_제17조_제1항,법률_제99조,references\n\
        법률_제20조,법률_제98조,references\n\
        법률_제99조,법률_제97조,references\n\
        법률_제17조_제1항,법률_제96조,cites\n";
    let found = expanded(GOLD, edges, &ExpansionRules::default());
    assert_eq!(
        judged(&found),
        [
            "법률_제17조_제1항 3 -",
            "법률_제20조 2 -",
            "법률_제17조_제3항 0 -",
            "법률_제21조 3 -",
            "법률_제17조_제2항 2 expanded: same_article from 법률_제17조_제1항",
            "시행령_제15조 2 expanded: decree from 법률_제17조_제1항",
            "법률_제99조 1 expanded: references from 법률_제17조_제1항",
        ]
    );
    assert_eq!(found.added["same_article"], 1);
    assert_eq!(found.added["rule"], 0);
    assert_eq!(found.without_grade["cites"], 1);
    assert_eq!((found.origins, found.already_judged), (2, 1));
    assert_eq!(found.set.version(), "1+expanded");
    assert_eq!(found.set.queries()[0].total_relevant, Some(6));
}

#[test]
fn the_highest_grade_of_several_relations_wins() {
    let edges = "{\"from\": \"법률_제17조_제1항\", \"to\": \"x\", \"relation\": \"REFERENCES\"}\n\
        \n{\"source\": \"법률_제21조\", \"target\": \"x\", \"type\": \"Same Article\"}\n\
        {\"from\": \"법률_제17조_제1항\", \"to\": \"x\", \"relation\": \"decree\"}\n";
    let found = expanded(GOLD, edges, &ExpansionRules::default());
    let last = judged(&found).pop();
    assert_eq!(
        last.as_deref(),
        Some("x 2 expanded: decree from 법률_제17조_제1항")
    );
    assert_eq!((found.added["references"], found.added["decree"]), (0, 1));
}

#[test]
fn same_article_is_symmetric_and_references_are_not() {
    let edges = "from\tto\trelation\nx\t법률_제21조\tsame_article\ny\t법률_제21조\treferences\n";
    let found = expanded(GOLD, edges, &ExpansionRules::default());
    assert_eq!(judged(&found).len(), 5);
}

#[test]
fn relation_grades_and_the_minimum_origin_grade_are_configurable() {
    let mut rules = ExpansionRules {
        from_grade: Grade::new(2.0),
        ..ExpansionRules::default()
    };
    rules.grades.insert("cites".to_owned(), Grade::ONE);
    let edges = "from,to,relation\n법률_제20조,x,cites\n법률_제21조,y,cites\n";
    let found = expanded(GOLD, edges, &rules);
    assert_eq!(
        judged(&found).pop().as_deref(),
        Some("x 1 expanded: cites from 법률_제20조")
    );
    assert_eq!((found.origins, found.added["cites"]), (1, 1));
}

#[test]
fn a_relation_grade_beyond_the_scale_is_an_error() {
    let gold = "{\"scale_max\": 1, \"queries\": [{\"query_id\": 1, \"ground_truth\": {\"a\": 1}}]}";
    let set = gold::parse("gold", gold.as_bytes(), &Options::default()).expect("a valid set");
    let relations = Relation::parse_all("e", b"from,to,relation\na,b,decree\n").expect("edges");
    let error = ExpansionRules::default()
        .expand(&set, &relations)
        .expect_err("2 beyond 1");
    assert_eq!(
        error.to_string(),
        "the relation `decree` would give the grade 2, beyond the set's scale_max 1; give it a \
         lower one with --grade decree=…"
    );
}

#[test]
fn errors_of_edge_files_are_reported_by_line() {
    let messages = |content: &str| -> Vec<String> {
        let error = Relation::parse_all("edges", content.as_bytes()).expect_err("wrong edges");
        assert!(error.to_string().starts_with("the edge file has "));
        error.problems().iter().map(ToString::to_string).collect()
    };
    let file = "from,to,relation\na,b\na,,decree\na,b,decree\n";
    // Unix line endings, and those of spreadsheets.
    for file in [file.to_owned(), file.replace('\n', "\r\n")] {
        assert_eq!(
            messages(&file),
            [
                "edges:2: an edge needs `from`, `to` and `relation`, none of them empty",
                "edges:3: an edge needs `from`, `to` and `relation`, none of them empty",
            ]
        );
    }
    assert_eq!(
        messages("{\"from\": 1, \"to\": 2}\n{\"from\": 1,\n"),
        [
            "edges:1: missing field `relation`",
            "edges:2: not valid JSON: EOF while parsing a value",
        ]
    );
    assert_eq!(
        messages("from,to,relation\npermits, 2020,b,decree\na,b,decree\n"),
        ["edges:2: 4 fields where the header has 3; quote a field that contains the separator",]
    );
    assert_eq!(messages("a b decree\n").len(), 1);
    assert_eq!(Relation::parse_all("edges", b"\n").expect("no edges"), []);
}
