//! What is picked up, dropped, given, worn, and put into containers.

use mongodb::bson::{Bson, Document, doc};
use serde_json::json;

use super::{World, arrows, born, carried, descriptions, item, mint, quiet, seen};
use crate::support::{Gateway, cuts, key};

#[tokio::test(flavor = "multi_thread")]
async fn a_thing_is_picked_up_dropped_and_given() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let sword = item(&gateway, "sword", json!({ "slots": ["RIGHT_HAND"] })).await;
    let sword = mint(&gateway, &sword, json!({ "placeId": hall })).await;
    let (one, other) = (gateway.player("ann"), gateway.player("bob"));
    let input = json!({ "characterId": ann, "thingId": sword, "idempotencyKey": "up" });
    let after = one.plays("pickUp", input.clone()).await;
    assert_eq!(descriptions(&after["inventory"]), ["sword"]);
    // A repeat changes nothing; another input under the key is a conflict.
    assert_eq!(descriptions(&one.plays("pickUp", input).await["inventory"]), ["sword"]);
    let another = json!({ "characterId": ann, "thingId": "another", "idempotencyKey": "up" });
    assert_eq!(one.plays("pickUp", another).await["__typename"], "Conflict");
    assert_eq!(descriptions(&seen(&gateway, &hall).await["things"]), Vec::<String>::new());

    let gift = json!({ "characterId": ann, "toCharacterId": bob, "thingId": sword });
    assert_eq!(
        descriptions(&one.plays("giveItem", gift.clone()).await["inventory"]),
        Vec::<String>::new()
    );
    assert_eq!(carried(&gateway, "bob", &bob).await, ["sword"]);
    assert_eq!(one.plays("giveItem", gift).await["__typename"], "NotFound");

    let drop = json!({ "characterId": bob, "thingId": sword });
    assert_eq!(descriptions(&other.plays("drop", drop).await["inventory"]), Vec::<String>::new());
    assert_eq!(descriptions(&seen(&gateway, &hall).await["things"]), ["sword"]);
    quiet(&gateway).await;
    for (player, id) in [(&one, &ann), (&other, &bob)] {
        let room = &player.character(id).await["room"];
        assert_eq!(descriptions(&room["things"]), ["sword"], "the copies follow");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_worn_is_not_dropped_given_or_packed() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let hat = item(&gateway, "hat", json!({ "slots": ["HEAD"] })).await;
    let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
    let own = json!({ "characterId": ann });
    let (hat, second) =
        (mint(&gateway, &hat, own.clone()).await, mint(&gateway, &hat, own.clone()).await);
    let bag = mint(&gateway, &bag, own).await;
    let player = gateway.player("ann");
    let of = |thing: &str| json!({ "characterId": ann, "thingId": thing });
    let worn = player.plays("equip", of(&hat)).await;
    assert_eq!(worn["armor"][0]["thing"]["id"], json!(hat));
    assert_eq!(player.plays("equip", of(&hat)).await["armor"], worn["armor"], "a repeat");
    let taken = player.plays("equip", of(&second)).await;
    assert_eq!((&taken["code"], &taken["slot"]), (&json!("SLOT_TAKEN"), &json!("HEAD")));
    assert_eq!(player.plays("equip", of(&bag)).await["field"], "input.thingId");

    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    let refused = player.plays("drop", of(&hat)).await;
    assert_eq!((&refused["code"], &refused["slot"]), (&json!("THING_WORN"), &json!("HEAD")));
    let gift = json!({ "characterId": ann, "toCharacterId": bob, "thingId": hat });
    assert_eq!(player.plays("giveItem", gift).await["code"], "THING_WORN");
    let pack = json!({ "characterId": ann, "thingId": hat, "containerId": bag });
    assert_eq!(player.plays("putInContainer", pack).await["code"], "THING_WORN");
    assert_eq!(gateway.snapshot().await, before);

    let bare = player.plays("unequip", of(&hat)).await;
    assert_eq!(bare["armor"], json!([]));
    assert_eq!(player.plays("drop", of(&hat)).await["__typename"], "Character");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bag_gets_into_itself() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let bag = item(&gateway, "bag", json!({ "capacity": 2 })).await;
    let stone = item(&gateway, "stone", json!({})).await;
    let own = || json!({ "characterId": ann });
    let mut bags = Vec::new();
    for _ in 0..3 {
        bags.push(mint(&gateway, &bag, own()).await);
    }
    let player = gateway.player("ann");
    let put = |thing: &str, container: &str| json!({ "characterId": ann, "thingId": thing, "containerId": container });
    // The third into the second, the second into the first.
    player.made("putInContainer", put(&bags[2], &bags[1])).await;
    player.made("putInContainer", put(&bags[1], &bags[0])).await;
    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    for container in &bags {
        let refused = player.plays("putInContainer", put(&bags[0], container)).await;
        assert_eq!(refused["code"], "CONTAINER_CYCLE", "{refused:#}");
    }
    assert_eq!(gateway.snapshot().await, before);
    // A container has room for as many things as it says.
    let mut stones = Vec::new();
    for _ in 0..2 {
        stones.push(mint(&gateway, &stone, own()).await);
    }
    player.made("putInContainer", put(&stones[0], &bags[0])).await;
    let full = player.plays("putInContainer", put(&stones[1], &bags[0])).await;
    assert_eq!((&full["code"], &full["capacity"]), (&json!("NO_ROOM"), &json!(2)));
    let no_bag = player.plays("putInContainer", put(&stones[1], &stones[0])).await;
    assert_eq!(no_bag["field"], "input.containerId");

    let out = json!({ "characterId": ann, "thingId": bags[2] });
    let after = player.plays("takeFromContainer", out).await;
    assert_eq!(descriptions(&after["inventory"]).len(), 3, "{after:#}");
    gateway.assert_sound().await;
}

/// Of its own containers a character takes by one read of itself and of the move, and one update.
#[tokio::test(flavor = "multi_thread")]
async fn a_thing_is_taken_out_of_an_own_bag_by_one_read_of_each_document() {
    let base = Gateway::start().await;
    let World { hall, .. } = World::new(&base).await;
    let ann = born(&base, "ann", &hall).await;
    let bag = item(&base, "bag", json!({ "capacity": 5 })).await;
    let stone = item(&base, "stone", json!({})).await;
    let own = json!({ "characterId": ann });
    let (bag, stone) = (mint(&base, &bag, own.clone()).await, mint(&base, &stone, own).await);
    let put = json!({ "characterId": ann, "thingId": stone, "containerId": bag });
    base.player("ann").made("putInContainer", put).await;
    quiet(&base).await;
    let out = json!({ "characterId": ann, "thingId": stone, "idempotencyKey": "out" });
    let sent = cuts::sent(&base, async |gateway| {
        let after = gateway.player("ann").plays("takeFromContainer", out.clone()).await;
        assert_eq!(descriptions(&after["inventory"]).len(), 2, "{after:#}");
    });
    let sent = sent.await;
    let mut sent: Vec<_> =
        sent.iter().map(|seen| format!("{} {}", seen.command, seen.collection)).collect();
    sent.sort();
    assert_eq!(sent, ["find characters", "find moves", "findAndModify characters"]);
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bag_is_carried_with_its_contents() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
    let stone = item(&gateway, "stone", json!({})).await;
    let own = json!({ "characterId": ann });
    let (outer, inner) =
        (mint(&gateway, &bag, own.clone()).await, mint(&gateway, &bag, own.clone()).await);
    let stone = mint(&gateway, &stone, own).await;
    let player = gateway.player("ann");
    for (thing, container) in [(&stone, &inner), (&inner, &outer)] {
        let input = json!({ "characterId": ann, "thingId": thing, "containerId": container });
        player.made("putInContainer", input).await;
    }
    player.made("drop", json!({ "characterId": ann, "thingId": outer })).await;
    let there = seen(&gateway, &hall).await;
    assert_eq!(there["things"][0]["contents"][0]["id"], json!(inner));
    // Somebody takes the inner one out of the one that lies there.
    let take = json!({ "characterId": bob, "thingId": inner });
    let after = gateway.player("bob").plays("takeFromContainer", take).await;
    assert_eq!(after["inventory"][0]["contents"][0]["id"], json!(stone), "{after:#}");
    assert_eq!(seen(&gateway, &hall).await["things"][0]["contents"], json!([]));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_split_and_merge() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
    let arrows = arrows(&gateway).await;
    let pile = mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 20 })).await;
    let player = gateway.player("ann");
    let some = |quantity: i32| json!({ "characterId": ann, "thingId": pile, "quantity": quantity });
    let after = player.plays("pickUp", some(5)).await;
    assert_eq!(descriptions(&after["inventory"]), ["5 arrows"]);
    let after = player.plays("pickUp", some(7)).await;
    assert_eq!(descriptions(&after["inventory"]), ["12 arrows"], "they are one stack");
    assert_eq!(descriptions(&seen(&gateway, &hall).await["things"]), ["8 arrows"]);
    let refused = player.plays("pickUp", some(9)).await;
    assert_eq!(refused["field"], "input.quantity");
    // Another enchantment is another stack.
    mint(&gateway, &arrows, json!({ "characterId": ann, "quantity": 2, "bonus": 1 })).await;
    assert_eq!(carried(&gateway, "ann", &ann).await, ["12 arrows", "2 +1 arrows"]);
    let own = gateway.player("ann").character(&ann).await["inventory"][0]["id"].clone();
    let gift = json!({ "characterId": ann, "toCharacterId": bob, "thingId": own, "quantity": 4 });
    player.made("giveItem", gift).await;
    assert_eq!(carried(&gateway, "ann", &ann).await, ["8 arrows", "2 +1 arrows"]);
    assert_eq!(carried(&gateway, "bob", &bob).await, ["4 arrows"]);
    let drop = json!({ "characterId": ann, "thingId": own });
    player.made("drop", drop).await;
    assert_eq!(descriptions(&seen(&gateway, &hall).await["things"]), ["16 arrows"]);
    gateway.assert_sound().await;
}

/// What is picked up is planned by the character's copy of the place. A copy that is behind decides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_copy_says_that_is_behind_is_neither_taken_nor_refused() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let arrows = arrows(&gateway).await;
    let pile = mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 9 })).await;
    let gem = item(&gateway, "gem", json!({})).await;
    let gem = mint(&gateway, &gem, json!({ "placeId": hall })).await;
    quiet(&gateway).await;
    let player = gateway.player("ann");
    let picks = async |thing: &str, quantity: i32| {
        let input = json!({ "characterId": ann, "thingId": thing, "quantity": quantity });
        player.plays("pickUp", input).await
    };
    let copied = async |things: Document| {
        let of_ann = doc! { "_id": key(&ann) };
        let changed = gateway.raw("characters").update_one(of_ann, doc! { "$set": things }).await;
        assert_eq!(changed.expect("changed").matched_count, 1);
    };
    // There were more pieces.
    copied(doc! { "room.things.0.quantity": 50_i64 }).await;
    let refused = picks(&pile, 20).await;
    assert_eq!(refused["field"], "input.quantity", "{refused:#}");
    // It has got a price.
    copied(doc! { "room.things.1.price": 7_i64 }).await;
    assert_eq!(descriptions(&picks(&gem, 1).await["inventory"]), ["gem"]);
    quiet(&gateway).await;
    // They weren't there yet.
    copied(doc! { "room.things": Vec::<Bson>::new() }).await;
    let after = picks(&pile, 4).await;
    assert_eq!(descriptions(&after["inventory"]), ["gem", "4 arrows"], "{after:#}");
    assert_eq!(descriptions(&seen(&gateway, &hall).await["things"]), ["5 arrows"]);
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_inventory_and_a_full_room_take_no_more() {
    let gateway = Gateway::start().await;
    let World { hall, .. } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let stone = item(&gateway, "stone", json!({})).await;
    let fill = async |to: serde_json::Value| {
        let mint = json!({ "itemId": stone });
        let mut input = mint.as_object().expect("fields").clone();
        input.extend(to.as_object().expect("fields").clone());
        let input = serde_json::Value::Object(input);
        let master = gateway.master();
        let mints = (0..100).map(|_| master.plays("mintItem", input.clone()));
        futures_util::future::join_all(mints).await
    };
    fill(json!({ "placeId": hall })).await;
    let player = gateway.player("ann");
    let there = seen(&gateway, &hall).await;
    assert_eq!(there["things"].as_array().expect("things").len(), 100);
    let own = mint(&gateway, &stone, json!({ "characterId": ann })).await;
    let drop = player.plays("drop", json!({ "characterId": ann, "thingId": own })).await;
    assert_eq!((&drop["code"], &drop["capacity"]), (&json!("NO_ROOM"), &json!(100)), "{drop:#}");
    let more =
        gateway.master().plays("mintItem", json!({ "itemId": stone, "placeId": hall })).await;
    assert_eq!(more["code"], "NO_ROOM");

    let mints = fill(json!({ "characterId": ann })).await;
    let refused = mints.iter().filter(|one| one["code"] == "NO_ROOM").count();
    assert_eq!(refused, 1, "it had one");
    quiet(&gateway).await;
    let before = gateway.snapshot().await;
    let thing = &there["things"][0]["id"];
    let refused = player.plays("pickUp", json!({ "characterId": ann, "thingId": thing })).await;
    assert_eq!((&refused["code"], &refused["capacity"]), (&json!("NO_ROOM"), &json!(100)));
    assert_eq!(gateway.snapshot().await, before);
    // Deleting it would drop more than there is room for.
    let refused = player.plays("deleteCharacter", json!({ "characterId": ann })).await;
    assert_eq!(refused["code"], "NO_ROOM");
    gateway.assert_sound().await;
}
