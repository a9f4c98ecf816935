//! Identifies what an operation selects below its root fields. Subscribers whose operations select the same share a
//! response.

use std::collections::HashSet;

use async_graphql::{
    Name, Positioned, Variables,
    parser::types::{Directive, Selection, SelectionSet},
};
use async_graphql_value::Value;
use sha2::{Digest, Sha256};

use super::document::Fragments;

/// Adds the variables in a selection. Those that occur only in the arguments of root fields are left out. The document is
/// valid.
pub(super) fn add_variables(
    set: &SelectionSet,
    fragments: &Fragments,
    is_root: bool,
    used: &mut HashSet<Name>,
) {
    for selection in &set.items {
        for directive in selection.node.directives() {
            add_of_directive(directive, used);
        }
        match &selection.node {
            Selection::Field(field) => {
                if !is_root {
                    field.node.arguments.iter().for_each(|(_, value)| add(&value.node, used));
                }
                add_variables(&field.node.selection_set.node, fragments, false, used);
            }
            Selection::InlineFragment(fragment) => {
                add_variables(&fragment.node.selection_set.node, fragments, is_root, used);
            }
            Selection::FragmentSpread(spread) => {
                if let Some(fragment) = fragments.get(&spread.node.fragment_name.node) {
                    add_variables(&fragment.node.selection_set.node, fragments, is_root, used);
                }
            }
        }
    }
}

fn add_of_directive(directive: &Positioned<Directive>, used: &mut HashSet<Name>) {
    directive.node.arguments.iter().for_each(|(_, value)| add(&value.node, used));
}

fn add(value: &Value, used: &mut HashSet<Name>) {
    match value {
        Value::Variable(name) => {
            used.insert(name.clone());
        }
        Value::List(values) => values.iter().for_each(|value| add(value, used)),
        Value::Object(values) => values.values().for_each(|value| add(value, used)),
        _ => {}
    }
}

/// The digest of an operation of a document, with the values of the variables in `used`.
pub(super) fn digest(
    text: &str,
    index: usize,
    variables: &Variables,
    used: &HashSet<Name>,
) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(bytes);
    };
    part(text.as_bytes());
    part(&(index as u64).to_le_bytes());
    // Variables are sorted by their names.
    for (name, value) in variables.iter().filter(|(name, _)| used.contains(*name)) {
        part(name.as_bytes());
        part(value.to_string().as_bytes());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use async_graphql::{
        Request,
        parser::{parse_query, types::DocumentOperations},
    };
    use serde_json::json;

    use super::*;

    fn used(query: &str) -> Vec<String> {
        let document = parse_query(query).expect("a document");
        let DocumentOperations::Multiple(operations) = document.operations else {
            panic!("an operation with a name");
        };
        let mut used = HashSet::new();
        for operation in operations.values() {
            let set = &operation.node.selection_set.node;
            add_variables(set, &document.fragments, true, &mut used);
        }
        let mut names: Vec<String> = used.into_iter().map(|name| name.to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn variables_of_root_arguments_are_left_out() {
        let head = "subscription S($name: String, $since: String, $a: Boolean, $b: Int)";
        let root = format!("{head} {{ topic(name: $name, since: $since) {{ position }} }}");
        assert!(used(&root).is_empty());
        let below = format!(
            "{head} {{ topic(name: $name) {{ ...F list(of: [{{ b: $b }}]) }} }}
             fragment F on T {{ position @include(if: $a) }}"
        );
        assert_eq!(used(&below), ["a", "b"]);
        let root = format!(
            "{head} {{ ...R }} fragment R on S {{ topic(name: $name) @skip(if: $a) {{ x }} }}"
        );
        assert_eq!(used(&root), ["a"]);
    }

    #[test]
    fn the_digest_depends_on_the_text_and_on_the_used_variables() {
        let of = |text: &str, variables: serde_json::Value, used: &[&str]| {
            let request = Request::new(text).variables(Variables::from_json(variables));
            let used = used.iter().map(Name::new).collect();
            digest(&request.query, 0, &request.variables, &used)
        };
        let one = of("a", json!({ "x": 1, "y": 2 }), &["y"]);
        assert_eq!(one, of("a", json!({ "x": 3, "y": 2 }), &["y"]));
        assert_ne!(one, of("a", json!({ "x": 1, "y": 3 }), &["y"]));
        assert_ne!(one, of("b", json!({ "x": 1, "y": 2 }), &["y"]));
        // A text and a number that are written alike.
        let text = of("a", json!({ "x": 1, "y": "2" }), &["y"]);
        assert_ne!(one, text);
    }
}
