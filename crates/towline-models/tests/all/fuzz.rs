//! Model files and tables with random damage: no panic, no case over ten seconds, and no damage that is accepted silently.
//!
//! 2,000 cases in normal tests, 20,000 with TOWLINE_LONG=1.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;
use towline::{Model, Rng};
use towline_models::{ModelFile, Resolved, Table};

/// What one case may take.
const LONGEST: Duration = Duration::from_secs(10);
/// Any: fixed, so that a failure comes again.
const SEED: u64 = 14;

/// Models of one table; between them they use every part of a model file.
const MODELS: [&str; 7] = [
    "family = \"poisson\"\nformula = \"n ~ x + f + offset(log(t)) + (1 + x | g) + (1 | h)\"\n[data]\nfile = \"d.csv\"\n\
     [priors]\nbeta = \"normal(0, 5)\"\nsd_g = \"exponential(1)\"\nsd_g_x = \"half_normal(1)\"\ncor = \"lkj(2)\"\n",
    "family = \"bernoulli\"\nlink = \"probit\"\nformula = \"c ~ poly(x, 2) + ns(u, 3) + relevel(f, \\\"b\\\") + (x || g)\"\n\
     [data]\nfile = \"d.csv\"\nsuccess = \"yes\"\n",
    "family = \"negative_binomial\"\nformula = \"n ~ bs(x, df = 4):f + log(t, 2)\"\ncentre = true\n[data]\nfile = \"d.csv\"\n\
     exposure = \"t\"\nmissing = \"drop\"\n[priors]\nsize = \"gamma(2, 0.5)\"\n",
    "family = \"gaussian\"\nformula = \"y ~ C(f, contr.sum)*x\"\n[data]\nfile = \"d.csv\"\nstandardise = [\"x\"]\n\
     [data.levels]\nf = [\"c\", \"b\", \"a\"]\n[[gp]]\nname = \"s\"\ninputs = [\"u\", \"v\"]\n\
     covariance = \"matern32_ard + constant(2) * exponential(u, length = 3) + nugget\"\njitter = 1e-6\n\
     [priors]\nsigma = \"half_student_t(3, 1)\"\ns_sd = \"pc_sd(1, 0.05)\"\nlength = \"pc_range(2, 0.05)\"\n",
    "family = \"binomial\"\nformula = \"n ~ 1\"\n[data]\nfile = \"d.csv\"\ntrials = \"m\"\n[[gp]]\ninputs = [\"u\", \"v\"]\n\
     distance = \"great_circle\"\ncovariance = \"powered_exponential\"\nstandardise = false\n\
     [priors]\ngp_power = \"uniform(0.5, 2)\"\ngp_length = \"log_normal(6, 1)\"\n",
    "family = \"softmax\"\nformula = \"f ~ x + u\"\n[data]\nfile = \"d.csv\"\n",
    "family = \"poisson\"\nformula = \"n ~ . + (1 | g/h)\"\n[data]\nfile = \"d.csv\"\n",
];

/// Words that stand where damage may put them: right ones in wrong places, and numbers at the ends of what there is.
const WORDS: [&str; 62] = [
    "poly(x, 3)",
    "ns(",
    "bs(x, df = 9)",
    "C(f, contr.poly)",
    "relevel(",
    "factor(",
    "(1 | g)",
    "(0 + x | g)",
    "||",
    "|",
    "~",
    ".",
    "row()",
    "^2",
    "^9",
    "/",
    ":",
    "*",
    "- 1",
    "+ 0",
    "I(",
    ")",
    "(",
    "\"",
    "'",
    "`",
    "\n",
    "\r\n",
    ",",
    ";",
    "=",
    "[",
    "]",
    "[data]",
    "[[gp]]",
    "[priors]",
    "uniform(3, 4)",
    "log_normal(800, 1)",
    "normal(0, 1e99)",
    "lkj(1e9)",
    "inf",
    "NaN",
    "NA",
    "-1",
    "0",
    "1e308",
    "-1e-308",
    "1e999",
    "x",
    "f",
    "g",
    "exponential(u)",
    "great_circle",
    "chord",
    "linear",
    "_ard",
    "rational_quadratic(mix = 1e-9)",
    "gamma(1e-90, 1)",
    "\u{feff}",
    "ü",
    "\0",
    "sd_g_x",
];

fn table() -> String {
    let mut text = String::from("y,n,m,c,x,u,v,t,f,g,h\n");
    for k in 0..30 {
        let t = f64::from(k);
        let (f, c) = (
            ["a", "b", "c"][k as usize % 3],
            ["no", "yes"][(k as usize * 5 / 3) % 2],
        );
        text += &format!(
            "{:.3},{},{},{c},{:.4},{:.4},{:.4},{},{f},g{},h{}\n",
            (t * 0.9).sin() * 3.0,
            (k * 7) % 6,
            6 + k % 3,
            (t * 1.3).sin(),
            (t * 0.77).cos() * 40.0,
            (t * 0.31).sin() * 50.0,
            1 + k % 4,
            k % 5,
            k % 4,
        );
    }
    text
}

fn below(rng: &mut Rng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n.saturating_sub(1))
}

/// A text with one to four pieces of damage.
fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=below(rng, 4) {
        let (a, b) = (below(rng, letters.len() + 1), below(rng, letters.len() + 1));
        let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 12));
        match below(rng, 6) {
            0 => drop(letters.drain(from..to)),
            1 => {
                let piece: Vec<char> = letters[from..to].to_vec();
                let at = below(rng, letters.len() + 1);
                letters.splice(at..at, piece);
            }
            2 => {
                let chosen = WORDS[below(rng, WORDS.len())];
                letters.splice(from..from, chosen.chars());
            }
            3 => {
                let chosen = WORDS[below(rng, WORDS.len())];
                letters.splice(from..to, chosen.chars());
            }
            4 => {
                if from < letters.len() {
                    letters[from] = char::from(32 + below(rng, 95) as u8);
                }
            }
            _ => {
                if from + 1 < letters.len() {
                    letters.swap(from, from + 1);
                }
            }
        }
    }
    letters.into_iter().collect()
}

/// The covariates of the first model that are columns of numbers: whatever happens to cells, they stay one column each.
fn numbers_stay_numbers(resolved: &Resolved, base: &Resolved) -> bool {
    let plain = |name: &&String| ["x", "u", "v", "y", "n", "m", "t"].contains(&name.as_str());
    let of = |resolved: &Resolved| -> Vec<String> {
        resolved
            .parts
            .fixed
            .names
            .iter()
            .filter(plain)
            .cloned()
            .collect()
    };
    of(resolved) == of(base)
}

/// Everything that `fit --show` does and the start of a chain; what is wrong with an accepted case, if anything.
fn through_everything(model: &str, data: &str, base: Option<&Resolved>) -> Result<bool, String> {
    let Ok(file) = ModelFile::parse("m.toml", model) else {
        return Ok(false);
    };
    let written = file
        .to_toml()
        .map_err(|e| format!("cannot be written: {e}"))?;
    let again =
        ModelFile::parse("n.toml", &written).map_err(|e| format!("cannot be read again: {e}"))?;
    if again != file {
        return Err("is another model when written and read again".into());
    }
    let Ok(table) = Table::parse("d.csv", data) else {
        return Ok(false);
    };
    let Ok(resolved) = Resolved::new(&file, &table) else {
        return Ok(false);
    };
    let Ok(target) = resolved.parts.build() else {
        return Ok(false);
    };
    let rows = resolved.parts.data.response.len();
    let columns = &resolved.parts.fixed.columns;
    if columns
        .iter()
        .any(|c| c.len() != rows || c.iter().any(|v| !v.is_finite()))
    {
        return Err("has a covariate that is not a number in every row".into());
    }
    let mut names: Vec<String> = target.columns().into_iter().map(|c| c.name).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    if names.len() != count {
        return Err("reports two numbers under one name".into());
    }
    let dropped = rows < table.rows();
    if dropped && !resolved.notes.iter().any(|note| note.contains("left out")) {
        return Err("leaves rows out without saying so".into());
    }
    for chosen in resolved.chosen.iter().filter(|c| c.why == "given") {
        if file.priors.is_empty() {
            return Err(format!("{} is said to be given", chosen.name));
        }
    }
    // Cells cannot change what a formula means.
    if let Some(base) = base
        && !numbers_stay_numbers(&resolved, base)
    {
        return Err("makes something else of a column of numbers".into());
    }
    // The same rows are coded alike when they come as new ones.
    if !dropped {
        let new = resolved.rows(&table);
        let (new, _) = new.map_err(|e| format!("cannot code its own rows: {e}"))?;
        if new.fixed != *columns {
            return Err("codes its own rows otherwise when they are new".into());
        }
    }
    let _ = target.start(&mut Rng::stream(1, 0));
    Ok(true)
}

#[test]
fn damaged_models_and_tables_neither_panic_nor_hang_nor_pass_silently() {
    let cases = if std::env::var_os("TOWLINE_LONG").is_some() {
        20_000
    } else {
        2_000
    };
    let bases: Vec<Resolved> = MODELS
        .iter()
        .map(|text| {
            let file = ModelFile::parse("m.toml", text).unwrap();
            let resolved = Resolved::new(&file, &Table::parse("d.csv", &table()).unwrap());
            let resolved = resolved.unwrap_or_else(|e| panic!("{text}: {e}"));
            resolved.parts.build().unwrap();
            resolved
        })
        .collect();
    let (send, receive) = mpsc::channel();
    let case = |k: u64| {
        let mut rng = Rng::stream(SEED, k);
        let which = below(&mut rng, MODELS.len());
        let in_model = rng.uniform() < 0.6;
        let model = if in_model {
            damaged(MODELS[which], &mut rng)
        } else {
            MODELS[which].into()
        };
        let data = if in_model {
            table()
        } else {
            damaged(&table(), &mut rng)
        };
        (which, in_model, model, data)
    };
    // In a thread of its own, so that a case without end is noticed.
    std::thread::spawn(move || {
        for k in 0..cases {
            let (which, in_model, model, data) = case(k);
            // The header may be damaged too: then other columns are there, and `.` means others.
            let same_header = data.lines().next() == table().lines().next();
            let base = (!in_model && same_header).then(|| &bases[which]);
            let seen = catch_unwind(AssertUnwindSafe(|| through_everything(&model, &data, base)));
            let seen = seen.unwrap_or_else(|_| Err("panics".into()));
            if send.send(seen).is_err() {
                return;
            }
        }
    });
    let mut accepted = 0;
    for k in 0..cases {
        let told = |what: &str| {
            let (_, _, model, data) = case(k);
            panic!("case {k} {what}:\n{model}\n{data}")
        };
        match receive.recv_timeout(LONGEST) {
            Ok(Ok(fine)) => accepted += u64::from(fine),
            Ok(Err(what)) => told(&what),
            Err(_) => told("takes more than ten seconds"),
        }
    }
    // Damage that is never accepted, or always, would test nothing.
    assert!(
        accepted > cases / 50 && accepted < cases,
        "{accepted} of {cases} were accepted"
    );
}
