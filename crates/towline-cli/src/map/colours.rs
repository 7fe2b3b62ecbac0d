//! Colours for values: viridis, whose lightness rises evenly, so that it also reads in grey.

use plotters::style::RGBColor;

/// Viridis at nine even steps.
const VIRIDIS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 74, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [253, 231, 37],
];

/// The colour of a part between 0 and 1.
pub fn colour(part: f64) -> RGBColor {
    let at = part.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (at.floor() as usize).min(VIRIDIS.len() - 2);
    let weight = at - below as f64;
    let mix = |k: usize| {
        let (a, b) = (
            f64::from(VIRIDIS[below][k]),
            f64::from(VIRIDIS[below + 1][k]),
        );
        (a + weight * (b - a)).round() as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_dark_and_light_and_nothing_is_beyond() {
        assert_eq!(colour(-1.0), RGBColor(68, 1, 84));
        assert_eq!(colour(2.0), RGBColor(253, 231, 37));
        assert_eq!(colour(f64::NAN), colour(f64::NAN));
    }
}
