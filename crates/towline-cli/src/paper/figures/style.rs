//! Sizes, colours and fonts common to the figures.

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Device units per point. plotters rounds coordinates to whole units: at four per point the rounding
/// is below what an eye sees.
pub const SCALE: u32 = 4;

/// Liberation Sans has the widths of Arial and Helvetica, so that a viewer's own font fits the layout.
pub const FAMILY: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// The embedded font, so that pictures need no font of the machine's.
pub const REGULAR: &[u8] = include_bytes!("../../../assets/fonts/LiberationSans-Regular.ttf");
/// Its bold face.
pub const BOLD: &[u8] = include_bytes!("../../../assets/fonts/LiberationSans-Bold.ttf");

// Okabe and Ito's palette, which colour-blind readers can tell apart.
/// Dragging, and the sample.
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
/// Joint updates, and the curve through the sample.
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
/// Single-variable updates.
pub const PURPLE: RGBColor = RGBColor(170, 85, 135);
/// The marginal: the ideal.
pub const GREEN: RGBColor = RGBColor(0, 138, 100);

/// Text and markers.
pub const INK: RGBColor = RGBColor(34, 34, 34);
/// Axes and their labels.
pub const AXIS: RGBColor = RGBColor(90, 90, 90);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(228, 228, 228);

/// A length in points as device units.
pub fn px(points: f64) -> i32 {
    (points * f64::from(SCALE)).round() as i32
}

/// A width in points as device units, at least one.
pub fn width(points: f64) -> u32 {
    px(points).max(1) as u32
}

/// Text of a size in points, to the right of its position and vertically centred on it.
pub fn text(points: f64, color: RGBColor) -> TextStyle<'static> {
    styled(points, color, FontStyle::Normal)
}

/// The same in bold.
pub fn bold(points: f64, color: RGBColor) -> TextStyle<'static> {
    styled(points, color, FontStyle::Bold)
}

/// Text of a size in points, centred on its position.
pub fn centred(points: f64, color: RGBColor) -> TextStyle<'static> {
    text(points, color).pos(Pos::new(HPos::Center, VPos::Center))
}

fn styled(points: f64, color: RGBColor, style: FontStyle) -> TextStyle<'static> {
    // plotters' size is 1.24 times what SVG calls font-size.
    let size = 1.24 * points * f64::from(SCALE);
    FontDesc::new(FontFamily::Name(FAMILY), size, style)
        .color(&color)
        .pos(Pos::new(HPos::Left, VPos::Center))
}

/// Makes the embedded font known to plotters.
pub fn register_fonts() -> Result<()> {
    for (style, bytes) in [(FontStyle::Normal, REGULAR), (FontStyle::Bold, BOLD)] {
        register_font(FAMILY, style, bytes).map_err(|_| anyhow!("the embedded font is damaged"))?;
    }
    Ok(())
}

/// A tick label with a true minus sign and no superfluous zeros.
pub fn tick(value: &f64) -> String {
    // Rounding first turns −1e-17, which axis arithmetic produces for zero, into zero.
    let rounded = (value * 1e6).round() / 1e6 + 0.0;
    rounded.to_string().replace('-', "−")
}
