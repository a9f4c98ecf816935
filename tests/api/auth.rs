//! Which tokens hold, which don't, and who asks.

mod configured;
mod cookies;
mod issuer;
mod signers;

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::support::{Gateway, http, now_seconds, token, token_with};
use signers::{EC, RSA, Signer, unsigned};

/// What only somebody who is signed in may ask.
const SIGNED_IN: &str = "{ myAccounts { nodes { id } } }";

/// What becomes of a request with this token: its status, and the answer that goes with it.
async fn status(gateway: &Gateway, token: &str) -> u16 {
    let client = gateway.client(Some(token.to_owned()));
    let (status, body) = client.send(SIGNED_IN, json!({})).await.expect("an answer");
    assert_fits(status, &body);
    status
}

/// Fails if the body says something else than the status.
fn assert_fits(status: u16, body: &Value) {
    let error = &body["errors"][0]["extensions"];
    match status {
        200 => assert!(body.get("errors").is_none(), "{body:#}"),
        401 => assert_eq!(error["code"], "UNAUTHENTICATED", "{body:#}"),
        503 => {
            assert_eq!(error["code"], "UNAVAILABLE", "{body:#}");
            assert_eq!(error["retryable"], true, "{body:#}");
        }
        status => panic!("{status}: {body:#}"),
    }
}

/// A gateway with a key of every algorithm.
async fn with_every_key() -> Gateway {
    Gateway::with(|config| {
        config.auth_rs256_public_key = Some(RSA.1.to_owned());
        config.auth_es256_public_key = Some(EC.1.to_owned());
        config.auth_eddsa_public_key = Some(Signer::ed("ed").ed_pem());
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_algorithm_holds_with_its_key() {
    let gateway = with_every_key().await;
    let (rs, ps) = (Signer::rsa(Algorithm::RS256), Signer::rsa(Algorithm::PS256));
    for signer in [Signer::shared(), rs, ps, Signer::ec(), Signer::ed("ed")] {
        assert_eq!(status(&gateway, &signer.token()).await, 200, "{:?}", signer.algorithm);
    }
    // Keys of the configuration have no name, so a token may name them as it likes.
    assert_eq!(status(&gateway, &Signer::ec().named(Some("any")).token()).await, 200);
    assert_eq!(status(&gateway, &Signer::ed("other").token()).await, 401, "another key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_can_not_choose_how_a_key_is_read() {
    let gateway = with_every_key().await;
    let ed = Signer::ed("ed");
    let der = |pem: &str| {
        let lines: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        STANDARD.decode(lines).expect("base64")
    };
    let public: [Vec<u8>; 8] = [
        RSA.1.into(),
        EC.1.into(),
        ed.ed_pem().into(),
        RSA.1.trim().into(),
        der(RSA.1),
        der(EC.1),
        ed.ed_bytes(),
        Vec::new(),
    ];
    for key in public {
        let token = Signer::secret(&key).token();
        assert_eq!(status(&gateway, &token).await, 401, "a public key taken for a secret");
    }
    let hmac = |algorithm| Signer { algorithm, ..Signer::shared() };
    let rsa = Signer::rsa;
    for signer in [
        hmac(Algorithm::HS384),
        hmac(Algorithm::HS512),
        rsa(Algorithm::RS384),
        rsa(Algorithm::RS512),
        rsa(Algorithm::PS384),
        rsa(Algorithm::PS512),
    ] {
        let token = signer.token();
        assert_eq!(status(&gateway, &token).await, 401, "{:?} isn't taken", signer.algorithm);
    }
    for (signer, said) in [
        (Signer::rsa(Algorithm::RS256), &["PS256", "ES256", "HS256", "EdDSA", "none"][..]),
        (Signer::rsa(Algorithm::PS256), &["RS256"]),
        (Signer::ec(), &["RS256", "PS256", "EdDSA", "HS256", "ES384", "none"]),
        (ed, &["RS256", "PS256", "ES256", "HS256", "none"]),
        (Signer::shared(), &["RS256", "ES256", "EdDSA", "HS512", "none", "hs256", ""]),
    ] {
        for algorithm in said {
            let token = signer.under(&json!({ "alg": algorithm }));
            let own = signer.algorithm;
            assert_eq!(status(&gateway, &token).await, 401, "{own:?} under {algorithm}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_a_sound_signature_is_refused() {
    let gateway = with_every_key().await;
    let claims = json!({ "sub": "someone", "exp": now_seconds() + 3600 });
    for algorithm in ["none", "None", "NONE", "nOnE", "HS256", "RS256", "PS256", "ES256", "EdDSA"] {
        let start = unsigned(&json!({ "alg": algorithm }), &claims);
        for end in [".", "", ".AA", ".AAAA.AAAA"] {
            let token = format!("{start}{end}");
            assert_eq!(status(&gateway, &token).await, 401, "{algorithm} {end:?}");
        }
    }
    // Other claims under the signature of these.
    let other = json!({ "sub": "someone", "exp": now_seconds() + 3600, "roles": ["admin"] });
    for signer in [Signer::shared(), Signer::ec(), Signer::ed("ed")] {
        let token = signer.signed(&claims);
        let (_, signature) = token.rsplit_once('.').expect("parts");
        let header = json!({ "alg": format!("{:?}", signer.algorithm) });
        let token = format!("{}.{signature}", unsigned(&header, &other));
        assert_eq!(status(&gateway, &token).await, 401, "{:?}", signer.algorithm);
    }
    for token in ["nonsense", "..", "a.b.c", "e30.e30.", "eyJhbGciOiJIUzI1NiJ9..AAAA", "ü.ü.ü"] {
        assert_eq!(status(&gateway, token).await, 401, "{token}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_can_not_bring_its_own_key_nor_ask_for_more() {
    let gateway = with_every_key().await;
    let intruder = Signer::ed("intruder");
    for header in [
        json!({ "alg": "EdDSA", "jwk": intruder.jwk() }),
        json!({ "alg": "EdDSA", "jku": "http://127.0.0.1:9/jwks.json", "kid": "intruder" }),
        json!({ "alg": "EdDSA", "x5u": "http://127.0.0.1:9/cert.pem" }),
    ] {
        assert_eq!(status(&gateway, &intruder.under(&header)).await, 401, "{header}");
    }
    // Signed as it should be.
    let signer = Signer::ed("ed");
    for (header, expected) in [
        (json!({ "alg": "EdDSA", "crit": ["exp"], "exp": 1 }), 401),
        (json!({ "alg": "EdDSA", "crit": [] }), 401),
        (json!({ "alg": "EdDSA", "typ": "logout+jwt" }), 401),
        (json!({ "alg": "EdDSA", "typ": "dpop+jwt" }), 401),
        (json!({ "alg": "EdDSA" }), 200),
        (json!({ "alg": "EdDSA", "typ": "jwt" }), 200),
        (json!({ "alg": "EdDSA", "typ": "at+JWT" }), 200),
        (json!({ "alg": "EdDSA", "typ": "application/at+jwt" }), 200),
        (json!({ "alg": "EdDSA", "more": { "to": ["come"] } }), 200),
    ] {
        assert_eq!(status(&gateway, &signer.under(&header)).await, expected, "{header}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_one_authorization_header() {
    let gateway = Gateway::start().await;
    let (anna, ben) = (token("anna", &["editor"]), token("ben", &["editor"]));
    let twice = |request: reqwest::RequestBuilder, second: &str| {
        let request = request.header("authorization", format!("Bearer {anna}"));
        request.header("authorization", format!("Bearer {second}"))
    };
    let before = gateway.snapshot().await;
    for second in [&ben, &anna, "forged"] {
        for request in [
            http().post(gateway.anonymous().url).json(&json!({ "query": "{ __typename }" })),
            http().put(format!("http://{}/assets/a", gateway.address)).body("a"),
            http().put(format!("http://{}/graphql/stream", gateway.address)),
        ] {
            let refused = twice(request, second).send().await.expect("an answer");
            assert_eq!(refused.status(), 400);
            let body: Value = refused.json().await.expect("JSON");
            let extensions = &body["errors"][0]["extensions"];
            assert_eq!(extensions["code"], "BAD_USER_INPUT");
            assert_eq!(extensions["field"], "authorization");
        }
    }
    assert!(gateway.snapshot().await == before, "a refusal changed something");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_says_who_and_until_when() {
    let gateway = Gateway::start().await;
    let now = now_seconds();
    for (claims, expected) in [
        (json!({ "sub": "a", "exp": now + 60 }), 200),
        (json!({ "sub": "b", "exp": now + 60, "nbf": now - 1, "iat": now - 1 }), 200),
        (
            json!({ "sub": "c", "exp": f64::from(u32::try_from(now).expect("before 2106")) + 60.5 }),
            200,
        ),
        (json!({ "sub": "s".repeat(128), "exp": now + 60 }), 200),
        // Until when.
        (json!({ "sub": "a" }), 401),
        (json!({ "sub": "a", "exp": now - 2 }), 401),
        (json!({ "sub": "a", "exp": null }), 401),
        (json!({ "sub": "a", "exp": (now + 60).to_string() }), 401),
        (json!({ "sub": "a", "exp": -1 }), 401),
        (json!({ "sub": "a", "exp": 1e300 }), 401),
        (json!({ "sub": "a", "exp": now + 60, "nbf": now + 30 }), 401),
        (json!({ "sub": "a", "exp": now + 60, "nbf": "soon" }), 401),
        // Who.
        (json!({ "exp": now + 60 }), 401),
        (json!({ "sub": "", "exp": now + 60 }), 401),
        (json!({ "sub": 5, "exp": now + 60 }), 401),
        (json!({ "sub": "s".repeat(129), "exp": now + 60 }), 401),
    ] {
        assert_eq!(status(&gateway, &token_with(&claims)).await, expected, "{claims}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clocks_may_differ_by_the_leeway() {
    let gateway = Gateway::with(|config| config.auth_leeway_seconds = 30).await;
    let now = now_seconds();
    for (claims, expected) in [
        (json!({ "sub": "a", "exp": now - 10 }), 200),
        (json!({ "sub": "a", "exp": now - 35 }), 401),
        (json!({ "sub": "a", "exp": now + 60, "nbf": now + 20 }), 200),
        (json!({ "sub": "a", "exp": now + 60, "nbf": now + 50 }), 401),
    ] {
        assert_eq!(status(&gateway, &token_with(&claims)).await, expected, "{claims}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn issuer_and_audience_are_demanded_where_they_are_set() {
    let gateway = Gateway::with(|config| {
        config.auth_issuer = Some("https://issuer.example".to_owned());
        config.auth_audience = Some("shop".to_owned());
    })
    .await;
    let good = json!("https://issuer.example");
    for (issuer, audience, expected) in [
        (good.clone(), json!("shop"), 200),
        (good.clone(), json!(["other", "shop"]), 200),
        (good.clone(), json!("other"), 401),
        (good.clone(), json!(["other"]), 401),
        (good.clone(), json!([]), 401),
        (good.clone(), json!(5), 401),
        (good.clone(), json!(null), 401),
        (json!("https://issuer.example/"), json!("shop"), 401),
        (json!("https://ISSUER.example"), json!("shop"), 401),
        (json!(null), json!("shop"), 401),
        (json!(5), json!("shop"), 401),
    ] {
        let mut claims = json!({ "sub": "someone", "exp": now_seconds() + 60 });
        for (name, value) in [("iss", &issuer), ("aud", &audience)] {
            // Null stands for no such claim.
            if !value.is_null() {
                claims[name] = value.clone();
            }
        }
        assert_eq!(status(&gateway, &token_with(&claims)).await, expected, "{claims}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_held_ends_when_it_expires() {
    let gateway = Gateway::start().await;
    let token = token_with(&json!({ "sub": "someone", "exp": now_seconds() + 10 }));
    assert_eq!((status(&gateway, &token).await, status(&gateway, &token).await), (200, 200));
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!((status(&gateway, &token).await, status(&gateway, &token).await), (401, 401));
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_stand_where_the_configuration_says() {
    const RECEIVE: &str =
        "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    let long = "https://shop.example/roles";
    for (claim, claims, has) in [
        ("roles", json!({ "roles": ["merchant"] }), true),
        ("roles", json!({ "roles": ["nobody", 5, null, "merchant"] }), true),
        ("roles", json!({ "roles": "editor merchant" }), true),
        ("roles", json!({ "roles": "merchants" }), false),
        ("roles", json!({ "roles": ["Merchant", " merchant"] }), false),
        ("roles", json!({ "roles": { "merchant": true } }), false),
        ("roles", json!({ "roles": null }), false),
        ("roles", json!({ "permissions": ["merchant"] }), false),
        ("permissions", json!({ "permissions": ["merchant"] }), true),
        ("permissions", json!({ "roles": ["merchant"] }), false),
        (long, json!({ (long): ["merchant"] }), true),
        ("a.b", json!({ "a.b": ["merchant"] }), true),
        ("a.b", json!({ "a": { "b": ["merchant"] } }), false),
        ("/realm_access/roles", json!({ "realm_access": { "roles": ["merchant"] } }), true),
        ("/realm_access/roles", json!({ "realm_access": ["merchant"], "roles": ["admin"] }), false),
        ("/a~1b/c~0d", json!({ "a/b": { "c~d": ["merchant"] } }), true),
    ] {
        let gateway = Gateway::with(|config| config.auth_roles_claim = claim.to_owned()).await;
        let mut claims = claims;
        claims["sub"] = json!("someone");
        claims["exp"] = json!(now_seconds() + 60);
        let answer = gateway.client(Some(token_with(&claims))).run(RECEIVE, json!({})).await;
        let found = answer["data"]["receiveStock"]["__typename"] == "NotFound";
        let refused = answer["errors"][0]["extensions"]["code"] == "FORBIDDEN";
        assert_eq!((found, refused), (has, !has), "{claim}: {claims}");
    }
}
