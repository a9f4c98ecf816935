//! Keys that stand in the configuration.

use std::path::Path;

use docgate::{config::Config, edge::auth::Authenticator};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{
    signers::{EC, EC_384, RSA, RSA_1024, Signer},
    status,
};
use crate::support::{Gateway, config};

/// Why a gateway with these keys can't start.
fn fault(change: impl FnOnce(&mut Config)) -> String {
    let mut config = config("none");
    change(&mut config);
    Authenticator::new(&config).err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn a_key_that_can_not_be_used_is_named() {
    for key in ["", "missing.pem", EC.1, RSA.0, RSA_1024, "-----BEGIN PUBLIC KEY-----\nAAAA"] {
        let fault = fault(|config| config.auth_rs256_public_key = Some(key.to_owned()));
        assert!(fault.starts_with("auth_rs256_public_key: "), "{key}: {fault:?}");
    }
    for key in ["missing.pem", RSA.1, EC.0, EC_384, &Signer::ed("ed").ed_pem()] {
        let fault = fault(|config| config.auth_es256_public_key = Some(key.to_owned()));
        assert!(fault.starts_with("auth_es256_public_key: "), "{key}: {fault:?}");
    }
    for key in ["missing.pem", RSA.1, EC.1] {
        let fault = fault(|config| config.auth_eddsa_public_key = Some(key.to_owned()));
        assert!(fault.starts_with("auth_eddsa_public_key: "), "{key}: {fault:?}");
    }
    assert!(fault(|_| {}).is_empty());
}

#[test]
fn a_setting_that_can_not_be_used_is_named() {
    let told = |key: &str, value: Value| {
        let flags = json!({
            "mongodb_uri": "mongodb://localhost/?replicaSet=rs0",
            "secret": "tests: a secret of thirty-two bytes or more",
            "auth_jwks_url": "https://issuer.example/keys",
            (key): value,
        });
        let loaded = Config::load(None, flags, |_| Vec::new());
        loaded.err().map(|faults| faults.to_string()).unwrap_or_default()
    };
    for (key, good, bad) in [
        ("auth_jwks_url", json!("http://localhost:81/a?b"), json!("file:///etc/keys.json")),
        ("auth_jwks_url", json!("https://issuer.example"), json!("issuer.example/keys")),
        ("auth_jwks_refresh_seconds", json!(1), json!(0)),
        ("auth_jwks_cooldown_seconds", json!(1), json!(0)),
        ("auth_leeway_seconds", json!(3_600), json!(3_601)),
        ("auth_roles_claim", json!("/a/b"), json!("")),
        ("auth_cookie", json!("__Host-token"), json!("to ken")),
        ("auth_cookie", json!("t"), json!("")),
    ] {
        assert_eq!(told(key, good), "", "{key}");
        let fault = told(key, bad);
        assert!(fault.contains(key) && fault.lines().count() == 2, "{key}: {fault:?}");
    }
}

fn write(folder: &Path, text: &str) -> String {
    let path = folder.join("keys.json");
    std::fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[test]
fn a_file_without_usable_keys_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = json!({ "keys": [{ "kty": "oct", "k": "c2VjcmV0" }] }).to_string();
    for text in ["", "{}", "[]", "{\"keys\": 5}", "{\"keys\": []}", secret.as_str()] {
        let path = write(folder.path(), text);
        let fault = fault(|config| config.auth_jwks_file = Some(path));
        assert!(fault.starts_with("auth_jwks_file: "), "{text}: {fault:?}");
    }
    let fault = fault(|config| config.auth_jwks_file = Some("missing.json".to_owned()));
    assert!(fault.starts_with("auth_jwks_file: missing.json: "), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_may_come_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (rs, ps) = (Signer::rsa(Algorithm::RS256), Signer::rsa(Algorithm::PS256));
    let (bound, ec, ed) = (rs.clone().named(Some("bound")), Signer::ec(), Signer::ed("ed"));
    let mut only_ps: Value = bound.jwk();
    only_ps["alg"] = json!("PS256");
    let set = json!({ "keys": [only_ps, ec.jwk(), ed.jwk()] }).to_string();
    let path = write(folder.path(), &set);
    let gateway = Gateway::with(|config| config.auth_jwks_file = Some(path)).await;
    for (signer, expected) in [
        (ec.clone(), 200),
        (ec.named(Some("a key without a name fits any")), 200),
        (ed.clone(), 200),
        (ed.clone().named(None), 200),
        (ed.named(Some("bound")), 401),
        (Signer::ed("other"), 401),
        (ps.clone().named(Some("bound")), 200),
        (ps.named(None), 200),
        (rs.named(None), 401),
        (bound, 401),
        (Signer::shared(), 200),
    ] {
        let token = signer.token();
        let told = (signer.algorithm, &signer.id);
        assert_eq!(status(&gateway, &token).await, expected, "{told:?}");
    }
}
