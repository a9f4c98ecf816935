//! Rooms that are switched off, and roles with other names.

use std::collections::BTreeSet;

use docgate::{
    config::Config,
    domains::{ROOMS, collections, nodes::NodeType},
    graphql::node_id::NodeKind,
    schema,
};
use mongodb::bson::doc;
use serde_json::json;

use crate::{
    cli::{done, on},
    support::{Gateway, fresh_name, short_bounds},
};

/// The rooms of a site without a shop.
const SITE: [&str; 5] = ["assets", "comments", "content", "identities", "hits"];

fn site(config: &mut Config) {
    config.rooms = SITE.map(String::from).into();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_switched_off_is_not_in_the_schema() {
    let gateway = Gateway::with(site).await;
    let admin = gateway.admin();
    let told = admin.run("{ cart(id: \"a\") { id } }", json!({})).await;
    let message = told["errors"][0]["message"].as_str().expect("an error");
    assert!(message.contains("cart"), "{told:#}");
    let contents = "{ contents(by: { tag: \"a\" }) { edges { cursor } } }";
    assert_eq!(admin.field(contents, json!({})).await, json!({ "edges": [] }));

    let sdl = schema::build(gateway.app.config()).sdl();
    for gone in
        ["Cart", "Order", "Product", "Account", "CartNotActive", "AddCartLineInput", "Money"]
    {
        assert!(!sdl.contains(&format!(" {gone} ")), "{gone} in {sdl}");
    }
    for there in ["Page", "Asset", "Comment", "Node", "UserError", "ContentConflict"] {
        assert!(sdl.contains(&format!(" {there} ")), "{there} isn't in {sdl}");
    }
    let all = schema::build(&Config { rooms: Vec::new(), ..gateway.app.config().clone() }).sdl();
    assert_eq!(all, schema::sdl());
}

#[test]
fn without_orders_a_cart_has_no_order() {
    let rooms = ["carts", "inventory", "catalog", "categories", "comments", "people"];
    let rooms = rooms.map(String::from).into();
    let sdl = schema::build(&Config { rooms, ..Config::default() }).sdl();
    assert!(sdl.contains("type Cart ") && sdl.contains("orderId: ID"), "{sdl}");
    assert!(!sdl.contains("type Order ") && !sdl.contains("order: Order"), "{sdl}");
}

/// The schema of a gateway with these rooms only.
fn sdl_of(rooms: &[&str]) -> String {
    let rooms = rooms.iter().map(|room| (*room).to_owned()).collect();
    schema::build(&Config { rooms, ..Config::default() }).sdl()
}

/// The fields of a type or interface.
fn fields_of<'a>(sdl: &'a str, name: &str) -> &'a str {
    let (_, rest) = sdl.split_once(&format!("{name} ")).unwrap_or_else(|| panic!("no {name}"));
    rest.split("\n}").next().expect("its fields")
}

#[test]
fn objects_of_a_room_that_is_switched_off_are_no_fields() {
    let all = schema::sdl();
    for (rooms, owner, field) in [
        (&["catalog", "categories", "comments", "people"][..], "type Book", "stock: Stock"),
        (&["catalog", "categories", "comments", "people"], "interface Product", "stock: Stock"),
        (&["people"], "type Work", "product("),
        (&["people"], "type Person", "images("),
        (&["categories"], "type Category", "images("),
        (&["categories"], "type ContributorFacet", "person: Person"),
        (&["catalog", "categories", "comments", "people"], "type Book", "images("),
        (&["assets", "comments", "identities"], "type Asset", "parent: Content"),
        (&["identities"], "type Identity", "user: User"),
        (&["identities"], "type UserReference", "user: User"),
        (
            &["assets", "comments", "identities", "queue", "social"],
            "type User",
            "unreadMessageCount: Int",
        ),
    ] {
        assert!(fields_of(&all, owner).contains(field), "{owner} has no {field}");
        let sdl = sdl_of(rooms);
        assert!(!fields_of(&sdl, owner).contains(field), "{owner} has {field} in {rooms:?}");
        for gone in ["type Stock ", "interface Content ", "type Folder "] {
            assert!(!sdl.contains(gone), "{gone} in {rooms:?}");
        }
    }
    assert!(!sdl_of(&["people"]).contains("interface Product "));
    // What a comment is on is an object of any room, or of none.
    assert!(fields_of(&sdl_of(&["comments"]), "type Comment").contains("subject: Node"));
}

/// Adds a room and all that it needs.
fn add_with_needs(name: &'static str, all: &mut BTreeSet<&'static str>) {
    let room = ROOMS.iter().find(|room| room.name == name).expect("a room");
    if all.insert(room.name) {
        for needed in room.needs {
            add_with_needs(needed, all);
        }
    }
}

/// Whether a type or interface has a field.
fn has_field(sdl: &str, owner: &str, field: &str) -> bool {
    let forms = ["type", "interface"].map(|form| format!("{form} {owner}"));
    let shown = forms.iter().filter(|form| sdl.contains(&format!("{form} ")));
    let mut lines = shown.flat_map(|form| fields_of(sdl, form).lines());
    lines.any(|line| {
        let rest = line.trim_start().strip_prefix(field);
        rest.is_some_and(|rest| rest.starts_with([':', '(']))
    })
}

#[test]
fn a_room_by_itself_shows_nothing_of_others() {
    let all = schema::sdl();
    for room in ROOMS {
        let mut on = BTreeSet::new();
        add_with_needs(room.name, &mut on);
        let sdl = sdl_of(&on.iter().copied().collect::<Vec<_>>());
        for off in ROOMS.iter().filter(|other| !on.contains(other.name)) {
            for kind in off.nodes.iter().flat_map(NodeType::names) {
                assert!(!sdl.contains(&format!("type {kind} ")), "{kind} is shown by {on:?}");
            }
            for (owner, field) in off.extends {
                assert!(has_field(&all, owner, field), "{owner} has no {field}");
                assert!(!has_field(&sdl, owner, field), "{owner} has {field} in {on:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_belongs_to_a_room_that_is_switched_off_is_not_found() {
    let gateway = Gateway::start().await;
    let cart = gateway.anonymous().open_cart("RESERVE").await;
    let node = "query($id: ID!) { node(id: $id) { id } }";
    let id = json!({ "id": cart });
    assert_eq!(gateway.anonymous().field(node, id.clone()).await["id"], json!(cart));
    let without = gateway.sibling_with(site).await;
    assert!(without.anonymous().field(node, id).await.is_null());
    let product = json!({ "id": NodeKind::PRODUCT.id("a").0 });
    assert!(without.anonymous().field(node, product).await.is_null());
    // Its sweeps don't run and its invariants aren't checked: a cart that is broken by hand stays so.
    let carts = gateway.raw("carts");
    let broken = doc! { "$set": { "lines": [{ "sku": "a", "quantity": -1_i64, "held": 0_i64,
    "title": "a", "type": "thing", "unitPrice": 1_i64 }] } };
    carts.update_one(doc! {}, broken).await.expect("broken");
    without.assert_sound().await;
    carts.delete_many(doc! {}).await.expect("removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_other_room_changes_documents_of_a_room_that_is_switched_off() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let product = NodeKind::PRODUCT.id("a").0;
    let without = gateway.sibling_with(site).await;
    for (field, input) in [
        (
            "setMetadata",
            json!({ "ownerId": product, "set": [{ "key": "a", "value": { "text": "b" } }] }),
        ),
        ("setImages", json!({ "subjectId": product, "images": [] })),
    ] {
        let kind = format!("{}{}Input", field[..1].to_uppercase(), &field[1..]);
        let query = format!(
            "mutation($input: {kind}!) {{ {field}(input: $input) {{
                __typename ... on NotFound {{ id }} }} }}"
        );
        let (input, before) = (json!({ "input": input }), gateway.stored("products").await);
        let refused = without.merchant().field(&query, input.clone()).await;
        assert_eq!(refused, json!({ "__typename": "NotFound", "id": product }), "{field}");
        assert_eq!(gateway.stored("products").await, before, "{field}");
        let done = gateway.merchant().field(&query, input).await;
        assert_ne!(done["__typename"], "NotFound", "{field}: {done:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sweep_of_a_room_that_is_switched_off_does_not_run() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.cart_idle_seconds = 1;
    })
    .await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let cart = shopper.open_cart("RESERVE").await;
    shopper.add(&cart, "a", 3).await;
    let without = gateway.sibling_with(site).await;
    // By the end of this wait the cart is idle for long enough.
    without.sweep().await;
    assert_eq!(gateway.available("a").await, 7);
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 10);
    gateway.assert_sound().await;
}

#[test]
fn every_kind_and_every_type_of_nodes_belongs_to_one_room() {
    let nodes = || ROOMS.iter().flat_map(|room| room.nodes);
    let kinds: BTreeSet<&str> = nodes().map(|of| of.kind.name()).collect();
    assert_eq!(kinds.len(), nodes().count(), "{kinds:?}");
    assert!(kinds.iter().all(|kind| !kind.contains(':')), "{kinds:?}");
    let names: BTreeSet<_> = nodes().flat_map(NodeType::names).collect();
    assert_eq!(names.len(), nodes().flat_map(NodeType::names).count(), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_feeds_need_their_rooms() {
    let gateway = Gateway::with(|config| config.rooms = vec!["hits".into()]).await;
    for path in ["/assets/a", "/feeds/a"] {
        let url = format!("http://{}{path}", gateway.address);
        let answer = gateway.http.get(url).send().await.expect("an answer");
        assert_eq!(answer.status(), 404, "{path}");
    }
}

#[test]
fn a_room_that_is_switched_off_has_no_collections() {
    let mut config = Config::default();
    site(&mut config);
    let names: Vec<&str> = collections(&config).iter().map(|declared| declared.name).collect();
    assert!(names.contains(&"nodes") && names.contains(&"leases"), "{names:?}");
    assert!(!names.contains(&"carts") && !names.contains(&"products"), "{names:?}");
}

#[test]
fn a_room_that_lacks_another_is_a_fault_of_the_configuration() {
    let mut command = on(&fresh_name(), &["serve"]);
    command.env("DOCGATE_ROOMS", "orders,carts,shops");
    let (code, _, told) = done(command);
    assert_eq!(code, 2, "{told}");
    for fault in
        ["there is no room \"shops\"", "rooms: orders needs payments", "carts needs catalog"]
    {
        assert!(told.contains(fault), "{fault} isn't in {told}");
    }
    let mut command = on(&fresh_name(), &["check"]);
    command.env("DOCGATE_ROOMS", "shops");
    assert_eq!(done(command).0, 2);
}

#[test]
fn the_rooms_need_only_rooms() {
    for room in ROOMS {
        for needed in room.needs {
            assert!(
                ROOMS.iter().any(|other| other.name == *needed),
                "{} needs {needed}",
                room.name
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_have_the_names_that_the_configuration_gives_them() {
    let gateway = Gateway::with(|config| {
        let grants = [("shop-manager", vec!["merchant".to_owned()]), ("guest", Vec::new())];
        config.roles = grants.map(|(name, roles)| (name.to_owned(), roles)).into();
    })
    .await;
    let create = "mutation { createPerson(input: { name: \"a\" }) { __typename } }";
    let manager = gateway.user("someone", &["shop-manager"]);
    assert_eq!(manager.field(create, json!({})).await["__typename"], "Person");
    for role in ["merchant", "admin", "guest"] {
        let other = gateway.user("someone", &[role]);
        assert_eq!(other.error_code(create, json!({})).await, "FORBIDDEN", "{role}");
    }
    let mut command = on(&fresh_name(), &["token", "--sub", "a", "--roles", "merchant"]);
    command.env("DOCGATE_ROLES", "{\"shop-manager\": [\"merchant\"]}");
    let (code, _, told) = done(command);
    assert!(code == 2 && told.contains("the roles are shop-manager"), "{told}");
    let mut command = on(&fresh_name(), &["serve"]);
    command.env("DOCGATE_ROLES", "{\"shop-manager\": [\"merchand\", \"editor\", \"edditor\"]}");
    let (code, _, told) = done(command);
    for unknown in ["merchand", "edditor"] {
        let fault = format!("roles: shop-manager grants {unknown:?}");
        assert!(code == 2 && told.contains(&fault), "{fault} in {told}");
    }
}
