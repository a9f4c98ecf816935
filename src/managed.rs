//! The managed mongod.
