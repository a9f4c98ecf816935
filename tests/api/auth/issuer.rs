//! An issuer that publishes its keys under a URL: it changes them, is away, is slow, talks nonsense.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use docgate::config::Config;
use futures_util::stream;
use jsonwebtoken::{Algorithm, DecodingKey, jwk::Jwk};
use mongodb::bson::doc;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpSocket, TcpStream},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    SIGNED_IN,
    signers::{EC_384, RSA_1024, Signer},
    status,
};
use crate::support::{
    Gateway, http,
    live::{LEGACY, TRANSPORT},
    until,
};

/// What is answered to whoever asks for the keys.
#[derive(Clone)]
enum Answer {
    Keys(Vec<Value>),
    Late(Duration, Vec<Value>),
    Text(String),
    /// In parts, without saying how much it is.
    Parts(String, usize),
    Status(StatusCode),
    /// The keys, under a status that says that they aren't.
    Failed(Vec<Value>),
    /// The keys are somewhere else, where they are indeed.
    Elsewhere(Vec<Value>),
}

struct Published {
    answer: Mutex<Answer>,
    looks: AtomicUsize,
}

/// An issuer's server.
struct Issuer {
    url: String,
    published: Arc<Published>,
    _serving: AbortOnDropHandle<()>,
}

impl Issuer {
    async fn start(signers: &[&Signer]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a port"), signers)
    }

    fn on(listener: TcpListener, signers: &[&Signer]) -> Self {
        let answer = Mutex::new(Answer::Keys(keys(signers)));
        let published = Arc::new(Published { answer, looks: AtomicUsize::new(0) });
        let url = format!("http://{}/keys", listener.local_addr().expect("an address"));
        let router = Router::new()
            .route("/keys", get(answer_keys))
            .route("/elsewhere", get(answer_elsewhere))
            .with_state(Arc::clone(&published));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { url, published, _serving: AbortOnDropHandle::new(serving) }
    }

    fn answers(&self, answer: Answer) {
        *self.published.answer.lock().expect("whole") = answer;
    }

    fn publishes(&self, signers: &[&Signer]) {
        self.answers(Answer::Keys(keys(signers)));
    }

    /// How often it was asked for its keys.
    fn looks(&self) -> usize {
        self.published.looks.load(Ordering::SeqCst)
    }

    /// Waits until it was asked, and answered, after now.
    async fn was_asked(&self) {
        // The first one may have been on its way.
        let before = self.looks();
        until("the keys are looked at", async || self.looks() >= before + 2).await;
    }

    /// A gateway that follows it.
    async fn gateway(&self, change: impl FnOnce(&mut Config)) -> Gateway {
        let url = self.url.clone();
        Gateway::with(|config| {
            config.auth_jwks_url = Some(url);
            change(config);
        })
        .await
    }
}

fn keys(signers: &[&Signer]) -> Vec<Value> {
    signers.iter().map(|signer| signer.jwk()).collect()
}

fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

async fn answer_keys(State(published): State<Arc<Published>>) -> Response {
    published.looks.fetch_add(1, Ordering::SeqCst);
    let answer = published.answer.lock().expect("whole").clone();
    match answer {
        Answer::Keys(keys) => set(&keys).into_response(),
        Answer::Late(time, keys) => {
            tokio::time::sleep(time).await;
            set(&keys).into_response()
        }
        Answer::Text(text) => text.into_response(),
        Answer::Parts(text, size) => {
            let parts: Vec<_> = text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
            let parts = parts.into_iter().map(Ok::<_, std::io::Error>);
            Body::from_stream(stream::iter(parts)).into_response()
        }
        Answer::Status(status) => status.into_response(),
        Answer::Failed(keys) => (StatusCode::BAD_GATEWAY, set(&keys)).into_response(),
        Answer::Elsewhere(_) => (StatusCode::FOUND, [(LOCATION, "/elsewhere")]).into_response(),
    }
}

async fn answer_elsewhere(State(published): State<Arc<Published>>) -> String {
    match &*published.answer.lock().expect("whole") {
        Answer::Elsewhere(keys) => set(keys),
        _ => String::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_looked_for_once_per_cool_down() {
    // A busy machine may take longer than a cool-down.
    for _ in 0..10 {
        if is_looked_for_once().await {
            return;
        }
    }
    panic!("each time it was too slow to tell");
}

/// Returns `false` if the requests of one cool-down took longer than that.
async fn is_looked_for_once() -> bool {
    const COOL_DOWN: Duration = Duration::from_secs(5);
    let (a, b, c) = (Signer::ed("a"), Signer::ed("b"), Signer::ed("c"));
    let issuer = Issuer::start(&[&a]).await;
    let gateway =
        issuer.gateway(|config| config.auth_jwks_cooldown_seconds = COOL_DOWN.as_secs()).await;
    // A request that comes before the first look looks by itself.
    until("the first look", async || issuer.looks() == 1).await;
    let told = async |token: String| (status(&gateway, &token).await, issuer.looks());
    assert_eq!(told(a.token()).await, (200, 1));

    issuer.publishes(&[&a, &b]);
    let begun = Instant::now();
    assert_eq!(told(b.token()).await, (200, 2));
    issuer.publishes(&[&a, &b, &c]);
    // A key that is known by name isn't looked for, whatever was signed in its name.
    let forged = Signer::ed("forger").named(Some("a"));
    let now =
        [told(c.token()).await, told(a.token_of("another")).await, told(forged.token()).await];
    if begun.elapsed() >= COOL_DOWN {
        return false;
    }
    assert_eq!(now, [(401, 2), (200, 2), (401, 2)]);

    tokio::time::sleep(COOL_DOWN).await;
    assert_eq!(told(forged.token()).await, (401, 2));
    assert_eq!(told(Signer::shared().token()).await, (200, 2));
    let begun = Instant::now();
    assert_eq!(told(c.token()).await, (200, 3));
    let unknown = told(Signer::ed("d").token()).await;
    if begun.elapsed() >= COOL_DOWN {
        return false;
    }
    assert_eq!(unknown, (401, 3));
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_with_a_new_key_share_one_look() {
    let (a, b) = (Signer::ed("a"), Signer::ed("b"));
    let issuer = Issuer::start(&[&a]).await;
    let gateway = issuer.gateway(|_| {}).await;
    assert_eq!(status(&gateway, &a.token()).await, 200);
    // In a busy machine the first look may have run out of time and been repeated.
    let before = issuer.looks();
    // What takes long is done before: in a busy machine the look must not run out of time.
    let tokens: Vec<_> = (0..64).map(|caller| b.token_of(&format!("caller-{caller}"))).collect();
    let (http, url) = (http(), gateway.anonymous().url);
    issuer.answers(Answer::Late(Duration::from_secs(1), keys(&[&a, &b])));

    // The first one hangs up while the look that it began is under way.
    let body = json!({ "query": SIGNED_IN }).to_string();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\
         content-length: {}\r\n\r\n{body}",
        b.token(),
        body.len()
    );
    let mut stream = TcpStream::connect(gateway.address).await.expect("connected");
    stream.write_all(request.as_bytes()).await.expect("written");
    until("the look is begun", async || issuer.looks() == before + 1).await;
    drop(stream);

    let callers = tokens.into_iter().map(|token| {
        let request = http.post(&url).bearer_auth(token);
        tokio::spawn(request.json(&json!({ "query": SIGNED_IN })).send())
    });
    for caller in callers.collect::<Vec<_>>() {
        let answer = caller.await.expect("a caller").expect("an answer");
        let (status, text) = (answer.status(), answer.text().await.expect("a text"));
        assert_eq!(status, 200, "{text}");
    }
    assert_eq!(issuer.looks(), before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_good_keys_are_kept_while_the_issuer_is_away() {
    let (a, b) = (Signer::ed("a"), Signer::ed("b"));
    let issuer = Issuer::start(&[&a]).await;
    let gateway = issuer
        .gateway(|config| {
            config.auth_jwks_refresh_seconds = 1;
            config.auth_jwks_cooldown_seconds = 1;
        })
        .await;
    let known = a.token_of("known");
    assert_eq!(status(&gateway, &known).await, 200);
    issuer.answers(Answer::Status(StatusCode::INTERNAL_SERVER_ERROR));
    issuer.was_asked().await;
    assert_eq!(status(&gateway, &known).await, 200);
    assert_eq!(status(&gateway, &a.token_of("new")).await, 200);
    // It may be one that the issuer has by now: nobody can tell.
    assert_eq!(status(&gateway, &b.token()).await, 503);
    issuer.publishes(&[&a]);
    issuer.was_asked().await;
    assert_eq!(status(&gateway, &b.token()).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_may_be_away_when_the_gateway_starts() {
    let a = Signer::ed("a");
    // A port on which nobody listens yet.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let url = format!("http://{}/keys", socket.local_addr().expect("an address"));
    let gateway = Gateway::with(|config| {
        config.auth_jwks_url = Some(url);
        config.auth_jwks_cooldown_seconds = 1;
    })
    .await;
    assert_eq!(status(&gateway, &a.token()).await, 503);
    assert_eq!(status(&gateway, &a.clone().named(None).token()).await, 503);
    // After 4403 a client would sign its user out.
    for protocol in [TRANSPORT, LEGACY] {
        let mut socket = gateway.socket(protocol).await;
        let payload = json!({ "Authorization": format!("Bearer {}", a.token()) });
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.closed().await.0, 1013, "{protocol}");
    }
    assert_eq!(status(&gateway, "nonsense").await, 401);
    assert_eq!(status(&gateway, &Signer::shared().token()).await, 200);
    assert_eq!(status(&gateway, &Signer::secret(b"another one's").token()).await, 401);
    let stock = "{ stock(sku: \"x\") { available } }";
    assert_eq!(gateway.anonymous().data(stock, json!({})).await["stock"], json!(null));

    let issuer = Issuer::on(socket.listen(64).expect("it listens"), &[&a]);
    // By itself, without a token that asks for it.
    until("the keys are looked at", async || issuer.looks() >= 1).await;
    until("the token holds", async || status(&gateway, &a.token()).await == 200).await;
    assert_eq!(status(&gateway, &Signer::ed("b").token()).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_end_with_the_key_that_signed_them() {
    let (a, b) = (Signer::ed("a"), Signer::ed("b"));
    let issuer = Issuer::start(&[&a, &b]).await;
    let gateway = issuer
        .gateway(|config| {
            config.auth_jwks_refresh_seconds = 1;
            config.auth_jwks_cooldown_seconds = 60;
        })
        .await;
    let (first, second, own) = (a.token(), b.token(), Signer::shared().token());
    for _ in 0..2 {
        for token in [&first, &second, &own] {
            assert_eq!(status(&gateway, token).await, 200);
        }
    }
    let stock = doc! { "_id": "a", "available": 1, "v": 1 };
    gateway.database.collection("inventory").insert_one(stock).await.expect("inserted");
    let mut staying = gateway.session(Some(&second)).await;
    let ending = gateway.session(Some(&first)).await;
    let follow = "subscription { stockChanged(sku: \"a\") { available } }";
    let mut events = gateway.client(Some(first.clone())).events(follow, json!({})).await;
    let (_, now) = events.event().await.expect("an event");
    assert_eq!(now["data"]["stockChanged"]["available"], 1, "{now:#}");
    issuer.publishes(&[&b]);
    issuer.was_asked().await;
    // What is open with such a token ends as well, and the rest stays open.
    assert_eq!(ending.closed().await, (4403, "Forbidden: the token has ended".to_owned()));
    let (_, ended) = events.event().await.expect("an event");
    assert_eq!(ended["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{ended:#}");
    staying.subscribe("1", SIGNED_IN, json!({})).await;
    assert!(staying.next("1").await.get("errors").is_none());
    assert_eq!(status(&gateway, &first).await, 401);
    assert_eq!((status(&gateway, &second).await, status(&gateway, &own).await), (200, 200));
    // And back again.
    issuer.publishes(&[&b, &a]);
    issuer.was_asked().await;
    assert_eq!(status(&gateway, &first).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_set_of_usable_keys_changes_nothing() {
    let (a, b) = (Signer::ed("a"), Signer::ed("b"));
    let issuer = Issuer::start(&[&a]).await;
    let gateway = issuer
        .gateway(|config| {
            config.auth_jwks_refresh_seconds = 1;
            config.auth_jwks_cooldown_seconds = 1;
        })
        .await;
    assert_eq!(status(&gateway, &a.token()).await, 200);
    let good = set(&keys(&[&b]));
    let padded = format!("{good}{}", " ".repeat(256 << 10));
    let mut encrypting = b.jwk();
    encrypting["use"] = json!("enc");
    for (what, answer) in [
        ("nothing", Answer::Text(String::new())),
        ("a page", Answer::Text("<html>Sign in</html>".to_owned())),
        ("another shape", Answer::Text("{\"keys\": {\"a\": 1}}".to_owned())),
        ("half of it", Answer::Text(good[..good.len() / 2].to_owned())),
        ("depth", Answer::Text("[".repeat(100_000))),
        ("no keys", Answer::Keys(vec![])),
        ("no usable keys", Answer::Keys(vec![encrypting])),
        ("too much", Answer::Text(padded.clone())),
        ("too much, bit by bit", Answer::Parts(padded, 4_096)),
        ("a redirect", Answer::Elsewhere(keys(&[&b]))),
        ("no content", Answer::Status(StatusCode::NO_CONTENT)),
        ("a failure that looks good", Answer::Failed(keys(&[&b]))),
    ] {
        issuer.answers(answer);
        issuer.was_asked().await;
        assert_eq!(status(&gateway, &a.token_of(what)).await, 200, "{what}");
        assert_eq!(status(&gateway, &b.token()).await, 503, "{what}");
    }
    issuer.answers(Answer::Parts(good, 7));
    issuer.was_asked().await;
    assert_eq!(status(&gateway, &b.token()).await, 200, "bit by bit");
    assert_eq!(status(&gateway, &a.token()).await, 401);
}

/// A public key of PEM text, as an issuer publishes it.
fn jwk(id: &str, key: DecodingKey) -> Value {
    let jwk = Jwk::from_decoding_key(&key, None).expect("a public key");
    let mut jwk = serde_json::to_value(jwk).expect("JSON");
    jwk["kid"] = json!(id);
    jwk
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_can_not_be_used_are_passed_over() {
    let with = |signer: &Signer, field: &str, value: Value| {
        let mut jwk = signer.jwk();
        jwk[field] = value;
        jwk
    };
    let secret = Signer::secret(b"a secret of thirty-two bytes, or more");
    let secret = Signer { id: Some("secret".to_owned()), ..secret };
    let oct = "a secret of thirty-two bytes, or more";
    let (encrypting, other_use) = (Signer::ed("encrypting"), Signer::ed("other-use"));
    let (signing, other_algorithm) = (Signer::ed("signing"), Signer::ed("other-algorithm"));
    let (short, long) = (Signer::ed("short"), Signer::ed("long"));
    let cut =
        |signer: &Signer, bytes: &[u8]| with(signer, "x", json!(URL_SAFE_NO_PAD.encode(bytes)));
    let long_bytes = [long.ed_bytes(), vec![0]].concat();
    let ec = Signer::ec().named(Some("off-the-curve"));
    let rsa = |id, algorithm| Signer::rsa(algorithm).named(Some(id));
    let exponent = rsa("exponent", Algorithm::RS256);
    let (good, checking) = (Signer::ed("good"), Signer::ed("checking"));
    let (bound, free) = (rsa("bound", Algorithm::RS256), rsa("free", Algorithm::RS256));
    let issuer = Issuer::start(&[]).await;
    issuer.answers(Answer::Keys(vec![
        json!({ "kty": "oct", "kid": "secret", "k": URL_SAFE_NO_PAD.encode(oct) }),
        json!({ "kty": "oct", "kid": "secret", "alg": "HS256", "use": "sig", "k": URL_SAFE_NO_PAD.encode(oct) }),
        json!({ "kty": "AKP", "kid": "later", "alg": "ML-DSA-44", "pub": "AAAA" }),
        json!({ "kty": "EC", "kid": "bitcoin", "crv": "secp256k1", "x": "AAAA", "y": "AAAA" }),
        json!("nonsense"),
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "AAAA", "kid": 5 }),
        with(&encrypting, "use", json!("enc")),
        with(&other_use, "use", json!("something")),
        with(&signing, "key_ops", json!(["sign"])),
        with(&other_algorithm, "alg", json!("ES256")),
        cut(&short, &short.ed_bytes()[..31]),
        cut(&long, &long_bytes),
        with(&ec, "y", ec.jwk()["x"].clone()),
        with(&exponent, "e", json!("AQ")),
        jwk("rsa1024", DecodingKey::from_rsa_pem(RSA_1024.as_bytes()).expect("a key")),
        jwk("ec384", DecodingKey::from_ec_pem(EC_384.as_bytes()).expect("a key")),
        with(&checking, "key_ops", json!(["verify"])),
        with(&bound, "alg", json!("RS256")),
        with(&free, "x5c", json!(["AAAA"])),
        with(&good, "use", json!("sig")),
    ]));
    let gateway = issuer.gateway(|_| {}).await;
    let ps = |id| rsa(id, Algorithm::PS256);
    for (signer, expected) in [
        (&good, 200),
        (&checking, 200),
        (&bound, 200),
        (&ps("bound"), 401),
        (&free, 200),
        (&ps("free"), 200),
        (&secret, 401),
        (&encrypting, 401),
        (&other_use, 401),
        (&signing, 401),
        (&other_algorithm, 401),
        (&short, 401),
        (&long, 401),
        (&ec, 401),
        (&exponent, 401),
        // Tokens that name no key, and one that names another's.
        (&good.clone().named(None), 200),
        (&encrypting.clone().named(None), 401),
        (&good.clone().named(Some("checking")), 401),
    ] {
        assert_eq!(status(&gateway, &signer.token()).await, expected, "{:?}", signer.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_issuer_keeps_nobody_waiting_whose_key_is_known() {
    let (a, b) = (Signer::ed("a"), Signer::ed("b"));
    let issuer = Issuer::start(&[&a]).await;
    let gateway = issuer.gateway(|config| config.auth_jwks_refresh_seconds = 1).await;
    let known = a.token_of("known");
    assert_eq!(status(&gateway, &known).await, 200);
    let slow_from = Instant::now();
    issuer.answers(Answer::Late(Duration::from_secs(60), keys(&[&a, &b])));
    // A busy machine may take as long as a look, so several looks may have to tell.
    let mut quickest = Duration::MAX;
    for number in 0..10 {
        let looks = issuer.looks();
        until("the keys are looked at", async || issuer.looks() > looks).await;
        let begun = Instant::now();
        assert_eq!(status(&gateway, &known).await, 200);
        assert_eq!(status(&gateway, &a.token_of(&format!("new-{number}"))).await, 200);
        quickest = quickest.min(begun.elapsed());
        if quickest < Duration::from_secs(3) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(3), "{quickest:?}");
    // Whose key isn't known waits for the look that is under way, and no longer than it may take.
    let begun = Instant::now();
    assert_eq!(status(&gateway, &b.token()).await, 503);
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert!(slow_from.elapsed() >= Duration::from_secs(4), "{:?}", slow_from.elapsed());
    assert_eq!(status(&gateway, &known).await, 200);
}
