//! Figure 1: points of the first test distribution around the curve y = sin x.

use super::canvas::Scene;
use super::style::{AXIS, BLUE, GRID, INK, VERMILION, bold, px, text, tick, width};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

// The layout, in points.
const MARGIN: f64 = 24.0;
const HEADER: f64 = 92.0;

/// The scene: x and y of each point.
pub struct Sample<'a> {
    /// The points to draw.
    pub points: &'a [(f64, f64)],
}

impl Sample<'_> {
    fn title(&self) -> String {
        let count = self.points.len();
        format!("A sample of {count} points from the first test distribution")
    }

    fn draw_header<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.draw_text("Figure 1", &bold(16.0, INK), (px(MARGIN), px(26.0)))?;
        area.draw_text(&self.title(), &text(14.0, INK), (px(MARGIN), px(48.0)))?;
        let y = px(72.0);
        let label = |x: f64, words: &str| area.draw_text(words, &text(12.0, AXIS), (px(x), y));
        area.draw(&dot((px(MARGIN + 5.0), y)))?;
        label(MARGIN + 16.0, "one point (x, y)")?;
        let line = vec![(px(MARGIN + 123.0), y), (px(MARGIN + 147.0), y)];
        area.draw(&PathElement::new(line, faint()))?;
        label(MARGIN + 155.0, "y = sin x, the mean of y given x")?;
        Ok(())
    }

    /// The smallest multiple of a quarter that is at least `least` and leaves every value inside.
    fn reach(&self, least: f64, value: impl Fn(&(f64, f64)) -> f64) -> f64 {
        let extreme = self
            .points
            .iter()
            .map(|point| value(point).abs())
            .filter(|v| v.is_finite())
            .fold(least, f64::max);
        (4.0 * extreme).ceil() / 4.0
    }
}

impl Scene for Sample<'_> {
    fn size(&self) -> (u32, u32) {
        (640, 540)
    }

    fn description(&self) -> String {
        format!("Figure 1. {}", self.title())
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        self.draw_header(area)?;

        let (reach_x, reach_y) = (self.reach(2.0, |p| p.0), self.reach(1.0, |p| p.1));
        let panel = area.margin(px(HEADER), px(14.0), px(18.0), px(24.0));
        let mut chart = ChartBuilder::on(&panel)
            .set_label_area_size(LabelAreaPosition::Left, px(52.0))
            .set_label_area_size(LabelAreaPosition::Bottom, px(44.0))
            .build_cartesian_2d(-reach_x..reach_x, -reach_y..reach_y)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(11)
            .y_labels(9)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(text(12.0, AXIS))
            .axis_desc_style(text(14.0, INK))
            .set_all_tick_mark_size(px(4.0))
            .x_desc("x")
            .draw()?;
        // Upright, where plotters would lay the letter on its side.
        let middle = chart.backend_coord(&(0.0, 0.0)).1;
        area.draw_text("y", &text(14.0, INK), (px(MARGIN), middle))?;

        let dots = self
            .points
            .iter()
            .filter(|(x, y)| x.is_finite() && y.is_finite());
        chart.draw_series(dots.map(|&at| dot(at)))?;
        let steps = 400;
        let curve = (0..=steps).map(|i| {
            let x = reach_x * (2.0 * f64::from(i) / f64::from(steps) - 1.0);
            (x, x.sin())
        });
        chart.draw_series(LineSeries::new(curve, faint()))?;
        Ok(())
    }
}

fn dot<C>(at: C) -> Circle<C, i32> {
    Circle::new(at, px(1.75), BLUE.mix(0.6).filled())
}

fn faint() -> ShapeStyle {
    VERMILION.mix(0.7).stroke_width(width(1.25))
}
