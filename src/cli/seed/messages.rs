//! Messages between people: inboxes, and conversations of the shopper.

use docgate_demo::{
    phrases::{REMARKS, THOUGHTS},
    random::Random,
};
use serde_json::{Value, json};

use super::{
    SHOPPER, Steps,
    client::{DemoClient, someone},
    people::subject,
};
use crate::cli::failure::Failure;

/// Number of messages, and the number of people who write them and get them.
const MESSAGES: usize = 240;
const PEOPLE: usize = 60;
/// Number of recipients of a message to a group.
const GROUP: usize = 12;

const SEND: &str = "mutation($input: SendMessageInput!) { sendMessage(input: $input) {
    __typename ... on UserError { code message } } }";

/// Sends the messages.
pub(super) async fn send(client: &DemoClient, steps: &Steps) -> Result<(), Failure> {
    let mut random = Random::new(29);
    let inputs: Vec<_> = (0..MESSAGES).map(|number| message(&mut random, number)).collect();
    let sent = inputs.into_iter().map(|(by, input)| async move {
        client.execute(&someone(&by, &[]), SEND, json!({ "input": input })).await
    });
    steps.each("messages", sent).await.map(drop)
}

/// The sender of a message, and the input of `sendMessage`.
fn message(random: &mut Random, number: usize) -> (String, Value) {
    let first = 1 + random.below(PEOPLE);
    let (by, to) = match number % 4 {
        // The shopper writes to somebody, somebody to the shopper, and somebody to a group.
        0 => (SHOPPER.to_owned(), vec![subject(first)]),
        1 | 2 => (subject(first), vec![SHOPPER.to_owned()]),
        _ => (subject(first), (1..=GROUP).map(|next| subject(first + next)).collect()),
    };
    let text = if number.is_multiple_of(3) { THOUGHTS } else { REMARKS }.pick(random);
    let key = format!("message-{number}");
    (by, json!({ "toUserIds": to, "text": text, "idempotencyKey": key }))
}
