//! The engine behind the docs' live pages: requests and replies in JSON, no files, no threads, no clock.
//!
//! `docs/live/*.js` calls [`reply`] through the few functions of `abi.rs`; natively the same function is tested against runs of the
//! command's own code.

#[cfg(target_family = "wasm")]
mod abi;
mod dragging;
mod fitting;
mod letters;
mod methods;
mod summary;
mod warming;

use dragging::{Dragging, Settings};
use fitting::Model;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use warming::{Chaining, Plan};

/// What a page may ask.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// A new chain of the report's first example, with these settings.
    Drag(Settings),
    /// So many steps of it; the last of them in full.
    Step { count: usize },
    /// What is known of the chain so far.
    Figures { lags: usize },
    /// Log densities of the report's first example at one x.
    Density { x: f64, y: Vec<f64> },
    /// The six methods, one chain each.
    Methods { iterations: u64, seed: u64 },
    /// What a table holds.
    Table { name: String, csv: String },
    /// What a model of a table would be.
    Look { model: String, csv: String },
    /// A chain of several: of a model of a table, or (without one) of the report's first example.
    Chain {
        model: Option<String>,
        #[serde(default)]
        csv: String,
        plan: Plan,
    },
    /// Its warm-up, until it needs to hear from the others, or has come to an end.
    Warm { heard: Option<Vec<String>> },
    /// Draws of it.
    Draw { count: usize },
    /// Summaries of columns: for each, the draws of every chain.
    Summary { columns: Vec<Vec<Vec<f64>>> },
}

/// What a page has open.
#[derive(Debug, Default)]
pub struct Session {
    dragging: Option<Dragging>,
    chaining: Option<Box<dyn Chaining>>,
}

/// Whatever went wrong, in words.
pub(crate) type Outcome<T> = Result<T, String>;

pub(crate) fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The reply to a request, both in JSON: `{"ok": …}` or `{"error": "…"}`.
pub fn reply(session: &mut Session, request: &str) -> String {
    let outcome = serde_json::from_str(request)
        .map_err(words)
        .and_then(|request| session.reply(request));
    let reply = match outcome {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "error": error }),
    };
    reply.to_string()
}

impl Session {
    fn reply(&mut self, request: Request) -> Outcome<Value> {
        match request {
            Request::Drag(settings) => {
                let dragging = Dragging::new(&settings)?;
                let begun = value(&dragging.begun())?;
                self.dragging = Some(dragging);
                Ok(begun)
            }
            Request::Step { count } => value(&self.dragging()?.step(count)?),
            Request::Figures { lags } => value(&self.dragging()?.figures(lags)),
            Request::Density { x, y } => value(&dragging::densities(x, &y)?),
            Request::Methods { iterations, seed } => value(&methods::all(iterations, seed)?),
            Request::Table { name, csv } => value(&fitting::table(&name, &csv)?),
            Request::Look { model, csv } => value(&Model::read(&model, &csv)?.described()?),
            Request::Chain { model, csv, plan } => {
                let chaining = match model {
                    Some(model) => Model::read(&model, &csv)?.chain(plan)?,
                    None => warming::of(&towline_models::neal::Neal::ONE, plan)?,
                };
                let names = value(&chaining.names())?;
                self.chaining = Some(chaining);
                Ok(names)
            }
            Request::Warm { heard } => value(&self.chaining()?.warm(heard)?),
            Request::Draw { count } => value(&self.chaining()?.draw(count)?),
            Request::Summary { columns } => value(&summary::of(&columns)),
        }
    }

    fn dragging(&mut self) -> Outcome<&mut Dragging> {
        self.dragging
            .as_mut()
            .ok_or_else(|| "there is no chain yet".to_owned())
    }

    fn chaining(&mut self) -> Outcome<&mut Box<dyn Chaining>> {
        self.chaining
            .as_mut()
            .ok_or_else(|| "there is no chain yet".to_owned())
    }
}

fn value(reply: &impl Serialize) -> Outcome<Value> {
    serde_json::to_value(reply).map_err(words)
}
