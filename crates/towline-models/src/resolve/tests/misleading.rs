//! Input that would mislead is refused, or said; what R and lme4 understand is understood alike.

use super::*;
use crate::distance::Distance;
use towline::Model;

/// Forty-eight rows with numbers, factors and groups.
fn data() -> String {
    let mut text = String::from("y,x,w,f,h,year,site,site_year,lon,lat\n");
    for k in 0..48u32 {
        let t = f64::from(k);
        text += &format!(
            "{},{:.4},{:.4},{},{},{},s{},s{}_{},{:.3},{:.3}\n",
            (7 * k + 3) % 5,
            (t * 1.3).sin(),
            (t * 0.7).cos() + 3.0,
            ["a", "b", "c"][k as usize % 3],
            ["p", "q"][(k as usize / 3) % 2],
            k % 5,
            k % 6,
            k % 6,
            k % 5,
            (t * 37.0) % 360.0 - 180.0,
            (t * 17.0) % 170.0 - 85.0,
        );
    }
    text
}

fn formula(formula: &str) -> Result<Resolved, Error> {
    resolve(
        &format!("family = \"poisson\"\nformula = '{formula}'"),
        &data(),
    )
}

fn with_priors(text: &str, priors: &str) -> Result<Resolved, Error> {
    let text = format!(
        "family = \"poisson\"\nformula = '{text}'\n[data]\nfile = \"d.csv\"\n[priors]\n{priors}"
    );
    resolve(&text, &data())
}

fn process(covariance: &str, distance: &str, priors: &str) -> Result<Resolved, Error> {
    let text = format!(
        "family = \"poisson\"\nformula = \"y ~ 1\"\n[data]\nfile = \"d.csv\"\n[[gp]]\ninputs = [\"lon\", \"lat\"]\n\
         covariance = \"{covariance}\"\ndistance = \"{distance}\"\n[priors]\n{priors}"
    );
    resolve(&text, &data())
}

fn said(result: Result<Resolved, Error>) -> String {
    result
        .map(|resolved| resolved.chosen)
        .unwrap_err()
        .to_string()
}

#[test]
fn two_scales_of_one_name_are_refused() {
    let text = said(formula("y ~ x + (year || site) + (1 | site_year)"));
    assert!(
        text.contains("two parameters would be called `sd_site_year`"),
        "{text}"
    );
    assert!(text.contains("rename"), "{text}");
    // So are two reported numbers of other kinds.
    let data = "y,g,x,g[a]\n1,a,1,2\n2,b,3,1\n0,a,2,2\n4,b,5,7\n";
    let clash = resolve(
        "family = \"poisson\"\nformula = \"y ~ `g[a]` + (1 | g)\"",
        data,
    )
    .unwrap();
    let text = clash.parts.build().unwrap_err().to_string();
    assert!(text.contains("reported as `g[a]`"), "{text}");
}

#[test]
fn uncorrelated_effects_may_be_written_apart_as_in_lme4() {
    let apart = formula("y ~ x + (1 | site) + (0 + x | site)")
        .unwrap()
        .parts;
    let bars = formula("y ~ x + (x || site)").unwrap().parts;
    assert_eq!(apart.groupings, bars.groupings);
    assert_eq!(apart.groupings[0].effects, ["Intercept", "x"]);
    assert_eq!(apart.groupings[0].correlation, None);
    let blocks = formula("y ~ (1 + x | site) + (0 + w | site)")
        .unwrap()
        .parts;
    assert_eq!(blocks.groupings.len(), 2);
    assert!(blocks.groupings[0].correlation.is_some());
    blocks.build().unwrap();
    // A factor's levels stay together, as lme4 has them.
    let factor = formula("y ~ (f || site)").unwrap().parts;
    assert_eq!(factor.groupings[1].effects, ["fa", "fb", "fc"]);
    let text = said(formula("y ~ (1 | site) + (x | site)"));
    assert!(
        text.contains("`Intercept` of `site` is there twice"),
        "{text}"
    );
}

#[test]
fn rows_of_another_table_have_no_fitted_effects_even_if_there_are_as_many() {
    let resolved = formula("y ~ x + (1 | row())").unwrap();
    let other = Table::parse("n.csv", &data().replace("s3", "s4")).unwrap();
    let (rows, notes) = resolved.rows(&other).unwrap();
    assert!(rows.groups[0].iter().all(Option::is_none));
    assert!(
        notes[0].starts_with("48 rows are of groups of `row()`"),
        "{notes:?}"
    );
    let same = Table::parse("d.csv", &data()).unwrap();
    let (rows, notes) = resolved.rows(&same).unwrap();
    assert_eq!(rows.groups[0][47], Some(47));
    assert!(notes.is_empty());
}

#[test]
fn covariances_that_are_none_on_the_sphere_use_chords_and_say_so() {
    let distance = |resolved: &Resolved| match &resolved.parts.process.as_ref().unwrap().covariance
    {
        Covariance::Stationary { distance, .. } => *distance,
        other => panic!("{other:?}"),
    };
    for name in [
        "matern32",
        "matern52",
        "squared_exponential",
        "rational_quadratic",
    ] {
        let resolved = process(name, "great_circle", "").unwrap();
        assert_eq!(distance(&resolved), Distance::Chord, "{name}");
        assert!(resolved.notes[0].contains("chord"), "{:?}", resolved.notes);
    }
    let resolved = process("exponential", "great_circle", "").unwrap();
    assert_eq!(distance(&resolved), Distance::GreatCircle);
    assert!(resolved.notes.is_empty(), "{:?}", resolved.notes);
    let halves = process(
        "powered_exponential",
        "great_circle",
        "gp_power = \"uniform(0, 1)\"",
    );
    assert_eq!(distance(&halves.unwrap()), Distance::GreatCircle);
    let whole = process("powered_exponential", "great_circle", "").unwrap();
    assert_eq!(distance(&whole), Distance::Chord);
    assert_eq!(
        distance(&process("exponential", "chord", "").unwrap()),
        Distance::Chord
    );
    for wrong in [
        "exponential(lon)",
        "exponential(lat, lon)",
        "exponential_ard",
    ] {
        let text = said(process(wrong, "great_circle", ""));
        assert!(
            text.starts_with("gp.covariance") && text.contains("on the Earth"),
            "{text}"
        );
    }
}

#[test]
fn priors_without_mass_where_the_parameter_lies_are_refused_at_once() {
    for (prior, words) in [
        ("gp_power = \"uniform(3, 4)\"", "no mass between 0 and 2"),
        (
            "gp_power = \"half_normal_above(2, 1)\"",
            "no mass between 0 and 2",
        ),
        ("gp_length = \"log_normal(800, 1)\"", "next to no mass"),
        ("gp_length = \"log_normal(-800, 1)\"", "next to no mass"),
        ("gp_sd = \"uniform(-2, -1)\"", "no mass above zero"),
    ] {
        let text = said(process("powered_exponential", "euclidean", prior));
        assert!(text.contains(words) && text.contains("gp_"), "{text}");
    }
    for shape in ["0", "-1", "1e300", "1e-300", "x"] {
        let text = said(with_priors(
            "y ~ (x | site)",
            &format!("cor = \"lkj({shape})\""),
        ));
        assert!(text.contains("lkj(2)"), "{text}");
    }
    // Cut off, but with mass inside, is what a user may want.
    process(
        "powered_exponential",
        "euclidean",
        "gp_power = \"half_normal(1)\"",
    )
    .unwrap();
}

fn prior_of(resolved: &Resolved, name: &str) -> String {
    let chosen = resolved.chosen.iter().find(|chosen| chosen.name == name);
    chosen.unwrap_or_else(|| panic!("{name}")).prior.clone()
}

#[test]
fn slopes_of_a_factors_level_are_judged_as_its_fixed_effect_is() {
    let mut rare = String::from("y,f,g\n");
    for k in 0..100 {
        rare += &format!(
            "{},{},g{}\n",
            k % 3,
            if k % 25 == 0 { "b" } else { "a" },
            k % 7
        );
    }
    let resolved = resolve("family = \"poisson\"\nformula = \"y ~ f + (f | g)\"", &rare).unwrap();
    assert_eq!(prior_of(&resolved, "fb"), "normal(0, 2.5)");
    assert_eq!(prior_of(&resolved, "sd_g"), "half_student_t(3, 2.5)");
    assert_eq!(prior_of(&resolved, "sd_g_fb"), "half_student_t(3, 2.5)");
}

#[test]
fn a_prior_of_the_groups_scale_does_not_fall_on_slopes() {
    let resolved = with_priors("y ~ x + (w | site)", "sd_site = \"exponential(7)\"").unwrap();
    assert_eq!(prior_of(&resolved, "sd_site"), "exponential(7)");
    assert!(prior_of(&resolved, "sd_site_w").starts_with("half_student_t"));
    let resolved = with_priors("y ~ x + (w | site)", "sd = \"exponential(7)\"").unwrap();
    assert_eq!(prior_of(&resolved, "sd_site_w"), "exponential(7)");
    let text = said(with_priors(
        "y ~ x + (0 + w | site)",
        "sd_site = \"exponential(7)\"",
    ));
    assert!(
        text.contains("no such parameter") && text.contains("sd_site_w"),
        "{text}"
    );
}

#[test]
fn pc_range_is_about_the_range_of_its_authors_which_is_two_lengths() {
    let resolved = process(
        "matern32",
        "euclidean",
        "gp_length = \"pc_range(10, 0.05)\"",
    )
    .unwrap();
    let process = resolved.parts.process.as_ref().unwrap();
    let Covariance::Stationary { ranges, .. } = &process.covariance else {
        panic!()
    };
    let Value::Free(parameter) = &ranges[0] else {
        panic!()
    };
    // P(2 length < 10) = 0.05, by the integral of the density below 5.
    let steps = 200_000;
    let below: f64 = (0..steps)
        .map(|k| 5.0 * (f64::from(k) + 0.5) / f64::from(steps))
        .map(|length| parameter.prior.log_density(length).exp() * 5.0 / f64::from(steps))
        .sum();
    assert!((below - 0.05).abs() < 1e-6, "{below}");
    let chosen = resolved
        .chosen
        .iter()
        .find(|c| c.name == "gp_length")
        .unwrap();
    assert_eq!(chosen.prior, "pc_range(10, 0.05)");
    assert!(chosen.why.contains("2 times the length"), "{}", chosen.why);
}

#[test]
fn columns_that_factors_make_redundant_are_left_out_with_a_note() {
    let resolved = formula("y ~ f:h").unwrap();
    assert_eq!(resolved.parts.fixed.len(), 6);
    assert!(
        resolved.notes[0].contains("`fc:hq`") && resolved.notes[0].contains("left out, as R does"),
        "{:?}",
        resolved.notes
    );
    // A combination that no row has.
    let data = "y,a,b\n1,u,p\n2,u,q\n0,v,p\n3,v,p\n2,u,q\n";
    let resolved = resolve("family = \"poisson\"\nformula = \"y ~ a*b\"", data).unwrap();
    assert_eq!(resolved.parts.fixed.names, ["Intercept", "av", "bq"]);
    assert!(
        resolved.notes[0].contains("zero in every row"),
        "{:?}",
        resolved.notes
    );
    let new = Table::parse("n.csv", "a,b\nv,q\n").unwrap();
    assert_eq!(resolved.rows(&new).unwrap().0.fixed, [[1.0], [1.0], [1.0]]);
}

#[test]
fn new_rows_have_the_fitted_basis() {
    let whole = Table::parse("d.csv", &data()).unwrap();
    for term in [
        "poly(x, 3)",
        "poly(x, 2, raw = TRUE)",
        "ns(x, 3)",
        "ns(w, knots = c(2.5, 3), Boundary.knots = c(2, 4))",
        "bs(x, df = 5)",
        "bs(w, degree = 2)",
        "relevel(f, ref = \"b\")",
        "relevel(factor(year), 2)",
        "C(f, contr.sum)",
        "C(factor(year), contr.helmert)",
        "C(f, \"contr.poly\")",
        "C(f, contr.treatment, base = 3)",
        "factor(f, levels = c(\"c\", \"b\", \"a\"))",
        "log(w, 2)",
        "scale(w):f",
    ] {
        let resolved = formula(&format!("y ~ {term}")).unwrap_or_else(|e| panic!("{term}: {e}"));
        assert!(resolved.parts.fixed.len() > 1, "{term}");
        // Two rows alone are coded as they are among all.
        let lines: Vec<String> = data().lines().map(String::from).collect();
        let two = [0, 20, 31].map(|k| lines[k].clone()).join("\n");
        let new = Table::parse("n.csv", &two).unwrap();
        let rows = resolved.rows(&new).unwrap().0.fixed;
        for (few, all) in rows.iter().zip(&resolved.parts.fixed.columns) {
            assert_eq!(few[..], [all[19], all[30]], "{term}");
        }
        assert_eq!(
            resolved.rows(&whole).unwrap().0.fixed,
            resolved.parts.fixed.columns
        );
    }
}

#[test]
fn mistakes_in_functions_of_r_are_pointed_at() {
    for (term, words) in [
        ("poly(x, 60)", "from 1 to"),
        ("poly(x, 2, rw = TRUE)", "did you mean `raw`?"),
        ("poly(f, 2)", "not a number"),
        ("ns(x, df = 3, knots = 1)", "not both"),
        ("ns(x, knots = c(0, 9))", "inside the ends"),
        ("bs(year, df = 30)", "give fewer"),
        ("bs(x, 1)", "from 3 to"),
        ("relevel(f, ref = \"d\")", "none of the levels"),
        ("relevel(f, 4)", "from 1 to 3"),
        ("C(f, contr.som)", "did you mean `contr.sum`?"),
        ("C(f)", "needs its argument `contr`"),
        (
            "factor(f, levels = c(\"a\", \"b\"))",
            "not among the levels given",
        ),
        ("factor(x + 1)", "a column is needed"),
        ("exp(poly(x, 2))", "term of its own"),
    ] {
        let text = said(formula(&format!("y ~ {term}")));
        assert!(text.contains(words), "{term}: {text}");
    }
}

#[test]
fn a_point_stands_for_the_columns_that_are_not_used_otherwise() {
    let text =
        "y,x,f,t,g\n1,0.5,a,1,u\n0,1.5,b,2,v\n4,2.5,a,1,u\n2,4.5,b,3,v\n3,3,a,2,w\n1,2.5,b,1,w\n";
    let resolved = resolve(
        "family = \"poisson\"\nformula = \"y ~ . + offset(log(t)) + (1 | g)\"",
        text,
    );
    let resolved = resolved.unwrap();
    assert_eq!(resolved.parts.fixed.names, ["Intercept", "x", "fb"]);
    assert_eq!(resolved.notes[0], "`.` stands for x + f");
    let crossed = resolve(
        "family = \"poisson\"\nformula = \"y ~ .^2 - t - g - f:t - f:g - x:t - x:g - t:g\"",
        text,
    );
    assert_eq!(
        crossed.unwrap().parts.fixed.names,
        ["Intercept", "x", "fb", "x:fb"]
    );
}

#[test]
fn classes_are_called_by_their_names_and_references_are_known() {
    let data = "kind,x,f\nred,1,a\nblue,2,b\ngreen,3,a\nred,1.5,b\nblue,2.5,a\n";
    let resolved = resolve("family = \"softmax\"\nformula = \"kind ~ x + f\"", data).unwrap();
    let names: Vec<String> = resolved
        .parts
        .build()
        .unwrap()
        .columns()
        .into_iter()
        .map(|column| column.name)
        .collect();
    assert!(
        names.contains(&"x.blue".to_string()) && names.contains(&"fb.red".to_string()),
        "{names:?}"
    );
    assert_eq!(resolved.references, [("f".to_string(), "a".to_string())]);
    let resolved = formula("y ~ relevel(f, \"c\") + C(h, contr.sum) + (x | site)").unwrap();
    assert_eq!(
        resolved.references[0],
        ("relevel(f,\"c\")".into(), "c".into())
    );
    assert_eq!(resolved.references[1].1, "the mean of all levels");
}

#[test]
fn a_slip_in_a_column_of_numbers_is_refused_by_line_and_value() {
    let slip = data().replacen("0.0000", "O.0000", 1);
    let text = refusal("family = \"poisson\"\nformula = \"y ~ x\"", &slip);
    assert!(text.starts_with("d.csv, line 2: `x` is `O.0000`"), "{text}");
    let meant = "family = \"poisson\"\nformula = \"y ~ (1 | x)\"";
    let resolved = resolve(meant, &slip).unwrap();
    assert!(
        resolved.notes[0].contains("`O.0000`"),
        "{:?}",
        resolved.notes
    );
    // Responses too.
    let text = refusal(
        "family = \"softmax\"\nformula = \"y ~ 1\"",
        &data().replacen("\n3,", "\n3O,", 1),
    );
    assert!(text.contains("`y` is `3O`"), "{text}");
}

#[test]
fn no_prior_is_shown_with_a_minus_before_zero() {
    let data = "y,x\n1,0\n1,1\n1,2\n0,3\n1,1\n";
    let resolved = resolve("family = \"poisson\"\nformula = \"y ~ x\"", data).unwrap();
    assert_eq!(prior_of(&resolved, "Intercept"), "normal(0, 5)");
}
