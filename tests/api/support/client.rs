//! A caller of a gateway, over HTTP.

use std::{
    collections::HashSet,
    sync::LazyLock,
    time::{Duration, Instant},
};

use docgate::{app::App, background, config::Config};
use serde_json::{Value, json};

use super::{Gateway, PATIENCE, SHORT_COMMAND, fresh_name, token};

impl Gateway {
    /// A caller without a token.
    pub fn anonymous(&self) -> Client {
        self.client(None)
    }

    /// Someone who is signed in and has no role.
    pub fn shopper(&self, subject: &str) -> Client {
        self.client(Some(token(subject, &[])))
    }

    /// Someone with roles.
    pub fn user(&self, subject: &str, roles: &[&str]) -> Client {
        self.client(Some(token(subject, roles)))
    }

    pub fn merchant(&self) -> Client {
        self.user("the-merchant", &["merchant"])
    }

    pub fn service(&self) -> Client {
        self.user("the-service", &["service"])
    }

    pub fn admin(&self) -> Client {
        self.user("the-admin", &["admin"])
    }

    /// A caller with this bearer token.
    pub fn client(&self, token: Option<String>) -> Client {
        let usual = Config::default().flow_run_millis;
        Client {
            http: self.http.clone(),
            url: format!("http://{}/graphql", self.address),
            token,
            is_hurried: self.app.config().flow_command_millis <= SHORT_COMMAND,
            app: self.app.clone(),
            // Of three members one may be away, or behind.
            repeats: self.app.config().flow_run_millis != usual
                || self.app.config().mongodb_uri.contains("replicaSet="),
        }
    }
}

/// One caller.
#[derive(Clone)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub url: String,
    pub token: Option<String>,
    /// Whether it repeats a call that ran out of time, which can happen on a busy machine. With the usual bounds of a
    /// gateway it doesn't: they are those of tests that count commands.
    repeats: bool,
    /// Whether the gateway's bounds are so short that this is likely.
    is_hurried: bool,
    app: App,
}

impl Client {
    /// Runs all sweeps of its gateway once, whatever comes of it.
    pub async fn sweep(&self) {
        background::sweep_all(&self.app).await.ok();
    }

    /// Sends an operation and answers the whole response, or the error of the transport. Nobody looks at the commands
    /// that were sent for it, so the gateway needn't explain them.
    pub async fn send(&self, query: &str, variables: Value) -> reqwest::Result<(u16, Value)> {
        let request = self.http.post(&self.url).header("x-docgate-explain", "false");
        let response = self.ask(request, query, variables).await?;
        Ok((response.status().as_u16(), response.json().await?))
    }

    /// The whole response, with the commands that were sent for it.
    pub async fn explained(&self, query: &str, variables: Value) -> Value {
        let response = self.post(query, variables).await.expect("an answer");
        response.json().await.expect("an answer")
    }

    /// The whole response as it was written.
    pub async fn text(&self, query: &str, variables: Value) -> String {
        let response = self.post(query, variables).await.expect("an answer");
        response.text().await.expect("a text")
    }

    async fn post(&self, query: &str, variables: Value) -> reqwest::Result<reqwest::Response> {
        self.ask(self.http.post(&self.url), query, variables).await
    }

    async fn ask(
        &self,
        mut request: reqwest::RequestBuilder,
        query: &str,
        variables: Value,
    ) -> reqwest::Result<reqwest::Response> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let body = json!({ "query": query, "variables": variables });
        request.json(&body).send().await
    }

    /// The whole response.
    pub async fn run(&self, query: &str, variables: Value) -> Value {
        self.send(query, variables).await.expect("an answer").1
    }

    /// `data` of a response without errors. A call that ran out of time is repeated, with [`short_bounds`] with a key by
    /// which the gateway knows that it is a repeat.
    pub async fn data(&self, query: &str, mut variables: Value) -> Value {
        // A guest can't give every call a key.
        if self.is_hurried && self.token.is_some() {
            with_key(query, &mut variables);
        }
        let patience = if self.repeats { PATIENCE } else { Duration::ZERO };
        let end = Instant::now() + patience;
        let mut response = self.run(query, variables.clone()).await;
        while response["errors"][0]["extensions"]["code"] == "UNAVAILABLE" && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(50)).await;
            response = self.run(query, variables.clone()).await;
        }
        assert!(response.get("errors").is_none(), "{response:#}");
        response["data"].clone()
    }

    /// The one field of `data` of a response without errors.
    pub async fn field(&self, query: &str, variables: Value) -> Value {
        let data = self.data(query, variables).await;
        let fields = data.as_object().expect("an object");
        assert_eq!(fields.len(), 1, "one root field: {data:#}");
        fields.values().next().cloned().expect("a field")
    }

    /// `extensions.code` of the first error.
    pub async fn error_code(&self, query: &str, variables: Value) -> String {
        let response = self.run(query, variables).await;
        let code = response["errors"][0]["extensions"]["code"].as_str();
        code.unwrap_or_else(|| panic!("an error with a code: {response:#}")).to_owned()
    }
}

/// Gives the input of a mutation an idempotency key, if it can have one and has none.
fn with_key(query: &str, variables: &mut Value) {
    static KEYED: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let sdl = include_str!("../../../schema.graphql");
        let inputs = sdl.split("\ninput ").skip(1).filter_map(|input| input.split_once(" {"));
        let body = |rest: &str| rest.split("\n}").next().unwrap_or_default().to_owned();
        let keyed = inputs.filter(|(_, rest)| body(rest).contains("idempotencyKey:"));
        keyed.map(|(name, _)| name.to_owned()).collect()
    });
    let Some((_, declared)) = query.split_once("$input: ") else { return };
    let of_input = declared.split('!').next().unwrap_or_default();
    if KEYED.contains(of_input)
        && let Some(input) = variables["input"].as_object_mut()
        && input.get("idempotencyKey").is_none_or(Value::is_null)
    {
        input.insert("idempotencyKey".into(), json!(fresh_name()));
    }
}

/// Names of the commands that a response says it sent.
pub fn commands(response: &Value) -> Vec<String> {
    let commands = response["extensions"]["docgate"]["commands"].as_array();
    commands
        .expect("development mode tells the commands")
        .iter()
        .map(|sent| {
            let text = |key: &str| sent[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("command"), text("collection"))
        })
        .collect()
}
