//! Gold part of a document graph.

use super::documents::hash_document;

/// Gold nodes and edges of a document graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<String>,
    edges: Vec<Edge>,
    node_hashes: Box<[u64]>,
    edge_hashes: Box<[u64]>,
}

/// A directed relation between two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Id of the referring document.
    pub from: String,
    /// Id of the referenced document.
    pub to: String,
}

impl Graph {
    /// Creates a graph of documents, by their ids, and relations between them.
    pub fn new(nodes: Vec<String>, edges: Vec<Edge>) -> Self {
        let of_nodes = nodes.iter().map(|node| hash_document(node));
        let of_edges = edges.iter().map(|edge| hash_edge(&edge.from, &edge.to));
        Self {
            node_hashes: distinct(of_nodes),
            edge_hashes: distinct(of_edges),
            nodes,
            edges,
        }
    }

    /// Ids of the documents.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// Relations between them.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// [Hashes](hash_document) of the distinct documents, ascending.
    pub fn node_hashes(&self) -> &[u64] {
        &self.node_hashes
    }

    /// Hashes of the distinct relations, ascending.
    pub fn edge_hashes(&self) -> &[u64] {
        &self.edge_hashes
    }
}

/// Hash of a directed relation between two documents. What [`hash_document`] says of different ids is
/// true of different relations as well.
pub(crate) fn hash_edge(from: &str, to: &str) -> u64 {
    // Rotation distinguishes the directions.
    hash_document(from).rotate_left(32) ^ hash_document(to)
}

fn distinct(hashes: impl Iterator<Item = u64>) -> Box<[u64]> {
    let mut distinct: Vec<u64> = hashes.collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.into()
}
