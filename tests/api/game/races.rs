//! Callers at the same thing, the same gold, the same room, at once.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{World, arrows, born, carried, descriptions, endow, item, mint, quiet, seen};
use crate::support::{Gateway, long_bounds, very_long_bounds};

/// Characters of players of their own, in a place.
async fn crowd(gateway: &Gateway, place: &str, count: usize) -> Vec<(String, String)> {
    let born = (0..count).map(|number| async move {
        let player = format!("player-{number}");
        let id = born(gateway, &player, place).await;
        (player, id)
    });
    join_all(born).await
}

/// Numbers of the results of each type.
fn counts(results: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for result in results {
        let name = result["__typename"].as_str().unwrap_or_else(|| panic!("{result:#}"));
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn one_sword_goes_to_one_of_sixty_four_hands() {
    let gateway = Gateway::with(very_long_bounds).await;
    let World { hall, .. } = World::new(&gateway).await;
    let sword = item(&gateway, "sword", json!({})).await;
    let crowd = crowd(&gateway, &hall, 64).await;
    let sword = mint(&gateway, &sword, json!({ "placeId": hall })).await;
    let grabs = crowd.iter().map(|(player, id)| {
        let input = json!({ "characterId": id, "thingId": sword });
        let player = gateway.player(player);
        async move { player.plays("pickUp", input).await }
    });
    let results = join_all(grabs).await;
    let expected = [("Character".to_owned(), 1), ("NotFound".to_owned(), 63)];
    assert_eq!(counts(&results), BTreeMap::from(expected));
    let held = join_all(crowd.iter().map(|(player, id)| carried(&gateway, player, id))).await;
    assert_eq!(held.concat(), ["sword"]);
    assert_eq!(seen(&gateway, &hall).await["things"], json!([]));
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_thing_is_sold_once_and_the_others_keep_their_gold() {
    let gateway = Gateway::with(long_bounds).await;
    let hall = World::new(&gateway).await.hall;
    let hat = item(&gateway, "hat", json!({})).await;
    let crowd = crowd(&gateway, &hall, 8).await;
    for (_, id) in &crowd {
        endow(&gateway, id, 30).await;
    }
    let hat = mint(&gateway, &hat, json!({ "placeId": hall, "price": 25 })).await;
    let buys = crowd.iter().map(|(player, id)| {
        let input = json!({ "characterId": id, "thingId": hat, "price": 25 });
        let player = gateway.player(player);
        async move { player.plays("buy", input).await }
    });
    let results = join_all(buys).await;
    let expected = [("Character".to_owned(), 1), ("NotFound".to_owned(), 7)];
    assert_eq!(counts(&results), BTreeMap::from(expected));
    let gold = join_all(crowd.iter().map(|(player, id)| async {
        gateway.player(player).character(id).await["gold"].as_i64().expect("gold")
    }));
    assert_eq!(gold.await.iter().sum::<i64>(), 8 * 30 - 25);
    assert_eq!(seen(&gateway, &hall).await["gold"], 25);
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gold_that_suffices_for_one_purchase_buys_one() {
    for _ in 0..5 {
        let gateway = Gateway::with(long_bounds).await;
        let hall = World::new(&gateway).await.hall;
        let hat = item(&gateway, "hat", json!({})).await;
        let ann = born(&gateway, "ann", &hall).await;
        endow(&gateway, &ann, 40).await;
        let mut hats = Vec::new();
        for _ in 0..3 {
            hats.push(mint(&gateway, &hat, json!({ "placeId": hall, "price": 25 })).await);
        }
        let player = gateway.player("ann");
        let buys = hats.iter().map(|hat| {
            player.plays("buy", json!({ "characterId": ann, "thingId": hat, "price": 25 }))
        });
        let results = join_all(buys).await;
        let expected = [("Character".to_owned(), 1), ("InsufficientGold".to_owned(), 2)];
        assert_eq!(counts(&results), BTreeMap::from(expected));
        let short = results.iter().find(|one| one["code"] == "INSUFFICIENT_GOLD").expect("one");
        assert_eq!((&short["needed"], &short["available"]), (&json!(25), &json!(15)));
        assert_eq!(gateway.player("ann").character(&ann).await["gold"], 15);
        assert_eq!(seen(&gateway, &hall).await["gold"], 25);
        quiet(&gateway).await;
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gold_that_is_given_in_a_circle_stays_the_same() {
    let gateway = Gateway::with(very_long_bounds).await;
    let hall = World::new(&gateway).await.hall;
    let crowd = crowd(&gateway, &hall, 6).await;
    for (_, id) in &crowd {
        endow(&gateway, id, 20).await;
    }
    let gifts = (0..60).map(|number| {
        let ((player, from), (_, to)) = (&crowd[number % 6], &crowd[(number * 5 + 1) % 6]);
        let input = json!({ "characterId": from, "toCharacterId": to, "amount": 1 + number % 9 });
        let player = gateway.player(player);
        async move { player.plays("giveGold", input).await }
    });
    for result in join_all(gifts).await {
        let name = result["__typename"].as_str().expect("a name");
        assert!(["Character", "InsufficientGold", "InvalidInput"].contains(&name), "{result:#}");
    }
    let gold = join_all(crowd.iter().map(|(player, id)| async {
        gateway.player(player).character(id).await["gold"].as_i64().expect("gold")
    }));
    assert_eq!(gold.await.iter().sum::<i64>(), 6 * 20);
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gold_from_several_at_once_exceeds_no_limit() {
    const MOST: i64 = 1_000_000_000_000;
    for _ in 0..5 {
        let gateway = Gateway::with(long_bounds).await;
        let hall = World::new(&gateway).await.hall;
        let rich = born(&gateway, "rich", &hall).await;
        endow(&gateway, &rich, MOST - 25).await;
        let crowd = crowd(&gateway, &hall, 6).await;
        for (_, id) in &crowd {
            endow(&gateway, id, 10).await;
        }
        let gifts = crowd.iter().map(|(player, from)| {
            let input = json!({ "characterId": from, "toCharacterId": rich, "amount": 10 });
            let player = gateway.player(player);
            async move { player.plays("giveGold", input).await }
        });
        let results = join_all(gifts).await;
        let expected = [("Character".to_owned(), 2), ("NoRoom".to_owned(), 4)];
        assert_eq!(counts(&results), BTreeMap::from(expected));
        let gold = gateway.player("rich").character(&rich).await["gold"].as_i64();
        assert_eq!(gold, Some(MOST - 5));
        quiet(&gateway).await;
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thing_is_picked_up_or_the_picker_is_gone() {
    let gateway = Gateway::with(long_bounds).await;
    let World { hall, garden } = World::new(&gateway).await;
    let stone = item(&gateway, "stone", json!({})).await;
    let crowd = crowd(&gateway, &hall, 12).await;
    let mut stones = Vec::new();
    for _ in &crowd {
        stones.push(mint(&gateway, &stone, json!({ "placeId": hall })).await);
    }
    let acts = crowd.iter().zip(&stones).map(|((player, id), stone)| {
        let player = gateway.player(player);
        async move {
            let pick = json!({ "characterId": id, "thingId": stone });
            let walk = json!({ "characterId": id, "direction": "NORTH" });
            tokio::join!(player.plays("pickUp", pick), player.plays("move", walk))
        }
    });
    let mut picked = 0;
    for (pick, walk) in join_all(acts).await {
        assert_eq!(walk["__typename"], "Character", "{walk:#}");
        let name = pick["__typename"].as_str().expect("a name");
        assert!(["Character", "NotFound"].contains(&name), "{pick:#}");
        picked += usize::from(name == "Character");
    }
    let left = seen(&gateway, &hall).await;
    assert_eq!(left["things"].as_array().expect("things").len(), 12 - picked);
    assert_eq!(left["players"], json!([]));
    assert_eq!(seen(&gateway, &garden).await["players"].as_array().expect("players").len(), 12);
    quiet(&gateway).await;
    for (player, id) in &crowd {
        let room = &gateway.player(player).character(id).await["room"];
        assert_eq!(room["players"].as_array().expect("players").len(), 12, "copies follow");
        assert_eq!(room["title"], "A garden");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_from_a_bag_that_is_carried_off() {
    for _ in 0..8 {
        let gateway = Gateway::with(long_bounds).await;
        let hall = World::new(&gateway).await.hall;
        let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
        let stone = item(&gateway, "stone", json!({})).await;
        let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
        let bag = mint(&gateway, &bag, json!({ "characterId": ann })).await;
        let stone = mint(&gateway, &stone, json!({ "characterId": ann })).await;
        let put = json!({ "characterId": ann, "thingId": stone, "containerId": bag });
        let (one, other) = (gateway.player("ann"), gateway.player("bob"));
        one.made("putInContainer", put).await;
        one.made("drop", json!({ "characterId": ann, "thingId": bag })).await;
        let (carry, take) = tokio::join!(
            one.plays("pickUp", json!({ "characterId": ann, "thingId": bag })),
            other.plays("takeFromContainer", json!({ "characterId": bob, "thingId": stone })),
        );
        assert_eq!(carry["__typename"], "Character", "{carry:#}");
        let is_taken = take["__typename"] == "Character";
        assert!(is_taken || take["__typename"] == "NotFound", "{take:#}");
        let left = &one.character(&ann).await["inventory"][0]["contents"];
        assert_eq!(left.as_array().expect("contents").len(), usize::from(!is_taken));
        let expected: &[&str] = if is_taken { &["stone"] } else { &[] };
        assert_eq!(carried(&gateway, "bob", &bob).await, expected);
        quiet(&gateway).await;
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_that_are_split_and_merged_at_once_keep_their_pieces() {
    let gateway = Gateway::with(long_bounds).await;
    let hall = World::new(&gateway).await.hall;
    let arrows = arrows(&gateway).await;
    let crowd = crowd(&gateway, &hall, 6).await;
    let pile = mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 100 })).await;
    for (_, id) in &crowd {
        mint(&gateway, &arrows, json!({ "characterId": id, "quantity": 10 })).await;
    }
    let acts = crowd.iter().enumerate().map(|(number, (player, id))| {
        let (player, pile, gateway) = (gateway.player(player), &pile, &gateway);
        async move {
            let own = player.character(id).await["inventory"][0]["id"].clone();
            let take = json!({ "characterId": id, "thingId": pile, "quantity": 3 + number });
            let drop = json!({ "characterId": id, "thingId": own, "quantity": 2 });
            let (take, drop) =
                tokio::join!(player.plays("pickUp", take), player.plays("drop", drop));
            for done in [take, drop] {
                assert_eq!(done["__typename"], "Character", "{done:#}");
            }
            let held = gateway.player(&format!("player-{number}")).character(id).await;
            pieces(&held["inventory"])
        }
    });
    let held: i64 = join_all(acts).await.iter().sum();
    let there = seen(&gateway, &hall).await;
    assert_eq!(held + pieces(&there["things"]), 160, "{there:#}");
    assert_eq!(descriptions(&there["things"]).len(), 1, "one stack: {there:#}");
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

fn pieces(things: &Value) -> i64 {
    let all = things.as_array().expect("things").iter();
    all.map(|thing| thing["quantity"].as_i64().expect("a number")).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_equal_calls_at_once_move_a_thing_once() {
    let gateway = Gateway::with(long_bounds).await;
    let hall = World::new(&gateway).await.hall;
    let arrows = arrows(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let pile = mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 100 })).await;
    let player = gateway.player("ann");
    for round in 1..=10 {
        let input = json!({ "characterId": ann, "thingId": pile, "quantity": 2,
            "idempotencyKey": format!("round {round}") });
        for done in join_all([1, 2, 3].map(|_| player.plays("pickUp", input.clone()))).await {
            assert_eq!(done["__typename"], "Character", "{done:#}");
        }
        assert_eq!(pieces(&player.character(&ann).await["inventory"]), 2 * round);
    }
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// Gifts of things and gold, of which the receivers walk off at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_gift_arrives_or_the_receiver_is_gone() {
    let gateway = Gateway::with(long_bounds).await;
    let World { hall, .. } = World::new(&gateway).await;
    let stone = item(&gateway, "stone", json!({})).await;
    let crowd = crowd(&gateway, &hall, 12).await;
    let mut pairs = Vec::new();
    for two in crowd.chunks(2) {
        let [(giver, from), (receiver, to)] = two else { continue };
        endow(&gateway, from, 10).await;
        let thing = mint(&gateway, &stone, json!({ "characterId": from })).await;
        pairs.push((giver, from, receiver, to, thing));
    }
    let acts = pairs.iter().map(|(giver, from, receiver, to, thing)| {
        let (giver, receiver) = (gateway.player(giver), gateway.player(receiver));
        async move {
            let gift = json!({ "characterId": from, "toCharacterId": to, "thingId": thing });
            let gold = json!({ "characterId": from, "toCharacterId": to, "amount": 4 });
            let walk = json!({ "characterId": to, "direction": "NORTH" });
            tokio::join!(
                giver.plays("giveItem", gift),
                giver.plays("giveGold", gold),
                receiver.plays("move", walk)
            )
        }
    });
    for ((giver, from, receiver, to, _), (gift, gold, walk)) in
        pairs.iter().zip(join_all(acts).await)
    {
        assert_eq!(walk["__typename"], "Character", "{walk:#}");
        let one = gateway.player(giver).character(from).await;
        let other = gateway.player(receiver).character(to).await;
        let is_given = |answer: &Value| match answer["__typename"].as_str() {
            Some("Character") => true,
            Some("NotFound") => false,
            _ => panic!("{answer:#}"),
        };
        let (thing, coins) = (usize::from(is_given(&gift)), i64::from(is_given(&gold)) * 4);
        assert_eq!(other["inventory"].as_array().map(Vec::len), Some(thing), "{gift:#}");
        assert_eq!(one["inventory"].as_array().map(Vec::len), Some(1 - thing), "{gift:#}");
        assert_eq!((&one["gold"], &other["gold"]), (&json!(10 - coins), &json!(coins)), "{gold:#}");
    }
    quiet(&gateway).await;
    gateway.assert_sound().await;
}
