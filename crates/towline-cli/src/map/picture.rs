//! Two maps side by side, the mean and the standard deviation, each with its scale and the places of the data.

use super::colours::colour;
use crate::paper::figures::canvas::Scene;
use crate::paper::figures::style::{AXIS, INK, bold, px, text, tick, width};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

// The layout, in points.
const LEFT: f64 = 24.0;
const TOP: f64 = 92.0;
const PANEL: f64 = 430.0;
const MAP: (f64, f64) = (300.0, 270.0);
const AXES: f64 = 52.0;
const BAR: f64 = 12.0;
const BELOW: f64 = 36.0;

/// A grid of cells over a rectangle.
#[derive(Debug, Clone)]
pub struct Grid {
    x: (f64, f64),
    y: (f64, f64),
    columns: usize,
    rows: usize,
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
        Self {
            columns: part(across),
            rows: part(along),
            x,
            y,
        }
    }

    fn step(&self) -> (f64, f64) {
        (
            (self.x.1 - self.x.0) / self.columns as f64,
            (self.y.1 - self.y.0) / self.rows as f64,
        )
    }

    /// The middle of every cell, row by row.
    pub fn cells(&self) -> Vec<(f64, f64)> {
        let (dx, dy) = self.step();
        (0..self.rows * self.columns)
            .map(|k| {
                let (row, column) = (k / self.columns, k % self.columns);
                (
                    self.x.0 + dx * (column as f64 + 0.5),
                    self.y.0 + dy * (row as f64 + 0.5),
                )
            })
            .collect()
    }

    /// The size of a map of these cells that fits, in points: as wide as high in the units of the inputs.
    fn size(&self) -> (f64, f64) {
        let (across, along) = (self.x.1 - self.x.0, self.y.1 - self.y.0);
        // Units of very different extents (a time beside a place) are stretched instead.
        let ratio = (along / across).clamp(0.25, 4.0);
        let scale = (MAP.0).min(MAP.1 / ratio);
        (scale, scale * ratio)
    }
}

/// One map.
#[derive(Debug, Clone)]
pub struct Panel {
    title: &'static str,
    values: Vec<f64>,
    low: f64,
    high: f64,
}

impl Panel {
    /// A map of the values of all cells.
    pub fn new(title: &'static str, values: Vec<f64>) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            title,
            values,
            low,
            high,
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
    /// The two maps.
    pub panels: [Panel; 2],
}

impl Scene for Picture {
    fn size(&self) -> (u32, u32) {
        // As high as the maps need.
        (880, (TOP + self.grid.size().1 + AXES + BELOW) as u32)
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
            area.draw_text(panel.title, &text(14.0, INK), (px(left + AXES), px(76.0)))?;
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
        let (dx, dy) = self.grid.step();
        chart.draw_series(self.grid.cells().into_iter().zip(&panel.values).map(
            |((x, y), value)| {
                // A little over each edge, so that no white shows between cells.
                let corners = [
                    (x - 0.51 * dx, y - 0.51 * dy),
                    (
                        (x + 0.53 * dx).min(self.grid.x.1),
                        (y + 0.53 * dy).min(self.grid.y.1),
                    ),
                ];
                Rectangle::new(corners, colour(panel.part(*value)).filled())
            },
        ))?;
        let dot =
            |at: &(f64, f64)| Circle::new(*at, px(1.6), WHITE.mix(0.9).stroke_width(width(0.7)));
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
                colour(k as f64 / (STEPS - 1) as f64).filled(),
            ))?;
        }
        const LABELS: usize = 5;
        for k in 0..LABELS {
            let part = k as f64 / (LABELS - 1) as f64;
            let value = panel.low + part * (panel.high - panel.low);
            let y = TOP + height * (1.0 - part);
            area.draw_text(
                &three_digits(value),
                &text(11.0, AXIS),
                (px(left + BAR + 5.0), px(y)),
            )?;
        }
        Ok(())
    }
}

/// A number to three digits.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    let text = if size != 0.0 && !(1e-3..1e4).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = if size >= 1.0 {
            2 - (size.log10().floor() as i32).min(2)
        } else {
            3
        };
        format!("{value:.*}", digits as usize)
    };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cover_the_places_with_a_margin() {
        let grid = Grid::around(&[0.0, 10.0], &[0.0, 5.0], 0.1, 12);
        assert_eq!((grid.columns, grid.rows), (12, 6));
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
    fn scale_labels_are_short() {
        assert_eq!(three_digits(-1.2345), "−1.23");
        assert_eq!(three_digits(123.45), "123");
        assert_eq!(three_digits(0.01234), "0.012");
        assert_eq!(three_digits(1.5e6), "1.50e6");
        assert_eq!(three_digits(0.0), "0.000");
    }
}
