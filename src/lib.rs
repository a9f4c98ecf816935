//! docgate: a GraphQL API gateway over MongoDB.
//!
//! Imports run one way:
//! `main → cli → edge, background → schema → domains → graphql → app → mongo → metrics, traces → config → error`.

// Futures of resolvers lie in each other as deep as objects do.
#![recursion_limit = "256"]

pub mod cli;

pub mod background;
pub mod edge;

pub mod schema;

pub mod domains;

pub mod graphql;

pub mod app;

pub mod managed;
pub mod mongo;

pub mod metrics;
pub mod traces;

pub mod config;

pub mod error;
