//! The objects beside ids of stock, names and parcels, and the lists that belong to a user.

use docgate::graphql::node_id::NodeKind;
use serde_json::{Value, json};

use super::{MANY, nodes, reads_only};
use crate::{
    catalog::variants::{added, variant},
    shop::stocked,
    social::{self, CIRCLE, CREATE_POST, deliver, does},
    support::Gateway,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_products_of_all_stock_are_one_command() {
    let base = Gateway::start().await;
    for number in 0..MANY {
        stocked(&base, &format!("p{number:02}"), 100, 7).await;
    }
    let query = "{ lowStock(below: 10, first: 20) { nodes { sku product { sku title } } } }";
    let expected = ["find inventory", "find products"];
    let found = reads_only(&base, Gateway::merchant, query, json!({}), &expected).await;
    for (number, stock) in nodes(&found).iter().enumerate() {
        let sku = format!("p{number:02}");
        let product = json!({ "sku": sku, "title": format!("Title of {sku}") });
        assert_eq!(*stock, json!({ "sku": sku, "product": product }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stock_of_a_variant_has_product_and_variant() {
    let gateway = Gateway::start().await;
    gateway.product("shirt", 100, "EUR").await;
    added(&gateway, variant("shirt.m", ["red", "M"], 0)).await;
    let query = "query($sku: ID!) { stock(sku: $sku) {
        sku product { sku } variant { sku title } } }";
    let of = async |sku: &str| gateway.anonymous().field(query, json!({ "sku": sku })).await;
    let expected = json!({ "sku": "shirt", "product": { "sku": "shirt" }, "variant": null });
    assert_eq!(of("shirt").await, expected);
    let shown = json!({ "sku": "shirt.m", "title": "red / M" });
    let expected = json!({ "sku": "shirt.m", "product": { "sku": "shirt" }, "variant": shown });
    assert_eq!(of("shirt.m").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_of_all_names_are_one_command() {
    let base = Gateway::start().await;
    social::people(&base, &["ann"]).await;
    let claim = "mutation($input: ClaimIdentityInput!) { claimIdentity(input: $input) {
        __typename ... on Identity { userId user { name } } } }";
    let claimed = async |address: String, user: &str| {
        let input = json!({ "identity": { "email": address }, "userId": user });
        base.service().field(claim, json!({ "input": input })).await
    };
    for number in 0..MANY {
        let name = claimed(format!("a{number:02}@example.org"), "ann").await;
        assert_eq!(name["user"]["name"], "ann", "{name:#}");
    }
    let query = "{ identities(first: 20) { nodes { userId user { userId name } } } }";
    let expected = ["find identities", "find users"];
    let ann = |gateway: &Gateway| gateway.shopper("ann");
    let found = reads_only(&base, ann, query, json!({}), &expected).await;
    for name in nodes(&found) {
        let user = json!({ "userId": "ann", "name": "ann" });
        assert_eq!(*name, json!({ "userId": "ann", "user": user }));
    }
    // Whoever has no profile has names all the same.
    let name = claimed("ben@example.org".into(), "ben").await;
    let expected = json!({ "__typename": "Identity", "userId": "ben", "user": null });
    assert_eq!(name, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lists_of_a_user_are_fields_of_the_user() {
    let gateway = Gateway::start().await;
    social::people(&gateway, &["ann", "bob", "cleo"]).await;
    for (by, of) in [("bob", "ann"), ("cleo", "ann"), ("ann", "bob")] {
        let input = json!({ "userId": of, "circle": "c" });
        assert_eq!(does(&gateway, by, CIRCLE, input).await["__typename"], "User");
    }
    for (by, audience) in [("ann", "PUBLIC"), ("ann", "CIRCLES"), ("cleo", "PUBLIC")] {
        let mut input = json!({ "audience": audience, "text": audience });
        if by != "ann" {
            input["toUserId"] = json!("ann");
        }
        let post = does(&gateway, by, CREATE_POST, input).await;
        assert_eq!(post["__typename"], "Post", "{post:#}");
    }
    deliver(&gateway).await;
    let query = "query($id: ID!, $userId: ID!) {
        user(id: $id) { followers { nodes { userId } } following { nodes { userId circles } }
            wall { nodes { text } } }
        followers(userId: $userId) { nodes { userId } }
        following(userId: $userId) { nodes { userId circles } }
        wall(userId: $userId) { nodes { text } } }";
    let variables = json!({ "id": NodeKind::USER.id("ann"), "userId": "ann" });
    let mut walls = Vec::new();
    for reader in ["ann", "bob", "cleo"] {
        let seen = gateway.shopper(reader).data(query, variables.clone()).await;
        for list in ["followers", "following", "wall"] {
            assert_eq!(seen["user"][list], seen[list], "{list} as {reader} sees it");
        }
        let count = |list: &str| seen["user"][list]["nodes"].as_array().map(Vec::len);
        assert_eq!((count("followers"), count("following")), (Some(2), Some(1)));
        walls.push(count("wall"));
    }
    // Each sees what they may see, and an own wall shows those whom one follows.
    assert_eq!(walls, [Some(2), Some(3), Some(2)]);
    let answer = gateway.anonymous().run(query, variables).await;
    assert_eq!(answer["data"]["user"].as_object(), None, "{answer:#}");
    let errors = answer["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let is_told = |error: &Value| error["extensions"]["code"] == "UNAUTHENTICATED";
    assert!(!errors.is_empty() && errors.iter().all(is_told), "{answer:#}");
}
