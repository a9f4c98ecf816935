//! Messages about requests that aren't carried out say what is wrong with them.

use docgate::config::Config;
use serde_json::{Value, json};

use crate::support::{Client, Gateway, http};

/// The messages of a request's errors.
async fn messages(client: &Client, query: &str, variables: Value) -> Vec<String> {
    let answer = client.run(query, variables).await;
    let errors = answer["errors"].as_array().unwrap_or_else(|| panic!("errors: {answer:#}"));
    let message = |error: &Value| {
        assert_eq!(error["extensions"]["code"], "BAD_USER_INPUT", "{error:#}");
        error["message"].as_str().expect("a message").to_owned()
    };
    errors.iter().map(message).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_document_is_told_in_plain_words() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let currency = "an ISO 4217 code in capital letters, such as \"EUR\"";
    for (query, message) in [
        ("query($a: Nope) { product(sku: $a) { sku } }", "Unknown type \"Nope\"".to_owned()),
        (
            "{ products { nodes { sku } } }",
            "Argument \"by\" of field \"Query.products\" is required but not provided".to_owned(),
        ),
        (
            "{ product(sku: \"a\") { titel } }",
            "Unknown field \"titel\" on type \"Product\". Did you mean \"title\"?".to_owned(),
        ),
        (
            "{ comment(by: {}) { id } }",
            "by: exactly one of id, slug is required, and not null".to_owned(),
        ),
        (
            "{ products(by: {priceBetween: {min: 1, max: 2, currency: \"eur\"}}) { nodes { sku } } }",
            format!("by.priceBetween.currency: must be of type CurrencyCode: {currency}"),
        ),
        (
            "mutation { openAccount(input: {currency: \"ABC\"}) { __typename } }",
            format!("input.currency: must be of type CurrencyCode: {currency}"),
        ),
    ] {
        assert_eq!(messages(&anyone, query, json!({})).await, [message], "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fields_of_which_one_is_required_are_named() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let nested = "{ products(by: {category: {}}) { nodes { sku } } }";
    let by_variable =
        "query($c: CategoryFilter!) { products(by: {category: $c}) { nodes { sku } } }";
    let in_fragment = "{ ...F } fragment F on Query { products(by: {category: {subtree: null}}) { nodes { sku } } }";
    let start = "by.category: exactly one of ";
    for query in [nested, by_variable, in_fragment] {
        let messages = messages(&anyone, query, json!({ "c": {} })).await;
        let message = messages.first().expect("a message");
        assert!(message.starts_with(start) && message.contains("subtree"), "{query}: {messages:?}");
        assert_eq!(messages.len(), 1, "{query}: {messages:?}");
    }
}

/// The message and the field of the only error of a request.
async fn refusal(client: &Client, query: &str, variables: Value) -> (String, Value) {
    let answer = client.run(query, variables).await;
    let errors = answer["errors"].as_array().unwrap_or_else(|| panic!("errors: {answer:#}"));
    assert_eq!(errors.len(), 1, "{query}: {answer:#}");
    assert!(answer["data"].is_null(), "{query}: {answer:#}");
    assert_eq!(errors[0]["extensions"]["code"], "BAD_USER_INPUT", "{query}: {answer:#}");
    let message = errors[0]["message"].as_str().expect("a message").to_owned();
    (message, errors[0]["extensions"]["field"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_another_shape_is_refused_before_any_field_runs() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let open =
        "a: openAccount(input: {currency: \"EUR\", idempotencyKey: \"half1\"}) { __typename }";
    let save = "b: saveAddress(input: {label: \"x\", address: \"Ringstr. 5\"}) { __typename }";
    let half = format!("mutation {{ {open} {save} }}");
    for (query, field, reason) in [
        (half.as_str(), "input.address", "must be an object of type ShippingAddressInput, with "),
        (
            "{ products(by: {text: \"shirt\"}) { nodes { sku } } }",
            "by.text",
            "must be an object of type TextFilter, with query",
        ),
        (
            "{ category(by: \"/music\") { id } }",
            "by",
            "must be an object of type CategoryBy, with exactly one of ",
        ),
        (
            "{ products(by: {property: [1]}) { nodes { sku } } }",
            "by.property.0",
            "must be an object of type PropertyInput",
        ),
        (
            "{ products(by: {property: 1}) { nodes { sku } } }",
            "by.property",
            "must be an object of type PropertyInput",
        ),
        (
            "query($l: LocaleTag) { products(by: {text: {query: null, language: $l}}) { nodes { sku } } }",
            "by.text.query",
            "must not be null: it is of type String!",
        ),
        (
            "{ products(by: {where: {order: CHEAP}}) { nodes { sku } } }",
            "by.where.order",
            "enumeration type \"ProductOrder\" does not contain the value \"CHEAP\": its values are ",
        ),
        (
            "mutation { addCartLine(input: {cartID: \"a\"}) { __typename } }",
            "input.cartID",
            "unknown field of type AddCartLineInput. Did you mean \"cartId\"?",
        ),
        (
            "mutation { applyVoucher(input: {cartId: \"a\", voucherCode: \"b\"}) { __typename } }",
            "input.voucherCode",
            "unknown field of type ApplyVoucherInput: its fields are cartId, code, idempotencyKey",
        ),
    ] {
        let (message, at) = refusal(&anyone, query, json!({})).await;
        assert!(message.starts_with(&format!("{field}: {reason}")), "{query}: {message}");
        assert_eq!(at, field, "{query}");
    }
    let query = "query($b: ProductsBy!) { products(by: $b) { nodes { sku } } }";
    let (message, at) = refusal(&anyone, query, json!({ "b": { "text": "shirt" } })).await;
    assert!(message.starts_with("variables.b.text: must be an object of type "), "{message}");
    assert_eq!(at, "variables.b.text");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_null_where_one_field_is_required_is_refused_before_any_field_runs() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let told = ("by: exactly one of id, slug is required, and not null".to_owned(), json!("by"));
    for query in [
        "query($id: ID = \"x\") { __typename comment(by: {id: $id}) { id } }",
        "query($id: ID = \"x\") { ...F } fragment F on Query { __typename comment(by: {id: $id}) { id } }",
    ] {
        // The document is refused when it is new, and when it is known.
        for round in ["new", "known"] {
            let refused = refusal(&anyone, query, json!({ "id": null })).await;
            assert_eq!(refused, told, "{round}: {query}");
            for variables in [json!({ "id": "none" }), json!({})] {
                let found = anyone.data(query, variables).await;
                let expected = json!({ "__typename": "Query", "comment": null });
                assert_eq!(found, expected, "{round}: {query}");
            }
        }
    }
    // No field of the mutation runs.
    let open =
        "a: openAccount(input: {currency: \"EUR\", idempotencyKey: \"half2\"}) { __typename }";
    let query = format!(
        "mutation($d: AlbumInput = {{genres: []}}) {{ {open} b: createProduct(input: {{
            sku: \"half\", categoryIds: [], pricing: {{list: 1, retail: 1, currency: \"EUR\"}},
            content: {{title: \"T\", details: {{album: $d}}}} }}) {{ __typename }} }}"
    );
    let merchant = gateway.merchant();
    for variables in [json!({ "d": { "genres": ["Jazz"] } }), json!({ "d": null })] {
        let answer = merchant.run(&query, variables.clone()).await;
        let is_refused = answer["data"].is_null();
        assert_eq!(is_refused, variables["d"].is_null(), "{answer:#}");
    }
    // A field that is skipped needs no choice.
    let skipped = "query($id: ID = \"x\", $no: Boolean!) { __typename comment(by: {id: $id}) @skip(if: $no) { id } }";
    for no in [false, true] {
        let variables = json!({ "id": "none", "no": no });
        assert_eq!(anyone.data(skipped, variables).await["__typename"], "Query");
    }
    let variables = json!({ "id": null, "no": true });
    assert_eq!(anyone.data(skipped, variables).await, json!({ "__typename": "Query" }));
    assert_eq!(refusal(&anyone, skipped, json!({ "id": null, "no": false })).await, told);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_similar_name_is_suggested() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    for (query, end) in [
        (
            "{ products(by: {text: {query: \"a\"}}, frist: 3) { nodes { sku } } }",
            "Did you mean \"first\"?",
        ),
        ("{ product(sku: \"a\") { ... on Albun { sku } } }", "Did you mean \"Album\"?"),
        ("{ myAccounts { id } }", "\"AccountConnection\". It is in \"nodes { … }\"."),
    ] {
        let messages = messages(&anyone, query, json!({})).await;
        assert!(messages.iter().any(|message| message.ends_with(end)), "{query}: {messages:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_syntax_error_is_one_line_with_its_place() {
    let gateway = Gateway::start().await;
    for (query, column) in [("{ product(sku: ]) { sku } }", 16), ("{ __typename", 13), ("", 1)] {
        let answer = gateway.anonymous().run(query, json!({})).await;
        let error = &answer["errors"][0];
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with("Syntax error: expected "), "{error:#}");
        assert!(!message.contains('\n') && !message.contains('_'), "{error:#}");
        assert_eq!(error["locations"], json!([{ "line": 1, "column": column }]), "{error:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_not_suggested_without_introspection() {
    let off = |config: &mut Config| config.introspection = false;
    let gateway = Gateway::with(off).await;
    let messages =
        messages(&gateway.anonymous(), "{ product(sku: \"a\") { titel } }", json!({})).await;
    assert_eq!(messages, ["Unknown field \"titel\" on type \"Product\"."]);
    for (query, expected) in [
        ("{ category(by: \"/music\") { id } }", "by: must be an object of type CategoryBy"),
        (
            "mutation { addCartLine(input: {cartID: \"a\"}) { __typename } }",
            "input.cartID: unknown field of type AddCartLineInput",
        ),
        (
            "mutation { applyVoucher(input: {voucherCode: \"b\"}) { __typename } }",
            "input.voucherCode: unknown field of type ApplyVoucherInput",
        ),
        ("{ comment(by: {}) { id } }", "by: exactly one field is required, and not null"),
    ] {
        let (message, _) = refusal(&gateway.anonymous(), query, json!({})).await;
        assert_eq!(message, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_no_bearer_token_is_told_apart_from_a_token() {
    let gateway = Gateway::start().await;
    for (value, words) in
        [("Basic YTpi", "`Bearer`"), ("nonsense", "`Bearer`"), ("Bearer a", "JWT")]
    {
        let request = http().post(gateway.anonymous().url).header("authorization", value);
        let answer =
            request.json(&json!({ "query": "{ __typename }" })).send().await.expect("an answer");
        assert_eq!(answer.status(), 401, "{value}");
        assert_eq!(answer.headers()["www-authenticate"], "Bearer", "{value}");
        let body: Value = answer.json().await.expect("JSON");
        let message = body["errors"][0]["message"].as_str().expect("a message");
        assert!(message.contains(words), "{value}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_or_method_that_is_not_served_has_an_error_as_its_body() {
    let gateway = Gateway::start().await;
    for (method, path, status, code) in [
        ("GET", "/nope", 404, "NOT_FOUND"),
        ("GET", "/feeds/nope.atom", 404, "NOT_FOUND"),
        ("PUT", "/graphql", 405, "BAD_USER_INPUT"),
        ("POST", "/", 405, "BAD_USER_INPUT"),
    ] {
        let method = method.parse().expect("a method");
        let url = format!("http://{}{path}", gateway.address);
        let answer = http().request(method, url).send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{path}");
        assert_eq!(answer.headers().contains_key("allow"), status == 405, "{path}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["errors"][0]["extensions"]["code"], code, "{path}: {body:#}");
        assert!(body["errors"][0]["message"].is_string(), "{path}: {body:#}");
    }
}
