//! `docgate person`: what is held of a person, and that it goes.

mod beside;
mod cuts;
mod files;
mod guests;

use std::time::Duration;

use docgate::{
    app::App,
    domains::persons::{self, Erased},
};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{done, on, output::unread, preconditions::assert_private};
use crate::{
    assets::{editor, file, uploaded},
    buying,
    comments::{self, LAYOUTS, discussed, posted},
    events, inbox,
    orders::fulfilment::{change, packed},
    shop::{account, add, cart, checkout, placed, settled, stock, stocked},
    social::{deliver, does, people, posted_with},
    support::{Gateway, direct::in_time, key, short_bounds, until},
    theater,
};

/// A subject that occurs in no other text.
const EVE: &str = "eve-5f0c41";

const CIRCLE: &str =
    "mutation($input: CircleUserInput!) { circleUser(input: $input) { __typename } }";
const BLOCK: &str = "mutation($input: BlockUserInput!) { blockUser(input: $input) { __typename } }";
const COMMENT: &str =
    "mutation($input: CommentOnPostInput!) { commentOnPost(input: $input) { __typename } }";
const VOTE: &str = "mutation($input: VotePollInput!) { votePoll(input: $input) { __typename } }";
const CLAIM: &str =
    "mutation($input: ClaimIdentityInput!) { claimIdentity(input: $input) { __typename } }";
const SAVE: &str =
    "mutation($input: SaveAddressInput!) { saveAddress(input: $input) { __typename } }";
const METADATA: &str =
    "mutation($input: SetMetadataInput!) { setMetadata(input: $input) { __typename } }";
const RECORD: &str =
    "mutation($input: RecordSessionsInput!) { recordSessions(input: $input) { __typename } }";

/// Erases, and repeats it as long as something waits: for what goes on behind an answer, and then for the sweeps.
async fn erased(gateway: &Gateway, app: &App, subject: &str) -> Erased {
    for again in 1..=240 {
        let erased = in_time(async || persons::erase(app, subject, false).await).await;
        if erased.waits.is_empty() {
            return erased;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
        if again % 20 == 0 {
            gateway.sweep().await;
        }
    }
    panic!("the erasure of {subject} never ends");
}

/// The collections in which the text occurs, each with a document.
async fn places_of(gateway: &Gateway, text: &str) -> Vec<(String, String)> {
    let all = gateway.snapshot().await.into_iter();
    let found = all.filter_map(|(name, documents)| {
        let document = documents.iter().map(ToString::to_string).find(|one| one.contains(text));
        Some((name, document?))
    });
    found.collect()
}

/// Number of votes for the first choice of a poll.
async fn votes(gateway: &Gateway, poll: &str) -> Value {
    let query =
        "query($id: ID!) { post(id: $id) { detail { ... on PollDetail { choices { votes } } } } }";
    let post = gateway.shopper("bob").field(query, json!({ "id": poll })).await;
    post["detail"]["choices"][0]["votes"].clone()
}

async fn owners(gateway: &Gateway, collection: &str, ids: &[String]) -> Vec<String> {
    let mut owners = Vec::new();
    for id in ids {
        let found = gateway.database.collection::<Document>(collection);
        let found = found.find_one(doc! { "_id": key(id) }).await.expect("read").expect("there");
        owners.push(found.get_str("owner").expect("an owner").to_owned());
    }
    owners
}

/// What a person does in a shop: two orders, a cart that holds stock, and comments in every layout.
async fn shops(gateway: &Gateway, subject: &str) -> Vec<String> {
    // With short bounds a busy machine leaves the end of a checkout to the sweep.
    let gateway = &gateway.patient_sibling().await;
    let client = gateway.shopper(subject);
    let purse = account(gateway, subject, 1_000).await;
    let orders = vec![
        placed(&client, &purse, &[("a", 2)]).await,
        placed(&client, &purse, &[("a", 1)]).await,
    ];
    cart(&client, "RESERVE", &[("a", 3)]).await;
    orders
}

/// What else a shop may hold of a person: a saved address, the use of a voucher, and what merchants write of an order.
async fn buys_more(gateway: &Gateway, subject: &str, order: &str) {
    // As in `shops`.
    let gateway = &gateway.patient_sibling().await;
    let (client, merchant) = (gateway.shopper(subject), gateway.merchant());
    let address = json!({ "name": "N. N.", "street": "Street 1", "city": "City", "country": "DE" });
    let saved = client.field(SAVE, json!({ "input": { "label": "home", "address": address } }));
    assert_eq!(saved.await["__typename"], "AddressBook");
    buying::created(gateway, "FREE", json!({ "percent": 100, "perCustomer": 1 })).await;
    let id = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
    buying::applied(&client, &id, "FREE").await;
    let free = checkout(&client, &id, "none", "op").await;
    assert_eq!(free["__typename"], "Order", "{free:#}");
    let noted = change(&merchant, "noteOrder", order, json!({ "text": format!("{subject} rang") }));
    assert_eq!(noted.await["__typename"], "Order");
    let pair = json!({ "key": "who", "value": { "text": subject } });
    let pairs = json!({ "input": { "ownerId": order, "set": [pair] } });
    let set = merchant.field(METADATA, pairs).await;
    assert_eq!(set["__typename"], "MetadataChange", "{set:#}");
    settled(gateway).await;
    for (collection, count) in [("addressBooks", 1), ("voucherCustomers", 1)] {
        assert_eq!(gateway.stored(collection).await.len(), count, "{collection}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erased_person_is_nowhere_and_what_stays_adds_up() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    stocked(&gateway, "a", 100, 50).await;
    let orders = shops(&gateway, EVE).await;
    assert_eq!(stock(&gateway, "a").await, (44, 3, 3));
    let eve = gateway.shopper(EVE);
    buys_more(&gateway, EVE, &orders[0]).await;
    for layout in LAYOUTS {
        let on = discussed(&gateway, layout, layout).await;
        posted(&gateway.shopper("bob"), &on, "first", None).await;
        posted(&eve, &on, "mine", None).await;
    }
    people(&gateway, &[EVE, "bob"]).await;
    for (by, of) in [(EVE, "bob"), ("bob", EVE)] {
        let circled = does(&gateway, by, CIRCLE, json!({ "userId": of, "circle": "x" })).await;
        assert_eq!(circled["__typename"], "User", "{circled:#}");
    }
    let post = json!({ "audience": "PUBLIC", "text": "hello" });
    posted_with(&gateway, EVE, post.clone()).await;
    let theirs = posted_with(&gateway, "bob", post).await;
    let on_wall = json!({ "audience": "PUBLIC", "text": "hi", "toUserId": EVE });
    posted_with(&gateway, "bob", on_wall).await;
    let poll = json!({ "audience": "PUBLIC", "text": "which?",
        "detail": { "poll": { "choices": ["this", "that"] } } });
    let poll = posted_with(&gateway, "bob", poll).await;
    does(&gateway, EVE, COMMENT, json!({ "postId": theirs, "text": "mine" })).await;
    does(&gateway, EVE, VOTE, json!({ "postId": poll, "choice": 0 })).await;
    inbox::send(&gateway, EVE, &["bob"], "from me").await;
    inbox::send(&gateway, "bob", &[EVE], "to me").await;
    does(&gateway, "bob", BLOCK, json!({ "userId": EVE })).await;
    deliver(&gateway).await;
    let name = json!({ "identity": { "username": "evelyn" }, "userId": EVE });
    let claimed = gateway.service().field(CLAIM, json!({ "input": name })).await;
    assert_eq!(claimed["__typename"], "Identity", "{claimed:#}");
    let at = docgate::app::rfc3339(gateway.app.clock());
    let session = json!({ "sessions": [{ "userId": EVE, "at": at, "seconds": 5 }] });
    gateway.service().field(RECORD, json!({ "input": session })).await;
    let event = json!({ "at": at, "host": "192.0.2.1", "site": "shop.example", "path": "/a",
        "user": EVE, "userAgent": "mine" });
    events::logged(&gateway, &[event]).await;
    let screening = theater::hall(&gateway, &["AAAA"]).await;
    theater::holding_seats(&eve, &screening, &[("A", 1)]).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    let before = places_of(&gateway, EVE).await;
    assert!(before.len() >= 18, "{:?}", before.iter().map(|(name, _)| name).collect::<Vec<_>>());

    erased(&gateway, &gateway.app, EVE).await;
    deliver(&gateway).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
    let again = erased(&gateway, &gateway.app, EVE).await;
    assert!(again.is_empty(), "{again:#?}");
    assert_eq!(places_of(&gateway, EVE).await, []);
    assert_eq!(places_of(&gateway, "N. N.").await, [], "names on parcels");
    assert_eq!(places_of(&gateway, "evelyn").await, []);
    assert!(gateway.stored("addressBooks").await.is_empty());
    assert!(gateway.stored("voucherCustomers").await.is_empty());
    assert_eq!(buying::used(&gateway, "FREE").await[3], 1, "the voucher still counts the use");
    assert!(gateway.stored("erasures").await.is_empty(), "nothing leads to the pseudonym");

    // The orders keep their sums, and are still of one customer. The cart's stock is back.
    let owners = owners(&gateway, "orders", &orders).await;
    assert!(owners[0] == owners[1] && owners[0] != EVE, "{owners:?}");
    let totals = gateway.stored("orders").await;
    let totals: Vec<_> =
        totals.iter().map(|order| order.get_i64("total").expect("a sum")).collect();
    assert_eq!(totals.iter().sum::<i64>(), 300);
    assert_eq!(stock(&gateway, "a").await, (46, 0, 4));
    let account = gateway.stored("accounts").await;
    let account = account
        .iter()
        .find(|account| account.get_str("owner").is_ok_and(|owner| owner == owners[0]));
    let account = account.expect("an account with money stays");
    assert_eq!(account.get_i64("balance").expect("a balance"), 700);
    assert_eq!(account.get_str("state").expect("a state"), "OPEN");
    assert_eq!(votes(&gateway, &poll).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_with_a_valid_token_afterwards_is_erased_by_a_repeat() {
    let gateway = Gateway::with(short_bounds).await;
    stocked(&gateway, "a", 100, 50).await;
    let first = shops(&gateway, EVE).await;
    tokio::join!(
        in_time(async || persons::erase(&gateway.app, EVE, false).await),
        in_time(async || persons::erase(&gateway.app, EVE, false).await),
    );
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    let pseudonyms = owners(&gateway, "orders", &first).await;
    assert_eq!(pseudonyms[0], pseudonyms[1], "two runs at once have one pseudonym");

    let second = shops(&gateway, EVE).await;
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    let others = owners(&gateway, "orders", &second).await;
    assert_ne!(pseudonyms[0], others[0], "nothing is left by which the first one could be known");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_exports_and_erases() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    let orders = shops(&gateway, EVE).await;
    shops(&gateway, "bob").await;
    let name = gateway.database.name().to_owned();
    let person = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["person"].iter().chain(arguments).copied().collect();
        done(on(&name, &arguments))
    };

    let (code, out, said) = person(&["export", EVE]);
    assert_eq!(code, 0, "{said}");
    let lines: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of =
        |collection: &str| lines.iter().filter(|line| line["collection"] == collection).count();
    assert_eq!((of("orders"), of("accounts")), (2, 1), "{out}");
    assert!(of("carts") == 3 && of("transfers") > 0, "{out}");
    // Money that came in, without whose work it was.
    let came = |line: &&Value| line["field"] == "accounts" && line["value"]["kind"] == "DEPOSIT";
    let came: Vec<&Value> = lines.iter().filter(came).collect();
    assert!(came.len() == 1 && came[0]["value"].get("by").is_none(), "{came:#?}");
    assert!(out.contains(&key(&orders[0])) && !out.contains("bob"), "{out}");
    assert_eq!(unread(on(&name, &["person", "export", EVE])), (141, String::new()));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("eve.jsonl").display().to_string();
    assert_eq!(person(&["export", EVE, "--out", &file]).0, 0);
    assert_eq!(std::fs::read_to_string(&file).expect("a file").lines().count(), lines.len());
    let (code, _, said) = person(&["export", EVE, "--out", &file]);
    assert!(code == 2 && said.contains("eve.jsonl exists"), "{said}");
    assert_eq!(std::fs::read_to_string(&file).expect("a file").lines().count(), lines.len());
    assert_private(std::path::Path::new(&file), 0o600);
    assert_eq!(person(&["export", "nobody"]).1, "");
    let none = folder.path().join("nobody.jsonl").display().to_string();
    assert_eq!(person(&["export", "nobody", "--out", &none]).0, 0);
    assert!(!std::path::Path::new(&none).exists(), "nothing is held");

    settled(&gateway).await;
    let before = gateway.snapshot().await;
    let (code, _, said) = person(&["erase", EVE]);
    assert!(code == 2 && said.contains("--dry-run"), "{said}");
    let (code, out, said) = person(&["erase", EVE, "--dry-run"]);
    assert!(code == 0 && out.contains("orders: 2 documents would be"), "{out}{said}");
    assert!(out.contains("changed by operations"), "{out}");
    assert_eq!(gateway.snapshot().await, before);
    // An erasure checks no tokens, so it needs no key for them.
    let mut command = on(&name, &["person", "erase", EVE, "--yes"]);
    command.env_remove("DOCGATE_AUTH_HS256_SECRET");
    let (code, out, said) = done(command);
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("orders: 2 documents erased or changed"), "{out}");
    assert!(out.contains("1 cart ended") && out.contains("isn't empty: it stays"), "{out}");
    let (code, out, _) = person(&["erase", EVE, "--yes"]);
    assert_eq!((code, out.as_str()), (0, "nothing is held of this person\n"));
    assert_eq!(places_of(&gateway, EVE).await, []);
    assert_eq!(person(&["erase", "", "--yes"]).0, 2);
    gateway.assert_sound().await;
}

/// A file has copies of the comments on it, which others have written.
#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_a_file_leaves_the_comments_on_it_out() {
    let gateway = Gateway::start().await;
    let made = uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", "x")).await;
    let asset = made["id"].as_str().expect("an id");
    let client = editor(&gateway);
    let opened = comments::open(&client, asset, "EMBEDDED").await;
    assert_eq!(opened["layout"], "EMBEDDED", "{opened:#}");
    posted(&client, asset, "said-by-the-editor", None).await;
    posted(&gateway.shopper("bob"), asset, "said-by-bob", None).await;
    settled(&gateway).await;
    let name = gateway.database.name();
    let (code, out, said) = done(on(name, &["person", "export", "the-editor"]));
    assert_eq!(code, 0, "{said}");
    assert!(!out.contains("bob"), "{out}");
    let of = |collection: &str| {
        let named = format!("\"collection\":\"{collection}\"");
        out.lines().filter(|line| line.contains(&named)).collect::<Vec<_>>()
    };
    let files = of("assetEntries");
    assert!(files.len() == 1 && files[0].contains("/it"), "{out}");
    assert!(!files[0].contains("said-by-the-editor"), "{out}");
    // What the person has written on it is told from where it was written.
    let own = of("authoredComments");
    assert!(own.len() == 1 && own[0].contains("said-by-the-editor"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_tells_nothing_that_others_keep_from_the_person() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    let orders = shops(&gateway, EVE).await;
    let note = json!({ "text": "a note" });
    let noted = change(&gateway.merchant(), "noteOrder", &orders[0], note).await;
    assert_eq!(noted["__typename"], "Order", "{noted:#}");
    people(&gateway, &[EVE, "bob", "cid"]).await;
    let circled = json!({ "userId": EVE, "circle": "kept-secret" });
    assert_eq!(does(&gateway, "cid", CIRCLE, circled).await["__typename"], "User");
    assert_eq!(does(&gateway, "bob", BLOCK, json!({ "userId": EVE })).await["__typename"], "User");
    inbox::send(&gateway, EVE, &["bob", "cid"], "from me").await;
    inbox::send(&gateway, "cid", &[EVE], "to me").await;
    let post = posted_with(&gateway, "cid", json!({ "audience": "PUBLIC", "text": "a" })).await;
    let comment = json!({ "postId": post, "text": "said once" });
    assert_eq!(does(&gateway, EVE, COMMENT, comment).await["__typename"], "Post");
    deliver(&gateway).await;
    let kept = gateway.stored("messages").await;
    let is_withheld = |one: &Document| one.get_array("withheld").is_ok_and(|from| from.len() == 1);
    assert!(kept.iter().any(is_withheld), "{kept:?}");

    let (code, out, said) = done(on(gateway.database.name(), &["person", "export", EVE]));
    assert_eq!(code, 0, "{said}");
    for text in ["kept-secret", "withheld", "the-merchant"] {
        assert!(!out.contains(text), "{text}: {out}");
    }
    let lines: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let values = |collection: &str| {
        let of = lines.iter().filter(|line| line["collection"] == collection);
        of.map(|line| line["value"].clone()).collect::<Vec<_>>()
    };
    // The rest of these documents is there.
    assert_eq!(values("messages")[0]["to"], json!(["bob", "cid"]), "{out}");
    assert_eq!(values("circles")[0]["by"], "cid", "{out}");
    // Each inbox that a message has arrived in would tell that its owner doesn't block the sender.
    let inboxes = values("inboxBuckets");
    assert!(inboxes.len() == 1 && inboxes[0]["owner"] == EVE, "{out}");
    assert_eq!(inboxes[0]["messages"][0]["text"], "to me", "{out}");
    assert_eq!(out.matches("from me").count(), 1, "{out}");
    assert_eq!(out.matches("said once").count(), 1, "{out}");
    assert!(values("orders").iter().any(|one| one["notes"][0]["text"] == "a note"), "{out}");
}

/// A room that is switched off keeps what it has of a person. The erasure keeps its pseudonym for it.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_is_finished_when_all_rooms_are_on() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 50).await;
    let orders = shops(&gateway, EVE).await;
    settled(&gateway).await;
    let erase = |rooms: Option<&str>| {
        let mut command = on(gateway.database.name(), &["person", "erase", EVE, "--yes"]);
        if let Some(rooms) = rooms {
            command.env("DOCGATE_ROOMS", rooms);
        }
        done(command)
    };
    let without_orders = Some("carts,inventory,catalog,categories,comments,people");
    // Once nothing waits, and also in each repeat.
    for _ in 0..2 {
        until("the rooms that are off keep the erasure from its end", async || {
            let (code, out, said) = erase(without_orders);
            assert_eq!(code, 1, "{out}{said}");
            let told = out.lines().find(|line| line.contains("are switched off"));
            told.is_some_and(|told| told.contains("orders") && !told.contains("game"))
        })
        .await;
    }
    assert_eq!(gateway.stored("erasures").await.len(), 1, "it goes on with this pseudonym");
    assert_eq!(owners(&gateway, "orders", &orders).await, [EVE, EVE]);
    until("the erasure is finished", async || erase(None).0 == 0).await;
    assert!(gateway.stored("erasures").await.is_empty());
    assert_eq!(places_of(&gateway, EVE).await, []);
    // Carts and orders have one owner.
    gateway.assert_sound().await;
}

/// Texts about a person in lists of their orders go, also beside an order that has no such lists.
#[tokio::test(flavor = "multi_thread")]
async fn texts_of_shipments_and_returns_go() {
    let gateway = Gateway::with(short_bounds).await;
    stocked(&gateway, "a", 100, 50).await;
    let patient = gateway.patient_sibling().await;
    let client = patient.shopper(EVE);
    let purse = account(&patient, EVE, 1_000).await;
    let order = placed(&client, &purse, &[("a", 3)]).await;
    placed(&client, &purse, &[("a", 1)]).await;
    settled(&patient).await;
    let merchant = patient.merchant();
    for (number, tracking) in [(1, "tracked-4711"), (2, "tracked-4712")] {
        assert_eq!(packed(&patient, &order, "a", 1).await, number);
        let input = json!({ "shipmentNumber": number, "carrier": "Post", "tracking": tracking });
        assert_eq!(change(&merchant, "shipOrder", &order, input).await["__typename"], "Order");
        let input = json!({ "shipmentNumber": number, "reason": "said-by-eve" });
        let asked = change(&client, "requestReturn", &order, input).await;
        assert_eq!(asked["__typename"], "Order", "{asked:#}");
    }
    let input = json!({ "returnNumber": 1, "answer": "said-to-eve" });
    assert_eq!(change(&merchant, "refuseReturn", &order, input).await["__typename"], "Order");
    settled(&patient).await;
    erased(&gateway, &gateway.app, EVE).await;
    for text in [EVE, "tracked-4711", "tracked-4712", "said-by-eve", "said-to-eve"] {
        assert_eq!(places_of(&gateway, text).await, [], "{text}");
    }
    // What happened stays.
    let orders = gateway.stored("orders").await;
    let with_returns = orders.iter().filter(|order| order.contains_key("returns"));
    let kept = with_returns.map(|order| order.get_array("returns").expect("returns").len());
    assert_eq!(kept.collect::<Vec<_>>(), [2]);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[test]
fn the_table_is_in_the_documents() {
    let (code, table, said) = done(super::docgate(&["person", "what"]));
    assert_eq!((code, said.as_str()), (0, ""));
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/PERSONAL_DATA.md");
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains(table.trim_end()), "docs/PERSONAL_DATA.md lacks the table of\n{table}");
}

/// A cart that is opened while the erasure runs waits for the next one.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_waits() {
    let gateway = Gateway::with(short_bounds).await;
    stocked(&gateway, "a", 100, 50).await;
    let client = gateway.shopper(EVE);
    let cart = cart(&client, "RESERVE", &[("a", 1)]).await;
    assert_eq!(add(&client, &cart, "a", 1).await["__typename"], "Cart");
    let carts = gateway.database.collection::<Document>("carts");
    let state = |state: &str| doc! { "$set": { "state": state } };
    let this = doc! { "_id": key(&cart) };
    carts.update_one(this.clone(), state("EXPIRING")).await.expect("set");
    let waiting = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
    assert!(!waiting.waits.is_empty(), "{waiting:#?}");
    assert_eq!(gateway.stored("erasures").await.len(), 1, "it goes on with this pseudonym");
    tokio::time::sleep(Duration::from_millis(10)).await;
    carts.update_one(this, state("ACTIVE")).await.expect("set");
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    assert_eq!(stock(&gateway, "a").await, (50, 0, 0));
    gateway.assert_sound().await;
}

/// Merchants are shown whose a receipt is.
#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_shows_the_pseudonym() {
    let gateway = Gateway::start().await;
    let screening = theater::hall(&gateway, &["AAAA"]).await;
    let bought = theater::receipt_of(&gateway, EVE, &screening).await;
    settled(&gateway).await;
    assert_eq!(theater::receipt(&gateway.merchant(), &bought).await["customerId"], EVE);
    erased(&gateway, &gateway.app, EVE).await;
    let seen = theater::receipt(&gateway.merchant(), &bought).await;
    assert!(seen["customerId"].is_string() && seen["customerId"] != EVE, "{seen:#}");
    assert_eq!(theater::receipt(&gateway.shopper(EVE), &bought).await, Value::Null);
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// The mark of a transfer is still on two accounts. The empty one can be closed when it is gone; the other one stays open anyway.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_account_with_an_unfinished_transfer_waits() {
    let gateway = Gateway::start().await;
    let both = [account(&gateway, EVE, 0).await, account(&gateway, EVE, 10).await];
    settled(&gateway).await;
    let accounts = gateway.database.collection::<Document>("accounts");
    let change = async |how: &str| {
        let change = doc! { how: { "pending": { "id": "unfinished", "amount": -1_i64 } } };
        for id in &both {
            accounts.update_one(doc! { "_id": key(id) }, change.clone()).await.expect("set");
        }
    };
    change("$push").await;
    let waiting = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
    let mut waits = waiting.waits.iter();
    assert!(waits.any(|wait| wait.contains("has unfinished transfers")), "{waiting:#?}");
    assert_eq!(waiting.remarks.len(), 1, "{waiting:#?}");
    let first = owners(&gateway, "accounts", &both).await;
    assert!(first[0] == EVE && first[1] != EVE, "{first:?}");
    change("$pull").await;
    let again = erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(again.ended.get("accounts"), Some(&1), "{again:#?}");
    let last = owners(&gateway, "accounts", &both).await;
    assert!(last.iter().all(|owner| *owner == first[1]), "one pseudonym: {last:?}");
    for (id, expected) in both.iter().zip(["CLOSED", "OPEN"]) {
        let found = accounts.find_one(doc! { "_id": key(id) }).await.expect("read");
        let found = found.expect("an account");
        assert_eq!(found.get_str("state").expect("a state"), expected);
    }
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}

/// A gateway has died while it replaced a name of the person by another one that the person has too.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_whose_change_was_cut_waits() {
    let gateway = Gateway::start().await;
    for name in ["eves-first", "eves-second"] {
        let input = json!({ "identity": { "username": name }, "userId": EVE });
        let claimed = gateway.service().field(CLAIM, json!({ "input": input })).await;
        assert_eq!(claimed["__typename"], "Identity", "{claimed:#}");
    }
    let identities = gateway.database.collection::<Document>("identities");
    let old = identities.find_one(doc! { "_id": "username:eves-second" }).await.expect("read");
    let since = *old.expect("a name").get_datetime("since").expect("a time");
    let at = gateway.begin().await.now();
    let mark = doc! { "insteadOf": "username:eves-second", "since": since, "kept": true, "at": at };
    let reserved = doc! { "$set": { "pending": mark } };
    identities.update_one(doc! { "_id": "username:eves-first" }, reserved).await.expect("set");
    let waiting = in_time(async || persons::erase(&gateway.app, EVE, false).await).await;
    assert!(waiting.waits.iter().any(|wait| wait == "a name is being changed"), "{waiting:#?}");
    // The old name was released, so the change can't be decided any more.
    erased(&gateway, &gateway.app, EVE).await;
    assert_eq!(places_of(&gateway, EVE).await, []);
    gateway.assert_sound().await;
}
