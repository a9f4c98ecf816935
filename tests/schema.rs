//! `schema.graphql` is the contract: it equals the code, and the README's role table equals it.

use std::fs;

#[test]
fn the_committed_schema_equals_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.graphql");
    let committed = fs::read_to_string(path).unwrap_or_default();
    let code = docgate::schema::sdl();
    assert!(
        committed == code,
        "run `cargo run -- schema > schema.graphql` and look at the difference"
    );
}
