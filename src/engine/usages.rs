//! Whether the type of each variable fits where it is used. The library has a rule for that, but doesn't pass the values of
//! arguments on to its rules.
//! <https://spec.graphql.org/September2025/#sec-All-Variable-Usages-Are-Allowed>

use std::collections::{HashMap, HashSet};

use async_graphql::{
    Name, Pos, Positioned, Value,
    parser::types::{
        BaseType, FragmentDefinition, OperationDefinition, Selection, SelectionSet, Type,
        VariableDefinition,
    },
};
use async_graphql_value::Value as Literal;

use super::{
    document::{Operation, PreparedDocument},
    types::{Input, Types, named, root},
};
use crate::error::Error;

/// Maximum number of misfits of a document. Each operation can have those of all fragments.
const MAX_MISFITS: usize = 100;

/// A variable whose type doesn't fit where it is used.
#[derive(Debug)]
pub(super) struct Misfit {
    /// Position of the variable's declaration.
    pub(super) declared: Pos,
    /// Position of the argument in which it is used.
    pub(super) used: Pos,
    pub(super) error: Error,
}

impl PreparedDocument {
    /// The misfits of all operations, each with the fragments that it uses.
    pub(super) fn misfits(&self, types: &Types) -> Vec<Misfit> {
        let built_in = BuiltIn::new();
        let mut in_fragments: HashMap<&Name, Usages<'_>> = HashMap::new();
        for (name, fragment) in &self.fragments {
            let FragmentDefinition { type_condition, selection_set, .. } = &fragment.node;
            let of = &type_condition.node.on.node;
            in_fragments.insert(name, Usages::of(types, &built_in, &selection_set.node, of));
        }
        let mut found = Vec::new();
        for Operation { definition, .. } in self.operations.values() {
            let OperationDefinition { ty, variable_definitions, selection_set, .. } =
                &definition.node;
            let own = Usages::of(types, &built_in, &selection_set.node, root(*ty));
            let (mut reached, mut open) = (HashSet::new(), vec![&own]);
            while let Some(usages) = open.pop() {
                let room = MAX_MISFITS - found.len();
                let misfits = usages.variables.iter();
                let misfits = misfits.filter_map(|usage| usage.misfit(variable_definitions));
                found.extend(misfits.take(room));
                let spreads = usages.spreads.iter().filter(|name| reached.insert(**name));
                open.extend(spreads.filter_map(|name| in_fragments.get(name)));
            }
        }
        found.sort_by_key(|misfit| (misfit.used, misfit.declared));
        found
    }
}

/// The types of arguments that aren't those of the schema's own fields: of directives and of introspection.
struct BuiltIn {
    boolean: Type,
    string: Type,
}

impl BuiltIn {
    fn new() -> Self {
        let non_null =
            |name: &str| Type { base: BaseType::Named(Name::new(name)), nullable: false };
        Self { boolean: non_null("Boolean"), string: non_null("String") }
    }
}

/// What is expected where a value stands.
#[derive(Clone, Copy)]
struct Expected<'a> {
    ty: &'a Type,
    /// Whether the value can't be null or left out.
    is_required: bool,
}

/// A variable in the value of an argument.
struct Usage<'a> {
    variable: &'a Name,
    /// The argument, with the path in it.
    path: String,
    at: Pos,
    expected: Expected<'a>,
}

impl Usage<'_> {
    /// The misfit, if the variable is declared and its type doesn't fit.
    fn misfit(&self, declared: &[Positioned<VariableDefinition>]) -> Option<Misfit> {
        let declared = declared.iter().find(|one| one.node.name.node == *self.variable)?;
        let VariableDefinition { name, var_type, default_value, .. } = &declared.node;
        let (given, Expected { ty, is_required }) = (&var_type.node, self.expected);
        let has_default = default_value.as_ref().is_some_and(|default| default.node != Value::Null);
        let may_be_missing = given.nullable && !has_default;
        if is_compatible(&given.base, &ty.base) && !(is_required && may_be_missing) {
            return None;
        }
        // The one field of an input object that requires one is declared nullable.
        let required = if is_required && ty.nullable { "!" } else { "" };
        let reason = format!(
            "variable \"${}\" of type \"{given}\" is used where type \"{ty}{required}\" is expected",
            name.node
        );
        let error = Error::bad_input(self.path.clone(), reason);
        Some(Misfit { declared: declared.pos, used: self.at, error })
    }
}

/// Whether each value of the first type other than null is one of the second. Unlike a value, a type that isn't a list doesn't
/// fit a list.
fn is_compatible(given: &BaseType, expected: &BaseType) -> bool {
    match (given, expected) {
        (BaseType::Named(given), BaseType::Named(expected)) => given == expected,
        (BaseType::List(given), BaseType::List(expected)) => {
            (expected.nullable || !given.nullable) && is_compatible(&given.base, &expected.base)
        }
        _ => false,
    }
}

/// The variables in the arguments of a selection and of those below it, and the fragments that these spread.
struct Usages<'a> {
    types: &'a Types,
    built_in: &'a BuiltIn,
    variables: Vec<Usage<'a>>,
    spreads: Vec<&'a Name>,
}

impl<'a> Usages<'a> {
    fn of(types: &'a Types, built_in: &'a BuiltIn, set: &'a SelectionSet, of: &str) -> Self {
        let mut usages = Self { types, built_in, variables: Vec::new(), spreads: Vec::new() };
        usages.add(set, of);
        usages
    }

    fn add(&mut self, set: &'a SelectionSet, of: &str) {
        let (types, built_in) = (self.types, self.built_in);
        for selection in &set.items {
            for directive in selection.node.directives() {
                // Only `@skip` and `@include` can stand here.
                let expected = Expected { ty: &built_in.boolean, is_required: true };
                let arguments = directive.node.arguments.iter();
                for (name, value) in arguments.filter(|(name, _)| name.node == "if") {
                    self.add_value(name.node.to_string(), name.pos, expected, &value.node);
                }
            }
            match &selection.node {
                Selection::Field(field) => {
                    let field = &field.node;
                    for (name, value) in &field.arguments {
                        let expected = self.expected(of, &field.name.node, &name.node);
                        if let Some(expected) = expected {
                            self.add_value(name.node.to_string(), name.pos, expected, &value.node);
                        }
                    }
                    let below = types.field(of, &field.name.node).map_or("", named);
                    self.add(&field.selection_set.node, below);
                }
                Selection::InlineFragment(fragment) => {
                    let condition = fragment.node.type_condition.as_ref();
                    let of = condition.map_or(of, |condition| condition.node.on.node.as_str());
                    self.add(&fragment.node.selection_set.node, of);
                }
                Selection::FragmentSpread(spread) => {
                    self.spreads.push(&spread.node.fragment_name.node);
                }
            }
        }
    }

    /// What an argument expects; `None` if there is no such argument.
    fn expected(&self, of: &str, field: &str, argument: &str) -> Option<Expected<'a>> {
        if let Some((ty, is_optional)) = self.types.argument(of, field, argument) {
            return Some(Expected { ty, is_required: !is_optional });
        }
        let BuiltIn { boolean, string } = self.built_in;
        match (field, argument) {
            ("__type", "name") => Some(Expected { ty: string, is_required: true }),
            // It has a default.
            (_, "includeDeprecated") => Some(Expected { ty: boolean, is_required: false }),
            _ => None,
        }
    }

    fn add_value(&mut self, path: String, at: Pos, expected: Expected<'a>, value: &'a Literal) {
        let types = self.types;
        match value {
            Literal::Variable(variable) => {
                self.variables.push(Usage { variable, path, at, expected });
            }
            Literal::List(values) => {
                let BaseType::List(ty) = &expected.ty.base else { return };
                let expected = Expected { ty, is_required: !ty.nullable };
                for (nth, value) in values.iter().enumerate() {
                    self.add_value(format!("{path}.{nth}"), at, expected, value);
                }
            }
            Literal::Object(given) => {
                let of = named(expected.ty);
                let Some(Input::Object { fields, one_of }) = types.input(of) else { return };
                for (name, value) in given {
                    if let Some((ty, is_optional)) = fields.get(name.as_str()) {
                        let expected = Expected { ty, is_required: *one_of || !is_optional };
                        self.add_value(format!("{path}.{name}"), at, expected, value);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::parser::parse_schema;

    use super::*;

    const SCHEMA: &str = "
        type Query {
            text(of: String): String
            exact(of: String!): String
            flag(is: Boolean! = true): String
            list(of: [String]): String
            exacts(of: [String!]!): String
            grid(of: [[Int!]]): String
            find(by: By): Query
            any(of: Any): String
        }
        input By { id: ID, words: [String!], size: Int! = 3, max: Int!, below: [By!], choice: Choice }
        input Choice @oneOf { id: ID, slug: String }
        scalar Any";

    /// The misfits of a document of this schema.
    fn misfits(text: &str) -> Vec<Misfit> {
        let types = Types::of(&parse_schema(SCHEMA).expect("a schema"));
        let document = PreparedDocument::parse(&types, text);
        document.unwrap_or_else(|| panic!("a document: {text}")).misfits(&types)
    }

    /// Whether a variable that is declared like this fits a selection.
    fn fits(declared: &str, selection: &str) -> bool {
        let found = misfits(&format!("query($v: {declared}) {{ {selection} }}"));
        assert!(found.len() <= 1, "{declared}: {selection}: {found:?}");
        found.is_empty()
    }

    #[test]
    fn a_type_fits_itself_and_what_takes_more() {
        for (declared, selection, expected) in [
            ("String", "text(of: $v)", true),
            ("String!", "text(of: $v)", true),
            ("String", "exact(of: $v)", false),
            ("String!", "exact(of: $v)", true),
            ("ID", "text(of: $v)", false),
            ("ID!", "exact(of: $v)", false),
            ("Int!", "find(by: {id: $v}) { __typename }", false),
            ("By!", "find(by: $v) { __typename }", true),
            ("Choice", "find(by: $v) { __typename }", false),
            ("[String]", "list(of: $v)", true),
            ("[String!]", "list(of: $v)", true),
            ("[String!]!", "list(of: $v)", true),
            ("[String!]!", "exacts(of: $v)", true),
            ("[String]!", "exacts(of: $v)", false),
            ("[String!]", "exacts(of: $v)", false),
            ("String", "list(of: $v)", false),
            ("String!", "exacts(of: $v)", false),
            ("[String]", "text(of: $v)", false),
            ("[[Int!]!]", "grid(of: $v)", true),
            ("[[Int]!]", "grid(of: $v)", false),
            ("[Int!]", "grid(of: $v)", false),
        ] {
            assert_eq!(fits(declared, selection), expected, "{declared}: {selection}");
        }
    }

    #[test]
    fn a_default_takes_the_place_of_a_missing_value() {
        for (declared, selection, expected) in [
            ("String = \"a\"", "exact(of: $v)", true),
            ("String = null", "exact(of: $v)", false),
            ("ID = \"a\"", "exact(of: $v)", false),
            ("[String!] = []", "exacts(of: $v)", true),
            ("[String] = []", "exacts(of: $v)", false),
            ("[String!] = []", "exacts(of: [$v])", false),
            // The argument or the field has a default.
            ("Boolean", "flag(is: $v)", true),
            ("Boolean!", "flag(is: $v)", true),
            ("Boolean = null", "flag(is: $v)", true),
            ("Int", "flag(is: $v)", false),
            ("Int", "find(by: {max: 1, size: $v}) { __typename }", true),
            ("Int", "find(by: {max: $v}) { __typename }", false),
            ("Int = 1", "find(by: {max: $v}) { __typename }", true),
        ] {
            assert_eq!(fits(declared, selection), expected, "{declared}: {selection}");
        }
    }

    #[test]
    fn values_are_looked_into() {
        for (declared, value, expected) in [
            ("String!", "{words: [\"a\", $v]}", true),
            ("String", "{words: [\"a\", $v]}", false),
            ("[String!]", "{words: $v}", true),
            ("String!", "{words: $v}", false),
            ("ID", "{below: [{id: \"a\"}, {id: $v}]}", true),
            ("Int", "{below: [{id: \"a\"}, {id: $v}]}", false),
            // One object is taken for a list of it; a variable isn't.
            ("ID", "{below: {id: $v}}", true),
            ("Int", "{below: {id: $v}}", false),
            ("By!", "{below: [$v]}", true),
            ("By!", "{below: $v}", false),
            // Exactly one field is required, and not null.
            ("ID!", "{choice: {id: $v}}", true),
            ("ID", "{choice: {id: $v}}", false),
            ("ID = \"a\"", "{choice: {id: $v}}", true),
            ("String!", "{choice: {id: $v}}", false),
            // The library finds these.
            ("Int", "{nothing: $v}", true),
            ("Int", "{id: [$v]}", true),
        ] {
            let selection = format!("find(by: {value}) {{ __typename }}");
            assert_eq!(fits(declared, &selection), expected, "{declared}: {value}");
        }
        assert!(fits("Int", "any(of: {a: [$v]})"), "a scalar may hold anything");
        assert!(!fits("Int", "any(of: $v)"), "the scalar itself has a type");
    }

    #[test]
    fn directives_and_introspection_have_types_too() {
        for (declared, selection, expected) in [
            ("Boolean!", "text @skip(if: $v)", true),
            ("Boolean = true", "text @include(if: $v)", true),
            ("Boolean", "text @include(if: $v)", false),
            ("String!", "... @include(if: $v) { text }", false),
            ("String!", "...F @skip(if: $v) } fragment F on Query { text", false),
            // The library finds this one.
            ("Int", "text @skip(if: true, nothing: $v)", true),
            ("String!", "__type(name: $v) { name }", true),
            ("ID!", "__type(name: $v) { name }", false),
            ("Boolean", "__schema { types { fields(includeDeprecated: $v) { name } } }", true),
            (
                "Int",
                "__schema { types { ...T } } } fragment T on __Type { fields(includeDeprecated: $v) { name }",
                false,
            ),
        ] {
            assert_eq!(fits(declared, selection), expected, "{declared}: {selection}");
        }
    }

    #[test]
    fn fragments_belong_to_the_operations_that_reach_them() {
        let fragments = "
            fragment F on Query { ...G find { ... { ... on Query { ...G } } } }
            fragment G on Query { exact(of: $v) }
            fragment H on Query { text(of: $v) }";
        let found = |operations: &str| misfits(&format!("{operations}{fragments}")).len();
        assert_eq!(found("query A($v: String!) { ...F } query B($v: String) { ...H }"), 0);
        assert_eq!(found("query A($v: String!) { ...F } query B($v: String) { ...F }"), 1);
        assert_eq!(found("query A($v: ID) { ...F ...H } query B($v: Int) { ...H }"), 3);
        // The library finds undeclared ones.
        assert_eq!(found("query A { ...F } query B($w: Int) { ...H }"), 0);
    }

    #[test]
    fn a_misfit_has_its_path_and_both_positions() {
        let found =
            misfits("query($v: Int) {\n find(by: {below: [{choice: {id: $v}}]}) { text } }");
        let [Misfit { declared, used, error }] = &found[..] else { panic!("{found:?}") };
        let (line, column) = (declared.line, declared.column);
        assert_eq!([line, column, used.line, used.column], [1, 7, 2, 7]);
        let message = "by.below.0.choice.id: variable \"$v\" of type \"Int\" is used where type \"ID!\" is expected";
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn the_number_of_misfits_is_limited() {
        let twenty = |part: &str| {
            let parts: Vec<_> = (0..20).map(|nth| part.replace('#', &nth.to_string())).collect();
            parts.join(" ")
        };
        let operations = twenty("query O#($v: Int) { ...F }");
        let selections = twenty("a#: text(of: $v)");
        let found = misfits(&format!("{operations} fragment F on Query {{ {selections} }}"));
        assert_eq!(found.len(), MAX_MISFITS);
    }
}
