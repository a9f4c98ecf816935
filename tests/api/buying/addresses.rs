//! Saved addresses.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::{Client, Gateway, cuts, short_bounds, very_long_bounds};

const SAVE: &str = "mutation($input: SaveAddressInput!) { saveAddress(input: $input) { __typename \
    ... on AddressBook { addresses { label address { street } } } \
    ... on UserError { code message } ... on InvalidInput { field } } }";

fn input(label: &str, street: &str, op: Option<&str>) -> Value {
    let address = json!({ "name": "N. N.", "street": street, "city": "City", "country": "DE" });
    json!({ "input": { "label": label, "address": address, "idempotencyKey": op } })
}

async fn save(client: &Client, label: &str, street: &str, op: Option<&str>) -> Value {
    client.field(SAVE, input(label, street, op)).await
}

async fn remove(client: &Client, label: &str, op: Option<&str>) -> Value {
    let remove = "mutation($label: String!, $op: ID) { \
        removeAddress(input: {label: $label, idempotencyKey: $op}) { __typename \
            ... on AddressBook { addresses { label } } ... on UserError { code } } }";
    client.field(remove, json!({ "label": label, "op": op })).await
}

/// The label and the street of each of the caller's addresses.
async fn saved(client: &Client) -> Vec<(String, String)> {
    let query = "{ myAddresses { label address { name street city country } savedAt } }";
    let found = client.field(query, json!({})).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let each = found.as_array().expect("a list").iter();
    each.map(|one| (text(&one["label"]), text(&one["address"]["street"]))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(label, street)| ((*label).to_owned(), (*street).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_that_are_displayed_alike_are_one_label() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    save(&ann, "caf\u{e9}", "Street 1", None).await;
    save(&ann, "cafe\u{301}", "Street 2", None).await;
    assert_eq!(saved(&ann).await, pairs(&[("caf\u{e9}", "Street 2")]));
    assert_eq!(remove(&ann, "cafe\u{301}", None).await["__typename"], "AddressBook");
    assert!(saved(&ann).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_are_saved_replaced_and_removed_by_their_owner() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    assert!(saved(&ann).await.is_empty());
    assert_eq!(remove(&ann, "home", None).await["code"], "NOT_FOUND");
    save(&ann, "home", "Street 1", Some("one")).await;
    save(&ann, "$label", "$street.$$ROOT", None).await;
    save(&ann, "home", "Street 2", None).await;
    let both = pairs(&[("home", "Street 2"), ("$label", "$street.$$ROOT")]);
    assert_eq!(saved(&ann).await, both);
    // A late repeat overwrites nothing.
    assert_eq!(save(&ann, "home", "Street 1", Some("one")).await["__typename"], "AddressBook");
    assert_eq!(save(&ann, "home", "Street 3", Some("one")).await["code"], "CONFLICT");
    assert_eq!(saved(&ann).await, both);
    for other in [gateway.shopper("bob"), gateway.merchant(), gateway.service()] {
        assert!(saved(&other).await.is_empty());
        assert_eq!(remove(&other, "home", None).await["code"], "NOT_FOUND");
    }
    assert_eq!(remove(&ann, "home", Some("gone")).await["__typename"], "AddressBook");
    save(&ann, "home", "Street 4", None).await;
    assert_eq!(remove(&ann, "home", Some("gone")).await["__typename"], "AddressBook");
    let kept = pairs(&[("$label", "$street.$$ROOT"), ("home", "Street 4")]);
    assert_eq!(saved(&ann).await, kept);
    let mut wrong = input("home", "Street", None);
    wrong["input"]["address"]["country"] = json!("ZZ");
    assert_eq!(ann.field(SAVE, wrong).await["field"], "input.address.country");
    assert_eq!(save(&ann, " ", "Street", None).await["field"], "input.label");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_can_say_how_its_recipient_is_reached() {
    let gateway = Gateway::start().await;
    let ann = gateway.shopper("ann");
    let with = |field: &str, value: Value| {
        let mut input = input("home", "Street 1", None);
        input["input"]["address"][field] = value;
        input
    };
    let seen = async || {
        let query = "{ myAddresses { address { street email phone } } }";
        ann.field(query, json!({})).await[0]["address"].clone()
    };
    let mut both = with("email", json!("Ann.O'Hara+shop@b\u{fc}cher.example"));
    both["input"]["address"]["phone"] = json!("040 555-0142 (home)");
    assert_eq!(ann.field(SAVE, both).await["__typename"], "AddressBook");
    let expected = json!({ "street": "Street 1", "email": "Ann.O'Hara+shop@b\u{fc}cher.example",
        "phone": "040 555-0142 (home)" });
    assert_eq!(seen().await, expected, "as they were written");
    for wrong in [
        "",
        " ",
        "ann",
        "@shop.example",
        "ann@",
        "ann@localhost",
        "ann@.example",
        "ann@shop..example",
        "a b@shop.example",
        " ann@shop.example",
        "ann@shop.example\nBcc: bob@shop.example",
        "ann@shop.example,bob@shop.example",
        "<ann@shop.example>",
        "a@b@shop.example",
        "ann\u{200b}@shop.example",
        &format!("{}@shop.example", "a".repeat(250)),
    ] {
        let said = ann.field(SAVE, with("email", json!(wrong))).await;
        assert_eq!(said["field"], "input.address.email", "{wrong:?}: {said:#}");
    }
    for wrong in ["", "\u{200b}", "1\n2", " 1", &"1".repeat(33)] {
        let said = ann.field(SAVE, with("phone", json!(wrong))).await;
        assert_eq!(said["field"], "input.address.phone", "{wrong:?}: {said:#}");
    }
    assert_eq!(seen().await, expected);
    // Neither is needed, and nothing is stored for one that is left out.
    assert_eq!(ann.field(SAVE, with("email", Value::Null)).await["__typename"], "AddressBook");
    assert_eq!(seen().await, json!({ "street": "Street 1", "email": null, "phone": null }));
    let books = gateway.stored("addressBooks").await;
    assert!(!books[0].to_string().contains("email"), "{books:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_has_more_than_twenty_addresses() {
    let gateway = Gateway::with(very_long_bounds).await;
    let ann = gateway.shopper("ann");
    let labels: Vec<String> = (0..32).map(|n| format!("label-{n}")).collect();
    let answers = join_all(labels.iter().map(|label| save(&ann, label, "Street", None))).await;
    let refused = answers.iter().filter(|answer| answer["field"] == "input.label").count();
    assert_eq!(refused, 12, "{answers:#?}");
    let all = saved(&ann).await;
    assert_eq!(all.len(), 20);
    // One of them can still be replaced.
    assert_eq!(save(&ann, &all[0].0, "Other", None).await["__typename"], "AddressBook");
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_address_is_saved_once() {
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("shopper-{n}"),
        async |gateway, shopper: &String| {
            let client = gateway.shopper(shopper);
            let _answer_or_trouble = client.send(SAVE, input("home", "Street", Some("op"))).await;
        },
        async |gateway, case| {
            let client = gateway.shopper(&case.subject);
            let answer = save(&client, "home", "Street", Some("op")).await;
            assert_eq!(answer["__typename"], "AddressBook", "{case:?}: {answer:#}");
            assert_eq!(saved(&client).await, pairs(&[("home", "Street")]), "{case:?}");
        },
    )
    .await;
}
