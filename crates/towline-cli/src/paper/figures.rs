//! The paper's figures, each drawn once and written as SVG and PNG.

mod autocorrelation;
pub mod canvas;
mod frames;
mod png;
mod sample;
pub mod style;
mod typeset;

use super::result::Row;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Figure 1: a sample of the first test distribution. Returns the files written into `dir`.
pub fn sample(points: &[(f64, f64)], dir: &Path) -> Result<Vec<PathBuf>> {
    canvas::save(&sample::Sample { points }, dir, "figure1")
}

/// Figure 2 (test 1) or 3 (test 2): autocorrelations of x for six methods. Returns the files
/// written into `dir`; the panel of a method that `rows` lacks stays empty.
pub fn autocorrelations(test: u8, rows: &[Row], dir: &Path) -> Result<Vec<PathBuf>> {
    let figure = test + 1;
    let scene = autocorrelation::Autocorrelations { test, rows };
    canvas::save(&scene, dir, &format!("figure{figure}"))
}

/// Autocorrelation time against fast evaluations per slow one, plain drags and framed ones, both tests. Returns the
/// files written into `dir`.
pub fn frames(rows: &[Row], dir: &Path) -> Result<Vec<PathBuf>> {
    canvas::save(&frames::Frames { rows }, dir, "frames")
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use std::fs;

    fn folder(name: &str) -> PathBuf {
        let id = std::process::id();
        let dir = std::env::temp_dir().join(format!("towline-figures-{name}-{id}"));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Every tag closed in order, every attribute quoted: enough XML for what plotters writes.
    fn assert_well_formed(xml: &str) {
        let mut open = Vec::new();
        let mut rest = xml;
        while let Some(start) = rest.find('<') {
            let end = start + rest[start..].find('>').expect("an unclosed tag");
            let tag = &rest[start + 1..end];
            assert_eq!(tag.matches('"').count() % 2, 0, "unbalanced quotes: {tag}");
            let name = |tag: &str| tag.split_whitespace().next().unwrap().to_owned();
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed));
            } else if !tag.ends_with('/') {
                open.push(name(tag));
            }
            rest = &rest[end + 1..];
        }
        assert!(open.is_empty(), "never closed: {open:?}");
    }

    /// Width and height out of the header of a PNG.
    fn png_size(bytes: &[u8]) -> (u32, u32) {
        assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        (number(16), number(20))
    }

    #[test]
    fn the_sample_is_drawn_in_both_formats() {
        let dir = folder("sample");
        let files = sample(&fixture::points(), &dir).unwrap();
        assert_eq!(files, [dir.join("figure1.svg"), dir.join("figure1.png")]);
        let svg = fs::read_to_string(&files[0]).unwrap();
        assert_well_formed(&svg);
        assert!(svg.matches("<circle").count() >= 1000);
        let png = fs::read(&files[1]).unwrap();
        assert!(png.len() > 20_000);
        assert!(png_size(&png).0 >= 1000);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn autocorrelations_have_six_titled_panels_in_both_formats() {
        let dir = folder("autocorrelations");
        for test in [1, 2] {
            let files = autocorrelations(test, &fixture::rows(), &dir).unwrap();
            let svg = fs::read_to_string(&files[0]).unwrap();
            assert_well_formed(&svg);
            for title in [
                "Joint Metropolis",
                "Single-variable Metropolis",
                "Marginal Metropolis",
                "Dragging, 20 intermediate distributions",
                "Dragging, 100 intermediate distributions",
                "Dragging, 500 intermediate distributions",
            ] {
                assert!(svg.contains(title), "{title}");
            }
            assert_eq!(svg.matches("ACT = ").count(), 6);
            assert!(fs::read(&files[1]).unwrap().len() > 20_000);
        }
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn frames_are_drawn_for_both_tests_with_every_n() {
        let dir = folder("frames");
        let rows = [fixture::rows(), fixture::frames()].concat();
        let files = frames(&rows, &dir).unwrap();
        assert_eq!(files, [dir.join("frames.svg"), dir.join("frames.png")]);
        let svg = fs::read_to_string(&files[0]).unwrap();
        assert_well_formed(&svg);
        // Text stands on a line of its own in plotters' SVG.
        let count = |words: &str| svg.lines().filter(|line| *line == words).count();
        for n in [2, 5, 10, 20, 50, 100, 200, 500, 1000] {
            assert_eq!(count(&format!("n = {n}")), 2, "n = {n}");
        }
        assert_eq!(count("n = 1: y never moves"), 2);
        assert!(fs::read(&files[1]).unwrap().len() > 20_000);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_figure_without_its_rows_or_points_is_still_drawn() {
        let dir = folder("empty");
        assert_eq!(autocorrelations(1, &[], &dir).unwrap().len(), 2);
        assert_eq!(sample(&[], &dir).unwrap().len(), 2);
        assert_eq!(frames(&[], &dir).unwrap().len(), 2);
        fs::remove_dir_all(dir).unwrap();
    }
}
