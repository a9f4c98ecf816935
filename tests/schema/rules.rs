//! Rules that hold in the whole schema, also for rooms that are added.

use std::collections::{BTreeMap, BTreeSet};

use async_graphql::parser::{
    parse_schema,
    types::{
        InputValueDefinition, ServiceDocument, TypeDefinition, TypeKind, TypeSystemDefinition,
    },
};

use super::named;

/// Definitions of types, by name.
type Types<'a> = BTreeMap<&'a str, &'a TypeDefinition>;

fn types_of(schema: &ServiceDocument) -> Types<'_> {
    let types = schema.definitions.iter().filter_map(|definition| match definition {
        TypeSystemDefinition::Type(found) => Some((found.node.name.node.as_str(), &found.node)),
        _ => None,
    });
    types.collect()
}

/// Fields of object types that are ids of something that isn't shown beside them: the thing's own key, a thing that is
/// gone, or one that its caller may not see.
const IDS_ALONE: [&str; 18] = [
    "AdExplanation.campaignId",
    "AdPlacement.campaignId",
    "Album.sku",
    "Book.sku",
    "ChangedLine.sku",
    "DeletedPost.postId",
    "DeletedProduct.sku",
    "DeletedVariant.sku",
    "Film.sku",
    "GenericProduct.sku",
    // The subject of a token, who need not be a user of the social room.
    "Order.customerId",
    "ProductVariant.sku",
    // Likewise.
    "Receipt.customerId",
    "RecordedClick.campaignId",
    "RecordedConversion.campaignId",
    "ServedAd.campaignId",
    "ShortLine.sku",
    "User.userId",
];

/// `orderId` without `order` makes clients ask twice. Refusals name what the call named.
#[test]
fn a_reference_has_its_object() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let types = types_of(&schema);
    let mut alone = Vec::new();
    for (name, found) in &types {
        let TypeKind::Object(object) = &found.kind else { continue };
        if object.implements.iter().any(|interface| interface.node == "UserError") {
            continue;
        }
        for field in &object.fields {
            let id = field.node.name.node.as_str();
            let thing = match id {
                "sku" => "product",
                _ => match id.strip_suffix("Id") {
                    Some(thing) => thing,
                    None => continue,
                },
            };
            let shown = object.fields.iter().find(|field| field.node.name.node == thing);
            let shown = shown.and_then(|field| types.get(named(&field.node.ty.node)));
            let is_shown = shown.is_some_and(|of| {
                matches!(of.kind, TypeKind::Object(_) | TypeKind::Interface(_) | TypeKind::Union(_))
            });
            if !is_shown {
                alone.push(format!("{name}.{id}"));
            }
        }
    }
    assert_eq!(alone, IDS_ALONE);
}

/// The name of a reference in arguments and inputs is that of the object with the suffix `Id`.
#[test]
fn references_in_inputs_have_one_form() {
    const KEYS: [&str; 5] = ["id", "idempotencyKey", "sku", "skus", "version"];
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut others = Vec::new();
    let mut check = |at: String, input: &InputValueDefinition| {
        let name = input.name.node.as_str();
        let has_form = KEYS.contains(&name) || name.ends_with("Id") || name.ends_with("Ids");
        // Several objects of any kind have no name in common.
        if named(&input.ty.node) == "ID" && !has_form && at != "Query.nodes" {
            others.push(format!("{at}: {name}"));
        }
    };
    for (name, found) in types_of(&schema) {
        match &found.kind {
            TypeKind::Object(object) => {
                for field in object.fields.iter().map(|field| &field.node) {
                    for argument in &field.arguments {
                        check(format!("{name}.{}", field.name.node), &argument.node);
                    }
                }
            }
            TypeKind::InputObject(input) => {
                for field in &input.fields {
                    check(name.to_owned(), &field.node);
                }
            }
            _ => {}
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// What inputs take as an `Int` is an `Int` in answers, but for sums and for other things of the same name.
#[test]
fn what_fits_an_int_is_one() {
    const LONGER: [&str; 6] = [
        "NoRoom.capacity",
        "PriceFacet.max",
        "PriceFacet.min",
        "SessionPeriod.count",
        "SessionReport.count",
        // Stacks are merged.
        "Thing.quantity",
    ];
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let types = types_of(&schema);
    let mut taken = BTreeSet::new();
    for found in types.values() {
        let TypeKind::InputObject(input) = &found.kind else { continue };
        let numbers = input.fields.iter().filter(|field| named(&field.node.ty.node) == "Int");
        taken.extend(numbers.map(|field| field.node.name.node.as_str()));
    }
    let mut longer = Vec::new();
    for (name, found) in &types {
        let TypeKind::Object(object) = &found.kind else { continue };
        for field in object.fields.iter().map(|field| &field.node) {
            if named(&field.ty.node) == "Long" && taken.contains(field.name.node.as_str()) {
                longer.push(format!("{name}.{}", field.name.node));
            }
        }
    }
    assert_eq!(longer, LONGER);
}

/// One field that fails doesn't take the results of the others along.
#[test]
fn mutations_are_nullable_and_return_a_refusal_as_data() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let types = types_of(&schema);
    let TypeKind::Object(mutations) = &types["Mutation"].kind else { panic!("no mutations") };
    for field in mutations.fields.iter().map(|field| &field.node) {
        let at = &field.name.node;
        assert!(field.ty.node.nullable, "{at}");
        let of = named(&field.ty.node);
        assert!(matches!(types[of].kind, TypeKind::Union(_)), "{at} returns {of}");
        let arguments: Vec<_> =
            field.arguments.iter().map(|argument| argument.node.name.node.as_str()).collect();
        assert_eq!(arguments, ["input"], "{at}");
    }
}

/// A list that is a connection is read from both of its ends.
#[test]
fn connections_have_the_arguments_of_pages() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    for (name, found) in types_of(&schema) {
        let TypeKind::Object(object) = &found.kind else { continue };
        for field in object.fields.iter().map(|field| &field.node) {
            if !named(&field.ty.node).ends_with("Connection") {
                continue;
            }
            let has = |wanted: &str| {
                field.arguments.iter().any(|argument| argument.node.name.node == wanted)
            };
            let has_all = ["first", "after", "last", "before"].into_iter().all(has);
            assert!(has_all, "{name}.{}", field.name.node);
        }
    }
}

/// A client that selects one field of two members of a union gets one of two types under one key, which
/// generators of client code refuse.
#[test]
fn members_of_a_union_give_a_field_name_one_type() {
    let schema = parse_schema(docgate::schema::sdl()).expect("the printed schema parses");
    let mut fields: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut unions: Vec<(&str, Vec<&str>)> = Vec::new();
    for definition in &schema.definitions {
        let TypeSystemDefinition::Type(found) = definition else { continue };
        let name = found.node.name.node.as_str();
        match &found.node.kind {
            TypeKind::Object(object) => {
                let types = object
                    .fields
                    .iter()
                    .map(|field| (field.node.name.node.as_str(), field.node.ty.node.to_string()));
                fields.insert(name, types.collect());
            }
            TypeKind::Union(union) => {
                let members = union.members.iter().map(|member| member.node.as_str());
                unions.push((name, members.collect()));
            }
            _ => {}
        }
    }
    let mut conflicts = BTreeSet::new();
    for (union, members) in unions.iter().filter(|(name, _)| *name != "_Entity") {
        let mut seen: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for member in members {
            for (field, ty) in &fields[member] {
                let (other, before) = *seen.entry(field).or_insert((member, ty));
                if before != ty {
                    conflicts.insert(format!(
                        "{union}: {other}.{field}: {before}, {member}.{field}: {ty}"
                    ));
                }
            }
        }
    }
    assert!(!unions.is_empty() && conflicts.is_empty(), "{conflicts:#?}");
}
