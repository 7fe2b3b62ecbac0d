//! Estimates as people write them: no more digits than the standard error supports.

use super::result::Estimate;

/// What stands where there is no value.
pub const NONE: &str = "–";

/// An estimate with its standard error, as in "78.8 ± 0.3" or "339 ± 15".
pub fn estimate(estimate: Estimate) -> String {
    with_decimals(estimate, 9)
}

/// A rate as a percentage with its standard error, to a hundredth of a per cent at most: that is how precise
/// the values are that it is compared with, and the table must fit a terminal.
pub fn percentage(rate: Estimate) -> String {
    let percentage = Estimate {
        value: 100.0 * rate.value,
        se: 100.0 * rate.se,
    };
    with_decimals(percentage, 2)
}

fn with_decimals(Estimate { value, se }: Estimate, most: usize) -> String {
    if !(value.is_finite() && se.is_finite() && se > 0.0) {
        return format!("{} ± ?", number(value, 2));
    }
    let decimals = decimals(se).min(most);
    format!("{} ± {se:.decimals$}", number(value, decimals))
}

/// A standard score with its sign.
pub fn score(z: Option<f64>) -> String {
    match z {
        Some(z) if z.is_finite() => format!("{z:+.1}").replace('-', "−"),
        Some(_) => "?".to_owned(),
        None => NONE.to_owned(),
    }
}

/// A number with a true minus sign.
pub fn number(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

/// Decimals that show one digit of a standard error, or two when the first is 1: 0.3, 0.15, 15.
fn decimals(se: f64) -> usize {
    let exponent = se.log10().floor();
    let leading = se / 10f64.powf(exponent);
    let digits = if leading < 1.95 { 1.0 } else { 0.0 };
    (digits - exponent).clamp(0.0, 9.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_standard_error() {
        let show = |value, se| estimate(Estimate { value, se });
        assert_eq!(show(78.812, 0.31), "78.8 ± 0.3");
        assert_eq!(show(339.4, 15.2), "339 ± 15");
        assert_eq!(show(5.0382, 0.0071), "5.038 ± 0.007");
        assert_eq!(show(7.5384, 0.0123), "7.538 ± 0.012");
        assert_eq!(show(249.2, 1.5), "249.2 ± 1.5");
    }

    #[test]
    fn percentages_have_two_decimals_at_most() {
        let show = |value, se| percentage(Estimate { value, se });
        assert_eq!(show(0.861_97, 0.000_091), "86.20 ± 0.01");
        assert_eq!(show(0.867, 0.006), "86.7 ± 0.6");
    }

    #[test]
    fn a_missing_standard_error_is_said_not_hidden() {
        let unknown = Estimate {
            value: 3.0,
            se: f64::NAN,
        };
        assert_eq!(estimate(unknown), "3.00 ± ?");
        assert_eq!(score(Some(f64::NAN)), "?");
        assert_eq!(score(None), NONE);
    }

    #[test]
    fn scores_carry_a_sign() {
        assert_eq!(score(Some(1.26)), "+1.3");
        assert_eq!(score(Some(-0.72)), "−0.7");
    }
}
