//! A synthetic law library with search traffic, and an embedded broker that takes it.

pub mod broker;
pub mod corpus;
mod document;
mod gold_file;
mod graph;
mod origin;
pub mod produce;
mod quality;
mod serving;
pub mod traffic;
mod users;
mod vocabulary;
mod wire;
