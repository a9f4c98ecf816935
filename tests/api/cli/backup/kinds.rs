//! Objects of all kinds of nodes, beside those of a shop's order.

use serde_json::json;

use super::filled::{id_in, made};
use crate::{ads, content, game, inbox, shop, social, support::Gateway, theater, transfers};

/// The id of an object, with the subject and the roles of a caller who may see it.
pub(super) type Seen = (String, &'static str, &'static [&'static str]);

/// An object of each kind that a shop's order, its discussion and a character leave out. What has an owner is mostly that of
/// Ann, a shopper with this account.
pub(super) async fn others(gateway: &Gateway, purse: &str) -> Vec<Seen> {
    let ann = gateway.shopper("ann");
    let other = shop::account(gateway, "ann", 0).await;
    let transfer = transfers::order(purse, &other, 1, None);
    let transfer = id_in(&ann.field(transfers::TRANSFER, transfer).await);
    social::people(gateway, &["ann", "friend"]).await;
    let user = id_in(&ann.field("{ user { id } }", json!({})).await);
    let message = inbox::send(gateway, "friend", &["ann"], "A message").await;
    let post = json!({ "audience": "CIRCLES", "text": "A post" });
    let post = social::posted_with(gateway, "ann", post).await;
    let page = content::put(gateway, "PAGE", "page", None).await;
    let mut all = vec![other, transfer, user, message, post, page];
    all.extend(of_a_shop(gateway).await);
    all.extend(of_a_theater(gateway).await);
    all.push(game::arrows(gateway).await);
    let mut all: Vec<Seen> = all.into_iter().map(|id| (id, "ann", &[][..])).collect();
    all.extend(of_others(gateway).await);
    all
}

/// A category and a person.
async fn of_a_shop(gateway: &Gateway) -> [String; 2] {
    let merchant = gateway.merchant();
    let category = "mutation($input: CreateCategoryInput!) { createCategory(input: $input) {
        ... on Category { id } } }";
    let names = json!([{ "locale": "en", "name": "Music" }]);
    let category = made(&merchant, category, json!({ "slug": "music", "names": names })).await;
    let person = "mutation($input: CreatePersonInput!) { createPerson(input: $input) {
        ... on Person { id } } }";
    [category, made(&merchant, person, json!({ "name": "Someone" })).await]
}

/// A theater, a screening, and Ann's booking and receipt.
async fn of_a_theater(gateway: &Gateway) -> [String; 4] {
    let theater = theater::theater(gateway, &["AA"]).await;
    let screening = theater::screening_in(gateway, &theater).await;
    let ann = gateway.shopper("ann");
    let booking = theater::holding_seats(&ann, &screening, &[("A", 1)]).await;
    let receipt = theater::receipt_of(gateway, "ann", &screening).await;
    [theater, screening, booking, receipt]
}

/// An ad zone, a campaign and a job.
async fn of_others(gateway: &Gateway) -> [Seen; 3] {
    let zone = id_in(&ads::zone(gateway, "top").await);
    let campaign = ads::launch(gateway, ads::plan(gateway, &["top"])).await;
    let enqueue = "mutation($input: EnqueueInput!) { enqueue(input: $input) {
        ... on Job { id } } }";
    let producer = gateway.user("a-producer", &["producer"]);
    let job = json!({ "queue": "mail", "payload": "{}" });
    let job = made(&producer, enqueue, job).await;
    [
        (zone, "pub", &["publisher"]),
        (campaign, "adv", &["advertiser"]),
        (job, "a-producer", &["producer"]),
    ]
}
