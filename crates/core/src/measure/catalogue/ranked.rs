//! Catalogue of the measures of ranked retrieval.

use super::{DENOMINATOR, GAIN, GRADED, IDEAL, MAX, PERSISTENCE, REL};
use crate::measure::descriptor::{Argument, CutoffRule, Descriptor, Range, Source, Subject};
use crate::measure::direction::Direction;
use crate::measure::grammar::MeasureError;
use crate::measure::{Measure, Ranked};

/// Descriptors, in the order of the documentation.
pub(super) static TABLE: &[Descriptor] = &[
    Descriptor {
        name: "P",
        aliases: &["precision", "prec", "P_k"],
        argument: Argument::None,
        parameters: &[DENOMINATOR, REL],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("P"),
        description: "Relevant results among the first k, divided by k",
        build: |a| {
            let (rel, denominator) = (a.rel()?, a.denominator()?);
            ranked(Ranked::Precision {
                cutoff: a.cutoff()?,
                rel,
                denominator,
            })
        },
    },
    Descriptor {
        name: "R",
        aliases: &["recall", "recall_k"],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("recall"),
        description: "Relevant results among the first k, divided by all relevant documents",
        build: |a| {
            ranked(Ranked::Recall {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "F1",
        aliases: &[],
        argument: Argument::None,
        parameters: &[DENOMINATOR, REL],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("law-search methodology, section 2.3"),
        description: "Harmonic mean of the precision and the recall of the first k results",
        build: |a| {
            ranked(Ranked::F1 {
                rel: a.rel()?,
                denominator: a.denominator()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "Success",
        aliases: &["hit", "hits", "hitrate", "hit_rate", "success_k"],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("success"),
        description: "1 if any of the first k results is relevant",
        build: |a| {
            ranked(Ranked::Success {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "AllHit",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("IR metrics notebook"),
        description: "1 if all relevant documents are among the first k results",
        build: |a| {
            ranked(Ranked::AllHit {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "RR",
        aliases: &["MRR", "recip_rank"],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Optional,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("recip_rank"),
        description: "Reciprocal rank of the first relevant result; its mean is MRR",
        build: |a| {
            ranked(Ranked::ReciprocalRank {
                rel: a.rel()?,
                cutoff: a.optional_cutoff()?,
            })
        },
    },
    Descriptor {
        name: "AP",
        aliases: &["MAP", "map_cut_k"],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Optional,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("map"),
        description: "Average precision at the ranks of the relevant documents; its mean is MAP",
        build: |a| {
            ranked(Ranked::AveragePrecision {
                rel: a.rel()?,
                cutoff: a.optional_cutoff()?,
            })
        },
    },
    Descriptor {
        name: "nDCG",
        aliases: &["ndcg_cut_k"],
        argument: Argument::None,
        parameters: &[GAIN, IDEAL, REL],
        cutoff: CutoffRule::Optional,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("ndcg"),
        description: "Discounted cumulative gain, divided by that of the ideal ranking",
        build: |a| {
            let (gain, ideal) = (a.gain()?, a.ideal()?);
            ranked(Ranked::Ndcg {
                cutoff: a.optional_cutoff()?,
                gain,
                ideal,
            })
        },
    },
    Descriptor {
        name: "Judged",
        aliases: &[],
        argument: Argument::None,
        parameters: &[],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Neither,
        subject: Subject::Ranking,
        source: Source::IrMeasures("Judged"),
        description: "Judged results among the first k, divided by these results",
        build: |a| {
            ranked(Ranked::Judged {
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "Bpref",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("bpref"),
        description: "Binary preference: relevant documents ranked above judged non-relevant ones",
        build: |a| ranked(Ranked::Bpref { rel: a.rel()? }),
    },
    Descriptor {
        name: "RBP",
        aliases: &[],
        argument: Argument::None,
        parameters: &[GRADED, PERSISTENCE, REL],
        cutoff: CutoffRule::None,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::Paper("Moffat and Zobel 2008"),
        description: "Rank-biased precision: gain of a user who continues to the next rank with probability p",
        build: |a| {
            let (persistence, weighting) = (a.persistence()?, a.weighting()?);
            ranked(Ranked::RankBiasedPrecision {
                persistence,
                weighting,
            })
        },
    },
    Descriptor {
        name: "ERR",
        aliases: &[],
        argument: Argument::None,
        parameters: &[MAX],
        cutoff: CutoffRule::Required,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::Paper("Chapelle et al. 2009"),
        description: "Expected reciprocal rank of the result that satisfies the user",
        build: |a| {
            ranked(Ranked::ExpectedReciprocalRank {
                max: a.max()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "IPrec",
        aliases: &["iprec_at_recall_r"],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::RecallLevel,
        range: Range::UNIT,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::TrecEval("iprec_at_recall"),
        description: "Interpolated precision: highest precision at any rank with at least recall r",
        build: |a| {
            ranked(Ranked::InterpolatedPrecision {
                rel: a.rel()?,
                recall: a.recall()?,
            })
        },
    },
    Descriptor {
        name: "TP",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::NON_NEGATIVE,
        direction: Direction::Up,
        subject: Subject::Ranking,
        source: Source::SeedDocument("IR metrics notebook"),
        description: "Number of relevant results among the first k",
        build: |a| {
            ranked(Ranked::TruePositives {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "FP",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::NON_NEGATIVE,
        direction: Direction::Down,
        subject: Subject::Ranking,
        source: Source::SeedDocument("IR metrics notebook"),
        description: "Number of non-relevant results among the first k",
        build: |a| {
            ranked(Ranked::FalsePositives {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
    Descriptor {
        name: "FN",
        aliases: &[],
        argument: Argument::None,
        parameters: &[REL],
        cutoff: CutoffRule::Required,
        range: Range::NON_NEGATIVE,
        direction: Direction::Down,
        subject: Subject::Ranking,
        source: Source::SeedDocument("IR metrics notebook"),
        description: "Number of relevant documents that are not among the first k results",
        build: |a| {
            ranked(Ranked::FalseNegatives {
                rel: a.rel()?,
                cutoff: a.cutoff()?,
            })
        },
    },
];

#[allow(
    clippy::unnecessary_wraps,
    reason = "the last step of every entry's `build`"
)]
fn ranked(measure: Ranked) -> Result<Measure, MeasureError> {
    Ok(Measure::Ranked(measure))
}
