//! Words of the shop: departments, types of products, brands and properties. All brands are invented.

/// Type of products.
pub(super) struct Type {
    pub(super) department: &'static str,
    /// Plural, in lower case.
    pub(super) name: &'static str,
    /// Properties that some of its products have.
    pub(super) properties: [Property; 3],
}

/// Property of a product, and the use that it serves.
pub(super) type Property = (&'static str, &'static str);

pub(super) const BRANDS: [&str; 8] = [
    "Norvik", "Altora", "Tamarok", "Solvane", "Quillon", "Pikewood", "Fernhall", "Corvane",
];

pub(super) const LINES: [&str; 3] = ["Trail", "Summit", "Basic"];

pub(super) const PRICES: [&str; 3] = ["mid", "premium", "budget"];

const WATERPROOF: Property = ("waterproof", "heavy rain");
const LIGHTWEIGHT: Property = ("lightweight", "long distances");
const INSULATED: Property = ("insulated", "freezing nights");
const BREATHABLE: Property = ("breathable", "hot days");
const KIDS: Property = ("kids", "children");
const COMPACT: Property = ("compact", "small bags");
const RECYCLED: Property = ("recycled", "a small footprint");
const REFLECTIVE: Property = ("reflective", "dark roads");

const fn of(department: &'static str, name: &'static str, properties: [Property; 3]) -> Type {
    Type {
        department,
        name,
        properties,
    }
}

pub(super) const TYPES: [Type; 24] = [
    of("footwear", "hiking boots", [WATERPROOF, LIGHTWEIGHT, KIDS]),
    of(
        "footwear",
        "trail running shoes",
        [LIGHTWEIGHT, BREATHABLE, REFLECTIVE],
    ),
    of("footwear", "winter boots", [INSULATED, WATERPROOF, KIDS]),
    of("footwear", "sandals", [LIGHTWEIGHT, RECYCLED, KIDS]),
    of("clothing", "rain jackets", [WATERPROOF, COMPACT, KIDS]),
    of(
        "clothing",
        "down jackets",
        [INSULATED, LIGHTWEIGHT, RECYCLED],
    ),
    of("clothing", "base layers", [BREATHABLE, INSULATED, RECYCLED]),
    of(
        "clothing",
        "hiking trousers",
        [BREATHABLE, WATERPROOF, KIDS],
    ),
    of(
        "camping",
        "two-person tents",
        [WATERPROOF, LIGHTWEIGHT, COMPACT],
    ),
    of("camping", "family tents", [WATERPROOF, INSULATED, COMPACT]),
    of("camping", "sleeping bags", [INSULATED, LIGHTWEIGHT, KIDS]),
    of(
        "camping",
        "camping stoves",
        [LIGHTWEIGHT, COMPACT, RECYCLED],
    ),
    of("packs", "daypacks", [WATERPROOF, LIGHTWEIGHT, KIDS]),
    of(
        "packs",
        "trekking backpacks",
        [LIGHTWEIGHT, WATERPROOF, RECYCLED],
    ),
    of("packs", "travel bags", [WATERPROOF, COMPACT, RECYCLED]),
    of(
        "packs",
        "child carriers",
        [LIGHTWEIGHT, COMPACT, REFLECTIVE],
    ),
    of("cycling", "bike helmets", [LIGHTWEIGHT, KIDS, REFLECTIVE]),
    of("cycling", "bike lights", [WATERPROOF, COMPACT, LIGHTWEIGHT]),
    of(
        "cycling",
        "pannier bags",
        [WATERPROOF, REFLECTIVE, RECYCLED],
    ),
    of(
        "cycling",
        "cycling gloves",
        [INSULATED, BREATHABLE, REFLECTIVE],
    ),
    of("winter", "ski goggles", [LIGHTWEIGHT, KIDS, COMPACT]),
    of("winter", "snowshoes", [LIGHTWEIGHT, KIDS, COMPACT]),
    of("winter", "thermal socks", [INSULATED, BREATHABLE, RECYCLED]),
    of("winter", "ski jackets", [INSULATED, WATERPROOF, KIDS]),
];

/// Queries without judgements.
pub(super) const UNJUDGED: [&str; 12] = [
    "gift for a hiker",
    "christmas sale",
    "opening hours",
    "return policy",
    "gift card",
    "size chart",
    "new arrivals",
    "outlet",
    "track my order",
    "camping with a dog",
    "first winter trip",
    "student discount",
];
