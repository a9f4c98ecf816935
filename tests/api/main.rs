//! One binary for every test that goes through the door: real HTTP, a real mongod, a fresh database
//! per test, configuration as the only difference.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(unreachable_pub, reason = "the tools of tests are public to all of them")]

mod catalog;
mod edge;
mod kit;
mod people;
mod roles;
mod support;
