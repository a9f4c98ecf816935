//! What operators can watch, as Prometheus reads it.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use mongodb::bson::doc;
use serde_json::json;

use crate::{
    cli::{Running, on},
    shop::{add, cart, stocked},
    support::{Gateway, fresh_name, http, now_seconds, proxy::Cut, short_bounds, until},
};

/// Samples by name and labels, as they are written.
pub struct Samples(BTreeMap<String, f64>);

impl Samples {
    pub async fn of(gateway: &Gateway) -> Self {
        Self::at(&gateway.address.to_string()).await
    }

    async fn at(address: &str) -> Self {
        let response =
            http().get(format!("http://{address}/metrics")).send().await.expect("an answer");
        let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
        assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
        Self::read(&response.text().await.expect("text"))
    }

    /// Fails at a line that isn't of the format, and at a sample that nothing describes.
    fn read(text: &str) -> Self {
        let mut samples = BTreeMap::new();
        let mut described = String::new();
        for line in text.strip_suffix("# EOF\n").expect("an end").lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let mut words = comment.split(' ');
                let (kind, name) = (words.next(), words.next().expect("a name"));
                assert!(matches!(kind, Some("HELP" | "TYPE")), "{line}");
                name.clone_into(&mut described);
                continue;
            }
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            let suffix = name.split('{').next().expect("a name").strip_prefix(&described);
            let suffix = suffix.unwrap_or_else(|| panic!("{line} stands below {described}"));
            let suffixes = ["", "_total", "_sum", "_count", "_bucket", "_info"];
            assert!(suffixes.contains(&suffix), "{line}");
            assert!(name.starts_with("docgate_"), "{line}");
            let twice = samples.insert(name.to_owned(), value.parse().expect("a number"));
            assert!(twice.is_none(), "{line} stands there twice");
        }
        Self(samples)
    }

    pub fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(0.0)
    }

    /// What of `name` came since `before`.
    fn more(&self, before: &Self, name: &str) -> f64 {
        self.get(name) - before.get(name)
    }

    fn has_text(&self, text: &str) -> bool {
        self.0.keys().any(|name| name.contains(text))
    }
}

fn assert_is(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-9, "{found} instead of {wanted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_counted_by_type_root_field_and_outcome() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let before = Samples::of(&gateway).await;
    let named = "query ChosenByAClient { alias: stock(sku: \"chosen-value\") { available } }";
    for _ in 0..3 {
        anyone.run(named, json!({})).await;
    }
    let behind_fragments =
        "{ ...F } fragment F on Query { ... on Query { stock(sku: \"x\") { sku } } }";
    anyone.run(behind_fragments, json!({})).await;
    let receive = "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    anyone.run(receive, json!({})).await;
    gateway.shopper("someone").run(receive, json!({})).await;
    anyone.run("{ chosenField }", json!({})).await;
    anyone.run("{ chosen ", json!({})).await;
    anyone.run("{ ...A } fragment A on Query { ...A }", json!({})).await;
    anyone.run("{ __typename }", json!({})).await;

    let after = Samples::of(&gateway).await;
    for (labels, count) in [
        ("type=\"query\",field=\"stock\",outcome=\"ok\"", 4.0),
        ("type=\"mutation\",field=\"receiveStock\",outcome=\"UNAUTHENTICATED\"", 1.0),
        ("type=\"mutation\",field=\"receiveStock\",outcome=\"FORBIDDEN\"", 1.0),
        ("type=\"query\",field=\"other\",outcome=\"BAD_USER_INPUT\"", 1.0),
        ("type=\"none\",field=\"other\",outcome=\"BAD_USER_INPUT\"", 1.0),
        ("type=\"query\",field=\"__typename\",outcome=\"ok\"", 1.0),
    ] {
        let name = format!("docgate_operations_total{{{labels}}}");
        assert_is(after.more(&before, &name), count);
    }
    let took = |part: &str| {
        let name = format!("docgate_operation_duration_seconds_{part}");
        after.more(&before, &name)
    };
    assert_is(took("count{type=\"query\",field=\"stock\"}"), 4.0);
    assert_is(took("bucket{le=\"+Inf\",type=\"query\",field=\"stock\"}"), 4.0);
    assert!(took("sum{type=\"query\",field=\"stock\"}") > 0.0);
    assert_is(took("count{type=\"mutation\",field=\"receiveStock\"}"), 2.0);
    // Where there is no stock its product is looked for: two commands each. The other queries asked for
    // nothing.
    assert_is(after.more(&before, "docgate_operation_commands_count{type=\"query\"}"), 6.0);
    assert_is(after.more(&before, "docgate_operation_commands_sum{type=\"query\"}"), 8.0);
    let none = "docgate_operation_commands_bucket{le=\"0.0\",type=\"query\"}";
    assert_is(after.more(&before, none), 2.0);
    for text in ["ChosenByAClient", "alias", "chosen-value", "chosenField"] {
        assert!(!after.has_text(text), "{text} is a label");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_counted_by_room_mutation_and_type() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 1).await;
    let anyone = gateway.anonymous();
    let cart = cart(&anyone, "RESERVE", &[]).await;
    for _ in 0..2 {
        assert_eq!(add(&anyone, &cart, "a", 5).await["__typename"], "InsufficientStock");
    }
    assert_eq!(add(&anyone, &cart, "nothing", 1).await["__typename"], "NotFound");
    let transfer = "mutation($input: TransferInput!) { transfer(input: $input) { __typename } }";
    let input = json!({ "sourceId": "x", "destinationId": "y", "amount": 1 });
    let refused = gateway.shopper("someone").field(transfer, json!({ "input": input })).await;
    assert_eq!(refused["__typename"], "NotFound");
    let samples = Samples::of(&gateway).await;
    for (labels, count) in [
        ("room=\"carts\",mutation=\"addCartLine\",refusal=\"InsufficientStock\"", 2.0),
        ("room=\"carts\",mutation=\"addCartLine\",refusal=\"NotFound\"", 1.0),
        ("room=\"transfers\",mutation=\"transfer\",refusal=\"NotFound\"", 1.0),
    ] {
        assert_is(samples.get(&format!("docgate_refusals_total{{{labels}}}")), count);
    }
    // Each of them was answered as it should be.
    let answered =
        "docgate_operations_total{type=\"mutation\",field=\"addCartLine\",outcome=\"ok\"}";
    assert_is(samples.get(answered), 3.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_are_no_operation_are_counted_too() {
    let gateway = Gateway::start().await;
    let forged = gateway.client(Some("forged".to_owned()));
    assert_eq!(forged.error_code("{ __typename }", json!({})).await, "UNAUTHENTICATED");
    let url = gateway.anonymous().url;
    http().post(&url).body("nonsense").send().await.expect("an answer");
    let samples = Samples::of(&gateway).await;
    for code in ["UNAUTHENTICATED", "BAD_USER_INPUT"] {
        let name = format!("docgate_requests_rejected_total{{code=\"{code}\"}}");
        assert_is(samples.get(&name), 1.0);
    }
    assert!(!samples.has_text("docgate_operations_total"), "none of them was an operation");
    assert!(samples.has_text("docgate_build_info{version=\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_is_not_run_as_asked_for_counts_once() {
    let gateway = Gateway::start().await;
    let text = "mutation { openAccount(input: {currency: \"EUR\"}) { __typename } }";
    let url = reqwest::Url::parse_with_params(&gateway.anonymous().url, [("query", text)]);
    let answer = http().get(url.expect("a URL")).send().await.expect("an answer");
    assert_eq!(answer.status(), 405);
    let samples = Samples::of(&gateway).await;
    let counted = |outcome| {
        let labels = format!("type=\"mutation\",field=\"openAccount\",outcome=\"{outcome}\"");
        format!("docgate_operations_total{{{labels}}}")
    };
    assert_is(samples.get(&counted("BAD_USER_INPUT")), 1.0);
    assert!(!samples.has_text(&counted("gone")), "nobody hung up");
    assert!(!samples.has_text("docgate_requests_rejected_total{"), "it was an operation");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_hangs_up_is_told_from_one_that_was_answered() {
    let gateway = Gateway::behind_proxy(|_| {}).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "find");
    proxy.cut(0, Cut::Hold);
    let body = json!({ "query": "{ stock(sku: \"x\") { sku } }" }).to_string();
    let request = http().post(gateway.anonymous().url).body(body);
    let request = request.header("content-type", "application/json");
    let call = tokio::spawn(request.send());
    proxy.reached().await;
    call.abort();
    let gone = "docgate_operations_total{type=\"query\",field=\"stock\",outcome=\"gone\"}";
    until("it is noticed", async || Samples::of(&gateway).await.get(gone) > 0.0).await;
    proxy.heal();
    proxy.release().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_counted_by_collection_name_and_outcome() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let anyone = gateway.anonymous();
    let read = "{ product(sku: \"a\") { title } }";
    let begin = Samples::of(&gateway).await;
    anyone.data(read, json!({})).await;
    let before = Samples::of(&gateway).await;
    let refused = doc! { "failCommands": ["find"], "errorCode": 11_602 };
    let point = gateway.fail_point(doc! { "times": 2 }, refused).await;
    assert_eq!(anyone.error_code(read, json!({})).await, "UNAVAILABLE");
    point.off().await;
    let failed = Samples::of(&gateway).await;
    let products = "collection=\"products\",command=\"find\"";
    let reads = |outcome: &str| {
        format!("docgate_mongodb_commands_total{{{products},outcome=\"{outcome}\"}}")
    };
    let (ok, unavailable) = (reads("ok"), reads("unavailable"));
    assert!(before.more(&begin, &ok) >= 1.0, "the query has read the product");
    let [count, sum] = ["count", "sum"]
        .map(|of| format!("docgate_mongodb_command_duration_seconds_{of}{{{products}}}"));
    // The retry of the driver is no command of its own.
    assert_is(failed.more(&before, &unavailable), 1.0);
    assert_is(failed.more(&before, &ok), 0.0);
    assert_is(failed.more(&before, &count), 1.0);
    assert!(failed.more(&begin, &sum) > 0.0);
    // On a busy machine the driver may need longer to find the server again than the first call waits for it.
    let cart = cart(&anyone, "RESERVE", &[("a", 1)]).await;
    let after = Samples::of(&gateway).await;
    assert!(after.more(&failed, &ok) >= 1.0, "{cart} has read the product");
    // The addition is an update, and one that was refused is sent again as findAndModify.
    let writes = ["update", "findAndModify"].map(|command| {
        let labels = format!("collection=\"carts\",command=\"{command}\",outcome=\"ok\"");
        after.more(&failed, &format!("docgate_mongodb_commands_total{{{labels}}}"))
    });
    assert!(writes.iter().sum::<f64>() >= 1.0, "{cart} has a line");
    let clock = "collection=\"$cmd\",command=\"hello\",outcome=\"ok\"";
    assert!(after.get(&format!("docgate_mongodb_commands_total{{{clock}}}")) >= 1.0);
    assert_is(after.get("docgate_reads_waiting{collection=\"products\"}"), 0.0);
}

/// A time of the server is remembered for a second.
#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_mongodb_is_read_once_a_second_at_most() {
    const CLOCK: &str =
        "docgate_mongodb_commands_total{collection=\"$cmd\",command=\"hello\",outcome=\"ok\"}";
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let before = Samples::of(&gateway).await;
    let since = Instant::now();
    for _ in 0..20 {
        cart(&anyone, "AT_CHECKOUT", &[]).await;
    }
    let seconds = since.elapsed().as_secs_f64();
    let read = Samples::of(&gateway).await.more(&before, CLOCK);
    assert!(read <= seconds.ceil() + 1.0, "{read} times in {seconds} s");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_counted() {
    let gateway = Gateway::start().await;
    let anyone = gateway.anonymous();
    let reads = (0..20).map(|n| {
        let anyone = anyone.clone();
        async move {
            anyone
                .data("query($s: ID!) { stock(sku: $s) { sku } }", json!({ "s": n.to_string() }))
                .await
        }
    });
    futures_util::future::join_all(reads).await;
    let samples = Samples::of(&gateway).await;
    let open = samples.get("docgate_mongodb_connections");
    assert!(open >= 1.0, "{open}");
    let closed: f64 = samples
        .0
        .iter()
        .filter(|(name, _)| name.contains("connections_closed_total{"))
        .map(|(_, count)| count)
        .sum();
    assert_is(samples.get("docgate_mongodb_connections_created_total"), open + closed);
    assert!(samples.get("docgate_mongodb_checkout_duration_seconds_count") >= 2.0);
    // Given back once the answers were read, which may be a moment later.
    let in_use = "docgate_mongodb_connections_in_use";
    let are_back = async || Samples::of(&gateway).await.get(in_use) == 0.0;
    until("every connection is given back", are_back).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_and_change_streams_are_told_while_they_are_open() {
    let gateway = Gateway::start().await;
    let stock = doc! { "_id": "x", "available": 3_i64, "v": 1 };
    gateway.database.collection("inventory").insert_one(stock).await.expect("inserted");
    let query = "subscription Mine { stockChanged(sku: \"x\") { available } }";
    let mut live = gateway.anonymous().follow(query, json!({})).await;
    assert_eq!(live.next().await["data"]["stockChanged"]["available"], 3);
    let open = Samples::of(&gateway).await;
    assert_is(open.get("docgate_subscriptions{field=\"stockChanged\"}"), 1.0);
    assert!(open.get("docgate_subscription_answers_total{field=\"stockChanged\"}") >= 1.0);
    assert_is(open.get("docgate_change_stream_subscribers{collection=\"inventory\"}"), 1.0);
    let began =
        "docgate_operations_total{type=\"subscription\",field=\"stockChanged\",outcome=\"ok\"}";
    assert_is(open.get(began), 1.0);
    drop(live);
    until("it is told no more", async || {
        let samples = Samples::of(&gateway).await;
        samples.get("docgate_subscriptions{field=\"stockChanged\"}") == 0.0
            && samples.get("docgate_change_stream_subscribers{collection=\"inventory\"}") == 0.0
    })
    .await;
    assert_is(Samples::of(&gateway).await.get(began), 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sweeps_tell_what_they_finished_and_when() {
    let gateway = Gateway::with(short_bounds).await;
    let before = now_seconds();
    gateway.sweep_all().await;
    let refused = doc! { "failCommands": ["find"], "errorCode": 11_602 };
    let point = gateway.fail_point(doc! { "times": 100 }, refused).await;
    docgate::background::sweep_all(&gateway.app).await.expect_err("nothing can be read");
    point.off().await;
    let samples = Samples::of(&gateway).await;
    let of = |name: &str, labels: &str| samples.get(&format!("docgate_sweep_{name}{{{labels}}}"));
    for sweep in ["orders", "carts", "transfers", "inventory", "categories", "catalog", "people"] {
        assert!(of("passes_total", &format!("sweep=\"{sweep}\",outcome=\"ok\"")) >= 1.0, "{sweep}");
        let at = of("last_success_timestamp_seconds", &format!("sweep=\"{sweep}\""));
        let before = f64::from(u32::try_from(before).expect("a time before 2106"));
        assert!(at >= before, "{sweep}: {at} is before {before}");
    }
    assert!(of("passes_total", "sweep=\"orders\",outcome=\"failed\"") >= 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_may_have_an_address_of_their_own() {
    let mut command = on(&fresh_name(), &["serve"]);
    command.env("DOCGATE_ADMIN_LISTEN", "127.0.0.1:0");
    let running = Running::start(command);
    let admin = running.address("operators are served on http://");
    let public = running.address("serving on http://");
    let status = async |address: &str, path: &str| {
        let response = http().get(format!("http://{address}{path}")).send().await;
        response.expect("an answer").status().as_u16()
    };
    for path in ["/metrics", "/health/live", "/health/ready"] {
        assert_eq!((status(&public, path).await, status(&admin, path).await), (404, 200), "{path}");
    }
    assert_eq!((status(&public, "/").await, status(&admin, "/").await), (200, 404));
    assert_eq!(status(&admin, "/graphql").await, 404);
    let samples = Samples::at(&admin).await;
    assert!(samples.get("docgate_mongodb_connections") >= 1.0, "the pool of the binary is watched");
    assert!(samples.get("docgate_tasks") >= 1.0);
    let is_healthy = async || {
        let mut probe = on("any", &["serve", "--health-check"]);
        probe.env("DOCGATE_ADMIN_LISTEN", &admin).env("DOCGATE_LISTEN", &public);
        probe.status().expect("the binary runs").success()
    };
    // The probe waits for three seconds, in which a busy machine may give no answer.
    until("the gateway is healthy", is_healthy).await;
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_of_a_subscription_for_its_first_event_does_not_count() {
    let gateway = Gateway::start().await;
    let query = "subscription { jobAvailable(queue: \"mail\") { queue } }";
    let mut live = gateway.user("a-worker", &["worker"]).follow(query, json!({})).await;
    let of = |samples: &Samples, part: &str| {
        let labels = "type=\"subscription\",field=\"jobAvailable\"";
        samples.get(&format!("docgate_operation_duration_seconds_{part}{{{labels}}}"))
    };
    // It counts as accepted without an event.
    let is_counted = async || of(&Samples::of(&gateway).await, "count") >= 1.0;
    until("it is counted", is_counted).await;
    let before = Samples::of(&gateway).await;
    assert_is(of(&before, "count"), 1.0);
    let accepted = of(&before, "sum");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let add = "mutation { enqueue(input: {queue: \"mail\", payload: \"a\"}) { __typename } }";
    gateway.user("a-producer", &["producer"]).data(add, json!({})).await;
    assert_eq!(live.next().await["data"]["jobAvailable"]["queue"], "mail");
    let samples = Samples::of(&gateway).await;
    assert_is(of(&samples, "count"), 1.0);
    assert_is(of(&samples, "sum"), accepted);
    let outcome = |field: &str, outcome: &str| {
        let labels = format!("type=\"subscription\",field=\"{field}\",outcome=\"{outcome}\"");
        samples.get(&format!("docgate_operations_total{{{labels}}}"))
    };
    assert_is(outcome("jobAvailable", "ok"), 1.0);
    assert_is(outcome("jobAvailable", "gone"), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_to_nothing_was_not_left_by_its_client() {
    let gateway = Gateway::start().await;
    let nothing = docgate::graphql::node_id::NodeKind::PRODUCT.id("nothing").0;
    let query = "subscription($id: ID!) { commentAdded(subjectId: $id) { id } }";
    let mut socket = gateway.session(None).await;
    socket.subscribe("1", query, json!({ "id": nothing })).await;
    socket.ends_not_found("1").await;
    let labels = "type=\"subscription\",field=\"commentAdded\",outcome=\"NOT_FOUND\"";
    let samples = Samples::of(&gateway).await;
    assert_is(samples.get(&format!("docgate_operations_total{{{labels}}}")), 1.0);
}
