//! Colours for values: viridis, whose lightness rises evenly, so that it also reads in grey; for signed values blue and
//! red, with white at zero.

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

/// Blue over white to red at nine even steps (ColorBrewer's RdBu, which colour-blind readers can tell apart).
const SIGNED: [[u8; 3]; 9] = [
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
];

/// The colour of a part between 0 and 1; for signed values zero is in the middle.
pub fn colour(part: f64, signed: bool) -> RGBColor {
    let steps = if signed { SIGNED } else { VIRIDIS };
    let at = part.clamp(0.0, 1.0) * (steps.len() - 1) as f64;
    let below = (at.floor() as usize).min(steps.len() - 2);
    let weight = at - below as f64;
    let mix = |k: usize| {
        let (a, b) = (f64::from(steps[below][k]), f64::from(steps[below + 1][k]));
        (a + weight * (b - a)).round() as u8
    };
    RGBColor(mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_dark_and_light_and_nothing_is_beyond() {
        assert_eq!(colour(-1.0, false), RGBColor(68, 1, 84));
        assert_eq!(colour(2.0, false), RGBColor(253, 231, 37));
        assert_eq!(colour(0.5, true), RGBColor(247, 247, 247));
    }
}
