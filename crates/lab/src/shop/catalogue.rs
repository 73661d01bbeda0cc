//! Products of the shop, its queries, and the relevance of the products to them.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::noise::{SYSTEMS, normal};
use super::wording::{BRANDS, LINES, PRICES, Property, TYPES, UNJUDGED};

/// Highest grade of a product.
pub(super) const SCALE_MAX: u8 = 3;
/// Products of a type.
const PER_TYPE: usize = BRANDS.len() * LINES.len();
/// Probability that a product has one of the properties of its type.
const HAS_PROPERTY: f64 = 0.35;
/// Number of candidates of a query from other types, which are irrelevant.
const OTHERS: usize = 12;
/// Number of products that an answer should cite.
const NAMED: usize = 3;
/// Every so many types have a question that no product answers.
const UNANSWERABLE: usize = 4;

#[derive(Debug)]
pub(super) struct Product {
    /// Id, such as `norvik-trail-hiking-boots`.
    pub(super) id: String,
    /// Title, such as `Norvik Trail hiking boots`.
    pub(super) title: String,
    pub(super) department: &'static str,
    pub(super) brand: &'static str,
    pub(super) price: &'static str,
    /// Index of the type.
    of_type: usize,
    properties: [bool; 3],
}

/// Product that a system can return for a query.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) product: usize,
    pub(super) grade: u8,
    /// Deviation of each system that belongs to the query, in its noise.
    pub(super) noise: [f64; SYSTEMS.len()],
}

/// Question to the assistant.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) is_answerable: bool,
    pub(super) property: Property,
}

/// Query with judgements.
#[derive(Debug)]
pub(super) struct ShopQuery {
    pub(super) key: String,
    pub(super) text: String,
    /// Other spelling that is equal after normalisation.
    pub(super) odd_spelling: String,
    pub(super) query_type: &'static str,
    pub(super) department: &'static str,
    /// Factor of the noise of all systems.
    pub(super) difficulty: f64,
    /// Judged products, the relevant ones first.
    pub(super) candidates: Vec<Candidate>,
    pub(super) question: Option<Question>,
}

impl ShopQuery {
    /// Products that an answer should cite: those of the highest grade.
    pub(super) fn best(&self) -> Vec<usize> {
        let highest = self.candidates.iter().map(|it| it.grade).max();
        let best = self
            .candidates
            .iter()
            .filter(|it| Some(it.grade) == highest);
        best.map(|it| it.product).collect()
    }
}

impl Question {
    /// Text of an answer that recommends products; without one, a refusal.
    pub(super) fn answer(&self, cited: &[&Product]) -> String {
        let (property, purpose) = self.property;
        if cited.is_empty() {
            return "I do not find this in our shop.".to_owned();
        }
        let titles: Vec<&str> = cited.iter().map(|it| it.title.as_str()).collect();
        let titles = titles.join(" and ");
        format!("For {purpose}, we recommend {titles}: they are {property}.")
    }
}

pub(super) fn products(rng: &mut ChaCha8Rng) -> Vec<Product> {
    let mut products = Vec::with_capacity(TYPES.len() * PER_TYPE);
    for (of_type, it) in TYPES.iter().enumerate() {
        for brand in BRANDS {
            for (line, price) in LINES.into_iter().zip(PRICES) {
                let title = format!("{brand} {line} {}", it.name);
                products.push(Product {
                    id: title.to_lowercase().replace(' ', "-"),
                    title,
                    department: it.department,
                    brand,
                    price,
                    of_type,
                    properties: [(); 3].map(|()| rng.random::<f64>() < HAS_PROPERTY),
                });
            }
        }
    }
    products
}

pub(super) fn unjudged_queries() -> Vec<String> {
    UNJUDGED.map(str::to_owned).to_vec()
}

/// Eight queries of each type: the type, its properties, two brands, a product and a question.
pub(super) fn queries(products: &[Product], rng: &mut ChaCha8Rng) -> Vec<ShopQuery> {
    let mut queries = Vec::with_capacity(TYPES.len() * 8);
    for (of_type, it) in TYPES.iter().enumerate() {
        let mut builder = Builder {
            products,
            of_type,
            rng,
            queries: &mut queries,
        };
        let name = it.name;
        // The first products of a type are its best sellers.
        builder.add("category", name.to_owned(), None, |place, _| match place {
            0..4 => SCALE_MAX,
            4..8 => 2,
            _ => 1,
        });
        for (number, (property, _)) in it.properties.into_iter().enumerate() {
            builder.add(
                "attribute",
                format!("{property} {name}"),
                None,
                |_, product| {
                    if product.properties[number] {
                        SCALE_MAX
                    } else {
                        0
                    }
                },
            );
        }
        for brand in [BRANDS[of_type % 8], BRANDS[(of_type + 3) % 8]] {
            builder.add(
                "brand",
                format!("{brand} {name}").to_lowercase(),
                None,
                |_, product| match product.brand == brand {
                    true if product.price == "premium" => SCALE_MAX,
                    true => 2,
                    false => u8::from(product.price == "premium"),
                },
            );
        }
        let (brand, line) = (BRANDS[(of_type + 5) % 8], LINES[of_type % 3]);
        let title = format!("{brand} {line} {name}");
        builder.add("product", title.to_lowercase(), None, |_, product| {
            match (product.title == title, product.brand == brand) {
                (true, _) => SCALE_MAX,
                (false, true) => 1,
                (false, false) => 0,
            }
        });
        let property = it.properties[of_type % 3];
        let is_answerable = of_type % UNANSWERABLE != 1;
        let text = if is_answerable {
            format!("which {name} are good for {}?", property.1)
        } else {
            format!("can I rent {name} for a weekend?")
        };
        let question = Question {
            is_answerable,
            property,
        };
        // The assistant should name the three best sellers with the property.
        let first = of_type * PER_TYPE;
        let has_property = |place: &usize| products[first + place].properties[of_type % 3];
        let named: Vec<usize> = (0..PER_TYPE).filter(has_property).take(NAMED).collect();
        builder.add("question", text, Some(question), |place, _| {
            match (is_answerable, named.contains(&place), has_property(&place)) {
                (true, true, _) => SCALE_MAX,
                (true, false, true) => 2,
                _ => u8::from(place < 8),
            }
        });
    }
    queries
}

struct Builder<'a> {
    products: &'a [Product],
    of_type: usize,
    rng: &'a mut ChaCha8Rng,
    queries: &'a mut Vec<ShopQuery>,
}

impl Builder<'_> {
    /// Adds a query. `grade` is the grade of a product of the type, by its place among them.
    fn add(
        &mut self,
        query_type: &'static str,
        text: String,
        question: Option<Question>,
        grade: impl Fn(usize, &Product) -> u8,
    ) {
        let first = self.of_type * PER_TYPE;
        let mut others: Vec<usize> = (0..self.products.len())
            .filter(|it| self.products[*it].of_type != self.of_type)
            .collect();
        others.shuffle(self.rng);
        others.truncate(OTHERS);
        let of_type = (0..PER_TYPE).map(|place| {
            let product = first + place;
            (product, grade(place, &self.products[product]))
        });
        let graded: Vec<(usize, u8)> = of_type
            .chain(others.into_iter().map(|it| (it, 0)))
            .collect();
        let mut candidates: Vec<Candidate> = graded
            .into_iter()
            .map(|(product, grade)| Candidate {
                product,
                grade,
                noise: [(); SYSTEMS.len()].map(|()| normal(self.rng)),
            })
            .collect();
        candidates.sort_by_key(|it| std::cmp::Reverse(it.grade));
        let difficulty = match query_type {
            "product" => 0.7,
            "category" | "brand" => 0.9,
            "attribute" => 1.1,
            _ => 1.3,
        };
        self.queries.push(ShopQuery {
            key: format!("Q{:03}", self.queries.len() + 1),
            odd_spelling: format!(" {}", text.to_uppercase().replace(' ', "  ")),
            text,
            query_type,
            department: TYPES[self.of_type].department,
            difficulty: difficulty + 0.2 * self.rng.random::<f64>(),
            candidates,
            question,
        });
    }
}
