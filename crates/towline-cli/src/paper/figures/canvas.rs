//! Writes one scene as SVG and as PNG.

use super::png;
use super::style::{SCALE, register_fonts};
use super::typeset::Typeset;
use anyhow::{Context, Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Device units along each side that are averaged into one pixel: plotters does not smooth edges itself.
const OVERSAMPLING: u32 = 2;

/// A picture that can be drawn with any backend.
pub trait Scene {
    /// Width and height in points.
    fn size(&self) -> (u32, u32);

    /// What the picture shows, for readers who cannot see it.
    fn description(&self) -> String;

    /// Draws the picture, in device units ([`SCALE`] per point).
    fn draw<DB>(&self, area: &DrawingArea<DB, Shift>) -> Result<()>
    where
        DB: DrawingBackend,
        DB::ErrorType: 'static;
}

/// Writes `dir/name.svg` and `dir/name.png`.
pub fn save<S: Scene>(scene: &S, dir: &Path, name: &str) -> Result<Vec<PathBuf>> {
    register_fonts()?;
    let svg = dir.join(format!("{name}.svg"));
    fs::write(&svg, to_svg(scene)?).with_context(|| format!("cannot write {}", svg.display()))?;
    let png = dir.join(format!("{name}.png"));
    write_png(scene, &png).with_context(|| format!("cannot write {}", png.display()))?;
    Ok(vec![svg, png])
}

fn device_size<S: Scene>(scene: &S) -> (u32, u32) {
    let (width, height) = scene.size();
    (width * SCALE, height * SCALE)
}

fn to_svg<S: Scene>(scene: &S) -> Result<String> {
    let (width, height) = device_size(scene);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        scene.draw(&area)?;
        area.present()?;
    }
    // The drawing's units are fine; the picture's size is in points.
    let (_, body) = svg
        .split_once('>')
        .ok_or_else(|| anyhow!("plotters wrote no SVG"))?;
    Ok(format!(
        "<svg width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n<title>{}</title>{body}",
        scene.size().0,
        scene.size().1,
        scene.description(),
    ))
}

fn write_png<S: Scene>(scene: &S, path: &Path) -> Result<()> {
    let (width, height) = device_size(scene);
    let mut fine = vec![0; (width * height * 3) as usize];
    {
        let backend = BitMapBackend::with_buffer(&mut fine, (width, height));
        let area = Typeset::new(backend)?.into_drawing_area();
        scene.draw(&area)?;
        area.present()?;
    }
    let size = (width / OVERSAMPLING, height / OVERSAMPLING);
    fs::write(path, png::encode(&averaged(&fine, width, size), size))?;
    Ok(())
}

/// An RGB image of `size` whose pixels are means of squares of the finer one.
fn averaged(fine: &[u8], fine_width: u32, size: (u32, u32)) -> Vec<u8> {
    let step = OVERSAMPLING as usize;
    let (width, height, fine_width) = (size.0 as usize, size.1 as usize, fine_width as usize);
    let mut coarse = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let mut sum = 0;
                for dy in 0..step {
                    for dx in 0..step {
                        let pixel = (y * step + dy) * fine_width + x * step + dx;
                        sum += usize::from(fine[pixel * 3 + channel]);
                    }
                }
                let count = step * step;
                coarse.push(((sum + count / 2) / count) as u8);
            }
        }
    }
    coarse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averaging_keeps_channels_apart_and_rounds() {
        let fine = [[0, 10, 255], [1, 10, 255], [0, 20, 255], [1, 20, 255]].concat();
        assert_eq!(averaged(&fine, 2, (1, 1)), [1, 15, 255]);
    }
}
