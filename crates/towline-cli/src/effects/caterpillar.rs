//! Effects in order of size with their intervals: a caterpillar picture.

use crate::paper::figures::canvas::Scene;
use crate::paper::figures::style::{AXIS, BLUE, GRID, INK, bold, px, text, tick, width};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

/// One effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Whose.
    pub name: String,
    /// Its mean.
    pub mean: f64,
    /// Its standard deviation.
    pub sd: f64,
    /// The lower end of its interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// The picture.
pub struct Caterpillar {
    title: String,
    about: String,
    entries: Vec<Entry>,
}

/// The most effects that have their names beside them.
const NAMED: usize = 60;

/// Letters of a name that are shown.
const LETTERS: usize = 24;

impl Caterpillar {
    /// Of these effects, the smallest at the bottom.
    pub fn new(title: String, level: f64, mut entries: Vec<Entry>) -> Self {
        entries.sort_by(|a, b| a.mean.total_cmp(&b.mean));
        let about = format!(
            "mean and {} % interval of each of {}",
            (level * 1e4).round() / 1e2,
            entries.len()
        );
        Self {
            title,
            about,
            entries,
        }
    }

    /// Room for the longest name that is shown, in points.
    fn gutter(&self) -> f64 {
        let lengths = self.entries.iter().map(|e| e.name.chars().count());
        20.0 + 6.2 * lengths.max().unwrap_or(0).min(LETTERS) as f64
    }

    fn height(&self) -> f64 {
        let each = if self.entries.len() <= NAMED {
            15.0
        } else {
            900.0 / self.entries.len() as f64
        };
        (each * self.entries.len() as f64).max(60.0)
    }
}

impl Scene for Caterpillar {
    fn size(&self) -> (u32, u32) {
        (640, (self.height() + 108.0) as u32)
    }

    fn description(&self) -> String {
        let clean = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        format!("{} ({})", clean(&self.title), self.about)
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        area.draw_text(&self.title, &bold(15.0, INK), (px(24.0), px(26.0)))?;
        area.draw_text(&self.about, &text(12.0, AXIS), (px(24.0), px(48.0)))?;
        let names = self.entries.len() <= NAMED;
        let left = if names { self.gutter() } else { 30.0 };
        let place = area.clone().shrink(
            (px(16.0), px(64.0)),
            (px(604.0) as u32, px(self.height() + 32.0) as u32),
        );
        let low = self.entries.iter().map(|e| e.lower).fold(0.0, f64::min);
        let high = self.entries.iter().map(|e| e.upper).fold(0.0, f64::max);
        let margin = 0.04 * (high - low).max(1e-9);
        let count = self.entries.len() as f64;
        let mut chart = ChartBuilder::on(&place)
            .set_label_area_size(LabelAreaPosition::Left, px(left))
            .set_label_area_size(LabelAreaPosition::Bottom, px(30.0))
            .build_cartesian_2d(low - margin..high + margin, -0.7..count - 0.3)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(WHITE)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(7)
            .x_label_formatter(&tick)
            .label_style(text(11.0, AXIS))
            .draw()?;
        let zero = [(0.0, -0.7), (0.0, count - 0.3)];
        chart.draw_series(LineSeries::new(zero, AXIS.stroke_width(width(1.0))))?;
        let thick = if names { 1.6 } else { 0.8 };
        chart.draw_series(self.entries.iter().enumerate().map(|(k, e)| {
            let ends = [(e.lower, k as f64), (e.upper, k as f64)];
            PathElement::new(ends, BLUE.mix(0.7).stroke_width(width(thick)))
        }))?;
        let size = if names { 2.6 } else { 1.2 };
        chart.draw_series(
            self.entries
                .iter()
                .enumerate()
                .map(|(k, e)| Circle::new((e.mean, k as f64), px(size), INK.filled())),
        )?;
        if names {
            for (k, e) in self.entries.iter().enumerate() {
                let (_, y) = chart.backend_coord(&(0.0, k as f64));
                let name: String = e.name.chars().take(LETTERS).collect();
                area.draw_text(&name, &text(11.0, INK), (px(24.0), y))?;
            }
        }
        Ok(())
    }
}
