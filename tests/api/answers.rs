//! Answers have the keys that were asked for, in their order, and null where the schema has it.

use mongodb::bson::doc;
use serde_json::{Value, json};

use crate::{
    shop::stocked,
    support::{Client, Gateway},
};

/// `data` of the answer as text, whose order of keys counts, and its errors. What is only read is
/// asked for twice: the second time its text is known.
async fn answer(client: &Client, query: &str, variables: Value) -> (String, Value) {
    let first = answer_once(client, query, variables.clone()).await;
    if !query.starts_with("mutation") {
        assert_eq!(answer_once(client, query, variables).await, first, "{query}");
    }
    first
}

async fn answer_once(client: &Client, query: &str, variables: Value) -> (String, Value) {
    let text = client.text(query, variables).await;
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let data = text.strip_prefix("{\"data\":").expect("data comes first");
    // Tests run with what was sent to MongoDB in the extensions.
    let behind = [",\"errors\":[", ",\"extensions\":{\"cost\""];
    let end = behind.iter().find_map(|behind| data.find(behind)).expect("more behind it");
    (data[..end].to_owned(), whole["errors"].clone())
}

async fn shop() -> Gateway {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 250, 10).await;
    stocked(&gateway, "b", 350, 10).await;
    gateway
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_come_as_they_were_asked_for() {
    let gateway = shop().await;
    let anyone = gateway.anonymous();
    for (query, data) in [
        (
            "{ stock(sku: \"a\") { available sku } product(sku: \"a\") { sku } __typename }",
            "{\"stock\":{\"available\":10,\"sku\":\"a\"},\
             \"product\":{\"sku\":\"a\"},\"__typename\":\"Query\"}",
        ),
        // One key twice, with what each selects, and a fragment before a field.
        (
            "{ x: product(sku: \"a\") { ...T sku } x: product(sku: \"a\") { pricing { retail { currency } } } }
             fragment T on Product { title pricing { retail { minorUnits } } }",
            "{\"x\":{\"title\":\"Title of a\",\"pricing\":{\"retail\":{\"minorUnits\":250,\"currency\":\"EUR\"}},\
             \"sku\":\"a\"}}",
        ),
        (
            "query($yes: Boolean = true) { product(sku: \"a\") {
                title @skip(if: $yes) sku @include(if: $yes) type @include(if: false) } }",
            "{\"product\":{\"sku\":\"a\"}}",
        ),
        (
            "query($no: Boolean = false) { product(sku: \"a\") {
                ... on Product { sku ... on Film { certificate } ...B } ...T @include(if: $no) type } }
             fragment B on Book { ... { isbn sku } pricing { ...P } }
             fragment P on Pricing { pctSavings ...Q } fragment Q on Pricing { pctSavings }
             fragment T on Product { title }",
            "{\"product\":{\"sku\":\"a\",\"isbn\":null,\"pricing\":{\"pctSavings\":0},\
             \"type\":\"book\"}}",
        ),
        (
            "{ nodes: products(by: {priceBetween: {currency: \"EUR\", min: 0, max: 900}}) {
                nodes { ... on Book { __typename sku } ... on Film { title } } } }",
            "{\"nodes\":{\"nodes\":[{\"__typename\":\"Book\",\"sku\":\"a\"},\
             {\"__typename\":\"Book\",\"sku\":\"b\"}]}}",
        ),
    ] {
        assert_eq!(answer(&anyone, query, json!({})).await, (data.to_owned(), Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nothing_was_selected_of_is_an_empty_object() {
    let gateway = shop().await;
    let anyone = gateway.anonymous();
    for (query, data) in [
        ("{ product(sku: \"a\") { ... on Film { title } } }", "{\"product\":{}}"),
        ("{ product(sku: \"a\") { sku @skip(if: true) } }", "{\"product\":{}}"),
        ("{ product(sku: \"a\") @skip(if: true) { sku } }", "{}"),
        ("{ product(sku: \"nothing\") { ... on Film { title } } }", "{\"product\":null}"),
        (
            "{ products(by: {priceBetween: {currency: \"EUR\", min: 0, max: 900}}) {
                nodes { ... on Film { title } } } }",
            "{\"products\":{\"nodes\":[{},{}]}}",
        ),
        (
            "mutation { openCart(input: {policy: RESERVE, currency: \"EUR\"}) {
                ... on InvalidInput { field } } }",
            "{\"openCart\":{}}",
        ),
        // What no such object can be, however it is wrapped.
        ("{ product(sku: \"a\") { ... on Node { ... on Order { id } } } }", "{\"product\":{}}"),
        (
            "{ products(by: {priceBetween: {currency: \"EUR\", min: 0, max: 300}}) {
                nodes { ... on Node { ...O } } } } fragment O on Order { id }",
            "{\"products\":{\"nodes\":[{}]}}",
        ),
    ] {
        assert_eq!(answer(&anyone, query, json!({})).await, (data.to_owned(), Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_failed_is_null_and_so_is_what_cannot_be_without_it() {
    let gateway = shop().await;
    let shopper = gateway.shopper("someone");
    let query = "{ product(sku: \"a\") { sku } category(by: {path: \"no path\"}) { id } stock(sku: \"a\") { sku } }";
    let (data, errors) = answer(&shopper, query, json!({})).await;
    assert_eq!(data, "{\"product\":{\"sku\":\"a\"},\"category\":null,\"stock\":{\"sku\":\"a\"}}");
    assert_eq!(errors[0]["path"], json!(["category"]));
    // As is one that others may see.
    let query = "{ stock(sku: \"a\") { reserved available } }";
    let (data, errors) = answer(&shopper, query, json!({})).await;
    assert_eq!(data, "{\"stock\":{\"reserved\":null,\"available\":10}}");
    assert_eq!(errors[0]["extensions"]["code"], "FORBIDDEN");
    // A connection can't be null.
    let query = "{ product(sku: \"a\") { sku } myOrders(after: \"nonsense\") { nodes { id } } }";
    let (data, errors) = answer(&shopper, query, json!({})).await;
    assert_eq!((data.as_str(), &errors[0]["path"]), ("null", &json!(["myOrders"])));
    // Nor can a node of one, whose guarded field may be null.
    let query = "{ people(nameStartsWith: \"\") { nodes { address { city } } } }";
    let create = "mutation { createPerson(input: {name: \"Ann\"}) { __typename } }";
    gateway.merchant().field(create, json!({})).await;
    let (data, errors) = answer(&shopper, query, json!({})).await;
    assert_eq!(data, "{\"people\":{\"nodes\":[{\"address\":null}]}}");
    assert_eq!(errors[0]["path"], json!(["people", "nodes", 0, "address"]));
}

/// Mutations are carried out one after the other, and each answers for itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_that_fails_leaves_the_others_their_answers() {
    let gateway = shop().await;
    let shopper = gateway.shopper("someone");
    let query = "mutation($cart: ID!) {
        first: openCart(input: {policy: RESERVE, currency: \"EUR\", idempotencyKey: \"first\"}) {
            __typename ... on Cart { id state } }
        forbidden: receiveStock(input: {sku: \"a\", quantity: 1}) { __typename }
        refused: claimCart(input: {cartId: $cart}) { __typename ... on UserError { code } }
        last: openCart(input: {policy: AT_CHECKOUT, currency: \"EUR\", idempotencyKey: \"last\"}) {
            __typename ... on Cart { id policy } } }";
    // The second time the text is known, and the carts are those of the first call.
    let mut answers = Vec::new();
    for _ in 0..2 {
        let (status, answer) =
            shopper.send(query, json!({ "cart": "none" })).await.expect("an answer");
        assert_eq!(status, 200);
        let errors = answer["errors"].as_array().expect("errors");
        assert_eq!(errors.len(), 1, "{answer:#}");
        assert_eq!(errors[0]["path"], json!(["forbidden"]));
        assert_eq!(errors[0]["extensions"]["code"], "FORBIDDEN");
        answers.push(answer["data"].clone());
    }
    assert_eq!(answers[0], answers[1]);
    let data = &answers[0];
    assert_eq!(data["forbidden"], Value::Null);
    assert_eq!(data["refused"], json!({ "__typename": "NotFound", "code": "NOT_FOUND" }));
    assert_eq!(
        (&data["first"]["state"], &data["last"]["policy"]),
        (&json!("ACTIVE"), &json!("AT_CHECKOUT"))
    );
    for name in ["first", "last"] {
        let id = data[name]["id"].as_str().expect("an id");
        assert_eq!(shopper.cart(id).await["id"], json!(id), "{name} was carried out");
    }
    // The keys are in the order of the request, beside one that failed in the database too.
    let query = "mutation {
        a: createPerson(input: {name: \"Ann\"}) { __typename }
        b: receiveStock(input: {sku: \"a\", quantity: 1}) { __typename }
        c: createPerson(input: {name: \"Ben\"}) { __typename } }";
    let failing = doc! { "failCommands": ["update", "findAndModify"], "errorCode": 2_i32 };
    let failing = gateway.fail_point(doc! { "times": 1 }, failing).await;
    let (data, errors) = answer(&gateway.merchant(), query, json!({})).await;
    failing.off().await;
    let person = "{\"__typename\":\"Person\"}";
    assert_eq!(data, format!("{{\"a\":{person},\"b\":null,\"c\":{person}}}"));
    assert_eq!((errors.as_array().map(Vec::len), &errors[0]["path"]), (Some(1), &json!(["b"])));
    assert_eq!(gateway.available("a").await, 10);
}

/// A fragment may be on any union that has an object in common with what it stands in.
#[tokio::test(flavor = "multi_thread")]
async fn fragments_on_other_unions_hold_for_what_these_have_in_common() {
    let gateway = shop().await;
    let anyone = gateway.anonymous();
    let product = anyone.data("{ product(sku: \"a\") { id } }", json!({})).await;
    let ids = json!({ "id": product["product"]["id"] });
    for (query, data) in [
        (
            "mutation { openCart(input: {policy: RESERVE, currency: \"EUR\"}) {
                ... on CancelCartResult { ... on Cart { state } } } }",
            "{\"openCart\":{\"state\":\"ACTIVE\"}}",
        ),
        (
            "query($id: ID!) { node(id: $id) { ...U ... on CancelCartResult { ... on Cart { state } } } }
             fragment U on UpdateProductResult { __typename ... on Book { sku } }",
            "{\"node\":{\"__typename\":\"Book\",\"sku\":\"a\"}}",
        ),
        (
            "query($id: ID!) { node(id: $id) { ... on UpdateProductResult @include(if: true) {
                ... on Product @include(if: true) { sku } } } }",
            "{\"node\":{\"sku\":\"a\"}}",
        ),
    ] {
        assert_eq!(answer(&anyone, query, ids.clone()).await, (data.to_owned(), Value::Null));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_is_whole() {
    let gateway = Gateway::start().await;
    let query = "query I { __schema { queryType { name } types { ...T } directives { name } } }
        fragment T on __Type { kind name fields { name type { ...R } } possibleTypes { name } }
        fragment R on __Type { kind name ofType { kind name ofType { name } } }";
    let found = gateway.anonymous().data(query, json!({})).await;
    let schema = &found["__schema"];
    assert_eq!(schema["queryType"]["name"], "Query");
    let types = schema["types"].as_array().expect("types");
    let product = types.iter().find(|one| one["name"] == "Product").expect("the interface");
    assert!(product["fields"].as_array().expect("fields").len() > 10);
    assert_eq!(product["possibleTypes"].as_array().expect("types").len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_followed_is_complete_too() {
    let gateway = shop().await;
    let query = "subscription($sku: ID!) { stockChanged(sku: $sku) { ...S sku @skip(if: true) } }
        fragment S on Stock { available }";
    let mut live = gateway.anonymous().follow(query, json!({ "sku": "a" })).await;
    let expected = json!({ "stockChanged": { "available": 10 } });
    assert_eq!(live.next().await["data"], expected);
}
