//! The type of a variable fits each place where the variable is used.

use serde_json::{Value, json};

use crate::support::{Client, Gateway, http};

/// Number of executions of a text: the first one, which validates it, and one of the known text.
const ROUNDS: usize = 2;

/// The refusal of a variable `$v` of that type at the path of an argument.
fn told(path: &str, given: &str, expected: &str) -> String {
    format!(
        "{path}: variable \"$v\" of type \"{given}\" is used where type \"{expected}\" is expected"
    )
}

/// The messages of the errors of a request that isn't executed.
async fn messages(client: &Client, query: &str, variables: Value) -> Vec<String> {
    let answer = client.run(query, variables).await;
    assert!(answer["data"].is_null(), "{query}: {answer:#}");
    let errors = answer["errors"].as_array().unwrap_or_else(|| panic!("errors: {answer:#}"));
    let message = |error: &Value| {
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error:#}");
        error["message"].as_str().expect("a message").to_owned()
    };
    errors.iter().map(message).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_types_and_both_places() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let query = "query($v: Int!) {\n  product(sku: $v) { sku } }";
    for _ in 0..ROUNDS {
        // The value would be a valid SKU.
        let answer = anyone.run(query, json!({ "v": 1 })).await;
        let error = json!({
            "message": told("sku", "Int!", "ID"),
            "locations": [{ "line": 1, "column": 7 }, { "line": 2, "column": 11 }],
            "extensions": { "code": "BAD_USER_INPUT", "field": "sku" },
        });
        assert_eq!(answer["errors"], json!([error]), "{answer:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_fits_is_accepted() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let anyone = gateway.anonymous();
    for (query, value) in [
        ("query($v: ID) { product(sku: $v) { sku } }", json!("a")),
        ("query($v: ID!) { product(sku: $v) { sku } }", json!("a")),
        // A default, of the variable or of the argument.
        ("query($v: ID = \"a\") { stock(sku: $v) { available } }", json!("b")),
        (
            "query($v: Boolean) { categorySubtree(path: \"/\", includeSelf: $v) { nodes { id } } }",
            json!(true),
        ),
        (
            "query($v: Boolean!) { categorySubtree(path: \"/\", includeSelf: $v) { nodes { id } } }",
            json!(true),
        ),
        // Lists and their elements.
        ("query($v: [ID!]!) { stocks(skus: $v) { available } }", json!(["a", "b"])),
        // A list of one value may be given as that value.
        ("query($v: [ID!]!) { stocks(skus: $v) { available } }", json!("a")),
        ("query($v: [ID!] = [\"a\"]) { stocks(skus: $v) { available } }", json!(["b"])),
        ("query($v: ID!) { stocks(skus: [\"a\", $v]) { available } }", json!("b")),
        // Fields of input objects.
        (
            "query($v: ProductsBy!) { products(by: $v) { nodes { sku } } }",
            json!({ "category": { "exact": "/music" } }),
        ),
        (
            "query($v: CategoryFilter!) { products(by: {category: $v}) { nodes { sku } } }",
            json!({ "exact": "/music" }),
        ),
        (
            "query($v: String!) { products(by: {category: {exact: $v}}) { nodes { sku } } }",
            json!("/music"),
        ),
        (
            "query($v: String = \"/music\") { products(by: {category: {exact: $v}}) { nodes { sku } } }",
            json!("/film"),
        ),
        (
            "query($v: String!) { products(by: {property: [{key: \"k\", value: $v}]}) { nodes { sku } } }",
            json!("b"),
        ),
        (
            "query($v: PropertyInput!) { products(by: {property: [$v]}) { nodes { sku } } }",
            json!({ "key": "k", "value": "b" }),
        ),
        (
            "query($v: LocaleTag) { products(by: {text: {query: \"shirt\", language: $v}}) { nodes { sku } } }",
            json!("de"),
        ),
        // Directives and introspection.
        (
            "query($v: Boolean!) { __typename product(sku: \"a\") @skip(if: $v) { sku } }",
            json!(false),
        ),
        (
            "query($v: Boolean = true) { __typename ... @include(if: $v) { product(sku: \"a\") { sku } } }",
            json!(false),
        ),
        ("query($v: String!) { __type(name: $v) { name } }", json!("Product")),
        (
            "query($v: Boolean) { __type(name: \"Product\") { fields(includeDeprecated: $v) { name } } }",
            json!(true),
        ),
    ] {
        for _ in 0..ROUNDS {
            anyone.data(query, json!({ "v": value })).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_does_not_fit_is_refused_whatever_the_value() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    for (given, selection, value, path, expected) in [
        ("String!", "product(sku: $v) { sku }", json!("a"), "sku", "ID"),
        ("String!", "stock(sku: $v) { available }", json!("a"), "sku", "ID!"),
        ("ID", "stock(sku: $v) { available }", json!("a"), "sku", "ID!"),
        ("ID!", "categories(parentPath: $v) { nodes { id } }", json!("/"), "parentPath", "String!"),
        ("String!", "product(sku: \"a\") { title @include(if: $v) }", json!("a"), "if", "Boolean!"),
        (
            "Boolean",
            "product(sku: \"a\") { title @include(if: $v) }",
            json!(true),
            "if",
            "Boolean!",
        ),
        ("ID!", "__type(name: $v) { name }", json!("a"), "name", "String!"),
        // Lists.
        ("ID!", "stocks(skus: $v) { available }", json!("a"), "skus", "[ID!]!"),
        ("[ID!]", "stocks(skus: $v) { available }", json!(["a"]), "skus", "[ID!]!"),
        ("[ID]!", "stocks(skus: $v) { available }", json!(["a"]), "skus", "[ID!]!"),
        ("[String!]!", "stocks(skus: $v) { available }", json!(["a"]), "skus", "[ID!]!"),
        ("[ID!]!", "product(sku: $v) { sku }", json!(["a"]), "sku", "ID"),
        ("ID", "stocks(skus: [\"a\", $v]) { available }", json!("a"), "skus.1", "ID!"),
        // Input objects.
        ("CategoryBy!", "comment(by: $v) { id }", json!({ "id": "a" }), "by", "CommentBy!"),
        ("ID!", "comment(by: {slug: $v}) { id }", json!("a"), "by.slug", "CommentSlug!"),
        (
            "Slug!",
            "products(by: {albumsByGenre: $v}) { nodes { sku } }",
            json!("a"),
            "by.albumsByGenre",
            "String!",
        ),
        (
            "ID!",
            "products(by: {property: {key: \"k\", value: $v}}) { nodes { sku } }",
            json!("a"),
            "by.property.value",
            "String!",
        ),
        (
            "PropertyInput!",
            "products(by: {property: $v}) { nodes { sku } }",
            json!({ "key": "k", "value": "b" }),
            "by.property",
            "[PropertyInput!]!",
        ),
        // Where exactly one field is required, it can't be null.
        ("ID", "comment(by: {id: $v}) { id }", json!("a"), "by.id", "ID!"),
        ("ID", "comment(by: {id: $v}) { id }", Value::Null, "by.id", "ID!"),
        (
            "String",
            "products(by: {category: {exact: $v}}) { nodes { sku } }",
            json!("/"),
            "by.category.exact",
            "String!",
        ),
        // A default that is null is none.
        ("ID = null", "stock(sku: $v) { available }", json!("a"), "sku", "ID!"),
    ] {
        let query = format!("query($v: {given}) {{ {selection} }}");
        let given = given.strip_suffix(" = null").unwrap_or(given);
        for _ in 0..ROUNDS {
            let messages = messages(&anyone, &query, json!({ "v": value })).await;
            assert_eq!(messages, [told(path, given, expected)], "{query}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_errors_of_a_document_are_told_too() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let query = "query($v: Int!, $n: Nope) { product(sku: $v) { titel } stock(sku: $n) { sku } }";
    let mut messages = messages(&anyone, query, json!({ "v": 1 })).await;
    messages.sort();
    let field = "Unknown field \"titel\" on type \"Product\". Did you mean \"title\"?";
    let expected =
        ["Unknown type \"Nope\"".to_owned(), field.to_owned(), told("sku", "Int!", "ID")];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(messages, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_fits_each_operation_that_uses_it() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let anyone = gateway.anonymous();
    let ask = async |query: &str, name: &str| -> Value {
        let variables = json!({ "v": "a" });
        let body = json!({ "query": query, "operationName": name, "variables": variables });
        let sent = http().post(&anyone.url).json(&body).send().await.expect("an answer");
        sent.json().await.expect("JSON")
    };
    let fragments = "fragment F on Query { ...G } fragment G on Query { product(sku: $v) { sku } }
        fragment H on Query { categories(parentPath: $v) { nodes { id } } }";
    let both = format!(
        "query A($v: ID!) {{ ...F }} query B($v: ID) {{ ...G }} query C($v: String!) {{ ...H }}
        {fragments}"
    );
    for _ in 0..ROUNDS {
        for name in ["A", "B"] {
            let answer = ask(&both, name).await;
            assert_eq!(answer["data"], json!({ "product": { "sku": "a" } }), "{answer:#}");
        }
    }
    // An operation that isn't executed is validated too.
    let one = format!(
        "query A($v: ID!) {{ ...F }}
query B($v: String!) {{ ...F }} query C($v: String!) {{ ...H }} {fragments}"
    );
    for _ in 0..ROUNDS {
        for name in ["A", "B", "C"] {
            let answer = ask(&one, name).await;
            let errors = answer["errors"].as_array().expect("errors");
            assert_eq!(errors.len(), 1, "{answer:#}");
            assert_eq!(errors[0]["message"], told("sku", "String!", "ID"));
            assert_eq!(errors[0]["locations"][0], json!({ "line": 2, "column": 9 }));
            assert!(answer["data"].is_null(), "{answer:#}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_executed_with_a_variable_that_does_not_fit() {
    let gateway = Gateway::start().await;
    let open = "openCart(input: {currency: \"EUR\", policy: AT_CHECKOUT}) { __typename }";
    let query = format!(
        "mutation($v: String!) {{ a: {open} b: openCart(input: {{currency: $v, policy: AT_CHECKOUT}}) {{
            __typename }} }}"
    );
    let before = gateway.snapshot().await;
    let messages = messages(&gateway.anonymous(), &query, json!({ "v": "EUR" })).await;
    assert_eq!(messages, [told("input.currency", "String!", "CurrencyCode!")]);
    assert!(gateway.snapshot().await == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_does_not_begin_with_a_variable_that_does_not_fit() {
    let gateway = Gateway::start().await;
    let query = "subscription($v: String!) { stockChanged(sku: $v) { available } }";
    let mut socket = gateway.session(None).await;
    for _ in 0..ROUNDS {
        socket.subscribe("1", query, json!({ "v": "a" })).await;
        let heard = socket.hear().await;
        assert_eq!(heard["type"], "error", "{heard:#}");
        assert_eq!(heard["payload"][0]["message"], told("sku", "String!", "ID!"), "{heard:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_an_unknown_type_is_refused_whatever_its_default() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let unknown = "Unknown type \"Nope\"";
    let declarations = [
        "[Nope]",
        "[Nope] = [1]",
        "[Nope] = 1",
        "[Nope] = null",
        "[Nope!]! = [null]",
        "[[Nope]] = [[1], 2]",
        "Nope = 1",
    ];
    for declared in declarations {
        let query = format!("query($v: {declared}) {{ stocks(skus: $v) {{ available }} }}");
        for _ in 0..ROUNDS {
            assert_eq!(messages(&anyone, &query, json!({})).await, [unknown], "{declared}");
        }
    }
    // Also in an operation that isn't executed, and if there is no such operation.
    let text =
        "query A { __typename } query B($v: [Nope] = [1]) { stocks(skus: $v) { available } }";
    for name in [Some("A"), Some("B"), Some("C"), None] {
        let body = json!({ "query": text, "operationName": name });
        let sent = http().post(&anyone.url).json(&body).send().await.expect("an answer");
        let answer: Value = sent.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["message"], unknown, "{name:?}: {answer:#}");
    }
    let query = "subscription($v: [Nope] = [1]) { stockChanged(sku: $v) { available } }";
    let mut socket = gateway.session(None).await;
    for _ in 0..ROUNDS {
        socket.subscribe("1", query, json!({})).await;
        let heard = socket.hear().await;
        assert_eq!(heard["type"], "error", "{heard:#}");
        assert_eq!(heard["payload"][0]["message"], unknown, "{heard:#}");
        let mut events = anyone.events(query, json!({})).await;
        let (_, told) = events.event().await.expect("an event");
        assert_eq!(told["errors"][0]["message"], unknown, "{told:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_that_is_not_of_its_type_is_refused_whatever_the_value() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    // As in an argument.
    let literal = "{ categories(first: 3000000000) { nodes { id } } }";
    let answer = anyone.run(literal, json!({})).await;
    assert!(answer["data"].is_null(), "{answer:#}");
    assert_eq!(answer["errors"][0]["extensions"]["field"], "first", "{answer:#}");
    let products = "products(by: $v) { nodes { sku } }";
    let by = json!({ "category": { "exact": "/" } });
    let number = "categories(first: $v) { nodes { id } }";
    for (declared, selection, value, path) in [
        ("ProductsBy! = 1", products, by.clone(), "variables.v"),
        ("ProductsBy! = {category: \"/\"}", products, by, "variables.v.category"),
        ("Int = 3000000000", number, json!(1), "variables.v"),
    ] {
        let query = format!("query A($v: {declared}) {{ {selection} }}");
        // Also if it isn't executed.
        let beside = format!("query B {{ __typename }} {query}");
        for (query, name) in [(&query, "A"), (&beside, "A"), (&beside, "B")] {
            for variables in [json!({}), json!({ "v": value })] {
                let body = json!({ "query": query, "operationName": name, "variables": variables });
                let sent = http().post(&anyone.url).json(&body).send().await.expect("an answer");
                let answer: Value = sent.json().await.expect("JSON");
                assert!(answer["data"].is_null(), "{query}: {answer:#}");
                let extensions = json!({ "code": "BAD_USER_INPUT", "field": path });
                assert_eq!(answer["errors"][0]["extensions"], extensions, "{query}: {answer:#}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_whose_variable_is_not_given_has_its_default() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let subtree = "categorySubtree(path: \"/\", includeSelf: $v) { nodes { id } }";
    let suggest = "suggest(text: \"nothing\", first: $v) { products { sku } }";
    for (given, selection, value) in [
        ("Boolean", subtree, json!(true)),
        ("Int", suggest, json!(1)),
        (
            "Int",
            "...F } fragment F on Query { suggest(text: \"nothing\", first: $v) { products { sku } }",
            json!(1),
        ),
    ] {
        let query = format!("query($v: {given}) {{ {selection} }}");
        for variables in [json!({}), json!({}), json!({ "v": value }), json!({})] {
            anyone.data(&query, variables).await;
        }
        // Null isn't the same.
        let refused = anyone.run(&query, json!({ "v": null })).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "BAD_USER_INPUT", "{refused:#}");
        anyone.data(&query, json!({})).await;
    }
}
