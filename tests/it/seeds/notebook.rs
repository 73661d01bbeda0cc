//! The notebook on hit rate, MRR, mAP and nDCG: two searches with three results each.

use serde_json::{Value, json};

use super::{Case, Run, assert_close, evaluated, gold, listed, relevant, search};

const FIRST: &str = "첫 번째 쿼리";
const SECOND: &str = "두 번째 쿼리";

/// Documents of the notebook, by number.
const TEXTS: [&str; 6] = [
    "고객 문의: 제품 배송 지연\n문의 일시: 2024-01-15 14:23\n고객명: 김지안\n\
     문의 내용: 지난주 주문한 상품이 아직도 배송이 안 왔습니다. \n          언제쯤 받을 수 있을까요?\n\
     처리 상태: 답변 완료\n담당자: 이수진",
    "고객 문의: 결제 오류\n문의 일시: 2024-01-15 15:30\n고객명: 이동현\n\
     문의 내용: 결제 시도 중 오류가 발생했습니다.\n          카드 결제가 되지 않아요.\n\
     처리 상태: 답변 완료\n담당자: 김태호",
    "고객 문의: 제품 교환 요청\n문의 일시: 2024-01-16 09:45\n고객명: 박현우\n\
     문의 내용: 받은 제품의 사이즈가 맞지 않아 교환하고 싶습니다.\n          교환 절차를 알려주세요.\n\
     처리 상태: 진행중\n담당자: 정미영",
    "고객 문의: 취소 환불 문의\n문의 일시: 2024-01-16 11:20\n고객명: 장민서\n\
     문의 내용: 주문을 취소하고 싶습니다.\n          환불은 얼마나 걸리나요?\n\
     처리 상태: 답변 완료\n담당자: 홍길동",
    "고객 문의: 포인트 적립 문의\n문의 일시: 2024-01-17 16:10\n고객명: 최서연\n\
     문의 내용: 지난 구매 건에 대한 포인트가 적립이 안 되었습니다.\n          확인 부탁드립니다.\n\
     처리 상태: 답변 대기\n담당자: 미배정",
    "고객 문의: 상품 재입고 문의\n문의 일시: 2024-01-17 17:45\n고객명: 한승우\n\
     문의 내용: 품절된 상품의 재입고 일정이 궁금합니다.\n            알림 신청은 어떻게 하나요?\n\
     처리 상태: 답변 대기\n담당자: 미배정",
];

/// The notebook's two queries and their retrieved documents.
fn queries() -> [Value; 2] {
    [
        gold(FIRST, relevant(&["doc1", "doc2", "doc5"]), json!({})),
        gold(SECOND, relevant(&["doc3", "doc4"]), json!({})),
    ]
}

fn searches() -> [Value; 2] {
    [
        search(FIRST, listed(&["doc1", "doc2", "doc5"]), json!({})),
        search(SECOND, listed(&["doc6", "doc4", "doc5"]), json!({})),
    ]
}

fn judged(measures: &str) -> Run {
    evaluated(&queries(), &searches(), measures)
}

#[test]
fn notebook_3_macro_and_micro_averages() {
    let run = judged("P@3 R@3 F1@3");
    run.means(&[("P@3", 2.0 / 3.0), ("R@3", 0.75), ("F1@3", 0.7)]);
    // TP 4, FP 2, FN 1; the notebook prints .67, .80, .73.
    run.micro(&[("P@3", 4.0 / 6.0), ("R@3", 0.8), ("F1@3", 8.0 / 11.0)]);
}

/// The same two searches with nothing but texts: gold without ids, and result ids without
/// meaning.
fn judged_by_texts(matching: &str, measures: &str) -> Run {
    let wanted = |numbers: &[usize]| -> Value {
        let wanted: Vec<&str> = numbers.iter().map(|number| TEXTS[number - 1]).collect();
        json!({"texts": wanted})
    };
    let results = |numbers: &[usize]| -> Value {
        let result = |number: &usize| {
            // Text on one line, as a search engine returns it.
            let text = TEXTS[number - 1].replace('\n', " ");
            json!({"id": format!("row {number}"), "text": text})
        };
        numbers.iter().map(result).collect()
    };
    let queries = [
        gold(FIRST, json!({}), wanted(&[1, 2, 5])),
        gold(SECOND, json!({}), wanted(&[3, 4])),
    ];
    let searches = [
        search(FIRST, results(&[1, 2, 5]), json!({})),
        search(SECOND, results(&[6, 4, 5]), json!({})),
    ];
    let case = Case::new(&queries).run("run", &searches);
    case.write("config.yaml", matching);
    case.evaluated(measures)
}

/// Asserts that texts match like ids under these settings.
#[track_caller]
fn assert_matches_as_ids(matching: &str) {
    let measures = "AllHit@3 RR@3 AP@3 P@3 R@3 F1@3 nDCG@3";
    let (ids, texts) = (judged(measures), judged_by_texts(matching, measures));
    for measure in measures.split_whitespace() {
        let by_id = ids.0["means"][measure].as_f64().expect("a mean");
        assert_close(measure, &texts.0["means"][measure], by_id);
    }
}

#[test]
fn notebook_krag_equal_korean_texts_match_as_ids_do() {
    // The common English scorer keeps a to z and 0 to 9: of these texts only the dates. The
    // notebook's default is rougeL at 0.5, which texts of one form nearly reach.
    assert_matches_as_ids("");
    assert_matches_as_ids("gold: {text_match: rougeL, text_threshold: 1.0}\n");
}

#[test]
fn notebook_krag_rouge_2_at_a_threshold_of_0_8() {
    assert_matches_as_ids("gold: {text_match: rouge2, text_threshold: 0.8}\n");
}

#[test]
fn notebook_krag_a_low_threshold_matches_other_texts_of_the_same_form() {
    // At rouge1 of 0.3 any of these texts matches any other. Each gold text matches once, the most
    // similar first: the restocking question gets the remaining text.
    let run = judged_by_texts(
        "gold: {text_match: rouge1, text_threshold: 0.3}\n",
        "TP@3 RR@3 R@3",
    );
    run.scores(SECOND, &[("TP@3", 2.0), ("RR@3", 1.0), ("R@3", 1.0)]);
}
