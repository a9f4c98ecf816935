//! Moves that are refused when half of them is taken, and the sweep's own work.

use std::{pin::pin, time::Duration};

use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{carried, cuts::Scene, endow, item, mint, mutation, quiet};
use crate::support::{
    Client, Gateway,
    cuts::{self, Case},
    key,
    proxy::Seen,
    short_bounds,
};

/// One wants to buy a hat, and her gold is taken when the other one gets it.
struct Purchase {
    scene: Scene,
    hat: String,
    /// By a gateway that isn't cut.
    rival: Client,
}

impl Purchase {
    async fn new(gateway: &Gateway, n: usize) -> Self {
        let scene = Scene::new(gateway, n).await;
        for who in [&scene.one, &scene.two] {
            endow(gateway, who, 100).await;
        }
        let hat = item(gateway, "hat", json!({})).await;
        let hat = mint(gateway, &hat, json!({ "placeId": scene.hall, "price": 30 })).await;
        quiet(gateway).await;
        let rival = gateway.player(&scene.other);
        Self { scene, hat, rival }
    }

    fn input(&self, character: &str) -> Value {
        json!({ "characterId": character, "thingId": self.hat, "price": 30,
            "idempotencyKey": "cut" })
    }

    /// The other one buys the hat, once. Returns when the place is copied, so that it is what each run finds.
    async fn is_forestalled(&self, gateway: &Gateway) {
        let is_bought = async || {
            let input = json!({ "input": self.input(&self.scene.two) });
            let answer = self.rival.run(&mutation("buy"), input).await;
            answer["data"]["buy"]["__typename"] == "Character"
        };
        let mut tries = 1;
        while !is_bought().await {
            assert!(tries < 50, "the other one doesn't get the hat");
            tries += 1;
        }
        for _ in 0..200 {
            let hall = doc! { "_id": key(&self.scene.hall) };
            let hall = gateway.raw("places").find_one(hall).await.expect("a read");
            if !hall.expect("the hall").contains_key("pendingAt") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// She buys, and the other one buys before the place's part is taken.
    async fn is_refused(&self, gateway: &Gateway) {
        let player = gateway.player(&self.scene.player);
        let call = player.tries("buy", self.input(&self.scene.one));
        let Some(proxy) = &gateway.proxy else {
            self.is_forestalled(gateway).await;
            return call.await;
        };
        let mut meeting = proxy.meet(is_taking);
        let mut call = pin!(call);
        tokio::select! {
            // It was cut before.
            () = &mut call => self.is_forestalled(gateway).await,
            () = meeting.arrived() => {
                self.is_forestalled(gateway).await;
                meeting.end();
                call.await;
            }
        }
    }
}

/// Whether it takes something from a place, or reserves room there.
fn is_taking(seen: &Seen) -> bool {
    (&*seen.collection, &*seen.command) == ("places", "update")
}

/// Short bounds, with time for the other one's purchase.
pub(super) fn settings(config: &mut docgate::config::Config) {
    short_bounds(config);
    config.flow_run_millis = 3_000;
    config.flow_command_millis = 1_500;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_purchase_of_what_is_gone_returns_the_gold_wherever_it_is_cut() {
    cuts::everywhere(
        settings,
        Purchase::new,
        async |gateway, purchase| purchase.is_refused(gateway).await,
        async |gateway, Case { subject: Purchase { scene, .. }, at, way }| {
            let gold = scene.gold(gateway).await;
            assert_eq!(gold, [json!(100), json!(70), json!(30)], "{way:?} {at}");
            let held = carried(gateway, &scene.player, &scene.one).await;
            assert!(held.is_empty(), "{way:?} {at}: {held:?}");
            let others = carried(gateway, &scene.other, &scene.two).await;
            assert_eq!(others, ["hat"], "{way:?} {at}");
        },
    )
    .await;
}

/// The gold of a purchase is taken, and returned when the thing is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_purchase_that_is_refused_half_way_says_so_and_changes_nothing() {
    let gateway = Gateway::behind_proxy(|config| {
        // The other one's purchase may take long on a busy machine.
        config.flow_run_millis = 30_000;
        config.flow_command_millis = 15_000;
    })
    .await;
    let sibling = gateway.sibling().await;
    let purchase = Purchase::new(&sibling, 1).await;
    let Purchase { scene, .. } = &purchase;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let mut meeting = proxy.meet(is_taking);
    let player = gateway.player(&scene.player);
    let (refused, ()) = tokio::join!(player.plays("buy", purchase.input(&scene.one)), async {
        meeting.arrived().await;
        // The gold may be taken already, and doesn't count until it is decided.
        purchase.is_forestalled(&gateway).await;
        meeting.end();
    });
    assert_eq!(refused["code"], "NOT_FOUND", "{refused:#}");
    assert_eq!(scene.gold(&gateway).await, [json!(100), json!(70), json!(30)]);
    quiet(&gateway).await;
    gateway.assert_sound().await;
}

/// What the sweep finds: a move that is committed and not given, one that isn't decided, and copies that are behind.
async fn cut_moves(gateway: &Gateway, n: usize) -> Scene {
    // What is left of the subjects before is swept, so that a cut meets the work of this one.
    sweep(gateway).await;
    let scene = Scene::new(gateway, n).await;
    endow(gateway, &scene.two, 100).await;
    let stone = item(gateway, "stone", json!({})).await;
    let stone = mint(gateway, &stone, json!({ "placeId": scene.hall })).await;
    quiet(gateway).await;
    let [one, two] = [&scene.one, &scene.two].map(|id| key(id));
    let [hall, garden] = [&scene.hall, &scene.garden].map(|id| key(id));
    let long_ago = DateTime::from_millis(0);
    let mark = |of: &str, paid: i64, earned: i64| {
        doc! { "move": format!("{of} {n}"), "try": format!("try of {of} {n}"), "at": long_ago,
        "paid": paid, "earned": earned, "minted": 0_i64 }
    };
    let (gift, taking) = ("gift", "taking");
    let taken = format!("try of {taking} {n}");
    let places = gateway.raw("places");
    let found = places.find_one(doc! { "_id": &hall }).await.expect("a read").expect("the hall");
    let things = found.get_array("inventory").expect("things").iter();
    let is_stone = |thing: &&Document| thing.get_str("id").ok() == Some(&*key(&stone));
    let mut arriving = things.filter_map(|thing| thing.as_document()).find(is_stone).cloned();
    let arriving = arriving.as_mut().expect("the stone");
    arriving.insert("arriving", &taken);
    let change = async |collection: &str, id: &str, mut set: Document, push: Document| {
        set.insert("markedAt", long_ago);
        let update = doc! { "$set": set, "$push": push, "$inc": { "version": 1_i64 } };
        let all = gateway.raw(collection);
        let changed = all.update_one(doc! { "_id": id }, update).await.expect("changed");
        assert_eq!(changed.modified_count, 1);
    };
    // One takes the stone from the hall, and gets 30 of the other one's gold.
    let marks = vec![mark(taking, 0, 0), mark(gift, 0, 30)];
    let push = doc! { "marks": { "$each": marks }, "inventory": &*arriving };
    change("characters", &one, doc! {}, push).await;
    let paid = doc! { "gold": 70_i64 };
    change("characters", &two, paid, doc! { "marks": mark(gift, 30, 0) }).await;
    let leaving = doc! { "inventory.0.leaving": &taken, "pendingAt": long_ago };
    change("places", &hall, leaving, doc! { "marks": mark(taking, 0, 0) }).await;
    let pending = doc! { "pendingAt": long_ago };
    change("places", &garden, pending, doc! { "marks": mark(gift, 0, 0) }).await;
    let holder = |kind: &str, id: &str| doc! { "kind": kind, "id": id };
    let decided = doc! {
        "_id": format!("{taking} {n}"), "input": "", "try": &taken, "state": "COMMITTED",
        "after": [], "holders": [holder("CHARACTER", &one), holder("PLACE", &hall)],
        "at": long_ago, "openAt": long_ago, "v": 1,
    };
    gateway.raw("moves").insert_one(decided).await.expect("inserted");
    scene
}

async fn sweep(gateway: &Gateway) {
    let room = &docgate::domains::game::ROOM;
    docgate::background::sweep_room(&gateway.app, room).await.ok();
}

/// The sweep's own work, cut at every command.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_is_cut_anywhere_finishes_or_undoes_each_move() {
    let aftermath = async |gateway: &Gateway| {
        gateway.sweep().await;
        gateway.assert_sound().await;
    };
    cuts::everywhere_apart(
        short_bounds,
        cut_moves,
        async |gateway, _| sweep(gateway).await,
        async |gateway, Case { subject: scene, at, way }| {
            let held = carried(gateway, &scene.player, &scene.one).await;
            assert_eq!(held, ["stone"], "{way:?} {at}");
            assert!(scene.things(gateway, &scene.hall).await.is_empty(), "{way:?} {at}");
            let gold = scene.gold(gateway).await;
            assert_eq!(gold, [json!(0), json!(100), json!(0)], "{way:?} {at}");
            let one = gateway.player(&scene.player).character(&scene.one).await;
            assert_eq!(one["room"]["things"], json!([]), "the copy follows: {way:?} {at}");
            for (collection, id) in [
                ("characters", &scene.one),
                ("characters", &scene.two),
                ("places", &scene.hall),
                ("places", &scene.garden),
            ] {
                let all = gateway.raw(collection);
                let found = all.find_one(doc! { "_id": key(id) }).await.expect("a read");
                let found = found.expect("a document");
                let left = ["markedAt", "pendingAt"].into_iter().find(|at| found.contains_key(at));
                assert_eq!(left, None, "{collection}: {way:?} {at}");
            }
        },
        aftermath,
    )
    .await;
}

/// The sweep finds a document by the time of its oldest mark, also when a younger mark has come and gone.
#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_an_older_mark_stays() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let scene = Scene::new(&gateway, 0).await;
    endow(&gateway, &scene.one, 100).await;
    quiet(&gateway).await;
    let long_ago = DateTime::from_millis(0);
    let mark = doc! { "move": "cut", "try": "its try", "at": long_ago, "paid": 30_i64,
    "earned": 0_i64, "minted": 0_i64 };
    let one = doc! { "_id": key(&scene.one) };
    let cut = doc! { "$push": { "marks": mark }, "$set": { "markedAt": long_ago },
    "$inc": { "gold": -30_i64, "version": 1_i64 } };
    gateway.raw("characters").update_one(one.clone(), cut).await.expect("marked");
    let input = json!({ "characterId": scene.one, "toCharacterId": scene.two, "amount": 4 });
    let said = gateway.player(&scene.player).plays("giveGold", input).await;
    assert_eq!(said["gold"], 66, "{said:#}");
    let found = gateway.raw("characters").find_one(one.clone()).await.expect("a read");
    let found = found.expect("the character");
    assert_eq!(found.get_datetime("markedAt").ok(), Some(&long_ago), "{found}");
    assert_eq!(found.get_array("marks").expect("marks").len(), 1, "{found}");
    quiet(&gateway).await;
    base.sweep().await;
    let found = gateway.raw("characters").find_one(one).await.expect("a read");
    let found = found.expect("the character");
    assert!(!found.contains_key("markedAt"), "{found}");
    assert_eq!(found.get_i64("gold").ok(), Some(96), "{found}");
    base.assert_sound().await;
}
