//! The game: characters, places, things and gold.

mod carrying;
mod check;
mod commands;
mod cut_master;
mod cut_twice;
mod cuts;
mod forgotten;
mod half;
mod lists;
mod pictures;
mod races;
mod sight;
mod trade;
mod walking;
mod world;

use serde_json::{Value, json};

use crate::support::{Client, Gateway, fresh_name, until};

/// What is shown of a character, without ids of others.
const SHOWN: &str = "id name gold health mana
    room { placeId title version exits { direction placeId } players { id name }
        things { id description quantity price contents { id description contents { id } } } }
    armor { slot thing { id description } } weapons { slot thing { id description } }
    inventory { id description quantity
        contents { id description quantity contents { id description } } }";

/// A mutation whose result is a character, a place or a refusal.
pub fn mutation(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    let input = format!("{}{rest}Input", first.to_uppercase());
    let place =
        "... on Place { id title gold version exits { direction placeId } players { id name }
        things { id description quantity price contents { id description } } }";
    let refusals = "... on UserError { code message } ... on InvalidInput { field reason }";
    let more = match name {
        "createPlace" | "setExit" => place.to_owned(),
        "createItem" => "... on Item { id name resalePrice }".to_owned(),
        "deleteCharacter" => "... on DeletedCharacter { id } ... on NoRoom { capacity }".to_owned(),
        "mintItem" => {
            format!("... on Character {{ {SHOWN} }} {place} ... on NoRoom {{ capacity }}")
        }
        _ => format!("... on Character {{ {SHOWN} }} {}", special(name)),
    };
    format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{ __typename {refusals} {more} }} }}"
    )
}

/// The refusals of one mutation with fields of their own.
fn special(name: &str) -> &'static str {
    match name {
        "buy" => {
            "... on ForSale { price } ... on InsufficientGold { needed available }
                ... on NoRoom { capacity }"
        }
        "giveGold" | "changeAttributes" => {
            "... on InsufficientGold { needed available } ... on NoRoom { capacity }"
        }
        "sell" => "... on InsufficientGold { needed available } ... on ThingWorn { slot }",
        "move" => "... on NoExit { direction } ... on NoRoom { capacity }",
        "equip" => "... on SlotTaken { slot }",
        "drop" | "giveItem" | "putInContainer" => {
            "... on ThingWorn { slot } ... on NoRoom { capacity }"
        }
        "pickUp" | "takeFromContainer" => "... on ForSale { price } ... on NoRoom { capacity }",
        "createCharacter" => "... on NoRoom { capacity }",
        _ => "",
    }
}

impl Gateway {
    /// The game's master.
    fn master(&self) -> Client {
        self.user("the-master", &["master"])
    }

    /// A player.
    pub fn player(&self, subject: &str) -> Client {
        self.user(subject, &["player"])
    }
}

impl Client {
    /// The result of a mutation of the game, whatever it is.
    async fn plays(&self, name: &str, input: Value) -> Value {
        self.field(&mutation(name), json!({ "input": input })).await
    }

    /// The id of what a mutation of the game returns, which isn't a refusal.
    async fn made(&self, name: &str, input: Value) -> String {
        let made = self.plays(name, input).await;
        made["id"].as_str().unwrap_or_else(|| panic!("{name}: {made:#}")).to_owned()
    }

    /// Sends a mutation of the game whose answer may get lost.
    async fn tries(&self, name: &str, input: Value) {
        self.send(&mutation(name), json!({ "input": input })).await.ok();
    }

    /// The character as its player sees it.
    pub async fn character(&self, id: &str) -> Value {
        let query = format!("query($id: ID!) {{ character(id: $id) {{ {SHOWN} }} }}");
        self.field(&query, json!({ "id": id })).await
    }
}

/// A world of two places with an exit to and fro.
pub struct World {
    pub hall: String,
    pub garden: String,
}

impl World {
    pub async fn new(gateway: &Gateway) -> Self {
        let master = gateway.master();
        let place = async |title: &str| {
            master.made("createPlace", json!({ "title": title, "description": "" })).await
        };
        let (hall, garden) = (place("A hall").await, place("A garden").await);
        for (from, direction, to) in [(&hall, "NORTH", &garden), (&garden, "SOUTH", &hall)] {
            let exit = json!({ "placeId": from, "direction": direction, "toPlaceId": to });
            master.made("setExit", exit).await;
        }
        Self { hall, garden }
    }
}

/// A character of the player in a place.
pub async fn born(gateway: &Gateway, player: &str, place: &str) -> String {
    let input = json!({ "name": player, "class": "wizard", "placeId": place });
    gateway.player(player).made("createCharacter", input).await
}

/// An item of the catalogue, which costs 10.
async fn item(gateway: &Gateway, name: &str, more: Value) -> String {
    let mut input = json!({ "name": name, "price": 10 });
    input.as_object_mut().expect("fields").extend(more.as_object().cloned().unwrap_or_default());
    gateway.master().made("createItem", input).await
}

/// Things that form stacks.
pub async fn arrows(gateway: &Gateway) -> String {
    item(gateway, "arrow", json!({ "plural": "arrows", "isStackable": true })).await
}

/// Makes a thing of an item, for a character or at a place, and returns its id.
pub async fn mint(gateway: &Gateway, item: &str, to: Value) -> String {
    let mut input = json!({ "itemId": item, "idempotencyKey": fresh_name() });
    input.as_object_mut().expect("fields").extend(to.as_object().cloned().unwrap_or_default());
    let made = gateway.master().plays("mintItem", input).await;
    let list = if made["__typename"] == "Place" { &made["things"] } else { &made["inventory"] };
    let newest = list.as_array().and_then(|all| all.last());
    newest.unwrap_or_else(|| panic!("{made:#}"))["id"].as_str().expect("an id").to_owned()
}

/// Gives gold to a character.
pub async fn endow(gateway: &Gateway, character: &str, gold: i64) {
    let input = json!({ "characterId": character, "gold": gold, "idempotencyKey": fresh_name() });
    gateway.master().made("changeAttributes", input).await;
}

/// What a character carries, without what it wears.
pub async fn carried(gateway: &Gateway, player: &str, id: &str) -> Vec<String> {
    descriptions(&gateway.player(player).character(id).await["inventory"])
}

pub fn descriptions(things: &Value) -> Vec<String> {
    let all = things.as_array().unwrap_or_else(|| panic!("things: {things:#}"));
    let text = |thing: &Value| thing["description"].as_str().expect("a text").to_owned();
    all.iter().map(text).collect()
}

/// A place as everyone sees it.
pub async fn seen(gateway: &Gateway, id: &str) -> Value {
    let query = "query($id: ID!) { place(id: $id) { title gold version players { id name }
        exits { direction } things { id description quantity price contents { id description } } } }";
    gateway.player("a-visitor").field(query, json!({ "id": id })).await
}

/// Waits until what goes on behind the replies is done.
async fn quiet(gateway: &Gateway) {
    // Several cases may wait for one gateway at once: none may open its tracker again for the others.
    let is_done = async || gateway.app.tasks().is_empty();
    until("what goes on behind the replies is done", is_done).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_is_shown_with_its_room_and_all_that_it_carries() {
    let gateway = Gateway::start().await;
    let World { hall, garden } = World::new(&gateway).await;
    let ann = born(&gateway, "ann", &hall).await;
    let bob = born(&gateway, "bob", &hall).await;
    let hat = item(&gateway, "wizard's hat", json!({ "slots": ["HEAD"] })).await;
    let staff = item(&gateway, "staff", json!({ "slots": ["LEFT_HAND", "RIGHT_HAND"] })).await;
    let bag = item(&gateway, "bag", json!({ "capacity": 5 })).await;
    let own = json!({ "characterId": ann });
    let with_bonus = json!({ "characterId": ann, "bonus": 3 });
    let hat = mint(&gateway, &hat, with_bonus).await;
    let staff = mint(&gateway, &staff, own.clone()).await;
    let (outer, inner) = (mint(&gateway, &bag, own.clone()).await, mint(&gateway, &bag, own).await);
    let arrows = arrows(&gateway).await;
    let quiver = mint(&gateway, &arrows, json!({ "characterId": ann, "quantity": 12 })).await;
    mint(&gateway, &arrows, json!({ "placeId": hall, "quantity": 3 })).await;
    let player = gateway.player("ann");
    for (thing, container) in [(&inner, &outer), (&quiver, &inner)] {
        let input = json!({ "characterId": ann, "thingId": thing, "containerId": container });
        player.made("putInContainer", input).await;
    }
    for thing in [&hat, &staff] {
        player.made("equip", json!({ "characterId": ann, "thingId": thing })).await;
    }
    quiet(&gateway).await;
    let query = format!("query($id: ID!) {{ character(id: $id) {{ {SHOWN} }} }}");
    let shown = player.explained(&query, json!({ "id": ann })).await;
    assert_eq!(crate::support::commands(&shown), ["find characters"], "one document");
    let shown = &shown["data"]["character"];
    assert_eq!(shown["armor"][0]["thing"]["description"], "+3 wizard's hat");
    assert_eq!(shown["armor"][0]["slot"], "HEAD");
    assert_eq!(shown["weapons"][0]["slot"], "LEFT_HAND");
    assert_eq!(shown["weapons"][0]["thing"]["description"], "staff");
    assert_eq!(descriptions(&shown["inventory"]), ["bag"]);
    let inner_bag = &shown["inventory"][0]["contents"][0];
    assert_eq!(inner_bag["id"], json!(inner));
    assert_eq!(inner_bag["contents"][0]["description"], "12 arrows");
    assert_eq!(shown["room"]["title"], "A hall");
    assert_eq!(shown["room"]["exits"], json!([{ "direction": "NORTH", "placeId": garden }]));
    let query = "query($id: ID!) { character(id: $id) { room { exits { place { id title } } } } }";
    let beyond = player.field(query, json!({ "id": ann })).await;
    let garden = json!({ "id": garden, "title": "A garden" });
    assert_eq!(beyond["room"]["exits"], json!([{ "place": garden }]));
    let players: Vec<_> = shown["room"]["players"].as_array().expect("players").iter().collect();
    assert_eq!(players.len(), 2);
    assert!(players.iter().any(|player| player["id"] == json!(bob)));
    assert_eq!(descriptions(&shown["room"]["things"]), ["3 arrows"]);
    gateway.assert_sound().await;
}
