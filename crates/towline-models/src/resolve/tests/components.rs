//! Components of formulas: what is accepted, what is refused and in which words, what is noted.

use super::{refusal, resolve};
use crate::parameter::Value;
use towline::Prior;

fn data() -> String {
    let mut text = String::from("y,t,u,g,a,b\n");
    for i in 0..30u32 {
        let a = f64::from(i * 7 % 30) / 30.0;
        text += &format!(
            "{},{},{},g{},{a},{}\n",
            i % 3,
            i % 10,
            0.5 * f64::from(i % 10),
            i % 2,
            2.0 * a
        );
    }
    text
}

fn poisson(terms: &str) -> String {
    format!("family = \"poisson\"\nformula = '''y ~ {terms}'''")
}

#[test]
fn components_bring_what_they_leave_open_among_the_fixed_effects() {
    let names = |terms: &str| resolve(&poisson(terms), &data()).unwrap().parts.fixed.names;
    assert_eq!(names("rw1(t)"), ["Intercept"]);
    assert_eq!(names("rw2(t)"), ["Intercept", "t"]);
    assert_eq!(names("t + rw2(t)"), ["Intercept", "t"]);
    assert_eq!(names("s(log(a + 1))"), ["Intercept", "log(a+1)"]);
    assert_eq!(
        names("rw2(t, by = g)"),
        ["Intercept", "t:factor(g)g0", "t:factor(g)g1"]
    );
}

#[test]
fn parameters_are_called_after_the_component_and_its_inputs() {
    let resolved = resolve(&poisson("ar1(t, by = g) + rw1(u) + (1 | g)"), &data()).unwrap();
    let names: Vec<&str> = resolved.chosen.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(
        names,
        ["Intercept", "sd_g", "sd_ar1_t_g", "rho_ar1_t_g", "sd_rw1_u"]
    );
    let model = resolved.parts.build().unwrap();
    assert_eq!(
        (model.slow_dim(), model.fast_dim()),
        (4, 1 + 2 + 2 * 10 + 9)
    );
}

#[test]
fn priors_of_components_are_given_by_their_names_and_their_ranges_are_kept() {
    let with = |line: &str| {
        format!(
            "{}\n[data]\nfile = \"d.csv\"\n[priors]\n{line}",
            poisson("ar1(t)")
        )
    };
    let ok = resolve(
        &with("rho = \"normal(0.5, 0.3)\"\nsd_ar1_t = \"exponential(1)\""),
        &data(),
    );
    assert!(
        ok.unwrap()
            .chosen
            .iter()
            .all(|c| c.name == "Intercept" || c.why == "given")
    );
    let text = refusal(&with("rho = \"uniform(2, 3)\""), &data());
    assert!(text.contains("between -1 and 1"), "{text}");
}

#[test]
fn times_in_any_order_and_repeated_are_the_same_model() {
    let sorted = "y,t\n1,1\n2,1\n0,2\n3,4\n1,7\n";
    let mixed = "y,t\n3,4\n1,1\n1,7\n0,2\n2,1\n";
    for terms in ["rw1(t)", "rw2(t)", "ar1(t)"] {
        let columns = |data: &str| {
            use towline::Model;
            let model = resolve(&poisson(terms), data)
                .unwrap()
                .parts
                .build()
                .unwrap();
            let names = model.columns().into_iter().map(|c| c.name);
            names.collect::<Vec<_>>()
        };
        assert_eq!(columns(sorted), columns(mixed), "{terms}");
    }
    // Steps of an autoregression that no row has are nodes all the same.
    let model = resolve(&poisson("ar1(t)"), sorted)
        .unwrap()
        .parts
        .build()
        .unwrap();
    assert_eq!(model.fast_dim(), 1 + 7);
}

#[test]
fn times_that_are_no_steps_or_too_few_are_refused() {
    let text = refusal(&poisson("ar1(u)"), &data());
    assert!(
        text.contains("0.5") && text.contains("whole steps") && text.contains("rw1()"),
        "{text}"
    );
    let far = "y,t\n1,1\n2,20000\n0,40000\n1,60000\n";
    let text = refusal(&poisson("ar1(t)"), far);
    assert!(text.contains("divide it"), "{text}");
    let text = refusal(&poisson("rw2(t)"), "y,t\n1,1\n2,2\n0,2\n");
    assert!(
        text.contains("at least 4 different times") && text.contains('2'),
        "{text}"
    );
    let text = refusal(&poisson("seasonal(t)"), &data());
    assert!(text.contains("seasonal(t, 12)"), "{text}");
}

#[test]
fn a_mesh_of_places_on_a_line_is_refused_with_the_alternative() {
    let text = refusal(&poisson("spde(a, b)"), &data());
    assert!(
        text.contains("on one line") && text.contains("gp(x)"),
        "{text}"
    );
}

#[test]
fn components_of_the_same_columns_are_noted_with_what_helps() {
    let notes = resolve(&poisson("rw1(t) + ar1(t)"), &data()).unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|n| n.contains("`rw1_t` and `ar1_t`") && n.contains("leave one")),
        "{notes:?}"
    );
    let notes = resolve(&poisson("factor(t) + rw1(t)"), &data())
        .unwrap()
        .notes;
    assert!(
        notes
            .iter()
            .any(|n| n.contains("not identified") && n.contains("leave the factor out")),
        "{notes:?}"
    );
    let notes = resolve(&poisson("rw1(t) + s(a)"), &data()).unwrap().notes;
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn mistakes_in_calls_are_pointed_at() {
    let text = refusal(&poisson("rw1(t, bye = g)"), &data());
    assert!(text.contains("did you mean `by`?"), "{text}");
    let text = refusal(&poisson("a:rw1(t)"), &data());
    assert!(text.contains("can only be added"), "{text}");
    let text = refusal(&poisson("log(rw1(t))"), &data());
    assert!(text.contains("no part of arithmetic"), "{text}");
    let text = refusal(&poisson("rw3(t)"), &data());
    assert!(
        text.contains("did you mean `rw1`?") || text.contains("did you mean `rw2`?"),
        "{text}"
    );
    let text = refusal(&poisson("areal(g, graph = \"nowhere.csv\")"), &data());
    assert!(text.contains("nowhere.csv"), "{text}");
    let text = refusal(&poisson("nngp(a, b, covariance = \"matern23\")"), &data());
    assert!(text.contains("did you mean `matern32`?"), "{text}");
}

#[test]
fn several_classes_take_no_components() {
    let text = "family = \"softmax\"\nformula = \"y ~ rw1(t)\"";
    let error = resolve(text, &data()).unwrap().parts.build().unwrap_err();
    assert!(error.to_string().contains("several classes"), "{error}");
}

#[test]
fn a_process_of_the_formula_is_that_of_the_file() {
    let by_formula = resolve(&poisson("gp(a, b, covariance = \"exponential\")"), &data()).unwrap();
    let file = format!(
        "{}\n[[gp]]\ninputs = [\"a\", \"b\"]\ncovariance = \"exponential\"\n[data]\nfile = \"d.csv\"",
        poisson("1")
    );
    let by_file = resolve(&file, &data()).unwrap();
    assert_eq!(by_formula.parts.process, by_file.parts.process);
    assert!(by_formula.model.gp.is_empty() && by_formula.gp == by_file.gp);
}

#[test]
fn default_priors_of_scales_penalise_complexity() {
    let parts = resolve(&poisson("rw1(t) + (1 | g)"), &data())
        .unwrap()
        .parts;
    let model = parts.build().unwrap();
    let settings = towline::Model::settings(&model);
    let of = |name: &str| {
        settings
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, v)| v.clone())
    };
    assert_eq!(
        of("prior of sd_rw1_t"),
        Some(
            Prior::PcSd {
                u: 2.5,
                alpha: 0.01
            }
            .to_string()
        )
    );
    assert!(matches!(&parts.groupings[0].sds[0], Value::Free(_)));
}

#[test]
fn products_are_components_of_either_order_and_stars_are_sums() {
    let named = |terms: &str| {
        let resolved = resolve(&poisson(terms), &data()).unwrap();
        let names: Vec<String> = resolved.chosen.iter().map(|c| c.name.clone()).collect();
        (names[1..].to_vec(), resolved)
    };
    let (names, resolved) = named("rw1(t):ar1(a * 30)");
    // One standard deviation for both; the others are called after their factor first.
    assert_eq!(names, ["sd_rw1_t_ar1_a*30", "rho_ar1_a*30_rw1_t"]);
    let model = resolved.parts.build().unwrap();
    assert_eq!((model.slow_dim(), model.fast_dim()), (2, 1 + 9 * 30));
    let (names, _) = named("ar1(a * 30):rw1(t)");
    assert_eq!(names, ["sd_ar1_a*30_rw1_t", "rho_ar1_a*30_rw1_t"]);
    let (names, resolved) = named("rw1(t)*rw2(a)");
    assert_eq!(names, ["a", "sd_rw1_t", "sd_rw2_a", "sd_rw1_t_rw2_a"]);
    assert!(resolved.notes.is_empty(), "{:?}", resolved.notes);
    assert_eq!(resolved.parts.components.len(), 3);
    // A random walk's line is a main effect, and comes with that.
    let (names, _) = named("rw1(t):rw2(a)");
    assert_eq!(names, ["sd_rw1_t_rw2_a"]);
    let (_, resolved) = named("rw1(t, by = g):rw1(a)");
    assert_eq!(resolved.parts.build().unwrap().fast_dim(), 1 + 2 * 9 * 29);
}

#[test]
fn a_product_without_what_its_factors_hold_at_zero_is_noted() {
    let notes = |terms: &str| resolve(&poisson(terms), &data()).unwrap().notes;
    let said = notes("rw1(t):rw1(a) + rw1(t)");
    assert!(
        said.len() == 1
            && said[0].contains("sums to zero along t")
            && said[0].contains("add rw1(a)"),
        "{said:?}"
    );
    assert_eq!(notes("rw1(t):rw1(a)").len(), 2);
    assert!(notes("rw1(t):rw1(a) + factor(t) + s(a)").is_empty());
    // What is proper leaves nothing out.
    assert!(notes("ar1(t):ar1(a * 30)").is_empty());
}

#[test]
fn products_that_are_none_are_refused_with_what_to_do() {
    let said = |terms: &str| refusal(&poisson(terms), &data());
    for terms in ["gp(a):rw1(t)", "rw1(t):gp(a, b)", "rw1(t)*gp(a)"] {
        let text = said(terms);
        assert!(text.contains("spde(x, y) or nngp(x, y)"), "{text}");
    }
    for terms in [
        "rw1(t):rw1(a):rw1(u)",
        "rw1(t):(rw1(a):rw1(u))",
        "rw1(t):rw1(a):g",
    ] {
        let text = said(terms);
        assert!(
            text.contains("two components") && text.contains("by = g"),
            "{text}"
        );
    }
    for terms in ["rw1(t):rw1(t)", "rw1(t):ar1(t)"] {
        let text = said(terms);
        assert!(text.contains("both factors look at `t`"), "{text}");
    }
    let text = said("rw1(t, by = g):rw1(a, by = u)");
    assert!(text.contains("give `by` once"), "{text}");
    let text = said("a - rw1(t):rw1(u)");
    assert!(text.contains("can only be added"), "{text}");
    let text = said("(rw1(t):rw1(u) | g)");
    assert!(text.contains("can only be added"), "{text}");
    let text = said("rw1(t):nothing(a)");
    assert!(text.contains("can only be added"), "{text}");
    // Factors with a single value are refused by themselves.
    let one = "y,t,u\n1,1,1\n2,1,2\n0,1,3\n1,1,4\n";
    let text = refusal(&poisson("rw1(t):rw1(u)"), one);
    assert!(text.contains("at least 3 different times"), "{text}");
    let text = refusal(&poisson("ar1(t):rw1(u)"), one);
    assert!(text.contains("one value only"), "{text}");
}

#[test]
fn a_product_has_one_standard_deviation() {
    let with = |line: &str| {
        format!(
            "{}\n[data]\nfile = \"d.csv\"\n[priors]\n{line}",
            poisson("rw1(t):rw1(u)")
        )
    };
    for own in ["sd_rw1_t", "sd_rw1_u"] {
        let text = refusal(&with(&format!("{own} = \"exponential(1)\"")), &data());
        assert!(
            text.contains("no such parameter") && text.contains("sd_rw1_t_rw1_u"),
            "{text}"
        );
    }
    assert!(resolve(&with("sd_rw1_t_rw1_u = \"exponential(1)\""), &data()).is_ok());
}

#[test]
fn sizes_are_foreseen_before_anything_is_laid_out() {
    let table = |a: usize, b: usize, rows: usize| {
        let mut text = String::from("y,a,b\n");
        for i in 0..rows {
            text += &format!("1,{},{}\n", i % a, i % b);
        }
        text
    };
    // 36 million nodes, whose names alone would not fit.
    let text = refusal(&poisson("rw1(a):rw1(b)"), &table(6000, 5999, 6000));
    assert!(
        text.contains("`rw1_a_rw1_b` would have 35982002 nodes") && text.contains(" GB"),
        "{text}"
    );
    // Few nodes, but every row is a sum of thousands of them.
    let resolved = resolve(&poisson("rw1(a):rw1(b)"), &table(401, 400, 3000)).unwrap();
    let text = resolved.parts.build().unwrap_err().to_string();
    assert!(
        text.contains("the joint precision") && text.contains(" GB"),
        "{text}"
    );
}
