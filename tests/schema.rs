//! `schema.graphql` is the contract: it equals the code, and the README's role table equals it.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use async_graphql::parser::{
    parse_schema,
    types::{TypeKind, TypeSystemDefinition},
};

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_committed_schema_equals_the_code() {
    let equal = read("schema.graphql") == docgate::schema::sdl();
    assert!(equal, "run `cargo run -- schema > schema.graphql` and look at the difference");
}

/// Root field and who may use it, by what stands behind `Who:` in its description.
fn roles_of_schema() -> Vec<(String, String)> {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut roles = Vec::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let TypeKind::Object(object) = &found.node.kind else { continue };
        if !["Query", "Mutation", "Subscription"].contains(&found.node.name.node.as_str()) {
            continue;
        }
        for field in &object.fields {
            let field = &field.node;
            let text = field.description.as_ref().map_or("", |text| text.node.as_str());
            let who = text.lines().rev().find_map(|line| line.trim().strip_prefix("Who: "));
            let who = who.unwrap_or("(not said)").trim_end_matches('.');
            roles.push((field.name.node.to_string(), who.to_owned()));
        }
    }
    roles.sort();
    roles
}

/// Rows of the README's role table: who, and the fields.
fn roles_of_readme() -> Vec<(String, String)> {
    let readme = read("README.md");
    let table = readme.split("<!-- roles -->").nth(1).expect("the README marks its role table");
    let mut roles = Vec::new();
    for row in table.lines().filter(|line| line.starts_with('|')).skip(2) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        for field in cells[2].split(',').map(|field| field.trim().trim_matches('`')) {
            roles.push((field.to_owned(), cells[1].to_owned()));
        }
    }
    roles.sort();
    roles
}

#[test]
fn the_role_table_of_the_readme_equals_the_schema() {
    assert_eq!(roles_of_readme(), roles_of_schema());
}

#[test]
fn everything_in_the_schema_is_described() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut bare = Vec::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let name = found.node.name.node.as_str();
        // The roots' fields are described; relay's own types are described by their specification.
        let known = ["PageInfo", "Query", "Mutation", "Subscription"].contains(&name)
            || name.ends_with("Connection")
            || name.ends_with("Edge");
        if found.node.description.is_none() && !known {
            bare.push(name.to_owned());
        }
        let fields: Vec<_> = match &found.node.kind {
            TypeKind::Object(object) => object.fields.iter().collect(),
            TypeKind::Interface(interface) => interface.fields.iter().collect(),
            _ => Vec::new(),
        };
        for field in fields {
            if field.node.description.is_none() && name != "PageInfo" {
                bare.push(format!("{name}.{}", field.node.name.node));
            }
            for argument in &field.node.arguments {
                if argument.node.description.is_none()
                    && !["input", "first", "after"].contains(&argument.node.name.node.as_str())
                {
                    bare.push(format!(
                        "{name}.{}({})",
                        field.node.name.node, argument.node.name.node
                    ));
                }
            }
        }
        match &found.node.kind {
            TypeKind::InputObject(input) => {
                for field in &input.fields {
                    if field.node.description.is_none() {
                        bare.push(format!("{name}.{}", field.node.name.node));
                    }
                }
            }
            TypeKind::Enum(values) => {
                for value in &values.values {
                    if value.node.description.is_none() {
                        bare.push(format!("{name}.{}", value.node.value.node));
                    }
                }
            }
            _ => {}
        }
    }
    assert!(bare.is_empty(), "without a description: {bare:#?}");
}

#[test]
fn every_configuration_key_is_documented() {
    use figment::{Figment, providers::Serialized, value::Dict};
    let defaults = Figment::from(Serialized::defaults(docgate::config::Config::default()));
    let defaults: Dict = defaults.extract().expect("keys");
    let mut documented = Vec::new();
    for row in read("docs/CONFIGURATION.md").lines().filter(|line| line.starts_with("| `")) {
        let keys = row.split('|').nth(1).expect("a cell").split(',');
        documented.extend(keys.map(|key| key.trim().trim_matches('`').to_owned()));
    }
    documented.sort();
    let keys: Vec<_> = defaults.into_keys().collect();
    assert_eq!(documented, keys);
}
