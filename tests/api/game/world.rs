//! A world that is imported from a file.

use std::fs;

use docgate::domains::game::import::{ImportWorld, import as import_lines};
use serde_json::{Value, json};

use super::{born, descriptions, seen};
use crate::{
    cli::{done, on},
    support::{
        Gateway,
        cuts::{self, Case},
        short_bounds,
    },
};

/// Exit code of the import of these lines, and what was said.
fn import(gateway: &Gateway, lines: &[Value]) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("world.jsonl");
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, text.join("\n")).expect("written");
    let path = path.display().to_string();
    let (code, out, said) = done(on(gateway.database.name(), &["import", "world", &path]));
    (code, out + &said)
}

/// The import tells the ids of items and places by the keys of the world.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_tells_the_ids_of_items_and_places() {
    let gateway = Gateway::start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, ids) = (path("world.jsonl"), path("ids.jsonl"));
    let mut lines: Vec<String> = world().iter().map(Value::to_string).collect();
    lines.push(json!({ "place": { "key": "no key", "title": "Nowhere" } }).to_string());
    fs::write(&file, lines.join("\n")).expect("written");
    let import = || {
        let arguments = ["import", "world", &file, "--ids", &ids, "--allow-errors"];
        let (code, _, said) = done(on(gateway.database.name(), &arguments));
        assert_eq!(code, 0, "{said}");
        let text = fs::read_to_string(&ids).expect("the file");
        let told = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        told.collect::<Vec<Value>>()
    };
    let told = import();
    let keys: Vec<_> =
        told.iter().map(|line| (line["item"].as_str(), line["place"].as_str())).collect();
    assert_eq!(
        keys,
        [
            (Some("hat"), None),
            (Some("bag"), None),
            (Some("arrow"), None),
            (None, Some("hall")),
            (None, Some("garden")),
        ]
    );
    let master = gateway.master();
    let query =
        "query($item: ID!, $place: ID!) { item(id: $item) { name } place(id: $place) { title } }";
    let found = master.data(query, json!({ "item": told[1]["id"], "place": told[4]["id"] })).await;
    assert_eq!(found, json!({ "item": { "name": "bag" }, "place": { "title": "A garden" } }));
    assert_eq!(import(), told, "a repeat tells the same ids");
    let arguments = ["import", "world", &file, "--ids", &file];
    let (code, _, said) = done(on(gateway.database.name(), &arguments));
    assert!(code == 2 && said.contains("--ids is the same file as FILE"), "{code}: {said}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), lines.join("\n"));
}

/// The same is optional in a place of an import and in one that a master creates.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_needs_no_description() {
    let gateway = Gateway::start().await;
    let master = gateway.master();
    let input = json!({ "title": "A garden", "idempotencyKey": "op" });
    let id = master.made("createPlace", input.clone()).await;
    assert_eq!(master.made("createPlace", input).await, id);
    let query = "query($id: ID!) { place(id: $id) { title description } }";
    let place = master.field(query, json!({ "id": id })).await;
    assert_eq!(place, json!({ "title": "A garden", "description": "" }));
}

fn world() -> Vec<Value> {
    vec![
        json!({ "item": { "key": "hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"] } }),
        json!({ "item": { "key": "bag", "name": "bag", "price": 5, "capacity": 3 } }),
        json!({ "item": { "key": "arrow", "name": "arrow", "plural": "arrows", "price": 1,
            "isStackable": true } }),
        json!({ "place": { "key": "hall", "title": "A hall", "isShop": true, "gold": 20, "things": [
            { "key": "bag", "item": "bag" },
            { "key": "hat", "item": "hat", "bonus": 3, "inside": "bag" },
            { "key": "lot", "item": "arrow", "quantity": 12, "price": 2 }] } }),
        json!({ "place": { "key": "garden", "title": "A garden" } }),
        json!({ "exit": { "from": "hall", "direction": "NORTH", "to": "garden" } }),
        json!({ "character": { "key": "ann", "owner": "ann", "name": "Ann", "class": "wizard",
            "place": "hall", "gold": 10, "things": [{ "key": "hat", "item": "hat" }] } }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_world_is_alive() {
    let gateway = Gateway::start().await;
    let (code, said) = import(&gateway, &world());
    assert_eq!(code, 0, "{said}");
    let player = gateway.player("ann");
    let mine = player.field("{ myCharacters { nodes { id name } } }", json!({})).await;
    let ann = mine["nodes"][0]["id"].as_str().expect("an id").to_owned();
    let shown = player.character(&ann).await;
    assert_eq!((&shown["name"], &shown["gold"]), (&json!("Ann"), &json!(10)));
    assert_eq!(descriptions(&shown["inventory"]), ["wizard's hat"]);
    assert_eq!(descriptions(&shown["room"]["things"]), ["bag", "12 arrows"]);
    let inner = &shown["room"]["things"][0]["contents"][0];
    assert_eq!(inner["description"], "+3 wizard's hat");
    let walk = json!({ "characterId": ann, "direction": "NORTH" });
    assert_eq!(player.plays("move", walk).await["room"]["title"], "A garden");
    gateway.sweep().await;
    gateway.assert_sound().await;

    // Imported again it changes nothing, although things have moved.
    let hall = shown["room"]["placeId"].as_str().expect("an id");
    let before = gateway.snapshot().await;
    let (code, said) = import(&gateway, &world());
    assert_eq!(code, 0, "{said}");
    assert_eq!(gateway.snapshot().await, before);
    assert_eq!(seen(&gateway, hall).await["players"], json!([]));
    born(&gateway, "bob", hall).await;
    gateway.assert_sound().await;
}

/// A character begins with intrinsics, and wears what its line says.
#[tokio::test(flavor = "multi_thread")]
async fn a_character_is_imported_as_its_line_describes_it() {
    let gateway = Gateway::start().await;
    let mut lines = world();
    let intrinsics = json!({ "strength": 16, "dexterity": 12, "constitution": 14, "intelligence": 8,
        "wisdom": 10, "charisma": 12 });
    lines.push(
        json!({ "character": { "key": "bob", "owner": "bob", "name": "Bob", "class": "knight",
        "place": "garden", "intrinsics": intrinsics, "things": [
            { "key": "bag", "item": "bag" },
            { "key": "1", "item": "hat", "bonus": 1, "slot": "HEAD" },
            { "key": "2", "item": "hat", "inside": "bag" }] } }),
    );
    let (code, said) = import(&gateway, &lines);
    assert_eq!(code, 0, "{said}");
    let query = "{ myCharacters { nodes { intrinsics { strength dexterity constitution intelligence
        wisdom charisma } maxHealth maxMana armor { slot thing { id description } }
        inventory { description contents { description } } id } } }";
    let bob = gateway.player("bob").field(query, json!({})).await["nodes"][0].clone();
    assert_eq!(bob["intrinsics"], intrinsics);
    assert_eq!((&bob["maxHealth"], &bob["maxMana"]), (&json!(120), &json!(90)));
    assert_eq!(bob["armor"][0]["slot"], "HEAD");
    assert_eq!(bob["armor"][0]["thing"]["description"], "+1 wizard's hat");
    assert_eq!(descriptions(&bob["inventory"]), ["bag"]);
    assert_eq!(descriptions(&bob["inventory"][0]["contents"]), ["wizard's hat"]);
    let worn = json!({ "characterId": bob["id"], "thingId": bob["armor"][0]["thing"]["id"] });
    assert_eq!(gateway.player("bob").plays("drop", worn).await["code"], "THING_WORN");
    gateway.assert_sound().await;

    let of = |more: Value| {
        let mut line =
            json!({ "key": "x", "owner": "x", "name": "X", "class": "x", "place": "hall" });
        line.as_object_mut().expect("fields").extend(more.as_object().cloned().expect("fields"));
        json!({ "character": line })
    };
    let mut strong = intrinsics.clone();
    strong["strength"] = json!(17);
    let mut weak = intrinsics;
    weak["wisdom"] = json!(0);
    let hat = |more: Value| {
        let mut thing = json!({ "key": "hat", "item": "hat", "slot": "HEAD" });
        thing.as_object_mut().expect("fields").extend(more.as_object().cloned().expect("fields"));
        thing
    };
    let bag = json!({ "key": "bag", "item": "bag" });
    for (line, field) in [
        (of(json!({ "intrinsics": strong })), "character.intrinsics: "),
        (of(json!({ "intrinsics": weak })), "character.intrinsics.wisdom: "),
        (of(json!({ "things": [hat(json!({ "slot": "FEET" }))] })), "character.things[0].slot: "),
        (
            of(json!({ "things": [bag, hat(json!({ "inside": "bag" }))] })),
            "character.things[1].slot: ",
        ),
        (
            of(json!({ "things": [hat(json!({})), hat(json!({ "key": "2" }))] })),
            "character.things[1].slot: ",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [hat(json!({}))] } }),
            "place.things[0].slot: ",
        ),
    ] {
        let (code, said) = import(&gateway, std::slice::from_ref(&line));
        assert_eq!(code, 1, "{line}: {said}");
        assert!(said.contains(&format!("line 1: {field}")), "{line}: {said}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_fit_nothing_are_refused_by_line() {
    let gateway = Gateway::start().await;
    import(&gateway, &world());
    for (line, field) in [
        (json!({ "exit": { "from": "hall", "direction": "UP", "to": "nowhere" } }), "to"),
        (json!({ "exit": { "from": "nowhere", "direction": "UP", "to": "hall" } }), "from"),
        (json!({ "exit": { "from": "hall", "direction": "UP", "to": "hall" } }), "to"),
        (
            json!({ "exit": { "from": "hall", "direction": "SIDEWAYS", "to": "garden" } }),
            "direction",
        ),
        (json!({ "item": { "key": "hat", "name": "another", "price": 1 } }), "key"),
        (json!({ "item": { "key": "x", "name": "x", "price": 0 } }), "price"),
        (
            json!({ "item": { "key": "x", "name": "x", "price": 1, "capacity": 1, "isStackable": true } }),
            "isStackable",
        ),
        (json!({ "place": { "key": "hall", "title": "Another hall" } }), "key"),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [{ "key": "a", "item": "none" }] } }),
            "things[0].item",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [
            { "key": "a", "item": "hat" }, { "key": "a", "item": "hat" }] } }),
            "things[1].key",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [
            { "key": "a", "item": "hat", "quantity": 2 }] } }),
            "things[0].quantity",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [
            { "key": "a", "item": "hat", "inside": "b" }] } }),
            "things[0].inside",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [
            { "key": "a", "item": "bag" },
            { "key": "b", "item": "hat", "inside": "a", "price": 3 }] } }),
            "things[1].price",
        ),
        (
            json!({ "place": { "key": "x", "title": "X", "things": [
            { "key": "a", "item": "bag" }, { "key": "b", "item": "hat", "inside": "a" },
            { "key": "c", "item": "hat", "inside": "a" }, { "key": "d", "item": "hat", "inside": "a" },
            { "key": "e", "item": "hat", "inside": "a" }] } }),
            "things[4].inside",
        ),
        (
            json!({ "character": { "key": "x", "owner": "x", "name": "X", "class": "x",
            "place": "hall", "things": [{ "key": "a", "item": "hat", "price": 3 }] } }),
            "things[0].price",
        ),
        (
            json!({ "item": { "key": "x", "name": "x", "price": 1, "slots": ["HEAD", "HEAD"] } }),
            "slots",
        ),
        (
            json!({ "character": { "key": "x", "owner": "x", "name": "X", "class": "x",
            "place": "nowhere" } }),
            "place",
        ),
        (
            json!({ "character": { "key": "ann", "owner": "ann", "name": "Other", "class": "x",
            "place": "hall" } }),
            "key",
        ),
    ] {
        let (code, said) = import(
            &gateway,
            &[json!({ "place": { "key": "garden", "title": "A garden" } }), line.clone()],
        );
        assert_eq!(code, 1, "{line}: {said}");
        let kind = line.as_object().and_then(|line| line.keys().next()).expect("one field");
        assert!(said.contains(&format!("line 2: {kind}.{field}: ")), "{line}: {said}");
    }
    gateway.assert_sound().await;
}

/// The import of a world, whose keys have this number. Each line waits for the one before it, because it is of another
/// kind.
pub(super) fn numbered(n: usize) -> Value {
    let key = |name: &str| format!("{name}-{n}");
    json!([
        { "place": { "key": key("garden"), "title": "A garden" } },
        { "item": { "key": key("hat"), "name": "hat", "price": 40 } },
        { "place": { "key": key("hall"), "title": "A hall",
            "things": [{ "key": "hat", "item": key("hat"), "bonus": 3 }] } },
        { "exit": { "from": key("hall"), "direction": "NORTH", "to": key("garden") } },
        { "character": { "key": key("ann"), "owner": key("ann"), "name": "Ann", "class": "wizard",
            "place": key("hall"), "gold": 10, "things": [{ "key": "hat", "item": key("hat") }] } },
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_cut_anywhere_is_whole_when_it_is_repeated() {
    let run = async |gateway: &Gateway, lines: &Value| {
        let lines: Vec<ImportWorld> = serde_json::from_value(lines.clone()).expect("lines");
        import_lines(&gateway.app, &lines).await
    };
    cuts::everywhere(
        short_bounds,
        async |_, n| (n, numbered(n)),
        async |gateway, (_, lines)| {
            let _cut = run(gateway, lines).await;
        },
        async |gateway, Case { subject: (n, lines), at, way }| {
            let said = run(gateway, lines).await.expect("imported");
            assert!(said.iter().all(Result::is_ok), "{way:?} {at}: {said:?}");
            super::quiet(gateway).await;
            let player = gateway.player(&format!("ann-{n}"));
            let mine = player.field("{ myCharacters { nodes { id } } }", json!({})).await;
            assert_eq!(mine["nodes"].as_array().map(Vec::len), Some(1), "{way:?} {at}");
            let ann = player.character(mine["nodes"][0]["id"].as_str().expect("an id")).await;
            assert_eq!(descriptions(&ann["inventory"]), ["hat"], "{way:?} {at}");
            let room = &ann["room"];
            assert_eq!(room["exits"].as_array().map(Vec::len), Some(1), "{way:?} {at}");
            assert_eq!(descriptions(&room["things"]), ["+3 hat"], "{way:?} {at}");
            assert_eq!(room["players"].as_array().map(Vec::len), Some(1), "{way:?} {at}");
        },
    )
    .await;
}

/// A character that was deleted has left its things at the place. It is imported again with others.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_character_is_imported_again_when_its_birth_is_forgotten() {
    let gateway = Gateway::start().await;
    import(&gateway, &world());
    let player = gateway.player("ann");
    let mine = player.field("{ myCharacters { nodes { id } } }", json!({})).await;
    let ann = mine["nodes"][0]["id"].as_str().expect("an id").to_owned();
    let hall = player.character(&ann).await["room"]["placeId"].clone();
    let hall = hall.as_str().expect("an id");
    let gone = player.plays("deleteCharacter", json!({ "characterId": ann })).await;
    assert_eq!(gone["__typename"], "DeletedCharacter", "{gone:#}");
    let (code, said) = import(&gateway, &world());
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("character.key: was imported not long ago"), "{said}");
    super::quiet(&gateway).await;
    let moves = gateway.database.collection::<mongodb::bson::Document>("moves");
    moves.delete_many(mongodb::bson::doc! { "_id": { "$gt": "" } }).await.expect("forgotten");
    let (code, said) = import(&gateway, &world());
    assert_eq!(code, 0, "{said}");
    let again = player.character(&ann).await;
    assert_eq!(descriptions(&again["inventory"]), ["wizard's hat"]);
    let there = seen(&gateway, hall).await;
    assert_eq!(descriptions(&there["things"]), ["bag", "12 arrows", "wizard's hat"]);
    assert_ne!(again["inventory"][0]["id"], there["things"][2]["id"]);
    super::quiet(&gateway).await;
    gateway.assert_sound().await;
}
