//! How expansion along the law graph (RNE) reaches the documents around one query.
//!
//! A tree: its root is the document that answers best, and every other document is reached from
//! one that was reached before. Distances follow the evaluation plan (5.3.3). This module knows
//! documents by their numbers only: neither grades nor who searches.

use std::collections::{HashMap, HashSet};

use rand::RngExt;
use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

/// Most steps from the root to a document.
pub(super) const MOST_HOPS: usize = 3;
/// Share of documents one and two steps away; the others are three steps away. Expansion is to find
/// 58, 32 and 10 % of its results at these distances; what is far is placed nearer while nothing
/// lies between, so that more is sent far than is to arrive there.
const NEAR: [f64; 2] = [0.53, 0.33];

/// The ways from the root to the documents of a query.
#[derive(Debug)]
pub(super) struct Graph {
    /// By document: the documents on the way to it, the root first and itself last; only ever
    /// looked up, never iterated.
    routes: HashMap<usize, Vec<usize>>,
}

impl Graph {
    /// Grows a tree over `relevant`, of which the first is the root, and then over `others`. What
    /// is relevant is reached by way of relevant documents only.
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

    /// The documents on the way to `document`, the root first and itself last. Only the root is
    /// alone on its way; a document that is not in the tree has none.
    pub(super) fn route(&self, document: usize) -> &[usize] {
        self.routes.get(&document).map_or(&[], Vec::as_slice)
    }

    /// The part of the tree that leads to `documents`: its nodes, and its edges from nearer the
    /// root to farther from it, each once and in the order of the documents.
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
                // In a tree one edge leads to each node but the root.
                let before = place.checked_sub(1).and_then(|before| route.get(before));
                edges.extend(before.map(|&before| [before, node]));
            }
        }
        (nodes, edges)
    }
}

/// A distance, from 1 to [`MOST_HOPS`].
pub(super) fn draw_hops(rng: &mut ChaCha8Rng) -> usize {
    let draw = rng.random::<f64>();
    match NEAR {
        [one, _] if draw < one => 1,
        [one, two] if draw < one + two => 2,
        _ => MOST_HOPS,
    }
}
