//! Traces of several chains in a few lines of text: dots of Braille, two columns and four rows to a character.

/// Where the dots of a character are, by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
/// The colours of chains in a terminal: all are seen on light and dark ground.
const COLOURS: [u8; 6] = [34, 33, 35, 32, 31, 36];

/// Draws traces into `lines` lines of `width` characters. All chains have the same scale.
pub fn draw(chains: &[Vec<f64>], width: usize, lines: usize, coloured: bool) -> Vec<String> {
    let finite = || chains.iter().flatten().copied().filter(|v| v.is_finite());
    let (low, high) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    let mut dots = vec![vec![(0u8, 0usize); width]; lines];
    let height = 4 * lines;
    let longest = chains.iter().map(Vec::len).max().unwrap_or(0);
    if low <= high && longest > 0 && width > 0 {
        let range = if high > low { high - low } else { 1.0 };
        for (k, chain) in chains.iter().enumerate() {
            let mut before: Option<usize> = None;
            for column in 0..2 * width {
                // The oldest on the left; few draws are spread over the whole width.
                let at = column * longest / (2 * width);
                let Some(value) = chain.get(at).filter(|v| v.is_finite()) else {
                    continue;
                };
                let share = if high > low {
                    (value - low) / range
                } else {
                    0.5
                };
                let row = ((1.0 - share) * (height - 1) as f64).round() as usize;
                // A line from the last dot, so that jumps are seen.
                let (from, to) = before.map_or((row, row), |b| (b.min(row), b.max(row)));
                for row in from..=to {
                    let cell = &mut dots[row / 4][column / 2];
                    *cell = (cell.0 | DOTS[column % 2][row % 4], k);
                }
                before = Some(row);
            }
        }
    }
    dots.iter().map(|line| text(line, coloured)).collect()
}

fn text(line: &[(u8, usize)], coloured: bool) -> String {
    let mut out = String::new();
    let mut colour = None;
    for &(dots, chain) in line {
        if coloured && dots > 0 && colour != Some(chain) {
            out += &format!("\x1b[{}m", COLOURS[chain % COLOURS.len()]);
            colour = Some(chain);
        }
        out.push(char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '));
    }
    if colour.is_some() {
        out += "\x1b[0m";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_line_goes_from_the_lowest_dot_to_the_highest() {
        let rising: Vec<f64> = (0..8).map(f64::from).collect();
        let seen = draw(&[rising], 4, 2, false);
        assert_eq!(seen, ["⠀⠀⣠⠞", "⣠⠞⠁⠀"]);
    }

    #[test]
    fn constant_short_and_broken_chains_are_drawn_all_the_same() {
        let wide = |chains: &[Vec<f64>]| {
            let lines = draw(chains, 5, 2, true);
            lines
                .iter()
                .map(|l| console::measure_text_width(l))
                .collect::<Vec<_>>()
        };
        for chains in [
            vec![],
            vec![vec![]],
            vec![vec![1.0; 3], vec![1.0]],
            vec![vec![f64::NAN, 2.0, f64::INFINITY], vec![3.0, 1.0]],
        ] {
            assert_eq!(wide(&chains), [5, 5], "{chains:?}");
        }
    }
}
