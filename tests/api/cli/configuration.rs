//! What is said about a configuration that can't be used.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::Path, process::Command};

use serde_json::json;

use super::{docgate, done};

/// Words of libraries and of the system, which tell an operator nothing.
const INTERNALS: &[&str] =
    &["os error", "Kind:", "labels", "untagged", "InvalidKey", "u64", "serde", "-->", "panicked"];

/// The faults that a command names, each a line of its own.
fn faults(command: Command) -> Vec<String> {
    let (code, out, said) = done(command);
    assert_eq!((code, out.as_str()), (2, ""), "{said}");
    for word in INTERNALS {
        assert!(!said.contains(word), "{word} in {said}");
    }
    let mut lines = said.lines();
    assert_eq!(lines.next(), Some("docgate: the configuration can't be used:"), "{said}");
    let fault = |line: &str| line.strip_prefix("  - ").expect("one line for each").to_owned();
    lines.map(fault).collect()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn files_and_the_connection_string_are_looked_at_together_with_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = folder.path().join("documents");
    fs::create_dir(&documents).expect("a folder");
    write(&documents, "half.graphql", "query Half {\n  product(");
    let keys = write(folder.path(), "keys.json", "{\"keys\": ");
    let pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----";

    let mut command = docgate(&["serve"]);
    command.env("DOCGATE_MONGODB_URI", "mongodb://me:hid?den@127.0.0.1/");
    command.env("DOCGATE_SWEEP_MILLIS", "soon");
    command.env("DOCGATE_PAYMENTS", "cash");
    command.env("DOCGATE_PAYMENTS_URL", "nowhere");
    command.env("DOCGATE_OTLP_ENDPOINT", "http://");
    command.env("DOCGATE_AUTH_RS256_PUBLIC_KEY", "/nowhere/key.pem");
    command.env("DOCGATE_AUTH_ES256_PUBLIC_KEY", pem);
    command.env("DOCGATE_AUTH_JWKS_FILE", &keys);
    command.env("DOCGATE_DOCUMENTS", &documents);
    let said = faults(command);
    let mut expected = vec![
        "payments: one of `ledger`, `http`, `none` is expected (in the environment: DOCGATE_PAYMENTS)".to_owned(),
        "sweep_millis: a whole number, 0 or more, is expected (in the environment: DOCGATE_SWEEP_MILLIS)".to_owned(),
        "mongodb_uri can't be used: ".to_owned(),
        "secret is missing: set DOCGATE_SECRET".to_owned(),
        "otlp_endpoint must be a URL".to_owned(),
        "payments_url isn't a URL".to_owned(),
        "auth_rs256_public_key: /nowhere/key.pem: there is no such file".to_owned(),
        "auth_es256_public_key: it isn't the PEM text of a public P-256 key".to_owned(),
        format!("auth_jwks_file: {keys}: what is there isn't JSON (line 1, column 9)"),
        format!("documents: {}: half: isn't a GraphQL document (line 2, ", documents.display()),
    ];
    assert_eq!(said.len(), expected.len(), "{said:#?}");
    for (said, expected) in said.iter().zip(expected.drain(..)) {
        assert!(said.starts_with(&expected), "{expected} instead of {said}");
        assert!(!said.contains("den@"), "a part of the password: {said}");
    }
}

#[test]
fn a_connection_string_is_looked_at_by_every_command_that_needs_one() {
    for (uri, reason) in [
        ("localhost:27017", "connection string contains no scheme"),
        ("http://localhost", "unsupported connection string scheme"),
        ("mongodb://me:sec:ret@localhost", "password must be URL encoded"),
        ("mongodb://localhost/?maxPoolSize=many", ""),
        ("mongodb://localhost/?maxPoolSize=0", "cannot specify maxPoolSize=0"),
        ("mongodb://localhost/?tls=true&tlsCAFile=/nowhere/ca.pem", ""),
    ] {
        for command in [&["check"][..], &["indexes", "plan"], &["import", "categories", "-"]] {
            let mut command = docgate(command);
            command.env("DOCGATE_MONGODB_URI", uri);
            let said = faults(command);
            let start = format!("mongodb_uri can't be used: {reason}");
            assert!(said.len() == 1 && said[0].starts_with(&start), "{uri}: {said:?}");
        }
    }
}

#[test]
fn a_file_that_is_not_toml_is_told_by_its_line_without_its_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), "docgate.toml", "database = \"a\"\nsecret = hidden words\n");
    let said = faults(docgate(&["check", "--config", &path]));
    let start = format!("the file {path} can't be read: line 2 isn't TOML: ");
    assert!(said.len() == 1 && said[0].starts_with(&start), "{said:?}");
    assert!(!said[0].contains("hidden"), "{said:?}");
}

#[test]
fn a_value_of_another_type_is_told_by_what_is_expected_and_where_it_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "secret = 12345\ncors_origins = \"*\"\nfederation = 1\nadmin_listen = \"here\"\n\
                otlp_sample_ratio = \"all\"\nrequests_burst = 5000000000\nmax_depth = -1\n\
                log_format = \"loud\"\ndatabase = 5\n";
    let path = write(folder.path(), "docgate.toml", text);
    let mut command =
        docgate(&["check", "--config", &path, "--mongodb-uri", "mongodb://localhost/"]);
    command.env("DOCGATE_DEVELOPMENT", "yes").env("DOCGATE_MAX_TOKENS", "");
    command.env("DOCGATE_ASSET_WIDTHS", "160, wide");
    // What a later source says replaces what can't be used.
    command.env("DOCGATE_DATABASE", "fine");
    let in_file = |text: &str| format!("{text} is expected (in {path})");
    let in_environment = |text: &str| {
        let key = text.split(':').next().unwrap_or_default().to_ascii_uppercase();
        format!("{text} is expected (in the environment: DOCGATE_{key})")
    };
    let expected = [
        in_file("admin_listen: an address and port such as 127.0.0.1:8080"),
        in_environment("asset_widths: a list of whole numbers"),
        in_file("cors_origins: a list of texts"),
        in_environment("development: true or false"),
        in_file("federation: true or false"),
        in_file("log_format: `json` or `pretty`"),
        in_file("max_depth: a whole number between 1 and 60"),
        in_environment("max_tokens: a whole number, 0 or more,"),
        in_file("otlp_sample_ratio: a number"),
        in_file("requests_burst: a whole number between 0 and 4294967295"),
        in_file("secret: a text"),
    ];
    assert_eq!(faults(command), expected);
}

#[test]
fn the_environment_has_values_of_every_type_and_flags_win() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = write(folder.path(), "docgate.toml", "listen = \"127.0.0.1:1\"\nmax_depth = 9\n");
    // In a process of its own: the environment of the tests is theirs.
    let mut command = docgate(&["serve", "--config", &file, "--listen", "127.0.0.1:2"]);
    command.env("DOCGATE_LISTEN", "127.0.0.1:3").env("DOCGATE_ADMIN_LISTEN", "127.0.0.1:2");
    command.env("DOCGATE_MONGODB_URI", "mongodb://localhost/");
    command.env("DOCGATE_SECRET", "12345678901234567890123456789012");
    command.env("DOCGATE_AUTH_HS256_SECRET", "12345678901234567890123456789012");
    command.env("DOCGATE_MAX_DEPTH", " 61 ").env("DOCGATE_OTLP_SAMPLE_RATIO", "1.5");
    command.env("DOCGATE_DEVELOPMENT", "true");
    command.env("DOCGATE_CORS_ORIGINS", "https://a.example, https://b.example/path");
    command.env("DOCGATE_ASSET_TYPES", json!(["image/png", "text"]).to_string());
    let said = faults(command);
    for (said, start) in said.iter().zip([
        "max_depth must be",
        "cors_origins must be",
        "otlp_sample_ratio must be",
        "admin_listen must be another address or port than listen",
        "asset_types must be",
    ]) {
        assert!(said.starts_with(start), "{start} instead of {said}");
        assert!(said.contains(" (in the environment: DOCGATE_"), "{said}");
    }
    assert_eq!(said.len(), 5, "{said:#?}");
}

#[test]
fn a_media_type_without_one_of_its_parts_is_a_fault() {
    for (types, is_fault) in [("image/", true), ("*/png", true), ("image/*,text/csv", false)] {
        let mut command = docgate(&["serve", "--mongodb-uri", "mongodb://localhost/"]);
        command.env("DOCGATE_ASSET_TYPES", types);
        let said = faults(command);
        let found = said.iter().any(|said| said.starts_with("asset_types must be media types"));
        assert_eq!(found, is_fault, "{types}: {said:#?}");
    }
}

#[test]
fn each_fault_names_its_key_and_where_it_was_set() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "core_write_concern = \"soon\"\nmetadata_pairs = -1\nclient_share_percent = 0\n\
                max_cost = 0\nquote_timeout_millis = 0\nmongodb_uri = \"mongodb://localhost/\"\n\
                secret = \"12345678901234567890123456789012\"\n\
                auth_hs256_secret = \"12345678901234567890123456789012\"\n\
                [taxes.DE]\nrate = 190000\n";
    let path = write(folder.path(), "docgate.toml", text);
    let mut command = docgate(&["serve", "--config", &path]);
    command.env("DOCGATE_FLOW_RUN_MILLIS", "0");
    let said = faults(command);
    for expected in [
        format!("core_write_concern: `majority` is expected (in {path})"),
        format!("metadata_pairs: a whole number between 1 and 1000 is expected (in {path})"),
        format!("client_share_percent must be between 1 and 100 (in {path})"),
        format!("max_cost must be above zero (in {path})"),
        "flow_run_millis must be above zero (in the environment: DOCGATE_FLOW_RUN_MILLIS)"
            .to_owned(),
    ] {
        assert!(said.contains(&expected), "{expected} isn't in {said:#?}");
    }
    for start in
        ["taxes.DE.rate: 190000 stands there, ", "taxes needs shipping_methods or quote_url"]
    {
        let found = said.iter().find(|said| said.starts_with(start)).expect(start);
        assert!(found.ends_with(&format!(" (in {path})")), "{found}");
    }
    let mentioned = |word: &str| said.iter().filter(|said| said.contains(word)).count();
    assert_eq!((mentioned("client's share"), mentioned("max_root_fields")), (0, 0), "{said:#?}");
}

#[test]
fn values_that_nothing_can_work_with_are_faults() {
    // Milliseconds that MongoDB or the system would refuse in each command or connection.
    for key in [
        "flow_run_millis",
        "flow_command_millis",
        "flow_skew_millis",
        "request_millis",
        "live_ping_millis",
    ] {
        for millis in ["1000000001", "18446744073709551615"] {
            let mut command = docgate(&["serve"]);
            command.env(format!("DOCGATE_{}", key.to_ascii_uppercase()), millis);
            let start = format!("{key} can't be above 1000000000 (in the environment: ");
            let said = faults(command);
            assert!(said.iter().any(|said| said.starts_with(&start)), "{start} in {said:#?}");
        }
    }
    // Seconds that MongoDB adds to a date.
    let mut command = docgate(&["serve"]);
    let keys =
        ["flow_ops_seconds", "reservation_seconds", "booking_idle_seconds", "booking_keep_seconds"];
    for key in keys {
        command.env(format!("DOCGATE_{}", key.to_ascii_uppercase()), u64::MAX.to_string());
    }
    let said = faults(command);
    for key in keys {
        let is_told = |said: &String| said.starts_with(key) && said.contains(" 3162240000 (in ");
        assert!(said.iter().any(is_told), "{key} in {said:#?}");
    }
    let mut command = docgate(&["serve"]);
    command.env("DOCGATE_CART_IDLE_SECONDS", "0").env("DOCGATE_PAYMENTS_TIMEOUT_MILLIS", "0");
    command.env("DOCGATE_MAX_TOKENS", "0").env("DOCGATE_PAYMENTS_MERCHANT", "");
    let said = faults(command);
    for start in [
        "payments_merchant must be the subject of a token",
        "max_tokens must be above zero",
        "cart_idle_seconds must be at least 1",
        "payments_timeout_millis must be above zero",
    ] {
        assert!(said.iter().any(|said| said.starts_with(start)), "{start} in {said:#?}");
    }
}

#[test]
fn origins_and_addresses_that_could_never_serve_are_faults() {
    for (listen, admin) in
        [("0.0.0.0:8080", "127.0.0.1:8080"), ("127.0.0.1:8080", "[::]:8080"), ("[::1]:1", "[::]:1")]
    {
        let mut command = docgate(&["serve"]);
        command.env("DOCGATE_LISTEN", listen).env("DOCGATE_ADMIN_LISTEN", admin);
        let said = faults(command);
        let start = "admin_listen must be another address or port than listen";
        assert!(said.iter().any(|said| said.starts_with(start)), "{listen} {admin}: {said:#?}");
    }
    for origin in ["https://*.shop.example", "https://Shop.example", "https://shop.example:443"] {
        let mut command = docgate(&["serve"]);
        command.env("DOCGATE_CORS_ORIGINS", format!("https://a.example,{origin}"));
        let said = faults(command);
        let start = "cors_origins must be origins as browsers send them";
        assert!(said.iter().any(|said| said.starts_with(start)), "{origin}: {said:#?}");
    }
}

#[test]
fn a_variable_that_is_not_utf_8_is_a_fault_of_every_key() {
    let mut command = docgate(&["serve"]);
    let latin = OsStr::from_bytes(b"caf\xe9");
    for key in ["AUTH_AUDIENCE", "DATABASE", "ROOMS", "MAX_COST", "ASSET_WIDTHS", "ROLES", "TAXES"]
    {
        command.env(format!("DOCGATE_{key}"), latin);
    }
    let said = faults(command);
    for start in [
        "asset_widths: a list of whole numbers is expected (in the environment: ",
        "auth_audience: a text is expected (in the environment: ",
        "database: a text is expected (in the environment: ",
        "max_cost: a whole number, 0 or more, is expected (in the environment: ",
        "roles: a table of lists of texts is expected (in the environment: ",
        "rooms: a list of texts is expected (in the environment: ",
        "taxes: a table of countries, each with a rate, is expected (in the environment: ",
    ] {
        assert!(said.iter().any(|said| said.starts_with(start)), "{start} in {said:#?}");
    }
}

#[test]
fn databases_that_differ_by_case_alone_are_a_fault() {
    let mut command = docgate(&["check"]);
    command.env("DOCGATE_MONGODB_URI", "mongodb://localhost/").env("DOCGATE_DATABASE", "Shop");
    command.env("DOCGATE_ACTIVITY_DATABASE", "Shop").env("DOCGATE_LOG_DATABASE", "shop");
    let place = "(in the environment: DOCGATE_LOG_DATABASE)";
    let fault = "log_database and database can't differ by upper and lower case alone";
    assert_eq!(faults(command), [format!("{fault} {place}")]);
}

/// What they would store with such a value, gateways would take for their own.
#[test]
fn commands_on_the_database_check_the_settings_that_they_use() {
    for arguments in [
        &["indexes", "apply"][..],
        &["migrate"],
        &["check"],
        &["export", "csv", "products"],
        &["import", "products", "-"],
        &["person", "export", "somebody"],
    ] {
        let mut command = docgate(arguments);
        command.env("DOCGATE_MONGODB_URI", "mongodb://localhost/");
        command.env("DOCGATE_SITE_LOCALE", "no tag").env("DOCGATE_SECRET", "too short");
        command.env("DOCGATE_RESERVATION_SECONDS", "9999999999999");
        command.env("DOCGATE_FLOW_COMMAND_MILLIS", "0");
        // They don't use these, which a gateway would name too.
        command.env("DOCGATE_MAX_DEPTH", "61").env("DOCGATE_QUOTE_URL", "https://q.example");
        let said = faults(command);
        let expected = [
            ("secret needs 32 bytes", "SECRET"),
            ("site_locale isn't a BCP 47 language tag", "SITE_LOCALE"),
            ("flow_command_millis must be above zero", "FLOW_COMMAND_MILLIS"),
            ("reservation_seconds can't be above", "RESERVATION_SECONDS"),
        ];
        assert_eq!(said.len(), expected.len(), "{arguments:?}: {said:#?}");
        for (said, (start, key)) in said.iter().zip(expected) {
            let end = format!(" (in the environment: DOCGATE_{key})");
            assert!(said.starts_with(start) && said.ends_with(&end), "{arguments:?}: {said}");
        }
    }
}
