//! The payment provider `http`: calls of a service of the operator. `docs/PAYMENTS.md` has the contract.

use std::time::Duration;

use reqwest::{StatusCode, header};
use serde::{Deserialize, Serialize};

use super::{Authorisation, Charge, Refund};
use crate::{
    app::rfc3339,
    domains::outside::{SIGNATURE, cause, signature, whole},
    graphql::prelude::*,
};

/// Maximum number of tries of a call with an unknown outcome. After them it is left to the flow's repeat.
const TRIES: u32 = 3;
/// Pause before the second try. It doubles with each further try.
const BACK_OFF: Duration = Duration::from_millis(100);
/// Maximum size of a response, in bytes.
const LARGEST: usize = 64 << 10;
/// Maximum length of a reason that the shopper gets to read, in characters.
const REASON: usize = 200;

/// The body of a request.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_id: Option<&'a str>,
    sent_at: String,
}

/// The body of a response.
#[derive(Debug, Deserialize)]
struct Answer {
    status: String,
    reason: Option<String>,
}

pub(super) async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation> {
    let call = Call {
        id: &charge.id,
        amount: Some(charge.amount.minor_units),
        currency: Some(charge.amount.currency.code()),
        token: charge.token.as_deref(),
        ..Call::default()
    };
    let answer = send(app, "authorise", call).await?;
    match answer.status.as_str() {
        "authorised" => Ok(Authorisation::Authorised),
        "declined" => Ok(Authorisation::Declined(shown(answer.reason))),
        other => Err(Error::internal(format!("the payment provider answered {other:?}"))),
    }
}

pub(super) async fn capture(app: &App, id: &str) -> Result<()> {
    expect(send(app, "capture", Call { id, ..Call::default() }).await?, "captured")
}

pub(super) async fn void(app: &App, id: &str) -> Result<()> {
    expect(send(app, "void", Call { id, ..Call::default() }).await?, "voided")
}

pub(super) async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund> {
    let call = Call {
        id,
        amount: Some(amount.minor_units),
        currency: Some(amount.currency.code()),
        refund_id: Some(refund_id),
        ..Call::default()
    };
    let answer = send(app, "refund", call).await?;
    if answer.status == "due" {
        return Ok(Refund::Due);
    }
    expect(answer, "refunded").map(|()| Refund::Made)
}

fn expect(answer: Answer, status: &str) -> Result<()> {
    if answer.status == status {
        return Ok(());
    }
    let Answer { status: found, reason } = answer;
    Err(Error::unavailable(format!(
        "the payment provider answered {found:?}; {status:?} was expected; its reason: {reason:?}"
    )))
}

/// The provider's reason, cleaned and truncated for the shopper.
fn shown(reason: Option<String>) -> String {
    let reason = reason.unwrap_or_default();
    let shown: String = reason.chars().filter(|c| !c.is_control()).take(REASON).collect();
    if shown.is_empty() { "the payment was declined".into() } else { shown }
}

async fn send(app: &App, action: &'static str, mut call: Call<'_>) -> Result<Answer> {
    call.sent_at = rfc3339(app.begin().await?.now());
    let key = match call.refund_id {
        Some(refund) => format!("{}-{action}-{refund}", call.id),
        None => format!("{}-{action}", call.id),
    };
    let body = serde_json::to_vec(&call).map_err(Error::internal)?;
    for attempt in 1..TRIES {
        match send_once(app, action, &key, &body).await {
            Err(error) if error.is_retryable() => tracing::warn!(
                event = "payment_call_retried",
                action,
                attempt,
                ?error,
                "a call of the payment provider failed and is repeated"
            ),
            decided => return decided,
        }
        tokio::time::sleep(BACK_OFF * 2_u32.pow(attempt - 1)).await;
    }
    send_once(app, action, &key, &body).await
}

/// Sends one try of a call.
///
/// # Errors
/// `Unavailable`: the call may have been carried out, and another try may succeed. `Internal`: another try
/// wouldn't succeed.
async fn send_once(app: &App, action: &str, key: &str, body: &[u8]) -> Result<Answer> {
    let config = app.config();
    let base = config.payments_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let secret = config.payments_signing_secret.as_deref().unwrap_or_default();
    let request = app
        .http()?
        .post(format!("{base}/{action}"))
        .timeout(Duration::from_millis(config.payments_timeout_millis))
        .header(header::CONTENT_TYPE, "application/json")
        .header("idempotency-key", key)
        .header(SIGNATURE, signature(secret, body))
        .body(body.to_vec());
    let response = request.send().await.map_err(fault)?;
    let status = response.status();
    if status.is_success() {
        // A body that breaks off, or is late, doesn't tell the outcome.
        let body = whole(response, LARGEST).await.map_err(Error::unavailable)?;
        let too_large = || Error::internal("the payment provider's response is too large");
        let read = serde_json::from_slice(&body.ok_or_else(too_large)?);
        return read.map_err(|fault: serde_json::Error| {
            // Without its length, a body that breaks off seems to be whole.
            if fault.is_eof() { Error::unavailable(fault) } else { Error::internal(fault) }
        });
    }
    let problem = format!("the payment provider answered {status} to {action}");
    let is_temporary = status.is_server_error()
        || [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS]
            .contains(&status);
    Err(if is_temporary { Error::unavailable(problem) } else { Error::internal(problem) })
}

/// A request that can't be built is a permanent fault.
fn fault(error: reqwest::Error) -> Error {
    let is_builder = error.is_builder();
    let cause = cause(error);
    if is_builder { Error::internal(cause) } else { Error::unavailable(cause) }
}
