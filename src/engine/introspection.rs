//! Limits what introspection asks for. Its fields cost nothing, because they read no data. But types refer to each other,
//! so that nested lists of them multiply: a query of a hundred bytes can ask for more than fits into memory.

use async_graphql::parser::types::{Selection, SelectionSet};

use super::{
    document::Fragments,
    limits::{self, too_complex},
};
use crate::error::Error;

/// The lists whose elements have types, which have such lists again.
const OF_TYPES: [&str; 5] = ["types", "fields", "inputFields", "interfaces", "possibleTypes"];
/// Maximum number of them inside one another. The query of GraphiQL and of code generators has two.
const MAX_NESTED: usize = 2;
/// The other lists.
const OTHERS: [&str; 3] = ["args", "enumValues", "directives"];
/// Maximum number of lists, under any names. The query of GraphiQL and of code generators has nine.
const MAX_LISTS: usize = 20;
/// Maximum number of aliases. Each is repeated for all elements of a list, and tools use none.
const MAX_ALIASES: usize = 10;
/// Name of the limit.
const LIMIT: &str = "introspection";

/// Checks the selections below `__schema` or `__type`. Fragments must not form a cycle.
///
/// # Errors
/// `TooComplex`.
pub(super) fn check(fragments: &Fragments, below: &SelectionSet) -> Result<(), Error> {
    Lists { fragments, count: 0, aliases: 0 }.check(below, 0)
}

struct Lists<'a> {
    fragments: &'a Fragments,
    count: usize,
    aliases: usize,
}

impl Lists<'_> {
    fn check(&mut self, set: &SelectionSet, nested: usize) -> Result<(), Error> {
        for selection in &set.items {
            match &selection.node {
                Selection::Field(field) => {
                    let name = field.node.name.node.as_str();
                    let is_of_types = OF_TYPES.contains(&name);
                    self.count += usize::from(is_of_types || OTHERS.contains(&name));
                    self.aliases += usize::from(field.node.alias.is_some());
                    let nested = nested + usize::from(is_of_types);
                    if nested > MAX_NESTED {
                        let reason =
                            format!("nests more than {MAX_NESTED} lists of the schema's types");
                        return Err(too_complex(LIMIT, reason));
                    }
                    if self.count > MAX_LISTS {
                        let reason = format!("asks for more than {MAX_LISTS} lists of the schema");
                        return Err(too_complex(LIMIT, reason));
                    }
                    limits::check(self.aliases, MAX_ALIASES, LIMIT, "aliases in introspection")?;
                    self.check(&field.node.selection_set.node, nested)?;
                }
                Selection::InlineFragment(fragment) => {
                    self.check(&fragment.node.selection_set.node, nested)?;
                }
                Selection::FragmentSpread(spread) => {
                    let fragments = self.fragments;
                    if let Some(fragment) = fragments.get(&spread.node.fragment_name.node) {
                        self.check(&fragment.node.selection_set.node, nested)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::{parse_query, types::DocumentOperations};

    use super::*;

    fn checked(text: &str) -> Result<(), Error> {
        let document = parse_query(text).expect("a document");
        let DocumentOperations::Single(operation) = document.operations else {
            panic!("one operation: {text}");
        };
        let [root] = &operation.node.selection_set.node.items[..] else {
            panic!("one field: {text}");
        };
        let Selection::Field(root) = &root.node else { panic!("a field: {text}") };
        check(&document.fragments, &root.node.selection_set.node)
    }

    #[test]
    fn lists_of_types_do_not_multiply() {
        for text in [
            "{ __schema { types { fields { args { type { ofType { name } } } } possibleTypes { name } } } }",
            "{ __type(name: \"Node\") { possibleTypes { fields { type { name } } } } }",
            "{ __schema { queryType { fields { type { ofType { fields { name } } } } } } }",
        ] {
            assert!(checked(text).is_ok(), "{text}");
        }
        let many = "fields { name } ".repeat(MAX_LISTS);
        let aliases = "a: name ".repeat(MAX_ALIASES);
        assert!(checked(&format!("{{ __schema {{ types {{ {aliases} }} }} }}")).is_ok());
        for text in [
            "{ __schema { types { possibleTypes { interfaces { name } } } } }",
            "{ __schema { types { ...a } } } fragment a on __Type { fields { type { ...b } } }
             fragment b on __Type { ... { inputFields { name } } }",
            &format!("{{ __schema {{ types {{ {many} }} }} }}"),
            &format!("{{ __schema {{ types {{ b: kind {aliases} }} }} }}"),
        ] {
            assert!(checked(text).is_err(), "{text}");
        }
    }
}
