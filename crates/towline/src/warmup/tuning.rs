//! What warm-up learned, as plain data: it can be saved, read, and given to another run.

use crate::chain::health::FrameHealth;
use crate::chain::parts::MixRecord;
use crate::error::Error;
use crate::fast::moves::{CrankNicolson, FastMove, Slice};
use crate::frame::anchors::Anchors;
use crate::frame::laplace::{Curvature, Laplace};
use crate::frame::{FrameRule, Linear};
use crate::kernel::{Drag, FastOnly, Kernel};
use crate::linalg::Factor;
use crate::slow::proposal::SlowProposal;
use crate::slow::surrogate::Surrogate;
use crate::warmup::{Prices, UNLEARNED, UNSETTLED};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Everything that warm-up decided; frozen from then on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The mean of x.
    pub centre: Vec<f64>,
    /// The root of x's covariance.
    pub slow: Factor,
    /// The random walk's step in units of that root.
    pub scale: f64,
    /// The linear frame: how y follows x.
    pub linear: Linear,
    /// Where searches for modes begin.
    #[serde(default)]
    pub anchors: Arc<Anchors>,
    /// The settings of the main drag.
    pub main: Setting,
    /// The settings of the drags that are always mixed in: in the linear frame, or where that is the main one, in a searched frame.
    pub safe: Setting,
    /// The share of steps given to the main drag with a learned proposal, to the main drag with a random
    /// walk, and to the safe one.
    pub shares: [f64; 3],
    /// The learned proposal, where one pays.
    pub surrogate: Option<Surrogate>,
    /// Fast-only moves after every slow one.
    pub extra: usize,
    /// What these are, where they are not the main drag's inner move.
    #[serde(default)]
    pub alone: Option<FastMove>,
    /// What evaluations cost, as warm-up took it.
    pub prices: Prices,
    /// What was tried, and what it was worth.
    pub trials: Vec<Trial>,
    /// What a reader should worry about.
    pub notes: Vec<String>,
    /// What a reader may want to know, and need not worry about.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Slices along the fast variables themselves, each along one of them, after every slow step: the frame does not know of them.
    #[serde(default)]
    pub along: usize,
}

/// How to drag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The frame.
    pub frame: FrameKind,
    /// The number of intervals.
    pub n: usize,
    /// The inner move, in the frame's coordinates.
    pub inner: FastMove,
}

/// Which of the learned frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameKind {
    /// The linear frame.
    Linear,
    /// The mode at each x with its own curvature.
    Laplace,
    /// The mode at each x with the learned curvature.
    Mode,
    /// The target's own.
    Own,
    /// The mode at each x with its own widths along learned axes: for many fast variables.
    Axes,
    /// The mode at each x where that may lie at walls, with widths along the variables.
    Walls,
}

/// One of the kernels that a tuning mixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The main drag with the learned proposal.
    Learned,
    /// The main drag with a random walk.
    Walk,
    /// The drag that is always mixed in.
    Safe,
}

/// One of the settings that warm-up tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The frame.
    pub frame: FrameKind,
    /// The number of intervals.
    pub n: usize,
    /// Whether x was proposed by the surrogate.
    pub learned_proposal: bool,
    /// Effective draws per step, as the expected squared jump of x foretells.
    pub effective: f64,
    /// What a step costs, in fast evaluations.
    pub cost: f64,
    /// The mean probability of acceptance.
    pub acceptance: f64,
}

impl Trial {
    /// Effective draws per unit of cost.
    pub fn worth(&self) -> f64 {
        self.effective / self.cost
    }
}

impl Tuning {
    /// The kernel that these settings stand for.
    ///
    /// # Errors
    /// Where settings read from a file do not make sense.
    pub fn kernel(&self) -> Result<Kernel, Error> {
        let mut parts = Vec::new();
        let walk = SlowProposal::RandomWalk(self.slow.scaled(self.scale));
        for part in self.parts() {
            match (part, &self.surrogate) {
                (Part::Learned, Some(surrogate)) => {
                    parts.push((self.shares[0], self.learned_drag(surrogate)?));
                }
                (Part::Learned, None) => {}
                (Part::Walk, _) => {
                    parts.push((self.shares[1], self.drag(&self.main, walk.clone())?.into()));
                }
                (Part::Safe, _) => {
                    parts.push((self.shares[2], self.drag(&self.safe, walk.clone())?.into()));
                }
            }
        }
        let mut cycle = Vec::new();
        match parts.len() {
            0 => {}
            1 => cycle.extend(parts.into_iter().map(|part| part.1)),
            _ => cycle.push(Kernel::Mix(parts)),
        }
        if self.linear.fast_dim() > 0 && self.extra > 0 {
            cycle.push(self.extra_moves());
            cycle.extend(self.moves_along());
        }
        match cycle.len() {
            1 => Ok(cycle.remove(0)),
            _ => Ok(Kernel::Cycle(cycle)),
        }
    }

    /// A watch over the frames of a chain with this tuning, for
    /// [`Chain::watching`](crate::Chain::watching).
    pub fn frame_health(&self) -> FrameHealth {
        FrameHealth::new(&self.centre, &self.sds())
    }

    /// A record of what each kernel of the mix does in a chain with this tuning, for
    /// [`Chain::comparing`](crate::Chain::comparing).
    pub fn mix_record(&self) -> MixRecord {
        let parts = self.parts();
        let learned = parts.first() == Some(&Part::Learned);
        MixRecord::new(&self.centre, &self.sds(), parts.len(), learned)
    }

    /// Whether exploring ended without predicting fresh visits: what it has learned may leave out more than trials near the top show.
    pub(crate) fn is_unsure(&self) -> bool {
        let said = |remark: &String| remark == UNSETTLED || remark == UNLEARNED;
        self.remarks.iter().any(said)
    }

    /// The standard deviations of x.
    fn sds(&self) -> Vec<f64> {
        let covariance = self.slow.covariance();
        let p = self.centre.len();
        (0..p).map(|k| covariance[k * p + k].sqrt()).collect()
    }

    /// The kernels that are mixed, in their order there.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let shares = [Part::Learned, Part::Walk, Part::Safe].into_iter();
        shares
            .zip(self.shares)
            .filter(|(part, share)| match part {
                Part::Learned => *share > 0.0 && self.surrogate.is_some(),
                _ => *share > 0.0,
            })
            .filter(|_| !self.centre.is_empty())
            .map(|(part, _)| part)
            .collect()
    }

    /// The main drag with a learned proposal.
    pub(crate) fn learned_drag(&self, surrogate: &Surrogate) -> Result<Kernel, Error> {
        let learned = SlowProposal::Surrogate(Box::new(surrogate.clone()));
        Ok(self.drag(&self.main, learned)?.into())
    }

    /// The fast-only moves after every slow one.
    pub(crate) fn extra_moves(&self) -> Kernel {
        let alone = self.alone.as_ref().unwrap_or(&self.main.inner);
        let extra = FastOnly::new(alone.clone(), self.extra);
        Kernel::FastOnly(extra.in_frame(self.rule(self.main.frame)))
    }

    /// The slices along the fast variables.
    ///
    /// A frame couples variables as they are coupled at its centre. Where they are not, as near a wall that one of them is measured from in logarithms,
    /// moves in the frame take the others along and are refused.
    pub(crate) fn moves_along(&self) -> Option<Kernel> {
        let widths = self.linear.root().sds().iter().map(|sd| 2.0 * sd).collect();
        let slices = FastMove::Slice(Slice::new(widths));
        (self.along > 0).then(|| Kernel::FastOnly(FastOnly::new(slices, self.along)))
    }

    /// One drag with these settings.
    pub(crate) fn drag(&self, setting: &Setting, proposal: SlowProposal) -> Result<Drag, Error> {
        Ok(if self.linear.fast_dim() == 0 {
            Drag::without_fast(proposal)
        } else {
            Drag::new(setting.n, proposal, setting.inner.clone())?
                .in_frame(self.rule(setting.frame))
        })
    }

    /// The rule of a frame.
    pub(crate) fn rule(&self, kind: FrameKind) -> FrameRule {
        match kind {
            FrameKind::Linear => FrameRule::Linear(self.linear.clone()),
            FrameKind::Walls => self.searched(Curvature::Walls),
            FrameKind::Laplace => self.searched(Curvature::Local),
            FrameKind::Axes => self.searched(Curvature::Axes),
            FrameKind::Mode => self.searched(Curvature::Learned),
            FrameKind::Own => self.searched(Curvature::Own),
        }
    }

    /// From where the anchors' modes are counted: at walls, which a slope would cross, from one place.
    pub(crate) fn base(&self) -> Linear {
        match self.main.frame {
            FrameKind::Walls => self.linear.level(),
            _ => self.linear.clone(),
        }
    }

    fn searched(&self, curvature: Curvature) -> FrameRule {
        let laplace = Laplace::new(self.linear.clone(), curvature);
        FrameRule::Laplace(Box::new(laplace.anchored(self.anchors.clone())))
    }

    /// The inner move to begin with: an independent draw in the frame.
    pub(crate) fn first_inner() -> FastMove {
        FastMove::CrankNicolson(CrankNicolson::new(0.7))
    }
}
