//! A database with something of many rooms, and what is read of it.

use serde_json::{Value, json};

use super::{ask_with, kinds};
use crate::{
    assets, comments, events, shop,
    support::{Client, Gateway, token},
};

/// What is read of a filled gateway, with the caller's subject and roles.
pub(super) struct Reading {
    pub(super) query: &'static str,
    variables: Value,
    subject: &'static str,
    roles: &'static [&'static str],
}

impl Reading {
    pub(super) async fn of(&self, address: &str) -> Value {
        let token = token(self.subject, self.roles);
        let answer = ask_with(address, Some(&token), self.query, self.variables.clone()).await;
        assert!(answer.get("errors").is_none(), "{answer:#}");
        answer["data"].clone()
    }
}

pub(super) fn id_in(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("an id: {value:#}")).to_owned()
}

/// The id of what a mutation returns.
pub(super) async fn made(client: &Client, query: &str, input: Value) -> String {
    id_in(&client.field(query, json!({ "input": input })).await)
}

/// Global ids of what a filled database has.
pub(super) struct Filled {
    order: String,
    cart: String,
    purse: String,
    product: String,
    comments: [String; 2],
    asset: String,
    place: String,
    character: String,
    others: Vec<kinds::Seen>,
}

/// Fills a database through the door.
pub(super) async fn filled(gateway: &Gateway) -> Filled {
    shop::stocked(gateway, "a", 250, 100).await;
    let (ann, purse) = (gateway.shopper("ann"), shop::account(gateway, "ann", 50_000).await);
    let order = shop::placed(&ann, &purse, &[("a", 2)]).await;
    let cart = shop::cart(&ann, "RESERVE", &[("a", 3)]).await;
    let product = comments::discussed(gateway, "talk", "PER_DOCUMENT").await;
    let first = comments::posted(&ann, &product, "The first", None).await;
    let bob = gateway.shopper("bob");
    let reply = comments::posted(&bob, &product, "A reply", Some(&first)).await;
    let sent = assets::file("noise.bin", "x/y", noise());
    let asset = id_in(&assets::uploaded(gateway, json!({ "slug": "it" }), &sent).await);
    log(gateway).await;
    publish(gateway).await;
    let [place, character] = born(gateway).await;
    let others = kinds::others(gateway, &purse).await;
    let comments = [first, reply];
    Filled { order, cart, purse, product, comments, asset, place, character, others }
}

/// Two events, a hit and a view of yesterday.
async fn log(gateway: &Gateway) {
    let at = format!("{}T10:00:00Z", events::day(gateway, 1));
    events::logged(gateway, &[events::event("/kept", &at), events::event("/kept", &at)]).await;
    let record = "mutation($at: DateTime!) {
        recordHits(input: { hits: [{ site: \"a.example\", page: \"/kept\", at: $at }] }) { __typename }
        recordViews(input: { views: [{ page: \"/kept\", at: $at }] }) { __typename } }";
    let recorded = gateway.service().data(record, json!({ "at": at })).await;
    let expected = json!({
        "recordHits": { "__typename": "HitsRecorded" },
        "recordViews": { "__typename": "ViewsRecorded" },
    });
    assert_eq!(recorded, expected);
}

/// Three messages of a topic.
async fn publish(gateway: &Gateway) {
    let operator = gateway.user("an-operator", &["operator"]);
    let create =
        "mutation($input: CreateTopicInput!) { createTopic(input: $input) { __typename } }";
    let topic = json!({ "input": { "name": "prices", "bytes": 65_536, "maxMessages": 50 } });
    assert_eq!(operator.field(create, topic).await["__typename"], "Topic");
    let publish = "mutation($input: PublishInput!) { publish(input: $input) { __typename } }";
    let messages = json!({ "input": { "topic": "prices", "messages": ["1", "2", "3"] } });
    let published = gateway.service().field(publish, messages).await;
    assert_eq!(published["__typename"], "PublishedMessages");
}

/// A place, and a character of Ann's in it.
async fn born(gateway: &Gateway) -> [String; 2] {
    let place = "mutation($input: CreatePlaceInput!) { createPlace(input: $input) {
        ... on Place { id } } }";
    let master = gateway.user("the-master", &["master"]);
    let hall = made(&master, place, json!({ "title": "A hall", "description": "" })).await;
    let birth = "mutation($input: CreateCharacterInput!) { createCharacter(input: $input) {
        ... on Character { id } } }";
    let born = json!({ "name": "Ann", "class": "wizard", "placeId": hall });
    let character = made(&gateway.user("ann", &["player"]), birth, born).await;
    [hall, character]
}

pub(super) fn readings(gateway: &Gateway, filled: &Filled) -> Vec<Reading> {
    let day = |days_ago| events::day(gateway, days_ago);
    let report = json!({ "from": day(3), "to": day(0) });
    let views =
        json!({ "from": format!("{}T00:00:00Z", day(1)), "to": format!("{}T00:00:00Z", day(0)) });
    let reading = |roles: &'static [&'static str], query, variables| Reading {
        query,
        variables,
        subject: "ann",
        roles,
    };
    let of = |id: &str| json!({ "id": id });
    vec![
        reading(
            &[],
            "{ product(sku: \"a\") { id sku } stock(sku: \"a\") { available } }",
            json!({}),
        ),
        reading(
            &[],
            "query($id: ID!) { order(id: $id) {
                id state total { minorUnits } lines { sku quantity } shipping { city } placedAt } }",
            of(&filled.order),
        ),
        reading(
            &[],
            "query($id: ID!) { cart(id: $id) { id state lines { sku quantity held } } }",
            of(&filled.cart),
        ),
        reading(
            &[],
            "query($id: ID!) { account(id: $id) { id balance { minorUnits } } }",
            of(&filled.purse),
        ),
        reading(
            &[],
            "query($id: ID!) { comments(subjectId: $id) { edges { node {
                id text postedAt parentId author { id } } } } }",
            of(&filled.product),
        ),
        reading(&[], "{ asset(by: { path: \"/it\" }) { id length sha256 url } }", json!({})),
        reading(
            &["analyst"],
            "{ events(by: { path: \"/kept\" }) { nodes { at host path arrivedAt } } }",
            json!({}),
        ),
        reading(
            &["analyst"],
            "query($from: Date!, $to: Date!) { report(
                site: \"a.example\", page: \"/kept\", resolution: HOUR,
                range: { days: { from: $from, to: $to } }) { total } }",
            report,
        ),
        reading(
            &["analyst"],
            "query($from: DateTime!, $to: DateTime!) { viewSeries(
                page: \"/kept\", from: $from, to: $to, resolution: HOUR) { total } }",
            views,
        ),
        reading(
            &["operator"],
            "{ topics { name bytes maxMessages usage { messages } } }",
            json!({}),
        ),
        reading(
            &["player"],
            "query($id: ID!) { character(id: $id) { id name gold room { title } } }",
            of(&filled.character),
        ),
    ]
}

/// Ids, each with the reading of its node.
pub(super) fn nodes(filled: &Filled) -> Vec<(String, Reading)> {
    let Filled { order, cart, purse, product, comments: [first, reply], asset, .. } = filled;
    let own = [order, cart, purse, product, first, reply, asset, &filled.place, &filled.character];
    let own = own.into_iter().map(|id| (id.clone(), "ann", &["player"][..]));
    let node = |(id, subject, roles): kinds::Seen| {
        let query = "query($id: ID!) { node(id: $id) { __typename id } }";
        let variables = json!({ "id": id });
        (id, Reading { query, variables, subject, roles })
    };
    own.chain(filled.others.iter().cloned()).map(node).collect()
}

/// More than two chunks of GridFS.
pub(super) fn noise() -> Vec<u8> {
    assets::noise(600_000)
}
