//! `docgate demo`.

use std::{path::Path, process::Command, time::Duration};

use super::{Running, ask, docgate, done};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_is_filled_kept_and_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("demo");

    let running = Running::start(demo(&data, &[]));
    let address = running.address("demo serves on http://");
    let mongodb = running.says("MongoDB   mongodb://");
    let uri = mongodb.split_whitespace().nth(1).expect("a URI").to_owned();
    let token = |name: &str| {
        let line = running.says(&format!("  {name}"));
        line.split_whitespace().nth(1).expect("a token").to_owned()
    };
    let (shopper, merchant, admin) = (token("shopper"), token("merchant"), token("admin"));
    let query = "{ product(sku: \"ALB-00001\") { __typename title }
        stock(sku: \"ALB-00001\") { available } }";
    let answer = ask(&address, None, query).await;
    assert_eq!(answer["data"]["product"]["__typename"], "Album", "{answer}");
    assert!(answer["data"]["stock"]["available"].as_i64() > Some(0), "{answer}");
    let title = answer["data"]["product"]["title"].clone();
    let mine = "{ myOrders(first: 5) { nodes { id } } myAccounts(first: 5) { nodes { id } } }";
    let answer = ask(&address, Some(&shopper), mine).await;
    for list in ["myOrders", "myAccounts"] {
        let found = answer["data"][list]["nodes"].as_array().expect("a list");
        assert!(!found.is_empty(), "{answer}");
    }
    let price =
        "mutation { setProductPrice(input: {sku: \"ALB-00001\", retail: 1}) { __typename } }";
    for (token, typename) in [(&merchant, "Album"), (&admin, "Album")] {
        let answer = ask(&address, Some(token), price).await;
        assert_eq!(answer["data"]["setProductPrice"]["__typename"], typename, "{answer}");
    }

    let (code, _, said) = done(demo(&data, &[]));
    assert_eq!(code, 3);
    assert!(said.contains("a demo is already running on"), "{said}");
    let port = address.split(':').nth(1).expect("a port");
    let other = folder.path().join("other");
    let (code, _, said) = done({
        let mut command = docgate(&["demo", "--port", port]);
        command.env("DOCGATE_DATA", &other);
        command
    });
    assert_eq!(code, 3);
    assert!(said.contains("it is taken by another process") && said.contains("--port"), "{said}");

    running.signal("INT");
    assert_eq!(running.ends(), 0);
    assert!(is_gone(&uri), "mongod is still there");

    // What was changed is kept, and the tokens still hold.
    let running = Running::start(demo(&data, &[]));
    let address = running.address("demo serves on http://");
    let query = "{ product(sku: \"ALB-00001\") { title pricing { retail { minorUnits } } } }";
    let answer = ask(&address, Some(&shopper), query).await;
    assert_eq!(answer["data"]["product"]["title"], title, "{answer}");
    assert_eq!(answer["data"]["product"]["pricing"]["retail"]["minorUnits"], 1, "{answer}");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);

    let running = Running::start(demo(&data, &["--fresh"]));
    let address = running.address("demo serves on http://");
    let answer = ask(&address, None, query).await;
    assert_ne!(answer["data"]["product"]["pricing"]["retail"]["minorUnits"], 1, "{answer}");
    running.signal("INT");
    assert_eq!(running.ends(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_was_killed_while_it_was_filled_begins_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let running = Running::start(of_size("20000", folder.path(), &[]));
    running.says("Starting MongoDB");
    tokio::time::sleep(Duration::from_secs(4)).await;
    running.signal("KILL");
    drop(running);

    let running = Running::start(demo(folder.path(), &[]));
    let address = running.address("demo serves on http://");
    let mongodb = running.says("MongoDB   mongodb://");
    let uri = mongodb.split_whitespace().nth(1).expect("a URI").to_owned();
    let query = "{ product(sku: \"ALB-00044\") { sku } }";
    let answer = ask(&address, None, query).await;
    assert!(answer["data"]["product"].is_null(), "a shop of 120 has 43 albums: {answer}");
    let mut command = docgate(&["check", "--mongodb-uri", &uri, "--database", "docgate_demo"]);
    command.env("DOCGATE_LOG", "error");
    let (code, out, said) = done(command);
    assert_eq!(code, 0, "{out}{said}");
    running.signal("INT");
    assert_eq!(running.ends(), 0);
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
