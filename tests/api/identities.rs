//! Names by which users are found: who may have one, and who is told.

use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, commands, cuts, short_bounds};

const CLAIM: &str = "mutation($input: ClaimIdentityInput!) { claimIdentity(input: $input) {
    __typename ... on Identity { kind value userId }
    ... on UserError { code message } ... on InvalidInput { field } } }";
const RELEASE: &str = "mutation($input: ReleaseIdentityInput!) { releaseIdentity(input: $input) {
    __typename ... on ReleasedIdentity { kind value } ... on UserError { code } } }";
const CHANGE: &str = "mutation($input: ChangeIdentityInput!) { changeIdentity(input: $input) {
    __typename ... on Identity { kind value userId }
    ... on UserError { code } ... on InvalidInput { field } } }";
const PROVE: &str = "mutation($input: ProveIdentityInput!) { proveIdentity(input: $input) {
    __typename ... on IdentityProof { proof expiresAt } ... on UserError { code } } }";
const FIND: &str = "query($identity: IdentityInput!) { userBy(identity: $identity) { id } }";
const OWN: &str = "query($user: ID, $first: Int, $after: String) {
    identities(userId: $user, first: $first, after: $after) {
        nodes { kind value } pageInfo { hasNextPage endCursor } } }";

fn email(address: &str) -> Value {
    json!({ "email": address })
}

/// What a service hands to a user who has shown that the name is theirs.
async fn proof(gateway: &Gateway, identity: &Value, user: &str) -> String {
    let input = json!({ "input": { "identity": identity, "userId": user } });
    let proof = gateway.service().field(PROVE, input).await;
    proof["proof"].as_str().expect("a proof").to_owned()
}

/// Claims for somebody, as a service.
async fn give(gateway: &Gateway, identity: Value, user: &str) -> Value {
    let input = json!({ "input": { "identity": identity, "userId": user } });
    gateway.service().field(CLAIM, input).await
}

async fn holder(gateway: &Gateway, identity: &Value) -> Value {
    gateway.service().field(FIND, json!({ "identity": identity })).await["id"].clone()
}

async fn refused(
    gateway: &Gateway,
    client: &Client,
    query: &str,
    input: Value,
    with: &str,
) -> Value {
    let before = gateway.snapshot().await;
    let said = client.field(query, json!({ "input": input })).await;
    assert_eq!(said["__typename"], with, "{said:#}");
    assert!(gateway.snapshot().await == before, "{said:#}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_claimed_with_a_proof_by_one_alone() {
    let gateway = Gateway::start().await;
    let (anna, ben) = (gateway.shopper("anna"), gateway.shopper("ben"));
    let address = email("Anna@Example.org");
    let shown = proof(&gateway, &address, "anna").await;
    let claim = json!({ "identity": email(" anna@EXAMPLE.org "), "proof": shown });
    let made = anna.field(CLAIM, json!({ "input": claim })).await;
    let expected = json!({
        "__typename": "Identity", "kind": "EMAIL", "value": "anna@example.org", "userId": "anna",
    });
    assert_eq!(made, expected);
    let before = gateway.snapshot().await;
    assert_eq!(anna.field(CLAIM, json!({ "input": claim })).await, made);
    assert!(gateway.snapshot().await == before, "a repeat changes nothing");
    assert_eq!(holder(&gateway, &address).await, "anna");

    // Who has proved that the name is theirs is told that it is taken.
    let shown = proof(&gateway, &address, "ben").await;
    let claim = json!({ "identity": address, "proof": shown });
    refused(&gateway, &ben, CLAIM, claim, "AlreadyExists").await;
    assert_eq!(give(&gateway, address, "ben").await["__typename"], "AlreadyExists");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn to_strangers_a_taken_name_looks_like_a_free_one() {
    let gateway = Gateway::start().await;
    give(&gateway, email("anna@example.org"), "anna").await;
    give(&gateway, json!({ "username": "ben" }), "ben").await;
    let ben = gateway.shopper("ben");
    let (taken, free) = (email("anna@example.org"), email("nobody@example.org"));
    let foreign = proof(&gateway, &taken, "anna").await;
    let other = proof(&gateway, &email("other@example.org"), "ben").await;
    let (end, signature) = foreign.split_once('.').expect("two parts");
    let late = format!("{}.{signature}", end.parse::<i64>().expect("a time") + 1);
    let mut answers = Vec::new();
    for identity in [&taken, &free] {
        for proof in [
            None,
            Some(""),
            Some("."),
            Some("1.AAAAAAAAAAAAAAAAAAAAAA"),
            Some(&*foreign),
            Some(&*other),
            Some(&*late),
        ] {
            let claim = json!({ "identity": identity, "proof": proof });
            answers.push(refused(&gateway, &ben, CLAIM, claim, "ProofNeeded").await);
            let change = json!({ "from": { "username": "ben" }, "to": identity, "proof": proof });
            refused(&gateway, &ben, CHANGE, change, "ProofNeeded").await;
        }
        assert_eq!(ben.field(FIND, json!({ "identity": identity })).await, Value::Null);
        let release = json!({ "identity": identity });
        refused(&gateway, &ben, RELEASE, release, "NotFound").await;
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(ben.field(FIND, json!({ "identity": { "username": "BEN" } })).await["id"], "ben");
    for query in [CLAIM, RELEASE] {
        let input = json!({ "input": { "identity": taken, "userId": "anna" } });
        assert_eq!(ben.error_code(query, input).await, "FORBIDDEN");
    }
    assert_eq!(ben.error_code(OWN, json!({ "user": "anna" })).await, "FORBIDDEN");
    let input = json!({ "input": { "identity": free, "userId": "ben" } });
    assert_eq!(ben.error_code(PROVE, input).await, "FORBIDDEN");
    assert_eq!(
        gateway.anonymous().error_code(FIND, json!({ "identity": taken })).await,
        "UNAUTHENTICATED"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proof_ends() {
    let gateway = Gateway::start().await;
    let now = gateway.app.begin().await.expect("a run").now().timestamp_millis();
    let anna = gateway.shopper("anna");
    for (end, expected) in [(now - 1, "ProofNeeded"), (now + 60_000, "Identity")] {
        let end = end.to_string();
        let parts = ["identity proof", "email:anna@example.org", "anna", &end];
        let proof = format!("{end}.{}", gateway.app.ids().derived(&parts));
        let claim = json!({ "identity": email("anna@example.org"), "proof": proof });
        let said = anna.field(CLAIM, json!({ "input": claim })).await;
        assert_eq!(said["__typename"], expected, "{said:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_claim_a_name_at_once_one_gets_it() {
    let gateway = Gateway::start().await;
    for round in 0..4 {
        let name = json!({ "username": format!("name-{round}") });
        let users: Vec<_> = (0..8).map(|n| format!("user-{n}")).collect();
        let all = join_all(users.iter().map(|user| give(&gateway, name.clone(), user))).await;
        let (won, lost): (Vec<_>, Vec<_>) =
            all.iter().partition(|said| said["__typename"] == "Identity");
        assert_eq!((won.len(), lost.len()), (1, 7), "{all:#?}");
        assert!(lost.iter().all(|said| said["__typename"] == "AlreadyExists"));
        assert_eq!(holder(&gateway, &name).await, won[0]["userId"]);
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_let_go_is_free_for_others() {
    let gateway = Gateway::with(short_bounds).await;
    let name = json!({ "username": "anna" });
    give(&gateway, name.clone(), "anna").await;
    let anna = gateway.shopper("anna");
    let input = json!({ "input": { "identity": name } });
    let released = anna.field(RELEASE, input.clone()).await;
    let expected = json!({ "__typename": "ReleasedIdentity", "kind": "USERNAME", "value": "anna" });
    assert_eq!(released, expected);
    assert_eq!(anna.field(RELEASE, input.clone()).await, expected, "a repeat");
    assert_eq!(holder(&gateway, &name).await, Value::Null);
    let own = anna.field(OWN, json!({})).await;
    assert_eq!(own["nodes"], json!([]));
    assert_eq!(give(&gateway, name.clone(), "ben").await["userId"], "ben");
    assert_eq!(anna.field(RELEASE, input).await["__typename"], "NotFound");
    let input = json!({ "input": { "identity": name } });
    gateway.shopper("ben").field(RELEASE, input).await;
    gateway.sweep().await;
    assert!(!gateway.snapshot().await.contains_key("identities"), "no stone is left");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_gives_one_name_for_another() {
    let gateway = Gateway::with(short_bounds).await;
    let (old, new) = (email("old@example.org"), email("new@example.org"));
    give(&gateway, old.clone(), "anna").await;
    give(&gateway, email("taken@example.org"), "ben").await;
    let anna = gateway.shopper("anna");
    let shown = proof(&gateway, &new, "anna").await;
    let change = json!({ "from": old, "to": new, "proof": shown });
    let changed = anna.field(CHANGE, json!({ "input": change })).await;
    assert_eq!(
        (&changed["value"], &changed["userId"]),
        (&json!("new@example.org"), &json!("anna"))
    );
    assert_eq!(
        (holder(&gateway, &old).await, holder(&gateway, &new).await),
        (Value::Null, json!("anna"))
    );
    gateway.assert_sound().await;
    assert_eq!(anna.field(CHANGE, json!({ "input": change })).await, changed, "a repeat");
    gateway.sweep().await;
    assert_eq!(anna.field(CHANGE, json!({ "input": change })).await, changed, "a late repeat");

    let to = |from: &Value, to: &Value| json!({ "from": from, "to": to, "userId": "anna" });
    let service = gateway.service();
    refused(&gateway, &service, CHANGE, to(&new, &email("taken@example.org")), "AlreadyExists")
        .await;
    refused(&gateway, &service, CHANGE, to(&old, &email("third@example.org")), "NotFound").await;
    refused(&gateway, &service, CHANGE, to(&email("taken@example.org"), &old), "NotFound").await;
    refused(&gateway, &service, CHANGE, to(&new, &email("NEW@example.org")), "InvalidInput").await;
    // Back again, into one that the user has already, and to another kind of name.
    let input = |from: &Value, to_: &Value| json!({ "input": to(from, to_) });
    assert_eq!(service.field(CHANGE, input(&new, &old)).await["value"], "old@example.org");
    let phone = json!({ "phone": "+49 221 123456" });
    give(&gateway, phone.clone(), "anna").await;
    assert_eq!(service.field(CHANGE, input(&old, &phone)).await["value"], "+49221123456");
    assert_eq!(service.field(CHANGE, input(&old, &phone)).await["value"], "+49221123456");
    let own = anna.run(OWN, json!({})).await;
    assert_eq!(commands(&own), ["find identities"]);
    let expected = json!([{ "kind": "PHONE", "value": "+49221123456" }]);
    assert_eq!(own["data"]["identities"]["nodes"], expected);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_changes_that_cross_none_loses_a_name() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    for round in 0..6 {
        let name = |of: &str| json!({ "username": format!("{of}-{round}") });
        give(&gateway, name("anna"), "anna").await;
        give(&gateway, name("ben"), "ben").await;
        // Both want the same new name, and each the other's.
        let change = |user: &str, from: &str, to: &str| {
            let input = json!({ "from": name(from), "to": name(to), "userId": user });
            let service = service.clone();
            async move { service.run(CHANGE, json!({ "input": input })).await }
        };
        tokio::join!(
            change("anna", "anna", "new"),
            change("ben", "ben", "new"),
            change("anna", "anna", "ben"),
            change("ben", "ben", "anna"),
        );
        for user in ["anna", "ben"] {
            let own = service.field(OWN, json!({ "user": user, "first": 100 })).await;
            let own = own["nodes"].as_array().expect("nodes").clone();
            let of_round = |one: &&Value| {
                one["value"].as_str().expect("a value").ends_with(&format!("-{round}"))
            };
            let count = own.iter().filter(of_round).count();
            assert_eq!(count, 1, "{user} has one of them: {own:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_cut_anywhere_happens_or_not() {
    cuts::everywhere(
        short_bounds,
        async |gateway, number| {
            give(gateway, json!({ "username": format!("old-{number}") }), "anna").await;
            number
        },
        async |gateway, number| {
            let (from, to) = (format!("old-{number}"), format!("new-{number}"));
            let input = json!({
                "from": { "username": from }, "to": { "username": to }, "userId": "anna",
            });
            let sent = gateway.service().send(CHANGE, json!({ "input": input })).await;
            if let Ok((_, response)) = sent
                && let Some(error) = response["errors"].get(0)
            {
                assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{response:#}");
            }
        },
        async |gateway, case| {
            let number = case.subject;
            let old = holder(gateway, &json!({ "username": format!("old-{number}") })).await;
            let new = holder(gateway, &json!({ "username": format!("new-{number}") })).await;
            assert_eq!((old, new), (Value::Null, json!("anna")), "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_cut_anywhere_is_there_once_it_was_repeated() {
    cuts::everywhere(
        short_bounds,
        async |_, number| number,
        async |gateway, number| {
            let identity = json!({ "username": format!("name-{number}") });
            let input = json!({ "input": { "identity": identity, "userId": "anna" } });
            gateway.service().send(CLAIM, input).await.ok();
        },
        async |gateway, case| {
            let name = json!({ "username": format!("name-{}", case.subject) });
            assert_eq!(holder(gateway, &name).await, "anna", "{case:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_died_on_its_way_loses_nothing() {
    let gateway = Gateway::with(short_bounds).await;
    let identities = gateway.database.collection::<Document>("identities");
    // Given up before its decision: the new name is free again.
    give(&gateway, json!({ "username": "one" }), "anna").await;
    let at = DateTime::from_millis(1_000);
    let taken = doc! {
        "_id": "username:two", "name": { "kind": "username", "value": "two" }, "userId": "anna",
        "since": at, "pending": { "insteadOf": "username:one", "at": at }, "v": 1,
    };
    identities.insert_one(taken).await.expect("inserted");
    assert_eq!(holder(&gateway, &json!({ "username": "two" })).await, Value::Null);
    assert_eq!(
        give(&gateway, json!({ "username": "two" }), "ben").await["__typename"],
        "AlreadyExists"
    );
    // Dead after its decision: whoever wants the old name finishes it first.
    let moved = doc! {
        "_id": "username:three", "name": { "kind": "username", "value": "three" },
        "userId": "carl", "since": at, "releasedAt": at, "movedTo": "username:four", "v": 1,
    };
    let waits = doc! {
        "_id": "username:four", "name": { "kind": "username", "value": "four" },
        "userId": "carl", "since": at, "pending": { "insteadOf": "username:three", "at": at },
        "v": 1,
    };
    identities.insert_many([moved, waits]).await.expect("inserted");
    let report = docgate::domains::check(&gateway.app).await.expect("a report");
    assert!(!report.is_clean(), "the check sees them");
    assert_eq!(give(&gateway, json!({ "username": "three" }), "ben").await["userId"], "ben");
    assert_eq!(holder(&gateway, &json!({ "username": "four" })).await, "carl");
    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!(holder(&gateway, &json!({ "username": "one" })).await, "anna");
    assert_eq!(give(&gateway, json!({ "username": "two" }), "ben").await["userId"], "ben");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_cant_be_used_are_told_by_their_field() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    for (identity, field) in [
        (email("nobody"), "input.identity.email"),
        (json!({ "username": "a b" }), "input.identity.username"),
        (json!({ "phone": "0221" }), "input.identity.phone"),
        (
            json!({ "oidc": { "issuer": "http://a.b", "subject": "s" } }),
            "input.identity.oidc.issuer",
        ),
        (
            json!({ "oidc": { "issuer": "https://a.b", "subject": "" } }),
            "input.identity.oidc.subject",
        ),
    ] {
        let input = json!({ "identity": identity, "userId": "anna" });
        let said = refused(&gateway, &service, CLAIM, input, "InvalidInput").await;
        assert_eq!(said["field"], field);
        let code = service.error_code(FIND, json!({ "identity": identity })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_is_called_by_the_username() {
    let gateway = Gateway::start().await;
    let page = |slug: &str| {
        let text = json!({ "title": "t" });
        json!({ "input": { "type": "PAGE", "slug": slug, "text": text } })
    };
    let create = "mutation($input: CreateContentInput!) { createContent(input: $input) {
        ... on Content { author { id name } } } }";
    let editor = gateway.user("u-1", &["editor"]);
    let made = editor.field(create, page("one")).await;
    assert_eq!(made["author"], json!({ "id": "u-1", "name": "u-1" }));
    give(&gateway, email("anna@example.org"), "u-1").await;
    give(&gateway, json!({ "username": "Anna" }), "u-1").await;
    let made = editor.field(create, page("two")).await;
    assert_eq!(made["author"], json!({ "id": "u-1", "name": "anna" }));
}
