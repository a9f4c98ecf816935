//! Every flow, cut at each of its commands in each way, swept clean and repeated.

use std::pin::pin;

use futures_util::FutureExt;
use mongodb::bson::doc;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    World, arrows, born, carried, descriptions, endow, half::settings, item, mint, quiet, seen,
};
use crate::support::{
    Gateway,
    cuts::{self, Case},
    proxy::{Cut, Proxy},
    short_bounds,
};

/// Two characters in a place, with things of their own.
pub struct Scene {
    pub player: String,
    pub other: String,
    pub hall: String,
    pub garden: String,
    pub one: String,
    pub two: String,
}

impl Scene {
    pub async fn new(gateway: &Gateway, n: usize) -> Self {
        let World { hall, garden } = World::new(gateway).await;
        let (player, other) = (format!("one-{n}"), format!("two-{n}"));
        let one = born(gateway, &player, &hall).await;
        let two = born(gateway, &other, &hall).await;
        Self { player, other, hall, garden, one, two }
    }

    pub async fn things(&self, gateway: &Gateway, place: &str) -> Vec<String> {
        descriptions(&seen(gateway, place).await["things"])
    }

    pub async fn gold(&self, gateway: &Gateway) -> [Value; 3] {
        let one = gateway.player(&self.player).character(&self.one).await["gold"].clone();
        let two = gateway.player(&self.other).character(&self.two).await["gold"].clone();
        [one, two, seen(gateway, &self.hall).await["gold"].clone()]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pick_up_that_is_cut_anywhere_happens_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            let arrows = arrows(gateway).await;
            let lot = json!({ "placeId": scene.hall, "quantity": 9 });
            let pile = mint(gateway, &arrows, lot).await;
            mint(gateway, &arrows, json!({ "characterId": scene.one, "quantity": 1 })).await;
            (scene, pile)
        },
        async |gateway, (scene, pile)| {
            let input = json!({ "characterId": scene.one, "thingId": pile, "quantity": 4,
                "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("pickUp", input).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            let held = carried(gateway, &scene.player, &scene.one).await;
            assert_eq!(held, ["5 arrows"], "{way:?} {at}");
            assert_eq!(scene.things(gateway, &scene.hall).await, ["5 arrows"], "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_that_is_cut_anywhere_arrives_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            let bag = item(gateway, "bag", json!({ "capacity": 5 })).await;
            let own = json!({ "characterId": scene.one });
            let bag_of = async || mint(gateway, &bag, own.clone()).await;
            let (outer, inner) = (bag_of().await, bag_of().await);
            let put = json!({ "characterId": scene.one, "thingId": inner, "containerId": outer });
            gateway.player(&scene.player).made("putInContainer", put).await;
            (scene, outer)
        },
        async |gateway, (scene, outer)| {
            let input = json!({ "characterId": scene.one, "toCharacterId": scene.two,
                "thingId": outer, "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("giveItem", input).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            let held = carried(gateway, &scene.player, &scene.one).await;
            assert!(held.is_empty(), "{way:?} {at}");
            let two = gateway.player(&scene.other).character(&scene.two).await;
            assert_eq!(descriptions(&two["inventory"]), ["bag"], "{way:?} {at}");
            assert_eq!(descriptions(&two["inventory"][0]["contents"]), ["bag"], "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purchase_that_is_cut_anywhere_is_made_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            endow(gateway, &scene.one, 100).await;
            let hat = item(gateway, "hat", json!({})).await;
            let hat = mint(gateway, &hat, json!({ "placeId": scene.hall, "price": 30 })).await;
            (scene, hat)
        },
        async |gateway, (scene, hat)| {
            let input = json!({ "characterId": scene.one, "thingId": hat, "price": 30,
                "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("buy", input).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            let gold = scene.gold(gateway).await;
            assert_eq!(gold, [json!(70), json!(0), json!(30)], "{way:?} {at}");
            let held = carried(gateway, &scene.player, &scene.one).await;
            assert_eq!(held, ["hat"], "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gold_whose_gift_is_cut_anywhere_arrives_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            endow(gateway, &scene.one, 100).await;
            scene
        },
        async |gateway, scene| {
            let input = json!({ "characterId": scene.one, "toCharacterId": scene.two,
                "amount": 30, "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("giveGold", input).await;
        },
        async |gateway, Case { subject, at, way }| {
            let gold = subject.gold(gateway).await;
            assert_eq!(gold, [json!(70), json!(30), json!(0)], "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_that_is_cut_anywhere_ends_at_one_place() {
    cuts::everywhere(
        short_bounds,
        Scene::new,
        async |gateway, scene| {
            let input = json!({ "characterId": scene.one, "direction": "NORTH",
                "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("move", input).await;
        },
        async |gateway, Case { subject, at, way }| {
            quiet(gateway).await;
            let one = gateway.player(&subject.player).character(&subject.one).await;
            assert_eq!(one["room"]["placeId"], json!(subject.garden), "{way:?} {at}");
            let two = gateway.player(&subject.other).character(&subject.two).await;
            let left = two["room"]["players"].as_array().expect("players").len();
            assert_eq!(left, 1, "the copy follows: {way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_birth_that_is_cut_anywhere_happens_once() {
    cuts::everywhere(
        short_bounds,
        Scene::new,
        async |gateway, scene| {
            let birth = json!({ "name": "new", "class": "x", "placeId": scene.garden,
                "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("createCharacter", birth).await;
        },
        async |gateway, Case { subject, at, way }| {
            let player = gateway.player(&subject.player);
            let own = player.field("{ myCharacters { nodes { name } } }", json!({})).await;
            let names = own["nodes"].as_array().expect("nodes").len();
            assert_eq!(names, 2, "{way:?} {at}");
            assert_eq!(seen(gateway, &subject.garden).await["players"][0]["name"], "new");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_is_cut_anywhere_loses_nothing() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            let hat = item(gateway, "hat", json!({})).await;
            mint(gateway, &hat, json!({ "characterId": scene.two })).await;
            endow(gateway, &scene.two, 5).await;
            scene
        },
        async |gateway, scene| {
            let deletion = json!({ "characterId": scene.two });
            gateway.player(&scene.other).tries("deleteCharacter", deletion).await;
        },
        async |gateway, Case { subject, at, way }| {
            let two = gateway.player(&subject.other).character(&subject.two).await;
            assert!(two.is_null(), "{way:?} {at}");
            let there = seen(gateway, &subject.hall).await;
            assert_eq!(descriptions(&there["things"]), ["hat"], "{way:?} {at}");
            assert_eq!(there["gold"], 5, "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_that_is_cut_anywhere_is_made_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            let shop = json!({ "title": "Shop", "description": "", "isShop": true, "gold": 50 });
            let shop = gateway.master().made("createPlace", shop).await;
            let seller = format!("seller-{n}");
            let one = born(gateway, &seller, &shop).await;
            let hat = item(gateway, "hat", json!({})).await;
            let hat = mint(gateway, &hat, json!({ "characterId": one })).await;
            (Scene { player: seller, hall: shop, one, ..scene }, hat)
        },
        async |gateway, (scene, hat)| {
            let sale = json!({ "characterId": scene.one, "thingId": hat, "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("sell", sale).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            let one = gateway.player(&scene.player).character(&scene.one).await;
            assert_eq!((&one["gold"], &one["inventory"]), (&json!(5), &json!([])), "{way:?} {at}");
            let there = seen(gateway, &scene.hall).await;
            assert_eq!(there["gold"], 45, "{way:?} {at}");
            assert_eq!(there["things"][0]["price"], 10, "{way:?} {at}");
        },
    )
    .await;
}

/// What a character does with its own things: one document changes, wherever it is cut.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_an_inventory_that_are_cut_anywhere_happen_once() {
    for (action, is_worn, is_inside, left) in [
        ("equip", false, false, vec!["bag"]),
        ("unequip", true, false, vec!["bag", "hat"]),
        ("putInContainer", false, false, vec!["bag"]),
        ("takeFromContainer", false, true, vec!["bag", "hat"]),
        ("drop", false, true, vec!["bag"]),
    ] {
        cuts::everywhere(
            short_bounds,
            async |gateway, n| {
                let scene = Scene::new(gateway, n).await;
                let own = json!({ "characterId": scene.one });
                let bag = item(gateway, "bag", json!({ "capacity": 5 })).await;
                let bag = mint(gateway, &bag, own.clone()).await;
                let hat = item(gateway, "hat", json!({ "slots": ["HEAD"] })).await;
                let hat = mint(gateway, &hat, own).await;
                let player = gateway.player(&scene.player);
                let mut input = json!({ "characterId": scene.one, "thingId": hat });
                if is_worn {
                    player.made("equip", input.clone()).await;
                }
                if is_inside {
                    input["containerId"] = json!(bag);
                    player.made("putInContainer", input).await;
                }
                (scene, bag, hat)
            },
            async |gateway, (scene, bag, hat)| {
                let mut input = json!({ "characterId": scene.one, "thingId": hat });
                match action {
                    "putInContainer" => input["containerId"] = json!(bag),
                    "takeFromContainer" | "drop" => input["idempotencyKey"] = json!("cut"),
                    _ => {}
                }
                gateway.player(&scene.player).tries(action, input).await;
            },
            async |gateway, Case { subject: (scene, ..), at, way }| {
                let one = gateway.player(&scene.player).character(&scene.one).await;
                let mut carried = descriptions(&one["inventory"]);
                carried.sort();
                assert_eq!(carried, left, "{action} {way:?} {at}");
                let worn = one["armor"].as_array().map(Vec::len);
                assert_eq!(worn, Some(usize::from(action == "equip")), "{action} {way:?} {at}");
                let there = scene.things(gateway, &scene.hall).await.len();
                assert_eq!(there, usize::from(action == "drop"), "{action} {way:?} {at}");
            },
        )
        .await;
    }
}

/// Whether a call came to the command that the proxy holds: on a busy machine it may have run out of time before.
pub(super) async fn is_held(proxy: &Proxy, call: &mut JoinHandle<()>) -> bool {
    let mut reached = pin!(proxy.reached());
    tokio::select! {
        () = &mut reached => true,
        ended = call => {
            ended.expect("an answer, whatever it is");
            reached.now_or_never().is_some()
        }
    }
}

/// A call that was held, when its command has been let go.
pub(super) async fn ended(call: JoinHandle<()>) {
    if !call.is_finished() {
        call.await.expect("an answer, whatever it is");
    }
}

/// A take, or the decision, arrives when the sweep and a repeat are done.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_arrives_late_changes_nothing() {
    for (collection, command) in
        [("places", "update"), ("characters", "update"), ("moves", "insert")]
    {
        for repeat_first in [true, false] {
            let gateway = Gateway::behind_proxy(short_bounds).await;
            let sibling = gateway.patient_sibling().await;
            let proxy = gateway.proxy.as_ref().expect("a proxy");
            proxy.count_only(move |seen| seen.collection == collection && seen.command == command);
            let mut number = 0;
            let (scene, input, slow) = loop {
                number += 1;
                assert!(number < 20, "it never came to its command: {command} {collection}");
                let scene = Scene::new(&sibling, number).await;
                let arrows = arrows(&sibling).await;
                let lot = json!({ "placeId": scene.hall, "quantity": 9 });
                let pile = mint(&sibling, &arrows, lot).await;
                quiet(&sibling).await;
                proxy.cut(0, Cut::Hold);
                let input = json!({ "characterId": scene.one, "thingId": pile, "quantity": 4,
                    "idempotencyKey": "once" });
                let mut slow = tokio::spawn({
                    let (player, input) = (gateway.player(&scene.player), input.clone());
                    async move { player.tries("pickUp", input).await }
                });
                if is_held(proxy, &mut slow).await {
                    break (scene, input, slow);
                }
            };
            proxy.heal();
            let player = sibling.player(&scene.player);
            if repeat_first {
                player.tries("pickUp", input.clone()).await;
            }
            sibling.sweep().await;
            sibling.assert_sound().await;
            proxy.release().await;
            ended(slow).await;
            sibling.sweep().await;
            sibling.assert_sound().await;
            let after = player.plays("pickUp", input).await;
            assert_eq!(descriptions(&after["inventory"]), ["4 arrows"], "{collection}");
            assert_eq!(scene.things(&sibling, &scene.hall).await, ["5 arrows"], "{collection}");
            sibling.sweep().await;
            sibling.assert_sound().await;
            for name in ["places", "characters"] {
                let left = sibling.stored(name).await;
                let is_marked = |one: &mongodb::bson::Document| one.contains_key("markedAt");
                assert!(!left.iter().any(is_marked), "{name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_input_under_the_key_of_a_cut_call_is_a_call_of_its_own() {
    let gateway = Gateway::behind_proxy(settings).await;
    let sibling = gateway.patient_sibling().await;
    let scene = Scene::new(&sibling, 1).await;
    let arrows = arrows(&sibling).await;
    let pile = mint(&sibling, &arrows, json!({ "placeId": scene.hall, "quantity": 9 })).await;
    quiet(&sibling).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "insert");
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    let player = gateway.player(&scene.player);
    let some = |quantity: i32| {
        json!({ "characterId": scene.one, "thingId": pile, "quantity": quantity,
            "idempotencyKey": "cut" })
    };
    player.tries("pickUp", some(4)).await;
    proxy.heal();
    sibling.sweep().await;
    sibling.assert_sound().await;
    assert_eq!(scene.things(&sibling, &scene.hall).await, ["9 arrows"]);
    let player = sibling.player(&scene.player);
    assert_eq!(descriptions(&player.plays("pickUp", some(2)).await["inventory"]), ["2 arrows"]);
    assert_eq!(player.plays("pickUp", some(4)).await["__typename"], "Conflict");
    quiet(&sibling).await;
    sibling.sweep().await;
    sibling.assert_sound().await;
    // The decisions are removed when their keys are forgotten.
    let decisions = sibling.database.collection::<mongodb::bson::Document>("moves");
    let kept = doc! { "expiresAt": { "$exists": false } };
    let kept = decisions.find(kept).hint(mongodb::options::Hint::Name("_id_".into()));
    let kept: Vec<_> = futures_util::TryStreamExt::try_collect(kept.await.expect("a cursor"))
        .await
        .expect("documents");
    assert!(kept.is_empty(), "{kept:#?}");
}
