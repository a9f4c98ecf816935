//! What others do while a move that was cut isn't finished, and moves out of containers.

use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{
    World, arrows,
    cuts::{Scene, ended, is_held},
    descriptions,
    half::settings,
    item, mint, quiet, seen,
};
use crate::support::{
    Gateway,
    cuts::{self, Case},
    key,
    proxy::Cut,
    short_bounds, until,
};

/// A thing is dropped, and picked up and dropped again before it has left the first time. It stays one thing.
#[tokio::test(flavor = "multi_thread")]
async fn a_thing_that_returns_before_its_leaving_is_finished_stays_one() {
    let gateway = Gateway::behind_proxy(settings).await;
    let sibling = gateway.patient_sibling().await;
    let scene = Scene::new(&sibling, 1).await;
    let stone = item(&sibling, "stone", json!({})).await;
    let stone = mint(&sibling, &stone, json!({ "characterId": scene.one })).await;
    quiet(&sibling).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    // What is held is the end of the leaving at the character.
    proxy.count_only(|seen| seen.collection == "characters" && seen.command == "findAndModify");
    proxy.cut(0, Cut::Hold);
    let input = json!({ "characterId": scene.one, "thingId": stone });
    let slow = tokio::spawn({
        let (player, input) = (gateway.player(&scene.player), input.clone());
        async move { player.tries("drop", input).await }
    });
    proxy.reached().await;
    let is_there = async || scene.things(&sibling, &scene.hall).await == ["stone"];
    until("the stone is in the hall", is_there).await;
    let player = sibling.player(&scene.player);
    let picked = player.plays("pickUp", input.clone()).await;
    assert_eq!(descriptions(&picked["inventory"]), ["stone"], "{picked:#}");
    let dropped = player.plays("drop", input).await;
    assert_eq!(dropped["inventory"], json!([]), "{dropped:#}");
    assert_eq!(scene.things(&sibling, &scene.hall).await, ["stone"]);
    proxy.release().await;
    slow.await.expect("an answer, whatever it is");
    quiet(&sibling).await;
    sibling.sweep().await;
    sibling.assert_sound().await;
    let place = sibling.stored("places").await;
    let hall = place.iter().find(|place| place.get_str("_id").ok() == Some(&*key(&scene.hall)));
    let records = hall.expect("the hall").get_array("inventory").expect("things");
    assert_eq!(records.len(), 1, "{records:#?}");
    assert_eq!(scene.things(&sibling, &scene.hall).await, ["stone"]);
}

/// A call is cut before its decision, which the sweep makes void, and is repeated. Its void move outlives the other one:
/// otherwise a later repeat would make the move once more.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_remembered_as_long_as_its_move() {
    let gateway = Gateway::behind_proxy(settings).await;
    let sibling = gateway.patient_sibling().await;
    let scene = Scene::new(&sibling, 1).await;
    super::endow(&sibling, &scene.one, 100).await;
    quiet(&sibling).await;
    let before: Vec<String> = ids(&gateway).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "insert");
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    let gift = json!({ "characterId": scene.one, "toCharacterId": scene.two, "amount": 30,
        "idempotencyKey": "cut" });
    gateway.player(&scene.player).tries("giveGold", gift.clone()).await;
    proxy.heal();
    sibling.sweep().await;
    let player = sibling.player(&scene.player);
    for _ in 0..2 {
        assert_eq!(player.plays("giveGold", gift.clone()).await["gold"], 70);
    }
    quiet(&sibling).await;
    let all = sibling.stored("moves").await;
    let of = |state: &str| {
        let own = |one: &&Document| {
            let id = one.get_str("_id").unwrap_or_default();
            one.get_str("state").ok() == Some(state) && !before.iter().any(|known| known == id)
        };
        let found: Vec<_> = all.iter().filter(own).collect();
        assert_eq!(found.len(), 1, "{state}: {found:#?}");
        *found[0].get_datetime("expiresAt").expect("an end")
    };
    let (void, committed): (DateTime, DateTime) = (of("VOID"), of("COMMITTED"));
    assert!(void > committed, "{void} {committed}");

    // A void move that was forgotten is made anew before the next one.
    let moves = sibling.database.collection::<Document>("moves");
    let other = json!({ "characterId": scene.one, "toCharacterId": scene.two, "amount": 1,
        "idempotencyKey": "cut" });
    assert_eq!(player.plays("giveGold", other).await["__typename"], "Conflict");
    let newer = doc! { "_id": { "$gt": "" }, "state": "COMMITTED" };
    moves.delete_many(newer).await.expect("forgotten");
    assert_eq!(player.plays("giveGold", gift).await["gold"], 40, "its key is forgotten");
    quiet(&sibling).await;
    sibling.sweep().await;
    sibling.assert_sound().await;
}

async fn ids(gateway: &Gateway) -> Vec<String> {
    let all = gateway.stored("moves").await;
    all.iter().map(|one| one.get_str("_id").expect("an id").to_owned()).collect()
}

/// A stack in a container is split, and the gift is cut: the pieces are one stack again.
#[tokio::test(flavor = "multi_thread")]
async fn a_stack_in_a_container_is_whole_again_after_a_cut() {
    let gateway = Gateway::behind_proxy(settings).await;
    let sibling = gateway.patient_sibling().await;
    let scene = Scene::new(&sibling, 1).await;
    let (arrows, quiver) =
        (arrows(&sibling).await, item(&sibling, "quiver", json!({ "capacity": 1 })).await);
    let quiver = mint(&sibling, &quiver, json!({ "characterId": scene.one })).await;
    let lot = json!({ "characterId": scene.one, "quantity": 12 });
    let lot = mint(&sibling, &arrows, lot).await;
    let player = sibling.player(&scene.player);
    let put = json!({ "characterId": scene.one, "thingId": lot, "containerId": quiver });
    player.made("putInContainer", put).await;
    quiet(&sibling).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "insert");
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    let gift = json!({ "characterId": scene.one, "toCharacterId": scene.two, "thingId": lot,
        "quantity": 4, "idempotencyKey": "cut" });
    gateway.player(&scene.player).tries("giveItem", gift.clone()).await;
    proxy.heal();
    sibling.sweep().await;
    sibling.assert_sound().await;
    let one = player.character(&scene.one).await;
    assert_eq!(descriptions(&one["inventory"][0]["contents"]), ["12 arrows"], "{one:#}");
    let given = player.plays("giveItem", gift).await;
    assert_eq!(descriptions(&given["inventory"][0]["contents"]), ["8 arrows"], "{given:#}");
    quiet(&sibling).await;
    sibling.assert_sound().await;
}

/// A command of a birth arrives when a repeat and the sweep are done.
#[tokio::test(flavor = "multi_thread")]
async fn a_birth_whose_command_arrives_late_happens_once() {
    for (collection, command) in
        [("characters", "insert"), ("moves", "insert"), ("places", "update")]
    {
        let gateway = Gateway::behind_proxy(short_bounds).await;
        let sibling = gateway.patient_sibling().await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.count_only(move |seen| seen.collection == collection && seen.command == command);
        let mut number = 0;
        let (hall, input, slow) = loop {
            number += 1;
            assert!(number < 20, "it never came to its command: {command} {collection}");
            let World { hall, .. } = World::new(&sibling).await;
            quiet(&sibling).await;
            proxy.cut(0, Cut::Hold);
            let input = json!({ "name": "Ann", "class": "wizard", "placeId": hall,
                "idempotencyKey": "once" });
            let mut slow = tokio::spawn({
                let (player, input) = (gateway.player(&format!("ann-{number}")), input.clone());
                async move { player.tries("createCharacter", input).await }
            });
            if is_held(proxy, &mut slow).await {
                break (hall, input, slow);
            }
        };
        proxy.heal();
        let player = sibling.player(&format!("ann-{number}"));
        player.tries("createCharacter", input.clone()).await;
        sibling.sweep().await;
        proxy.release().await;
        ended(slow).await;
        sibling.sweep().await;
        sibling.assert_sound().await;
        let born = player.made("createCharacter", input).await;
        let mine = player.field("{ myCharacters { nodes { id } } }", json!({})).await;
        assert_eq!(mine["nodes"], json!([{ "id": born }]), "{collection}");
        quiet(&sibling).await;
        sibling.sweep().await;
        sibling.assert_sound().await;
        let players = seen(&sibling, &hall).await["players"].clone();
        assert_eq!(players.as_array().map(Vec::len), Some(1), "{collection}: {players:#}");
    }
}

/// A thing is taken from a chest that lies at the place.
#[tokio::test(flavor = "multi_thread")]
async fn a_thing_whose_taking_is_cut_anywhere_is_taken_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let scene = Scene::new(gateway, n).await;
            let (stone, bag) = (
                item(gateway, "stone", json!({})).await,
                item(gateway, "bag", json!({ "capacity": 3 })).await,
            );
            let player = gateway.player(&scene.player);
            let own = json!({ "characterId": scene.one });
            let chest = mint(gateway, &bag, own.clone()).await;
            let stone = mint(gateway, &stone, own).await;
            let put = json!({ "characterId": scene.one, "thingId": stone, "containerId": chest });
            player.made("putInContainer", put).await;
            player.made("drop", json!({ "characterId": scene.one, "thingId": chest })).await;
            quiet(gateway).await;
            (scene, stone)
        },
        async |gateway, (scene, stone)| {
            let input = json!({ "characterId": scene.one, "thingId": stone,
                "idempotencyKey": "cut" });
            gateway.player(&scene.player).tries("takeFromContainer", input).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            let one = gateway.player(&scene.player).character(&scene.one).await;
            assert_eq!(descriptions(&one["inventory"]), ["stone"], "{way:?} {at}");
            let there = seen(gateway, &scene.hall).await;
            assert_eq!(descriptions(&there["things"]), ["bag"], "{way:?} {at}");
            assert_eq!(there["things"][0]["contents"], json!([]), "{way:?} {at}");
        },
    )
    .await;
}

/// A thing is taken from a chest and packed. A repeat of the taking leaves it where it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_takes_nothing_from_the_own_bag() {
    let gateway = Gateway::start().await;
    let scene = Scene::new(&gateway, 1).await;
    let (stone, bag) = (
        item(&gateway, "stone", json!({})).await,
        item(&gateway, "bag", json!({ "capacity": 3 })).await,
    );
    let player = gateway.player(&scene.player);
    let own = json!({ "characterId": scene.one });
    let (chest, bag) =
        (mint(&gateway, &bag, own.clone()).await, mint(&gateway, &bag, own.clone()).await);
    let stone = mint(&gateway, &stone, own).await;
    let of = |thing: &str| json!({ "characterId": scene.one, "thingId": thing });
    let into = |container: &str| json!({ "characterId": scene.one, "thingId": stone, "containerId": container });
    player.made("putInContainer", into(&chest)).await;
    player.made("drop", of(&chest)).await;
    let mut take = of(&stone);
    take["idempotencyKey"] = json!("op");
    let taken = player.plays("takeFromContainer", take.clone()).await;
    assert_eq!(descriptions(&taken["inventory"]), ["bag", "stone"], "{taken:#}");
    player.made("putInContainer", into(&bag)).await;
    let again = player.plays("takeFromContainer", take.clone()).await;
    assert_eq!(descriptions(&again["inventory"]), ["bag"], "{again:#}");
    take["thingId"] = json!(bag);
    assert_eq!(player.plays("takeFromContainer", take).await["__typename"], "Conflict");
    gateway.assert_sound().await;
}
