//! Something that isn't there is not found, whether its id is malformed, of another kind or unknown: every
//! argument that takes an id is walked.

use std::collections::BTreeSet;

use async_graphql::parser::types::{
    BaseType, FieldDefinition, InputValueDefinition, Type, TypeKind,
};
use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use crate::{content, roles::Contract, support::Gateway};

/// Where an argument or a field of an input object stands, from the root field on.
type Path = Vec<String>;

/// Ids that are the caller's to choose, or that aren't of things.
const OTHERS: [&str; 4] = ["idempotencyKey", "version", "userId", "authorId"];
/// New keys, and what comes with a file, of which the tests of assets tell.
const ELSEWHERE: [[&str; 3]; 3] = [
    ["createProduct", "input", "sku"],
    ["replaceAsset", "input", "assetId"],
    ["uploadAsset", "input", "parentId"],
];

/// Every place below a root field that takes an id.
fn places(contract: &Contract, field: &FieldDefinition) -> Vec<Path> {
    let mut found = Vec::new();
    let root = vec![field.name.node.to_string()];
    field.arguments.iter().for_each(|one| collect(contract, &one.node, &root, &mut found));
    found.retain(|path| !ELSEWHERE.iter().any(|other| path == other));
    found
}

fn collect(
    contract: &Contract,
    one: &InputValueDefinition,
    above: &[String],
    found: &mut Vec<Path>,
) {
    let mut path = above.to_vec();
    path.push(one.name.node.to_string());
    let name = base(&one.ty.node);
    if name == "ID" && !OTHERS.contains(&one.name.node.as_str()) {
        found.push(path);
    } else if let Some(TypeKind::InputObject(input)) = contract.find(name).map(|of| &of.kind) {
        input.fields.iter().for_each(|field| collect(contract, &field.node, &path, found));
    }
}

fn base(of: &Type) -> &str {
    match &of.base {
        BaseType::List(inner) => base(inner),
        BaseType::Named(name) => name,
    }
}

/// What the id at a place is of; `None` for SKUs.
fn kind(path: &[String]) -> Option<NodeKind> {
    let (root, name) = (path[0].as_str(), path[path.len() - 1].as_str());
    Some(match name {
        "sku" => return None,
        "cartId" => NodeKind::Cart,
        "orderId" => NodeKind::Order,
        "accountId" | "sourceId" | "destinationId" | "account" => NodeKind::Account,
        "transferId" => NodeKind::Transfer,
        "jobId" => NodeKind::Job,
        "personId" => NodeKind::Person,
        "categoryId" | "categoryIds" => NodeKind::Category,
        "assetId" => NodeKind::Asset,
        "subjectId" | "ids" => NodeKind::Product,
        "commentId" | "replyToId" => NodeKind::Comment,
        "parentId" if root.ends_with("Category") => NodeKind::Category,
        "contentId" | "parentId" => NodeKind::Content,
        "id" => match root {
            "account" => NodeKind::Account,
            "asset" => NodeKind::Asset,
            "cart" => NodeKind::Cart,
            "category" => NodeKind::Category,
            "comment" => NodeKind::Comment,
            "content" => NodeKind::Content,
            "job" => NodeKind::Job,
            "order" | "orderChanged" => NodeKind::Order,
            "person" => NodeKind::Person,
            "transferStatus" => NodeKind::Transfer,
            "node" | "product" => NodeKind::Product,
            _ => panic!("{path:?}: name the kind of this id in `kind`"),
        },
        _ => panic!("{path:?}: name the kind of this id in `kind`"),
    })
}

/// A sound id of something that isn't there.
fn unknown(path: &[String]) -> String {
    nothing(path, "nothing")
}

fn nothing(path: &[String], key: &str) -> String {
    match kind(path) {
        None => key.to_owned(),
        Some(kind @ NodeKind::Comment) => kind.id(&format!("product:{key}:{key}")).0,
        Some(kind) => kind.id(key).0,
    }
}

/// Texts that can't be the id of anything that may stand there.
fn impossible(path: &[String]) -> Vec<String> {
    let mut all: Vec<String> =
        ["", "$ne", "{\"$ne\": 1}", "a b", "a.b"].map(str::to_owned).to_vec();
    all.push("x".repeat(10_000));
    if let Some(kind) = kind(path) {
        // Any id of a thing fits where any thing is asked for.
        let other = if kind == NodeKind::Cart { NodeKind::Order } else { NodeKind::Cart };
        all.extend([other.id("nothing").0, kind.id("$where").0, kind.id("").0]);
        all.push("nonsense".into());
    }
    all
}

/// The arguments of a call, with `$id` at the place and sound values in all others that are needed.
struct Call<'a> {
    contract: &'a Contract,
    place: &'a [String],
}

impl Call<'_> {
    fn text(&self, operation: &str, field: &FieldDefinition) -> String {
        let at = vec![field.name.node.to_string()];
        let arguments = field.arguments.iter().filter_map(|one| self.value(&one.node, &at));
        let arguments: Vec<_> = arguments.collect();
        let selection = match base(&field.ty.node) {
            name if name.ends_with("Connection") => " { edges { cursor } }",
            name if name.ends_with("Result") => " { __typename ... on NotFound { what id } }",
            _ => " { __typename }",
        };
        format!(
            "{operation}($id: ID!) {{ {}({}){selection} }}",
            field.name.node,
            arguments.join(", ")
        )
    }

    /// An argument with its value; none where it can be left out and isn't on the way to the place.
    fn value(&self, one: &InputValueDefinition, above: &[String]) -> Option<String> {
        let mut at = above.to_vec();
        at.push(one.name.node.to_string());
        let is_on_way = self.place.starts_with(&at);
        // A price is set where there is one.
        let is_wanted = !one.ty.node.nullable || one.name.node == "retail";
        if !is_on_way && (!is_wanted || one.default_value.is_some()) {
            return None;
        }
        let value = self.literal(&one.ty.node, &at);
        Some(format!("{}: {value}", one.name.node))
    }

    fn literal(&self, of: &Type, at: &[String]) -> String {
        let name = at[at.len() - 1].as_str();
        if let BaseType::List(inner) = &of.base {
            return match name {
                "all" => "[{key: \"a\", exists: true}]".to_owned(),
                "names" => "[{locale: \"en\", name: \"a\"}]".to_owned(),
                _ if self.place == at => format!("[{}]", self.literal(inner, at)),
                _ => "[]".to_owned(),
            };
        }
        if self.place == at {
            return "$id".to_owned();
        }
        let of = base(of);
        match self.contract.find(of).map(|found| &found.kind) {
            Some(TypeKind::InputObject(input)) => {
                let mut fields: Vec<_> = input.fields.iter().map(|field| &field.node).collect();
                if self.contract.is_one_of(of) {
                    let way = self.place.get(at.len()).filter(|_| self.place.starts_with(at));
                    fields.retain(|field| way.is_none_or(|way| field.name.node == *way));
                    fields.truncate(1);
                    let only = fields[0];
                    let mut below = at.to_vec();
                    below.push(only.name.node.to_string());
                    let value = self.literal(&only.ty.node, &below);
                    return format!("{{{}: {value}}}", only.name.node);
                }
                let fields: Vec<_> =
                    fields.into_iter().filter_map(|field| self.value(field, at)).collect();
                format!("{{{}}}", fields.join(", "))
            }
            Some(TypeKind::Enum(values)) => values.values[0].node.value.node.to_string(),
            _ => match (of, name) {
                ("Int" | "Long", _) => "1".to_owned(),
                ("Boolean", _) => "true".to_owned(),
                ("CurrencyCode", _) => "\"EUR\"".to_owned(),
                ("LocaleTag", _) => "\"en\"".to_owned(),
                ("DateTime", _) => "\"2020-01-01T00:00:00Z\"".to_owned(),
                (_, "country") => "\"DE\"".to_owned(),
                ("ID", _) if !OTHERS.contains(&name) => format!("{:?}", nothing(at, "another")),
                _ => "\"a\"".to_owned(),
            },
        }
    }
}

/// A call for each place, with the place.
fn calls(contract: &Contract, root: &str, operation: &str) -> Vec<(Path, String)> {
    let mut all = Vec::new();
    for field in contract.fields(root) {
        for place in places(contract, field) {
            let text = Call { contract, place: &place }.text(operation, field);
            all.push((place, text));
        }
    }
    all
}

/// A caller who may do everything.
fn anyone(gateway: &Gateway) -> crate::support::Client {
    gateway.user("walker", &["merchant", "service", "editor", "moderator", "analyst", "admin"])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_answers_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    // What an id that was taken for none would find.
    content::put(&gateway, "FOLDER", "en", None).await;
    gateway.product("a", 100, "EUR").await;
    let client = anyone(&gateway);
    let calls = calls(&Contract::read(), "Query", "query");
    let roots: BTreeSet<_> = calls.iter().map(|(place, _)| place[0].as_str()).collect();
    assert!(roots.len() >= 18, "{roots:?}");
    for (place, text) in &calls {
        let nothing = client.field(text, json!({ "id": unknown(place) })).await;
        for id in impossible(place) {
            let found = client.run(text, json!({ "id": id })).await;
            assert_eq!(found["errors"], Value::Null, "{text} with {id:.40}: {found:#}");
            assert_eq!(found["data"][&place[0]], nothing, "{text} with {id:.40}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_refuses_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    content::put(&gateway, "FOLDER", "en", None).await;
    let client = anyone(&gateway);
    let calls = calls(&Contract::read(), "Mutation", "mutation");
    assert!(calls.len() >= 60, "{}", calls.len());
    for (place, text) in &calls {
        let refused = client.field(text, json!({ "id": unknown(place) })).await;
        assert_eq!(refused["__typename"], "NotFound", "{text}: {refused:#}");
    }
    // After these, as some of them note in `leases` that they held a lock.
    let before = gateway.snapshot().await;
    for (place, text) in &calls {
        for id in impossible(place) {
            let refused = client.field(text, json!({ "id": id })).await;
            assert_eq!(refused["__typename"], "NotFound", "{text} with {id:.40}: {refused:#}");
            let told: String = id.chars().take(256).collect();
            assert_eq!(refused["id"], told, "{text} with {id:.40}");
        }
    }
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_ends_as_if_the_id_were_unknown() {
    let gateway = Gateway::start().await;
    let token = anyone(&gateway).token;
    let contract = Contract::read();
    let calls = calls(&contract, "Subscription", "subscription");
    // `jobAvailable` has no id: a queue has a name.
    assert_eq!(calls.len() + 1, contract.fields("Subscription").len());
    for (place, text) in &calls {
        for id in impossible(place).into_iter().chain([unknown(place)]) {
            let mut socket = gateway.session(token.as_deref()).await;
            socket.subscribe("1", text, json!({ "id": id })).await;
            let heard = socket.hear().await;
            assert_eq!(heard, json!({ "type": "complete", "id": "1" }), "{text} with {id:.40}");
        }
    }
}
