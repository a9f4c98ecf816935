//! Characters come into the world, walk, and leave it.

use futures_util::future::join_all;
use mongodb::bson::doc;
use serde_json::json;

use super::{World, born, descriptions, endow, item, mint, quiet, seen};
use crate::support::{Gateway, key, long_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn a_character_walks_through_an_exit() {
    let gateway = Gateway::start().await;
    let World { hall, garden } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &garden).await);
    let player = gateway.player("ann");
    let walk = |direction: &str| json!({ "characterId": ann, "direction": direction });
    let none = player.plays("move", walk("EAST")).await;
    assert_eq!((&none["code"], &none["direction"]), (&json!("NO_EXIT"), &json!("EAST")));
    let after = player.plays("move", walk("NORTH")).await;
    assert_eq!(after["room"]["title"], "A garden", "{after:#}");
    let ids: Vec<_> = after["room"]["players"].as_array().expect("players").iter().collect();
    assert_eq!(ids.len(), 2, "{after:#}");
    assert_eq!(seen(&gateway, &hall).await["players"], json!([]));
    quiet(&gateway).await;
    let other = gateway.player("bob").character(&bob).await;
    assert_eq!(other["room"]["players"].as_array().expect("players").len(), 2);

    let keyed = json!({ "characterId": ann, "direction": "SOUTH", "idempotencyKey": "back" });
    for _ in 0..2 {
        let after = player.plays("move", keyed.clone()).await;
        assert_eq!(after["room"]["placeId"], json!(hall));
    }
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_walks_through_an_exit_that_closes() {
    for _ in 0..8 {
        let gateway = Gateway::with(long_bounds).await;
        let World { hall, garden } = World::new(&gateway).await;
        let ann = born(&gateway, "ann", &hall).await;
        let close = json!({ "placeId": hall, "direction": "NORTH" });
        let walk = json!({ "characterId": ann, "direction": "NORTH" });
        let (player, master) = (gateway.player("ann"), gateway.master());
        let (walked, closed) =
            tokio::join!(player.plays("move", walk.clone()), master.plays("setExit", close));
        assert_eq!(closed["exits"], json!([]), "{closed:#}");
        let is_gone = walked["__typename"] == "Character";
        assert!(is_gone || walked["code"] == "NO_EXIT", "{walked:#}");
        let at = if is_gone { &garden } else { &hall };
        assert_eq!(seen(&gateway, at).await["players"][0]["id"], json!(ann));
        if !is_gone {
            assert_eq!(player.plays("move", walk).await["code"], "NO_EXIT");
        }
        quiet(&gateway).await;
        assert_eq!(player.character(&ann).await["room"]["placeId"], json!(at));
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_character_is_at_one_place_however_often_it_walks_at_once() {
    let gateway = Gateway::with(long_bounds).await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let player = gateway.player("ann");
    let walks = (0..12).map(|number| {
        let direction = if number % 2 == 0 { "NORTH" } else { "SOUTH" };
        player.plays("move", json!({ "characterId": ann, "direction": direction }))
    });
    for walked in join_all(walks).await {
        let name = walked["__typename"].as_str().expect("a name");
        assert!(["Character", "NoExit"].contains(&name), "{walked:#}");
    }
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowded_place_takes_nobody_more() {
    let gateway = Gateway::with(long_bounds).await;
    let World { hall, garden } = World::new(&gateway).await;
    let create = async |player: &str, place: &str| {
        let input = json!({ "name": "x", "class": "x", "placeId": place });
        gateway.player(player).plays("createCharacter", input).await
    };
    // Ten characters of a player, and no more.
    let own = join_all((0..14).map(|_| create("ann", &garden))).await;
    let made = own.iter().filter(|one| one["__typename"] == "Character").count();
    assert_eq!(made, 10);
    let refused = own.iter().find(|one| one["code"] == "NO_ROOM").expect("a refusal");
    assert_eq!(refused["capacity"], 10);
    let (create, to) = (&create, &garden);
    let others = (0..95).map(|number| async move { create(&format!("player-{number}"), to).await });
    let made = join_all(others).await;
    let made = made.iter().filter(|one| one["__typename"] == "Character").count();
    assert_eq!(made, 90, "a hundred in all");
    let bob = born(&gateway, "bob", &hall).await;
    let walk = json!({ "characterId": bob, "direction": "NORTH" });
    let refused = gateway.player("bob").plays("move", walk).await;
    assert_eq!((&refused["code"], &refused["capacity"]), (&json!("NO_ROOM"), &json!(100)));
    assert_eq!(seen(&gateway, &hall).await["players"][0]["id"], json!(bob));
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_is_deleted_drops_what_it_carries() {
    let gateway = Gateway::with(long_bounds).await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    endow(&gateway, &ann, 30).await;
    let hat = item(&gateway, "hat", json!({ "slots": ["HEAD"] })).await;
    let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
    let own = json!({ "characterId": ann });
    let hat = mint(&gateway, &hat, own.clone()).await;
    let (bag, small) = (mint(&gateway, &bag, own.clone()).await, mint(&gateway, &bag, own).await);
    let player = gateway.player("ann");
    player.made("equip", json!({ "characterId": ann, "thingId": hat })).await;
    let put = json!({ "characterId": ann, "thingId": small, "containerId": bag });
    player.made("putInContainer", put).await;

    let input = json!({ "characterId": ann });
    let others = gateway.player("bob").plays("deleteCharacter", input.clone()).await;
    assert_eq!(others["code"], "NOT_FOUND");
    // While somebody gives it something.
    let stone = item(&gateway, "stone", json!({})).await;
    let stone = mint(&gateway, &stone, json!({ "characterId": bob })).await;
    let gift = json!({ "characterId": bob, "toCharacterId": ann, "thingId": stone });
    let other = gateway.player("bob");
    let (deleted, given) =
        tokio::join!(player.plays("deleteCharacter", input.clone()), other.plays("giveItem", gift));
    assert_eq!(deleted["id"], json!(ann), "{deleted:#}");
    let name = given["__typename"].as_str().expect("a name");
    assert!(["Character", "NotFound"].contains(&name), "{given:#}");
    assert_eq!(player.plays("deleteCharacter", input).await["id"], json!(ann), "a repeat");
    assert!(player.character(&ann).await.is_null());
    let there = seen(&gateway, &hall).await;
    let mut expected = vec!["hat", "bag"];
    if name == "Character" {
        expected.push("stone");
    }
    assert_eq!(descriptions(&there["things"]), expected);
    assert_eq!(there["things"][1]["contents"][0]["id"], json!(small));
    assert_eq!(there["gold"], 30);
    assert_eq!(there["players"].as_array().expect("players").len(), 1);
    let mine = player.field("{ myCharacters { nodes { id } } }", json!({})).await;
    assert_eq!(mine["nodes"], json!([]));
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_is_being_deleted_gets_nothing() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let stone = item(&gateway, "stone", json!({})).await;
    let own = mint(&gateway, &stone, json!({ "characterId": bob })).await;
    quiet(&gateway).await;
    let becomes = async |state: &str| {
        let set = doc! { "$set": { "state": state } };
        let changed = gateway.raw("characters").update_one(doc! { "_id": key(&ann) }, set).await;
        assert_eq!(changed.expect("set").modified_count, 1);
    };
    // As if the deletion had been cut.
    becomes("LEAVING").await;
    let made = json!({ "itemId": stone, "characterId": ann });
    let gift = json!({ "characterId": bob, "toCharacterId": ann, "thingId": own });
    let changes = json!({ "characterId": ann, "gold": 1 });
    let (master, other) = (gateway.master(), gateway.player("bob"));
    for (client, name, input) in [
        (&master, "mintItem", &made),
        (&master, "changeAttributes", &changes),
        (&other, "giveItem", &gift),
    ] {
        let refused = client.plays(name, input.clone()).await;
        assert_eq!(refused["code"], "NOT_FOUND", "{name}: {refused:#}");
    }
    // The deletion was undone.
    becomes("ALIVE").await;
    let minted = master.plays("mintItem", made).await;
    assert_eq!(minted["id"], json!(ann), "{minted:#}");
    quiet(&gateway).await;
    gateway.assert_sound().await;
}
