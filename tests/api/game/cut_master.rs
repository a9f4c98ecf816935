//! What the master of a game does, cut at each of its commands in each way, swept clean and repeated.

use serde_json::json;

use super::{World, arrows, cuts::Scene, quiet, seen};
use crate::support::{
    Gateway,
    cuts::{self, Case},
    proxy::Seen,
    short_bounds,
};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_minted_is_minted_once_wherever_it_is_cut() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| (Scene::new(gateway, n).await, arrows(gateway).await),
        async |gateway, (scene, arrows)| {
            let lot = json!({ "itemId": arrows, "placeId": scene.hall, "quantity": 7,
                "idempotencyKey": scene.one });
            gateway.master().tries("mintItem", lot).await;
        },
        async |gateway, Case { subject: (scene, _), at, way }| {
            assert_eq!(scene.things(gateway, &scene.hall).await, ["7 arrows"], "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attributes_change_once_wherever_it_is_cut() {
    cuts::everywhere(
        short_bounds,
        Scene::new,
        async |gateway, scene| {
            let change = json!({ "characterId": scene.one, "health": -10, "gold": 3,
                "idempotencyKey": scene.one });
            gateway.master().tries("changeAttributes", change).await;
        },
        async |gateway, Case { subject, at, way }| {
            let one = gateway.player(&subject.player).character(&subject.one).await;
            assert_eq!((&one["health"], &one["gold"]), (&json!(90), &json!(3)), "{way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exit_that_is_closed_is_closed_wherever_it_is_cut() {
    cuts::everywhere(
        short_bounds,
        Scene::new,
        async |gateway, scene| {
            let close = json!({ "placeId": scene.hall, "direction": "NORTH" });
            gateway.master().tries("setExit", close).await;
        },
        async |gateway, Case { subject, at, way }| {
            quiet(gateway).await;
            let exits = seen(gateway, &subject.hall).await["exits"].clone();
            assert_eq!(exits, json!([]), "{way:?} {at}");
            let one = gateway.player(&subject.player).character(&subject.one).await;
            assert_eq!(one["room"]["exits"], json!([]), "the copy follows: {way:?} {at}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn places_and_items_are_created_once_wherever_it_is_cut() {
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("cut-{n}"),
        async |gateway, op| {
            let master = gateway.master();
            let place = json!({ "title": "A hall", "description": "", "idempotencyKey": op });
            master.tries("createPlace", place).await;
            let item = json!({ "name": "hat", "price": 1, "idempotencyKey": op });
            master.tries("createItem", item).await;
        },
        async |gateway, Case { subject: op, .. }| {
            let master = gateway.master();
            let place = json!({ "title": "A hall", "description": "", "idempotencyKey": op });
            let place = master.made("createPlace", place).await;
            assert_eq!(seen(gateway, &place).await["title"], "A hall");
            let item = json!({ "name": "hat", "price": 1, "idempotencyKey": op });
            master.made("createItem", item).await;
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_an_exit_undoes_no_later_change() {
    let base = Gateway::start().await;
    let World { hall, garden } = World::new(&base).await;
    quiet(&base).await;
    let is_exit = |seen: &Seen| seen.collection == "places" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        let close = json!({ "placeId": hall, "direction": "NORTH" });
        gateway.master().made("setExit", close).await;
    };
    let later = async || {
        let open = json!({ "placeId": hall, "direction": "NORTH", "toPlaceId": garden });
        base.master().made("setExit", open).await;
    };
    cuts::with_late_copy(&base, is_exit, first, later).await;
    assert_eq!(seen(&base, &hall).await["exits"], json!([{ "direction": "NORTH" }]));
    quiet(&base).await;
    base.assert_sound().await;
}
