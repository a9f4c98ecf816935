//! One binary for every test that goes through the door: real HTTP, a real mongod, a fresh database
//! per test, configuration as the only difference.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(unreachable_pub, reason = "the tools of tests are public to all of them")]

/// The allocator of the gateway's binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod ads;
mod answers;
mod assets;
mod attacks;
mod auth;
mod buying;
mod carts;
mod catalog;
mod categories;
mod checkout;
mod cli;
mod commands;
mod comments;
mod content;
mod edge;
mod elections;
mod events;
mod farewell;
mod federation;
mod forged;
mod game;
mod graphiql;
mod health;
mod hits;
mod hot;
mod http;
mod identities;
mod ids;
mod images;
mod inbox;
mod inventory;
mod kit;
mod limits;
mod live;
mod messages;
mod metadata;
mod metrics;
mod migrations;
mod nodes;
mod orders;
mod payments;
mod people;
mod placement;
mod places;
mod queue;
mod reads;
mod references;
mod refunds;
mod roles;
mod rooms;
mod rules;
mod series;
mod sessions;
mod shares;
mod shop;
mod sizes;
mod social;
mod storm;
mod support;
mod texts;
mod theater;
mod topics;
mod traces;
mod transfers;
mod usages;
mod worlds;
mod writes;
