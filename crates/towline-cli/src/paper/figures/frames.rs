//! The figure of `--frames`: autocorrelation time of x against fast evaluations per slow one, a panel for each test.

use super::super::result::Row;
use super::super::spec::Method;
use super::canvas::Scene;
use super::style::{
    AXIS, BLUE, GREEN, GRID, INK, PURPLE, VERMILION, bold, centred, px, text, tick, width,
};
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

// The layout, in points.
const MARGIN: f64 = 24.0;
const HEADER: f64 = 84.0;
const PANEL: (f64, f64) = (452.0, 400.0);

/// Fast evaluations per slow one: from less than a drag that holds y still needs to more than one with n = 1000.
const FAST: (f64, f64) = (0.7, 9000.0);
/// Times, from below the ideal to above any that a drag of these tests has.
const TIMES: (f64, f64) = (0.9, 3000.0);

/// The scene: the rows of both tests.
pub struct Frames<'a> {
    /// All rows, in any order.
    pub rows: &'a [Row],
}

/// Where a row lies: fast evaluations per slow one, and the autocorrelation time in slow evaluations (for all drags
/// that is in iterations). None where it cannot be told.
fn place(row: &Row) -> Option<(f64, f64)> {
    let time = row.act.value * row.slow_evals as f64 / row.iterations as f64;
    let known = row.act.se.is_finite() && time.is_finite() && row.fast_per_slow().is_finite();
    known.then(|| (row.fast_per_slow(), time))
}

impl Frames<'_> {
    /// The rows of a method in one test, by the number of intervals.
    fn of(&self, test: u8, method: Method) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| row.spec.test == test && row.spec.method == method)
            .collect();
        rows.sort_by_key(|row| row.spec.n);
        rows
    }

    fn draw_header<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let title = "Autocorrelation time of x against fast evaluations per slow one";
        area.draw_text(title, &bold(15.0, INK), (px(MARGIN), px(26.0)))?;
        let y = px(56.0);
        let label = |x: f64, words: &str| area.draw_text(words, &text(12.0, AXIS), (px(x), y));
        area.draw(&dot((px(MARGIN + 5.0), y), BLUE))?;
        label(MARGIN + 16.0, "plain drag, by n")?;
        area.draw(&dot((px(MARGIN + 141.0), y), VERMILION))?;
        label(MARGIN + 152.0, "drag in the Laplace frame, by n")?;
        area.draw(&triangle((px(MARGIN + 357.0), y), PURPLE))?;
        label(MARGIN + 368.0, "all chosen by warm-up")?;
        let line = vec![(px(MARGIN + 517.0), y), (px(MARGIN + 541.0), y)];
        area.draw(&PathElement::new(line, GREEN.stroke_width(width(1.5))))?;
        label(MARGIN + 549.0, "marginal Metropolis, the ideal of dragging")?;
        Ok(())
    }

    fn draw_panel<DB>(&self, panel: &DrawingArea<DB, Shift>, test: u8) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        let title = match test {
            1 => "First test distribution: one fast variable",
            _ => "Second test distribution: two fast variables",
        };
        panel.draw_text(title, &bold(13.0, INK), (px(56.0), px(14.0)))?;
        let body = panel.margin(px(28.0), 0, 0, px(10.0));
        let mut chart = ChartBuilder::on(&body)
            .set_label_area_size(LabelAreaPosition::Left, px(56.0))
            .set_label_area_size(LabelAreaPosition::Bottom, px(40.0))
            .build_cartesian_2d((FAST.0..FAST.1).log_scale(), (TIMES.0..TIMES.1).log_scale())?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(width(0.75)))
            .axis_style(AXIS.stroke_width(width(0.75)))
            .x_labels(5)
            .y_labels(5)
            .x_label_formatter(&tick)
            .y_label_formatter(&tick)
            .label_style(text(11.5, AXIS))
            .axis_desc_style(text(12.0, INK))
            .set_all_tick_mark_size(px(4.0))
            .x_desc("fast evaluations per slow one")
            .y_desc("autocorrelation time of x, in slow evaluations")
            .draw()?;

        if let Some((_, ideal)) = self
            .of(test, Method::Marginal)
            .first()
            .and_then(|r| place(r))
        {
            let line = vec![(FAST.0, ideal), (FAST.1, ideal)];
            chart.draw_series([PathElement::new(line, GREEN.stroke_width(width(1.5)))])?;
        }
        let plain = self.of(test, Method::Drag);
        let known = plain.iter().filter_map(|row| place(row));
        chart.draw_series(LineSeries::new(
            known,
            BLUE.mix(0.5).stroke_width(width(1.5)),
        ))?;
        for row in plain {
            let name = format!("n = {}", row.spec.n.unwrap_or_default());
            match place(row) {
                Some(at) => {
                    chart.draw_series([dot(at, BLUE)])?;
                    // Above and to the right: the line goes down that way.
                    let beside = (at.0 * 1.12, at.1 * 1.12);
                    chart.draw_series([Text::new(name, beside, text(11.0, BLUE))])?;
                }
                // Longer than can be measured: an arrow off the top. With n = 1 it always is.
                None => {
                    let fast = row.fast_per_slow();
                    let top = TIMES.1 / 1.15;
                    let stem = vec![(fast, TIMES.1 / 2.2), (fast, top)];
                    chart.draw_series([PathElement::new(stem, BLUE.stroke_width(width(1.5)))])?;
                    let head = TriangleMarker::new((fast, top), px(4.0), BLUE.filled());
                    chart.draw_series([head])?;
                    let words = match row.spec.n {
                        Some(1) => format!("{name}: y never moves"),
                        _ => name,
                    };
                    let beside = (fast * 1.2, TIMES.1 / 1.5);
                    chart.draw_series([Text::new(words, beside, text(11.0, BLUE))])?;
                }
            }
        }
        for row in self.of(test, Method::DragFramed) {
            if let Some(at) = place(row) {
                chart.draw_series([dot(at, VERMILION)])?;
                let name = row.spec.n.unwrap_or_default().to_string();
                let above = (at.0, at.1 * 1.25);
                chart.draw_series([Text::new(name, above, centred(11.0, VERMILION))])?;
            }
        }
        for at in self.of(test, Method::Auto).into_iter().filter_map(place) {
            chart.draw_series([triangle(at, PURPLE)])?;
        }
        Ok(())
    }
}

impl Scene for Frames<'_> {
    fn size(&self) -> (u32, u32) {
        (952, 508)
    }

    fn description(&self) -> String {
        "Autocorrelation time of x against fast evaluations per slow one: plain drags, drags in \
         the Laplace frame, warm-up's choice, and the marginal ideal, for both test distributions"
            .to_owned()
    }

    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        self.draw_header(area)?;
        for test in [1, 2] {
            let left = MARGIN + f64::from(test - 1) * PANEL.0;
            let panel = area
                .clone()
                .shrink((px(left), px(HEADER)), (px(PANEL.0), px(PANEL.1)));
            self.draw_panel(&panel, test)?;
        }
        Ok(())
    }
}

fn dot<C>(at: C, color: RGBColor) -> Circle<C, i32> {
    Circle::new(at, px(3.5), color.filled())
}

/// A mark that is not round.
fn triangle<C>(at: C, color: RGBColor) -> TriangleMarker<C, i32> {
    TriangleMarker::new(at, px(5.0), color.filled())
}
