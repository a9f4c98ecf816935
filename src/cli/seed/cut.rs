//! Flows that are interrupted on purpose, as by a crash, so that the shop also has carts and orders in
//! transient states. The gateway's sweeps find and finish them.

use std::{collections::HashSet, sync::Mutex};

use mongodb::{
    Client,
    bson::{Bson, Document},
    event::{EventHandler, command::CommandEvent},
};
use tokio_util::sync::CancellationToken;

use super::{
    Steps,
    client::DemoClient,
    goods::text,
    shoppers::{self, Shopper, Visits},
};
use crate::{app::App, cli::failure::Failure, config::Config, locks::lock, mongo::connect};

/// An interrupted flow.
pub(in super::super) struct Cut {
    /// The kind of its object: cart or order.
    pub(in super::super) what: &'static str,
    /// The state in which it was interrupted, as in the schema.
    pub(in super::super) state: &'static str,
    /// Global id of the cart or order.
    pub(in super::super) id: String,
}

/// Interrupts one flow of `shopper` in each transient state. Idle carts expire.
pub(super) async fn cut(
    config: &Config,
    visits: &Visits<'_>,
    shopper: &Shopper,
    steps: &Steps,
) -> Result<Vec<Cut>, Failure> {
    let mut cuts = Vec::new();
    let bar = steps.begin("cut flows", 4);
    let mut note = |what, state, id| {
        cuts.push(Cut { what, state, id });
        bar.inc(1);
    };
    let who = &shopper.who;
    let cart = async |number| visits.cart(who, "cut", number).await;

    let id = cart(0).await?;
    tokio::time::sleep(shoppers::IDLE).await;
    let sweep = async |app: App| shoppers::sweep_idle_carts(config, &app).await;
    until(config, "EXPIRING", sweep).await?;
    note("Cart", "EXPIRING", id);

    let id = cart(1).await?;
    let cancel = async |app| shoppers::cancel_cart(&DemoClient::new(app), who, &id).await;
    until(config, "CANCELLING", cancel).await?;
    note("Cart", "CANCELLING", id);

    let id = cart(4).await?;
    let check_out = async |app| {
        let client = DemoClient::new(app);
        shoppers::check_out(&client, shopper, None, &id, 10_004).await.map(drop)
    };
    // So the state is stored.
    until(config, "DECIDED", check_out).await?;
    note("Cart", "PAID", id);

    let id = cart(5).await?;
    let order = shoppers::check_out(visits.client, shopper, None, &id, 10_005).await?;
    let id = text(&order["id"]);
    let cancel =
        async |app| shoppers::cancel_order(&DemoClient::new(app), who, &id, "demo-cut").await;
    until(config, "CANCELLING", cancel).await?;
    note("Order", "CANCELLING", id);

    bar.finish();
    Ok(cuts)
}

/// Runs `work` in a gateway with a client of its own until MongoDB has made a write that brings a document into
/// `state`. It is stopped before it receives the answer.
async fn until(
    config: &Config,
    state: &'static str,
    work: impl AsyncFnOnce(App) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let reached = CancellationToken::new();
    let seen = reached.clone();
    let sent = Mutex::<HashSet<i32>>::default();
    let observe = move |event: CommandEvent| {
        let mut sent = lock(&sent);
        match event {
            CommandEvent::Started(command) if writes(&command.command, state) => {
                sent.insert(command.request_id);
            }
            CommandEvent::Succeeded(answer) if sent.remove(&answer.request_id) => {
                // A `findAndModify` answers with the document, an `update` with a number.
                let is_refused = answer.reply.get("value") == Some(&Bson::Null)
                    || answer.reply.get_i32("n").is_ok_and(|changed| changed == 0);
                if !is_refused {
                    seen.cancel();
                }
            }
            _ => {}
        }
    };
    let mut options = connect::options(&config.mongodb_uri, "docgate").await.map_err(trouble)?;
    options.command_event_handler = Some(EventHandler::callback(observe));
    let client = Client::with_options(options).map_err(trouble)?;
    let app = App::new(config.clone(), client.database(&config.database));
    let tasks = app.tasks().clone();
    let worked = tokio::select! {
        // The token is polled before `work`, whichever of them woke the task.
        biased;
        () = reached.cancelled() => Ok(()),
        ended = work(app) => {
            let how = ended.err().map(|error| format!(": {error}")).unwrap_or_default();
            Err(Failure::trouble(format!("the shop can't be filled: no flow came to {state}{how}")))
        }
    };
    // Background tasks of earlier answers are completed.
    tasks.close();
    tasks.wait().await;
    connect::close_beside_others(client).await;
    worked
}

/// Whether a command writes this state.
fn writes(command: &Document, state: &str) -> bool {
    let statements = command.get_array("updates").into_iter().flatten();
    let updates = statements.filter_map(|one| one.as_document()?.get("u"));
    updates.chain(command.get("update")).any(|update| has_text(update, state))
}

/// Whether this text is a value in it.
fn has_text(value: &Bson, text: &str) -> bool {
    match value {
        Bson::String(value) => value == text,
        Bson::Document(value) => value.values().any(|value| has_text(value, text)),
        Bson::Array(values) => values.iter().any(|value| has_text(value, text)),
        _ => false,
    }
}

fn trouble(error: mongodb::error::Error) -> Failure {
    Failure::trouble(format!("the shop can't be filled: {error}"))
}
