//! Observed and replicated data in one picture: their distribution, and how many intervals hold, by group.

use crate::paper::figures::canvas::Scene;
use crate::paper::figures::style::{AXIS, BLUE, GRID, INK, VERMILION, bold, px, text, tick, width};
use crate::posterior::Posterior;
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

/// The most bars of counts: more are grouped.
const BARS: usize = 40;
/// Points of a density.
const POINTS: usize = 200;
/// Replicated densities that are drawn.
const SHOWN: usize = 40;
/// The most groups whose coverage is drawn.
const GROUPS: usize = 60;
/// Replicated responses so many times larger than the observed are drawn by their digits.
const FAR: f64 = 100.0;
/// The level of the intervals.
const LEVEL: f64 = 0.9;

/// The picture of a check.
pub struct Picture {
    title: String,
    about: String,
    left: Left,
    /// The share of each group's observations inside their intervals, and where it should lie nine times in ten.
    coverage: Vec<(String, f64, [f64; 2])>,
    /// The share of all of them.
    overall: f64,
}

enum Left {
    /// Roots of frequencies: of the data, and the 5 %, 50 % and 95 % quantiles of the replicated.
    Rootogram(Vec<(f64, f64, [f64; 3])>),
    /// Densities: of what, places, of the data, of some replicated data.
    Densities(&'static str, Vec<f64>, Vec<f64>, Vec<Vec<f64>>),
}

impl Picture {
    /// Of data like those of a fit.
    pub fn new(posterior: &Posterior, copies: &[Vec<f64>], what: &str) -> Self {
        let observed = posterior.predictor.model().response();
        let left = left(observed, copies);
        let (inside, should): (Vec<bool>, Vec<f64>) = (0..observed.len())
            .map(|row| holds(observed, copies, row))
            .unzip();
        let share = |rows: &[usize]| {
            let held = rows.iter().filter(|row| inside[**row]).count();
            held as f64 / rows.len().max(1) as f64
        };
        let range = |rows: &[usize]| {
            let n = rows.len().max(1) as f64;
            let mean = rows.iter().map(|row| should[*row]).sum::<f64>() / n;
            let variance: f64 = rows
                .iter()
                .map(|row| should[*row] * (1.0 - should[*row]))
                .sum();
            let spread = 1.645 * variance.sqrt() / n;
            [(mean - spread).max(0.0), (mean + spread).min(1.0)]
        };
        let all: Vec<usize> = (0..observed.len()).collect();
        let mut coverage = Vec::new();
        if let Some(grouping) = posterior.resolved.parts.groupings.first()
            && grouping.levels.len() <= GROUPS
        {
            for (k, level) in grouping.levels.iter().enumerate() {
                let rows: Vec<usize> = all
                    .iter()
                    .copied()
                    .filter(|r| grouping.group[*r] == k)
                    .collect();
                if !rows.is_empty() {
                    coverage.push((level.clone(), share(&rows), range(&rows)));
                }
            }
        } else {
            // Tenths of the observations in the order of what is expected of them.
            let mut order = all.clone();
            let mean = |row: usize| copies.iter().map(|data| data[row]).sum::<f64>();
            order.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)));
            for (k, rows) in order.chunks(order.len().div_ceil(10).max(1)).enumerate() {
                coverage.push((format!("tenth {}", k + 1), share(rows), range(rows)));
            }
        }
        Self {
            title: format!("Observed data, and {what}"),
            about: format!(
                "{} observations; {} replicated data sets",
                observed.len(),
                copies.len()
            ),
            left,
            coverage,
            overall: share(&all),
        }
    }
}

/// What is drawn of the distribution of all responses.
fn left(observed: &[f64], copies: &[Vec<f64>]) -> Left {
    let mut sizes: Vec<f64> = copies.iter().flatten().map(|y| y.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let most = sizes[(0.95 * (sizes.len() - 1) as f64) as usize];
    let own = observed.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
    // Priors without a scale make numbers of every size: only their digits can be drawn.
    if most.is_nan() || most > FAR * (own + 1.0) {
        let digits = |y: &f64| y.signum() * (1.0 + y.abs().min(f64::MAX)).log10();
        let of = |data: &[f64]| data.iter().map(digits).collect::<Vec<f64>>();
        let copies: Vec<Vec<f64>> = copies.iter().map(|data| of(data)).collect();
        return densities("log10(1 + y)", &of(observed), &copies);
    }
    let mut all = observed.iter().chain(copies.iter().flatten());
    if all.all(|y| y.fract() == 0.0) {
        rootogram(observed, copies)
    } else {
        densities("y", observed, copies)
    }
}

/// Whether an observation lies in the interval of its replicates, and how often it should: of whole numbers, an interval
/// holds more than it must.
fn holds(observed: &[f64], copies: &[Vec<f64>], row: usize) -> (bool, f64) {
    let mut values: Vec<f64> = copies.iter().map(|data| data[row]).collect();
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[(p * (values.len() - 1) as f64).round() as usize];
    let tail = 0.5 * (1.0 - LEVEL);
    let inside = |y: f64| y >= at(tail) && y <= at(1.0 - tail);
    let held = values.iter().filter(|y| inside(**y)).count();
    (inside(observed[row]), held as f64 / values.len() as f64)
}

fn rootogram(observed: &[f64], copies: &[Vec<f64>]) -> Left {
    let mut all: Vec<f64> = copies.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    // The few largest replicated counts may be far out.
    let top = all[((all.len() - 1) as f64 * 0.999) as usize];
    let top = observed.iter().copied().fold(top, f64::max);
    let low = observed.iter().copied().fold(all[0], f64::min);
    let step = ((top - low + 1.0) / BARS as f64).ceil().max(1.0);
    let bars = ((top - low + 1.0) / step).ceil() as usize;
    let count = |data: &[f64]| {
        let mut counts = vec![0.0; bars];
        for y in data {
            let bar = ((y - low) / step) as usize;
            if bar < bars {
                counts[bar] += 1.0;
            }
        }
        counts
    };
    let own = count(observed);
    let others: Vec<Vec<f64>> = copies.iter().map(|data| count(data)).collect();
    let one = |bar: usize| {
        let mut values: Vec<f64> = others.iter().map(|counts| counts[bar]).collect();
        values.sort_by(f64::total_cmp);
        let at = |p: f64| values[(p * (values.len() - 1) as f64).round() as usize].sqrt();
        let middle = low + step * (bar as f64 + 0.5) - 0.5;
        (middle, own[bar].sqrt(), [at(0.05), at(0.5), at(0.95)])
    };
    Left::Rootogram((0..bars).map(one).collect())
}

fn densities(of_what: &'static str, observed: &[f64], copies: &[Vec<f64>]) -> Left {
    let mut all: Vec<f64> = copies.iter().take(SHOWN).flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let at = |p: f64| all[((all.len() - 1) as f64 * p) as usize];
    let low = observed.iter().copied().fold(at(0.005), f64::min);
    let high = observed.iter().copied().fold(at(0.995), f64::max);
    let margin = 0.05 * (high - low).max(1e-12);
    let (low, high) = (low - margin, high + margin);
    let places: Vec<f64> = (0..POINTS)
        .map(|k| low + (high - low) * k as f64 / (POINTS - 1) as f64)
        .collect();
    let of = |data: &[f64]| {
        let n = data.len() as f64;
        let mean = data.iter().sum::<f64>() / n;
        let sd = (data.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n).sqrt();
        // Silverman's rule.
        let h = (1.06 * sd * n.powf(-0.2)).max(1e-12);
        let density = |x: &f64| {
            let sum: f64 = data
                .iter()
                .map(|y| (-0.5 * ((x - y) / h).powi(2)).exp())
                .sum();
            sum / (n * h * 2.506_628_274_631)
        };
        places.iter().map(density).collect::<Vec<f64>>()
    };
    let own = of(observed);
    let others = copies.iter().take(SHOWN).map(|data| of(data)).collect();
    Left::Densities(of_what, places, own, others)
}

impl Scene for Picture {
    fn size(&self) -> (u32, u32) {
        (880, 400)
    }

    fn description(&self) -> String {
        format!("{} ({})", self.title, self.about)
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        area.draw_text(&self.title, &bold(16.0, INK), (px(24.0), px(26.0)))?;
        area.draw_text(&self.about, &text(12.0, AXIS), (px(24.0), px(48.0)))?;
        let whole = area
            .clone()
            .shrink((px(16.0), px(64.0)), (px(850.0) as u32, px(326.0) as u32));
        let (left, right) = whole.split_horizontally(px(430.0));
        self.draw_left(&left)?;
        self.draw_coverage(&right)
    }
}

impl Picture {
    fn draw_left<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let (caption, x, top) = match &self.left {
            Left::Rootogram(bars) => {
                let half = if bars.len() > 1 {
                    0.5 * (bars[1].0 - bars[0].0)
                } else {
                    0.5
                };
                let ends = (bars[0].0 - half, bars[bars.len() - 1].0 + half);
                let top = bars.iter().map(|b| b.1.max(b.2[2])).fold(0.0, f64::max);
                (
                    "√ of how often each value occurs: bars observed, lines 90 % of replicated"
                        .to_owned(),
                    ends,
                    top,
                )
            }
            Left::Densities(of_what, places, own, others) => {
                let top = own
                    .iter()
                    .chain(others.iter().flatten())
                    .copied()
                    .fold(0.0, f64::max);
                (
                    format!("densities of {of_what}: dark observed, light replicated"),
                    (places[0], places[places.len() - 1]),
                    top,
                )
            }
        };
        area.draw_text(&caption, &text(12.0, INK), (px(8.0), px(8.0)))?;
        let mut chart = ChartBuilder::on(area)
            .margin_top(px(20.0))
            .margin_right(px(12.0))
            .set_label_area_size(LabelAreaPosition::Left, px(44.0))
            .set_label_area_size(LabelAreaPosition::Bottom, px(30.0))
            .build_cartesian_2d(x.0..x.1, 0.0..1.06 * top.max(1e-9))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(text(11.0, AXIS))
            .draw()?;
        match &self.left {
            Left::Rootogram(bars) => {
                let half = if bars.len() > 1 {
                    0.4 * (bars[1].0 - bars[0].0)
                } else {
                    0.4
                };
                chart.draw_series(bars.iter().map(|(at, own, _)| {
                    Rectangle::new(
                        [(at - half, 0.0), (at + half, *own)],
                        BLUE.mix(0.55).filled(),
                    )
                }))?;
                let line = VERMILION.stroke_width(width(1.6));
                chart.draw_series(bars.iter().map(|(at, _, [low, _, high])| {
                    PathElement::new([(*at, *low), (*at, *high)], line)
                }))?;
                chart.draw_series(bars.iter().map(|(at, _, [_, middle, _])| {
                    Circle::new((*at, *middle), px(2.2), VERMILION.filled())
                }))?;
            }
            Left::Densities(_, places, own, others) => {
                for other in others {
                    let line = places.iter().copied().zip(other.iter().copied());
                    chart.draw_series(LineSeries::new(
                        line,
                        VERMILION.mix(0.25).stroke_width(width(0.8)),
                    ))?;
                }
                let line = places.iter().copied().zip(own.iter().copied());
                chart.draw_series(LineSeries::new(line, BLUE.stroke_width(width(2.2))))?;
            }
        }
        Ok(())
    }

    fn draw_coverage<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let caption = format!(
            "share inside 90 % intervals, by group: {:.0} % of all; grey: as it should be",
            100.0 * self.overall
        );
        area.draw_text(&caption, &text(12.0, INK), (px(8.0), px(8.0)))?;
        let count = self.coverage.len() as f64;
        let mut chart = ChartBuilder::on(area)
            .margin_top(px(20.0))
            .margin_right(px(8.0))
            .set_label_area_size(LabelAreaPosition::Left, px(44.0))
            .set_label_area_size(LabelAreaPosition::Bottom, px(30.0))
            .build_cartesian_2d(-0.5..count - 0.5, 0.0..1.05)?;
        let few = self.coverage.len() <= 8;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(if few { self.coverage.len() * 2 } else { 0 })
            .y_labels(6)
            .x_label_formatter(&|x| {
                let at = x.round();
                if (x - at).abs() > 0.01 || at < 0.0 || at >= count {
                    return String::new();
                }
                self.coverage[at as usize].0.chars().take(10).collect()
            })
            .y_label_formatter(&|y| format!("{:.0} %", 100.0 * y))
            .label_style(text(11.0, AXIS))
            .draw()?;
        chart.draw_series(
            self.coverage
                .iter()
                .enumerate()
                .map(|(k, (_, _, [low, high]))| {
                    let x = k as f64;
                    Rectangle::new([(x - 0.4, *low), (x + 0.4, *high)], GRID.mix(0.8).filled())
                }),
        )?;
        chart.draw_series(
            self.coverage
                .iter()
                .enumerate()
                .map(|(k, (_, share, _))| Circle::new((k as f64, *share), px(2.8), BLUE.filled())),
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use towline::Rng;

    /// Counts with mean 3, by cumulated probabilities.
    fn poisson(mean: f64, rng: &mut Rng) -> f64 {
        let (mut k, mut p, u) = (0.0, (-mean).exp(), rng.uniform());
        let mut sum = p;
        while u > sum && k < 1000.0 {
            k += 1.0;
            p *= mean / k;
            sum += p;
        }
        k
    }

    fn outside(left: &Left) -> usize {
        let Left::Rootogram(bars) = left else {
            panic!("counts have a rootogram")
        };
        let is_out = |(_, own, [low, _, high]): &&(f64, f64, [f64; 3])| own < low || own > high;
        bars.iter().filter(is_out).count()
    }

    #[test]
    fn counts_that_a_model_does_not_make_stand_out_of_their_bars() {
        let mut rng = Rng::stream(3, 0);
        let copies: Vec<Vec<f64>> = (0..200)
            .map(|_| (0..300).map(|_| poisson(3.0, &mut rng)).collect())
            .collect();
        let same: Vec<f64> = (0..300).map(|_| poisson(3.0, &mut rng)).collect();
        // The mean of each varies as an exponential number does: a negative binomial.
        let wild: Vec<f64> = (0..300)
            .map(|_| poisson(-3.0 * rng.uniform().ln(), &mut rng))
            .collect();
        assert!(outside(&rootogram(&same, &copies)) <= 3);
        assert!(outside(&rootogram(&wild, &copies)) >= 6);
        // Counts of every size, and none at all: their digits are drawn.
        let vast = vec![vec![0.0, 1e30, f64::INFINITY]; 20];
        let Left::Densities(of, places, _, _) = left(&[1.0, 2.0], &vast) else {
            panic!("a rootogram of 1e30")
        };
        assert!(of.contains("log10") && places.iter().all(|x| x.is_finite()));
    }
}
