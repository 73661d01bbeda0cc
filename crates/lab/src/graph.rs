//! Paths by which expansion along the law graph (RNE) reaches the documents around one query.
//!
//! The paths form a tree: its root is the best document, and every other document is reached from
//! an earlier one. Distances follow the evaluation plan (5.3.3). The module identifies documents by
//! their numbers and is independent of grades and users.

use std::collections::{HashMap, HashSet};

use rand::RngExt;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

/// Maximum number of steps from the root to a document.
pub(super) const MAX_HOPS: usize = 3;
/// Shares of documents one and two steps away; the others are three steps away. The targets are 58,
/// 32 and 10 % of the expansion results at these distances. A far document is placed nearer while
/// no document exists in between, so the share of far documents is higher here than its target.
const NEAR: [f64; 2] = [0.53, 0.33];

/// Paths from the root to the documents of a query.
#[derive(Debug)]
pub(super) struct Graph {
    /// Path to each document, from the root to the document itself. It is only looked up, never
    /// iterated.
    routes: HashMap<usize, Vec<usize>>,
}

impl Graph {
    /// Grows a tree over `relevant`, whose first document is the root, and then over `others`. Only
    /// relevant documents lie on the paths to relevant documents.
    pub(super) fn grow(relevant: &[usize], others: &[usize], rng: &mut ChaCha8Rng) -> Self {
        let mut routes: HashMap<usize, Vec<usize>> = HashMap::new();
        let all: Vec<usize> = relevant.iter().chain(others).copied().collect();
        for (place, &document) in all.iter().enumerate() {
            let reached = all.get(..place).unwrap_or(&[]);
            let hops = draw_hops(rng);
            let route = (1..=hops).rev().find_map(|hops| {
                let ways = reached.iter().filter_map(|earlier| routes.get(earlier));
                ways.filter(|way| way.len() == hops).choose(rng).cloned()
            });
            let mut route = route.unwrap_or_default();
            route.push(document);
            routes.insert(document, route);
        }
        Self { routes }
    }

    /// Path to `document`, from the root to the document itself. The path of the root is the root
    /// alone. A document outside the tree has an empty path.
    pub(super) fn route(&self, document: usize) -> &[usize] {
        self.routes.get(&document).map_or(&[], Vec::as_slice)
    }

    /// Part of the tree that leads to `documents`: its nodes, and its edges in the direction away
    /// from the root, each once and in the order of the documents.
    pub(super) fn leading_to(
        &self,
        documents: impl Iterator<Item = usize>,
    ) -> (Vec<usize>, Vec<[usize; 2]>) {
        let mut seen = HashSet::new();
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for document in documents {
            let route = self.route(document);
            for (place, &node) in route.iter().enumerate() {
                if !seen.insert(node) {
                    continue;
                }
                nodes.push(node);
                // In a tree, one edge leads to each node except the root.
                let before = place.checked_sub(1).and_then(|before| route.get(before));
                edges.extend(before.map(|&before| [before, node]));
            }
        }
        (nodes, edges)
    }
}

/// Random distance from 1 to [`MAX_HOPS`].
pub(super) fn draw_hops(rng: &mut ChaCha8Rng) -> usize {
    let draw = rng.random::<f64>();
    match NEAR {
        [one, _] if draw < one => 1,
        [one, two] if draw < one + two => 2,
        _ => MAX_HOPS,
    }
}
