//! Who sees what of characters and places, by every way in; and what followers are told.

use serde_json::{Value, json};

use super::{World, arrows, born, descriptions, endow, item, mint, mutation, quiet, seen};
use crate::support::{Gateway, key, token};

const CHANGED: &str = "subscription($id: ID!) { characterChanged(characterId: $id) {
    gold inventory { description } room { version players { id } } } }";
const PLACE: &str = "subscription($id: ID!) { placeChanged(placeId: $id) {
    version things { description } players { name } } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_character_is_private_by_every_way_in() {
    let gateway = Gateway::with(|config| config.federation = true).await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    endow(&gateway, &ann, 7).await;
    let fields = "... on Character { name gold }";
    let node = format!("query($id: ID!) {{ node(id: $id) {{ __typename {fields} }} }}");
    let nodes = format!("query($id: ID!) {{ nodes(ids: [$id]) {{ __typename {fields} }} }}");
    let entity = format!(
        "query($of: [_Any!]!) {{ _entities(representations: $of) {{ __typename {fields} }} }}"
    );
    let representation = json!([{ "__typename": "Character", "id": ann }]);
    for (who, is_seen) in [
        (gateway.player("ann"), true),
        (gateway.master(), true),
        (gateway.player("bob"), false),
        (gateway.user("someone", &["merchant", "service", "editor", "moderator"]), false),
        (gateway.anonymous(), false),
    ] {
        let by_node = who.field(&node, json!({ "id": ann })).await;
        let by_nodes = who.field(&nodes, json!({ "id": ann })).await;
        let by_entity = who.field(&entity, json!({ "of": representation })).await;
        for found in [by_node, by_nodes[0].clone(), by_entity[0].clone()] {
            assert_eq!(found["gold"], if is_seen { json!(7) } else { Value::Null }, "{found:#}");
        }
        if who.token.is_some() {
            assert_eq!(who.character(&ann).await["gold"].is_null(), !is_seen);
        }
    }
    // Another's character does nothing either: whatever is tried is as if it weren't there.
    let other = gateway.player("bob");
    let stone = item(&gateway, "stone", json!({ "slots": ["HEAD"], "capacity": 1 })).await;
    let own = mint(&gateway, &stone, json!({ "characterId": ann })).await;
    let there = mint(&gateway, &stone, json!({ "placeId": hall })).await;
    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    for (name, input) in [
        ("pickUp", json!({ "characterId": ann, "thingId": there })),
        ("drop", json!({ "characterId": ann, "thingId": own })),
        ("giveItem", json!({ "characterId": ann, "toCharacterId": bob, "thingId": own })),
        ("giveGold", json!({ "characterId": ann, "toCharacterId": bob, "amount": 1 })),
        ("equip", json!({ "characterId": ann, "thingId": own })),
        ("unequip", json!({ "characterId": ann, "thingId": own })),
        ("putInContainer", json!({ "characterId": ann, "thingId": own, "containerId": own })),
        ("takeFromContainer", json!({ "characterId": ann, "thingId": own })),
        ("move", json!({ "characterId": ann, "direction": "NORTH" })),
        ("buy", json!({ "characterId": ann, "thingId": there, "price": 1 })),
        ("sell", json!({ "characterId": ann, "thingId": own })),
        ("deleteCharacter", json!({ "characterId": ann })),
    ] {
        let refused = other.plays(name, input.clone()).await;
        assert_eq!(refused["code"], "NOT_FOUND", "{name}: {refused:#}");
        // Without the role nobody plays.
        let (stranger, mutation) = (gateway.shopper("ann"), mutation(name));
        let code = stranger.error_code(&mutation, json!({ "input": input })).await;
        assert_eq!(code, "FORBIDDEN", "{name}");
    }
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_its_player_and_masters_follow_a_character() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    quiet(&gateway).await;
    let mut other = gateway.session(Some(&token("bob", &["player"]))).await;
    other.subscribe("x", CHANGED, json!({ "id": ann })).await;
    other.ends_not_found("x").await;

    let mut own = gateway.session(Some(&token("ann", &["player"]))).await;
    own.subscribe("a", CHANGED, json!({ "id": ann })).await;
    assert_eq!(own.next("a").await["data"]["characterChanged"]["gold"], 0);
    endow(&gateway, &ann, 5).await;
    loop {
        let changed = own.next("a").await["data"]["characterChanged"].clone();
        if changed["gold"] == 5 {
            break;
        }
    }
    born(&gateway, "bob", &hall).await;
    loop {
        let changed = own.next("a").await["data"]["characterChanged"].clone();
        if changed["room"]["players"].as_array().is_some_and(|players| players.len() == 2) {
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_of_a_place_are_told_of_its_changes() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let arrows = arrows(&gateway).await;
    let mut followers = Vec::new();
    for number in 0..20 {
        let mut follower = gateway.session(Some(&token(&format!("f-{number}"), &[]))).await;
        follower.subscribe("p", PLACE, json!({ "id": hall })).await;
        let first = follower.next("p").await;
        assert_eq!(first["data"]["placeChanged"]["things"], json!([]), "{first:#}");
        followers.push(follower);
    }
    mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 2 })).await;
    born(&gateway, "ann", &hall).await;
    for follower in &mut followers {
        loop {
            let now = follower.next("p").await["data"]["placeChanged"].clone();
            let is_told = descriptions(&now["things"]) == ["2 arrows"]
                && now["players"] == json!([{ "name": "ann" }]);
            if is_told {
                break;
            }
        }
    }
    let mut nowhere = gateway.session(Some(&token("f", &[]))).await;
    nowhere.subscribe("n", PLACE, json!({ "id": "nowhere" })).await;
    nowhere.ends_not_found("n").await;
    assert_eq!(seen(&gateway, &hall).await["players"][0]["name"], "ann");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_is_not_shown() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let stone = item(&gateway, "stone", json!({})).await;
    mint(&gateway, &stone, json!({ "placeId": hall })).await;
    mint(&gateway, &stone, json!({ "characterId": ann })).await;
    quiet(&gateway).await;
    for (collection, id) in [("places", &hall), ("characters", &ann)] {
        let all = gateway.database.collection::<mongodb::bson::Document>(collection);
        for field in ["arriving", "leaving"] {
            let mark = mongodb::bson::doc! { "$set": { format!("inventory.0.{field}"): "a-try" } };
            let filter = mongodb::bson::doc! { "_id": key(id) };
            all.update_one(filter, mark).await.expect("written");
        }
    }
    assert_eq!(seen(&gateway, &hall).await["things"], json!([]));
    assert_eq!(gateway.player("ann").character(&ann).await["inventory"], json!([]));
}
