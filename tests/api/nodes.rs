//! Anything by its global id.

use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    comments, content, inbox,
    shop::{account, placed, stocked},
    social,
    support::{Client, Gateway, http, key, token},
    theater,
};

const NODES: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }";

async fn nodes(client: &Client, ids: &[&str]) -> Value {
    client.field(NODES, json!({ "ids": ids })).await
}

async fn first_id(client: &Client, query: &str) -> String {
    let found = client.field(query, json!({})).await;
    let id = found["id"].as_str().or_else(|| found["nodes"][0]["id"].as_str());
    id.unwrap_or_else(|| panic!("{found:#}")).to_owned()
}

/// One of each kind: its type, its id, and whether it is one shopper's alone.
pub async fn one_of_each(gateway: &Gateway) -> Vec<(&'static str, String, bool)> {
    stocked(gateway, "a", 250, 10).await;
    let (shopper, merchant) = (gateway.shopper("someone"), gateway.merchant());
    let purse = account(gateway, "someone", 1_000).await;
    let order = placed(&shopper, &purse, &[("a", 1)]).await;
    let cart = shopper.open_cart("RESERVE").await;
    let category = first_id(
        &merchant,
        "mutation { createCategory(input: { slug: \"music\", names: [{ locale: \"en\", name: \"Music\" }] })
            { ... on Category { id } } }",
    );
    let person = first_id(
        &merchant,
        "mutation { createPerson(input: { name: \"Someone\" }) { ... on Person { id } } }",
    );
    let (category, person) = (category.await, person.await);
    let product = first_id(&shopper, "{ product(sku: \"a\") { id } }").await;
    let other = account(gateway, "someone", 0).await;
    let input = json!({ "sourceId": purse, "destinationId": other, "amount": 1 });
    let query =
        "mutation($input: TransferInput!) { transfer(input: $input) { ... on Transfer { id } } }";
    let transfer = shopper.field(query, json!({ "input": input })).await;
    let transfer = transfer["id"].as_str().expect("a transfer").to_owned();
    let put = http().put(format!("http://{}/assets/it", gateway.address));
    let put = put.bearer_auth(token("an-editor", &["editor"])).body("it").send().await;
    let asset: Value = put.expect("an answer").json().await.expect("JSON");
    let asset = asset["id"].as_str().expect("an asset").to_owned();
    let discussed = comments::discussed(gateway, "discussed", "PAGED").await;
    let comment = comments::posted(&shopper, &discussed, "A comment", None).await;
    social::people(gateway, &["someone", "friend"]).await;
    let message = inbox::send(gateway, "friend", &["someone"], "A message").await;
    let own = json!({ "audience": "CIRCLES", "text": "A post" });
    let post = social::posted_with(gateway, "someone", own).await;
    let theater = theater::theater(gateway, &["AA"]).await;
    let screening = theater::screening_in(gateway, &theater).await;
    let booking = theater::holding_seats(&shopper, &screening, &[("A", 1)]).await;
    let receipt = theater::receipt_of(gateway, "someone", &screening).await;
    vec![
        ("Account", purse, true),
        ("Cart", cart, true),
        ("Category", category, false),
        ("Order", order, true),
        ("Person", person, false),
        ("Book", product, false),
        ("Transfer", transfer, true),
        ("Page", content::put(gateway, "PAGE", "page", None).await, false),
        ("Asset", asset, false),
        ("Comment", comment, false),
        ("Message", message, true),
        ("Post", post, true),
        ("Theater", theater, false),
        ("Screening", screening, false),
        ("Booking", booking, true),
        ("Receipt", receipt, true),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_found_by_its_id_by_who_may_see_it() {
    let gateway = Gateway::start().await;
    let all = one_of_each(&gateway).await;
    let ids: Vec<_> = all.iter().map(|(_, id, _)| id.as_str()).collect();
    let known: Vec<_> =
        all.iter().map(|(kind, id, _)| json!({ "__typename": kind, "id": id })).collect();
    assert_eq!(nodes(&gateway.shopper("someone"), &ids).await, json!(known));
    for stranger in [gateway.anonymous(), gateway.shopper("another")] {
        let public = all.iter().zip(&known).map(|((_, _, private), node)| match private {
            true => &Value::Null,
            false => node,
        });
        assert_eq!(nodes(&stranger, &ids).await, json!(public.collect::<Vec<_>>()));
    }
    let one = "query($id: ID!) { node(id: $id) { __typename ... on Product { sku } } }";
    let product = gateway.anonymous().field(one, json!({ "id": ids[5] })).await;
    assert_eq!(product, json!({ "__typename": "Book", "sku": "a" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_cant_be_read_leaves_the_others() {
    let gateway = Gateway::start().await;
    let mut ids = Vec::new();
    for sku in ["a", "b", "c"] {
        stocked(&gateway, sku, 250, 10).await;
        ids.push(theater::theater(&gateway, &["AA"]).await);
    }
    for (collection, id) in [("theaters", key(&ids[1])), ("inventory", "a".to_owned())] {
        let newer = doc! { "$set": { "v": 9 } };
        let changed = gateway.raw(collection).update_one(doc! { "_id": id }, newer).await;
        assert_eq!(changed.expect("changed").matched_count, 1);
    }
    let query =
        "query($ids: [ID!]!) { nodes(ids: $ids) { id } stocks(skus: [\"a\", \"b\"]) { sku } }";
    let answer = gateway.anonymous().run(query, json!({ "ids": ids })).await;
    let data = json!({
        "nodes": [{ "id": ids[0] }, null, { "id": ids[2] }], "stocks": [null, { "sku": "b" }],
    });
    assert_eq!(answer["data"], data, "{answer:#}");
    let errors = answer["errors"].as_array().expect("errors");
    let at = |path: Value| errors.iter().find(|error| error["path"] == path);
    for path in [json!(["nodes", 1]), json!(["stocks", 0])] {
        let error = at(path).unwrap_or_else(|| panic!("{answer:#}"));
        assert_eq!(error["extensions"]["code"], "NEWER_VERSION");
    }
    assert_eq!(errors.len(), 2, "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_id_is_the_id_of_nothing() {
    let gateway = Gateway::start().await;
    let shopper = gateway.shopper("someone");
    let cart = shopper.open_cart("RESERVE").await;
    let nothing = docgate::graphql::node_id::NodeKind::CART.id("nothing");
    let found = nodes(&shopper, &[&nothing, &cart, &nothing]).await;
    assert_eq!((&found[0], &found[1]["id"], &found[2]), (&Value::Null, &json!(cart), &Value::Null));

    let foreign = docgate::graphql::node_id::NodeKind::ORDER.id(&key(&cart));
    let path = docgate::graphql::node_id::NodeKind::CART.id("$where");
    let found = nodes(&shopper, &["nothing", "", &cart, "Q2FydDp4", &path]).await;
    assert_eq!(found, json!([null, null, { "__typename": "Cart", "id": cart }, null, null]));
    let answer = shopper.run(NODES, json!({ "ids": vec![cart.as_str(); 101] })).await;
    let error = &answer["errors"][0]["extensions"];
    assert_eq!((&error["code"], &error["field"]), (&json!("BAD_USER_INPUT"), &json!("ids")));
    for id in [foreign.as_str(), path.as_str(), "nothing", &key(&cart)] {
        let query = "query($id: ID!) { cart(id: $id) { id } }";
        assert_eq!(shopper.field(query, json!({ "id": id })).await, Value::Null);
        let refused = shopper.does(Client::adding(id, "a", 1, None)).await;
        assert_eq!(
            (&refused["__typename"], &refused["what"], &refused["id"]),
            (&json!("NotFound"), &json!("cart"), &json!(id))
        );
    }
}
