//! A triangulated mesh over places in the plane, and the matrices of linear finite elements on it.
//!
//! Nodes lie on a triangular lattice around the data, and on a coarser one farther out, where a field would otherwise feel
//! its boundary (Lindgren, Rue and Lindström 2011). Delaunay's triangulation is the crate spade's.

use super::Symmetric;
use spade::{DelaunayTriangulation, Point2, Triangulation};

/// A mesh.
#[derive(Debug)]
pub(crate) struct Mesh {
    pub points: Vec<[f64; 2]>,
    triangles: DelaunayTriangulation<Point2<f64>>,
}

/// How far the coarse part of the mesh reaches, in lengths of the data's diagonal.
const OUTSKIRTS: f64 = 0.4;
/// How much coarser it is.
const COARSER: f64 = 3.0;
/// Triangles whose area is this small beside the square of their longest edge have no weight.
const FLAT: f64 = 1e-9;

impl Mesh {
    /// A mesh around some places with this distance between its nodes; `None` where the places lie on a line.
    pub fn around(places: &[[f64; 2]], edge: f64) -> Option<Self> {
        let of = |k: usize| places.iter().map(move |p| p[k]);
        let low = [0, 1].map(|k| of(k).fold(f64::INFINITY, f64::min));
        let high = [0, 1].map(|k| of(k).fold(f64::NEG_INFINITY, f64::max));
        let diagonal = ((high[0] - low[0]).powi(2) + (high[1] - low[1]).powi(2)).sqrt();
        if diagonal <= 0.0 || on_a_line(places, diagonal) {
            return None;
        }
        let hull = hull(places);
        let reach = OUTSKIRTS * diagonal;
        let mut points = Vec::new();
        lattice(low, high, edge, 1.5 * edge, &mut |p| {
            if distance(&hull, p) <= 1.5 * edge {
                points.push(p);
            }
        });
        lattice(low, high, COARSER * edge, reach, &mut |p| {
            let away = distance(&hull, p);
            if away > 2.5 * edge && away <= reach {
                points.push(p);
            }
        });
        let mut triangles: DelaunayTriangulation<Point2<f64>> = DelaunayTriangulation::new();
        for p in points {
            // Numbers that a triangulation cannot hold are far outside what coordinates are.
            triangles.insert(Point2::new(p[0], p[1])).ok()?;
        }
        let points = triangles
            .vertices()
            .map(|v| [v.position().x, v.position().y])
            .collect();
        Some(Self { points, triangles })
    }

    /// The nodes of the triangle around a place and their weights; `None` outside the mesh.
    pub fn at(&self, place: [f64; 2]) -> Option<Vec<(u32, f64)>> {
        use spade::PositionInTriangulation::{OnEdge, OnFace, OnVertex};
        let point = Point2::new(place[0], place[1]);
        match self.triangles.locate(point) {
            OnVertex(vertex) => Some(vec![(vertex.index() as u32, 1.0)]),
            OnEdge(edge) => {
                let edge = self.triangles.directed_edge(edge);
                let [a, b] = edge.vertices();
                let (p, q) = (a.position(), b.position());
                let along = (q.x - p.x, q.y - p.y);
                let square = along.0 * along.0 + along.1 * along.1;
                let share = ((point.x - p.x) * along.0 + (point.y - p.y) * along.1) / square;
                Some(vec![
                    (a.fix().index() as u32, 1.0 - share),
                    (b.fix().index() as u32, share),
                ])
            }
            OnFace(face) => {
                let face = self.triangles.face(face);
                let nodes = face.vertices().map(|v| v.fix().index());
                let [p, q, r] = nodes.map(|k| self.points[k]);
                let area = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
                    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
                };
                let whole = area(p, q, r);
                let parts = [area(place, q, r), area(p, place, r), area(p, q, place)];
                Some(
                    (0..3)
                        .map(|k| (nodes[k] as u32, parts[k] / whole))
                        .collect(),
                )
            }
            _ => None,
        }
    }

    /// The lumped masses of the nodes, and the stiffness matrix.
    pub fn elements(&self) -> (Vec<f64>, Symmetric) {
        let mut mass = vec![0.0; self.points.len()];
        let mut stiffness = Symmetric::default();
        for face in self.triangles.inner_faces() {
            let nodes = face.vertices().map(|v| v.fix().index());
            let [p, q, r] = nodes.map(|k| self.points[k]);
            // Each edge stands opposite to a node.
            let edges = [
                [r[0] - q[0], r[1] - q[1]],
                [p[0] - r[0], p[1] - r[1]],
                [q[0] - p[0], q[1] - p[1]],
            ];
            let area = 0.5 * (edges[0][0] * edges[1][1] - edges[0][1] * edges[1][0]).abs();
            let longest = edges
                .iter()
                .map(|e| e[0] * e[0] + e[1] * e[1])
                .fold(0.0, f64::max);
            if area <= FLAT * longest {
                continue;
            }
            for a in 0..3 {
                mass[nodes[a]] += area / 3.0;
                for b in 0..=a {
                    let product = edges[a][0] * edges[b][0] + edges[a][1] * edges[b][1];
                    stiffness.add(nodes[a], nodes[b], product / (4.0 * area));
                }
            }
        }
        (mass, stiffness)
    }
}

/// Points of a triangular lattice in a box with a margin.
fn lattice(low: [f64; 2], high: [f64; 2], edge: f64, margin: f64, each: &mut dyn FnMut([f64; 2])) {
    let height = edge * 0.75f64.sqrt();
    let rows = ((high[1] - low[1] + 2.0 * margin) / height).ceil() as usize;
    let columns = ((high[0] - low[0] + 2.0 * margin) / edge).ceil() as usize;
    for j in 0..=rows {
        let shift = if j % 2 == 0 { 0.0 } else { 0.5 * edge };
        for i in 0..=columns {
            each([
                low[0] - margin + shift + i as f64 * edge,
                low[1] - margin + j as f64 * height,
            ]);
        }
    }
}

/// The convex hull (Andrew's monotone chain), counter-clockwise.
fn hull(places: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted = places.to_vec();
    sorted.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    sorted.dedup();
    let turn = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    };
    let half = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for p in points {
            while chain.len() > 1 && turn(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0.0
            {
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut all = half(&mut sorted.iter().copied());
    all.extend(half(&mut sorted.iter().rev().copied()));
    all
}

/// How far a point lies outside a convex polygon; 0 inside.
fn distance(hull: &[[f64; 2]], p: [f64; 2]) -> f64 {
    let mut nearest = f64::INFINITY;
    let mut inside = true;
    for (k, a) in hull.iter().enumerate() {
        let b = hull[(k + 1) % hull.len()];
        let along = [b[0] - a[0], b[1] - a[1]];
        let to = [p[0] - a[0], p[1] - a[1]];
        if along[0] * to[1] - along[1] * to[0] < 0.0 {
            inside = false;
        }
        let square = along[0] * along[0] + along[1] * along[1];
        let share = ((to[0] * along[0] + to[1] * along[1]) / square).clamp(0.0, 1.0);
        let off = [to[0] - share * along[0], to[1] - share * along[1]];
        nearest = nearest.min((off[0] * off[0] + off[1] * off[1]).sqrt());
    }
    if inside { 0.0 } else { nearest }
}

/// Whether all places lie on one line.
fn on_a_line(places: &[[f64; 2]], diagonal: f64) -> bool {
    let first = places[0];
    let far = |p: &[f64; 2]| (p[0] - first[0]).powi(2) + (p[1] - first[1]).powi(2);
    let other = places
        .iter()
        .copied()
        .max_by(|a, b| far(a).total_cmp(&far(b)))
        .unwrap_or(first);
    let along = [other[0] - first[0], other[1] - first[1]];
    let length = (along[0] * along[0] + along[1] * along[1]).sqrt();
    let off =
        |p: &[f64; 2]| ((p[0] - first[0]) * along[1] - (p[1] - first[1]) * along[0]).abs() / length;
    places.iter().all(|p| off(p) < 1e-9 * diagonal)
}
