//! The synthetic world that is searched: Korean planning law, and a gold set over it.
//!
//! Everything follows from a seed, so that a demo, a test and a benchmark can share one world.
//! This module must not know who searches it, how well, or when: no clock, no I/O, no variants.
//! Shapes and proportions follow the law-search evaluation methodology: four categories of query
//! (30/30/20/20 %), three difficulties (40/40/20 %), grades 0 to 3 and, per query, 8 to 14
//! relevant documents, among them enforcement decrees and rules.

use std::collections::{HashMap, HashSet};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::vocabulary;

/// Highest grade a document can have.
pub(super) const SCALE_MAX: u8 = 3;
/// Articles of every law that one domain answers for; five domains follow each other in a law.
const ARTICLES_PER_DOMAIN: u32 = 28;
/// Query texts that the world contains but nobody has judged.
const STRANGERS: usize = 120;
/// Provisions beyond those that gold queries lead to.
const FURTHER_PROVISIONS: usize = 200;
/// Categories of ten queries in a row: three A, three B, two C, two D.
const CATEGORY_CYCLE: [Category; 10] = {
    use Category::{Article, Complex, CrossLaw, Keyword};
    [
        Article, Keyword, Complex, Article, CrossLaw, Keyword, Article, Keyword, Complex, CrossLaw,
    ]
};

/// What kind of question a query asks; the letters are the evaluation plan's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// A: an article by its number.
    Article,
    /// B: words.
    Keyword,
    /// C: a question in a sentence.
    Complex,
    /// D: an answer spread over act, decree and rules.
    CrossLaw,
}

impl Category {
    pub(super) const ALL: [Self; 4] = [Self::Article, Self::Keyword, Self::Complex, Self::CrossLaw];

    pub(super) fn index(self) -> usize {
        match self {
            Self::Article => 0,
            Self::Keyword => 1,
            Self::Complex => 2,
            Self::CrossLaw => 3,
        }
    }

    pub(super) fn letter(self) -> &'static str {
        ["A", "B", "C", "D"][self.index()]
    }

    pub(super) fn query_type(self) -> &'static str {
        [
            "specific_article",
            "keyword",
            "complex_question",
            "cross_law",
        ][self.index()]
    }

    /// Of twenty queries of this category, how many are easy and how many easy or medium. Over
    /// the categories' 3:3:2:2 this gives the 40/40/20 % of the methodology.
    fn difficulty_steps(self) -> (usize, usize) {
        [(14, 19), (9, 18), (4, 14), (2, 11)][self.index()]
    }

    /// Share of queries whose answer lies in several domains, so that agents have to collaborate.
    /// Trigger rate x precision / recall of the plan's table 5.4.1.
    fn needs_a2a(self) -> f64 {
        [0.24, 0.44, 0.72, 0.92][self.index()]
    }

    /// Share of queries that need graph expansion.
    fn needs_rne(self) -> f64 {
        [0.6, 0.8, 0.9, 1.0][self.index()]
    }

    /// Share of decrees and rules among the relevant documents.
    fn cross_law_share(self) -> f64 {
        [0.30, 0.30, 0.40, 0.55][self.index()]
    }
}

/// How hard a query is to answer well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difficulty {
    Easy,
    Medium,
    Hard,
}

impl Difficulty {
    pub(super) fn index(self) -> usize {
        match self {
            Self::Easy => 0,
            Self::Medium => 1,
            Self::Hard => 2,
        }
    }

    pub(super) fn name(self) -> &'static str {
        ["easy", "medium", "hard"][self.index()]
    }
}

/// The three levels of Korean legislation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LawType {
    Act,
    Decree,
    Rules,
}

impl LawType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Act => "법률",
            Self::Decree => "시행령",
            Self::Rules => "시행규칙",
        }
    }

    /// What a document id puts behind the law's name: nothing for the act itself.
    fn suffix(self) -> &'static str {
        match self {
            Self::Act => "",
            Self::Decree | Self::Rules => self.name(),
        }
    }
}

/// One searchable provision.
#[derive(Debug)]
pub(super) struct Document {
    /// `국토계획법_제21조_제1항`, or without the paragraph.
    pub(super) id: String,
    /// The article that the provision is part of: `국토계획법_제21조`.
    pub(super) article: String,
    pub(super) law_type: LawType,
    /// Index into [`vocabulary::DOMAINS`].
    pub(super) domain: usize,
}

/// A grade given to one document by two annotators; the first one's counts.
#[derive(Debug)]
pub(super) struct Judgement {
    /// Index into the corpus's documents.
    pub(super) document: usize,
    pub(super) grade: u8,
    pub(super) second_opinion: u8,
}

/// A query with judgements.
#[derive(Debug)]
pub(super) struct GoldQuery {
    pub(super) key: String,
    pub(super) text: String,
    /// Spellings that users type and that mean the same text once normalised.
    pub(super) odd_spellings: [String; 3],
    pub(super) category: Category,
    pub(super) difficulty: Difficulty,
    pub(super) domain: usize,
    /// Relevant documents (grade 1 to 3), highest grade first; never more than 32.
    pub(super) relevant: Vec<Judgement>,
    /// Documents judged 0.
    pub(super) irrelevant: Vec<Judgement>,
    /// Bit `i` is set where `relevant[i]` is a decree or a rule.
    pub(super) cross_law: u32,
    /// What is served when an answer is wrong: the documents judged 0, and some nobody judged.
    pub(super) distractors: Vec<usize>,
    pub(super) needs_a2a: bool,
    pub(super) needs_rne: bool,
}

/// A small law library, the queries people ask of it, and what a careful annotator would answer.
#[derive(Debug)]
pub struct Corpus {
    pub(super) seed: u64,
    pub(super) documents: Vec<Document>,
    pub(super) queries: Vec<GoldQuery>,
    /// Queries without judgements.
    pub(super) strangers: Vec<String>,
}

impl Corpus {
    /// The world of `seed` with `queries` gold queries (200 make a good demo; 0 is allowed and
    /// leaves every search unjudged). Texts are unique, also after normalisation.
    pub fn generate(seed: u64, queries: usize) -> Self {
        let mut builder = Builder {
            rng: ChaCha8Rng::seed_from_u64(seed),
            documents: Vec::new(),
            numbers: HashMap::new(),
            texts: HashSet::new(),
            of_category: [0; 4],
        };
        let queries = (0..queries).map(|number| builder.query(number)).collect();
        let strangers = (0..STRANGERS).map(|_| builder.stranger()).collect();
        // Searches without judgements are answered from here, also when there is no gold query.
        for _ in 0..FURTHER_PROVISIONS {
            let law = *builder.choose(&vocabulary::LAWS);
            let domain = builder.rng.random_range(0..vocabulary::DOMAINS.len());
            builder.provision(law, LawType::Act, domain, &[]);
        }
        Self {
            seed,
            documents: builder.documents,
            queries,
            strangers,
        }
    }
}

struct Builder {
    rng: ChaCha8Rng,
    documents: Vec<Document>,
    /// Document id -> its index; only ever looked up, never iterated.
    numbers: HashMap<String, usize>,
    /// Texts given out so far, as a gold set compares them.
    texts: HashSet<String>,
    /// How many queries each category has so far.
    of_category: [usize; 4],
}

impl Builder {
    fn query(&mut self, number: usize) -> GoldQuery {
        let category = CATEGORY_CYCLE[number % CATEGORY_CYCLE.len()];
        let earlier = &mut self.of_category[category.index()];
        // 7 and 20 have no common factor: every twenty queries of a category take every step.
        let step = *earlier * 7 % 20;
        *earlier += 1;
        let difficulty = match category.difficulty_steps() {
            (easy, _) if step < easy => Difficulty::Easy,
            (_, medium) if step < medium => Difficulty::Medium,
            _ => Difficulty::Hard,
        };
        let domain = self.rng.random_range(0..vocabulary::DOMAINS.len());
        // Half of the questions are about the act that the other laws build upon.
        let law = if self.chance(0.5) {
            vocabulary::LAWS[0]
        } else {
            *self.choose(&vocabulary::LAWS)
        };
        let article = self.article_of(domain);
        let text = self.unused_text(|rng| vocabulary::text(rng, category, law, article, domain));
        let needs_a2a = self.chance(category.needs_a2a());
        let needs_rne = self.chance(category.needs_rne());
        let relevant = self.relevant(category, law, article, domain, needs_a2a);
        let cross_law = relevant
            .iter()
            .enumerate()
            .fold(0, |bits, (place, judgement)| {
                let act = self.documents[judgement.document].law_type == LawType::Act;
                bits | u32::from(!act) << place
            });

        let mut taken: Vec<usize> = relevant
            .iter()
            .map(|judgement| judgement.document)
            .collect();
        let distractors: Vec<usize> = (0..16)
            .map(|_| {
                let document = self.distractor(domain, &taken);
                taken.push(document);
                document
            })
            .collect();
        let judged_zero = self.rng.random_range(3..=6);
        let irrelevant = distractors.iter().take(judged_zero);
        let irrelevant = irrelevant
            .map(|&document| self.judgement(document, 0))
            .collect();
        GoldQuery {
            key: format!("Q{:03}", number + 1),
            odd_spellings: vocabulary::odd_spellings(&text),
            text,
            category,
            difficulty,
            domain,
            relevant,
            irrelevant,
            cross_law,
            distractors,
            needs_a2a,
            needs_rne,
        }
    }

    /// The relevant documents of a query about `article`: its own paragraphs, the decrees and
    /// rules that carry it out, and provisions nearby or, where agents have to collaborate, in
    /// other domains. Highest grade first.
    fn relevant(
        &mut self,
        category: Category,
        law: &str,
        article: u32,
        domain: usize,
        needs_a2a: bool,
    ) -> Vec<Judgement> {
        let size = 8 + self.rng.random_range(0..=3_usize) + self.rng.random_range(0..=3_usize);
        let core = self.rng.random_range(2..=3);
        let mut documents = Vec::with_capacity(size);
        let mut judgements = Vec::with_capacity(size);
        for paragraph in 1..=core {
            let document = self.document(law, LawType::Act, article, paragraph);
            documents.push(document);
            judgements.push(self.judgement(document, SCALE_MAX));
        }
        let elsewhere = if needs_a2a { 0.75 } else { 0.1 };
        // The core is of the act itself, so the rest carries the category's whole share.
        let cross_law_share = category.cross_law_share() * 1.3;
        while judgements.len() < size {
            let law_type = match (self.chance(cross_law_share), self.chance(0.3)) {
                (false, _) => LawType::Act,
                (true, false) => LawType::Decree,
                (true, true) => LawType::Rules,
            };
            let home = if self.chance(elsewhere) {
                (domain + self.rng.random_range(1..vocabulary::DOMAINS.len()))
                    % vocabulary::DOMAINS.len()
            } else {
                domain
            };
            let document = self.provision(law, law_type, home, &documents);
            let grade = match (law_type, self.chance(0.5)) {
                (LawType::Decree | LawType::Rules, _) if self.chance(0.6) => 2,
                (LawType::Act, true) => 2,
                _ => 1,
            };
            documents.push(document);
            judgements.push(self.judgement(document, grade));
        }
        judgements.sort_by_key(|judgement| std::cmp::Reverse(judgement.grade));
        judgements
    }

    /// A document that does not answer the question, about half the time of another domain.
    fn distractor(&mut self, domain: usize, taken: &[usize]) -> usize {
        let law = *self.choose(&vocabulary::LAWS);
        let law_type = *self.choose(&[LawType::Act, LawType::Act, LawType::Decree, LawType::Rules]);
        let home = if self.chance(0.5) {
            self.rng.random_range(0..vocabulary::DOMAINS.len())
        } else {
            domain
        };
        self.provision(law, law_type, home, taken)
    }

    /// A provision of a law within a domain that is not among `taken`.
    fn provision(&mut self, law: &str, law_type: LawType, domain: usize, taken: &[usize]) -> usize {
        let article = self.article_of(domain);
        let mut paragraph = self.rng.random_range(0..=4);
        loop {
            let document = self.document(law, law_type, article, paragraph);
            if !taken.contains(&document) {
                return document;
            }
            paragraph += 1;
        }
    }

    /// The document with these coordinates, added when it is new. Paragraph 0 is a whole article.
    fn document(&mut self, law: &str, law_type: LawType, article: u32, paragraph: u32) -> usize {
        let parent = format!("{law}{}_제{article}조", law_type.suffix());
        let id = match paragraph {
            0 => parent.clone(),
            _ => format!("{parent}_제{paragraph}항"),
        };
        if let Some(&known) = self.numbers.get(&id) {
            return known;
        }
        let number = self.documents.len();
        self.numbers.insert(id.clone(), number);
        let domain = (0..vocabulary::DOMAINS.len())
            .zip(1..)
            .find(|&(_, end)| article <= end * ARTICLES_PER_DOMAIN)
            .map_or(vocabulary::DOMAINS.len() - 1, |(domain, _)| domain);
        self.documents.push(Document {
            id,
            article: parent,
            law_type,
            domain,
        });
        number
    }

    /// An article number that `domain` answers for.
    fn article_of(&mut self, domain: usize) -> u32 {
        let first = (0..domain).fold(1, |first, _| first + ARTICLES_PER_DOMAIN);
        self.rng.random_range(first..first + ARTICLES_PER_DOMAIN)
    }

    fn judgement(&mut self, document: usize, grade: u8) -> Judgement {
        let second_opinion = match (self.chance(0.1), self.chance(0.5)) {
            (true, true) => (grade + 1).min(SCALE_MAX),
            (true, false) => grade.saturating_sub(1),
            (false, _) => grade,
        };
        Judgement {
            document,
            grade,
            second_opinion,
        }
    }

    fn stranger(&mut self) -> String {
        self.unused_text(vocabulary::stranger)
    }

    /// A text that no other query has. When the vocabulary is used up, a running number tells
    /// texts apart.
    fn unused_text(&mut self, mut draw: impl FnMut(&mut ChaCha8Rng) -> String) -> String {
        for _ in 0..20 {
            let text = draw(&mut self.rng);
            if self.texts.insert(vocabulary::folded(&text)) {
                return text;
            }
        }
        let text = format!("{} 사례 {}", draw(&mut self.rng), self.texts.len());
        self.texts.insert(vocabulary::folded(&text));
        text
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.rng.random::<f64>() < probability
    }

    fn choose<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        items
            .choose(&mut self.rng)
            .expect("invariant: word lists are constants with at least one word")
    }
}
