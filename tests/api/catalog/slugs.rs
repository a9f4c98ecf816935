//! Slugs of products: one product each, also the former ones, whoever calls at once and wherever a call is cut.

use docgate::domains::catalog::{ImportProduct, operations::import};
use serde_json::{Value, json};

use super::{create, product, thing};
use crate::{
    commands::sends_only,
    support::{Client, Gateway, commands, cuts, long_bounds, proxy::Seen, short_bounds},
};

const SET: &str = "mutation($input: SetProductSlugInput!) { setProductSlug(input: $input) {
    __typename ... on Product { sku slug formerSlugs } ... on UserError { code message }
    ... on InvalidInput { field } ... on AlreadyExists { taken: id } ... on NotFound { what } } }";
const READ: &str = "query($slug: Slug!) { product(by: { slug: $slug }) { sku slug formerSlugs } }";

async fn set(client: &Client, sku: &str, slug: Option<&str>) -> Value {
    client.field(SET, json!({ "input": { "sku": sku, "slug": slug } })).await
}

/// The SKU and the present slug of the product with a slug.
async fn found(gateway: &Gateway, slug: &str) -> Option<(String, String)> {
    let found = gateway.anonymous().field(READ, json!({ "slug": slug })).await;
    Some((found["sku"].as_str()?.to_owned(), found["slug"].as_str()?.to_owned()))
}

fn is(sku: &str, slug: &str) -> (String, String) {
    (sku.to_owned(), slug.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slug_is_given_or_derived_and_former_ones_still_lead_there() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "Così fan TUTTE, K. 588")).await;
    let of = set(&merchant, "t-1", None).await;
    assert_eq!((&of["slug"], &of["formerSlugs"]), (&json!("cosi-fan-tutte-k-588"), &json!([])));
    let of = set(&merchant, "t-1", Some("cosi")).await;
    assert_eq!(of["formerSlugs"], json!(["cosi-fan-tutte-k-588"]));
    assert_eq!(found(&gateway, "cosi").await, Some(is("t-1", "cosi")));
    assert_eq!(found(&gateway, "cosi-fan-tutte-k-588").await, Some(is("t-1", "cosi")));
    assert_eq!(found(&gateway, "nothing").await, None);
    // Back to a former one.
    let of = set(&merchant, "t-1", Some("cosi-fan-tutte-k-588")).await;
    assert_eq!(of["formerSlugs"], json!(["cosi"]));
    assert_eq!(found(&gateway, "cosi").await, Some(is("t-1", "cosi-fan-tutte-k-588")));

    let response = gateway.anonymous().explained(READ, json!({ "slug": "cosi" })).await;
    assert_eq!(commands(&response), ["find products"]);
    // A repeat changes nothing.
    let before = gateway.snapshot().await;
    assert_eq!(set(&merchant, "t-1", None).await["slug"], "cosi-fan-tutte-k-588");
    assert!(gateway.snapshot().await == before);
    // Exactly one key is needed.
    for query in
        ["{ product { sku } }", "{ product(sku: \"t-1\", by: { slug: \"cosi\" }) { sku } }"]
    {
        assert_eq!(gateway.anonymous().error_code(query, json!({})).await, "BAD_USER_INPUT");
    }
    let by_sku = "{ product(by: { sku: \"t-1\" }) { sku } }";
    assert_eq!(gateway.anonymous().field(by_sku, json!({})).await["sku"], "t-1");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cant_be_a_slug_is_refused() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "One")).await;
    create(&merchant, thing("t-2", "Two")).await;
    create(&merchant, thing("genji", "源氏物語")).await;
    for slug in ["one", "uno"] {
        assert_eq!(set(&merchant, "t-1", Some(slug)).await["slug"], slug);
    }
    let before = gateway.snapshot().await;
    for slug in ["one", "uno"] {
        let refused = set(&merchant, "t-2", Some(slug)).await;
        assert_eq!(
            (&refused["__typename"], &refused["code"]),
            (&json!("AlreadyExists"), &json!("ALREADY_EXISTS"))
        );
        assert_eq!(refused["taken"], slug);
    }
    let refused = set(&merchant, "genji", None).await;
    assert_eq!(
        (&refused["__typename"], &refused["field"]),
        (&json!("InvalidInput"), &json!("input.slug"))
    );
    assert_eq!(set(&merchant, "nothing", Some("x")).await["what"], "product");
    for slug in ["", "A", "a b", "a--b", "-a", "$ne", "a.b", "é", &"x".repeat(65)] {
        let input = json!({ "input": { "sku": "t-2", "slug": slug } });
        assert_eq!(merchant.error_code(SET, input).await, "BAD_USER_INPUT", "{slug:?}");
        let read = gateway.anonymous().error_code(READ, json!({ "slug": slug })).await;
        assert_eq!(read, "BAD_USER_INPUT", "{slug:?}");
    }
    let input = json!({ "input": { "sku": "t-2", "slug": "two" } });
    assert_eq!(gateway.shopper("ann").error_code(SET, input).await, "FORBIDDEN");
    assert!(gateway.snapshot().await == before);

    for n in 2..20 {
        assert_eq!(
            set(&merchant, "t-1", Some(&format!("s-{n}"))).await["__typename"],
            "GenericProduct"
        );
    }
    let before = gateway.snapshot().await;
    assert_eq!(set(&merchant, "t-1", Some("s-20")).await["field"], "input.slug");
    assert!(gateway.snapshot().await == before);
    assert_eq!(set(&merchant, "t-1", Some("one")).await["slug"], "one");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_callers_at_once_one_product_gets_the_slug() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    for n in 0..8 {
        create(&merchant, thing(&format!("t-{n}"), "The same title")).await;
    }
    let callers = (0..16).map(|n| {
        let merchant = merchant.clone();
        tokio::spawn(async move { set(&merchant, &format!("t-{}", n % 8), None).await })
    });
    let mut winners = Vec::new();
    for caller in callers.collect::<Vec<_>>() {
        let answer = caller.await.expect("an answer");
        match answer["sku"].as_str() {
            Some(sku) => winners.push(sku.to_owned()),
            None => assert_eq!(answer["__typename"], "AlreadyExists", "{answer:#}"),
        }
    }
    winners.dedup();
    assert_eq!(winners.len(), 1, "{winners:?}");
    assert_eq!(found(&gateway, "the-same-title").await, Some(is(&winners[0], "the-same-title")));

    // Two slugs for one product at once: both are its own.
    let callers = (0..8).map(|n| {
        let merchant = merchant.clone();
        tokio::spawn(async move { set(&merchant, "t-0", Some(&format!("own-{n}"))).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert_eq!(caller.await.expect("an answer")["sku"], "t-0");
    }
    for n in 0..8 {
        let found = found(&gateway, &format!("own-{n}")).await;
        assert_eq!(found.map(|(sku, _)| sku).as_deref(), Some("t-0"));
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_frees_the_slugs() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "One")).await;
    create(&merchant, thing("t-2", "Two")).await;
    set(&merchant, "t-1", Some("one")).await;
    set(&merchant, "t-1", Some("uno")).await;
    let delete =
        "mutation($input: DeleteProductInput!) { deleteProduct(input: $input) { __typename } }";
    merchant.field(delete, json!({ "input": { "sku": "t-1" } })).await;
    for slug in ["one", "uno"] {
        assert_eq!(found(&gateway, slug).await, None);
        // As the SKU, it is free when nobody can be left who knew the product.
        assert_eq!(set(&merchant, "t-2", Some(slug)).await["__typename"], "AlreadyExists");
    }
    assert_eq!(set(&merchant, "t-1", Some("eins")).await["what"], "product");
    gateway.assert_sound().await;
    gateway.sweep().await;
    for slug in ["one", "uno"] {
        assert_eq!(set(&merchant, "t-2", Some(slug)).await["slug"], slug);
        assert_eq!(found(&gateway, slug).await, Some(is("t-2", slug)));
    }
    create(&merchant, thing("t-1", "One")).await;
    assert_eq!(product(&gateway, "t-1").await["title"], "One");
    assert_eq!(set(&merchant, "t-1", None).await["__typename"], "AlreadyExists");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slug_is_set_by_three_commands() {
    let base = Gateway::start().await;
    create(&base.merchant(), thing("t-1", "One")).await;
    let flow = async |gateway: &Gateway| {
        assert_eq!(set(&gateway.merchant(), "t-1", None).await["slug"], "one");
    };
    let expected = ["find products", "insert productSlugs", "findAndModify products"];
    sends_only(&base, flow, &expected).await;
    // A repeat only reads.
    sends_only(&base, flow, &["find products"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_a_slug_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("t-{n}");
            create(&gateway.merchant(), thing(&sku, "A thing")).await;
            set(&gateway.merchant(), &sku, Some(&format!("former-{n}"))).await;
            sku
        },
        async |gateway, sku| {
            let input = json!({ "sku": sku, "slug": format!("new-{sku}") });
            gateway.merchant().send(SET, json!({ "input": input })).await.ok();
        },
        async |gateway, case| {
            let sku = &case.subject;
            let slug = format!("new-{sku}");
            assert_eq!(found(gateway, &slug).await, Some(is(sku, &slug)), "{case:?}");
            let former = sku.replace("t-", "former-");
            assert_eq!(found(gateway, &former).await, Some(is(sku, &slug)), "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_was_cut_is_free_again() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "One")).await;
    create(&merchant, thing("t-2", "Two")).await;
    set(&merchant, "t-1", Some("kept")).await;
    // As a call leaves it that was cut after its claim.
    let claims = gateway.raw("productSlugs");
    let mut claim = claims
        .find_one(mongodb::bson::doc! { "_id": "kept" })
        .await
        .expect("read")
        .expect("a claim");
    claim.insert("_id", "cut");
    claims.insert_one(claim).await.expect("inserted");
    assert_eq!(set(&merchant, "t-2", Some("cut")).await["__typename"], "AlreadyExists");
    assert_eq!(found(&gateway, "cut").await, None);
    gateway.sweep().await;
    assert_eq!(set(&merchant, "t-2", Some("cut")).await["slug"], "cut");
    assert_eq!(set(&merchant, "t-2", Some("kept")).await["__typename"], "AlreadyExists");
    gateway.sweep().await;
    let unsettled = mongodb::bson::doc! { "claimedAt": { "$exists": true } };
    assert_eq!(claims.count_documents(unsettled).await.expect("a count"), 0);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_an_import_set_slugs() {
    let gateway = Gateway::start().await;
    let line = |sku: &str, slug: Value| {
        let mut line = thing(sku, "A thing");
        line["slug"] = slug;
        line
    };
    let run = async |lines: Value| {
        let lines: Vec<ImportProduct> = serde_json::from_value(lines).expect("lines");
        let said = import(&gateway.app, &lines).await.expect("imported");
        said.into_iter().map(|said| said.map_err(|refused| refused.fault.field)).collect::<Vec<_>>()
    };
    let lines =
        json!([line("t-1", json!("one")), line("t-2", Value::Null), line("t-3", json!("three"))]);
    for _ in 0..2 {
        assert_eq!(run(lines.clone()).await, [Ok(()), Ok(()), Ok(())]);
        assert_eq!(found(&gateway, "one").await, Some(is("t-1", "one")));
        assert_eq!(found(&gateway, "three").await, Some(is("t-3", "three")));
    }
    // Without a slug the product keeps its own; one that another product has is refused.
    let lines =
        json!([line("t-1", Value::Null), line("t-2", json!("three")), line("t-3", json!("drei"))]);
    assert_eq!(run(lines).await, [Ok(()), Err("input.slug".to_owned()), Ok(())]);
    assert_eq!(found(&gateway, "one").await, Some(is("t-1", "one")));
    assert_eq!(found(&gateway, "three").await, Some(is("t-3", "drei")));
    assert_eq!(product(&gateway, "t-2").await["title"], "A thing");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_slug_undoes_no_later_one() {
    let base = Gateway::start().await;
    create(&base.merchant(), thing("t-1", "A thing")).await;
    let is_change = |seen: &Seen| seen.collection == "products" && seen.command == "findAndModify";
    let first = async |gateway: &Gateway| {
        assert_eq!(set(&gateway.merchant(), "t-1", Some("one")).await["slug"], "one");
    };
    let later = async || {
        assert_eq!(set(&base.merchant(), "t-1", Some("two")).await["slug"], "two");
    };
    cuts::with_late_copy(&base, is_change, first, later).await;
    assert_eq!(found(&base, "one").await, Some(is("t-1", "two")));
    base.assert_sound().await;
}
