//! Measures of the answer that a model gave from the results: its citations, its overlap with reference
//! answers, and its refusals. None of them needs a model.

use std::num::NonZeroUsize;

use super::catalogue::Measure;
use super::descriptor::Source;
use super::diversity::{distinct, required_recall, share};
use super::family::measures;
use super::field::{REL, ROUGE, UNIT, WORDS};
use crate::gold::{GoldQuery, Grade, hash_document, normalise};
use crate::number::{indicator, real_length};
use crate::overlap::{
    BleuCounts, BleuTokens, CharNgrams, Rouge, SquadText, Unit, Words, bounded, chrf,
};
use crate::ranking::{Judged, JudgedAnswer};

measures! {
    /// Measure of an answer. `rel` is the lowest relevant grade, by default the relevance level of the gold
    /// set. Several references are possible: the best one counts.
    pub enum AnswerMeasure;
    subject: Answer;
    argument: None;
    build: |arguments, measure| Ok(Measure::Answer(measure));
    /// Returns the score of one search; `None` without an answer, or if the gold query does not state what
    /// the measure compares it with.
    pub fn score(judged: &Judged<'_>) -> Option<f64>;

    /// Without a citation there is no score.
    "CitationP" ["citation_precision"] CitationPrecision { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Rankgauge, "Relevant cited documents, divided by the cited documents"
        => citation_precision(&judged.answer()?, judged, *rel);

    /// The gold query states the documents in `must_cite`, else in `required`; by default they are its relevant
    /// documents of the highest grade.
    "CitationR" ["citation_recall"] CitationRecall { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Rankgauge,
        "Cited documents among those to be cited, divided by the documents to be cited"
        => citation_recall(&judged.answer()?, judged, *rel);

    /// 0 for an answer without a citation.
    "CitationF1" ["citation_f1"] CitationF1 { rel: Option<Grade> = REL }
        : UNIT, Up, Source::Rankgauge, "Harmonic mean of `CitationP` and `CitationR`; 0 if one is 0"
        => {
            let answer = judged.answer()?;
            let recall = citation_recall(&answer, judged, *rel)?;
            let precision = citation_precision(&answer, judged, *rel).unwrap_or(0.0);
            Some(if precision + recall > 0.0 {
                2.0 * precision * recall / (precision + recall)
            } else {
                0.0
            })
        };

    /// A citation of a document that was not retrieved is an invention.
    "CitedServed" ["cited_served"] CitedServed
        : UNIT, Up, Source::Rankgauge,
        "Cited documents among the results or in the context, divided by the cited documents"
        => {
            let cited = judged.answer()?.cited();
            share(cited.iter().filter(|it| it.is_served).count(), cited.len())
        };

    /// Text that is copied from a passage need not be true.
    "Grounded" ["groundedness"] Grounded { words: NonZeroUsize = WORDS }
        : UNIT, Up, Source::Rankgauge,
        "Sequences of n words of the answer that a text of the context has, divided by all of them"
        => {
            let answer = judged.answer()?;
            let passages: Vec<Words> = answer.passages().map(Words::of).collect();
            if passages.is_empty() {
                return None;
            }
            answer.words()?.copied(&passages, *words)
        };

    "ExactMatch" ["exact_match"] ExactMatch
        : UNIT, Up, Source::Paper("Rajpurkar et al. 2016 (SQuAD 1.1)"),
        "1 if the answer is a reference, after the normalisation of SQuAD"
        => {
            let answer = judged.answer()?;
            let text = answer.squad()?;
            best(judged, |reference| indicator(*text == SquadText::of(reference)))
        };

    "TokenF1" ["token_f1"] TokenF1 { unit: Unit = UNIT }
        : UNIT, Up, Source::Paper("Rajpurkar et al. 2016 (SQuAD 1.1)"),
        "F1 of the words or characters that the answer and a reference have in common"
        => {
            let answer = judged.answer()?;
            let text = answer.squad()?;
            best(judged, |reference| text.f1(&SquadText::of(reference), *unit))
        };

    "ROUGE" [] Rouge { variant: Rouge = ROUGE }
        : UNIT, Up, Source::Paper("Lin 2004 (rouge-score)"),
        "F1 of the words, word pairs or longest common subsequence of the answer and a reference"
        => {
            let answer = judged.answer()?;
            let words = answer.words()?;
            best(judged, |reference| variant.f1(words, &Words::of(reference)))
        };

    "BLEU" [] Bleu mean Corpus
        : PERCENT, Up, Source::Paper("Papineni et al. 2002 (sacrebleu)"),
        "Share of the n-grams of the answer that references have, for 1 to 4 words, and the length"
        => Some(BleuCounts::of_search(judged)?.score());

    "chrF" ["chrf2"] Chrf
        : PERCENT, Up, Source::Paper("Popović 2015 (sacrebleu)"),
        "F2 of the sequences of 1 to 6 characters of the answer and a reference"
        => {
            let text = judged.answer()?.text()?;
            let references = judged.query.answer.references.iter();
            let references: Vec<CharNgrams> = references.map(|it| CharNgrams::of(it)).collect();
            chrf(&CharNgrams::of(text), &references)
        };

    "Contains" [] Contains
        : UNIT, Up, Source::Rankgauge,
        "Texts of `must_contain` that the answer contains, divided by all of them"
        => {
            let text = normalise(bounded(judged.answer()?.text()?));
            let expected = &judged.query.answer.must_contain;
            let found = expected.iter().filter(|it| text.contains(&*normalise(it)));
            share(found.count(), expected.len())
        };

    "Refusal" [] Refusal
        : UNIT, Neither, Source::Rankgauge, "1 if the answer is a refusal, 0 for another answer"
        => Some(indicator(judged.answer()?.answer.is_refusal()));

    "AnswerWords" ["answer_words"] AnswerWords
        : NON_NEGATIVE, Neither, Source::Rankgauge, "Number of words of the answer"
        => Some(real_length(judged.answer()?.words()?.len()));
}

/// Returns the score of the best reference; `None` without a reference.
fn best(judged: &Judged<'_>, score: impl Fn(&str) -> f64) -> Option<f64> {
    let references = judged.query.answer.references.iter();
    references.map(|it| score(it)).max_by(f64::total_cmp)
}

fn citation_precision(
    answer: &JudgedAnswer<'_>,
    judged: &Judged<'_>,
    rel: Option<Grade>,
) -> Option<f64> {
    let query = judged.query;
    let level = rel.unwrap_or(query.judgements.level());
    let cited = answer.cited();
    let relevant = if query.judgements.is_empty() {
        let known = must_cite(query);
        if known.is_empty() {
            return None;
        }
        let hashes: Vec<u64> = known.iter().map(|id| hash_document(id)).collect();
        cited.iter().filter(|it| hashes.contains(&it.hash)).count()
    } else {
        let documents = cited.iter().filter_map(|it| it.judged);
        distinct(documents, |grade| grade.is_relevant_at(level))
    };
    share(relevant, cited.len())
}

/// Ids that the answer to a query cites, if the gold set states them.
fn must_cite(query: &GoldQuery) -> &[String] {
    if query.answer.must_cite.is_empty() {
        &query.required
    } else {
        &query.answer.must_cite
    }
}

fn citation_recall(
    answer: &JudgedAnswer<'_>,
    judged: &Judged<'_>,
    rel: Option<Grade>,
) -> Option<f64> {
    let query = judged.query;
    // Nothing can be cited for it.
    if query.answer.answerable == Some(false) {
        return None;
    }
    let cited = answer.cited();
    required_recall(
        must_cite(query),
        query,
        rel,
        cited.iter().map(|it| it.hash),
        cited.iter().filter_map(|it| it.judged),
    )
}

impl BleuCounts {
    /// Counts of which the BLEU of a search consists. The sum of those of several searches has the score of their
    /// corpus. `None` without a text or a reference.
    pub fn of_search(judged: &Judged<'_>) -> Option<Self> {
        let text = judged.answer()?.text()?;
        let references = judged.query.answer.references.iter();
        let references: Vec<BleuTokens> = references.map(|it| BleuTokens::of(it)).collect();
        Self::of(&BleuTokens::of(text), &references)
    }
}
