//! One binary for every test that goes through the door: real HTTP, a real mongod, a fresh database
//! per test, configuration as the only difference.

mod edge;
mod kit;
mod support;
