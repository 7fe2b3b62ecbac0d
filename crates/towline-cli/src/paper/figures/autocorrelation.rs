//! Figures 2 and 3: autocorrelations of x for six methods, six panels.

use super::super::format;
use super::super::published::LAGS;
use super::super::result::Row;
use super::super::spec::Method;
use super::canvas::Scene;
use super::style::{AXIS, BLUE, GREEN, GRID, INK, PURPLE, VERMILION, bold, px, text, tick, width};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

const LAST_LAG: usize = 30;

/// The methods of the left column, then those of the right one.
const PANELS: [[(Method, Option<usize>); 3]; 2] = [
    [
        (Method::Joint, None),
        (Method::Single, None),
        (Method::Marginal, None),
    ],
    [
        (Method::Drag, Some(20)),
        (Method::Drag, Some(100)),
        (Method::Drag, Some(500)),
    ],
];

// The layout, in points.
const MARGIN: f64 = 24.0;
const HEADER: f64 = 92.0;
const PANEL: (f64, f64) = (412.0, 284.0);

/// The scene: the rows of one test.
pub struct Autocorrelations<'a> {
    /// The test distribution, 1 or 2.
    pub test: u8,
    /// Rows of this test, and perhaps of others.
    pub rows: &'a [Row],
}

impl Autocorrelations<'_> {
    fn find(&self, (method, n): (Method, Option<usize>)) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.spec.is(self.test, method, n))
    }

    fn title(&self) -> String {
        let ordinal = if self.test == 1 { "first" } else { "second" };
        format!("Autocorrelations of x at lags 0 to {LAST_LAG}, {ordinal} test distribution")
    }

    /// Just below zero, or lower when an estimate is: no dot may be cut off.
    fn bottom(&self) -> f64 {
        self.rows
            .iter()
            .filter(|row| row.spec.test == self.test)
            .flat_map(|row| &row.autocorrelations)
            .filter(|value| value.is_finite())
            .fold(-0.04, |least, value| least.min(value - 0.03))
    }

    fn draw_header<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let figure = format!("Figure {}", self.test + 1);
        area.draw_text(&figure, &bold(16.0, INK), (px(MARGIN), px(26.0)))?;
        area.draw_text(&self.title(), &text(14.0, INK), (px(MARGIN), px(48.0)))?;

        let y = px(72.0);
        let label = |x: f64, words: &str| area.draw_text(words, &text(12.0, AXIS), (px(x), y));
        area.draw(&stem((px(MARGIN + 5.0), y + px(6.0)), y - px(4.0), INK))?;
        area.draw(&dot((px(MARGIN + 5.0), y - px(4.0)), INK))?;
        label(MARGIN + 16.0, "this run")?;
        area.draw(&ring((px(MARGIN + 93.0), y)))?;
        label(
            MARGIN + 105.0,
            "precise value (independent program, long runs)",
        )?;
        let line = vec![(px(MARGIN + 388.0), y), (px(MARGIN + 412.0), y)];
        area.draw(&PathElement::new(line, ideal()))?;
        label(MARGIN + 420.0, "marginal Metropolis, this run (the ideal)")?;
        Ok(())
    }

    fn draw_panel<DB>(
        &self,
        panel: &DrawingArea<DB, Shift>,
        which: (Method, Option<usize>),
        axes: (&str, &str),
    ) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let row = self.find(which);
        panel.draw_text(&name(which), &bold(13.0, INK), (px(50.0), px(16.0)))?;
        if let Some(row) = row {
            let time = format!("ACT = {}", format::estimate(row.act));
            panel.draw_text(&time, &text(12.0, AXIS), (px(50.0), px(33.0)))?;
        }
        let bottom = self.bottom();
        let body = panel.margin(px(46.0), 0, 0, px(10.0));
        let mut chart = ChartBuilder::on(&body)
            .set_label_area_size(LabelAreaPosition::Left, px(50.0))
            .set_label_area_size(LabelAreaPosition::Bottom, px(40.0))
            .build_cartesian_2d(-0.8..LAST_LAG as f64 + 0.8, bottom..1.04)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(8)
            .y_labels(7)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(text(11.5, AXIS))
            .axis_desc_style(text(12.0, INK))
            .set_all_tick_mark_size(px(4.0))
            .x_desc(axes.0)
            .y_desc(axes.1)
            .draw()?;
        let zero = vec![(-0.8, 0.0), (LAST_LAG as f64 + 0.8, 0.0)];
        chart.draw_series([PathElement::new(zero, AXIS.stroke_width(width(0.75)))])?;

        let Some(row) = row else {
            return Ok(());
        };
        let values = points(row);
        let color = color(row.spec.method);
        for &(lag, value) in &values {
            chart.draw_series([stem((lag, 0.0), value, color)])?;
        }
        if row.spec.method == Method::Drag
            && let Some(marginal) = self.find((Method::Marginal, None))
        {
            chart.draw_series(LineSeries::new(points(marginal), ideal()))?;
        }
        chart.draw_series(values.iter().map(|&at| dot(at, color)))?;
        if let Some(precise) = row.published().and_then(|k| k.reference.autocorrelations) {
            let known = LAGS.iter().map(|&lag| lag as f64).zip(precise);
            chart.draw_series(known.map(ring))?;
        }
        Ok(())
    }
}

impl Scene for Autocorrelations<'_> {
    fn size(&self) -> (u32, u32) {
        (872, 960)
    }

    fn description(&self) -> String {
        format!("Figure {}. {}", self.test + 1, self.title())
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        self.draw_header(area)?;
        for (column, methods) in PANELS.into_iter().enumerate() {
            for (line, which) in methods.into_iter().enumerate() {
                let left = MARGIN + column as f64 * PANEL.0;
                let top = HEADER + line as f64 * PANEL.1;
                let panel = area
                    .clone()
                    .shrink((px(left), px(top)), (px(PANEL.0), px(PANEL.1)));
                // Said once for each column and each line of panels.
                let x_axis = if line == 2 { "lag" } else { "" };
                let y_axis = if column == 0 {
                    "autocorrelation of x"
                } else {
                    ""
                };
                self.draw_panel(&panel, which, (x_axis, y_axis))?;
            }
        }
        Ok(())
    }
}

/// A panel's title, in the paper's words.
fn name((method, n): (Method, Option<usize>)) -> String {
    match method {
        Method::Joint => "Joint Metropolis".to_owned(),
        Method::Single => "Single-variable Metropolis".to_owned(),
        Method::Marginal => "Marginal Metropolis".to_owned(),
        Method::Drag | Method::DragFramed | Method::Auto => format!(
            "Dragging, {} intermediate distributions",
            n.unwrap_or_default()
        ),
    }
}

fn color(method: Method) -> RGBColor {
    match method {
        Method::Joint => VERMILION,
        Method::Single => PURPLE,
        Method::Marginal => GREEN,
        Method::Drag | Method::DragFramed | Method::Auto => BLUE,
    }
}

/// Lags and values that can be drawn.
fn points(row: &Row) -> Vec<(f64, f64)> {
    row.autocorrelations
        .iter()
        .take(LAST_LAG + 1)
        .enumerate()
        .map(|(lag, &value)| (lag as f64, value))
        .filter(|(_, value)| value.is_finite())
        .collect()
}

fn ideal() -> ShapeStyle {
    GREEN.stroke_width(width(1.25))
}

fn stem<X: Clone, Y>((x, from): (X, Y), to: Y, color: RGBColor) -> PathElement<(X, Y)> {
    let style = color.mix(0.35).stroke_width(width(2.5));
    PathElement::new(vec![(x.clone(), from), (x, to)], style)
}

fn dot<C>(at: C, color: RGBColor) -> Circle<C, i32> {
    Circle::new(at, px(2.75), color.filled())
}

fn ring<C>(at: C) -> Circle<C, i32> {
    Circle::new(at, px(5.0), INK.stroke_width(width(1.25)))
}
