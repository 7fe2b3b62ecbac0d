//! One chain of several from its start through warm-up to its draws: those of `towline fit` and `towline run`, in a worker.

use crate::letters::{self, Letters};
use crate::{Outcome, words};
use serde::{Deserialize, Serialize};
use towline::erased::{AnyTarget, Erased};
use towline::warmup::{Warm, Warming};
use towline::{Chain, Cost, Model, Rng, Role, Warmup};

/// What `towline fit` is told by its flags.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub chain: usize,
    pub chains: usize,
    pub seed: u64,
    /// `--cost-ratio`; without one the defaults hold, as there is no clock here.
    pub ratio: Option<f64>,
}

/// How far a warm-up has come.
#[derive(Debug, Default, Serialize)]
pub struct Progress {
    /// Stages that are done.
    stage: usize,
    /// Whether it is at its end.
    done: bool,
    /// What the others must hear before it can continue.
    letter: Option<String>,
    slow_evaluations: u64,
    /// What was chosen: n, frame and remarks.
    chosen: Option<Chosen>,
}

#[derive(Debug, Serialize)]
struct Chosen {
    n: usize,
    frame: String,
    notes: Vec<String>,
}

/// Some draws.
#[derive(Debug, Serialize)]
pub struct Draws {
    /// A row for each draw, latents left out.
    rows: Vec<Vec<f64>>,
    outer: f64,
    slow_evaluations: u64,
    fast_evaluations: u64,
}

/// A chain whose model may be any.
pub trait Chaining: std::fmt::Debug {
    /// The names of the columns.
    fn names(&self) -> Vec<String>;
    /// Warms up until letters are needed, a stage has ended, or all is done.
    fn warm(&mut self, heard: Option<Vec<String>>) -> Outcome<Progress>;
    /// Makes draws.
    fn draw(&mut self, count: usize) -> Outcome<Draws>;
}

/// A chain of a model.
pub fn of<M: Model>(model: &'static M, plan: Plan) -> Outcome<Box<dyn Chaining>> {
    if plan.chains == 0 || plan.chain >= plan.chains {
        return Err(format!(
            "there is no chain {} of {}",
            plan.chain, plan.chains
        ));
    }
    let columns: Vec<(String, bool)> = model
        .columns()
        .into_iter()
        .map(|column| (column.name, column.role == Role::Latent))
        .collect();
    let letters = Letters {
        chain: plan.chain,
        chains: plan.chains,
        ..Letters::default()
    };
    Ok(Box::new(One {
        model: Box::leak(Box::new(Erased(model))),
        plan,
        columns,
        letters,
        state: State::Start,
    }))
}

struct One<M: Model + 'static> {
    /// Its type forgotten, so that a page brings the engine once.
    model: &'static Erased<'static, M>,
    plan: Plan,
    /// Names, and whether they are latents.
    columns: Vec<(String, bool)>,
    letters: Letters,
    state: State,
}

enum State {
    Start,
    Warming(Box<Warming>),
    Drawing(Box<Chain<&'static AnyTarget<'static>>>),
}

impl<M: Model> std::fmt::Debug for One<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("One")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl<M: Model> One<M> {
    fn warmup(&self) -> Warmup {
        Warmup {
            error: None,
            slow_evaluations: None,
            cost: self.plan.ratio.map_or(Cost::Measured, Cost::Ratio),
        }
    }

    /// One attempt at the stage that comes next.
    fn attempt(&mut self) -> Result<Warming, towline::Error> {
        self.letters.round = 0;
        let warmup = self.warmup();
        match &self.state {
            State::Warming(warming) => {
                warmup.advance(self.model, (**warming).clone(), &mut self.letters)
            }
            _ => {
                let mut rng = Rng::stream(self.plan.seed, self.plan.chain as u64);
                let (x, y) =
                    self.model
                        .start(&mut rng)
                        .map_err(|source| towline::Error::Model {
                            x: Vec::new(),
                            y: Vec::new(),
                            source,
                        })?;
                warmup.begin(self.model, &x, &y, rng, &mut self.letters)
            }
        }
    }

    fn begin(&mut self, warm: Warm, rng: Rng) -> Outcome<Chosen> {
        let kernel = warm.tuning.kernel().map_err(words)?;
        let chain =
            Chain::new(self.model as &AnyTarget, kernel, &warm.x, &warm.y, rng).map_err(words)?;
        self.state = State::Drawing(Box::new(chain));
        let tuning = warm.tuning;
        Ok(Chosen {
            n: tuning.main.n,
            frame: format!("{:?}", tuning.main.frame).to_lowercase(),
            notes: tuning.notes.into_iter().chain(tuning.remarks).collect(),
        })
    }
}

impl<M: Model> Chaining for One<M> {
    fn names(&self) -> Vec<String> {
        let plain = self.columns.iter().filter(|(_, latent)| !latent);
        plain.map(|(name, _)| name.clone()).collect()
    }

    fn warm(&mut self, heard: Option<Vec<String>>) -> Outcome<Progress> {
        if matches!(self.state, State::Drawing(_)) {
            return Err("this chain is warm already".to_owned());
        }
        if let Some(heard) = heard {
            let all: Outcome<Vec<Vec<f64>>> =
                heard.iter().map(|text| letters::read(text)).collect();
            self.letters.heard.push(all?);
        }
        self.letters.mine = None;
        let attempt = self.attempt();
        if let Some(mine) = self.letters.mine.take() {
            let stage = match &self.state {
                State::Warming(warming) => warming.stage(),
                _ => 0,
            };
            return Ok(Progress {
                stage,
                letter: Some(letters::write(&mine)),
                ..Progress::default()
            });
        }
        let warming = attempt.map_err(words)?;
        self.letters.heard.clear();
        let mut progress = Progress {
            stage: warming.stage(),
            done: warming.is_done(),
            slow_evaluations: warming.spent().slow_evaluations,
            ..Progress::default()
        };
        if progress.done {
            let (warm, rng) = warming.finish();
            progress.chosen = Some(self.begin(warm, rng)?);
        } else {
            self.state = State::Warming(Box::new(warming));
        }
        Ok(progress)
    }

    fn draw(&mut self, count: usize) -> Outcome<Draws> {
        let State::Drawing(chain) = &mut self.state else {
            return Err("this chain is not warm yet".to_owned());
        };
        let mut row = vec![0.0; self.columns.len()];
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            chain.advance().map_err(words)?;
            self.model
                .report(chain.x(), chain.y(), chain.cache(), &mut row);
            let plain = row
                .iter()
                .zip(&self.columns)
                .filter(|(_, (_, latent))| !latent);
            rows.push(plain.map(|(value, _)| *value).collect());
        }
        let totals = chain.totals();
        Ok(Draws {
            rows,
            outer: totals.outer_acceptance(),
            slow_evaluations: totals.slow_evaluations,
            fast_evaluations: totals.fast_evaluations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitting;
    use towline::run::{Run, Settings};
    use towline::store::RunDir;
    use towline_models::neal::Neal;

    const CHAINS: usize = 3;
    const SEED: u64 = 5;
    const DRAWS: usize = 50;

    /// The draws of all chains, which write to each other by hand; and how often one was run again.
    fn by_letters(mut chains: Vec<Box<dyn Chaining>>) -> (Vec<Vec<Vec<f64>>>, usize) {
        let mut heard: Option<Vec<String>> = None;
        let mut rounds = 0;
        loop {
            let states: Vec<Progress> = chains
                .iter_mut()
                .map(|c| c.warm(heard.clone()).unwrap())
                .collect();
            let letters: Vec<String> = states.iter().filter_map(|s| s.letter.clone()).collect();
            // All chains do the same: all write, or none does.
            assert!(letters.is_empty() || letters.len() == CHAINS);
            if states.iter().all(|state| state.done) {
                break;
            }
            rounds += 1;
            heard = Some(letters).filter(|letters| !letters.is_empty());
        }
        let draws = chains
            .iter_mut()
            .map(|c| c.draw(DRAWS).unwrap().rows)
            .collect();
        (draws, rounds)
    }

    /// The same by the code of the command.
    fn by_a_run<M: Model + Send + Sync + 'static>(model: M) -> Vec<Vec<Vec<f64>>> {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings {
            chains: CHAINS,
            draws: DRAWS as u64,
            seed: SEED,
            cost: Cost::Ratio(100.0),
            ..Settings::default()
        };
        let run = Run::create(
            &folder.path().join("run"),
            model.into(),
            "a test".into(),
            settings,
        )
        .unwrap();
        run.go(Default::default(), &mut |_| ()).unwrap();
        let run = RunDir::open(&folder.path().join("run")).unwrap();
        let columns = run.columns().unwrap();
        let row = |chain: usize, k: usize| columns.iter().map(|c| c[chain][k]).collect();
        (0..CHAINS)
            .map(|chain| (0..DRAWS).map(|k| row(chain, k)).collect())
            .collect()
    }

    fn plan(chain: usize) -> Plan {
        Plan {
            chain,
            chains: CHAINS,
            seed: SEED,
            ratio: Some(100.0),
        }
    }

    #[test]
    fn chains_that_write_letters_draw_what_a_run_draws() {
        let chains = (0..CHAINS)
            .map(|k| of(&Neal::ONE, plan(k)).unwrap())
            .collect();
        let (draws, rounds) = by_letters(chains);
        assert_eq!(draws, by_a_run(Neal::ONE));
        assert!(rounds > 5, "{rounds}");
    }

    #[test]
    fn a_fit_in_workers_draws_what_towline_fit_draws() {
        // Twelve groups of five, a covariate and a count.
        let mut rng = Rng::stream(2, 0);
        let mut csv = String::from("count,x,group\n");
        for group in 0..12 {
            let effect = 0.5 * rng.normal();
            for _ in 0..5 {
                let x = rng.normal();
                let mean = (1.0 + 0.5 * x + effect).exp();
                csv += &format!(
                    "{},{x},g{group}\n",
                    (mean + mean.sqrt() * rng.normal()).round().max(0.0)
                );
            }
        }
        let model = "family = \"poisson\"\nformula = \"count ~ x + (1 | group)\"\n[data]\nfile = \"d.csv\"\n";
        let chain = |k| {
            fitting::Model::read(model, &csv)
                .unwrap()
                .chain(plan(k))
                .unwrap()
        };
        let (draws, _) = by_letters((0..CHAINS).map(chain).collect());
        let file = towline_models::ModelFile::parse("model", model).unwrap();
        let table = towline_models::Table::parse("d.csv", &csv).unwrap();
        let target = towline_models::Resolved::new(&file, &table)
            .unwrap()
            .parts
            .build()
            .unwrap();
        assert_eq!(draws, by_a_run(target));
    }

    #[test]
    fn questions_that_make_no_sense_are_refused_in_words() {
        let mut session = crate::Session::default();
        let mut ask = |request: &str| crate::reply(&mut session, request);
        for (request, word) in [
            ("{}", "missing field"),
            (r#"{"do":"draw","count":1}"#, "no chain"),
            (
                r#"{"do":"look","model":"family = \"poison\"","csv":""}"#,
                "error",
            ),
            (
                r#"{"do":"chain","plan":{"chain":4,"chains":4,"seed":1,"ratio":null}}"#,
                "no chain 4",
            ),
        ] {
            let said = ask(request);
            assert!(
                said.starts_with(r#"{"error""#) && said.contains(word),
                "{request}: {said}"
            );
        }
        let begun = ask(r#"{"do":"chain","plan":{"chain":0,"chains":1,"seed":1,"ratio":null}}"#);
        assert_eq!(begun, r#"{"ok":["x","y"]}"#);
        assert!(ask(r#"{"do":"draw","count":1}"#).contains("not warm"));
    }
}
