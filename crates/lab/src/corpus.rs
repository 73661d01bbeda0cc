//! Synthetic search corpus: Korean planning law, and a gold set over it.
//!
//! Everything follows from a seed, which allows a demo, a test and a benchmark to share one corpus.
//! The module is independent of users, search quality and time: no clock, no I/O, no variants.
//! Shapes and proportions follow the law-search evaluation methodology: four categories of query
//! (30/30/20/20 %), three difficulties (40/40/20 %), grades 0 to 3 and, per query, 8 to 14 relevant
//! documents, among them enforcement decrees and rules.

use std::collections::{HashMap, HashSet};

use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::document::{DocType, Document, LawType};
use super::graph::Graph;
use super::vocabulary;

/// Highest grade of a document.
pub(super) const SCALE_MAX: u8 = 3;
/// Number of articles that one domain covers in every law. The five domains follow each other in a
/// law.
const ARTICLES_PER_DOMAIN: u32 = 28;
/// Number of query texts without judgements.
const UNJUDGED_QUERIES: usize = 120;
/// Number of provisions in addition to those that gold queries lead to.
const FURTHER_PROVISIONS: usize = 200;
/// Share of queries that two annotators have judged.
const TWICE_JUDGED: f64 = 0.6;
/// Share of judgements on which the second annotator disagrees. It gives a Cohen's kappa of about
/// 0.8.
const DISAGREEMENT: f64 = 0.15;
/// Minimum grade of the documents that a query's expectations (facets, graph, context) refer to.
pub(super) const HIGHLY_RELEVANT: u8 = 2;
/// Categories of ten consecutive queries: three A, three B, two C, two D.
const CATEGORY_CYCLE: [Category; 10] = {
    use Category::{Article, Complex, CrossLaw, Keyword};
    [
        Article, Keyword, Complex, Article, CrossLaw, Keyword, Article, Keyword, Complex, CrossLaw,
    ]
};

/// Category of a query, with the letters of the evaluation plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// A: article number.
    Article,
    /// B: keywords.
    Keyword,
    /// C: question in a sentence.
    Complex,
    /// D: answer across act, decree and rules.
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

    /// Cumulative counts of easy, and of easy or medium, queries among twenty of this category.
    /// Over the categories' 3:3:2:2, this gives the 40/40/20 % of the methodology.
    fn difficulty_steps(self) -> (usize, usize) {
        [(14, 19), (9, 18), (4, 14), (2, 11)][self.index()]
    }

    /// Share of queries whose answer lies in several domains and requires collaboration of agents:
    /// trigger rate x precision / recall of the plan's table 5.4.1.
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

/// Difficulty of a query.
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

/// Grade of one document, by one or two annotators. The first annotator's grade counts.
#[derive(Debug)]
pub(super) struct Judgement {
    /// Index into the corpus's documents.
    pub(super) document: usize,
    pub(super) grade: u8,
    /// Grade of the second annotator, if any.
    pub(super) second_opinion: Option<u8>,
}

/// Query with judgements.
#[derive(Debug)]
pub(super) struct GoldQuery {
    pub(super) key: String,
    pub(super) text: String,
    /// Same question with the full title of the law, which normalisation does not recognise.
    pub(super) alias: Option<String>,
    /// Other spellings that users type, identical to the text after normalisation.
    pub(super) odd_spellings: [String; 3],
    pub(super) category: Category,
    pub(super) difficulty: Difficulty,
    pub(super) domain: usize,
    /// Relevant documents (grade 1 to 3), highest grade first; at most 32.
    pub(super) relevant: Vec<Judgement>,
    /// Documents judged 0.
    pub(super) irrelevant: Vec<Judgement>,
    /// Bit mask of decrees and rules: bit `i` refers to `relevant[i]`.
    pub(super) cross_law: u32,
    /// Bit mask of rules: bit `i` refers to `relevant[i]`.
    pub(super) rules: u32,
    /// Documents served as wrong results: the documents judged 0, and some that are not judged.
    pub(super) distractors: Vec<usize>,
    /// Expansion paths to the relevant documents and the distractors.
    pub(super) graph: Graph,
    /// Document types that a complete answer covers, if there are several.
    pub(super) expected_types: Vec<DocType>,
    /// Documents that the answering model requires, if they differ from the best documents.
    pub(super) required: Vec<usize>,
    pub(super) needs_a2a: bool,
    pub(super) needs_rne: bool,
}

/// Small law library, its queries, and their judgements by a careful annotator.
#[derive(Debug)]
pub struct Corpus {
    pub(super) seed: u64,
    pub(super) documents: Vec<Document>,
    pub(super) queries: Vec<GoldQuery>,
    /// Query texts without judgements.
    pub(super) unjudged_queries: Vec<String>,
}

impl Corpus {
    /// Generates the corpus of `seed` with `queries` gold queries. 200 suit a demo; with 0, every
    /// search is unjudged. Texts are unique, also after normalisation.
    pub fn generate(seed: u64, queries: usize) -> Self {
        let mut builder = Builder {
            rng: ChaCha8Rng::seed_from_u64(seed),
            documents: Vec::new(),
            numbers: HashMap::new(),
            texts: HashSet::new(),
            of_category: [0; 4],
        };
        let queries = (0..queries).map(|number| builder.query(number)).collect();
        let unjudged_queries = (0..UNJUDGED_QUERIES)
            .map(|_| builder.unjudged_text())
            .collect();
        // Searches without judgements are answered from here, even if there is no gold query.
        for _ in 0..FURTHER_PROVISIONS {
            let law = *builder.choose(&vocabulary::LAWS);
            let domain = builder.rng.random_range(0..vocabulary::DOMAINS.len());
            builder.provision(law, LawType::Act, domain, &[]);
        }
        Self {
            seed,
            documents: builder.documents,
            queries,
            unjudged_queries,
        }
    }
}

struct Builder {
    rng: ChaCha8Rng,
    documents: Vec<Document>,
    /// Index of each document by id. It is only looked up, never iterated.
    numbers: HashMap<String, usize>,
    /// Texts used so far, in the form that a gold set compares.
    texts: HashSet<String>,
    /// Number of queries of each category so far.
    of_category: [usize; 4],
}

impl Builder {
    fn query(&mut self, number: usize) -> GoldQuery {
        let category = CATEGORY_CYCLE[number % CATEGORY_CYCLE.len()];
        let earlier = &mut self.of_category[category.index()];
        // 7 and 20 have no common factor: twenty queries of a category cover every step.
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
        let alias =
            vocabulary::alias(&text).filter(|alias| self.texts.insert(vocabulary::folded(alias)));
        let needs_a2a = self.chance(category.needs_a2a());
        let needs_rne = self.chance(category.needs_rne());
        let twice = self.chance(TWICE_JUDGED);
        let relevant = self.relevant(category, law, article, domain, needs_a2a);
        let of_types = |types: &[LawType]| {
            relevant
                .iter()
                .enumerate()
                .fold(0, |bits, (place, &(document, _))| {
                    bits | u32::from(types.contains(&self.documents[document].law_type)) << place
                })
        };
        let (cross_law, rules) = (
            of_types(&[LawType::Decree, LawType::Rules]),
            of_types(&[LawType::Rules]),
        );
        let expected_types = self.expected_types(&relevant);
        let required = self.required(category, &relevant);

        let relevant_documents: Vec<usize> =
            relevant.iter().map(|&(document, _)| document).collect();
        let mut taken = relevant_documents.clone();
        let distractors: Vec<usize> = (0..16)
            .map(|_| {
                let document = self.distractor(domain, &taken);
                taken.push(document);
                document
            })
            .collect();
        let graph = Graph::grow(&relevant_documents, &distractors, &mut self.rng);
        let relevant = relevant
            .into_iter()
            .map(|(document, grade)| self.judgement(document, grade, twice))
            .collect();
        let judged_zero = self.rng.random_range(3..=6);
        let irrelevant = distractors.iter().take(judged_zero);
        let irrelevant = irrelevant
            .map(|&document| self.judgement(document, 0, twice))
            .collect();
        GoldQuery {
            key: format!("Q{:03}", number + 1),
            odd_spellings: vocabulary::odd_spellings(&text),
            text,
            alias,
            category,
            difficulty,
            domain,
            relevant,
            irrelevant,
            cross_law,
            rules,
            distractors,
            graph,
            expected_types,
            required,
            needs_a2a,
            needs_rne,
        }
    }

    /// Returns the relevant documents of a query about `article`, highest grade first: its own
    /// paragraphs, the decrees and rules that implement it, and provisions nearby or, if agents
    /// have to collaborate, in other domains.
    fn relevant(
        &mut self,
        category: Category,
        law: &str,
        article: u32,
        domain: usize,
        needs_a2a: bool,
    ) -> Vec<(usize, u8)> {
        let size = 8 + self.rng.random_range(0..=3_usize) + self.rng.random_range(0..=3_usize);
        let core = self.rng.random_range(2..=3);
        let mut documents = Vec::with_capacity(size);
        let mut graded = Vec::with_capacity(size);
        for paragraph in 1..=core {
            let document = self.document(law, LawType::Act, article, paragraph);
            documents.push(document);
            graded.push((document, SCALE_MAX));
        }
        let elsewhere = if needs_a2a { 0.75 } else { 0.1 };
        // The core documents belong to the act, so the others carry the whole share of the
        // category.
        let cross_law_share = category.cross_law_share() * 1.3;
        while graded.len() < size {
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
            graded.push((document, grade));
        }
        graded.sort_by_key(|&(_, grade)| std::cmp::Reverse(grade));
        graded
    }

    /// Types of the highly relevant documents, if there are several.
    fn expected_types(&self, relevant: &[(usize, u8)]) -> Vec<DocType> {
        let mut types = Vec::new();
        for &(document, _) in relevant
            .iter()
            .filter(|(_, grade)| *grade >= HIGHLY_RELEVANT)
        {
            let doc_type = self.documents[document].doc_type;
            if !types.contains(&doc_type) {
                types.push(doc_type);
            }
        }
        if types.len() > 1 { types } else { Vec::new() }
    }

    /// A question in a sentence or across laws requires the best documents together with a decree
    /// or rule that implements them. In the other categories, the best documents are enough.
    fn required(&self, category: Category, relevant: &[(usize, u8)]) -> Vec<usize> {
        if !matches!(category, Category::Complex | Category::CrossLaw) {
            return Vec::new();
        }
        let best = relevant.iter().take_while(|(_, grade)| *grade == SCALE_MAX);
        let carries_out = relevant.iter().find(|&&(document, grade)| {
            grade >= HIGHLY_RELEVANT && self.documents[document].law_type != LawType::Act
        });
        best.chain(carries_out)
            .map(|&(document, _)| document)
            .collect()
    }

    /// Returns a document that does not answer the question. About half of them are from another
    /// domain.
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

    /// Returns a provision of a law within a domain that is not among `taken`.
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

    /// Returns the document at a position in a law, and adds it if it is new.
    fn document(&mut self, law: &str, law_type: LawType, article: u32, paragraph: u32) -> usize {
        let domain = (0..vocabulary::DOMAINS.len())
            .zip(1..)
            .find(|&(_, end)| article <= end * ARTICLES_PER_DOMAIN)
            .map_or(vocabulary::DOMAINS.len() - 1, |(domain, _)| domain);
        let document = Document::at(law, law_type, article, paragraph, domain);
        if let Some(&known) = self.numbers.get(&document.id) {
            return known;
        }
        let number = self.documents.len();
        self.numbers.insert(document.id.clone(), number);
        self.documents.push(document);
        number
    }

    /// Returns an article number that `domain` covers.
    fn article_of(&mut self, domain: usize) -> u32 {
        let first = (0..domain).fold(1, |first, _| first + ARTICLES_PER_DOMAIN);
        self.rng.random_range(first..first + ARTICLES_PER_DOMAIN)
    }

    fn judgement(&mut self, document: usize, grade: u8, twice: bool) -> Judgement {
        let second_opinion = twice.then(|| {
            let (disagrees, up) = (self.chance(DISAGREEMENT), self.chance(0.5));
            match grade {
                _ if !disagrees => grade,
                0 => 1,
                SCALE_MAX => SCALE_MAX - 1,
                _ if up => grade + 1,
                _ => grade - 1,
            }
        });
        Judgement {
            document,
            grade,
            second_opinion,
        }
    }

    fn unjudged_text(&mut self) -> String {
        self.unused_text(vocabulary::unjudged_text)
    }

    /// Returns a text that no other query has. When the vocabulary is exhausted, a sequence number
    /// distinguishes texts.
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
