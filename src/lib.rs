//! docgate: a GraphQL API gateway over MongoDB.
//!
//! Imports go in one direction only:
//!
//! ```text
//! main → cli → edge, background → schema → domains → engine → graphql → app → flow → mongo, managed
//!      → metrics, traces → config → error, invariants, join, locks
//! ```

// The futures of resolvers are nested as deeply as objects are.
#![recursion_limit = "256"]

pub mod cli;

pub mod background;
pub mod edge;

pub mod schema;

pub mod domains;

pub mod engine;

pub mod graphql;

pub mod app;

pub mod flow;

pub mod managed;
pub mod mongo;

pub mod metrics;
pub mod traces;

pub mod config;

pub mod error;
pub mod invariants;
mod join;
mod locks;
