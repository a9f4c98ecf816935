//! Every root field says who may use it, and its guard does what it says.

use async_graphql::parser::{
    parse_schema,
    types::{
        BaseType, FieldDefinition, InputObjectType, InputValueDefinition, ServiceDocument, Type,
        TypeDefinition, TypeKind, TypeSystemDefinition,
    },
};
use serde_json::json;

use crate::support::Gateway;

/// The schema, with a look-up by type name.
pub struct Contract(ServiceDocument);

impl Contract {
    pub fn read() -> Self {
        Self(parse_schema(docgate::schema::sdl()).expect("the printed schema parses"))
    }

    pub fn find(&self, name: &str) -> Option<&TypeDefinition> {
        self.0.definitions.iter().find_map(|definition| match definition {
            TypeSystemDefinition::Type(found) if found.node.name.node == name => Some(&found.node),
            _ => None,
        })
    }

    pub fn fields(&self, root: &str) -> Vec<&FieldDefinition> {
        match self.find(root).map(|found| &found.kind) {
            Some(TypeKind::Object(object)) => {
                object.fields.iter().map(|field| &field.node).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A value that the type accepts, as a literal.
    fn literal(&self, of: &Type) -> String {
        match &of.base {
            BaseType::List(_) => "[]".to_owned(),
            BaseType::Named(name) => match self.find(name).map(|found| &found.kind) {
                Some(TypeKind::InputObject(input)) => self.input(input, self.is_one_of(name)),
                Some(TypeKind::Enum(values)) => values.values[0].node.value.node.to_string(),
                _ => match name.as_str() {
                    "Int" | "Long" => "1".to_owned(),
                    "Float" => "1.0".to_owned(),
                    "Boolean" => "true".to_owned(),
                    "CurrencyCode" => "\"EUR\"".to_owned(),
                    "LocaleTag" => "\"en\"".to_owned(),
                    "Date" => "\"2020-01-01\"".to_owned(),
                    "DateTime" => "\"2020-01-01T00:00:00Z\"".to_owned(),
                    "Upload" => format!("{:?}", docgate::graphql::upload::placeholder(0)),
                    _ => "\"a\"".to_owned(),
                },
            },
        }
    }

    pub fn is_one_of(&self, name: &str) -> bool {
        let directives = self.find(name).map(|found| &found.directives);
        directives.is_some_and(|all| all.iter().any(|one| one.node.name.node == "oneOf"))
    }

    fn input(&self, input: &InputObjectType, one_of: bool) -> String {
        let wanted = input.fields.iter().filter(|field| one_of || !field.node.ty.node.nullable);
        let fields = wanted.map(|field| self.argument(&field.node));
        let fields: Vec<_> = fields.take(if one_of { 1 } else { usize::MAX }).collect();
        format!("{{{}}}", fields.join(", "))
    }

    fn argument(&self, argument: &InputValueDefinition) -> String {
        format!("{}: {}", argument.name.node, self.literal(&argument.ty.node))
    }

    /// The smallest operation that calls the field.
    fn call(&self, operation: &str, field: &FieldDefinition) -> String {
        let needed = field.arguments.iter().filter(|one| !one.node.ty.node.nullable);
        let arguments: Vec<_> = needed.map(|one| self.argument(&one.node)).collect();
        let arguments = match arguments.as_slice() {
            [] => String::new(),
            all => format!("({})", all.join(", ")),
        };
        let selection = if self.is_composite(&field.ty.node) { " { __typename }" } else { "" };
        format!("{operation} {{ {}{arguments}{selection} }}", field.name.node)
    }

    pub fn is_composite(&self, of: &Type) -> bool {
        match &of.base {
            BaseType::List(inner) => self.is_composite(inner),
            BaseType::Named(name) => matches!(
                self.find(name).map(|found| &found.kind),
                Some(TypeKind::Object(_) | TypeKind::Interface(_) | TypeKind::Union(_))
            ),
        }
    }
}

/// What stands behind `Who:` in the description.
fn who(field: &FieldDefinition) -> String {
    let description = field.description.as_ref().map_or("", |text| text.node.as_str());
    let line = description.lines().rev().find_map(|line| line.trim().strip_prefix("Who: "));
    let line = line.unwrap_or_else(|| panic!("{} doesn't say who may use it", field.name.node));
    line.trim_end_matches('.').to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_do_what_descriptions_say() {
    let gateway = Gateway::start().await;
    let contract = Contract::read();
    for (root, operation) in [("Query", "query"), ("Mutation", "mutation")] {
        for field in contract.fields(root) {
            let call = contract.call(operation, field);
            let code = |response: serde_json::Value| {
                response["errors"][0]["extensions"]["code"].as_str().map(str::to_owned)
            };
            let nobody = code(gateway.anonymous().run(&call, json!({})).await);
            let someone = code(gateway.shopper("someone").run(&call, json!({})).await);
            let admin = code(gateway.admin().run(&call, json!({})).await);
            let refused = |code: &Option<String>| {
                matches!(code.as_deref(), Some("UNAUTHENTICATED" | "FORBIDDEN"))
            };
            let (nobody, someone) = match who(field).as_str() {
                "everyone" => (!refused(&nobody), !refused(&someone)),
                "signed in" => (nobody.as_deref() == Some("UNAUTHENTICATED"), !refused(&someone)),
                _ => (
                    nobody.as_deref() == Some("UNAUTHENTICATED"),
                    someone.as_deref() == Some("FORBIDDEN"),
                ),
            };
            assert!(
                nobody && someone && !refused(&admin),
                "{call} is guarded otherwise than it says"
            );
        }
    }
    for field in contract.fields("Subscription") {
        who(field);
    }
}
