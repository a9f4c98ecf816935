//! Lists that combine conditions: what they contain, in which order, by which index, and what is refused.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{
    category, change, create,
    lists::{album_of, generic, item, page, read, skus, skus_from_the_end},
    person,
};
use crate::{
    categories::facets::follow,
    support::{Gateway, commands, long_bounds},
};

/// One product of the tests, with what decides its place in lists.
#[derive(Debug, Clone)]
struct Made {
    number: i64,
    sku: String,
    title: String,
    issued: Option<String>,
    retail: i64,
    kind: &'static str,
    place: Option<&'static str>,
}

const MANY: i64 = 40;

/// The products: three types in three places, some at none; titles, prices and dates repeat.
fn made() -> Vec<Made> {
    let one = |number: i64| Made {
        number,
        sku: format!("p-{number:02}"),
        title: format!("Title {}", number % 7),
        issued: (number % 6 > 0).then(|| format!("20{:02}-01-01", number % 11)),
        retail: (number * 37 % 11) * 100,
        kind: ["album", "book", "thing"][usize::try_from(number % 3).expect("a place")],
        place: [Some("/music/jazz"), Some("/music"), Some("/books"), None]
            [usize::try_from(number % 4).expect("a place")],
    };
    (0..MANY).map(one).collect()
}

impl Made {
    fn is_jazz(&self) -> bool {
        self.kind != "thing" && self.number % 2 == 0
    }

    fn is_red(&self) -> bool {
        self.kind == "thing" && self.number % 2 == 0
    }

    fn currency(&self) -> &'static str {
        if self.number % 10 == 9 { "USD" } else { "EUR" }
    }

    fn percent(&self) -> i64 {
        (1_000 - self.retail) / 10
    }

    fn is_credited(&self) -> bool {
        self.kind == "book" && self.number < 30
    }

    fn is_below(&self, path: &str) -> bool {
        self.place.is_some_and(|place| place == path || place.starts_with(&format!("{path}/")))
    }

    fn line(&self) -> Value {
        let genres: &[&str] = if self.is_jazz() { &["Jazz", "Bop"] } else { &["Rock"] };
        let colour = if self.is_red() { "red" } else { "blue" };
        let details = match self.kind {
            "album" => album_of(genres),
            "book" => json!({ "book": { "genres": genres } }),
            _ => generic(&[("colour", colour), ("size", "9")]),
        };
        let prices = [1_000, self.retail];
        let mut line = item(&self.sku, &self.title, prices, details, self.issued.as_deref());
        line["pricing"]["currency"] = json!(self.currency());
        line["categories"] = json!(self.place.into_iter().collect::<Vec<_>>());
        line
    }
}

/// The SKUs for which the condition holds, in this order.
fn expected(holds: impl Fn(&Made) -> bool, order: &str) -> Vec<String> {
    let mut all: Vec<Made> = made().into_iter().filter(|one| holds(one)).collect();
    all.sort_by(|left, right| {
        let by_sku = left.sku.cmp(&right.sku);
        match order {
            "NEWEST" => right.issued.cmp(&left.issued).then(by_sku),
            "TITLE" => left.title.cmp(&right.title).then(by_sku),
            "DISCOUNT" => right.percent().cmp(&left.percent()).then(by_sku),
            "PRICE_UP" => left.retail.cmp(&right.retail).then(by_sku),
            "PRICE_DOWN" => right.retail.cmp(&left.retail).then(by_sku.reverse()),
            _ => by_sku,
        }
    });
    all.into_iter().map(|one| one.sku).collect()
}

/// A gateway with the products; also returns the global id of their author.
async fn filled() -> (Gateway, String) {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    category(&merchant, "jazz", Some(&music)).await;
    category(&merchant, "books", None).await;
    let lines: Vec<Value> = made().iter().map(Made::line).collect();
    let lines: Vec<docgate::domains::catalog::ImportProduct> =
        serde_json::from_value(lines.into()).expect("lines");
    let said = docgate::domains::catalog::operations::import(&gateway.app, &lines).await;
    assert!(said.expect("imported").iter().all(Result::is_ok));
    let author = person(&merchant, "Someone").await;
    for one in made().iter().filter(|one| one.is_credited()) {
        let input = json!({ "sku": one.sku, "personId": author, "role": "author" });
        change(&merchant, "creditPerson", input).await;
    }
    (gateway, author)
}

/// Fails unless the command is read by this index, without a sort in memory.
pub(super) async fn assert_range(gateway: &Gateway, command: &Document, index: &str) {
    let explain = doc! { "explain": command.clone(), "verbosity": "queryPlanner" };
    let plan = gateway.database.run_command(explain).await.expect("a plan");
    let plan = plan.get_document("queryPlanner").expect("a plan").get("winningPlan");
    let plan = plan.expect("a plan").to_string();
    assert!(plan.contains("IXSCAN") && plan.contains(&format!("\"{index}\"")), "{index}: {plan}");
    assert!(!plan.contains("\"SORT\"") && !plan.contains("COLLSCAN"), "{index}: {plan}");
}

/// A list: the conditions, its orders with their indexes, and which products it has.
type Listed<'a> = (Value, &'a [(&'a str, &'a str)], Box<dyn Fn(&Made) -> bool>);

const BY_NEWEST: [(&str, &str); 2] =
    [("NEWEST", "category_newest"), ("DISCOUNT", "category_discount")];
const BY_PRICE: [(&str, &str); 2] =
    [("PRICE_UP", "category_price"), ("PRICE_DOWN", "category_price")];
const OF_CONTRIBUTOR: [(&str, &str); 3] =
    [("TITLE", "category_subtree"), ("DISCOUNT", "category_discount"), ("NEWEST", "credited")];
const OF_PERSON: [(&str, &str); 3] =
    [OF_CONTRIBUTOR[0], OF_CONTRIBUTOR[1], ("NEWEST", "contributed")];
const OWN_BY_PRICE: [(&str, &str); 2] =
    [("PRICE_UP", "category_own_price"), ("PRICE_DOWN", "category_own_price")];
const SUBTREE: [(&str, &str); 3] = [("TITLE", "category_subtree"), BY_NEWEST[0], BY_NEWEST[1]];
const EXACT: [(&str, &str); 3] = [
    ("TITLE", "category"),
    ("NEWEST", "category_own_newest"),
    ("DISCOUNT", "category_own_discount"),
];

/// A list has the same products in each of its orders, in both directions, and is a range of the order's index.
async fn assert_listed(gateway: &Gateway, (conditions, orders, holds): &Listed<'_>) {
    let client = gateway.anonymous();
    for (order, index) in *orders {
        let mut conditions = conditions.clone();
        conditions["order"] = json!(order);
        let by = json!({ "where": conditions });
        let expected = expected(holds, order);
        assert!(!expected.is_empty(), "{by}");
        for size in [3, 100] {
            assert_eq!(skus(&client, &by, size).await, expected, "{by} by {size}");
            let backwards = skus_from_the_end(&client, &by, size).await;
            assert_eq!(backwards, expected, "{by} by {size} from the end");
        }
        let (first, command) = read(gateway, &by, &Value::Null).await;
        assert_range(gateway, &command, index).await;
        let (_, command) = read(gateway, &by, &first["pageInfo"]["endCursor"]).await;
        assert_range(gateway, &command, index).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_combination_is_one_range_of_an_index() {
    let (gateway, _author) = filled().await;
    let prices = json!({ "currency": "EUR", "min": 200, "max": 900 });
    let is_priced = |one: &Made| one.currency() == "EUR" && (200..=900).contains(&one.retail);
    let red = json!([{ "key": "size", "value": "9" }, { "key": "colour", "value": "red" }]);
    let lists: Vec<Listed<'_>> = vec![
        (
            json!({}),
            &[("NEWEST", "newest"), ("TITLE", "title"), ("DISCOUNT", "discount")],
            Box::new(|_| true),
        ),
        (
            json!({ "price": prices }),
            &[("PRICE_UP", "price"), ("PRICE_DOWN", "price")],
            Box::new(is_priced),
        ),
        (
            json!({ "discountAtLeast": 50 }),
            &[("DISCOUNT", "discount")],
            Box::new(|one| one.percent() >= 50),
        ),
        (
            json!({ "category": { "subtree": "/music" } }),
            &SUBTREE,
            Box::new(|one| one.is_below("/music")),
        ),
        (
            json!({ "category": { "exact": "/music" } }),
            &EXACT,
            Box::new(|one| one.place == Some("/music")),
        ),
        (
            json!({ "category": { "children": "/music" } }),
            &[("TITLE", "category_children")],
            Box::new(|one| one.place == Some("/music/jazz")),
        ),
        (
            json!({ "category": { "subtree": "/music" }, "price": prices }),
            &BY_PRICE,
            Box::new(move |one| one.is_below("/music") && is_priced(one)),
        ),
        (
            json!({ "category": { "exact": "/music" }, "price": prices }),
            &OWN_BY_PRICE,
            Box::new(move |one| one.place == Some("/music") && is_priced(one)),
        ),
        (
            json!({ "category": { "subtree": "/music" }, "price": prices, "type": "album",
                "genre": "Jazz", "discountAtLeast": 20 }),
            &SUBTREE,
            Box::new(move |one| {
                one.is_below("/music")
                    && is_priced(one)
                    && one.kind == "album"
                    && one.is_jazz()
                    && one.percent() >= 20
            }),
        ),
        (
            json!({ "category": { "subtree": "/music" }, "properties": red }),
            &SUBTREE,
            Box::new(|one| one.is_below("/music") && one.is_red()),
        ),
        (
            json!({ "type": "book" }),
            &[("NEWEST", "type_newest"), ("TITLE", "type_title")],
            Box::new(|one| one.kind == "book"),
        ),
        (
            json!({ "type": "book", "genre": "Jazz" }),
            &[("NEWEST", "genre")],
            Box::new(|one| one.kind == "book" && one.is_jazz()),
        ),
        (
            json!({ "properties": red, "price": prices }),
            &[("SKU", "property")],
            Box::new(move |one| one.is_red() && is_priced(one)),
        ),
        (
            json!({ "properties": red, "type": "thing" }),
            &[("SKU", "property")],
            Box::new(Made::is_red),
        ),
    ];
    for list in &lists {
        assert_listed(&gateway, list).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_combination_with_a_contributor_is_one_range_of_an_index() {
    let (gateway, author) = filled().await;
    let credit = |by: Value| json!({ "by": by, "role": "author", "type": "book" });
    let prices = json!({ "currency": "EUR", "min": 200, "max": 900 });
    let is_priced = |one: &Made| one.currency() == "EUR" && (200..=900).contains(&one.retail);
    let lists: Vec<Listed<'_>> = vec![
        (
            json!({ "category": { "subtree": "/music" },
                "contributor": credit(json!({ "personId": author })) }),
            &OF_CONTRIBUTOR,
            Box::new(|one| one.is_below("/music") && one.is_credited()),
        ),
        (
            json!({ "category": { "subtree": "/music" }, "contributor": { "by": { "personId": author } } }),
            &OF_PERSON,
            Box::new(|one| one.is_below("/music") && one.is_credited()),
        ),
        (
            json!({ "contributor": { "by": { "personId": author } }, "type": "book", "price": prices }),
            &[("NEWEST", "contributed")],
            Box::new(move |one| one.is_credited() && is_priced(one)),
        ),
        (
            json!({ "contributor": { "by": { "personId": author }, "role": "author" } }),
            &[("NEWEST", "contributed")],
            Box::new(Made::is_credited),
        ),
        (
            json!({ "contributor": credit(json!({ "name": "Someone" })), "price": prices }),
            &[("NEWEST", "credited_name")],
            Box::new(move |one| one.is_credited() && is_priced(one)),
        ),
    ];
    for list in &lists {
        assert_listed(&gateway, list).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_combination_has_an_order_of_its_own() {
    let (gateway, author) = filled().await;
    let credit = json!({ "by": { "personId": author }, "role": "author", "type": "book" });
    let subtree = json!({ "subtree": "/music" });
    let euros = json!({ "currency": "EUR" });
    let red = json!([{ "key": "colour", "value": "red" }]);
    for (conditions, order) in [
        (json!({}), "NEWEST"),
        (json!({ "type": "book" }), "NEWEST"),
        (json!({ "type": "book", "genre": "Jazz" }), "NEWEST"),
        (json!({ "category": subtree }), "TITLE"),
        (json!({ "category": subtree, "price": euros }), "TITLE"),
        (json!({ "category": subtree, "contributor": credit }), "NEWEST"),
        (json!({ "price": euros }), "PRICE_UP"),
        (json!({ "discountAtLeast": 1 }), "DISCOUNT"),
        (json!({ "properties": red }), "SKU"),
    ] {
        let mut ordered = conditions.clone();
        ordered["order"] = json!(order);
        let list = async |conditions: Value| {
            skus(&gateway.anonymous(), &json!({ "where": conditions }), 100).await
        };
        assert_eq!(list(conditions.clone()).await, list(ordered).await, "{conditions}");
    }
}

/// Conditions, and which products meet them.
type Found = (Value, Box<dyn Fn(&Made) -> bool>);

#[tokio::test(flavor = "multi_thread")]
async fn words_are_combined_with_every_condition() {
    let (gateway, author) = filled().await;
    let client = gateway.anonymous();
    let credit = json!({ "by": { "personId": author }, "role": "author", "type": "book" });
    let all: Vec<Found> = vec![
        (json!({}), Box::new(|_| true)),
        (json!({ "category": { "subtree": "/music" } }), Box::new(|one| one.is_below("/music"))),
        (json!({ "type": "book" }), Box::new(|one| one.kind == "book")),
        (json!({ "contributor": credit }), Box::new(Made::is_credited)),
        (
            json!({ "price": { "currency": "EUR", "max": 300 } }),
            Box::new(|one| one.currency() == "EUR" && one.retail <= 300),
        ),
    ];
    for (conditions, holds) in all {
        let mut conditions = conditions;
        conditions["text"] = json!({ "query": "title" });
        let by = json!({ "where": conditions });
        let found = skus(&client, &by, 7).await;
        assert_eq!(skus_from_the_end(&client, &by, 7).await, found, "{by}");
        let mut sorted = found;
        sorted.sort();
        assert_eq!(sorted, expected(holds, "SKU"), "{by}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_combinations_are_refused_by_name() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let list = "query($by: ProductsBy!) { products(by: $by) { nodes { sku } } }";
    let someone = docgate::graphql::node_id::NodeKind::PERSON.id("someone").0;
    let credit = json!({ "by": { "personId": someone }, "role": "author", "type": "book" });
    let euros = json!({ "currency": "EUR" });
    let subtree = json!({ "subtree": "/music" });
    let words = json!({ "query": "word" });
    let red = json!([{ "key": "colour", "value": "red" }]);
    for (conditions, field) in [
        (json!({ "order": "PRICE_UP" }), "order"),
        (json!({ "order": "SKU" }), "order"),
        (json!({ "genre": "Jazz" }), "genre"),
        (json!({ "price": euros, "order": "NEWEST" }), "order"),
        (json!({ "price": euros, "discountAtLeast": 5 }), "discountAtLeast"),
        (json!({ "discountAtLeast": 5, "order": "TITLE" }), "order"),
        (json!({ "category": { "children": "/music" }, "order": "NEWEST" }), "order"),
        (json!({ "category": subtree, "order": "PRICE_DOWN" }), "price"),
        (json!({ "category": subtree, "order": "RELEVANCE" }), "order"),
        (json!({ "type": "album", "order": "DISCOUNT" }), "order"),
        (json!({ "type": "album", "genre": "Jazz", "order": "TITLE" }), "order"),
        (json!({ "properties": red, "order": "NEWEST" }), "order"),
        (json!({ "properties": red, "type": "thing", "order": "NEWEST" }), "order"),
        (
            json!({ "numbers": [{ "key": "length", "from": 1 }], "type": "thing", "order": "TITLE" }),
            "order",
        ),
        (json!({ "contributor": credit, "order": "TITLE" }), "order"),
        (json!({ "contributor": credit, "type": "book" }), "type"),
        (json!({ "text": words, "order": "NEWEST" }), "order"),
    ] {
        let response = client.run(list, json!({ "by": { "where": conditions } })).await;
        let error = &response["errors"][0];
        let named = (&error["extensions"]["code"], &error["extensions"]["field"]);
        let field = json!(format!("by.where.{field}"));
        assert_eq!(named, (&json!("BAD_USER_INPUT"), &field), "{conditions}: {response:#}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("TITLE, NEWEST, DISCOUNT"), "it names what there is: {message}");
    }
    for (conditions, field) in [
        (json!({ "category": { "subtree": "music" } }), "category.subtree"),
        (json!({ "type": "book", "genre": "" }), "genre"),
        (json!({ "properties": [] }), "properties"),
        (json!({ "properties": [{ "key": "", "value": "x" }] }), "properties.0.key"),
        (json!({ "text": { "query": "" } }), "text.query"),
        (json!({ "contributor": { "by": { "name": "Someone" } } }), "contributor.by.name"),
        (
            json!({ "contributor": { "by": { "name": "Someone" }, "type": "book" } }),
            "contributor.by.name",
        ),
        (json!({ "metadata": { "key": "1", "value": { "flag": true } } }), "metadata.key"),
        (json!({ "discountAtLeast": 0 }), "discountAtLeast"),
        (json!({ "price": { "currency": "EUR", "min": 2, "max": 1 } }), "price.max"),
        (json!({ "price": { "currency": "EUR", "min": -1 } }), "price.min"),
    ] {
        let response = client.run(list, json!({ "by": { "where": conditions } })).await;
        let found = &response["errors"][0]["extensions"]["field"];
        assert_eq!(*found, json!(format!("by.where.{field}")), "{conditions}: {response:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_belongs_to_its_combination() {
    let (gateway, _) = filled().await;
    let client = gateway.anonymous();
    let by = |order: &str| json!({ "where": { "type": "book", "order": order } });
    let (_, info) = page(&client, json!({ "by": by("NEWEST"), "first": 2 })).await;
    let list = "query($by: ProductsBy!, $after: String) {
        products(by: $by, after: $after) { nodes { sku } } }";
    let other = json!({ "by": by("TITLE"), "after": info["endCursor"] });
    assert_eq!(client.error_code(list, other).await, "BAD_USER_INPUT");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_total_is_known_where_it_is_stored() {
    let (gateway, _) = filled().await;
    let total = async |by: Value| {
        let list = "query($by: ProductsBy!) { products(by: $by, first: 1) { totalCount } }";
        gateway.anonymous().field(list, json!({ "by": by })).await["totalCount"].clone()
    };
    let subtree = json!({ "category": { "subtree": "/music" } });
    assert_eq!(total(subtree.clone()).await, Value::Null, "nothing was counted yet");
    follow(&gateway).await;
    let count = |path: &str| made().iter().filter(|one| one.is_below(path)).count();
    let own = made().iter().filter(|one| one.place == Some("/music")).count();
    assert_eq!(total(subtree.clone()).await, json!(count("/music")));
    assert_eq!(total(json!({ "where": subtree })).await, json!(count("/music")));
    assert_eq!(total(json!({ "category": { "exact": "/music" } })).await, json!(own));
    let newest = json!({ "category": { "exact": "/music" }, "order": "NEWEST" });
    assert_eq!(total(json!({ "where": newest })).await, json!(own));
    for other in [
        json!({ "category": { "children": "/music" } }),
        json!({ "category": { "subtree": "/nothing" } }),
        json!({ "where": {} }),
        json!({ "where": { "category": { "subtree": "/music" }, "type": "book" } }),
        // Only products with reviews are listed.
        json!({ "where": { "category": { "subtree": "/music" }, "order": "RATING" } }),
        json!({ "discountAtLeast": 1 }),
    ] {
        assert_eq!(total(other.clone()).await, Value::Null, "{other}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn books_have_genres() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let details = json!({ "book": { "genres": ["Crime", "Noir"] } });
    create(&merchant, item("b", "B", [1, 1], details, None)).await;
    let query = "{ product(sku: \"b\") { ... on Book { genres } } }";
    let book = gateway.anonymous().field(query, json!({})).await;
    assert_eq!(book["genres"], json!(["Crime", "Noir"]));
    create(&merchant, item("c", "C", [1, 1], json!({ "book": {} }), None)).await;
    let query = query.replace("\"b\"", "\"c\"");
    let book = gateway.anonymous().field(&query, json!({})).await;
    assert_eq!(book["genres"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn films_are_found_by_genre_newest_first() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for (sku, kind, genres, issued) in [
        ("a", "film", json!(["Noir"]), Some("1941-10-03")),
        ("b", "film", json!(["Crime", "Noir"]), Some("1944-07-03")),
        ("c", "film", json!(["Crime"]), Some("1950-06-08")),
        ("d", "book", json!(["Noir"]), Some("1939-02-06")),
        ("e", "film", json!(["Noir"]), None),
    ] {
        let details = json!({ kind: { "genres": genres } });
        create(&merchant, item(sku, "It", [1, 1], details, issued)).await;
    }
    let query = "query($where: ProductsWhere!) { products(by: { where: $where }) {
        nodes { sku ... on Film { genres } } } }";
    let found = async |genre: &str| {
        let conditions = json!({ "where": { "type": "film", "genre": genre } });
        let response = gateway.anonymous().explained(query, conditions).await;
        assert_eq!(commands(&response).len(), 1, "{response:#}");
        response["data"]["products"]["nodes"].clone()
    };
    let noir = json!([
        { "sku": "b", "genres": ["Crime", "Noir"] },
        { "sku": "a", "genres": ["Noir"] },
        { "sku": "e", "genres": ["Noir"] },
    ]);
    assert_eq!(found("Noir").await, noir);
    assert_eq!(found("noir").await, json!([]), "a genre is compared as it is");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_found_by_their_range() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let music = category(&merchant, "music", None).await;
    let cable = |number: i64| {
        let length = [2.5, 1.0, 10.0, 2.5, -3.0, 7.0][usize::try_from(number).expect("a place")];
        let numbers =
            json!([{ "key": "length", "value": length }, { "key": "cores", "value": 1.5 }]);
        let details = json!({ "generic": { "type": "cable", "numbers": numbers } });
        let mut input = item(&format!("c-{number}"), "Cable", [100, 50], details, None);
        input["categoryIds"] = if number % 2 == 0 { json!([music]) } else { json!([]) };
        input
    };
    for number in 0..6 {
        create(&merchant, cable(number)).await;
    }
    let client = gateway.anonymous();
    let query = "{ product(sku: \"c-0\") { ... on GenericProduct { numbers { key value } } } }";
    let shown = client.field(query, json!({})).await;
    let expected = json!([{ "key": "length", "value": 2.5 }, { "key": "cores", "value": 1.5 }]);
    assert_eq!(shown["numbers"], expected);

    let range = |from: Value, to: Value| json!({ "key": "length", "from": from, "to": to });
    let cores = json!({ "key": "cores", "from": 1.5, "to": 1.5 });
    for (conditions, expected) in [
        (json!({ "numbers": [range(json!(1), json!(7))] }), &["c-1", "c-0", "c-3", "c-5"][..]),
        (json!({ "numbers": [range(Value::Null, json!(1))] }), &["c-4", "c-1"]),
        (json!({ "numbers": [range(json!(2.5), Value::Null)] }), &["c-0", "c-3", "c-5", "c-2"]),
        (json!({ "numbers": [range(json!(8), json!(9))] }), &[]),
        (
            json!({ "numbers": [range(json!(2.5), json!(2.5)), cores], "order": "NUMBER" }),
            &["c-0", "c-3"],
        ),
        (
            json!({ "numbers": [range(json!(2.5), Value::Null)], "type": "cable" }),
            &["c-0", "c-3", "c-5", "c-2"],
        ),
        (json!({ "numbers": [range(json!(2.5), Value::Null)], "type": "thing" }), &[]),
        // Both halves must be of one number.
        (json!({ "numbers": [{ "key": "cores", "from": 7 }] }), &[]),
    ] {
        let by = json!({ "where": conditions });
        for size in [1, 2, 100] {
            assert_eq!(skus(&client, &by, size).await, expected, "{by} by {size}");
        }
    }
    // Beside a category they are checked, and the list can be read from its end.
    let by = json!({ "where": { "category": { "subtree": "/music" },
        "numbers": [range(json!(0), Value::Null)], "order": "NEWEST" } });
    assert_eq!(skus(&client, &by, 1).await, ["c-0", "c-2"]);
    assert_eq!(skus_from_the_end(&client, &by, 1).await, ["c-0", "c-2"]);

    let list = "query($by: ProductsBy!, $last: Int) {
        products(by: $by, last: $last) { nodes { sku } } }";
    let by = json!({ "where": { "numbers": [range(json!(1), json!(7))] } });
    let refused = client.run(list, json!({ "by": by, "last": 2 })).await;
    assert_eq!(refused["errors"][0]["extensions"]["field"], "last", "{refused:#}");
    for (numbers, field) in [
        (json!([]), ""),
        (json!([range(json!(2), json!(1))]), ".0"),
        (json!([range(Value::Null, Value::Null)]), ".0"),
        (json!([{ "key": "", "from": 1 }]), ".0.key"),
    ] {
        let by = json!({ "where": { "numbers": numbers } });
        let refused = client.run(list, json!({ "by": by })).await;
        let named = &refused["errors"][0]["extensions"]["field"];
        assert_eq!(*named, json!(format!("by.where.numbers{field}")), "{refused:#}");
    }

    // A key is given once; an update without numbers removes them.
    let twice = json!([{ "key": "length", "value": 1 }, { "key": "length", "value": 2 }]);
    let details = json!({ "generic": { "type": "cable", "numbers": twice } });
    let refusal = change(&merchant, "createProduct", item("x", "X", [1, 1], details, None)).await;
    assert_eq!(refusal["__typename"], "InvalidInput", "{refusal:#}");
    let version = super::product(&gateway, "c-1").await["version"].clone();
    let content = json!({ "title": "Cable", "details": { "generic": { "type": "cable" } } });
    let input = json!({ "sku": "c-1", "version": version, "content": content });
    change(&merchant, "updateProduct", input).await;
    let by = json!({ "where": { "numbers": [range(json!(0), json!(2))] } });
    assert!(skus(&client, &by, 10).await.is_empty());
    gateway.assert_sound().await;
}
