//! Where a chain is: x with its slow cache, y, and the log density there.

use crate::error::Error;
use crate::fast::end::End;
use crate::fast::ledger::Buffers;
use crate::fast::nested::refine::Kept;
use crate::fast::step::Work;
use crate::frame::Frame;
use crate::frame::climb::Room;
use crate::frame::laplace::Searched;
use crate::linalg::Root;
use crate::target::Target;
use serde::{Deserialize, Serialize};

/// A frame found at some x, with the rule it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub key: u64,
    pub frame: Frame,
}

/// x and everything the slow computation at x left behind.
#[derive(Debug, Clone)]
pub(crate) struct Slow<C> {
    pub x: Vec<f64>,
    pub cache: C,
    /// Frames found here.
    pub frames: Vec<Placed>,
    /// The refined cache of the chain's y, where nested moves need one.
    pub kept: Kept<C>,
}

impl<C> Slow<C> {
    /// The target at this x, seen in a frame.
    pub fn end<'a, T: Target<Cache = C>>(&'a self, target: &'a T, frame: &'a Frame) -> End<'a, T> {
        End::new(target, &self.x, &self.cache, frame, self.kept.as_deref())
    }
}

/// What the next step needs, and nothing more.
#[derive(Debug, Clone)]
pub(crate) struct State<C> {
    pub slow: Slow<C>,
    pub y: Vec<f64>,
    pub log_density: f64,
}

impl<C> State<C> {
    /// The state at a start: its slow computation, and one fast evaluation.
    pub fn new<T: Target<Cache = C>>(
        target: &T,
        x: Vec<f64>,
        y: Vec<f64>,
        buffers: &mut Buffers,
    ) -> Result<Self, Error> {
        let Some(slow) = prepare(target, &x)? else {
            return Err(Error::OutsideSupport { x, y });
        };
        let log_density = evaluate(target, &slow, &y, buffers)?;
        if log_density == f64::NEG_INFINITY {
            return Err(Error::OutsideSupport { x, y });
        }
        Ok(Self {
            slow,
            y,
            log_density,
        })
    }
}

/// The slow computation; `None` where there is no mass.
pub(crate) fn prepare<T: Target>(target: &T, x: &[f64]) -> Result<Option<Slow<T::Cache>>, Error> {
    prepare_in(target, x, &mut Spare::default())
}

/// The same in memory that is no longer needed.
pub(crate) fn prepare_in<T: Target>(
    target: &T,
    x: &[f64],
    spare: &mut Spare,
) -> Result<Option<Slow<T::Cache>>, Error> {
    // Nothing that overflowed is shown to the model: it has no mass there.
    if x.iter().any(|v| !v.is_finite()) {
        return Ok(None);
    }
    let cache = target.prepare(x).map_err(|source| Error::Model {
        x: x.to_vec(),
        y: Vec::new(),
        source,
    })?;
    Ok(cache.map(|cache| {
        let mut place = spare.xs.pop().unwrap_or_default();
        place.extend_from_slice(x);
        Slow {
            x: place,
            cache,
            frames: spare.lists.pop().unwrap_or_default(),
            kept: None,
        }
    }))
}

/// One fast evaluation at a prepared x.
pub(crate) fn evaluate<T: Target>(
    target: &T,
    slow: &Slow<T::Cache>,
    y: &[f64],
    buffers: &mut Buffers,
) -> Result<f64, Error> {
    let value = target.log_density_in(&slow.cache, y, &mut buffers.scratch);
    if value.is_nan() || value == f64::INFINITY {
        return Err(Error::NotANumber {
            x: slow.x.clone(),
            y: y.to_vec(),
            value,
        });
    }
    Ok(value)
}

/// What rejected proposals and left places leave behind, so that the next proposal need not allocate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spare {
    xs: Vec<Vec<f64>>,
    lists: Vec<Vec<Placed>>,
    frames: Vec<Frame>,
}

impl Spare {
    /// Takes what is left of a place.
    pub fn take<C>(&mut self, slow: Slow<C>) {
        let Slow {
            mut x, mut frames, ..
        } = slow;
        // One of each is enough for one proposal at a time; a kernel has few frames.
        self.frames
            .extend(frames.drain(..).map(|placed| placed.frame));
        self.frames.truncate(4);
        if self.xs.is_empty() {
            x.clear();
            self.xs.push(x);
            self.lists.push(frames);
        }
    }

    /// A frame that is no longer needed, by the same kind of root where there is one.
    pub fn frame(&mut self, inverted: bool) -> Option<Frame> {
        let same = |frame: &Frame| match frame {
            Frame::Affine { root, .. } => matches!(root, Root::Inverted(_)) == inverted,
            Frame::Identity => false,
        };
        let k = self.frames.iter().position(same)?;
        Some(self.frames.swap_remove(k))
    }
}

/// Memory that steps use and leave meaningless, so that they need not allocate.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub x: Vec<f64>,
    pub z: Vec<f64>,
    pub spare: Vec<f64>,
    pub moves: Work<Vec<f64>>,
    pub buffers: Buffers,
    pub room: Room,
    pub left: Spare,
    /// Where slow evaluations were made and what they told of the marginal, while warm-up wants to know.
    pub sightings: Option<Vec<Sighting>>,
}

/// A slow evaluation at which a Laplace frame was sought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sighting {
    pub x: Vec<f64>,
    /// Laplace's estimate of the log marginal; `None` where no mode was found.
    pub log_marginal: Option<f64>,
    /// The mode, where one was found and there are few enough fast variables for it to be kept.
    pub mode: Option<Vec<f64>>,
}

/// With more fast variables than this, modes are not kept.
pub(crate) const MOST_KEPT: usize = 24;

impl Sighting {
    pub fn new(x: &[f64], found: &Searched) -> Self {
        let begin = found.begin().filter(|y| y.len() <= MOST_KEPT);
        let mode = begin.map(<[f64]>::to_vec);
        Self {
            x: x.to_vec(),
            log_marginal: found.log_marginal,
            mode: mode.filter(|_| found.log_marginal.is_some()),
        }
    }
}

impl Workspace {
    pub fn note_sighting(&mut self, x: &[f64], found: &Searched) {
        if let Some(sightings) = &mut self.sightings {
            sightings.push(Sighting::new(x, found));
        }
    }

    pub fn new(slow_dim: usize, fast_dim: usize) -> Self {
        Self {
            x: vec![0.0; slow_dim],
            z: vec![0.0; fast_dim],
            spare: vec![0.0; fast_dim],
            moves: Work::new(fast_dim),
            buffers: Buffers::new(fast_dim),
            room: Room::default(),
            left: Spare::default(),
            sightings: None,
        }
    }
}
