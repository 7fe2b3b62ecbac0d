//! Two maps side by side, the mean and the standard deviation, each with its scale and the places of the data.

use super::colours::colour;
use crate::paper::figures::canvas::Scene;
use crate::paper::figures::style::{AXIS, INK, bold, px, text, tick, width};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

// The layout, in points.
const LEFT: f64 = 24.0;
const TOP: f64 = 102.0;
const PANEL: f64 = 430.0;
const MAP: (f64, f64) = (300.0, 270.0);
const AXES: f64 = 52.0;
const BAR: f64 = 12.0;
const BELOW: f64 = 36.0;

/// Cells over a rectangle: all of it, or some.
#[derive(Debug, Clone)]
pub struct Grid {
    x: (f64, f64),
    y: (f64, f64),
    step: (f64, f64),
    cells: Vec<(f64, f64)>,
    /// How much longer a unit of y is than one of x.
    aspect: f64,
}

impl Grid {
    /// Cells as square as can be around some places.
    pub fn around(xs: &[f64], ys: &[f64], margin: f64, cells: usize) -> Self {
        let wide = |values: &[f64]| {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let extra = margin * if high > low { high - low } else { 1.0 };
            (low - extra, high + extra)
        };
        let (x, y) = (wide(xs), wide(ys));
        let (across, along) = (x.1 - x.0, y.1 - y.0);
        let part = |side: f64| ((cells as f64 * side / across.max(along)).round() as usize).max(2);
        let (columns, rows) = (part(across), part(along));
        let (dx, dy) = (across / columns as f64, along / rows as f64);
        let middle = |k: usize| {
            let (row, column) = (k / columns, k % columns);
            (
                x.0 + dx * (column as f64 + 0.5),
                y.0 + dy * (row as f64 + 0.5),
            )
        };
        Self {
            cells: (0..rows * columns).map(middle).collect(),
            step: (dx, dy),
            x,
            y,
            aspect: 1.0,
        }
    }

    /// A cell around each of the user's own places, as large as the nearest two are apart along each axis.
    pub fn of(places: Vec<(f64, f64)>) -> Self {
        let gap = |of: &dyn Fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = places.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            let apart = values.windows(2).map(|pair| pair[1] - pair[0]);
            let wide = (values[values.len() - 1] - values[0]).max(1e-9);
            let least = apart
                .filter(|gap| *gap > 1e-6 * wide)
                .fold(f64::INFINITY, f64::min);
            let least = if least.is_finite() { least } else { 1.0 };
            (
                least,
                (
                    values[0] - 0.5 * least,
                    values[values.len() - 1] + 0.5 * least,
                ),
            )
        };
        let ((dx, x), (dy, y)) = (gap(&|p| p.0), gap(&|p| p.1));
        Self {
            x,
            y,
            step: (dx, dy),
            cells: places,
            aspect: 1.0,
        }
    }

    /// Degrees of longitude and latitude: a degree of longitude is shorter away from the equator.
    #[must_use]
    pub fn on_the_globe(mut self) -> Self {
        let middle = 0.5 * (self.y.0 + self.y.1);
        self.aspect = 1.0 / middle.to_radians().cos().max(0.1);
        self
    }

    /// Only the cells inside a polygon.
    #[must_use]
    pub fn inside(mut self, polygon: &[(f64, f64)]) -> Self {
        self.cells.retain(|cell| is_inside(*cell, polygon));
        self
    }

    /// The middle of every cell.
    pub fn cells(&self) -> &[(f64, f64)] {
        &self.cells
    }

    /// The size of a map of these cells that fits, in points: true to the units of the inputs.
    fn size(&self) -> (f64, f64) {
        let (across, along) = (self.x.1 - self.x.0, self.y.1 - self.y.0);
        // Units of very different extents (a time beside a place) are stretched instead.
        let ratio = (self.aspect * along / across).clamp(0.25, 4.0);
        let scale = (MAP.0).min(MAP.1 / ratio);
        (scale, scale * ratio)
    }
}

/// Whether a point lies in a polygon: a ray from it crosses the edge an odd number of times.
fn is_inside((x, y): (f64, f64), polygon: &[(f64, f64)]) -> bool {
    let mut inside = false;
    let mut last = polygon.len() - 1;
    for (k, &(xk, yk)) in polygon.iter().enumerate() {
        let (xl, yl) = polygon[last];
        if (yk > y) != (yl > y) && x < (xl - xk) * (y - yk) / (yl - yk) + xk {
            inside = !inside;
        }
        last = k;
    }
    inside
}

/// One map.
#[derive(Debug, Clone)]
pub struct Panel {
    title: String,
    values: Vec<f64>,
    low: f64,
    high: f64,
    signed: bool,
}

impl Panel {
    /// A map of the values of all cells.
    pub fn new(title: &str, values: Vec<f64>) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            title: title.into(),
            values,
            low,
            high,
            signed: false,
        }
    }

    /// A map of values about zero: as much colour on either side.
    pub fn signed(title: &str, values: Vec<f64>) -> Self {
        let plain = Self::new(title, values);
        let most = plain.high.abs().max(plain.low.abs());
        Self {
            low: -most,
            high: most,
            signed: true,
            ..plain
        }
    }

    /// A map of probabilities, from 0 to 1.
    pub fn probability(title: &str, values: Vec<f64>) -> Self {
        Self {
            low: 0.0,
            high: 1.0,
            ..Self::new(title, values)
        }
    }

    fn part(&self, value: f64) -> f64 {
        if self.high > self.low {
            (value - self.low) / (self.high - self.low)
        } else {
            0.5
        }
    }
}

/// The whole picture.
#[derive(Debug, Clone)]
pub struct Picture {
    /// What is mapped.
    pub title: String,
    /// A line about it.
    pub about: String,
    /// The cells.
    pub grid: Grid,
    /// The names of the inputs.
    pub labels: [String; 2],
    /// The places of the data.
    pub places: Vec<(f64, f64)>,
    /// The maps.
    pub panels: Vec<Panel>,
}

impl Scene for Picture {
    fn size(&self) -> (u32, u32) {
        // As wide and high as the maps need.
        let across = (LEFT + PANEL * self.panels.len() as f64).max(560.0);
        (
            across as u32,
            (TOP + self.grid.size().1 + AXES + BELOW) as u32,
        )
    }

    fn description(&self) -> String {
        let clean = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        format!("{} ({})", clean(&self.title), clean(&self.about))
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        area.draw_text(&self.title, &bold(16.0, INK), (px(LEFT), px(26.0)))?;
        area.draw_text(&self.about, &text(12.0, AXIS), (px(LEFT), px(48.0)))?;
        for (k, panel) in self.panels.iter().enumerate() {
            let left = LEFT + PANEL * k as f64;
            area.draw_text(&panel.title, &text(14.0, INK), (px(left + AXES), px(74.0)))?;
            self.draw_map(area, panel, left)?;
        }
        Ok(())
    }
}

impl Picture {
    fn draw_map<DB>(&self, area: &DrawingArea<DB, Shift>, panel: &Panel, left: f64) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let (across, along) = self.grid.size();
        let (right, bottom) = (left + AXES + across, TOP + along);
        let place = area.clone().shrink(
            (px(left), px(TOP)),
            (px(AXES + across) as u32, px(along + AXES) as u32),
        );
        let mut chart = ChartBuilder::on(&place)
            .set_label_area_size(LabelAreaPosition::Left, px(AXES))
            .set_label_area_size(LabelAreaPosition::Bottom, px(AXES))
            .build_cartesian_2d(self.grid.x.0..self.grid.x.1, self.grid.y.0..self.grid.y.1)?;
        let (dx, dy) = self.grid.step;
        chart.draw_series(self.grid.cells().iter().copied().zip(&panel.values).map(
            |((x, y), value)| {
                // A little over each edge, so that no white shows between cells.
                let corners = [
                    (x - 0.51 * dx, y - 0.51 * dy),
                    (
                        (x + 0.53 * dx).min(self.grid.x.1),
                        (y + 0.53 * dy).min(self.grid.y.1),
                    ),
                ];
                Rectangle::new(corners, colour(panel.part(*value), panel.signed).filled())
            },
        ))?;
        // Visible on light colours too.
        let ring = if panel.signed { INK } else { WHITE };
        let dot =
            |at: &(f64, f64)| Circle::new(*at, px(1.6), ring.mix(0.9).stroke_width(width(0.7)));
        chart.draw_series(self.places.iter().map(dot))?;
        chart
            .configure_mesh()
            .disable_mesh()
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(5)
            .y_labels(6)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(text(11.0, AXIS))
            .set_all_tick_mark_size(px(4.0))
            .draw()?;
        area.draw_text(
            &self.labels[0],
            &text(12.0, INK),
            (px(left + AXES + 0.5 * across - 8.0), px(bottom + 36.0)),
        )?;
        area.draw_text(
            &self.labels[1],
            &text(12.0, INK),
            (px(left), px(TOP - 10.0)),
        )?;
        self.draw_scale(area, panel, right + 14.0, along)
    }

    /// The colours with the values they stand for.
    fn draw_scale<DB>(
        &self,
        area: &DrawingArea<DB, Shift>,
        panel: &Panel,
        left: f64,
        height: f64,
    ) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        const STEPS: usize = 100;
        for k in 0..STEPS {
            let from = TOP + height * (1.0 - (k + 1) as f64 / STEPS as f64);
            let to = TOP + height * (1.0 - k as f64 / STEPS as f64);
            let corners = [(px(left), px(from)), (px(left + BAR), px(to) + 1)];
            area.draw(&Rectangle::new(
                corners,
                colour(k as f64 / (STEPS - 1) as f64, panel.signed).filled(),
            ))?;
        }
        const LABELS: usize = 5;
        for k in 0..LABELS {
            let part = k as f64 / (LABELS - 1) as f64;
            let value = panel.low + part * (panel.high - panel.low);
            let y = TOP + height * (1.0 - part);
            area.draw_text(
                &digits_for(value, (panel.high - panel.low) / (LABELS - 1) as f64),
                &text(11.0, AXIS),
                (px(left + BAR + 5.0), px(y)),
            )?;
        }
        Ok(())
    }
}

/// A number with digits enough to tell it from one that is a step away.
fn digits_for(value: f64, step: f64) -> String {
    let size = value.abs().max(step.abs());
    let text = if size != 0.0 && !(1e-3..1e5).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = if step > 0.0 {
            1 - step.log10().floor() as i32
        } else {
            2
        };
        format!("{value:.*}", digits.clamp(0, 6) as usize)
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_the_places_with_a_margin() {
        let grid = Grid::around(&[0.0, 10.0], &[0.0, 5.0], 0.1, 12);
        let cells = grid.cells();
        assert_eq!(cells.len(), 72);
        assert_eq!(cells[0], (-0.5, -0.25 - 0.25 + 0.5));
        assert!(
            cells
                .iter()
                .all(|(x, y)| (-1.0..=11.0).contains(x) && (-0.5..=5.5).contains(y))
        );
    }

    #[test]
    fn cells_outside_a_polygon_are_left_out() {
        let grid = Grid::around(&[0.0, 10.0], &[0.0, 10.0], 0.0, 10);
        let triangle = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0)];
        assert_eq!(grid.clone().inside(&triangle).cells().len(), 45);
        // A degree of longitude at 60° is half as long as one of latitude.
        let globe = Grid::around(&[0.0, 10.0], &[55.0, 65.0], 0.0, 10).on_the_globe();
        assert!((globe.aspect - 2.0).abs() < 1e-9);
        assert!((globe.size().1 / globe.size().0 - 2.0).abs() < 1e-9);
        assert_eq!(
            Grid::of(vec![(0.0, 0.0), (2.0, 0.0), (2.0, 3.0)]).step,
            (2.0, 3.0)
        );
    }

    #[test]
    fn scale_labels_are_short_and_differ() {
        assert_eq!(digits_for(-1.2345, 0.6), "−1.23");
        assert_eq!(digits_for(123.45, 20.0), "123");
        assert_eq!(digits_for(0.00234, 0.0004), "0.00234");
        assert_eq!(digits_for(1.5e6, 1e5), "1.50e6");
        assert_eq!(digits_for(0.0, 0.25), "0.00");
        assert_eq!(digits_for(3.0, 0.0), "3.00");
    }
}
