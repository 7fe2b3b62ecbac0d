//! Distances between places: straight lines, or along the surface of the Earth.

use serde::{Deserialize, Serialize};

/// How far apart two places are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// A straight line, in the units of the coordinates.
    #[default]
    Euclidean,
    /// A great circle on a sphere of the Earth's mean radius, in kilometres; the coordinates are longitude and latitude
    /// in degrees.
    GreatCircle,
    /// A straight line through that sphere, between the same: every covariance of straight lines is one of chords, which
    /// cannot be said of great circles (Gneiting 2013).
    Chord,
}

impl Distance {
    /// Every distance.
    pub const ALL: [Self; 3] = [Self::Euclidean, Self::GreatCircle, Self::Chord];

    /// Its name, as a model file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::GreatCircle => "great_circle",
            Self::Chord => "chord",
        }
    }

    /// The distance between two (longitude, latitude) in degrees, in kilometres; not for straight lines in the plane.
    pub(crate) fn on_earth(self, a: [f64; 2], b: [f64; 2]) -> f64 {
        let arc = great_circle(a, b);
        match self {
            Self::Chord => 2.0 * EARTH_RADIUS * (0.5 * arc / EARTH_RADIUS).sin(),
            _ => arc,
        }
    }
}

/// The Earth's mean radius in kilometres (IUGG).
pub const EARTH_RADIUS: f64 = 6_371.008_8;

/// The great-circle distance between two (longitude, latitude) in degrees, in kilometres, by the haversine formula:
/// right for near places too.
pub fn great_circle(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [lon_a, lat_a] = a.map(f64::to_radians);
    let [lon_b, lat_b] = b.map(f64::to_radians);
    let half = |t: f64| (0.5 * t).sin().powi(2);
    let h = half(lat_b - lat_a) + lat_a.cos() * lat_b.cos() * half(lon_b - lon_a);
    2.0 * EARTH_RADIUS * h.sqrt().min(1.0).asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn great_circles_are_right_near_and_far() {
        let degree = EARTH_RADIUS.to_radians() * 1.0;
        assert!((great_circle([0.0, 0.0], [1.0, 0.0]) - degree).abs() < 1e-9);
        assert!((great_circle([10.0, 60.0], [10.0, 61.0]) - degree).abs() < 1e-9);
        assert!((great_circle([0.0, 0.0], [180.0, 0.0]) - 180.0 * degree).abs() < 1e-6);
        assert_eq!(great_circle([5.0, 5.0], [5.0, 5.0]), 0.0);
        // Across the date line.
        assert!((great_circle([179.5, 0.0], [-179.5, 0.0]) - degree).abs() < 1e-9);
        // A metre.
        let metre = 1e-3 / degree;
        assert!((great_circle([0.0, 50.0], [0.0, 50.0 + metre]) / 1e-3 - 1.0).abs() < 1e-6);
    }
}
