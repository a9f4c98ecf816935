//! `schema.graphql` is the contract: it equals the code. So do the tables of `docs/ROLES.md`, `docs/SHARDING.md`,
//! `docs/PLACEMENT.md` and `docs/OPERATIONS.md`, and the list of nodes in `docs/SCHEMA.md`. A test writes a table anew that
//! differs.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "schema/rules.rs"]
mod rules;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::Path,
    time::Duration,
};

use async_graphql::{
    Request, Value,
    parser::{
        parse_schema,
        types::{BaseType, FieldDefinition, Type, TypeKind, TypeSystemDefinition},
    },
};
use docgate::domains::{
    ROOMS,
    shards::{broadcasts_as_markdown, groups_as_markdown, keys_as_markdown},
};

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes tables of a document, if they differ from the code. Each is between two comments, `<!-- NAME -->` and
/// `<!-- end of NAME -->`.
fn check_tables(file: &str, tables: &[(&str, String)]) {
    let committed = read(file);
    let mut written = committed.clone();
    for (name, table) in tables {
        let [begin, end] = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
        let (before, rest) = written.split_once(&begin).expect("the beginning of a table");
        let (_, after) = rest.split_once(&end).expect("the end of a table");
        written = format!("{before}{begin}\n{table}\n{end}{after}");
    }
    if written != committed {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        fs::write(&path, written).expect("the file is writable");
        panic!("{file} differed from the code. It is written anew: look at the difference");
    }
}

#[test]
fn the_tables_of_shard_keys_and_broadcasts_equal_the_code() {
    let tables = [("keys", keys_as_markdown()), ("broadcasts", broadcasts_as_markdown())];
    check_tables("docs/SHARDING.md", &tables);
}

#[test]
fn the_table_of_groups_equals_the_code() {
    check_tables("docs/PLACEMENT.md", &[("groups", groups_as_markdown())]);
}

/// The rooms, each with the rooms that it needs.
fn rooms_as_markdown() -> String {
    let mut text = "| room | needs |\n|---|---|\n".to_owned();
    let mut rooms = ROOMS.to_vec();
    rooms.sort_unstable_by_key(|room| room.name);
    for room in rooms {
        let needs: Vec<_> = room.needs.iter().map(|name| format!("`{name}`")).collect();
        let needs = if needs.is_empty() { "none".to_owned() } else { needs.join(", ") };
        writeln!(text, "| `{}` | {needs} |", room.name).expect("text");
    }
    text
}

#[test]
fn the_table_of_rooms_equals_the_code() {
    check_tables("docs/OPERATIONS.md", &[("rooms", rooms_as_markdown())]);
}

#[test]
fn the_committed_schema_equals_the_code() {
    let equal = read("schema.graphql") == docgate::schema::sdl();
    assert!(equal, "run `cargo run -- schema > schema.graphql` and look at the difference");
}

#[test]
fn the_documentation_of_documents_equals_the_code() {
    let equal = read("docs/DOCUMENTS.md") == docgate::domains::shapes::markdown();
    assert!(
        equal,
        "run `cargo run -- schema documents > docs/DOCUMENTS.md` and look at the difference"
    );
}

/// The types that implement `Node`, separated by commas; of an interface's types, the interface.
fn nodes_as_markdown() -> String {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut nodes = BTreeSet::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let TypeKind::Object(object) = &found.node.kind else { continue };
        let interfaces: Vec<_> = object.implements.iter().map(|name| name.node.as_str()).collect();
        if interfaces.contains(&"Node") {
            let other = interfaces.into_iter().find(|name| *name != "Node");
            nodes.insert(format!("`{}`", other.unwrap_or(found.node.name.node.as_str())));
        }
    }
    nodes.into_iter().collect::<Vec<_>>().join(", ") + "\n"
}

#[test]
fn the_list_of_nodes_equals_the_schema() {
    check_tables("docs/SCHEMA.md", &[("nodes", nodes_as_markdown())]);
}

/// What stands behind `Who:` in the description of a field.
fn who(field: &FieldDefinition) -> Option<&str> {
    let text = field.description.as_ref().map_or("", |text| text.node.as_str());
    let who = text.lines().rev().find_map(|line| line.trim().strip_prefix("Who: "));
    who.map(|who| who.trim_end_matches('.'))
}

/// The table of roles in Markdown: who may use which root fields, by what stands behind `Who:` in their descriptions. Roles
/// come in the order in which the page has them; new ones come last.
fn roles_as_markdown(page: &str) -> String {
    const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut fields = BTreeMap::<(String, usize), BTreeSet<String>>::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let TypeKind::Object(object) = &found.node.kind else { continue };
        let root = ROOTS.iter().position(|root| found.node.name.node == *root);
        let Some(root) = root else { continue };
        for field in &object.fields {
            let who = who(&field.node).unwrap_or("(not said)").to_owned();
            fields.entry((who, root)).or_default().insert(field.node.name.node.to_string());
        }
    }
    let at = |who: &str| page.find(&format!("\n| {who} | `")).unwrap_or(usize::MAX);
    let mut rows: Vec<_> = fields.into_iter().collect();
    rows.sort_by_key(|((who, _), _)| at(who));
    let mut text = "| who | fields |\n|---|---|\n".to_owned();
    for ((who, _), names) in rows {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        writeln!(text, "| {who} | {} |", names.join(", ")).expect("text");
    }
    text
}

#[test]
fn the_role_table_equals_the_schema() {
    const FILE: &str = "docs/ROLES.md";
    check_tables(FILE, &[("roles", roles_as_markdown(&read(FILE)))]);
}

#[test]
fn everything_in_the_schema_is_described() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut bare = Vec::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let name = found.node.name.node.as_str();
        // The roots' fields are described.
        let known = ["Query", "Mutation", "Subscription"].contains(&name);
        if found.node.description.is_none() && !known {
            bare.push(name.to_owned());
        }
        let fields: Vec<_> = match &found.node.kind {
            TypeKind::Object(object) => object.fields.iter().collect(),
            TypeKind::Interface(interface) => interface.fields.iter().collect(),
            _ => Vec::new(),
        };
        for field in fields {
            if field.node.description.is_none() {
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

/// The words of a name or a text in lower case, in the singular, without those that say nothing by themselves.
fn words(text: &str) -> BTreeSet<String> {
    const EMPTY: [&str; 9] = ["a", "an", "the", "of", "its", "it", "is", "this", "with"];
    let mut spaced = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.push(if letter.is_alphanumeric() { letter } else { ' ' });
        before = letter;
    }
    let all = spaced.split_whitespace().map(str::to_lowercase);
    let telling = all.filter(|word| !EMPTY.contains(&word.as_str()));
    telling.map(|word| word.trim_end_matches('s').to_owned()).collect()
}

/// A description and the names beside which it has to say something: that of what is described, and that of its type.
type Told<'a> = (String, Option<&'a str>, [&'a str; 2]);

/// Descriptions of fields, of their arguments, and of fields of inputs.
fn told_by_fields<'a>(owner: &str, field: &'a FieldDefinition) -> Vec<Told<'a>> {
    let name = field.name.node.as_str();
    let text = field.description.as_ref().map(|text| text.node.as_str());
    let mut told = vec![(format!("{owner}.{name}"), text, [name, named(&field.ty.node)])];
    for argument in field.arguments.iter().map(|argument| &argument.node) {
        let text = argument.description.as_ref().map(|text| text.node.as_str());
        let names = [argument.name.node.as_str(), named(&argument.ty.node)];
        told.push((format!("{owner}.{name}({})", names[0]), text, names));
    }
    told
}

/// A description such as "Title." of a field `title` is none.
#[test]
fn descriptions_say_what_the_name_does_not() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut told: Vec<Told<'_>> = Vec::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let owner = found.node.name.node.as_str();
        let text = found.node.description.as_ref().map(|text| text.node.as_str());
        // Inputs and results are named after their mutation, which is described.
        if !text
            .is_some_and(|text| text.starts_with("Input of `") || text.starts_with("Result of `"))
        {
            told.push((owner.to_owned(), text, [owner, ""]));
        }
        match &found.node.kind {
            TypeKind::Object(object) => {
                told.extend(
                    object.fields.iter().flat_map(|field| told_by_fields(owner, &field.node)),
                );
            }
            TypeKind::Interface(interface) => {
                told.extend(
                    interface.fields.iter().flat_map(|field| told_by_fields(owner, &field.node)),
                );
            }
            TypeKind::InputObject(input) => {
                for field in input.fields.iter().map(|field| &field.node) {
                    let text = field.description.as_ref().map(|text| text.node.as_str());
                    let names = [field.name.node.as_str(), named(&field.ty.node)];
                    told.push((format!("{owner}.{}", names[0]), text, names));
                }
            }
            TypeKind::Enum(values) => {
                for value in values.values.iter().map(|value| &value.node) {
                    let text = value.description.as_ref().map(|text| text.node.as_str());
                    let name = value.value.node.as_str();
                    told.push((format!("{owner}.{name}"), text, [name, ""]));
                }
            }
            _ => {}
        }
    }
    let says_nothing = |(_, text, names): &Told<'_>| {
        let known: BTreeSet<_> = names.iter().flat_map(|name| words(name)).collect();
        text.is_some_and(|text| words(text).is_subset(&known))
    };
    told.retain(says_nothing);
    let empty: Vec<_> = told.iter().map(|(at, text, _)| (at, text.unwrap_or_default())).collect();
    assert!(empty.is_empty(), "these only repeat names: {empty:#?}");
}

#[test]
fn every_configuration_key_is_documented() {
    let defaults = serde_json::to_value(docgate::config::Config::default()).expect("keys");
    let keys: BTreeSet<_> = defaults.as_object().expect("keys").keys().cloned().collect();
    let mut documented = Vec::new();
    for row in read("docs/CONFIGURATION.md").lines().filter(|line| line.starts_with("| `")) {
        let keys = row.split('|').nth(1).expect("a cell").split(',');
        documented.extend(keys.map(|key| key.trim().trim_matches('`').to_owned()));
    }
    documented.sort();
    assert_eq!(documented, keys.into_iter().collect::<Vec<_>>());
}

/// The seconds of a field's `@cacheControl`.
fn hint(field: &FieldDefinition) -> Option<u64> {
    let mut directives = field.directives.iter().map(|directive| &directive.node);
    let hint = directives.find(|directive| directive.name.node == "cacheControl")?;
    match &hint.get_argument("maxAge").expect("an age").node {
        Value::Number(seconds) => seconds.as_u64(),
        other => panic!("{other} is no age"),
    }
}

fn named(ty: &Type) -> &str {
    match &ty.base {
        BaseType::Named(name) => name,
        BaseType::List(inner) => named(inner),
    }
}

#[test]
fn only_what_everyone_sees_alike_may_be_kept() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut fields = BTreeMap::new();
    // By interface and union, what may stand in its place.
    let mut members: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let name = found.node.name.node.to_string();
        match &found.node.kind {
            TypeKind::Object(object) => {
                for interface in &object.implements {
                    members.entry(interface.node.to_string()).or_default().push(name.clone());
                }
                fields.insert(name, &object.fields);
            }
            TypeKind::Interface(interface) => drop(fields.insert(name, &interface.fields)),
            TypeKind::Union(union) => {
                let all = union.members.iter().map(|member| member.node.to_string());
                members.entry(name).or_default().extend(all);
            }
            _ => {}
        }
    }
    let root = fields["Query"].iter().map(|field| &field.node);
    let (kept, others): (Vec<_>, Vec<_>) = root.partition(|field| hint(field).is_some());
    for field in &kept {
        assert_eq!(who(field), Some("everyone"), "{}", field.name.node);
    }
    let names = |all: &[&FieldDefinition]| {
        all.iter().map(|field| field.name.node.to_string()).collect::<BTreeSet<_>>()
    };
    for never in ["account", "cart", "node", "nodes", "order", "stock", "transferStatus"] {
        assert!(names(&others).contains(never), "{never}");
    }
    // A field that is guarded below one that may be kept says that it may not.
    let mut next: Vec<_> = kept.iter().map(|field| named(&field.ty.node).to_owned()).collect();
    let (mut seen, mut guarded) = (BTreeSet::new(), Vec::new());
    while let Some(of) = next.pop() {
        if !seen.insert(of.clone()) {
            continue;
        }
        next.extend(members.get(&of).into_iter().flatten().cloned());
        for field in fields.get(&of).into_iter().copied().flatten() {
            if who(&field.node).is_some_and(|who| who != "everyone") {
                assert_eq!(hint(&field.node), Some(0), "{of}.{}", field.node.name.node);
                guarded.push(format!("{of}.{}", field.node.name.node));
            }
            // A response with such a field isn't kept, whatever is below it.
            if hint(&field.node) != Some(0) {
                next.push(named(&field.node.ty.node).to_owned());
            }
        }
    }
    assert_eq!(guarded, ["Person.address"]);
    // A field that is selected on an interface has the hint of the members' field.
    for (interface, objects) in &members {
        for field in fields.get(interface).into_iter().copied().flatten() {
            let name = &field.node.name.node;
            for object in objects {
                let mut own = fields[object].iter().filter(|own| own.node.name.node == *name);
                let own = own.next().expect("the interface's field");
                assert_eq!(hint(&field.node), hint(&own.node), "{interface}.{name} of {object}");
            }
        }
    }
}

#[test]
fn an_answer_may_be_kept_for_the_shortest_time_of_its_fields() {
    let schema = docgate::schema::build(&docgate::config::Config::default());
    let bomb = (0..40).map(|at| format!("fragment F{at} on Query {{ ...F{0} ...F{0} }} ", at + 1));
    let bomb = bomb.collect::<Vec<_>>().concat();
    let bomb = format!("{{ ...F0 }} {bomb} fragment F40 on Query {{ person(id: \"a\") {{ id }} }}");
    for (query, seconds) in [
        ("{ product(sku: \"a\") { sku } }", Some(30)),
        ("{ person(id: \"a\") { id } }", Some(300)),
        ("{ __typename person(id: \"a\") { id } }", Some(300)),
        ("{ person(id: \"a\") { id } category(by: {path: \"/a\"}) { id } }", Some(120)),
        ("{ a: person(id: \"a\") { id } b: product(sku: \"a\") { sku } }", Some(30)),
        (
            "query($no: Boolean = false) { person(id: \"a\") { id } product(sku: \"a\") @skip(if: $no) { sku } }",
            Some(30),
        ),
        ("query { ...Part } fragment Part on Query { person(id: \"a\") { id } }", Some(300)),
        ("query { ... { person(id: \"a\") { id } } }", Some(300)),
        ("{ product(sku: \"a\") { sku } stock(sku: \"a\") { available } }", None),
        ("{ product(sku: \"a\") { sku } ... on Query { stock(sku: \"a\") { available } } }", None),
        (
            "{ ...Part product(sku: \"a\") { sku } } fragment Part on Query { cart(id: \"a\") { id } }",
            None,
        ),
        (
            "query($no: Boolean = false) { person(id: \"a\") { id } stock(sku: \"a\") @skip(if: $no) { sku } }",
            None,
        ),
        ("{ person(id: \"a\") { works { product { sku } } } }", Some(30)),
        ("{ product(sku: \"a\") { stock { available } } }", None),
        ("{ product(sku: \"a\") { ... on Book { stock { available } } } }", None),
        ("{ product(sku: \"a\") { discussion { comments { nodes { subject { id } } } } } }", None),
        ("{ person(id: \"a\") { works { product { stock { available } } } } }", None),
        ("{ person(id: \"a\") { id address { city } } }", None),
        ("{ person(id: \"a\") { ...Part } } fragment Part on Person { address { city } }", None),
        ("{ person(id: \"a\") { ... on Node { ... on Person { address { city } } } } }", None),
        ("{ people { edges { node { address { city } } } } }", None),
        ("{ node(id: \"a\") { id } }", None),
        ("{ __typename }", None),
        ("{ __schema { types { name } } }", None),
        ("{ product(sku: \"a\") { sku } __type(name: \"Book\") { name } }", None),
        ("{ nothing }", None),
        ("{ product(sku: \"a\") { sku } nothing }", None),
        ("mutation { product(sku: \"a\") { sku } }", None),
        ("mutation { deleteProduct(input: {sku: \"a\"}) { __typename } }", None),
        ("subscription { stockChanged(sku: \"a\") { available } }", None),
        (
            // A cycle.
            "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A person(id: \"a\") { id } }",
            None,
        ),
        // More than anyone may ask for.
        (bomb.as_str(), None),
    ] {
        let age = schema.prepare(Request::new(query)).ok().and_then(|prepared| prepared.max_age());
        assert_eq!(age, seconds.map(Duration::from_secs), "{query}");
    }
    let two = "query A { person(id: \"a\") { id } } query B { cart(id: \"a\") { id } }";
    let age = |name| {
        schema
            .prepare(Request::new(two).operation_name(name))
            .ok()
            .and_then(|prepared| prepared.max_age())
    };
    assert_eq!((age("A"), age("B")), (Some(Duration::from_secs(300)), None));
}

#[test]
fn the_subgraph_is_the_schema_with_keys() {
    let subgraph =
        parse_schema(docgate::schema::subgraph::sdl(&docgate::config::Config::default()))
            .expect("the printed schema parses");
    let whole = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let types = |schema: &async_graphql::parser::types::ServiceDocument| {
        let names = schema.definitions.iter().filter_map(|definition| match definition {
            TypeSystemDefinition::Type(found) => Some(found.node.name.node.to_string()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>()
    };
    assert_eq!(types(&subgraph), types(&whole));
    let mut without = Vec::new();
    for definition in &subgraph.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let TypeKind::Object(object) = &found.node.kind else { continue };
        if !object.implements.iter().any(|interface| interface.node == "Node") {
            continue;
        }
        let keys = found.node.directives.iter().filter(|found| found.node.name.node == "key");
        let by_id = Value::String("id".into());
        let fields =
            |key: &async_graphql::Positioned<async_graphql::parser::types::ConstDirective>| {
                key.node.get_argument("fields").map(|fields| fields.node.clone())
            };
        if !keys.into_iter().any(|key| fields(key) == Some(by_id.clone())) {
            without.push(found.node.name.node.to_string());
        }
    }
    assert!(without.is_empty(), "nodes that other services can't refer to: {without:?}");
}
