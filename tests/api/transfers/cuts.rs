//! Transfers that are cut at every command, overtaken, cancelled in the middle, and returned.

use std::time::Duration;

use docgate::{domains::transfers::operations, graphql::node_id::NodeKind};
use futures_util::future::join_all;
use mongodb::bson::{DateTime, Document, doc};
use serde_json::{Value, json};

use super::{
    ACCOUNT, CANCEL, DEPOSIT, REVERSE, STATUS, TRANSFER, WITHDRAW, assert_settled, balance, fund,
    nth_currency, open, order,
};
use crate::support::{
    Client, Gateway, cuts, key, proxy::Cut, settled, short_bounds, until, very_long_bounds,
};

/// A transfer of 30 out of 100, to be sent by someone of one's own.
#[derive(Debug)]
struct Sending {
    subject: String,
    from: String,
    to: String,
}

impl Sending {
    async fn prepare(gateway: &Gateway, n: usize) -> Self {
        let subject = format!("sender-{n}");
        let client = gateway.shopper(&subject);
        let (from, to) = (open(&client, "EUR").await, open(&client, "EUR").await);
        fund(gateway, &from, 100).await;
        Self { subject, from, to }
    }

    /// Sends it, and answers whatever comes back, if anything does.
    async fn send(&self, gateway: &Gateway) -> Option<Value> {
        let client = gateway.shopper(&self.subject);
        let sent = client.send(TRANSFER, order(&self.from, &self.to, 30, Some("op"))).await;
        sent.ok().map(|(_, body)| body["data"]["transfer"].clone())
    }

    async fn balances(&self, gateway: &Gateway) -> (i64, i64) {
        (balance(gateway, &self.from).await, balance(gateway, &self.to).await)
    }

    async fn state(&self, gateway: &Gateway) -> Value {
        let client = gateway.shopper(&self.subject);
        client.field(STATUS, json!({ "by": { "idempotencyKey": "op" } })).await["state"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_is_cut_anywhere_arrives_once() {
    cuts::everywhere(
        short_bounds,
        Sending::prepare,
        async |gateway, sending: &Sending| {
            sending.send(gateway).await;
        },
        async |gateway, case| {
            assert_eq!(
                case.subject.balances(gateway).await,
                (70, 30),
                "{:?} {}",
                case.way,
                case.at
            );
            let state = case.subject.state(gateway).await;
            assert!(state == "DONE" || state == "CREDITED", "{:?} {} {state}", case.way, case.at);
        },
    )
    .await;
}

/// The sweeps settle all of these, and each has moved its money once.
async fn assert_done_once(base: &Gateway, sendings: &[Sending]) {
    let is_done = async || {
        base.sweep().await;
        let states = join_all(sendings.iter().map(|sending| sending.state(base))).await;
        states.iter().all(|state| state == "DONE")
    };
    until("the sweeps have settled them", is_done).await;
    for (at, sending) in sendings.iter().enumerate() {
        assert_eq!(sending.balances(base).await, (70, 30), "{at}");
    }
}

/// Both calls may insert the transfer at the same moment. If the reply is lost, the document that is found has to tell
/// which of them did.
#[tokio::test(flavor = "multi_thread")]
async fn two_equal_calls_at_once_move_the_money_once_whichever_reply_is_lost() {
    let base = Gateway::start().await;
    let first = Sending::prepare(&base, 0).await;
    let twice = async |gateway: &Gateway, sending: &Sending| {
        drop(join_all([sending.send(gateway), sending.send(gateway)]).await);
    };
    let commands = cuts::sent(&base, async |gateway| twice(gateway, &first).await).await.len();
    let cut = async |at: usize| {
        let sending = Sending::prepare(&base, at + 1).await;
        let gateway = base.sibling_behind_proxy().await;
        gateway.proxy.as_ref().expect("a proxy").cut(at, Cut::ReplyLost);
        twice(&gateway, &sending).await;
        cuts::settled(&gateway).await;
        sending
    };
    let sendings = join_all((0..commands).map(cut)).await;
    assert_done_once(&base, &sendings).await;
    base.assert_sound().await;
}

/// The connection breaks under a command, which is sent again. The first copy arrives after the answer, and after all
/// that follows it, but before the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_copy_that_is_overtaken_by_the_second_changes_nothing() {
    let base = Gateway::start().await;
    let patient = base.patient_sibling().await;
    let first = Sending::prepare(&patient, 0).await;
    let send = async |gateway: &Gateway| drop(first.send(gateway).await);
    let commands = cuts::sent(&patient, send).await.len();
    let overtaken = async |at: usize| {
        let sending = Sending::prepare(&patient, at + 1).await;
        let gateway = patient.sibling_behind_proxy().await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.cut(at, Cut::BreakAndHold);
        let answer = sending.send(&gateway).await.expect("an answer");
        assert_eq!(answer["__typename"], "Transfer", "{at}: {answer}");
        settled(&gateway).await;
        proxy.release().await;
        sending
    };
    let sendings = join_all((0..commands).map(overtaken)).await;
    settled(&patient).await;
    assert_done_once(&base, &sendings).await;
    base.assert_sound().await;
}

/// A call is refused because of the balance that it reads, while the insert of another call with its key is on its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_holds_for_a_call_whose_insert_comes_late() {
    let base = Gateway::start().await;
    let sending = Sending::prepare(&base, 0).await;
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.cut_all_named("insert", 0, Cut::Hold);
    let refusal = async {
        proxy.reached().await;
        let client = base.shopper(&sending.subject);
        let others = order(&sending.from, &sending.to, 90, Some("another op"));
        assert_eq!(client.field(TRANSFER, others).await["__typename"], "Transfer");
        let refused = sending.send(&base).await.expect("an answer");
        assert_eq!(refused["code"], "INSUFFICIENT_FUNDS");
        fund(&base, &sending.from, 100).await;
        proxy.release().await;
    };
    tokio::join!(sending.send(&gateway), refusal);
    cuts::settled(&gateway).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    base.sweep().await;
    assert_eq!(sending.balances(&base).await, (110, 90));
    assert_eq!(sending.state(&base).await, "CANCELLED");
    base.assert_sound().await;
}

/// Cuts what moves 7 between the world and an account with `before` in it, which then has `after`.
async fn passes_the_world_once(query: &str, before: i64, after: i64) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            // A currency for each case, so that the world's account may be opened on the way.
            let account = open(&gateway.shopper("saver"), nth_currency(n)).await;
            if before > 0 {
                fund(gateway, &account, before).await;
            }
            account
        },
        async |gateway, account: &String| {
            let input = json!({ "accountId": account, "amount": 7, "idempotencyKey": account });
            let _cut = gateway.service().send(query, json!({ "input": input })).await;
        },
        async |gateway, case| {
            assert_eq!(balance(gateway, &case.subject).await, after, "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_is_cut_anywhere_arrives_once() {
    passes_the_world_once(DEPOSIT, 0, 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_that_is_cut_anywhere_leaves_once() {
    passes_the_world_once(WITHDRAW, 100, 93).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_that_is_cut_anywhere_comes_back_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sending = Sending::prepare(gateway, n).await;
            let sent = sending.send(gateway).await.expect("an answer");
            let id = sent["id"].as_str().expect("a transfer").to_owned();
            (sending, id)
        },
        async |gateway, (_, id): &(Sending, String)| {
            let _cut = gateway.service().send(REVERSE, json!({ "id": id })).await;
        },
        async |gateway, case| {
            let (sending, _) = &case.subject;
            assert_eq!(sending.balances(gateway).await, (100, 0), "{:?} {}", case.way, case.at);
        },
    )
    .await;
}

/// Writes what a gateway leaves that died: the transfer in `state`, with its debit.
async fn left_behind(gateway: &Gateway, n: usize, state: &str) -> Sending {
    let sending = Sending::prepare(gateway, n).await;
    settled(gateway).await;
    let Sending { subject, from, to } = &sending;
    let id = gateway.app.ids().op(&[subject, "transfer"], Some("op"), &()).id;
    let long_ago = DateTime::from_millis(0);
    let (from, to) = (&key(from), &key(to));
    let transfer = doc! {
        "_id": &id, "kind": "TRANSFER", "by": subject, "source": from, "destination": to,
        "accounts": [from, to], "amount": 30_i64, "currency": "EUR", "state": state,
        "input": "", "worker": "nobody", "fence": 1_i64, "deadline": long_ago, "at": long_ago,
        "history": [], "v": 1,
    };
    let transfers = gateway.database.collection::<Document>("transfers");
    transfers.insert_one(transfer).await.expect("inserted");
    let debited = doc! {
        "$inc": { "balance": -30_i64 },
        "$push": { "pending": { "id": &id, "amount": -30_i64 } },
    };
    let accounts = gateway.database.collection::<Document>("accounts");
    let debited = accounts.update_one(doc! { "_id": from }, debited).await.expect("an update");
    assert_eq!(debited.matched_count, 1);
    sending
}

async fn finish(gateway: &Gateway, sending: &Sending) {
    let id = gateway.app.ids().op(&[&sending.subject, "transfer"], Some("op"), &()).id;
    let _cut = operations::finish(&gateway.app, &id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_closed_account_cannot_take_comes_back() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sending = left_behind(gateway, n, "COMMITTED").await;
            super::close(&gateway.shopper(&sending.subject), &sending.to).await;
            sending
        },
        finish,
        async |gateway, case| {
            assert_eq!(
                case.subject.balances(gateway).await,
                (100, 0),
                "{:?} {}",
                case.way,
                case.at
            );
            assert_eq!(case.subject.state(gateway).await, "RETURNED");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cancelled_goes_back() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| left_behind(gateway, n, "CANCELLING").await,
        finish,
        async |gateway, case| {
            assert_eq!(
                case.subject.balances(gateway).await,
                (100, 0),
                "{:?} {}",
                case.way,
                case.at
            );
            assert_eq!(case.subject.state(gateway).await, "CANCELLED");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reversal_that_was_cancelled_can_be_made_again() {
    let base = Gateway::start().await;
    let (sending, service) = (Sending::prepare(&base, 1).await, base.service());
    let sent = sending.send(&base).await.expect("an answer");
    let original = sent["id"].as_str().expect("a transfer");
    assert_settled(&base).await;
    // What a gateway leaves that died before the debit.
    let id = base.app.ids().derived(&["reversal", &key(original)]);
    let (from, to) = (&key(&sending.from), &key(&sending.to));
    let long_ago = DateTime::from_millis(0);
    let reversal = doc! {
        "_id": &id, "kind": "REVERSAL", "by": "the-service", "source": to, "destination": from,
        "accounts": [to, from], "amount": 30_i64, "currency": "EUR", "state": "PENDING",
        "reverses": key(original), "input": "", "worker": "nobody", "fence": 1_i64,
        "deadline": long_ago, "at": long_ago, "history": [], "v": 1,
    };
    let transfers = base.database.collection::<Document>("transfers");
    transfers.insert_one(reversal).await.expect("inserted");
    let id = NodeKind::TRANSFER.id(&id);
    let said = service.field(CANCEL, json!({ "id": *id })).await;
    assert_eq!(said["state"], "CANCELLING", "{said}");
    until("the sweep has cancelled it", async || {
        base.sweep().await;
        service.field(STATUS, json!({ "by": { "id": *id } })).await["state"] == "CANCELLED"
    })
    .await;
    assert_eq!(sending.balances(&base).await, (70, 30));

    let again = service.field(REVERSE, json!({ "id": original })).await;
    assert!(again["state"] == "CREDITED" || again["state"] == "DONE", "{again}");
    assert_eq!(again["reversesId"], original, "{again}");
    assert_settled(&base).await;
    assert_eq!(sending.balances(&base).await, (100, 0));
    // From then on it is a repeat.
    let repeated = service.field(REVERSE, json!({ "id": original })).await;
    assert_eq!(repeated["id"], again["id"], "{repeated}");
    assert_eq!(sending.balances(&base).await, (100, 0));
}

/// Commands of an undisturbed transfer: one read and seven writes.
const COMMANDS: usize = 8;
// The places of some of them; the read and the insert are before.
const DEBIT: usize = 2;
const COMMIT: usize = 3;
const CREDIT: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_changes_nothing_after_its_successor() {
    let base = Gateway::start().await;
    let overtaken = async |at: usize| {
        let sending = Sending::prepare(&base, at).await;
        let slow = base.sibling_behind_proxy().await;
        let proxy = slow.proxy.as_ref().expect("a proxy");
        proxy.cut(at, Cut::Hold);
        let swept = async {
            proxy.reached().await;
            // The insert alone has no deadline: what it begins is driven by the next claim.
            let wanted = if at == 1 { (100, 0) } else { (70, 30) };
            let mut before = (0, 0);
            for _ in 0..30 {
                // A busy machine can take longer for a command than a sweep waits.
                base.sweep().await;
                before = sending.balances(&base).await;
                if before == wanted {
                    break;
                }
            }
            assert_eq!(before, wanted, "held {at}");
            proxy.heal();
            proxy.release().await;
        };
        tokio::join!(sending.send(&slow), swept);
        sending
    };
    let all = futures_util::future::join_all((1..COMMANDS).map(overtaken)).await;
    base.sweep().await;
    base.assert_sound().await;
    for sending in all {
        assert_eq!(sending.balances(&base).await, (70, 30));
        assert_eq!(sending.state(&base).await, "DONE");
        let again = sending.send(&base).await.expect("an answer");
        assert_eq!(again["state"], "DONE");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelling_before_the_decision_is_carried_out_by_the_worker() {
    let base = Gateway::with(very_long_bounds).await;
    let sending = Sending::prepare(&base, 1).await;
    let slow = base.sibling_behind_proxy().await;
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.cut(COMMIT, Cut::Hold);
    let cancelled = async {
        proxy.reached().await;
        let said = cancel(&base.shopper(&sending.subject), &base, &sending).await;
        assert_eq!(said["state"], "CANCELLING", "{said}");
        assert_eq!(sending.balances(&base).await, (70, 0), "what was taken is undone by its taker");
        proxy.heal();
        proxy.release().await;
    };
    let (sent, ()) = tokio::join!(sending.send(&slow), cancelled);
    let sent = sent.expect("an answer");
    assert_eq!(
        (&sent["state"], &sent["failureReason"]),
        (&json!("CANCELLED"), &json!("CANCELLED_BY_OWNER"))
    );
    assert_eq!(sending.balances(&base).await, (100, 0));
    base.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelling_whose_worker_is_gone_is_carried_out_by_the_sweep() {
    let base = Gateway::start().await;
    // For this one the lost claim still holds when it is repeated, however late that is.
    let patient = base.sibling_with(|config| config.flow_command_millis = 20_000).await;
    let sending = Sending::prepare(&base, 1).await;
    assert_settled(&base).await;
    let slow = base.sibling_behind_proxy().await;
    slow.proxy.as_ref().expect("a proxy").cut_all_from(COMMIT, Cut::BeforeForwarding);
    let lost = slow.shopper(&sending.subject);
    let code = lost.error_code(TRANSFER, order(&sending.from, &sending.to, 30, Some("op"))).await;
    assert_eq!(code, "UNAVAILABLE");
    assert_eq!(sending.balances(&base).await, (70, 0));
    let aside = base.service().field(ACCOUNT, json!({ "id": sending.from })).await;
    assert_eq!(aside["setAside"]["minorUnits"], 30);
    base.assert_sound().await;
    // While the lost claim may still move money nobody else does.
    let again = patient.shopper(&sending.subject);
    let code = again.error_code(TRANSFER, order(&sending.from, &sending.to, 30, Some("op"))).await;
    assert_eq!(code, "UNAVAILABLE");
    let said = cancel(&again, &base, &sending).await;
    assert_eq!(said["state"], "CANCELLING", "{said}");
    until("the sweep has cancelled it", async || {
        base.sweep().await;
        sending.state(&base).await == "CANCELLED"
    })
    .await;
    assert_eq!(sending.balances(&base).await, (100, 0));
    base.assert_sound().await;
}

async fn cancel(client: &Client, gateway: &Gateway, sending: &Sending) -> Value {
    let id = gateway.app.ids().op(&[&sending.subject, "transfer"], Some("op"), &()).id;
    client.field(CANCEL, json!({ "id": *NodeKind::TRANSFER.id(&id) })).await
}

/// What happens while a command is held back.
enum Meanwhile {
    Spend { from: String, to: String, amount: i64 },
    Close(String),
    Fund(String, i64),
}

impl Meanwhile {
    async fn happen(&self, gateway: &Gateway) {
        let anna = gateway.shopper("anna");
        match self {
            Self::Spend { from, to, amount } => {
                let spent = anna.field(TRANSFER, order(from, to, *amount, None)).await;
                assert_eq!(spent["state"], "CREDITED");
            }
            Self::Close(account) => super::close(&anna, account).await,
            Self::Fund(account, amount) => fund(gateway, account, *amount).await,
        }
    }
}

/// Sends a transfer of anna's through `slow` and holds its command `at` while something happens.
async fn held(
    slow: &Gateway,
    base: &Gateway,
    at: usize,
    variables: Value,
    meanwhile: &[Meanwhile],
) -> Value {
    let proxy = slow.proxy.as_ref().expect("a proxy");
    proxy.cut(at, Cut::Hold);
    let act = async {
        proxy.reached().await;
        for event in meanwhile {
            event.happen(base).await;
        }
        proxy.heal();
        proxy.release().await;
    };
    let client = slow.shopper("anna");
    let (answer, ()) = tokio::join!(client.run(TRANSFER, variables), act);
    answer["data"]["transfer"].clone()
}

async fn assert_status(gateway: &Gateway, op: &str, state: &str, reason: &str) {
    let by = json!({ "by": { "idempotencyKey": op } });
    let status = gateway.shopper("anna").field(STATUS, by).await;
    assert_eq!((&status["state"], &status["failureReason"]), (&json!(state), &json!(reason)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_read_saw_and_is_no_longer_there_is_refused_by_the_debit() {
    let base = Gateway::with(very_long_bounds).await;
    let (anna, slow) = (base.shopper("anna"), base.sibling_behind_proxy().await);
    let (from, to) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&base, &from, 30).await;
    let spend = |amount| Meanwhile::Spend { from: from.clone(), to: to.clone(), amount };
    let short = held(&slow, &base, DEBIT, order(&from, &to, 30, Some("a")), &[spend(10)]).await;
    assert_eq!(short["code"], "INSUFFICIENT_FUNDS", "{short}");
    assert_eq!(short["available"]["minorUnits"], 20);
    assert_status(&base, "a", "CANCELLED", "INSUFFICIENT_FUNDS").await;

    // The same op is tried again as a new attempt, once.
    fund(&base, &from, 10).await;
    let first = anna.field(TRANSFER, order(&from, &to, 30, Some("a"))).await;
    assert_eq!(first["state"], "CREDITED");
    let second = anna.field(TRANSFER, order(&from, &to, 30, Some("a"))).await;
    assert_eq!(second["id"], first["id"]);
    assert_eq!(anna.field(TRANSFER, order(&from, &to, 31, Some("a"))).await["code"], "CONFLICT");
    let status = anna.field(STATUS, json!({ "by": { "idempotencyKey": "a" } })).await;
    assert_eq!(status["id"], first["id"]);

    fund(&base, &from, 30).await;
    let close = [spend(30), Meanwhile::Close(from.clone())];
    let closed = held(&slow, &base, DEBIT, order(&from, &to, 30, Some("b")), &close).await;
    assert_eq!((&closed["code"], &closed["accountId"]), (&json!("ACCOUNT_CLOSED"), &json!(from)));
    assert_status(&base, "b", "CANCELLED", "SOURCE_CLOSED").await;
    assert_settled(&slow).await;
    assert_settled(&base).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_destination_can_no_longer_take_comes_back() {
    let base = Gateway::with(very_long_bounds).await;
    let (anna, slow) = (base.shopper("anna"), base.sibling_behind_proxy().await);
    let (from, closing) = (open(&anna, "EUR").await, open(&anna, "EUR").await);
    fund(&base, &from, 30).await;
    let close = [Meanwhile::Close(closing.clone())];
    let back = held(&slow, &base, CREDIT, order(&from, &closing, 30, Some("a")), &close).await;
    assert_eq!((&back["code"], &back["accountId"]), (&json!("ACCOUNT_CLOSED"), &json!(closing)));
    assert_status(&base, "a", "RETURNED", "DESTINATION_CLOSED").await;
    assert_eq!((balance(&base, &from).await, balance(&base, &closing).await), (30, 0));

    let filling = super::open_capped(&anna, 50).await;
    let fill = [Meanwhile::Fund(filling.clone(), 21)];
    let back = held(&slow, &base, CREDIT, order(&from, &filling, 30, Some("b")), &fill).await;
    assert_eq!((&back["code"], &back["accountId"]), (&json!("ACCOUNT_FULL"), &json!(filling)));
    assert_status(&base, "b", "RETURNED", "DESTINATION_FULL").await;
    assert_eq!((balance(&base, &from).await, balance(&base, &filling).await), (30, 21));
    let statement = "query($id: ID!) { account(id: $id) { statement {
        nodes { effect { minorUnits } transfer { state } } } } }";
    let lines = anna.field(statement, json!({ "id": from })).await["statement"].take();
    assert_eq!(lines["nodes"][0]["effect"]["minorUnits"], 0, "{lines}");
    assert_settled(&slow).await;
    assert_settled(&base).await;
}
