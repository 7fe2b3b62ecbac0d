//! Bad input, a test for each kind; what is noted; and that every reference model can be written.

use crate::covariance::Covariance;
use crate::error::Error;
use crate::family::Family;
use crate::parameter::Value;
use crate::resolve::Resolved;
use crate::spec::ModelFile;
use crate::table::Table;
use std::path::{Path, PathBuf};
use towline::Prior;

mod components;
mod misleading;

fn model(text: &str) -> ModelFile {
    let text = if text.contains("[data]") {
        text.to_string()
    } else {
        format!("{text}\n[data]\nfile = \"d.csv\"\n")
    };
    ModelFile::parse("m.toml", &text).unwrap()
}

fn resolve(text: &str, data: &str) -> Result<Resolved, Error> {
    Resolved::new(&model(text), &Table::parse("d.csv", data).unwrap())
}

fn refusal(text: &str, data: &str) -> String {
    resolve(text, data).unwrap_err().to_string()
}

const COUNTS: &str = "y,x,g\n1,0.5,a\n0,1.5,b\n4,2.5,a\n2,4.5,b\n";

#[test]
fn missing_values_are_refused_by_line_or_dropped_on_request() {
    let data = "y,x,unused\n1,2,NA\n3,NA,1\n2,1,1\n5,3,1\n";
    let text = refusal("family = \"poisson\"\nformula = \"y ~ x\"", data);
    assert!(text.starts_with("d.csv, line 3: `x` is missing"), "{text}");
    let drop =
        "family = \"poisson\"\nformula = \"y ~ x\"\n[data]\nfile = \"d.csv\"\nmissing = \"drop\"";
    let resolved = resolve(drop, data).unwrap();
    // Line 2 lacks a value only where the model does not look.
    assert_eq!(resolved.parts.data.response, [1.0, 2.0, 5.0]);
    assert!(
        resolved.notes[0].contains("1 of 4 rows"),
        "{:?}",
        resolved.notes
    );
}

#[test]
fn text_in_a_number_column_is_refused_by_line_and_value() {
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ log(x)\"",
        "y,x\n1,2\n2,three\n",
    );
    assert_eq!(text, "d.csv, line 3: `x` is `three`, which is not a number");
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ 1\"",
        "y,x\n1,2\nmany,3\n",
    );
    assert_eq!(text, "d.csv, line 3: `y` is `many`, which is not a number");
}

#[test]
fn a_response_outside_its_familys_range_is_refused_by_line_and_range() {
    let cases = [
        ("poisson", "y ~ 1", "-1", "a whole number, 0 or more"),
        (
            "negative_binomial",
            "y ~ 1",
            "2.5",
            "a whole number, 0 or more",
        ),
        ("bernoulli", "y ~ 1", "2", "0 or 1"),
        (
            "binomial",
            "y | n ~ 1",
            "6",
            "a whole number from 0 to the number of trials",
        ),
    ];
    for (family, formula, value, accepted) in cases {
        let data = format!("y,n\n1,5\n{value},5\n0,5\n");
        let text = refusal(
            &format!("family = \"{family}\"\nformula = \"{formula}\""),
            &data,
        );
        assert!(
            text.starts_with("d.csv, line 3: the response `y` is "),
            "{text}"
        );
        assert!(text.contains(value) && text.ends_with(accepted), "{text}");
    }
}

#[test]
fn a_factor_with_one_level_is_refused() {
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ g\"",
        "y,g\n1,a\n2,a\n",
    );
    assert!(text.contains("`g` has one level only, `a`"), "{text}");
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ (1 | g)\"",
        "y,g\n1,a\n2,a\n",
    );
    assert!(text.contains("`g` has one level only, `a`"), "{text}");
}

#[test]
fn duplicate_coordinates_share_a_place_and_are_noted() {
    let data = "y,u,v\n1,0,0\n2,0,0\n3,1,0\n4,0,-0\n";
    let gp = "family = \"poisson\"\nformula = \"y ~ 1\"\n[[gp]]\ninputs = [\"u\", \"v\"]\n[data]\nfile = \"d.csv\"";
    let resolved = resolve(gp, data).unwrap();
    let process = resolved.parts.process.unwrap();
    assert_eq!(process.places.len, 2);
    assert_eq!(process.place_of, Some(vec![0, 0, 1, 0]));
    assert!(resolved.notes[0].contains("nugget"), "{:?}", resolved.notes);
}

#[test]
fn collinear_covariates_are_refused_by_name() {
    let data = "y,a,b,c\n1,1,2,3\n2,2,4,1\n3,3,6,7\n1,5,10,2\n";
    let text = refusal("family = \"poisson\"\nformula = \"y ~ a + c + b\"", data);
    assert!(
        text.contains("`b` of the model is a multiple of `a`"),
        "{text}"
    );
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ a + I(2*a - c) + c\"",
        data,
    );
    assert!(
        text.contains("`c` of the model is a combination of `a`, `I(2*a-c)`"),
        "{text}"
    );
}

#[test]
fn separable_classes_are_fitted_with_a_note() {
    let data = "y,x,z\n0,1,1\n0,2,5\n1,3,2\n1,4,3\n";
    let resolved = resolve("family = \"bernoulli\"\nformula = \"y ~ x + z\"", data).unwrap();
    assert_eq!(resolved.notes.len(), 1);
    assert!(
        resolved.notes[0].starts_with("`x` separates the classes"),
        "{:?}",
        resolved.notes
    );
}

#[test]
fn a_mistake_in_the_formula_is_pointed_at() {
    let text = refusal("family = \"poisson\"\nformula = \"y ~ x + (1 | g\"", COUNTS);
    assert_eq!(
        text,
        "this bracket is never closed\n  y ~ x + (1 | g\n          ^"
    );
}

#[test]
fn an_unknown_column_is_pointed_at_with_the_nearest_name() {
    let text = refusal(
        "family = \"poisson\"\nformula = \"y ~ xx + (1 | g)\"",
        COUNTS,
    );
    assert_eq!(
        text,
        "d.csv has no column `xx`; did you mean `x`?\n  y ~ xx + (1 | g)\n      ^^"
    );
    let gp = "family = \"poisson\"\nformula = \"y ~ 1\"\n[[gp]]\ninputs = [\"X\"]\n[data]\nfile = \"d.csv\"";
    assert!(refusal(gp, COUNTS).contains("did you mean `x`?"));
    let exposure =
        "family = \"poisson\"\nformula = \"y ~ 1\"\n[data]\nfile = \"d.csv\"\nexposure = \"z\"";
    assert!(refusal(exposure, COUNTS).contains("did you mean"));
}

#[test]
fn a_hundred_thousand_places_are_refused_with_the_reason_and_the_alternative() {
    let mut data = String::from("y,u\n");
    for k in 0..100_000 {
        data += &format!("1,{k}\n");
    }
    let gp = "family = \"poisson\"\nformula = \"y ~ 1\"\n[[gp]]\ninputs = [\"u\"]\n[data]\nfile = \"d.csv\"";
    let text = refusal(gp, &data);
    assert!(
        text.contains("100000 places") && text.contains("80.0 GB"),
        "{text}"
    );
    assert!(
        text.contains("(1 | region)") && text.contains("at most 5000"),
        "{text}"
    );
    // The same rows at few places are welcome.
    let few = gp.replace("\"u\"", "\"floor(u/1000)\"");
    assert_eq!(
        resolve(&few, &data)
            .unwrap()
            .parts
            .process
            .unwrap()
            .places
            .len,
        100
    );
}

#[test]
fn priors_of_unknown_parameters_and_of_the_wrong_kind_are_refused() {
    let with = |line: &str| {
        let text = format!(
            "family = \"poisson\"\nformula = \"y ~ x + (1 | g)\"\n[data]\nfile = \"d.csv\"\n[priors]\n{line}"
        );
        refusal(&text, COUNTS)
    };
    assert!(with("sd_q = \"exponential(1)\"").contains("did you mean `sd_g`?"));
    assert!(with("sd_g = \"exponental(1)\"").starts_with("priors.sd_g"));
    assert!(with("sd_g = \"normal(0, 1)\"").contains("log_normal"));
    assert!(with("x = \"cauchy(0, 1)\"").contains("normal(mean, sd)"));
}

#[test]
fn exposures_must_be_positive_and_go_with_counts() {
    let text = "family = \"poisson\"\nformula = \"y ~ 1\"\n[data]\nfile = \"d.csv\"\nexposure = \"x - 0.5\"";
    let message = refusal(text, COUNTS);
    assert!(
        message.contains("line 2") && message.contains("above zero"),
        "{message}"
    );
    let message = refusal(&text.replace("poisson", "gaussian"), COUNTS);
    assert!(message.contains("only counts"), "{message}");
}

#[test]
fn a_response_of_text_needs_to_know_what_counts_as_one() {
    let data = "y,x\nno,1\nyes,2\nperhaps,3\n";
    let text = refusal("family = \"bernoulli\"\nformula = \"y ~ x\"", data);
    assert!(
        text.contains("success") && text.contains("`perhaps`"),
        "{text}"
    );
    let given =
        "family = \"bernoulli\"\nformula = \"y ~ 1\"\n[data]\nfile = \"d.csv\"\nsuccess = \"yes\"";
    let resolved = resolve(given, data).unwrap();
    assert_eq!(resolved.parts.data.response, [0.0, 1.0, 0.0]);
}

#[test]
fn the_most_particular_prior_wins() {
    let text = "family = \"poisson\"\nformula = \"y ~ x + (x | g)\"\n[data]\nfile = \"d.csv\"\n[priors]\n\
                beta = \"normal(0, 5)\"\nx = \"normal(0, 1)\"\nsd = \"exponential(1)\"\nsd_g_x = \"exponential(2)\"\n\
                cor_g = \"lkj(3)\"";
    let parts = resolve(text, COUNTS).unwrap().parts;
    assert_eq!(parts.fixed.sds, [5.0, 1.0]);
    let rate = |value: &Value| match value {
        Value::Free(parameter) => parameter.prior,
        Value::Fixed(_) => panic!(),
    };
    assert_eq!(
        rate(&parts.groupings[0].sds[0]),
        Prior::Exponential { rate: 1.0 }
    );
    assert_eq!(
        rate(&parts.groupings[0].sds[1]),
        Prior::Exponential { rate: 2.0 }
    );
    assert_eq!(parts.groupings[0].correlation, Some(3.0));
}

#[test]
fn several_processes_become_one_over_all_inputs() {
    let text = "family = \"gaussian\"\nformula = \"y ~ 1\"\n[data]\nfile = \"d.csv\"\n[[gp]]\ninputs = [\"u\"]\n\
                covariance = \"matern32 + matern32\"\n[[gp]]\nname = \"time\"\ninputs = [\"v\"]\ncovariance = \"exponential(length = 2)\"";
    let resolved = resolve(text, "y,u,v\n1,0,3\n2,1,5\n3,4,4\n").unwrap();
    let process = resolved.parts.process.unwrap();
    assert_eq!(process.places.coordinates.len(), 2);
    let Covariance::Sum(parts) = &process.covariance else {
        panic!()
    };
    assert!(matches!(&parts[1], Covariance::Stationary { inputs, .. } if inputs == &[1]));
    let names: Vec<&str> = resolved.chosen.iter().map(|c| c.name.as_str()).collect();
    let expected = [
        "Intercept",
        "gp_matern32_sd",
        "gp_matern32_length",
        "gp_matern322_sd",
        "gp_matern322_length",
        "time_sd",
        "sigma",
    ];
    assert_eq!(names, expected);
}

#[test]
fn new_rows_are_coded_by_the_fit() {
    let text = "family = \"poisson\"\nformula = \"y ~ scale(x) + (1 | g)\"\n[data]\nfile = \"d.csv\"\nexposure = \"x\"";
    let resolved = resolve(text, COUNTS).unwrap();
    let new = Table::parse("n.csv", "x,g\n2.25,b\n2.25,z\n").unwrap();
    let (rows, notes) = resolved.rows(&new).unwrap();
    assert_eq!(rows.fixed[1], [0.0, 0.0]);
    assert_eq!(rows.groups[0], [Some(1), None]);
    assert!(notes[0].contains("1 row is of a group of `g`"), "{notes:?}");
    assert_eq!(rows.offset[0], 2.25f64.ln());
    assert!(resolved.response_of(&new).unwrap().is_none());
}

/// An example, and where its data lie: beside it, or in the shared folder (TOWLINE_DATA says where that is).
fn example(name: &str) -> Option<(ModelFile, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut model = ModelFile::read(&root.join("examples").join(name).join("model.toml")).unwrap();
    if !model.data.file.exists() {
        let shared =
            std::env::var_os("TOWLINE_DATA").map_or(root.join("../shared/data"), PathBuf::from);
        model.data.file = shared.join(name).join(model.data.file.file_name()?);
    }
    let file = model.data.file.clone();
    if !file.exists() {
        eprintln!("{name}: its data are not here, so it is left out");
        return None;
    }
    Some((model, file))
}

#[test]
fn every_example_resolves_to_the_sizes_of_its_data() {
    // name, family, rows, fixed effects, latent values
    let expected = [
        ("gp_pima", Family::BernoulliLogit, 200, 0, 200),
        ("gp_crabs", Family::BernoulliLogit, 200, 0, 200),
        ("geo_ncsids", Family::Poisson, 100, 2, 100),
        ("geo_rongelap", Family::Poisson, 157, 1, 157),
        ("geo_loaloa", Family::BinomialLogit, 197, 7, 197),
        ("glmm_epil", Family::Poisson, 236, 6, 59 + 236),
        ("glmm_contraception", Family::BernoulliLogit, 1934, 7, 60),
        ("glmm_toenail", Family::BernoulliLogit, 1908, 4, 294),
        ("glmm_verbagg", Family::BernoulliLogit, 7584, 7, 316 + 24),
        ("glmm_salamander", Family::BernoulliLogit, 360, 4, 120),
        ("glmm_rwm5yr", Family::Poisson, 19_609, 7, 6127),
        ("gp_neal3class", Family::Softmax, 400, 0, 400),
    ];
    for (name, family, rows, fixed, latent) in expected {
        let Some((model, _)) = example(name) else {
            continue;
        };
        let parts = Resolved::read(&model)
            .unwrap_or_else(|e| panic!("{name}: {e}"))
            .parts;
        let places = parts
            .process
            .as_ref()
            .map_or(0, |process| process.places.len);
        let groups: usize = parts
            .groupings
            .iter()
            .map(|g| g.levels.len() * g.effects.len())
            .sum();
        assert_eq!(
            (
                parts.data.family,
                parts.data.response.len(),
                parts.fixed.len(),
                places + groups
            ),
            (family, rows, fixed, latent),
            "{name}"
        );
    }
}

#[test]
fn the_covariates_of_epil_are_those_of_the_reference() {
    let Some((model, file)) = example("glmm_epil") else {
        return;
    };
    let parts = Resolved::read(&model).unwrap().parts;
    let table = Table::read(&file).unwrap();
    let base = table.numbers("base").unwrap();
    let treated = table
        .text("trt")
        .unwrap()
        .iter()
        .map(|t| f64::from(u8::from(t == "progabide")));
    let product: Vec<f64> = base
        .iter()
        .zip(treated)
        .map(|(b, t)| (b / 4.0).ln() * t)
        .collect();
    let mean = product.iter().sum::<f64>() / product.len() as f64;
    assert_eq!(
        parts.fixed.names,
        [
            "Intercept",
            "log(base/4)",
            "trtprogabide",
            "log(age)",
            "V4",
            "log(base/4):trtprogabide"
        ]
    );
    for (ours, theirs) in parts.fixed.columns[5].iter().zip(&product) {
        assert!((ours - (theirs - mean)).abs() < 1e-12);
    }
    assert!(parts.fixed.sds.iter().all(|sd| *sd == 100.0));
    assert!(parts.fixed.means.iter().all(|mean| *mean == 0.0));
}
