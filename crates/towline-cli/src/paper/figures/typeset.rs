//! A bitmap backend that sets text as SVG viewers do.
//!
//! plotters' own text in bitmaps drops each glyph's left bearing, which spaces letters unevenly, and comes
//! out larger than in SVG. Here glyphs sit at their exact positions, size and baseline as in the SVG.

use super::style::{BOLD, REGULAR};
use ab_glyph::{Font, FontRef, InvalidFont, PxScale, ScaleFont, point};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind, FontStyle,
};

/// plotters' font size in units of the em, as its SVG backend has it.
const SIZE_PER_EM: f64 = 1.24;

/// The bitmap backend with its text replaced.
pub struct Typeset<'a> {
    inner: BitMapBackend<'a>,
    regular: FontRef<'static>,
    bold: FontRef<'static>,
}

type Drawn<'a> = Result<(), DrawingErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> Typeset<'a> {
    /// Wraps a bitmap backend.
    pub fn new(inner: BitMapBackend<'a>) -> Result<Self, InvalidFont> {
        Ok(Self {
            inner,
            regular: FontRef::try_from_slice(REGULAR)?,
            bold: FontRef::try_from_slice(BOLD)?,
        })
    }
}

impl<'a> DrawingBackend for Typeset<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.inner.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<'a> {
        self.inner.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<'a> {
        self.inner.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn<'a> {
        self.inner.draw_pixel(point, color)
    }

    // The bitmap backend has faster lines and rectangles than the trait's defaults.
    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn<'a> {
        self.inner.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn<'a> {
        self.inner.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        position: BackendCoord,
    ) -> Drawn<'a> {
        let font = match style.style() {
            FontStyle::Bold => &self.bold,
            _ => &self.regular,
        };
        let em = (style.size() / SIZE_PER_EM) as f32;
        let glyphs = line_of_glyphs(font, em, text);
        let (h, v) = (style.anchor().h_pos, style.anchor().v_pos);
        let dx = match h {
            HPos::Left => 0.0,
            HPos::Center => -glyphs.width / 2.0,
            HPos::Right => -glyphs.width,
        };
        // The SVG backend's shifts: 0.76 em, and half an ex, which is 0.52 em in this font.
        let dy = match v {
            VPos::Top => 0.76 * em,
            VPos::Center => 0.26 * em,
            VPos::Bottom => -0.26 * em,
        };
        let (turn, color) = (style.transform(), style.color());
        for (mut glyph, x) in glyphs.placed {
            glyph.position = point(dx + x, dy);
            let Some(outline) = font.outline_glyph(glyph) else {
                continue; // A blank.
            };
            let corner = outline.px_bounds().min;
            let mut drawn = Ok(());
            outline.draw(|x, y, coverage| {
                let (x, y) = (x as i32 + corner.x as i32, y as i32 + corner.y as i32);
                let (x, y) = turn.transform(x, y);
                let color = color.mix(f64::from(coverage));
                if drawn.is_ok() {
                    drawn = self
                        .inner
                        .draw_pixel((position.0 + x, position.1 + y), color);
                }
            });
            drawn?;
        }
        Ok(())
    }
}

/// Glyphs with their horizontal positions, and the width of them all.
struct Line {
    placed: Vec<(ab_glyph::Glyph, f32)>,
    width: f32,
}

fn line_of_glyphs(font: &FontRef<'static>, em: f32, text: &str) -> Line {
    // ab_glyph's scale is the height from descent to ascent, not the em.
    let scale = em * font.height_unscaled() / font.units_per_em().unwrap_or(2048.0);
    let scaled = font.as_scaled(PxScale::from(scale));
    let mut line = Line {
        placed: Vec::new(),
        width: 0.0,
    };
    let mut previous = None;
    for character in text.chars() {
        let glyph = scaled.scaled_glyph(character);
        if let Some(previous) = previous {
            line.width += scaled.kern(previous, glyph.id);
        }
        previous = Some(glyph.id);
        let advance = scaled.h_advance(glyph.id);
        line.placed.push((glyph, line.width));
        line.width += advance;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_character_we_set() {
        for bytes in [REGULAR, BOLD] {
            let font = FontRef::try_from_slice(bytes).unwrap();
            for character in "0123456789.,−±ρ=()abcxyz–".chars() {
                assert_ne!(font.glyph_id(character).0, 0, "{character}");
            }
        }
    }

    #[test]
    fn text_is_as_wide_as_the_font_says() {
        let font = FontRef::try_from_slice(REGULAR).unwrap();
        // A digit of Arial's widths is 0.556 em.
        let line = line_of_glyphs(&font, 100.0, "0000");
        assert!((line.width - 4.0 * 55.6).abs() < 0.2, "{}", line.width);
    }
}
