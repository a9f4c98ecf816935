//! docgate as a subgraph: `_service` and `_entities`.

use std::time::Duration;

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use crate::{
    nodes::one_of_each,
    support::{Client, Gateway, commands, proxy::Cut},
};

const ENTITIES: &str = "query($representations: [_Any!]!) {
    _entities(representations: $representations) {
        __typename ... on Node { id } ... on Product { sku } ... on Category { path } } }";

/// A gateway that is a subgraph.
async fn subgraph() -> Gateway {
    Gateway::with(|config| config.federation = true).await
}

async fn entities(client: &Client, representations: &Value) -> Value {
    client.explained(ENTITIES, json!({ "representations": representations })).await
}

/// Names of the query root's fields and of all types, as the gateway tells them.
async fn names(gateway: &Gateway) -> Vec<String> {
    let query = "{ __schema { queryType { fields { name } } types { name } } }";
    let schema = gateway.anonymous().field(query, json!({})).await;
    let lists = [&schema["queryType"]["fields"], &schema["types"]];
    let names = lists.into_iter().flat_map(|list| list.as_array().expect("a list"));
    names.map(|named| named["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_subgraph_has_entities() {
    let own = ["_service", "_entities", "_Any", "_Entity", "_Service"];
    let alone = Gateway::start().await;
    let told = names(&alone).await;
    assert!(!told.iter().any(|name| own.contains(&name.as_str())), "{told:?}");
    let representations = json!({ "representations": [] });
    for (query, variables) in [
        ("{ _service { sdl } }", json!({})),
        ("{ _entities(representations: []) { __typename } }", json!({})),
        (ENTITIES, representations),
        ("{ node(id: \"\") { ... on _Entity { __typename } } }", json!({})),
    ] {
        let answer = alone.admin().explained(query, variables).await;
        assert_eq!(answer["data"], Value::Null, "{answer:#}");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
        assert_eq!(commands(&answer), [""; 0]);
    }
    let told = names(&subgraph().await).await;
    assert!(own.iter().all(|name| told.iter().any(|told| told == name)), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_tells_its_schema_with_keys() {
    let gateway = subgraph().await;
    let service = gateway.anonymous().field("{ _service { sdl } }", json!({})).await;
    assert_eq!(
        service["sdl"],
        *docgate::schema::subgraph::sdl(&docgate::config::Config::default())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_found_by_its_keys_by_who_may_see_it() {
    let gateway = subgraph().await;
    let all = one_of_each(&gateway).await;
    let mut expected = Vec::new();
    let mut representations = Vec::new();
    for (kind, id, private) in &all {
        let mut known = json!({ "__typename": kind, "id": id });
        let mut others = Vec::new();
        match *kind {
            "Book" => {
                known["sku"] = json!("a");
                others.push(json!({ "__typename": kind, "sku": "a" }));
                others.push(json!({ "__typename": "Product", "sku": "a" }));
                others.push(json!({ "__typename": "Product", "id": id, "title": "passed over" }));
            }
            "Category" => {
                known["path"] = json!("/music");
                others.push(json!({ "__typename": kind, "path": "/music" }));
            }
            _ => {}
        }
        others.push(json!({ "__typename": kind, "id": id }));
        expected.extend(others.iter().map(|_| (known.clone(), *private)));
        representations.extend(others);
    }
    let representations = json!(representations);
    let shown = |to_owner: bool| -> Vec<Value> {
        let show = |(known, private): &(Value, bool)| {
            if to_owner || !private { known.clone() } else { Value::Null }
        };
        expected.iter().map(show).collect()
    };
    // Twice: a text that is known takes another way.
    for known in [false, true] {
        let answer = entities(&gateway.shopper("someone"), &representations).await;
        assert_eq!(answer.get("errors"), None, "{answer:#}");
        assert_eq!(answer["data"]["_entities"], json!(shown(true)));
        assert_eq!(answer["extensions"]["docgate"]["knownText"], known);
    }
    for stranger in [gateway.anonymous(), gateway.shopper("another")] {
        let answer = entities(&stranger, &representations).await;
        assert_eq!(answer.get("errors"), None, "{answer:#}");
        assert_eq!(answer["data"]["_entities"], json!(shown(false)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_holds_behind_entities_too() {
    let gateway = subgraph().await;
    let all = one_of_each(&gateway).await;
    let (_, person, _) = all.iter().find(|(kind, ..)| *kind == "Person").expect("a person");
    let query = "query($id: ID!) {
        _entities(representations: [{ __typename: \"Person\", id: $id }]) {
            ... on Person { name address { city } } } }";
    let answer = gateway.shopper("someone").run(query, json!({ "id": person })).await;
    let seen = json!([{ "name": "Someone", "address": null }]);
    assert_eq!(answer["data"]["_entities"], seen, "{answer:#}");
    assert_eq!(answer["errors"][0]["extensions"]["code"], "FORBIDDEN");
    assert_eq!(answer["errors"][0]["path"], json!(["_entities", 0, "address"]));
    assert_eq!(gateway.merchant().field(query, json!({ "id": person })).await, seen);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_representation_that_is_no_good_fails_alone() {
    let gateway = subgraph().await;
    gateway.product("a", 100, "EUR").await;
    let client = gateway.anonymous();
    let cart = NodeKind::CART.id("nothing").0;
    let operator = NodeKind::PRODUCT.id("$where").0;
    let long = "x".repeat(100_000);
    let good = json!({ "__typename": "Book", "sku": "a" });
    // What can't be a key is the key of nothing.
    for nothing in [
        json!({ "__typename": "Book", "sku": "" }),
        json!({ "__typename": "Book", "sku": "$where" }),
        json!({ "__typename": "Book", "sku": "a.b" }),
        json!({ "__typename": "Book", "sku": long }),
        json!({ "__typename": "Book", "id": "a", "sku": "a" }),
        json!({ "__typename": "Book", "id": cart }),
        json!({ "__typename": "Product", "id": cart }),
        json!({ "__typename": "Book", "id": operator }),
        json!({ "__typename": "Book", "id": long }),
    ] {
        let answer = entities(&client, &json!([good, nothing, good])).await;
        assert_eq!(answer["errors"], Value::Null, "{nothing:.80}: {answer:.900}");
        assert_eq!(answer["data"]["_entities"][1], Value::Null, "{nothing:.80}");
        assert_eq!(answer["data"]["_entities"][2]["sku"], "a", "{answer:.900}");
    }
    for (bad, field) in [
        (json!(null), None),
        (json!({}), Some(".__typename")),
        (json!("Book"), Some(".__typename")),
        (json!(1), Some(".__typename")),
        (json!([]), Some(".__typename")),
        (json!({ "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": null, "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": 5, "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": ["Book"], "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": "Nothing", "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": "Money", "sku": "a" }), Some(".__typename")),
        (json!({ "__typename": "Node", "id": cart }), Some(".__typename")),
        (json!({ "__typename": long, "id": cart }), Some(".__typename")),
        (json!({ "__typename": "Book" }), Some("")),
        (json!({ "__typename": "Cart", "sku": "a" }), Some("")),
        (json!({ "__typename": "Person", "$or": [{}] }), Some("")),
        (json!({ "__typename": "Book", "sku": null }), Some(".sku")),
        (json!({ "__typename": "Book", "sku": 1.5 }), Some(".sku")),
        (json!({ "__typename": "Book", "sku": { "$ne": "" } }), Some(".sku")),
        (json!({ "__typename": "Book", "sku": ["a"] }), Some(".sku")),
        (json!({ "__typename": "Person", "id": true }), Some(".id")),
        (json!({ "__typename": "Category", "path": "music" }), Some(".path")),
        (json!({ "__typename": "Category", "path": "/$where" }), Some(".path")),
        (json!({ "__typename": "Category", "path": {} }), Some(".path")),
    ] {
        let answer = entities(&client, &json!([good, bad, good])).await;
        let error = &answer["errors"][0];
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{bad:.80}: {answer:.900}");
        let Some(field) = field else {
            // The schema has no null there: the rules refuse the request.
            assert_eq!(answer["data"], Value::Null, "{answer:#}");
            continue;
        };
        assert_eq!(error["extensions"]["field"], format!("representations.1{field}"), "{bad:.80}");
        assert_eq!(error["path"], json!(["_entities", 1]), "{bad:.80}");
        assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1));
        let found = &answer["data"]["_entities"];
        assert_eq!((&found[0]["sku"], &found[1]), (&json!("a"), &Value::Null), "{bad:.80}");
        assert_eq!(found[0], found[2]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_null() {
    let gateway = subgraph().await;
    gateway.product("a", 100, "EUR").await;
    let there = gateway.anonymous().field("{ product(sku: \"a\") { id } }", json!({})).await;
    let cart = gateway.anonymous().open_cart("RESERVE").await;
    let representations = json!([
        { "__typename": "Product", "id": cart },
        { "__typename": "Order", "id": cart },
        { "__typename": "Book", "sku": "nothing" },
        { "__typename": "Product", "sku": 5 },
        { "__typename": "Film", "sku": "a" },
        { "__typename": "Film", "id": there["id"] },
        { "__typename": "Category", "path": "/nothing" },
        { "__typename": "Person", "id": NodeKind::PERSON.id("nothing").0 },
    ]);
    let answer = entities(&gateway.anonymous(), &representations).await;
    assert_eq!(answer.get("errors"), None, "{answer:#}");
    assert_eq!(answer["data"]["_entities"], json!(vec![Value::Null; 8]));
    let none = entities(&gateway.anonymous(), &json!([])).await;
    assert_eq!(none["data"], json!({ "_entities": [] }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_representations_are_enough() {
    let gateway = subgraph().await;
    gateway.product("a", 100, "EUR").await;
    let many = |count| json!(vec![json!({ "__typename": "Product", "sku": "a" }); count]);
    let answer = entities(&gateway.anonymous(), &many(100)).await;
    assert_eq!(answer["data"]["_entities"].as_array().map(Vec::len), Some(100), "{answer:#}");
    let refused = entities(&gateway.anonymous(), &many(101)).await;
    assert_eq!(refused["data"], Value::Null, "{refused:#}");
    let extensions = &refused["errors"][0]["extensions"];
    assert_eq!(extensions["code"], "BAD_USER_INPUT");
    assert_eq!(extensions["field"], "representations");
    assert_eq!(commands(&refused), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_representation_counts_in_the_cost() {
    let gateway = Gateway::with(|config| {
        config.federation = true;
        config.max_cost = 50;
    })
    .await;
    let client = gateway.anonymous();
    let many = |count| json!(vec![json!({ "__typename": "Product", "sku": "a" }); count]);
    // Known or not, the variables tell the length.
    for count in [1, 40, 40, 2] {
        let answer = entities(&client, &many(count)).await;
        assert_eq!(answer["extensions"]["cost"]["estimated"], 10 + count, "{answer:#}");
    }
    let literal =
        "{ _entities(representations: [{ __typename: \"Product\", sku: \"a\" }]) { __typename } }";
    assert_eq!(client.run(literal, json!({})).await["extensions"]["cost"]["estimated"], 11);
    let refused = entities(&client, &many(41)).await;
    assert_eq!(refused["data"], Value::Null, "{refused:#}");
    assert_eq!(refused["errors"][0]["extensions"]["limit"], "max_cost", "{refused:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn representations_are_read_together() {
    let gateway = Gateway::behind_proxy(|config| config.federation = true).await;
    for number in 0..60 {
        gateway.product(&format!("p{number}"), 100, "EUR").await;
    }
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "products" && seen.command == "find");
    // By either key: what is asked of MongoDB is the same.
    let by_sku = |number: i32| json!({ "__typename": "Product", "sku": format!("p{number}") });
    let by_id = |number: i32| {
        let id = NodeKind::PRODUCT.id(&format!("p{number}")).0;
        json!({ "__typename": "Book", "id": id })
    };
    let wanted = (0..60).map(|number| if number % 2 == 0 { by_sku(number) } else { by_id(number) });
    let representations = json!(wanted.collect::<Vec<_>>());
    let client = gateway.anonymous();
    proxy.cut_all_from(0, Cut::Hold);
    let (answer, ()) = tokio::join!(entities(&client, &representations), async {
        proxy.reached().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(proxy.seen().len() <= 2, "two at a time: {:?}", proxy.seen());
        proxy.heal();
        proxy.release().await;
    });
    let found = answer["data"]["_entities"].as_array().expect("a list");
    let skus: Vec<_> = found.iter().map(|entity| entity["sku"].clone()).collect();
    assert_eq!(skus, (0..60).map(|number| json!(format!("p{number}"))).collect::<Vec<_>>());
    assert!(proxy.seen().len() <= 3, "60 representations: {:?}", proxy.seen());
}
