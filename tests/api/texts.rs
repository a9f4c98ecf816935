//! What people write: what may stand in it, and how moments and amounts are written for them.

mod changes;

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use crate::{
    comments::discussed,
    content,
    support::{Client, Gateway, key},
};

/// Texts of which nothing is seen.
const BLANK: [&str; 10] = [
    " ",
    "\t\n",
    "\u{a0}",
    "\u{3000}\u{2003}",
    "\u{200b}",
    "\u{200d}\u{200c}",
    "\u{ad}",
    "\u{3164}",
    "\u{2800}",
    "\u{feff}\u{2060}\u{200e}",
];

/// Calls a mutation, whatever its answer's union holds.
async fn ask(client: &Client, name: &str, input: &Value) -> Value {
    let (first, rest) = name.split_at(1);
    let of = format!("{}{rest}Input", first.to_uppercase());
    let query = format!(
        "mutation($input: {of}!) {{ {name}(input: $input) {{
            __typename ... on InvalidInput {{ field reason }} }} }}"
    );
    client.field(&query, json!({ "input": input })).await
}

/// Who may write all of it.
fn writer(gateway: &Gateway) -> Client {
    let roles = [
        "merchant",
        "editor",
        "service",
        "producer",
        "worker",
        "operator",
        "advertiser",
        "player",
        "master",
    ];
    gateway.user("the-writer", &roles)
}

/// Inputs that could be used, with the places of their texts.
async fn texts(gateway: &Gateway) -> Vec<(&'static str, Value, &'static [&'static str])> {
    let on = discussed(gateway, "a", "PER_DOCUMENT").await;
    let address = json!({ "street": "Street 1", "city": "City", "country": "DE" });
    let stock = json!({ "sku": "a", "quantity": 1, "idempotencyKey": "op" });
    let product = json!({
        "sku": "b",
        "content": {
            "title": "Title",
            "translations": [{ "locale": "de", "title": "Title" }],
            "details": { "album": { "genres": ["Jazz"], "label": "L", "tracks": [{ "title": "T" }] } },
        },
        "pricing": { "list": 100, "retail": 100, "currency": "EUR" },
    });
    let thing = json!({
        "sku": "c",
        "content": { "title": "Title", "details": { "generic": {
            "type": "thing", "properties": [{ "key": "k", "value": "v" }],
            "numbers": [{ "key": "n", "value": 1.5 }] } } },
        "pricing": { "list": 100, "retail": 100, "currency": "EUR" },
    });
    let mut all: Vec<(&'static str, Value, &'static [&'static str])> = vec![
        (
            "createPerson",
            json!({ "name": "Name", "address": address, "idempotencyKey": "op" }),
            &["/name", "/address/street", "/address/city", "/idempotencyKey"],
        ),
        (
            "createProduct",
            product,
            &[
                "/content/title",
                "/content/translations/0/title",
                "/content/details/album/genres/0",
                "/content/details/album/label",
                "/content/details/album/tracks/0/title",
            ],
        ),
        (
            "createProduct",
            thing,
            &[
                "/content/details/generic/properties/0/key",
                "/content/details/generic/properties/0/value",
                "/content/details/generic/numbers/0/key",
            ],
        ),
        (
            "createCategory",
            json!({ "slug": "new", "names": [{ "locale": "en", "name": "Name" }], "idempotencyKey": "op" }),
            &["/names/0/name", "/idempotencyKey"],
        ),
        (
            "createContent",
            json!({
                "type": "PAGE", "slug": "new", "tags": ["tag"],
                "text": { "title": "Title", "translations": [{ "locale": "de", "title": "Title" }] },
                "authorName": "Author", "idempotencyKey": "op",
            }),
            &[
                "/text/title",
                "/text/translations/0/title",
                "/tags/0",
                "/authorName",
                "/idempotencyKey",
            ],
        ),
        (
            "postComment",
            json!({ "subjectId": on, "text": "Text", "idempotencyKey": "op" }),
            &["/text", "/idempotencyKey"],
        ),
        ("reviewProduct", json!({ "sku": "a", "stars": 5, "text": "Text" }), &["/text"]),
        ("receiveStock", stock.clone(), &["/idempotencyKey"]),
        ("writeOffStock", stock, &["/idempotencyKey"]),
        (
            "openAccount",
            json!({ "currency": "EUR", "name": "Name", "idempotencyKey": "op" }),
            &["/name", "/idempotencyKey"],
        ),
        (
            "renameAccount",
            json!({ "accountId": NodeKind::ACCOUNT.id("a"), "name": "Name" }),
            &["/name"],
        ),
        (
            "transfer",
            json!({
                "sourceId": NodeKind::ACCOUNT.id("a"), "destinationId": NodeKind::ACCOUNT.id("b"),
                "amount": 1, "purpose": "Purpose",
            }),
            &["/purpose"],
        ),
    ];
    all.extend(texts_of_carts());
    all
}

/// Those of carts.
fn texts_of_carts() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        (
            "openCart",
            json!({ "currency": "EUR", "policy": "RESERVE", "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        (
            "createVoucher",
            json!({ "code": "A", "percent": 1, "currency": "EUR", "idempotencyKey": "op" }),
            &["/code", "/idempotencyKey"],
        ),
        (
            "applyVoucher",
            json!({ "cartId": NodeKind::CART.id("a"), "code": "A", "idempotencyKey": "op" }),
            &["/code", "/idempotencyKey"],
        ),
        (
            "setShippingMethod",
            json!({
                "cartId": NodeKind::CART.id("a"), "shippingMethod": "standard", "country": "DE", "city": "City",
                "idempotencyKey": "op",
            }),
            &["/shippingMethod", "/city", "/idempotencyKey"],
        ),
        (
            "removeShippingMethod",
            json!({ "cartId": NodeKind::CART.id("a"), "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        (
            "acceptPrices",
            json!({ "cartId": NodeKind::CART.id("a"), "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        (
            "addVariant",
            json!({ "sku": "a.v", "options": [{ "name": "n", "value": "v" }] }),
            &["/options/0/name", "/options/0/value"],
        ),
        (
            "saveAddress",
            json!({
                "label": "Label", "idempotencyKey": "op",
                "address": { "name": "Name", "street": "Street 1", "city": "City", "country": "DE",
                    "email": "ann@shop.example", "phone": "1" },
            }),
            &[
                "/label",
                "/address/name",
                "/address/street",
                "/address/city",
                "/address/email",
                "/address/phone",
                "/idempotencyKey",
            ],
        ),
    ]
}

/// Those of people, messages and services.
fn texts_of_people() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        (
            "enqueue",
            json!({ "queue": "mail", "payload": "", "uniqueKey": "k", "idempotencyKey": "op" }),
            &["/uniqueKey", "/idempotencyKey"],
        ),
        ("claimJob", json!({ "queue": "mail", "idempotencyKey": "op" }), &["/idempotencyKey"]),
        ("retryDeadJobs", json!({ "queue": "mail", "idempotencyKey": "op" }), &["/idempotencyKey"]),
        (
            "createTopic",
            json!({ "name": "t", "bytes": 4_096, "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        (
            "publish",
            json!({ "topic": "t", "messages": ["a"], "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        ("createUser", json!({ "name": "Name" }), &["/name"]),
        ("circleUser", json!({ "userId": "u", "circle": "c" }), &["/userId", "/circle"]),
        (
            "createPost",
            json!({
                "audience": "NAMED", "circles": ["c"], "text": "Text", "toUserId": "u",
                "detail": { "poll": { "choices": ["a", "b"] } }, "idempotencyKey": "op",
            }),
            &["/circles/0", "/toUserId", "/detail/poll/choices/0", "/idempotencyKey"],
        ),
        (
            "commentOnPost",
            json!({ "postId": NodeKind::POST.id("a"), "text": "Text", "idempotencyKey": "op" }),
            &["/text", "/idempotencyKey"],
        ),
        (
            "sendMessage",
            json!({ "toUserIds": ["u"], "text": "Text", "idempotencyKey": "op" }),
            &["/toUserIds/0", "/text", "/idempotencyKey"],
        ),
        (
            "logEvents",
            json!({ "events": [{ "host": "h", "site": "s", "path": "/p" }], "idempotencyKey": "op" }),
            &["/idempotencyKey"],
        ),
        (
            "recordHits",
            json!({
                "hits": [{ "site": "s", "page": "/p", "at": "2024-01-01T00:00:00Z" }],
                "idempotencyKey": "op",
            }),
            &["/hits/0/site", "/hits/0/page", "/idempotencyKey"],
        ),
        ("recordViews", json!({ "views": [{ "page": "/p" }] }), &["/views/0/page"]),
        ("preallocateViews", json!({ "page": "/p" }), &["/page"]),
        (
            "recordSessions",
            json!({ "sessions": [{ "userId": "u", "seconds": 1 }], "idempotencyKey": "op" }),
            &["/sessions/0/userId", "/idempotencyKey"],
        ),
        (
            "launchCampaign",
            json!({
                "name": "Name", "zones": [{ "site": "s", "name": "z" }], "pricing": "CPM", "bid": 1,
                "currency": "EUR", "budget": 1, "targetUrl": "https://shop.example",
                "adUnits": [{ "keywords": ["k"], "creative": { "headline": "Headline" } }],
                "idempotencyKey": "op",
            }),
            &[
                "/name",
                "/targetUrl",
                "/adUnits/0/keywords/0",
                "/adUnits/0/creative/headline",
                "/idempotencyKey",
            ],
        ),
        (
            "serveAds",
            json!({ "site": "s", "zone": "z", "visitor": "v", "keywords": ["k"] }),
            &["/visitor", "/keywords/0"],
        ),
    ]
}

/// The same of theaters.
fn texts_of_theaters() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        (
            "createTheater",
            json!({
                "name": "Name", "address": "Street 1", "location": { "latitude": 1, "longitude": 1 },
                "seatPlan": {
                    "categories": [{ "code": "A", "name": "Stalls" }],
                    "rows": [{ "label": "1", "places": "AA" }],
                },
                "idempotencyKey": "op",
            }),
            &[
                "/name",
                "/address",
                "/seatPlan/categories/0/name",
                "/seatPlan/rows/0/label",
                "/idempotencyKey",
            ],
        ),
        (
            "createScreening",
            json!({
                "theaterId": NodeKind::THEATER.id("a"), "name": "Name", "currency": "EUR", "prices": [],
                "startsAt": "2100-01-01T20:00:00Z", "endsAt": "2100-01-01T22:00:00Z",
                "idempotencyKey": "op",
            }),
            &["/name", "/idempotencyKey"],
        ),
        ("openBooking", json!({ "currency": "EUR", "idempotencyKey": "op" }), &["/idempotencyKey"]),
        (
            "holdSeats",
            json!({
                "bookingId": NodeKind::BOOKING.id("a"), "screeningId": NodeKind::SCREENING.id("a"),
                "seats": [{ "row": "A", "number": 1 }], "idempotencyKey": "op",
            }),
            &["/seats/0/row", "/idempotencyKey"],
        ),
    ]
}

/// The same of orders.
fn texts_of_orders() -> Vec<(&'static str, Value, &'static [&'static str])> {
    let order = NodeKind::ORDER.id("a");
    vec![
        (
            "shipOrder",
            json!({
                "orderId": order, "shipmentNumber": 1, "carrier": "Post", "tracking": "1", "idempotencyKey": "op",
            }),
            &["/carrier", "/tracking", "/idempotencyKey"],
        ),
        (
            "requestReturn",
            json!({ "orderId": order, "shipmentNumber": 1, "reason": "Why", "idempotencyKey": "op" }),
            &["/reason", "/idempotencyKey"],
        ),
        (
            "refuseReturn",
            json!({ "orderId": order, "returnNumber": 1, "answer": "No", "idempotencyKey": "op" }),
            &["/answer", "/idempotencyKey"],
        ),
        (
            "noteOrder",
            json!({ "orderId": order, "text": "Note", "idempotencyKey": "op" }),
            &["/text", "/idempotencyKey"],
        ),
    ]
}

/// The same of the game.
fn texts_of_the_game() -> Vec<(&'static str, Value, &'static [&'static str])> {
    vec![
        (
            "createCharacter",
            json!({ "name": "Name", "class": "wizard", "placeId": NodeKind::PLACE.id("a"),
                "idempotencyKey": "op" }),
            &["/name", "/class", "/idempotencyKey"],
        ),
        (
            "createPlace",
            json!({ "title": "Title", "description": "", "idempotencyKey": "op" }),
            &["/title", "/idempotencyKey"],
        ),
        (
            "createItem",
            json!({ "name": "Name", "plural": "Names", "price": 1, "idempotencyKey": "op" }),
            &["/name", "/plural", "/idempotencyKey"],
        ),
    ]
}

/// The same with another text at one place.
fn with(input: &Value, place: &str, text: &str) -> Value {
    let mut input = input.clone();
    *input.pointer_mut(place).expect("a place") = json!(text);
    input
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_of_which_nothing_is_seen_is_refused_by_its_field() {
    let gateway = Gateway::start().await;
    let client = writer(&gateway);
    let texts = [
        texts(&gateway).await,
        texts_of_people(),
        texts_of_theaters(),
        texts_of_orders(),
        texts_of_the_game(),
        changes::texts_of_changes(),
    ];
    let texts = texts.concat();
    let before = gateway.snapshot().await;
    for (name, input, places) in &texts {
        for place in *places {
            for text in BLANK.into_iter().chain(["", "a\u{0}", "a\u{202e}b", "\u{2067}a"]) {
                let said = ask(&client, name, &with(input, place, text)).await;
                assert_eq!(said["__typename"], "InvalidInput", "{name} {place} {text:?}: {said:#}");
                let field = format!("input{}", place.replace('/', "."));
                assert_eq!(said["field"], field, "{name} {text:?}");
            }
        }
    }
    assert!(gateway.snapshot().await == before);
    for (name, input, _) in &texts {
        let done = ask(&client, name, input).await;
        assert_ne!(done["__typename"], "InvalidInput", "{name}: {done:#}");
    }
}

const PERSON: &str = "mutation($input: CreatePersonInput!) { createPerson(input: $input) {
    __typename ... on Person { id name address { street } } } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_kept_without_the_spaces_around_it() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let named = |name: &str| {
        let address = json!({ "street": "\u{a0}Street 1 ", "city": "C", "country": "DE" });
        json!({ "input": { "name": name, "address": address, "idempotencyKey": "op" } })
    };
    let made = merchant.field(PERSON, named(" \u{3000}Ann  Lee\u{200b}\n")).await;
    assert_eq!(
        (&made["name"], &made["address"]["street"]),
        (&json!("Ann  Lee"), &json!("Street 1"))
    );
    assert_eq!(merchant.field(PERSON, named("Ann  Lee")).await, made, "the same text");
    // What right-to-left text needs, and what emoji are made of.
    for name in ["\u{2067}שלום\u{2069}", "\u{200f}שלום", "👩\u{200d}🚀", "می\u{200c}خواهم"]
    {
        let input = json!({ "input": { "name": name } });
        assert_eq!(merchant.field(PERSON, input).await["name"], name);
    }
    // Code in Markdown begins with spaces.
    let text = json!({ "title": " Page ", "body": "    code\n" });
    let input = json!({ "type": "PAGE", "slug": "code", "text": text });
    let page = content::create(&gateway, input).await;
    let draft = &page["draft"];
    assert_eq!((&draft["title"], &draft["body"]), (&json!("Page"), &json!("    code\n")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_before_is_still_read_and_changed() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let address = json!({ "street": "S", "city": "C", "country": "DE" });
    let made =
        merchant.field(PERSON, json!({ "input": { "name": "Ann", "address": address } })).await;
    let id = made["id"].as_str().expect("an id");
    let odd = doc! { "$set": {
        "name": "\u{200b}", "nameKey": "\u{200b}", "address.street": "\u{a0}", "address.country": "ZZ",
    } };
    gateway.raw("people").update_one(doc! { "_id": key(id) }, odd).await.expect("set");
    let query = "query($id: ID!) { person(id: $id) { name address { street country } } }";
    let read = merchant.field(query, json!({ "id": id })).await;
    let address = json!({ "street": "\u{a0}", "country": "ZZ" });
    assert_eq!(read, json!({ "name": "\u{200b}", "address": address }));
    let rename = "mutation($input: RenamePersonInput!) { renamePerson(input: $input) {
        ... on Person { name address { country } } } }";
    let input = json!({ "input": { "personId": id, "name": "Ann" } });
    let renamed = merchant.field(rename, input).await;
    assert_eq!(renamed, json!({ "name": "Ann", "address": { "country": "ZZ" } }));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_country_is_one_that_is_assigned() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let made = merchant.field(PERSON, json!({ "input": { "name": "Ann" } })).await;
    let moved = |country: &str| {
        let address = json!({ "street": "S", "city": "C", "country": country });
        json!({ "personId": made["id"], "address": address })
    };
    let before = gateway.snapshot().await;
    for country in ["ZZ", "XX", "XK", "AN", "UK", "EU", "de", "DEU", "D", "", " ", "D\u{200b}E"] {
        let said = ask(&merchant, "setPersonAddress", &moved(country)).await;
        assert_eq!(said["field"], "input.address.country", "{country:?}: {said:#}");
    }
    assert!(gateway.snapshot().await == before);
    for country in ["DE", "GB", "SS", "AX", "ZW"] {
        let done = ask(&merchant, "setPersonAddress", &moved(country)).await;
        assert_eq!(done["__typename"], "Person", "{country}: {done:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_a_username_that_looks_like_anothers() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    let username = |name: &str| json!({ "identity": { "username": name }, "userId": "eve" });
    for name in ["admin", "анна", "佐藤taro", "émile.b"] {
        let done = ask(&service, "claimIdentity", &username(name)).await;
        assert_eq!(done["__typename"], "Identity", "{name}: {done:#}");
    }
    // One that somebody has since before these rules.
    let old = "\u{430}dmin..x";
    let identities = gateway.raw("identities");
    let held = identities.find_one(doc! { "_id": "username:admin" }).await.expect("read");
    let mut held: Document = held.expect("it is there");
    held.insert("_id", format!("username:{old}"));
    held.insert("name", doc! { "kind": "username", "value": old });
    identities.insert_one(held).await.expect("inserted");
    gateway.assert_sound().await;

    let before = gateway.snapshot().await;
    // A Cyrillic а and a Greek ο, scripts together, two signs together, ones at the ends.
    for name in ["\u{430}dmin", "r\u{3bf}ot", "аннаbella", "a..b", "a-_b", old, ".ab", "ab-"] {
        for mutation in ["claimIdentity", "proveIdentity"] {
            let said = ask(&service, mutation, &username(name)).await;
            assert_eq!(said["field"], "input.identity.username", "{name}: {said:#}");
        }
        let change = json!({
            "from": { "username": "admin" }, "to": { "username": name }, "userId": "eve",
        });
        let said = ask(&service, "changeIdentity", &change).await;
        assert_eq!(said["field"], "input.to.username", "{name}: {said:#}");
    }
    assert!(gateway.snapshot().await == before);

    let find = "query($identity: IdentityInput!) { userBy(identity: $identity) { id } }";
    let found = service.field(find, json!({ "identity": { "username": old } })).await;
    assert_eq!(found["id"], "eve", "the old one is still found");
    let other =
        json!({ "from": { "username": old }, "to": { "username": "eve" }, "userId": "eve" });
    let changed = ask(&service, "changeIdentity", &other).await;
    assert_eq!(changed["__typename"], "Identity", "{changed:#}");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_sort_as_their_texts_do() {
    let gateway = Gateway::start().await;
    let mut texts = Vec::new();
    for (at, expected) in [
        ("2020-01-01T00:00:01Z", "2020-01-01T00:00:01.000Z"),
        ("2020-01-01T00:00:01.123Z", "2020-01-01T00:00:01.123Z"),
        ("2020-01-01T00:00:01.5Z", "2020-01-01T00:00:01.500Z"),
        ("2020-01-01T02:00:01.51+02:00", "2020-01-01T00:00:01.510Z"),
        ("2020-01-01T00:00:02.0000Z", "2020-01-01T00:00:02.000Z"),
    ] {
        let slug = format!("page-{}", texts.len());
        let input = json!({ "type": "PAGE", "slug": slug, "text": { "title": slug } });
        let page = content::create(&gateway, input).await;
        let published = content::publish(&gateway, &page, Some(at)).await;
        assert_eq!(published["publishedAt"], expected, "{at}");
        texts.push(expected);
    }
    assert!(texts.is_sorted());
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_written_as_the_locale_writes_them() {
    let gateway = Gateway::start().await;
    for (currency, amount) in [("USD", 801), ("EUR", 123_450), ("JPY", 1_235), ("INR", 12_345_678)]
    {
        gateway.product(currency, amount, currency).await;
    }
    let query = "query($sku: ID!, $locale: LocaleTag!) { product(sku: $sku) {
        pricing { retail { formatted(locale: $locale) } } } }";
    for (sku, locale, expected) in [
        ("USD", "en-US", "$8.01"),
        ("USD", "de", "8,01\u{a0}$"),
        ("EUR", "de", "1.234,50\u{a0}€"),
        ("EUR", "en", "€1,234.50"),
        ("JPY", "ja", "￥1,235"),
        ("INR", "en-IN", "₹1,23,456.78"),
        ("INR", "hi", "₹1,23,456.78"),
    ] {
        let product =
            gateway.anonymous().field(query, json!({ "sku": sku, "locale": locale })).await;
        assert_eq!(product["pricing"]["retail"]["formatted"], expected, "{sku} in {locale}");
    }
    // Of an empty text there is no locale.
    let none = json!({ "sku": "USD", "locale": "" });
    assert_eq!(gateway.anonymous().error_code(query, none).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn amounts_without_a_locale_are_written_in_the_language_of_the_site() {
    let query = "query($sku: ID!, $locale: LocaleTag) { product(sku: $sku) {
        pricing { list { formatted } retail { formatted(locale: $locale) } } } }";
    for (site, expected) in [("en", "€1,234.50"), ("de", "1.234,50\u{a0}€")] {
        let gateway = Gateway::with(|config| config.site_locale = site.into()).await;
        gateway.product("a", 123_450, "EUR").await;
        for variables in [json!({ "sku": "a" }), json!({ "sku": "a", "locale": null })] {
            let product = gateway.anonymous().field(query, variables).await;
            let pricing =
                json!({ "list": { "formatted": expected }, "retail": { "formatted": expected } });
            assert_eq!(product["pricing"], pricing, "{site}");
        }
    }
}
