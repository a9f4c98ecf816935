//! Names by which users are found: who may have one, and who is told.

use std::sync::atomic::{AtomicUsize, Ordering};

use docgate::config::Config;
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use crate::support::{
    Client, Gateway, commands, cuts, pages_both_ways,
    proxy::{Cut, Seen},
    short_bounds,
};

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

fn username(name: &str) -> Value {
    json!({ "username": name })
}

/// Changes a username of somebody, as a service: what was said, or nothing where it is unavailable.
async fn change(gateway: &Gateway, user: &str, from: &str, to: &str) -> Option<Value> {
    let input = json!({ "from": username(from), "to": username(to), "userId": user });
    let response = gateway.service().run(CHANGE, json!({ "input": input })).await;
    if let Some(error) = response["errors"].get(0) {
        assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{response:#}");
        return None;
    }
    Some(response["data"]["changeIdentity"].clone())
}

/// The names of a user, as told to that user.
async fn names_of(gateway: &Gateway, user: &str) -> Vec<String> {
    let own = gateway.shopper(user).field(OWN, json!({ "first": 100 })).await;
    let nodes = own["nodes"].as_array().expect("nodes");
    nodes.iter().map(|one| one["value"].as_str().expect("a value").to_owned()).collect()
}

/// Bounds so long that nothing which a test holds back ends by them.
fn long_bounds(config: &mut Config) {
    config.flow_run_millis = 30_000;
    config.flow_command_millis = 15_000;
}

/// The last commands of a change, by how many come behind them.
const DECIDE: usize = 2;
const CONFIRM: usize = 1;
const SETTLE: usize = 0;

/// Has the proxy hold one of the last commands of the next change, which is to send as many as one that
/// this sends: of a name that the user has not, or one that the user has already.
async fn hold_next_change(gateway: &Gateway, has_both: bool, behind: usize) {
    let user = &gateway.app_name;
    let [old, new] = ["old", "new"].map(|of| format!("{user}-{of}"));
    give(gateway, username(&old), user).await;
    if has_both {
        give(gateway, username(&new), user).await;
    }
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    change(gateway, user, &old, &new).await.expect("an answer");
    let at = proxy.seen().len() - 1 - behind;
    let command = &proxy.seen()[at].command;
    assert!(matches!(command.as_str(), "update" | "findAndModify"), "{command} is a write");
    proxy.cut(at, Cut::Hold);
}

/// Whom a page names that somebody makes.
async fn author(gateway: &Gateway, user: &str, slug: &str) -> Value {
    let text = json!({ "title": "t" });
    let input = json!({ "input": { "type": "PAGE", "slug": slug, "text": text } });
    let create = "mutation($input: CreateContentInput!) { createContent(input: $input) {
        ... on Content { author { id name } } } }";
    gateway.user(user, &["editor"]).field(create, input).await["author"].clone()
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
    give(&gateway, email("J\u{30c}an@example.org"), "anna").await;
    assert_eq!(holder(&gateway, &email("\u{1f0}an@example.org")).await, "anna");

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
    let now = gateway.begin().await.now().timestamp_millis();
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
    let gateway = Gateway::with(long_bounds).await;
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
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
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
async fn the_identities_of_a_user_are_paged_in_both_directions() {
    let gateway = Gateway::start().await;
    let names = ["a", "b", "c", "d", "e"].map(|name| format!("{name}@example.org"));
    for name in &names {
        give(&gateway, email(name), "anna").await;
    }
    give(&gateway, email("ben@example.org"), "ben").await;
    let mut found = Vec::new();
    for node in pages_both_ways(&gateway.shopper("anna"), "identities(", "value").await {
        found.push(node["value"].as_str().expect("a value").to_owned());
    }
    assert_eq!(found, names);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_gives_one_name_for_another() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
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
    let own = anna.explained(OWN, json!({})).await;
    assert_eq!(commands(&own), ["find identities"]);
    let expected = json!([{ "kind": "PHONE", "value": "+49221123456" }]);
    assert_eq!(own["data"]["identities"]["nodes"], expected);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_changes_that_cross_none_loses_a_name() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    for round in 0..6 {
        let [anna, ben, new] = ["anna", "ben", "new"].map(|of| format!("{of}-{round}"));
        give(&gateway, username(&anna), &anna).await;
        give(&gateway, username(&ben), &ben).await;
        // Both want the same new name, and each the other's.
        let said = tokio::join!(
            change(&gateway, &anna, &anna, &new),
            change(&gateway, &ben, &ben, &new),
            change(&gateway, &anna, &anna, &ben),
            change(&gateway, &ben, &ben, &anna),
        );
        let mut all = Vec::new();
        for (user, said) in [(&anna, [said.0, said.2]), (&ben, [said.1, said.3])] {
            let names = names_of(&gateway, user).await;
            assert!(!names.is_empty(), "{user}: {said:#?}");
            let made = |said: &&Value| said["__typename"] == "Identity";
            let made: Vec<_> = said.iter().flatten().filter(made).collect();
            assert!(made.len() <= 1, "a name is changed once: {said:#?}");
            for said in said.iter().flatten() {
                let known = ["Identity", "AlreadyExists", "NotFound"].map(Value::from);
                assert!(known.contains(&said["__typename"]), "{said:#}");
            }
            if let Some(made) = made.first() {
                assert!(names.iter().any(|name| made["value"] == **name), "{names:?} {said:#?}");
            } else if said.iter().all(Option::is_some) {
                assert_eq!(names, std::slice::from_ref(user), "nothing changed: {said:#?}");
            }
            all.extend(names);
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "each name has one holder: {all:?}");
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
    for (round, of) in (0..6).flat_map(|round| [(round, "anna"), (round, "ben")]) {
        let names = names_of(&gateway, &format!("{of}-{round}")).await;
        assert_eq!(names.len(), 1, "{of}-{round}: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_names_that_are_swapped_one_is_left() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    let other = gateway.sibling().await;
    give(&gateway, username("one"), "anna").await;
    give(&gateway, username("two"), "anna").await;
    hold_next_change(&gateway, true, DECIDE).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let (there, back) = tokio::join!(change(&gateway, "anna", "one", "two"), async {
        proxy.reached().await;
        let back = change(&other, "anna", "two", "one").await;
        let release = json!({ "input": { "identity": username("two") } });
        let code = other.shopper("anna").error_code(RELEASE, release).await;
        assert_eq!(code, "UNAVAILABLE", "what is to come in a name's place isn't let go");
        proxy.release().await;
        back
    });
    assert_eq!(there.expect("an answer")["value"], "two");
    assert_eq!(back, None, "it can't be said what the other does");
    assert_eq!(names_of(&other, "anna").await, ["two"]);
    other.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_names_that_are_swapped_by_many_one_is_left() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let mut has_changed = Vec::new();
    for round in 0..8 {
        let user = format!("anna-{round}");
        let (one, two) = (format!("one-{round}"), format!("two-{round}"));
        give(&gateway, username(&one), &user).await;
        give(&gateway, username(&two), &user).await;
        let said = join_all((0..6).map(|n| {
            let (from, to) = if n % 2 == 0 { (&one, &two) } else { (&two, &one) };
            change(&gateway, &user, from, to)
        }));
        let said = said.await;
        // A change whose answer was late may still be under way, or is left to the sweep. The list reads no snapshot, so it may
        // miss a name that moves.
        let mut names = names_of(&gateway, &user).await;
        for _ in 0..10 {
            if names.is_empty() {
                gateway.sweep().await;
                names = names_of(&gateway, &user).await;
            }
        }
        assert!(!names.is_empty(), "{said:#?}");
        has_changed.push(said.iter().flatten().any(|said| said["__typename"] == "Identity"));
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
    for (round, has_changed) in has_changed.into_iter().enumerate() {
        let names = names_of(&gateway, &format!("anna-{round}")).await;
        assert!(!names.is_empty() && (names.len() == 1 || !has_changed), "{round}: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_name_is_changed_its_user_is_found() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    let other = gateway.sibling().await;
    give(&gateway, username("old"), "anna").await;
    hold_next_change(&gateway, false, CONFIRM).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let (said, ()) = tokio::join!(change(&gateway, "anna", "old", "new"), async {
        proxy.reached().await;
        assert_eq!(holder(&other, &username("old")).await, "anna");
        let find = json!({ "identity": username("old") });
        assert_eq!(other.shopper("anna").field(FIND, find).await["id"], "anna");
        assert_eq!(names_of(&other, "anna").await, ["old"]);
        assert_eq!(author(&other, "anna", "page").await["name"], "old");
        proxy.release().await;
    });
    assert_eq!(said.expect("an answer")["value"], "new");
    assert_eq!(names_of(&other, "anna").await, ["new"]);
    assert_eq!(author(&other, "anna", "another").await["name"], "new");
    assert_eq!(holder(&other, &username("old")).await, Value::Null);
    other.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_overtaken_changes_no_name_that_was_claimed_again() {
    let one = Gateway::behind_proxy(long_bounds).await;
    let two = one.sibling_behind_proxy().await;
    let other = one.sibling().await;
    give(&other, username("old"), "anna").await;
    // The second run finds the mark of the first, and renews it.
    hold_next_change(&two, true, DECIDE).await;
    hold_next_change(&one, false, DECIDE).await;
    let [one_proxy, two_proxy] = [&one, &two].map(|of| of.proxy.as_ref().expect("a proxy"));
    let (first, second) = tokio::join!(change(&one, "anna", "old", "new"), async {
        one_proxy.reached().await;
        let (second, ()) = tokio::join!(change(&two, "anna", "old", "new"), async {
            two_proxy.reached().await;
            let input = json!({ "input": { "identity": username("old") } });
            let released = other.shopper("anna").field(RELEASE, input).await;
            assert_eq!(released["__typename"], "ReleasedIdentity");
            two_proxy.release().await;
        });
        assert_eq!(give(&other, username("old"), "anna").await["userId"], "anna");
        one_proxy.release().await;
        second
    });
    assert_eq!(second.expect("an answer")["__typename"], "NotFound");
    assert_eq!(first.expect("an answer")["__typename"], "NotFound");
    assert_eq!(names_of(&other, "anna").await, ["old"]);
    other.assert_sound().await;
    assert_eq!(give(&other, username("new"), "ben").await["userId"], "ben");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_claims_a_name_that_was_changed_finishes_the_change() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    let other = gateway.sibling().await;
    give(&gateway, username("old"), "anna").await;
    hold_next_change(&gateway, false, SETTLE).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let (said, ()) = tokio::join!(change(&gateway, "anna", "old", "new"), async {
        proxy.reached().await;
        let input = json!({ "input": { "identity": username("new") } });
        let released = other.shopper("anna").field(RELEASE, input).await;
        assert_eq!(released["__typename"], "ReleasedIdentity");
        assert_eq!(give(&other, username("old"), "ben").await["userId"], "ben");
        proxy.release().await;
    });
    assert_eq!(said.expect("an answer")["value"], "new");
    assert_eq!(holder(&other, &username("old")).await, "ben");
    assert_eq!(names_of(&other, "anna").await, Vec::<String>::new());
    other.assert_sound().await;
}

/// Cuts changes everywhere; `has_both`: the user has the new name already.
async fn cut_changes(has_both: bool) {
    let users = AtomicUsize::new(0);
    let called = |number: usize| ["anna", "old", "new"].map(|of| format!("{of}-{number}"));
    // Also as long as neither a repeat nor a sweep has finished it.
    let judge_all = async |gateway: &Gateway| {
        for number in 1..=users.load(Ordering::Relaxed) {
            let [user, old, new] = called(number);
            let names = names_of(gateway, &user).await;
            assert!(!names.is_empty(), "{user} is found");
            for (client, name) in [gateway.shopper(&user), gateway.service()]
                .iter()
                .flat_map(|client| [(client, &old), (client, &new)])
            {
                let found = client.field(FIND, json!({ "identity": username(name) })).await;
                let expected = if names.contains(name) { json!(user) } else { Value::Null };
                assert_eq!(found["id"], expected, "{user} has {names:?}");
            }
        }
    };
    cuts::everywhere_then(
        short_bounds,
        async |gateway, number| {
            let [user, old, new] = called(number);
            give(gateway, username(&old), &user).await;
            if has_both {
                give(gateway, username(&new), &user).await;
            }
            users.store(number, Ordering::Relaxed);
            number
        },
        async |gateway, number| {
            let [user, from, to] = called(*number);
            let input = json!({ "from": username(&from), "to": username(&to), "userId": user });
            let sent = gateway.service().send(CHANGE, json!({ "input": input })).await;
            if let Ok((_, response)) = sent {
                if let Some(error) = response["errors"].get(0) {
                    assert_eq!(error["extensions"]["code"], "UNAVAILABLE", "{response:#}");
                } else {
                    assert_eq!(response["data"]["changeIdentity"]["value"], to, "{response:#}");
                }
            }
        },
        async |gateway, case| {
            let [user, _, new] = called(case.subject);
            assert_eq!(names_of(gateway, &user).await, [new], "{case:?}");
        },
        async |gateway| {
            judge_all(gateway).await;
            gateway.sweep().await;
            gateway.assert_sound().await;
            judge_all(gateway).await;
            for number in 1..=users.load(Ordering::Relaxed) {
                let count = names_of(gateway, &format!("anna-{number}")).await.len();
                assert!(count == 1 || (has_both && count == 2), "anna-{number} has {count}");
            }
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_cut_anywhere_happens_or_not() {
    cut_changes(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_to_a_name_of_ones_own_that_is_cut_anywhere_happens_or_not() {
    cut_changes(true).await;
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
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let identities = gateway.database.collection::<Document>("identities");
    // Given up before its decision: the new name is free again.
    give(&gateway, json!({ "username": "one" }), "anna").await;
    let at = DateTime::from_millis(1_000);
    let one = identities.find_one(doc! { "_id": "username:one" }).await.expect("an answer");
    let since = *one.expect("it is there").get_datetime("since").expect("a time");
    let taken = doc! {
        "_id": "username:two", "name": { "kind": "username", "value": "two" }, "userId": "anna",
        "since": at, "pending": { "insteadOf": "username:one", "since": since, "at": at }, "v": 1,
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
        "userId": "carl", "since": at, "v": 1,
        "pending": { "insteadOf": "username:three", "since": at, "at": at },
    };
    identities.insert_many([moved, waits]).await.expect("inserted");
    let report = gateway.check().await;
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
        (email("anna\u{200b}@example.org"), "input.identity.email"),
        (json!({ "username": "an\u{3164}na" }), "input.identity.username"),
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
async fn nobody_claims_a_username_with_a_letter_that_looks_like_another() {
    let gateway = Gateway::start().await;
    let service = gateway.service();
    give(&gateway, username("admin"), "anna").await;
    for (name, reason) in [
        // A dotless i, a thorn, and letters that no language's everyday writing uses.
        ("adm\u{131}n", "takes no \u{131}, which looks like i"),
        ("\u{fe}aul", "takes no \u{fe}, which looks like p"),
        ("\u{261}ina", "takes letters of one script, and none that are hardly in use"),
        ("\u{1d00}dmin", "takes letters of one script, and none that are hardly in use"),
    ] {
        let input = json!({ "identity": username(name), "userId": "mallory" });
        let said = refused(&gateway, &service, CLAIM, input, "InvalidInput").await;
        assert_eq!(said["field"], "input.identity.username", "{name}");
        assert_eq!(said["message"], format!("input.identity.username: {reason}"), "{name}");
        assert_eq!(holder(&gateway, &username(name)).await, Value::Null, "{name}");
    }
    give(&gateway, username("mallory"), "mallory").await;
    let change = change(&gateway, "mallory", "mallory", "adm\u{131}n").await.expect("an answer");
    assert_eq!(change["field"], "input.to.username");
    assert_eq!(holder(&gateway, &username("mallory")).await, "mallory");
    // Spellings of one name in full width and in capitals are that name.
    for same in ["\u{ff21}\u{ff24}\u{ff2d}\u{ff29}\u{ff2e}", "ADMIN"] {
        assert_eq!(holder(&gateway, &username(same)).await, "anna", "{same}");
    }
    // What differs by a mark is another name.
    give(&gateway, username("\u{e1}dmin"), "berta").await;
    assert_eq!(holder(&gateway, &username("\u{e1}dmin")).await, "berta");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_mutation_names_the_field_of_a_user_that_cant_exist() {
    let gateway = Gateway::start().await;
    let (service, shopper) = (gateway.service(), gateway.shopper("anna"));
    let name = username("anna");
    for user in [String::new(), " ".repeat(3), "\u{200b}".into(), "u".repeat(257)] {
        let one = json!({ "identity": name, "userId": user });
        let change = json!({ "from": name, "to": username("berg"), "userId": user });
        for (mutation, input) in [
            ("claimIdentity", &one),
            ("releaseIdentity", &one),
            ("changeIdentity", &change),
            ("proveIdentity", &one),
        ] {
            let kind = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
            let query = format!(
                "mutation($input: {kind}!) {{ {mutation}(input: $input) {{
                    __typename ... on InvalidInput {{ code field }} }} }}"
            );
            let said = refused(&gateway, &service, &query, input.clone(), "InvalidInput").await;
            let expected = json!({
                "__typename": "InvalidInput", "code": "INVALID_INPUT", "field": "input.userId",
            });
            assert_eq!(said, expected, "{mutation} {user:?}");
        }
        // A caller who can't name another user gets the same answer.
        let said = refused(&gateway, &shopper, CLAIM, one, "InvalidInput").await;
        assert_eq!(said["field"], "input.userId");
        let query = "query($user: ID) { identities(userId: $user) { nodes { value } } }";
        let code = service.error_code(query, json!({ "user": user })).await;
        assert_eq!(code, "BAD_USER_INPUT");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_is_called_by_the_username() {
    let gateway = Gateway::start().await;
    assert_eq!(author(&gateway, "u-1", "one").await, json!({ "id": "u-1", "name": "u-1" }));
    give(&gateway, email("anna@example.org"), "u-1").await;
    give(&gateway, json!({ "username": "Anna" }), "u-1").await;
    assert_eq!(author(&gateway, "u-1", "two").await, json!({ "id": "u-1", "name": "anna" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_sees_names_that_would_be_stored_otherwise() {
    let gateway = Gateway::start().await;
    give(&gateway, email("anna@example.org"), "anna").await;
    give(&gateway, json!({ "phone": "+49 221 123456" }), "anna").await;
    let oidc = json!({ "issuer": "https://id.example.org", "subject": "A#b" });
    give(&gateway, json!({ "oidc": oidc }), "anna").await;
    gateway.assert_sound().await;
    let identities = gateway.database.collection::<Document>("identities");
    let at = DateTime::from_millis(1_000);
    for (kind, value) in [
        ("email", "Anna@example.org"),
        ("email", "an\u{200d}na@example.org"),
        ("email", "j\u{30c}an@example.org"),
        ("username", "An"),
        ("phone", "0049221123456"),
        ("oidc", "https://id.example.org"),
    ] {
        let id = format!("{kind}:{value}");
        let odd = doc! {
            "_id": &id, "name": { "kind": kind, "value": value }, "userId": "ben", "since": at, "v": 1,
        };
        identities.insert_one(odd).await.expect("inserted");
        let report = gateway.check().await;
        let broken = report.rules.iter().flat_map(|(_, broken)| broken).count();
        assert_eq!(broken, 1, "{id}");
        identities.delete_one(doc! { "_id": &id }).await.expect("removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_copy_of_a_claim_or_a_release_undoes_no_later_change() {
    let base = Gateway::with(long_bounds).await;
    let name = email("anna@example.org");
    let claim = async |gateway: &Gateway| {
        assert_eq!(give(gateway, name.clone(), "anna").await["userId"], "anna");
    };
    let release = async |gateway: &Gateway| {
        let input = json!({ "input": { "identity": name } });
        let released = gateway.shopper("anna").field(RELEASE, input).await;
        assert_eq!(released["__typename"], "ReleasedIdentity", "{released:#}");
    };
    let is_change = |seen: &Seen| {
        seen.collection == "identities"
            && (seen.command == "findAndModify" || seen.command == "update")
    };
    // The claim finds the tombstone of a name that was released before.
    claim(&base).await;
    release(&base).await;
    let first = async |gateway: &Gateway| claim(gateway).await;
    cuts::with_late_copy(&base, is_change, first, async || release(&base).await).await;
    assert_eq!(holder(&base, &name).await, Value::Null);
    claim(&base).await;
    let first = async |gateway: &Gateway| release(gateway).await;
    cuts::with_late_copy(&base, is_change, first, async || claim(&base).await).await;
    assert_eq!(holder(&base, &name).await, "anna");
    base.assert_sound().await;
}
