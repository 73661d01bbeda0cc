//! Vocabulary of the synthetic law library: laws, domains, and phrases of user queries.
//!
//! The module generates texts only. It is independent of documents, grades and users.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::corpus::Category;

/// Domain agents of the evaluation plan, in the order of their articles within a law.
pub(super) const DOMAINS: [&str; 5] = [
    "도시계획",
    "용도지역",
    "개발행위",
    "기반시설",
    "도시계획시설",
];

/// Short titles of the laws. The first is the subject of the evaluation plan.
pub(super) const LAWS: [&str; 8] = [
    "국토계획법",
    "건축법",
    "주택법",
    "도시개발법",
    "도시정비법",
    "공원녹지법",
    "주차장법",
    "개발제한구역법",
];

/// Short titles that differ from the official title, with the official title.
const FULL_TITLES: [(&str, &str); 4] = [
    ("국토계획법", "국토의 계획 및 이용에 관한 법률"),
    ("도시정비법", "도시 및 주거환경정비법"),
    ("공원녹지법", "도시공원 및 녹지 등에 관한 법률"),
    (
        "개발제한구역법",
        "개발제한구역의 지정 및 관리에 관한 특별조치법",
    ),
];

/// Topics by domain. Latin letters occur as in practice, which makes case significant to users.
const TOPICS: [[&str; 8]; 5] = [
    [
        "도시기본계획",
        "도시관리계획",
        "광역도시계획",
        "지구단위계획",
        "토지적성평가",
        "UPIS 도시계획정보체계",
        "입안 제안",
        "주민 의견청취",
    ],
    [
        "용도지역",
        "용도지구",
        "GB 개발제한구역",
        "제2종일반주거지역",
        "준공업지역 건폐율",
        "자연녹지지역 용적률",
        "경관지구 건축제한",
        "관리지역 세분",
    ],
    [
        "개발행위허가",
        "토지형질변경",
        "토지분할",
        "성장관리계획",
        "PF 사업 이행보증금",
        "준공검사",
        "공작물 설치",
        "허가 제한지역",
    ],
    [
        "기반시설부담구역",
        "기반시설설치비용",
        "공동구",
        "개발밀도관리구역",
        "SOC 기반시설",
        "도로 설치",
        "하수도 시설",
        "기반시설연동제",
    ],
    [
        "도시계획시설",
        "장기미집행 시설부지",
        "매수청구",
        "실시계획 인가",
        "IC 주변 유통시설",
        "공원 조성계획",
        "사업시행자 지정",
        "단계별 집행계획",
    ],
];

const ASPECTS: [&str; 14] = [
    "지정 기준",
    "변경 절차",
    "수립 기준",
    "허가 요건",
    "위임 사항",
    "예외 규정",
    "경과조치",
    "벌칙",
    "심의 대상",
    "고시 방법",
    "제출 서류",
    "적용 범위",
    "협의 기관",
    "효력 상실",
];

const QUESTIONS: [&str; 10] = [
    "절차는 어떻게 되나요?",
    "기준을 충족하지 못하면 어떤 제한이 있나요?",
    "관련하여 토지 소유자가 보상을 받을 수 있는 요건은 무엇인가요?",
    "변경 시 주민 의견을 다시 들어야 하는 경우는?",
    "권한은 누구에게 위임되어 있나요?",
    "처리 기간과 이의신청 방법은 무엇인가요?",
    "위반 시 원상회복 명령과 벌칙은 어떻게 적용되나요?",
    "심의를 생략할 수 있는 경미한 사항은 무엇인가요?",
    "허가를 받은 뒤 사업자가 바뀌면 어떻게 해야 하나요?",
    "비용은 누가 부담하나요?",
];

const CROSS_LAW: [&str; 8] = [
    "관련 시행령과 시행규칙",
    "지정 기준 및 시행규칙",
    "설치 관련 시행령",
    "위임 조문의 시행령 세부 기준",
    "수수료에 관한 시행규칙",
    "서식과 첨부서류 시행규칙",
    "법률과 시행령의 정의 차이",
    "시행령에서 정하는 경미한 변경",
];

const ELSEWHERE: [&str; 10] = [
    "상속 포기",
    "임대차 갱신",
    "근로계약 해지",
    "전자상거래 환불",
    "교통사고 과실",
    "특허 출원",
    "법인세 신고",
    "개인정보 열람",
    "도로교통 벌점",
    "이혼 조정",
];

/// Query text of a category about `article` of `law`, in a domain given by its index.
pub(super) fn text(
    rng: &mut ChaCha8Rng,
    category: Category,
    law: &str,
    article: u32,
    domain: usize,
) -> String {
    let topic = one_of(
        rng,
        TOPICS.get(domain).map_or(&[], |topics| topics.as_slice()),
    );
    // Only some users name the law. Without a name, the first law is meant.
    let named = law != LAWS[0] || rng.random::<f64>() < 0.4;
    let prefix = if named {
        format!("{law} ")
    } else {
        String::new()
    };
    match category {
        Category::Article => match rng.random_range(0..5) {
            0 => format!("{prefix}{article}조"),
            1 => format!("{prefix}제{article}조"),
            2 => format!("{prefix}{article}조 검색"),
            3 => format!("{prefix}제{article}조 제{}항", rng.random_range(1..=3)),
            _ => format!("{law} 제{article}조 내용"),
        },
        Category::Keyword => format!("{prefix}{topic} {}", one_of(rng, &ASPECTS)),
        Category::Complex => format!("{prefix}{topic} {}", one_of(rng, &QUESTIONS)),
        Category::CrossLaw => format!("{prefix}{topic} {}", one_of(rng, &CROSS_LAW)),
    }
}

/// Query unrelated to planning law, and therefore absent from every gold set.
pub(super) fn unjudged_text(rng: &mut ChaCha8Rng) -> String {
    format!("{} {}", one_of(rng, &ELSEWHERE), one_of(rng, &ASPECTS))
}

/// Same text with the full title of the law, if the text has a short one.
pub(super) fn alias(text: &str) -> Option<String> {
    FULL_TITLES
        .iter()
        .find_map(|(short, full)| text.strip_prefix(short).map(|rest| format!("{full}{rest}")))
}

/// Other typed forms of the same text: with extra white space, in full-width digits, and in the
/// other case with the white space of a pasted line.
pub(super) fn odd_spellings(text: &str) -> [String; 3] {
    let full_width = text.chars().map(|letter| {
        let wide = letter
            .to_digit(10)
            .and_then(|digit| char::from_u32(0xFF10 + digit));
        wide.unwrap_or(letter)
    });
    [
        format!("  {} ", text.replace(' ', "   ")),
        full_width.collect(),
        format!("{}\t", text.to_lowercase().replace(' ', "\u{00A0}")),
    ]
}

/// Text in the form that a gold set compares, as far as this vocabulary needs it: every text here
/// is in normal form with single spaces already, so only the case is folded.
pub(super) fn folded(text: &str) -> String {
    text.to_lowercase()
}

fn one_of<'a>(rng: &mut ChaCha8Rng, words: &[&'a str]) -> &'a str {
    words.choose(rng).copied().unwrap_or_default()
}
