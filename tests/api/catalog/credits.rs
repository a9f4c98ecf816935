//! Who made what, both ways.

use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{album, change, create, person, product, refused, thing, works};
use crate::support::{Gateway, cuts, long_bounds, proxy::Seen, short_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn the_people_of_a_list_cost_one_command_more() {
    let base = Gateway::start().await;
    let merchant = base.merchant();
    for n in 0..20 {
        let (sku, name) = (format!("t-{n:02}"), format!("Person {n}"));
        create(&merchant, thing(&sku, "A thing")).await;
        let input =
            json!({ "sku": sku, "personId": person(&merchant, &name).await, "role": "author" });
        change(&merchant, "creditPerson", input).await;
    }
    let sends = async |fields: &str| {
        let query = format!(
            "{{ products(by: {{ titleStartsWith: {{ prefix: \"a\" }} }}, first: 20) {{
                nodes {{ contributors {{ personId name {fields} }} }} }} }}"
        );
        let read = async |gateway: &Gateway| {
            let found = gateway.anonymous().field(&query, json!({})).await;
            let nodes = found["nodes"].as_array().expect("nodes");
            assert_eq!(nodes.len(), 20);
            for one in nodes.iter().map(|node| &node["contributors"][0]) {
                let person = &one["person"];
                let expected = json!({ "id": one["personId"], "name": one["name"] });
                assert!(*person == Value::Null && fields.is_empty() || *person == expected);
            }
        };
        let sent = cuts::sent(&base, read).await;
        sent.iter().map(|seen| format!("{} {}", seen.command, seen.collection)).collect::<Vec<_>>()
    };
    assert_eq!(sends("").await, ["find products"]);
    assert_eq!(sends("person { id name }").await, ["find products", "find people"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn credits_reach_product_and_person() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, album("als-1")).await;
    let coltrane = person(&merchant, "John Coltrane").await;
    let credit = |role: &str| json!({ "sku": "als-1", "personId": coltrane, "role": role });
    let credited = change(&merchant, "creditPerson", credit("artist")).await;
    assert_eq!(
        credited["contributors"],
        json!([{ "personId": coltrane, "name": "John Coltrane", "role": "artist" }])
    );
    change(&merchant, "creditPerson", credit("composer")).await;
    let before = gateway.snapshot().await;
    change(&merchant, "creditPerson", credit("artist")).await;
    assert!(gateway.snapshot().await == before, "a repeat changes nothing");
    let roles = json!(["artist", "composer"]);
    assert_eq!(
        works(&gateway, &coltrane).await,
        [json!({ "sku": "als-1", "title": "A Love Supreme", "roles": roles })]
    );
    gateway.assert_sound().await;

    // A new title reaches the works, another description leaves them alone.
    let read = product(&gateway, "als-1").await;
    let mut content = album("als-1")["content"].clone();
    content["title"] = json!("$title");
    let update = json!({ "sku": "als-1", "version": read["version"], "content": content });
    let updated = change(&merchant, "updateProduct", update).await;
    assert_eq!(works(&gateway, &coltrane).await[0]["title"], "$title");
    content["description"] = json!("Another");
    let update = json!({ "sku": "als-1", "version": updated["version"], "content": content });
    change(&merchant, "updateProduct", update).await;
    gateway.assert_sound().await;

    change(&merchant, "uncreditPerson", credit("artist")).await;
    assert_eq!(works(&gateway, &coltrane).await[0]["roles"], json!(["composer"]));
    let gone = change(&merchant, "uncreditPerson", credit("composer")).await;
    assert_eq!(gone["contributors"], json!([]));
    assert!(works(&gateway, &coltrane).await.is_empty());
    let before = gateway.snapshot().await;
    change(&merchant, "uncreditPerson", credit("composer")).await;
    assert!(gateway.snapshot().await == before, "a repeat changes nothing");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_credited_is_refused() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    let made = create(&merchant, album("als-1")).await;
    let someone = person(&merchant, "Someone").await;
    for name in ["creditPerson", "uncreditPerson"] {
        for id in ["nonsense", made["id"].as_str().expect("an id"), "$ne"] {
            let input = json!({ "sku": "als-1", "personId": id, "role": "artist" });
            assert_eq!(refused(&gateway, name, input, "NotFound").await["what"], "person");
        }
        let input = json!({ "sku": "nothing", "personId": someone, "role": "artist" });
        assert_eq!(refused(&gateway, name, input, "NotFound").await["what"], "product");
        let input = json!({ "sku": "$sku", "personId": someone, "role": "artist" });
        assert_eq!(refused(&gateway, name, input, "NotFound").await["what"], "product");
    }
    // Nobody who was made up.
    let nobody = docgate::graphql::node_id::NodeKind::PERSON.id("nobody").to_string();
    let input = json!({ "sku": "als-1", "personId": nobody, "role": "artist" });
    refused(&gateway, "creditPerson", input, "NotFound").await;

    // A product and a person can be full.
    let full: Vec<Document> = (0..100)
        .map(|n| doc! { "personId": "x", "name": "X", "nv": 1_i64, "role": format!("r{n}") })
        .collect();
    let products = gateway.database.collection::<Document>("products");
    let set = doc! { "$set": { "contributors": full } };
    products.update_one(doc! { "_id": "als-1" }, set).await.expect("full");
    let input = json!({ "sku": "als-1", "personId": someone, "role": "artist" });
    let said = refused(&gateway, "creditPerson", input, "InvalidInput").await;
    assert_eq!(said["field"], "input.role");
    create(&merchant, thing("t-1", "A thing")).await;
    let work = |n| doc! { "sku": format!("s{n}"), "title": "T", "roles": ["r"], "version": 1_i64 };
    let many: Vec<Document> = (0..2_000).map(work).collect();
    let people = gateway.database.collection::<Document>("people");
    people.update_one(doc! {}, doc! { "$set": { "works": many } }).await.expect("full");
    let input = json!({ "sku": "t-1", "personId": someone, "role": "artist" });
    let said = refused(&gateway, "creditPerson", input, "InvalidInput").await;
    assert_eq!(said["field"], "input.personId");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_at_once_both_sides_agree_in_the_end() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    let mut people = Vec::new();
    for n in 0..3 {
        create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
        people.push(person(&merchant, &format!("Person {n}")).await);
    }
    let rename =
        "mutation($input: RenamePersonInput!) { renamePerson(input: $input) { __typename } }";
    let callers = (0..72_usize).map(|n| {
        let (merchant, gateway_address) = (merchant.clone(), people[n % 3].clone());
        tokio::spawn(async move {
            let sku = format!("t-{}", n / 3 % 3);
            let role = ["author", "editor"][n / 9 % 2];
            let credit = json!({ "sku": sku, "personId": gateway_address, "role": role });
            match n / 18 {
                0 | 2 => {
                    change(&merchant, "creditPerson", credit).await;
                }
                1 => {
                    change(&merchant, "uncreditPerson", credit).await;
                }
                _ => {
                    let input = json!({ "personId": gateway_address, "name": format!("Name {n}") });
                    merchant.field(rename, json!({ "input": input })).await;
                }
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("an answer");
    }
    gateway.assert_sound().await;
    let raw = gateway.database.collection::<Document>("products");
    for field in ["outbox.at", "copying.at"] {
        let left = raw.count_documents(doc! { field: { "$exists": true } }).await.expect("a count");
        assert_eq!(left, 0, "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stones_keep_late_passes_away_and_then_go() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "A thing")).await;
    let someone = person(&merchant, "Someone").await;
    let credit = json!({ "sku": "t-1", "personId": someone, "role": "author" });
    change(&merchant, "creditPerson", credit.clone()).await;
    change(&merchant, "uncreditPerson", credit.clone()).await;
    let raw = gateway.database.collection::<Document>("people");
    let stone = raw.find_one(doc! {}).await.expect("read").expect("there");
    let works = stone.get_array("works").expect("works");
    let work = works[0].as_document().expect("a stone");
    assert!(works.len() == 1 && work.get_array("roles").expect("roles").is_empty());

    // A pass that read the product before the credit was taken back comes too late.
    let late = docgate::domains::people::Work {
        sku: "t-1".into(),
        title: "A thing".into(),
        roles: vec!["author".into()],
        version: work.get_i64("version").expect("a version") - 1,
        removed_at: None,
    };
    let id = stone.get_str("_id").expect("an id");
    let run = gateway.begin().await;
    let give = docgate::domains::people::operations::apply_work;
    give(&gateway.app, id, &late, &run).await.expect("nothing to do");
    assert!(super::works(&gateway, &someone).await.is_empty());

    gateway.sweep().await;
    let swept = raw.find_one(doc! {}).await.expect("read").expect("there");
    assert!(swept.get_array("works").expect("works").is_empty());
    // By then the late pass has no time left.
    assert!(give(&gateway.app, id, &late, &run).await.is_err());
    assert!(super::works(&gateway, &someone).await.is_empty());
    // And the work can come back.
    change(&merchant, "creditPerson", credit).await;
    assert_eq!(super::works(&gateway, &someone).await.len(), 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credit_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
            (format!("t-{n}"), person(&merchant, "Someone").await)
        },
        async |gateway, (sku, someone)| {
            let input = json!({ "input": { "sku": sku, "personId": someone, "role": "author" } });
            let credit = super::mutation("creditPerson");
            gateway.merchant().send(&credit, input).await.ok();
        },
        async |gateway, case| {
            let (sku, someone) = &case.subject;
            let product = product(gateway, sku).await;
            assert_eq!(product["contributors"].as_array().map(Vec::len), Some(1), "{case:?}");
            assert_eq!(works(gateway, someone).await.len(), 1, "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_a_credit_back_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
            let someone = person(&merchant, "Someone").await;
            let input = json!({ "sku": format!("t-{n}"), "personId": someone, "role": "author" });
            change(&merchant, "creditPerson", input).await;
            (format!("t-{n}"), someone)
        },
        async |gateway, (sku, someone)| {
            let input = json!({ "input": { "sku": sku, "personId": someone, "role": "author" } });
            let uncredit = super::mutation("uncreditPerson");
            gateway.merchant().send(&uncredit, input).await.ok();
        },
        async |gateway, case| {
            let (sku, someone) = &case.subject;
            assert_eq!(product(gateway, sku).await["contributors"], json!([]), "{case:?}");
            assert!(works(gateway, someone).await.is_empty(), "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_title_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let merchant = gateway.merchant();
            let made = create(&merchant, thing(&format!("t-{n}"), "A thing")).await;
            let mut people = Vec::new();
            for role in ["author", "editor"] {
                let someone = person(&merchant, "Someone").await;
                let input = json!({ "sku": made["sku"], "personId": someone, "role": role });
                change(&merchant, "creditPerson", input).await;
                people.push(someone);
            }
            (made, people)
        },
        async |gateway, (made, _)| {
            let mut content = thing("", "Another title")["content"].clone();
            content["title"] = json!("Another title");
            let input =
                json!({ "sku": made["sku"], "version": made["version"], "content": content });
            let update = super::mutation("updateProduct");
            gateway.merchant().send(&update, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            for someone in &case.subject.1 {
                assert_eq!(works(gateway, someone).await[0]["title"], "Another title", "{case:?}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_credit_undoes_no_later_change() {
    let base = Gateway::start().await;
    let merchant = base.merchant();
    create(&merchant, thing("t-1", "A thing")).await;
    let author = person(&merchant, "An author").await;
    let input = json!({ "sku": "t-1", "personId": author, "role": "author" });
    let credited = json!([{ "personId": author, "name": "An author", "role": "author" }]);
    let is_change = |seen: &Seen| seen.collection == "products" && seen.command == "findAndModify";
    for (field, undoing, left) in [
        ("creditPerson", "uncreditPerson", json!([])),
        ("uncreditPerson", "creditPerson", credited),
    ] {
        // The second round begins with the credit.
        if field == "uncreditPerson" {
            change(&merchant, "creditPerson", input.clone()).await;
        }
        let first = async |gateway: &Gateway| {
            change(&gateway.merchant(), field, input.clone()).await;
        };
        let later = async || {
            change(&merchant, undoing, input.clone()).await;
        };
        cuts::with_late_copy(&base, is_change, first, later).await;
        assert_eq!(product(&base, "t-1").await["contributors"], left, "{field}");
        base.assert_sound().await;
    }
}
