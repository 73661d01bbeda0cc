//! The catalogue of measures: names, aliases, and the properties that other code derives from.

use std::collections::BTreeSet;

use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::{
    Compat, Descriptor, Mean, Measure, MeasureError, Range, Subject, catalogue,
};
use rankgauge_core::ranking::Ranking;

/// Spelling of a measure, with `inside` as its named parameters.
fn spelled(descriptor: &Descriptor, name: &str, inside: &str, cutoff: &str) -> String {
    let argument = match descriptor.syntax().split(['(', ')']).nth(1) {
        None => "",
        Some("component") => "rne",
        Some("facet") => "source",
        Some("facet=value") => "law_type=시행령",
        Some("variant") => "2",
        Some(other) => panic!("the argument `{other}` of {name} has no example"),
    };
    let inside = [argument, inside];
    let inside: Vec<&str> = inside.into_iter().filter(|it| !it.is_empty()).collect();
    if inside.is_empty() {
        format!("{name}{cutoff}")
    } else {
        format!("{name}({}){cutoff}", inside.join(","))
    }
}

fn cutoff(descriptor: &Descriptor) -> &'static str {
    let syntax = descriptor.syntax();
    match syntax.split_once('@').map(|(_, value)| value) {
        None | Some("k]") => "",
        Some("k") => "@5",
        Some("r") => "@0.5",
        Some("x") => "@1",
        Some(other) => panic!("the value `{other}` of {} has no example", descriptor.name),
    }
}

/// Canonical spelling of a measure.
pub(super) fn example(descriptor: &Descriptor) -> String {
    spelled(
        descriptor,
        descriptor.name,
        unit(descriptor),
        cutoff(descriptor),
    )
}

/// Parameter that every spelling states, because the score has its unit.
fn unit(descriptor: &Descriptor) -> &'static str {
    let mut parameters = descriptor.parameters();
    if parameters.clone().any(|it| it.name == "currency") {
        "currency=USD"
    } else if parameters.any(|it| it.name == "evaluator") {
        "evaluator=judge,name=faithfulness"
    } else {
        ""
    }
}

/// Parameters without a default.
fn required(descriptor: &Descriptor) -> &'static str {
    Some(unit(descriptor))
        .filter(|it| it.starts_with("evaluator"))
        .unwrap_or_default()
}

#[track_caller]
fn parsed(text: &str) -> Measure {
    let measure = text.parse();
    measure.unwrap_or_else(|error: MeasureError| panic!("{error}"))
}

#[test]
fn every_entry_builds_the_measure_it_describes() {
    for descriptor in catalogue() {
        let example = example(descriptor);
        let measure = parsed(&example);
        assert_eq!(measure.descriptor().name, descriptor.name);
        assert_eq!(measure.to_string(), example);
        assert_eq!(
            matches!(measure, Measure::User(_)),
            descriptor.subject == Subject::Users,
            "{example}"
        );
    }
}

#[test]
fn scores_that_change_with_the_scale_are_those_that_depend_on_it() {
    let examples = catalogue().map(example);
    let others = [
        "RBP(graded=true)",
        "RBP(graded=query)",
        "ERR(max=4)@5",
        "SDCG(max_rel=4)@5",
        "nDCG(gain=exp)@5",
        "nDCG(gain=binary)@5",
        "nDCG(judged_only=true)@5",
        "ERR(judged_only=true)@5",
    ];
    for text in examples.chain(others.map(str::to_owned)) {
        let measure = parsed(&text);
        if !measure.needs_only_grades() {
            assert!(!measure.depends_on_scale(), "{text}");
            continue;
        }
        let [one, two] = [2.0, 3.0].map(|scale| {
            let judgements = super::judgements(&[("a", 2.0), ("c", 2.0), ("d", 2.0)]);
            let judgements = judgements.with_scale_max(super::grade(scale));
            let mut ranking = Ranking::new();
            ranking.judge(["a", "b"].iter().copied(), &judgements);
            let mut assumed = Ranking::new();
            assumed.assume_relevant(&ranking, &judgements);
            let score = measure.score_of_grades(&ranking, &judgements);
            (score, measure.score_if_relevant(&assumed, &judgements))
        });
        assert_eq!(measure.depends_on_scale(), one != two, "{text}");
    }
}

#[test]
fn names_and_aliases_differ_in_more_than_case() {
    let mut seen = BTreeSet::new();
    for descriptor in catalogue() {
        for name in std::iter::once(&descriptor.name).chain(descriptor.aliases) {
            assert!(seen.insert(name.to_lowercase()), "{name} is ambiguous");
        }
    }
}

#[test]
fn names_and_aliases_are_accepted_in_any_case() {
    for descriptor in catalogue() {
        for name in std::iter::once(&descriptor.name).chain(descriptor.aliases) {
            let (name, number) = match (name.strip_suffix("_k"), name.strip_suffix("_r")) {
                (Some(stem), _) => (format!("{stem}_7"), Some("@7")),
                (_, Some(stem)) => (format!("{stem}_0.10"), Some("@0.1")),
                (None, None) => ((*name).to_owned(), None),
            };
            let in_name = number.map_or(cutoff(descriptor), |_| "");
            let canonical = spelled(
                descriptor,
                descriptor.name,
                unit(descriptor),
                number.unwrap_or(cutoff(descriptor)),
            );
            for name in [name.to_lowercase(), name.to_uppercase(), name] {
                let text = spelled(descriptor, &name, required(descriptor), in_name);
                assert_eq!(parsed(&text).to_string(), canonical, "{text}");
            }
        }
    }
}

#[test]
fn common_spellings_of_other_tools_are_read_and_printed_canonically() {
    for (written, canonical) in [
        ("MAP", "AP"),
        ("map", "AP"),
        ("map@100", "AP@100"),
        ("map_cut_10", "AP@10"),
        ("MRR", "RR"),
        ("mrr@10", "RR@10"),
        ("recip_rank", "RR"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg(gain=exp)@10", "nDCG(gain=exp)@10"),
        ("precision@5", "P@5"),
        ("prec(rel=2)@3", "P(rel=2)@3"),
        ("P_10", "P@10"),
        ("p@5", "P@5"),
        ("recall@5", "R@5"),
        ("Recall@5", "R@5"),
        ("recall_100", "R@100"),
        ("f1@5", "F1@5"),
        ("hit@5", "Success@5"),
        ("hits@5", "Success@5"),
        ("hitrate@5", "Success@5"),
        ("hit_rate@5", "Success@5"),
        ("HitRate@5", "Success@5"),
        ("success_5", "Success@5"),
        ("bpref", "Bpref"),
        ("BPref", "Bpref"),
        ("rbp(p=0.5)", "RBP(p=0.5)"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("discovery(rne)", "Discovery(rne)"),
        ("ctr@3", "CTR@3"),
        ("csat", "Satisfied"),
        ("conversion", "Converted"),
        ("reformulation(within=5)", "Reformulated(within=5)"),
        ("abandonment", "Abandoned"),
    ] {
        assert_eq!(parsed(written).to_string(), canonical);
    }
}

#[test]
fn names_with_a_tool_are_read_as_in_the_tool() {
    for (written, canonical) in [
        ("ranx:ndcg_burges@10", "nDCG(gain=exp)@10"),
        ("ranx:ndcg_burges", "nDCG(gain=exp)"),
        ("ranx:hits@5", "TP@5"),
        ("ranx:hits", "TP"),
        ("ranx:hits-l2", "TP(rel=2)"),
        ("ranx:r-precision", "Rprec"),
        ("ranx:rbp.95", "RBP(p=0.95)"),
        ("ranx:precision@5-l2", "P(rel=2)@5"),
        ("elasticsearch:precision@10", "P(denominator=retrieved)@10"),
        (
            "elasticsearch:precision(ignore_unlabeled=true)@10",
            "P(denominator=judged)@10",
        ),
        ("elasticsearch:recall", "R@10"),
        (
            "elasticsearch:dcg(k=5,normalize=true)",
            "nDCG(gain=exp,ideal=shown)@5",
        ),
        (
            "elasticsearch:expected_reciprocal_rank(maximum_relevance=4)@20",
            "ERR(max=4)@20",
        ),
        ("opensearch:mean_reciprocal_rank@3", "RR@3"),
        ("quepid:NDCG@10", "nDCG(gain=exp,ideal=uncut)@10"),
        ("quepid:ndcg_cut@10", "nDCG(gain=exp)@10"),
        ("Quepid:ERR@10", "ERR(max=3)@10"),
        ("torchmetrics:RetrievalFallOut(top_k=7)", "Fallout@7"),
        ("torchmetrics:fall_out", "Fallout"),
        ("torchmetrics:hit_rate", "SetSuccess"),
        ("ranx:hit_rate", "SetSuccess"),
        ("torchmetrics:retrieval_average_precision", "AP"),
        (
            "torchmetrics:RetrievalMAP(top_k=5)",
            "AP(denominator=found)@5",
        ),
        (
            "torchmetrics:precision(adaptive_k=True,top_k=5)",
            "P(denominator=retrieved)@5",
        ),
        ("trec_eval:map_cut.5", "AP@5"),
        ("pytrec_eval:set_F", "SetF"),
        ("ir_measures:nDCG(dcg='exp-log2')@10", "nDCG(gain=exp)@10"),
        ("ir_measures:ERR@5", "ERR(max=4)@5"),
        ("ir_measures:ERR(max=3)@5", "ERR(max=3)@5"),
        ("ERR@5", "ERR@5"),
        (
            "nDCG(gains={0:0, 1:2, 2:5})@10",
            "nDCG(gains=0:0;1:2;2:5)@10",
        ),
        ("SetP(relative=True)", "SetRelP"),
        ("SetP(relative=False)", "SetP"),
        (
            "SetP(relative=True,judged_only=True)",
            "SetRelP(judged_only=true)",
        ),
        (
            "SetP(judged_only=True, relative=True, rel=2)",
            "SetRelP(judged_only=true,rel=2)",
        ),
        ("Rprec(judged_only=True)", "Rprec(judged_only=true)"),
        ("IPrec(judged_only=True)@0.1", "IPrec(judged_only=true)@0.1"),
        ("Judged", "Judged"),
        ("NumRet(rel=1)", "NumRelRet(rel=1)"),
        ("gm_map", "GMAP"),
        ("11pt_avg", "IPrecAvg"),
        ("unj_5", "Unjudged@5"),
        ("Rprec_mult_0.20", "RprecMult@0.2"),
    ] {
        assert_eq!(parsed(written).to_string(), canonical, "{written}");
    }
    for (written, message) in [
        (
            "ranx:gmap@5",
            "`ranx:gmap@5` names no measure of ranx that is read; they are hits[@k]",
        ),
        (
            "elasticsearch:recall(ignore_unlabeled=true)",
            "names no measure of elasticsearch",
        ),
        ("lucene:map", "no tool is called `lucene` (in `lucene:map`)"),
        ("all_trec", "stands for"),
    ] {
        let error = written.parse::<Measure>().expect_err(written).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn families_of_trec_eval_stand_for_their_cutoffs_and_versions_for_their_definitions() {
    let names = |list: &str, compat: Compat| -> Vec<String> {
        let measures = Measure::parse_list_as(list, compat).expect("known measures");
        measures.iter().map(ToString::to_string).collect()
    };
    let list = "P.5,7 success, ndcg.1=3,2=9,AP iprec_at_recall.0.25";
    assert_eq!(
        names(list, Compat::TrecEval9),
        [
            "P@5",
            "P@7",
            "Success@1",
            "Success@5",
            "Success@10",
            "nDCG(gains=1:3;2:9)",
            "AP",
            "IPrec@0.25"
        ]
    );
    let list = "IPrec@0.1 11pt_avg RBP rbp RBP(p=0.5) trec_eval:rbp ir_measures:RBP";
    assert_eq!(
        names(list, Compat::TrecEval10),
        [
            "IPrec(rounding=nearest)@0.1",
            "IPrecAvg(rounding=nearest)",
            "RBP(graded=query,p=0.9)",
            "RBP(graded=query,p=0.9)",
            "RBP(p=0.5)",
            "RBP(graded=query,p=0.9)",
            "RBP"
        ]
    );
    assert_eq!(names("all_trec", Compat::TrecEval9).len(), 93);
    assert_eq!(names("all_trec", Compat::TrecEval10).len(), 98);
}

#[test]
fn an_omitted_parameter_has_its_documented_default() {
    for descriptor in catalogue() {
        for parameter in descriptor.parameters() {
            if let Some(value) = parameter.fixed_default() {
                let inside = format!("{}={value}", parameter.name);
                let text = spelled(descriptor, descriptor.name, &inside, cutoff(descriptor));
                assert_eq!(parsed(&text).to_string(), example(descriptor));
            }
        }
    }
}

#[test]
fn every_parameter_is_read_and_its_error_states_the_valid_values() {
    for descriptor in catalogue() {
        assert!(
            descriptor.parameters().is_sorted_by_key(|it| it.name),
            "{}",
            descriptor.name
        );
        for known in descriptor.parameters() {
            // Any text can be the value of a facet or a name, except the empty one.
            let is_text = ["from", "evaluator", "name"].contains(&known.name);
            let wrong = if is_text { "" } else { "?" };
            let inside = format!("{}={wrong}", known.name);
            let text = spelled(descriptor, descriptor.name, &inside, cutoff(descriptor));
            let Err(MeasureError::BadValue {
                parameter,
                expected,
                ..
            }) = text.parse::<Measure>()
            else {
                panic!("{text} has a bad value");
            };
            assert_eq!((parameter, expected), (known.name, known.values));
        }
    }
}

#[test]
fn descriptions_are_one_line_without_a_full_stop() {
    for descriptor in catalogue() {
        let text = descriptor.description;
        assert!(!text.contains(['\n', '|']), "{}", descriptor.name);
        assert!(
            !text.is_empty() && !text.ends_with('.'),
            "{}",
            descriptor.name
        );
    }
}

#[test]
fn the_range_determines_signed_measures_and_shares() {
    let facts = |name: &str| {
        let measure = parsed(name);
        (measure.is_signed(), measure.is_share())
    };
    assert_eq!(facts("nDCG@10"), (false, true));
    assert_eq!(facts("FP@10"), (false, false));
    assert_eq!(facts("RecallGain(rne)"), (true, false));
    assert_eq!(facts("DedupEffect"), (true, false));
    assert_eq!(facts("Entropy(source)"), (false, false));
    assert_eq!(facts("IPWClicks"), (false, false));
    for (range, text) in [
        (Range::UNIT, "0 to 1"),
        (Range::DIFFERENCE, "-1 to 1"),
        (Range::NON_NEGATIVE, "at least 0"),
        (parsed("DedupEffect").descriptor().range, "at most 1"),
    ] {
        assert_eq!(range.to_string(), text);
    }
}

/// The mean of a measure is known by any of its names, also in scores of other tools.
#[test]
fn means_that_are_not_arithmetic_are_known_by_name() {
    for (name, mean) in [
        ("GMAP", Mean::Geometric),
        ("gm_bpref", Mean::Geometric),
        ("NumRelRet(rel=2)", Mean::Sum),
        ("num_ret", Mean::Sum),
        ("prefs_num_prefs_poss", Mean::Sum),
        ("prefs_simp", Mean::Arithmetic),
        ("BLEU", Mean::Corpus),
        ("TP@5", Mean::Arithmetic),
        ("map", Mean::Arithmetic),
        ("unknown", Mean::Arithmetic),
    ] {
        assert_eq!(Mean::of(name), mean, "{name}");
    }
    let hits: Measure = "ranx:hits".parse().expect("a measure");
    assert_eq!(hits.descriptor().mean, Mean::Arithmetic);
}

#[test]
fn directions_are_known_by_name_and_alias_and_for_counts_of_trec_eval() {
    for descriptor in catalogue() {
        let direction = descriptor.direction;
        assert_eq!(Direction::of(&example(descriptor)), direction);
        assert_eq!(Direction::of(&descriptor.name.to_lowercase()), direction);
    }
    for (name, direction) in [
        ("ndcg_cut_10", Direction::Up),
        ("map", Direction::Up),
        ("abandonment", Direction::Down),
        ("fp@10", Direction::Down),
        ("num_q", Direction::Neither),
        ("num_ret", Direction::Neither),
        ("num_rel", Direction::Neither),
        ("num_rel_ret", Direction::Up),
        ("Rprec", Direction::Up),
    ] {
        assert_eq!(Direction::of(name), direction, "{name}");
    }
}
