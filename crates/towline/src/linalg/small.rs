//! Small vectors and matrices, row by row: one dot product, one distance, one symmetrisation, one hash.

/// The dot product of `a` with the head of `b`.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The squared distance.
pub(crate) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
}

/// So many of some points, each the furthest from those before it; it begins with the last.
pub(crate) fn farthest<P: AsRef<[f64]>>(points: &[P], most: usize) -> Vec<usize> {
    let mut gaps = vec![f64::INFINITY; points.len()];
    let mut chosen = Vec::new();
    while chosen.len() < most.min(points.len()) {
        let Some(k) = (0..points.len()).max_by(|&a, &b| gaps[a].total_cmp(&gaps[b])) else {
            break;
        };
        for (gap, point) in gaps.iter_mut().zip(points) {
            *gap = gap.min(squared_distance(point.as_ref(), points[k].as_ref()));
        }
        chosen.push(k);
    }
    chosen
}

/// Makes a square matrix its own transpose.
pub(crate) fn transpose(matrix: &mut [f64], dim: usize) {
    for j in 0..dim {
        for k in 0..j {
            matrix.swap(j * dim + k, k * dim + j);
        }
    }
}

/// Takes the mean of a square matrix and its transpose.
pub(crate) fn symmetrise(matrix: &mut [f64], dim: usize) {
    for j in 0..dim {
        for k in 0..j {
            let mean = 0.5 * (matrix[j * dim + k] + matrix[k * dim + j]);
            matrix[j * dim + k] = mean;
            matrix[k * dim + j] = mean;
        }
    }
}

/// The constants of FNV-1a hashing: what a hash begins with, and what it is multiplied by.
pub(crate) const HASH_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// A hash of these numbers, after what was hashed before.
pub(crate) fn hashed(begun: u64, numbers: impl Iterator<Item = f64>) -> u64 {
    numbers.flat_map(f64::to_le_bytes).fold(begun, |key, byte| {
        (key ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    })
}

/// Room for a few numbers on the stack, for many on the heap.
pub(crate) enum SmallBuffer {
    Stack([f64; 8], usize),
    Heap(Vec<f64>),
}

impl SmallBuffer {
    pub fn new(len: usize) -> Self {
        if len <= 8 {
            Self::Stack([0.0; 8], len)
        } else {
            Self::Heap(vec![0.0; len])
        }
    }

    pub fn as_mut(&mut self) -> &mut [f64] {
        match self {
            Self::Stack(array, len) => &mut array[..*len],
            Self::Heap(vector) => vector,
        }
    }
}
