//! `docgate demo`.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use super::{Running, ask, ask_with, docgate, done, versions::assert_versions};
use crate::support::until;

fn demo(data: &Path, more: &[&str]) -> Command {
    of_size("120", data, more)
}

fn of_size(products: &str, data: &Path, more: &[&str]) -> Command {
    let mut arguments = vec!["demo", "--port", "0", "--products", products];
    arguments.extend_from_slice(more);
    let mut command = docgate(&arguments);
    command.env("DOCGATE_DATA", data);
    command
}

/// Whether nothing listens at a `mongodb://` address any more.
fn is_gone(uri: &str) -> bool {
    let host = uri.trim().trim_start_matches("mongodb://").split('/').next().expect("a host");
    std::net::TcpStream::connect(host).is_err()
}

/// What an example's variables take from the answers to those before it.
fn taken(from: &Value, answers: &HashMap<String, Value>) -> serde_json::Map<String, Value> {
    let value = |(operation, path): (&String, &Value)| {
        let pointer = format!("/{}", path.as_str()?.replace('.', "/"));
        answers.get(operation)?.pointer(&pointer).cloned()
    };
    let variables = from.as_object().into_iter().flatten();
    variables
        .map(|(name, places)| {
            let places = places.as_object().expect("operations and paths");
            (name.clone(), places.iter().find_map(value).expect("an answer before has it"))
        })
        .collect()
}

/// The name of an operation, behind its kind.
fn operation(query: &str) -> String {
    let name = query.split(' ').nth(1).expect("a name");
    name.split('(').next().unwrap_or_default().to_owned()
}

/// Every example of the explorer does what it says, with ids from the answers to those before it.
async fn examples_work(address: &str, shopper: &str, merchant: &str, admin: &str) {
    let examples =
        crate::support::http().get(format!("http://{address}/explorer/examples.json")).send();
    let examples: Value = examples.await.expect("an answer").json().await.expect("JSON");
    let examples = examples.as_array().expect("a list");
    assert!(examples.len() > 30);
    let mut next = 0;
    let mut answers = HashMap::new();
    let mut fresh = |variables: &Value| {
        let mut text = variables.to_string();
        while text.contains("\"$random\"") {
            next += 1;
            text = text.replacen("$random", &format!("example-{next}"), 1);
        }
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    for example in examples {
        let query = example["query"].as_str().expect("a query");
        if query.starts_with("subscription") {
            continue;
        }
        let token = match example["role"].as_str() {
            None => None,
            Some("shopper") => Some(shopper),
            Some("merchant") => Some(merchant),
            Some("admin") => Some(admin),
            Some(other) => panic!("{other}"),
        };
        let mut variables = taken(&example["from"], &answers);
        variables.extend(fresh(&example["variables"]).as_object().cloned().unwrap_or_default());
        let answer = ask_with(address, token, query, variables.into()).await;
        let title = &example["title"];
        assert!(answer.get("errors").is_none(), "{title}: {answer:#}");
        let data = answer["data"].as_object().expect("data");
        for field in data.values() {
            // The dates of examples are those of hits.
            let hits = field["total"].as_i64().filter(|_| example["group"] == "Hits");
            assert!(hits.is_none_or(|hits| hits > 0), "{title}: {answer:#}");
            assert!(field.get("code").is_none() && !field.is_null(), "{title}: {answer:#}");
            for list in ["boughtTogether", "products"] {
                let found = field[list].as_array();
                assert!(found.is_none_or(|found| !found.is_empty()), "{title}: {answer:#}");
            }
            // A small shop may have no match for several properties at once.
            if let Some(nodes) = field["nodes"].as_array()
                && !title.as_str().is_some_and(|title| title.contains("at once"))
            {
                assert!(!nodes.is_empty(), "{title}: {answer:#}");
            }
        }
        answers.insert(operation(query), answer["data"].clone());
    }
}

/// What the demo fixes and somebody would miss is refused.
#[test]
fn settings_of_its_shop_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = demo(&folder.path().join("demo"), &[]);
    command.env("DOCGATE_TAXES", "{}").env("DOCGATE_SHIPPING_REQUIRED", "true");
    command.env("DOCGATE_ROOMS", "catalog");
    let (code, _, said) = done(command);
    assert_eq!(code, 2, "{said}");
    for (key, variable) in [
        ("rooms", "DOCGATE_ROOMS"),
        ("shipping_required", "DOCGATE_SHIPPING_REQUIRED"),
        ("taxes", "DOCGATE_TAXES"),
    ] {
        let is_it = |line: &&str| line.starts_with(&format!("  - {key}: "));
        let line = said.lines().find(is_it).expect("a fault");
        assert!(
            line.ends_with(&format!("leave it out (in the environment: {variable})")),
            "{said}"
        );
    }
}

/// There are jobs of each kind, and somebody does those of two queues.
async fn jobs_are_done(address: &str, admin: &str) {
    let query = "{ queueStats(queue: \"mail\") { ready delayed dead } }";
    let mail = ask(address, Some(admin), query).await["data"]["queueStats"].clone();
    assert_eq!(mail, json!({ "ready": 15, "delayed": 4, "dead": 3 }));
    let query = "{ previews: queueStats(queue: \"previews\") { ready claimed }
        invoices: queueStats(queue: \"invoices\") { ready claimed } }";
    let mut seen = HashSet::new();
    until("jobs are done", async || {
        seen.insert(ask(address, Some(admin), query).await["data"].to_string());
        seen.len() >= 3
    })
    .await;
}

/// Sites are viewed as long as the demo runs, so its charts move.
async fn charts_move(address: &str, admin: &str) {
    let query = "{ hits: report(site: \"shop.example\", page: \"/\", range: {last: 60}, resolution: MINUTE) {
            counts: buckets { startsAt count: hits } }
        views: viewSeries(page: \"/music/jazz\", resolution: MINUTE) {
            counts: points { startsAt count: views } } }";
    // The start of the last minute, and what is counted from `since` on.
    let seen = async |chart: &str, since: Option<&str>| {
        let answer = ask(address, Some(admin), query).await;
        let counts = answer["data"][chart]["counts"].as_array().cloned();
        let counts = counts.unwrap_or_else(|| panic!("{answer:#}"));
        let start = |one: &Value| one["startsAt"].as_str().expect("a time").to_owned();
        let last = counts.last().map(start).expect("a minute");
        let since = since.unwrap_or(&last);
        let later = counts.iter().filter(|one| start(one).as_str() >= since);
        let count: i64 = later.map(|one| one["count"].as_i64().expect("a number")).sum();
        (last, count)
    };
    for chart in ["hits", "views"] {
        let (since, before) = seen(chart, None).await;
        let has_moved = async || seen(chart, Some(&since)).await.1 > before;
        until(&format!("the {chart} have moved"), has_moved).await;
    }
}

/// The flows that the demo says were cut: their states as it said them and the ids.
fn cut_flows(running: &Running) -> Vec<(String, String)> {
    let all = ["Cart   EXPIRING", "Cart   CANCELLING", "Cart   PAID", "Order  CANCELLING"];
    let flow = |start: &str| {
        let line = running.says(&format!("  {start}"));
        let mut words = line.split_whitespace().skip(1).map(str::to_owned);
        (words.next().expect("a state"), words.next().expect("an id"))
    };
    all.into_iter().map(flow).collect()
}

/// Where carts and orders stand.
async fn states(address: &str, token: &str, flows: &[(String, String)]) -> Vec<String> {
    let ids: Vec<&str> = flows.iter().map(|(_, id)| id.as_str()).collect();
    let query = "query($ids: [ID!]!) {
        nodes(ids: $ids) { ... on Cart { cart: state } ... on Order { order: state } }
    }";
    let answer = ask_with(address, Some(token), query, json!({ "ids": ids })).await;
    let nodes = answer["data"]["nodes"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let state = |node: &Value| node["cart"].as_str().or(node["order"].as_str()).map(str::to_owned);
    nodes.iter().map(|node| state(node).expect("a state")).collect()
}

/// A demo that serves.
struct Demo {
    running: Running,
    address: String,
    /// Of its MongoDB.
    uri: String,
    shopper: String,
    merchant: String,
    admin: String,
}

impl Demo {
    fn start(data: &Path) -> Self {
        let running = Running::start(demo(data, &[]));
        let address = running.address("demo serves on http://");
        let mongodb = running.says("MongoDB   mongodb://");
        let uri = mongodb.split_whitespace().nth(1).expect("a URI").to_owned();
        let token = |name: &str| {
            let line = running.says(&format!("  export {name}="));
            line.split_once('=').expect("a token").1.to_owned()
        };
        let (shopper, merchant, admin) = (token("SHOPPER"), token("MERCHANT"), token("ADMIN"));
        Self { running, address, uri, shopper, merchant, admin }
    }

    async fn ask(&self, token: Option<&str>, query: &str) -> Value {
        ask(&self.address, token, query).await
    }

    fn stop(self) {
        self.running.signal("INT");
        assert_eq!(self.running.ends(), 0);
        assert!(is_gone(&self.uri), "mongod is still there");
    }
}

/// To fill a demo takes long in a test, so one test follows a demo from its first start to the next shop in the same folder.
#[tokio::test(flavor = "multi_thread")]
async fn a_demo_is_filled_and_kept_until_it_is_filled_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("demo");

    let demo = Demo::start(&data);
    assert_filled(&demo).await;
    assert_further_users(&demo, &data).await;
    assert_alone(&demo, &data, &folder.path().join("other"));
    let title = demo.ask(None, PRICE).await["data"]["product"]["title"].clone();
    let shopper = demo.shopper.clone();
    demo.stop();

    assert_kept(&data, &shopper, &title).await;

    // Killed while it is filled anew, it begins again.
    let running = Running::start(of_size("20000", &data, &["--fresh"]));
    running.says("Filling the shop");
    tokio::time::sleep(Duration::from_secs(4)).await;
    running.signal("KILL");
    drop(running);
    let demo = Demo::start(&data);
    let answer = demo.ask(None, PRICE).await;
    assert_ne!(answer["data"]["product"]["pricing"]["retail"]["minorUnits"], 1, "{answer}");
    let answer = demo.ask(None, "{ product(sku: \"ALB-00044\") { sku } }").await;
    assert!(answer["data"]["product"].is_null(), "a shop of 120 has 43 albums: {answer}");
    assert_lives(&demo).await;
    let (code, says, said) =
        done(docgate(&["check", "--mongodb-uri", &demo.uri, "--database", "docgate_demo"]));
    assert_eq!(code, 0, "{says}{said}");
    demo.stop();
}

const PRICE: &str = "{ product(sku: \"ALB-00001\") { title pricing { retail { minorUnits } } } }";

/// What a demo that was just filled has.
async fn assert_filled(demo: &Demo) {
    let Demo { address, shopper, merchant, admin, .. } = demo;
    let query = "{ product(sku: \"ALB-00001\") { __typename title }
        stock(sku: \"ALB-00001\") { available } }";
    let answer = demo.ask(None, query).await;
    assert_eq!(answer["data"]["product"]["__typename"], "Album", "{answer}");
    assert!(answer["data"]["stock"]["available"].as_i64() > Some(0), "{answer}");
    let mine = "{ myOrders(first: 5) { nodes { id } } myAccounts(first: 5) { nodes { id } } }";
    let answer = demo.ask(Some(shopper), mine).await;
    for list in ["myOrders", "myAccounts"] {
        let found = answer["data"][list]["nodes"].as_array().expect("a list");
        assert!(!found.is_empty(), "{answer}");
    }
    let price =
        "mutation { setProductPrice(input: {sku: \"ALB-00001\", retail: 1}) { __typename } }";
    for (token, typename) in [(merchant, "Album"), (admin, "Album")] {
        let answer = demo.ask(Some(token), price).await;
        assert_eq!(answer["data"]["setProductPrice"]["__typename"], typename, "{answer}");
    }
    // The merchant uploads the pictures of products, too.
    let delete = "mutation { deleteAsset(input: {assetId: \"none\"}) { __typename } }";
    let answer = demo.ask(Some(merchant), delete).await;
    assert_eq!(answer["data"]["deleteAsset"]["__typename"], "NotFound", "{answer}");

    let former = "{ content(by: { path: \"/en/shipping\" }) { path redirectedFrom } }";
    let found = json!({ "path": "/en/delivery", "redirectedFrom": "/en/shipping" });
    assert_eq!(demo.ask(None, former).await["data"]["content"], found);

    let query = "{ theatersNear(point: { longitude: 10, latitude: 50 }, withinMeters: 20100000,
        first: 100) { nodes { theater { id } } } }";
    let theaters = demo.ask(None, query).await["data"]["theatersNear"]["nodes"].clone();
    assert_eq!(theaters.as_array().map(Vec::len), Some(30), "{theaters}");

    jobs_are_done(address, admin).await;
    examples_work(address, shopper, merchant, admin).await;
    let client = mongodb::Client::with_uri_str(&demo.uri).await.expect("a client");
    let filled = assert_versions(&client.database("docgate_demo")).await;
    assert!(filled.len() > 50, "{filled:?}");
}

/// The secret in the demo's folder signs the tokens of further users, as docs/guides/your-own-data.md says.
async fn assert_further_users(demo: &Demo, data: &Path) {
    let state = std::fs::read(data.join("demo.json")).expect("a file");
    let state: Value = serde_json::from_slice(&state).expect("JSON");
    let mut command = docgate(&["token", "--sub", "carol"]);
    command.env("DOCGATE_AUTH_HS256_SECRET", state["auth_secret"].as_str().expect("a secret"));
    let (code, token, said) = done(command);
    assert_eq!(code, 0, "{said}");
    let mine = "{ myOrders(first: 5) { nodes { id } } }";
    let answer = demo.ask(Some(token.trim()), mine).await;
    assert_eq!(answer["data"]["myOrders"]["nodes"], json!([]), "{answer}");
}

/// Another demo is refused the folder and the port of one that runs.
fn assert_alone(running: &Demo, data: &Path, other: &Path) {
    let (code, _, said) = done(demo(data, &[]));
    assert_eq!(code, 3);
    assert!(said.contains("a demo is already running on"), "{said}");
    let port = running.address.split(':').nth(1).expect("a port");
    let (code, _, said) = done({
        let mut command = docgate(&["demo", "--port", port]);
        command.env("DOCGATE_DATA", other);
        command
    });
    assert_eq!(code, 3);
    assert!(said.contains("it is taken by another process") && said.contains("--port"), "{said}");
    assert!(!other.exists(), "a start that was refused left a folder");
}

/// The numbers of the albums that are sold next, as the demo's ticker tells.
async fn sold_albums(address: &str) -> Vec<u32> {
    let query = "subscription { topic(name: \"ticker\") { messages { payload } } }";
    let asked = crate::support::http().post(format!("http://{address}/graphql"));
    let asked = asked.header("accept", "text/event-stream").json(&json!({ "query": query }));
    let mut events = asked.send().await.expect("an answer");
    let mut text = String::new();
    while text.matches("ALB-").count() < 4 {
        let part = events.chunk().await.expect("a part").expect("it goes on");
        text.push_str(&String::from_utf8_lossy(&part));
    }
    // The last one may be cut.
    let found = text.split("ALB-").skip(1).take(3);
    found.map(|rest| rest[..5].parse().expect("a number")).collect()
}

/// What was changed is kept, and the tokens still hold. Settings that aren't the demo's own hold too. Another number of
/// products is that of another shop.
async fn assert_kept(data: &Path, shopper: &str, title: &Value) {
    let running = Running::start({
        let mut command = of_size("5000", data, &[]);
        command.env("DOCGATE_CORS_ORIGINS", "https://shop.example").env("DOCGATE_PORT", "tcp://x");
        command.env("DOCGATE_SECRET", "not the demo's").env("DOCGATE_INTROSPECTION", "false");
        command
    });
    let address = running.address("demo serves on http://");
    for (origin, allowed) in [("https://shop.example", true), ("https://other.example", false)] {
        let asked = crate::support::http().post(format!("http://{address}/graphql"));
        let asked =
            asked.header("origin", origin).json(&json!({ "query": "{ __schema { __typename } }" }));
        let answer = asked.send().await.expect("an answer");
        let allows = answer.headers().get("access-control-allow-origin");
        assert_eq!(allows.is_some_and(|allowed| allowed == origin), allowed, "{origin}");
        let answer: Value = answer.json().await.expect("JSON");
        assert_eq!(answer["data"]["__schema"]["__typename"], "__Schema", "{answer}");
    }
    let answer = ask(&address, Some(shopper), PRICE).await;
    assert_eq!(&answer["data"]["product"]["title"], title, "{answer}");
    assert_eq!(answer["data"]["product"]["pricing"]["retail"]["minorUnits"], 1, "{answer}");
    let sold = sold_albums(&address).await;
    assert!(sold.iter().all(|number| (1..=43).contains(number)), "{sold:?}");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
}

/// The flows that a demo was filled with cut ones of are finished before its users' eyes, and its people write.
async fn assert_lives(demo: &Demo) {
    let Demo { address, shopper, admin, .. } = demo;
    let flows = cut_flows(&demo.running);
    let ends = ["EXPIRED", "CANCELLED", "COMPLETE", "CANCELLED"];
    // On a slow machine the sweeps may have been there before anybody looks.
    for ((state, (said, _)), end) in
        states(address, shopper, &flows).await.iter().zip(&flows).zip(ends)
    {
        assert!(state == said || state == end, "{state} instead of {said}");
    }
    let newest = async || {
        let query = "{ news(first: 1) { nodes { id createdAt } } }";
        let answer = demo.ask(Some(shopper), query).await;
        answer["data"]["news"]["nodes"][0].clone()
    };
    let seeded = newest().await;
    let month = seeded["createdAt"].as_str().expect("a time")[..7].to_owned();
    let (year, rest) = month.split_at(4);
    let last_year = format!("{}{rest}", year.parse::<i32>().expect("a year") - 1);
    let query = "query($month: String!) { news(month: $month, first: 50) { nodes { createdAt } } }";
    let variables = json!({ "month": last_year });
    let answer = ask_with(address, Some(shopper), query, variables).await;
    let old = answer["data"]["news"]["nodes"].as_array().expect("a list");
    let times: Vec<&str> = old.iter().filter_map(|post| post["createdAt"].as_str()).collect();
    assert!(times.len() > 2 && times.is_sorted_by(|one, next| one > next), "{answer}");
    assert!(times.iter().all(|time| time.starts_with(&last_year)), "{answer}");

    let have_ended = async || states(address, shopper, &flows).await == ends;
    until("the flows have ended", have_ended).await;
    // Its people write as long as it runs.
    until("the shopper's news have moved", async || newest().await["id"] != seeded["id"]).await;
    charts_move(address, admin).await;
}

#[test]
fn a_demo_names_every_fault_of_its_settings_before_anything_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let (code, out, said) = done({
        let mut command = demo(folder.path(), &[]);
        command.env("DOCGATE_CORS_ORIGINS", "shop.example").env("DOCGATE_NONSENSE", "1");
        command.env("DOCGATE_AUTH_JWKS_FILE", "/nowhere/keys.json").env("DOCGATE_LISTEN", "here");
        command
    });
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    for fault in ["nonsense is no", "cors_origins must", "auth_jwks_file: /nowhere/keys.json: "] {
        assert!(said.contains(fault), "{fault} in {said}");
    }
    assert_eq!(said.lines().count(), 4, "the demo's own address wins: {said}");
    assert!(!folder.path().join("mongod").exists());
}

/// A start that is refused leaves the shop as it was, also with `--fresh`.
#[test]
fn a_refused_start_keeps_the_demo_of_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("demo.json");
    let keys = ["a", "b"].map(|letter| letter.repeat(43));
    let filled = json!({ "secret": keys[0], "auth_secret": keys[1], "filled": true }).to_string();
    std::fs::write(folder.path().join("lock"), "").expect("written");
    std::fs::write(&state, &filled).expect("written");

    let mut faulty = demo(folder.path(), &["--fresh"]);
    faulty.env("DOCGATE_TAXES", "{}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let mut elsewhere = docgate(&["demo", "--fresh", "--port", &port]);
    elsewhere.env("DOCGATE_DATA", folder.path());
    for (command, expected) in [(faulty, 2), (elsewhere, 3)] {
        let (code, _, said) = done(command);
        assert_eq!(code, expected, "{said}");
        assert_eq!(std::fs::read_to_string(&state).expect("read"), filled, "{said}");
    }
}

/// Without its database a demo can't do anything any more, so it ends and says why.
#[test]
fn a_demo_ends_with_its_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("demo");
    let running = Running::start(of_size("20000", &data, &[]));
    running.says("Filling the shop");
    let pid = std::fs::read_to_string(data.join("mongod").join("mongod.lock")).expect("a pid");
    let killed = Command::new("kill").args(["-KILL", pid.trim()]).status();
    assert!(killed.expect("kill runs").success());
    running.says("docgate: mongod ended by itself (signal: 9");
    running.says("mongod.log");
    assert_eq!(running.ends(), 3);
}

#[test]
fn a_demo_touches_nothing_that_is_not_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("mongod")).expect("a folder");
    std::fs::write(folder.path().join("mongod").join("mine"), "mine").expect("written");
    let (code, _, said) = done(demo(folder.path(), &["--fresh"]));
    assert_eq!(code, 2);
    assert!(said.contains("holds something else than a demo"), "{said}");
    assert!(folder.path().join("mongod").join("mine").exists());
}
