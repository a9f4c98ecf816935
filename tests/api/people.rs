//! People: their names in products, their addresses, and how they are found.

use docgate::domains::people::import::{ImportPerson, id_of, import};
use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::{
    catalog::{change, create, person, product, thing},
    support::{Client, Gateway, all_nodes, commands, cuts, proxy::Seen, short_bounds, texts_of},
};

const CREATE: &str = "mutation($input: CreatePersonInput!) { createPerson(input: $input) {
    __typename ... on Person { id name address { street city country } works { sku } }
    ... on UserError { code message } ... on InvalidInput { field } } }";
const RENAME: &str = "mutation($input: RenamePersonInput!) { renamePerson(input: $input) {
    __typename ... on Person { id name } ... on UserError { code } ... on NotFound { what } } }";
const ADDRESS: &str = "mutation($input: SetPersonAddressInput!) { setPersonAddress(input: $input) {
    __typename ... on Person { id address { street city country } }
    ... on UserError { code } ... on InvalidInput { field } } }";
const PEOPLE: &str = "
    query($start: String, $first: Int, $after: String, $last: Int, $before: String) {
        people(nameStartsWith: $start, first: $first, after: $after, last: $last, before: $before) {
            edges { node { name } }
            pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }";

async fn names(client: &Client, start: Value, first: i32) -> Vec<String> {
    let found = all_nodes(json!({ "start": start, "first": first }), async |page| {
        let response = client.explained(PEOPLE, page).await;
        assert_eq!(commands(&response), ["find people"], "{response:#}");
        response["data"]["people"].clone()
    });
    texts_of(&found.await, "name")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_made_once_per_op_id() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let address = json!({ "street": "$street 1", "city": "Hamlet, NC", "country": "US" });
    let input = json!({ "name": "John Coltrane", "address": address, "idempotencyKey": "op-1" });
    let made = merchant.field(CREATE, json!({ "input": input })).await;
    assert_eq!((&made["name"], &made["address"]), (&json!("John Coltrane"), &address));
    let before = gateway.snapshot().await;
    assert_eq!(merchant.field(CREATE, json!({ "input": input })).await, made);
    let other = json!({ "input": { "name": "Another", "idempotencyKey": "op-1" } });
    assert_eq!(merchant.field(CREATE, other.clone()).await["__typename"], "Conflict");
    assert!(gateway.snapshot().await == before);
    // Another caller's idempotency key is another one, and without one each call is its own.
    let colleague = gateway.user("a-colleague", &["merchant"]);
    assert_ne!(colleague.field(CREATE, other).await["id"], made["id"]);
    let anew = json!({ "input": { "name": "Twin" } });
    let twins = (merchant.field(CREATE, anew.clone()).await, merchant.field(CREATE, anew).await);
    assert_ne!(twins.0["id"], twins.1["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_used_is_refused_and_changes_nothing() {
    let gateway = Gateway::with(|config| config.body_bytes = 32 << 20).await;
    let merchant = gateway.merchant();
    let someone = person(&merchant, "Someone").await;
    let before = gateway.snapshot().await;
    let address =
        |street: &str, country: &str| json!({ "street": street, "city": "C", "country": country });
    for (input, field) in [
        (json!({ "name": "" }), "input.name"),
        (json!({ "name": "x".repeat(201) }), "input.name"),
        (json!({ "name": "x".repeat(16 << 20) }), "input.name"),
        (json!({ "name": "a\u{7}" }), "input.name"),
        (json!({ "name": "A", "address": address("", "DE") }), "input.address.street"),
        (json!({ "name": "A", "address": address("S", "Germany") }), "input.address.country"),
        (json!({ "name": "A", "idempotencyKey": "" }), "input.idempotencyKey"),
    ] {
        let said = merchant.field(CREATE, json!({ "input": input })).await;
        assert_eq!((&said["__typename"], &said["field"]), (&json!("InvalidInput"), &json!(field)));
    }
    for id in ["nonsense", "", "$ne", "UHJvZHVjdDphbHMtMQ"] {
        let input = json!({ "input": { "personId": id, "name": "Name" } });
        let said = merchant.field(RENAME, input).await;
        assert_eq!(said["__typename"], "NotFound", "{said:#}");
        let input = json!({ "input": { "personId": id, "address": address("S", "DE") } });
        assert_eq!(merchant.field(ADDRESS, input).await["__typename"], "NotFound");
        let query = "query($id: ID!) { person(id: $id) { name } }";
        assert_eq!(gateway.anonymous().field(query, json!({ "id": id })).await, Value::Null);
    }
    let nobody = docgate::graphql::node_id::NodeKind::PERSON.id("nobody");
    let input = json!({ "input": { "personId": *nobody, "name": "Name" } });
    let said = merchant.field(RENAME, input).await;
    assert_eq!((&said["__typename"], &said["what"]), (&json!("NotFound"), &json!("person")));
    let input = json!({ "input": { "personId": someone, "name": "" } });
    assert_eq!(merchant.field(RENAME, input).await["__typename"], "InvalidInput");
    let input = json!({ "input": { "personId": someone, "address": address("S", "de") } });
    assert_eq!(merchant.field(ADDRESS, input).await["field"], "input.address.country");
    let input = json!({ "input": { "personId": someone, "name": "Other" } });
    assert_eq!(gateway.shopper("it").error_code(RENAME, input).await, "FORBIDDEN");
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_set_removed_and_shown_to_merchants_only() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let someone = person(&merchant, "Someone").await;
    let address = json!({ "street": "Street 1", "city": "Town", "country": "DE" });
    let input = json!({ "input": { "personId": someone, "address": address } });
    assert_eq!(merchant.field(ADDRESS, input).await["address"], address);
    let query = "query($id: ID!) { person(id: $id) { name address { city } } }";
    let shown = merchant.field(query, json!({ "id": someone })).await;
    assert_eq!(shown["address"]["city"], "Town");
    let hidden = gateway.anonymous().run(query, json!({ "id": someone })).await;
    assert_eq!(hidden["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    assert!(!hidden.to_string().contains("Town"), "{hidden:#}");
    let input = json!({ "input": { "personId": someone } });
    assert_eq!(merchant.field(ADDRESS, input).await["address"], Value::Null);
    let read = gateway
        .anonymous()
        .explained("query($id: ID!) { person(id: $id) { name } }", json!({ "id": someone }))
        .await;
    assert_eq!(commands(&read), ["find people"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_listed_by_the_beginning_of_their_name() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for name in ["miles davis", "Miles Davis", "Milo", "Émile", "M.*", "Ella"] {
        person(&merchant, name).await;
    }
    let anyone = gateway.anonymous();
    for first in [1, 2, 100] {
        let mut found = names(&anyone, json!("MIL"), first).await;
        found[..2].sort();
        assert_eq!(found, ["Miles Davis", "miles davis", "Milo"]);
        assert_eq!(names(&anyone, json!("m.*"), first).await, ["M.*"]);
        assert_eq!(names(&anyone, json!("é"), first).await, ["Émile"]);
        assert_eq!(names(&anyone, Value::Null, first).await.len(), 6);
        assert!(names(&anyone, json!("nobody"), first).await.is_empty());
    }
    for variables in [
        json!({ "start": "x".repeat(201) }),
        json!({ "first": 0 }),
        json!({ "first": 101 }),
        json!({ "after": "nonsense" }),
    ] {
        assert_eq!(anyone.error_code(PEOPLE, variables).await, "BAD_USER_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_listed_from_the_end() {
    let gateway = Gateway::start().await;
    for name in ["Ann", "Bob", "Cyd", "Dan", "Eve"] {
        person(&gateway.merchant(), name).await;
    }
    let anyone = gateway.anonymous();
    let mut before = Value::Null;
    for (expected, has_previous) in
        [(&["Dan", "Eve"][..], true), (&["Bob", "Cyd"], true), (&["Ann"], false)]
    {
        let response = anyone.explained(PEOPLE, json!({ "last": 2, "before": before })).await;
        assert_eq!(commands(&response), ["find people"], "{response:#}");
        let page = &response["data"]["people"];
        let names = page["edges"].as_array().expect("edges").iter();
        assert_eq!(names.map(|edge| &edge["node"]["name"]).collect::<Vec<_>>(), expected);
        assert_eq!(page["pageInfo"]["hasPreviousPage"], has_previous);
        assert_eq!(page["pageInfo"]["hasNextPage"], before != Value::Null);
        before = page["pageInfo"]["startCursor"].clone();
    }
    let both = json!({ "first": 1, "last": 1 });
    assert_eq!(anyone.error_code(PEOPLE, both).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_reaches_every_product() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let someone = person(&merchant, "Old name").await;
    let other = person(&merchant, "Old name").await;
    for n in 0..3 {
        create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
        for (who, role) in [(&someone, "author"), (&someone, "editor"), (&other, "author")] {
            let input = json!({ "sku": format!("t-{n}"), "personId": who, "role": role });
            change(&merchant, "creditPerson", input).await;
        }
    }
    let rename = json!({ "input": { "personId": someone, "name": "$name" } });
    assert_eq!(merchant.field(RENAME, rename.clone()).await["name"], "$name");
    for n in 0..3 {
        let contributors = product(&gateway, &format!("t-{n}")).await["contributors"].clone();
        let names: Vec<_> =
            contributors.as_array().expect("some").iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["$name", "$name", "Old name"]);
    }
    gateway.assert_sound().await;
    let before = gateway.snapshot().await;
    merchant.field(RENAME, rename).await;
    assert!(gateway.snapshot().await == before, "a repeat changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_that_begins_to_copy_a_name_while_it_changes_ends_up_right() {
    let gateway = Gateway::with(short_bounds).await;
    let merchant = gateway.merchant();
    let someone = person(&merchant, "Old name").await;
    create(&merchant, thing("t-1", "A thing")).await;
    let credit = json!({ "sku": "t-1", "personId": someone, "role": "author" });
    change(&merchant, "creditPerson", credit).await;
    // As if the writer had read the name before, and died before it looked again.
    let products = gateway.database.collection::<Document>("products");
    let stale = vec![doc! { "$set": {
        "contributors": { "$map": { "input": "$contributors", "in": {
            "$mergeObjects": ["$$this", { "name": "Older name", "nv": 0_i64 }] } } },
        "copying": { "token": "a-dead-writer's", "at": "$$NOW", "begun": [] },
    } }];
    products.update_one(doc! { "_id": "t-1" }, stale).await.expect("stale");
    gateway.sweep().await;
    assert_eq!(product(&gateway, "t-1").await["contributors"][0]["name"], "Old name");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            let someone = person(&merchant, "Old name").await;
            create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
            let input = json!({ "sku": format!("t-{n}"), "personId": someone, "role": "author" });
            change(&merchant, "creditPerson", input).await;
            (format!("t-{n}"), someone)
        },
        async |gateway, (_, someone)| {
            let input = json!({ "input": { "personId": someone, "name": "New name" } });
            gateway.merchant().send(RENAME, input).await.ok();
        },
        async |gateway, case| {
            let product = product(gateway, &case.subject.0).await;
            assert_eq!(product["contributors"][0]["name"], "New name", "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("op-{n}"),
        async |gateway, idempotency_key| {
            let input =
                json!({ "input": { "name": idempotency_key, "idempotencyKey": idempotency_key } });
            gateway.merchant().send(CREATE, input).await.ok();
        },
        async |gateway, case| {
            let found = names(&gateway.anonymous(), json!(case.subject), 100).await;
            let same = found.iter().filter(|name| **name == case.subject).count();
            assert_eq!(same, 1, "{case:?}");
        },
    )
    .await;
}

async fn bring(gateway: &Gateway, lines: &Value) -> Result<(), docgate::error::Error> {
    let lines: Vec<ImportPerson> = serde_json::from_value(lines.clone()).expect("lines");
    let said = import(&gateway.app, &lines).await?;
    assert!(said.iter().all(Result::is_ok), "{said:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_knows_people_by_their_keys() {
    const READ: &str = "query($id: ID!) { person(id: $id) {
        id name address { city } works { sku } } }";
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let address = json!({ "street": "S", "city": "Hamlet", "country": "US" });
    let lines = json!([
        { "key": "ann", "name": "Ann", "address": address },
        { "key": "bob", "name": "Bob" },
        { "key": "twice", "name": "First" },
        { "key": "twice", "name": "Second" },
    ]);
    bring(&gateway, &lines).await.expect("imported");
    let ids = ["ann", "bob", "twice"]
        .map(|key| NodeKind::PERSON.id(&id_of("key", key).expect("a key")).0);
    let read = async |id: &String| merchant.field(READ, json!({ "id": id })).await;
    assert_eq!(read(&ids[0]).await["address"]["city"], "Hamlet");
    assert_eq!(read(&ids[2]).await["name"], "Second");
    let before = gateway.snapshot().await["people"].clone();
    bring(&gateway, &lines).await.expect("imported");
    assert!(gateway.snapshot().await["people"].iter().zip(&before).all(|(now, before)| {
        now.get("name") == before.get("name") && now.get("address") == before.get("address")
    }));

    // Another name reaches products, and what a line doesn't say stays.
    create(&merchant, thing("t", "A thing")).await;
    let input = json!({ "sku": "t", "personId": ids[0], "role": "author" });
    change(&merchant, "creditPerson", input).await;
    bring(&gateway, &json!([{ "key": "ann", "name": "Anna" }])).await.expect("imported");
    assert_eq!(product(&gateway, "t").await["contributors"][0]["name"], "Anna");
    let ann = read(&ids[0]).await;
    assert_eq!((&ann["address"]["city"], &ann["works"][0]["sku"]), (&json!("Hamlet"), &json!("t")));
    gateway.assert_sound().await;

    let many: Vec<Value> = (0..1_200)
        .map(|n| json!({ "key": format!("k-{n}"), "name": format!("Name {n}") }))
        .collect();
    for _ in 0..2 {
        bring(&gateway, &many.clone().into()).await.expect("imported");
    }
    assert_eq!(gateway.snapshot().await["people"].len(), 1_203);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_import_of_people_can_be_repeated() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let there = json!([{ "key": format!("old-{n}"), "name": format!("Old {n}") }]);
            bring(gateway, &there).await.expect("imported");
            create(&gateway.merchant(), thing(&format!("t-{n}"), "A thing")).await;
            let id = NodeKind::PERSON.id(&id_of("key", &format!("old-{n}")).expect("a key")).0;
            let credit = json!({ "sku": format!("t-{n}"), "personId": id, "role": "author" });
            change(&gateway.merchant(), "creditPerson", credit).await;
            n
        },
        async |gateway, n| {
            let lines = json!([
                { "key": format!("new-{n}"), "name": format!("New {n}") },
                { "key": format!("old-{n}"), "name": format!("Other {n}"),
                    "address": { "street": "S", "city": "C", "country": "DE" } },
            ]);
            let _cut = bring(gateway, &lines).await;
        },
        async |gateway, case| {
            let n = case.subject;
            let made = product(gateway, &format!("t-{n}")).await;
            assert_eq!(made["contributors"][0]["name"], format!("Other {n}"), "{case:?}");
            for name in [format!("New {n}"), format!("Other {n}")] {
                let found = names(&gateway.anonymous(), json!(name), 100).await;
                assert_eq!(found.iter().filter(|found| **found == name).count(), 1, "{case:?}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_an_address_undoes_no_later_one() {
    let base = Gateway::start().await;
    let someone = person(&base.merchant(), "Someone").await;
    let set = async |gateway: &Gateway, city: &str| {
        let address = json!({ "street": "Street 1", "city": city, "country": "DE" });
        let input = json!({ "input": { "personId": someone, "address": address } });
        assert_eq!(gateway.merchant().field(ADDRESS, input).await["address"], address);
    };
    let is_change = |seen: &Seen| seen.collection == "people" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| set(gateway, "Town").await;
    cuts::with_late_copy(&base, is_change, first, async || set(&base, "City").await).await;
    let query = "query($id: ID!) { person(id: $id) { address { city } } }";
    let shown = base.merchant().field(query, json!({ "id": someone })).await;
    assert_eq!(shown["address"]["city"], "City");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_name_undoes_no_later_one() {
    let base = Gateway::start().await;
    let someone = person(&base.merchant(), "Someone").await;
    let rename = async |gateway: &Gateway, name: &str| {
        let input = json!({ "input": { "personId": someone, "name": name } });
        assert_eq!(gateway.merchant().field(RENAME, input).await["name"], name);
    };
    let is_change = |seen: &Seen| seen.collection == "people" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| rename(gateway, "First").await;
    cuts::with_late_copy(&base, is_change, first, async || rename(&base, "Later").await).await;
    let query = "query($id: ID!) { person(id: $id) { name } }";
    let shown = base.anonymous().field(query, json!({ "id": someone })).await;
    assert_eq!(shown["name"], "Later");
    base.assert_sound().await;
}
