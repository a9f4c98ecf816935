//! Each invariant finds a fault that is planted.

use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::json;

use super::{World, arrows, born, endow, item, mint, quiet};
use crate::support::{
    Gateway,
    faults::Fault::{Changed, Removed},
    key, until,
};

const PLACED: &str = "things: each thing is in exactly one place";
const INSIDE: &str = "things: each container of a thing is where the thing is";
const WORN: &str = "things: stacks have pieces, and each slot has one thing";
const PRICED: &str = "things: only what lies at a place, in no container, has a price";
const GOLD: &str = "gold: all gold adds up to what was made";
const DEBTS: &str = "gold: nobody has less than none";
const SEEN: &str = "characters: each is seen at its place, and nowhere else";
const COPIES: &str = "characters: copies of places are up to date, or pending";
const STUCK: &str = "moves: what leaves or arrives has a mark, which the sweep finds";

/// A world at rest. Ann wears a hat, and carries a cap, and a bag with arrows. She had 100 gold, and gave bob 30.
struct Stage {
    gateway: Gateway,
    hall: String,
    garden: String,
    ann: String,
    bob: String,
    cap: Document,
    /// Fields of Ann's document.
    hat: String,
    bag: String,
    arrows: String,
    bag_id: String,
    /// The try of a committed move.
    committed: String,
}

impl Stage {
    async fn new() -> Self {
        let gateway = Gateway::start().await;
        let World { hall, garden } = World::new(&gateway).await;
        let (ann, bob) = (born(&gateway, "ann", &hall).await, born(&gateway, "bob", &hall).await);
        let own = json!({ "characterId": ann });
        let head = json!({ "slots": ["HEAD"] });
        let (hat, cap) =
            (item(&gateway, "hat", head.clone()).await, item(&gateway, "cap", head).await);
        let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
        let arrows = arrows(&gateway).await;
        let hat = mint(&gateway, &hat, own.clone()).await;
        let cap = mint(&gateway, &cap, own.clone()).await;
        let bag = mint(&gateway, &bag, own).await;
        let arrows = mint(&gateway, &arrows, json!({ "characterId": ann, "quantity": 12 })).await;
        let player = gateway.player("ann");
        player.made("equip", json!({ "characterId": ann, "thingId": hat })).await;
        let put = json!({ "characterId": ann, "thingId": arrows, "containerId": bag });
        player.made("putInContainer", put).await;
        endow(&gateway, &ann, 100).await;
        let gift = json!({ "characterId": ann, "toCharacterId": bob, "amount": 30 });
        player.made("giveGold", gift).await;
        rest(&gateway).await;
        gateway.assert_sound().await;

        let moves = gateway.stored("moves").await;
        let committed = moves.iter().find(|one| one.get_str("state").ok() == Some("COMMITTED"));
        let committed = committed.expect("a move").get_str("try").expect("a try").to_owned();
        let [hall, garden, ann, bob] = [hall, garden, ann, bob].map(|id| key(&id));
        let characters = gateway.stored("characters").await;
        let is_ann = |one: &&Document| one.get_str("_id").ok() == Some(&*ann);
        let inventory = characters.iter().find(is_ann).expect("ann").get_array("inventory");
        let things = inventory.expect("things").iter().filter_map(Bson::as_document);
        let things: Vec<&Document> = things.collect();
        let at = |thing: &str| {
            let is_it = |one: &&Document| one.get_str("id").ok() == Some(&*key(thing));
            things.iter().position(is_it).unwrap_or_else(|| panic!("{thing}: {things:#?}"))
        };
        let field = |thing: &str| format!("inventory.{}", at(thing));
        let cap = things[at(&cap)].clone();
        let (bag_id, hat, bag, arrows) = (key(&bag), field(&hat), field(&bag), field(&arrows));
        Self { gateway, hall, garden, ann, bob, cap, hat, bag, arrows, bag_id, committed }
    }

    async fn of_character(&self, id: &str, update: Document) -> Vec<String> {
        self.gateway.broken_by("characters", id, Changed(update)).await
    }

    async fn of_ann(&self, update: Document) -> Vec<String> {
        self.of_character(&self.ann, update).await
    }

    async fn of_hall(&self, update: Document) -> Vec<String> {
        self.gateway.broken_by("places", &self.hall, Changed(update)).await
    }
}

/// Waits until nothing is under way, which isn't judged.
async fn rest(gateway: &Gateway) {
    until("the world comes to rest", async || {
        quiet(gateway).await;
        let mut all = gateway.stored("places").await;
        all.extend(gateway.stored("characters").await);
        let is_under_way =
            |one: &Document| one.contains_key("pendingAt") || one.contains_key("markedAt");
        !all.iter().any(is_under_way)
    })
    .await;
}

/// A mark of a try, with some of its numbers.
fn mark(attempt: &str, numbers: Document) -> Document {
    let mut mark =
        doc! { "move": "a move", "try": attempt, "paid": 0_i64, "earned": 0_i64, "minted": 0_i64 };
    mark.extend(numbers);
    doc! { "$push": { "marks": mark }, "$set": { "markedAt": DateTime::from_millis(0) } }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_things_finds_its_fault() {
    let stage = Stage::new().await;
    let Stage { cap, hat, bag, arrows, committed, .. } = &stage;
    let another = |more: Document| {
        let mut cap = cap.clone();
        cap.extend(more);
        doc! { "$push": { "inventory": cap } }
    };
    assert_eq!(stage.of_hall(another(doc! {})).await, [PLACED]);
    assert_eq!(stage.of_ann(another(doc! {})).await, [PLACED]);
    // What arrives or leaves without a mark would stay so for ever.
    assert_eq!(stage.of_hall(another(doc! { "arriving": committed })).await, [PLACED, STUCK]);
    assert_eq!(stage.of_hall(another(doc! { "arriving": "undecided" })).await, [STUCK]);
    let arrives = || {
        let mut update = mark("undecided", doc! {});
        let mut cap = cap.clone();
        cap.insert("arriving", "undecided");
        update.get_document_mut("$push").expect("a mark").insert("inventory", cap);
        update
    };
    assert!(stage.of_hall(arrives()).await.is_empty(), "the sweep undoes it");
    let mut unseen = arrives();
    unseen.remove("$set");
    assert_eq!(stage.of_hall(unseen).await, [STUCK], "no sweep finds it");

    let set = |thing: &str, field: &str, value: Bson| {
        doc! { "$set": { format!("{thing}.{field}"): value } }
    };
    assert_eq!(stage.of_ann(set(arrows, "in", "nowhere".into())).await, [INSIDE]);
    let gone = doc! { "$pull": { "inventory": { "id": &stage.bag_id } } };
    assert_eq!(stage.of_ann(gone).await, [INSIDE]);
    assert_eq!(stage.of_ann(set(bag, "leaving", committed.into())).await, [INSIDE, STUCK]);
    assert_eq!(stage.of_ann(set(bag, "leaving", "undecided".into())).await, [STUCK]);

    assert_eq!(stage.of_ann(set(arrows, "quantity", 0_i64.into())).await, [WORN]);
    assert_eq!(stage.of_ann(set(bag, "slot", "HEAD".into())).await, [WORN]);
    assert!(stage.of_ann(set(hat, "slot", "NECK".into())).await.is_empty());

    assert_eq!(stage.of_ann(set(hat, "price", 5_i64.into())).await, [PRICED]);
    let offered = |id: &str, more: Document| {
        let mut cap = cap.clone();
        cap.extend(doc! { "id": id, "price": 5_i64 });
        cap.extend(more);
        cap
    };
    let put = |things: Vec<Document>| doc! { "$push": { "inventory": { "$each": things } } };
    let chest = || offered("chest", doc! {});
    assert!(stage.of_hall(put(vec![chest()])).await.is_empty());
    let inside = offered("gem", doc! { "in": "chest" });
    assert_eq!(stage.of_hall(put(vec![chest(), inside])).await, [PRICED]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_gold_finds_its_fault() {
    let stage = Stage::new().await;
    let committed = &*stage.committed;
    let more = |field: &str, by: i64| doc! { "$inc": { field: by } };
    assert_eq!(stage.of_ann(more("gold", 1)).await, [GOLD]);
    assert_eq!(stage.of_ann(more("minted", -1)).await, [GOLD]);
    assert_eq!(stage.of_hall(more("gold", 1)).await, [GOLD]);
    assert_eq!(stage.of_hall(more("minted", 1)).await, [GOLD]);
    // What a move that isn't decided has taken is still there. What a committed one promises is there already.
    assert_eq!(stage.of_ann(mark("undecided", doc! { "paid": 5_i64 })).await, [GOLD]);
    assert_eq!(stage.of_hall(mark(committed, doc! { "earned": 5_i64 })).await, [GOLD]);
    assert_eq!(stage.of_ann(mark(committed, doc! { "minted": 5_i64 })).await, [GOLD]);
    let promised = doc! { "earned": 5_i64, "minted": 5_i64 };
    assert!(stage.of_hall(mark("undecided", promised)).await.is_empty());
    assert!(stage.of_ann(mark(committed, doc! { "paid": 5_i64 })).await.is_empty());

    let debt = doc! { "$inc": { "gold": -71_i64, "minted": -71_i64 } };
    assert_eq!(stage.of_ann(debt).await, [DEBTS]);
    let debt = doc! { "$inc": { "gold": -1_i64, "minted": -1_i64 } };
    assert_eq!(stage.of_hall(debt).await, [DEBTS]);
    let gone = stage.gateway.broken_by("characters", &stage.bob, Removed).await;
    assert_eq!(gone, [GOLD, SEEN], "his gold is gone, and he is seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_of_characters_finds_its_fault() {
    let stage = Stage::new().await;
    let (ann, committed) = (&*stage.ann, &*stage.committed);
    let of_garden = async |update: Document| {
        stage.gateway.broken_by("places", &stage.garden, Changed(update)).await
    };
    let seen = |id: &str| {
        let player = doc! { "id": id, "name": "ann", "class": "wizard", "by": "ann" };
        doc! { "$push": { "players": player } }
    };
    assert_eq!(stage.of_ann(doc! { "$set": { "place": &stage.garden } }).await, [SEEN]);
    assert_eq!(stage.of_hall(doc! { "$pull": { "players": { "id": ann } } }).await, [SEEN]);
    assert_eq!(of_garden(seen(ann)).await, [SEEN], "at two places");
    assert_eq!(stage.of_hall(seen(ann)).await, [SEEN], "twice at one");
    assert_eq!(of_garden(seen("a ghost")).await, [SEEN]);
    let leaves = |attempt: &str| doc! { "$set": { "players.0.leaving": attempt } };
    assert_eq!(stage.of_hall(leaves(committed)).await, [SEEN, STUCK]);
    assert_eq!(stage.of_hall(leaves("undecided")).await, [STUCK]);
    let marked = doc! { "$set": { "markedAt": DateTime::from_millis(0) } };
    assert_eq!(stage.of_ann(marked).await, [STUCK], "a sweep would find nothing");
    let walks = |attempt: &str| mark(attempt, doc! { "to": &stage.garden });
    assert_eq!(stage.of_ann(walks(committed)).await, [SEEN]);
    assert!(stage.of_ann(walks("undecided")).await.is_empty());
    // Who isn't born, or is deleted, has no gold either.
    let unborn = doc! { "$set": { "state": "ARRIVING" } };
    assert_eq!(stage.of_ann(unborn).await, [GOLD, SEEN]);
    assert_eq!(stage.of_ann(mark(committed, doc! { "ends": true })).await, [GOLD, SEEN]);

    let old = doc! { "$set": { "room.version": 0_i64 } };
    assert_eq!(stage.of_ann(old).await, [COPIES]);
    assert_eq!(stage.of_hall(doc! { "$inc": { "version": 1_i64 } }).await, [COPIES]);
    let now = DateTime::from_millis(0);
    let pending = doc! { "$inc": { "version": 1_i64 }, "$set": { "pendingAt": now } };
    assert!(stage.of_hall(pending).await.is_empty(), "the sweep copies it");
}
