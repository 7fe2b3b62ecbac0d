//! Priors as text: `normal(0, 2.5)`, written and read.

use super::Prior;
use crate::error::Error;
use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

/// A family's name and arguments, in the order in which they are written.
pub(super) struct Form {
    pub name: &'static str,
    pub arguments: &'static [&'static str],
}

/// One line for each family: its name, its variant and its arguments.
macro_rules! families {
    ($($name:literal $variant:ident ($($argument:ident),+);)+) => {
        /// Every family.
        pub(super) const FORMS: &[Form] = &[
            $(Form { name: $name, arguments: &[$(stringify!($argument)),+] }),+
        ];

        impl Prior {
            /// The family and the values of its arguments.
            pub(super) fn parts(&self) -> (&'static Form, Vec<f64>) {
                let (name, values) = match *self {
                    $(Self::$variant { $($argument),+ } => ($name, vec![$($argument),+]),)+
                };
                let form = FORMS.iter().find(|form| form.name == name);
                (form.expect("every family is in the list"), values)
            }

            /// The prior of this name with these values; as many as the family has arguments.
            pub(super) fn from_parts(name: &str, values: &[f64]) -> Option<Self> {
                match name {
                    $($name => {
                        let mut values = values.iter().copied();
                        Some(Self::$variant { $($argument: values.next()?),+ })
                    })+
                    _ => None,
                }
            }
        }
    };
}

families! {
    "normal" Normal(mean, sd);
    "log_normal" LogNormal(log_mean, log_sd);
    "half_normal" HalfNormal(scale);
    "half_normal_above" HalfNormalAbove(lower, scale);
    "half_normal_below" HalfNormalBelow(upper, scale);
    "student_t" StudentT(df, location, scale);
    "half_student_t" HalfStudentT(df, scale);
    "cauchy" Cauchy(location, scale);
    "half_cauchy" HalfCauchy(scale);
    "exponential" Exponential(rate);
    "gamma" Gamma(shape, rate);
    "inverse_gamma" InverseGamma(shape, scale);
    "beta" Beta(a, b);
    "uniform" Uniform(lower, upper);
    "uniform_wide" UniformWide(lower, upper, width);
    "uniform_periodic" UniformPeriodic(lower, upper);
    "pc_sd" PcSd(u, alpha);
    "pc_range" PcRange(u, alpha);
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.name, self.arguments.join(", "))
    }
}

impl fmt::Display for Prior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (form, values) = self.parts();
        write!(f, "{}(", form.name)?;
        for (k, value) in values.iter().enumerate() {
            let comma = if k > 0 { ", " } else { "" };
            let size = value.abs();
            if size != 0.0 && !(1e-5..1e15).contains(&size) {
                write!(f, "{comma}{value:e}")?;
            } else {
                write!(f, "{comma}{value}")?;
            }
        }
        write!(f, ")")
    }
}

/// The same without what people vary: case, and how words are joined.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '_' | '-') && !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect()
}

/// A number, or a multiple of pi such as `pi`, `-pi` or `2pi`.
fn number(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let times = text.strip_suffix("pi").or_else(|| text.strip_suffix("π"))?;
    let times = times.trim_end().trim_end_matches('*').trim_end();
    match times {
        "" | "+" => Some(PI),
        "-" => Some(-PI),
        _ => times.parse::<f64>().ok().map(|times| times * PI),
    }
}

impl FromStr for Prior {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Prior {
            prior: text.trim().to_string(),
            reason,
        };
        let accepted = || {
            let forms: Vec<String> = FORMS.iter().map(Form::to_string).collect();
            forms.join(", ")
        };
        let (name, rest) = text
            .split_once('(')
            .ok_or_else(|| refuse(format!("write one of {}", accepted())))?;
        let form = FORMS
            .iter()
            .find(|form| plain(form.name) == plain(name))
            .ok_or_else(|| {
                refuse(format!(
                    "there is no family `{}`; write one of {}",
                    name.trim(),
                    accepted()
                ))
            })?;
        let inside = rest
            .trim_end()
            .strip_suffix(')')
            .ok_or_else(|| refuse(format!("it does not end with `)`; write {form}")))?;
        let mut values = Vec::new();
        for argument in inside.split(',').map(str::trim) {
            let value = number(argument)
                .ok_or_else(|| refuse(format!("`{argument}` is not a number; write {form}")))?;
            values.push(value);
        }
        if values.len() != form.arguments.len() {
            return Err(refuse(format!(
                "it has {} arguments, but {form} has {}",
                values.len(),
                form.arguments.len()
            )));
        }
        let prior = Self::from_parts(form.name, &values).expect("as many values as arguments");
        prior.validate()?;
        Ok(prior)
    }
}
