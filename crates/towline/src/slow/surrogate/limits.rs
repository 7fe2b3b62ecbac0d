//! The constants of judgement of the surrogate, each with its reason.

/// The bulk: points no further below the mode than this share of a Gaussian's draws would be.
pub const BULK_SHARE: f64 = 0.975;

/// Below the bulk a point's weight falls as exp(−rate × log units): the square root of what
/// its density loses, so that rejected proposals still say where the density ends.
pub const WEIGHT_RATE: f64 = 0.5;

/// Points this many log units below the bulk are dropped: their weight would be e⁻⁶, and no smooth
/// function of low degree follows a density that far down.
pub const HOPELESS: f64 = 12.0;

/// Points without mass count as lying so far below the (heated) bulk.
pub const BARRED_DEPTH: f64 = 2.0;

/// Of them, at most so many take part in a process.
pub const MOST_BARRED: usize = 100;

/// The best value must have this share of all points within reach below it, or it is a failed estimate.
pub const COMPANY_SHARE: f64 = 0.02;

/// The correction is followed out to the distance within which this share of the bulk lies:
/// not the furthest point, which one odd estimate could put anywhere.
pub const RADIUS_SHARE: f64 = 0.995;

/// With more slow variables than this the mass of a normal lies in a shell far from its mode, and the curvature at the mode comes from
/// differences: exploring begins in the (heated) shell, and heated tails are kept from running away.
pub const MANY_SLOW: usize = 8;

/// Points up to this multiple of the radius still take part in the fit, so that the edge is not extrapolated.
pub const FIT_REACH: f64 = 1.5;

/// The correction may pass what was seen by this many log units and no more.
pub const MARGIN: f64 = 1.0;

/// The rate at which the share of draws falls with distance in the tails. A Gaussian's falls at about 2.5 where
/// the bulk ends and faster beyond; skewed marginals have tails that fall at 1 to 2, and where the surrogate's are
/// lighter than the marginal's, a chain gets stuck. Costs a few hundredths of the acceptances.
pub const TAIL_RATE: f64 = 0.75;

/// A surrogate whose own draws have a mean further from zero than this, or a covariance further from the identity (in any entry), was
/// whitened badly: the moments of a short chain may be far off where there is a long tail. It is fitted again, whitened by its own.
pub const WHITE: f64 = 0.35;

/// So often at most.
pub const WHITENINGS: usize = 3;

/// Degrees of the polynomials tried.
pub const DEGREES: [usize; 3] = [2, 3, 4];

/// Points needed per coefficient of a polynomial.
pub const POINTS_PER_COEFFICIENT: f64 = 2.5;

/// No more coefficients than this: the work grows as the cube, and this many take about a second.
pub const MOST_COEFFICIENTS: usize = 700;

/// Ridges tried on the coefficients of degree three and more, in units of one observation per squared
/// unit of the normalised Hermite coefficient. The first is there for exact data.
pub const RIDGES: [f64; 4] = [1e-9, 0.03, 0.3, 3.0];

/// A relative ridge on every coefficient, against collinear points; far below any misfit.
pub const TINY_RIDGE: f64 = 1e-12;

/// Folds of the cross-validation.
pub const FOLDS: usize = 5;

/// Points that a Gaussian process is made of: evaluation costs some 8 ns for each.
pub const PROCESS_POINTS: usize = 300;

/// A Gaussian process is not tried with fewer.
pub const PROCESS_FEWEST: usize = 30;

/// Points on which the length and the nugget of the process are chosen (work: their cube, for each pair).
pub const HYPER_POINTS: usize = 150;

/// Length scales tried, in whitened units, where the bulk has size one in each direction.
pub const LENGTHS: [f64; 6] = [0.6, 1.0, 1.7, 2.8, 4.6, 7.7];

/// Nuggets tried, as shares of the variance of the process.
pub const NUGGETS: [f64; 4] = [1e-6, 1e-4, 1e-2, 0.1];

/// A cheaper candidate is taken when its error is within this factor and this many log units of the
/// best: an rms of 0.02 costs a hundredth of the acceptances.
pub const TOLERANCE: (f64, f64) = (1.1, 0.02);

/// Disagreements and errors count up to this: a proposal e⁻⁴ wrong is lost whatever the rest is.
pub const WORST_ERROR: f64 = 4.0;

/// The first interval of a slice along a ray, in ln |w| and times √d: the spread of ln |w| under a Gaussian is
/// about 0.7/√d, and a slice is a few times that.
pub const RAY_WIDTH: f64 = 2.0;

/// Numbers of moves per proposal that may be chosen. All odd: ellipse, ray, …, ellipse is a palindrome.
pub const MOVES: [usize; 7] = [5, 7, 9, 13, 19, 29, 45];

/// The memory of its start with which a proposal may be left: the largest correlation of w, |w|² and the
/// log density, start with end. It adds twice itself to the autocorrelation time.
pub const MEMORY: f64 = 0.05;

/// Starts, two moves apart, from which the memory of the chosen candidate is measured, to about 0.02.
pub const TRIAL_STARTS: usize = 4000;

/// Starts for a candidate that is only looked at.
pub const LOOK_STARTS: usize = 600;

/// The same while exploring.
pub const ROUGH_STARTS: usize = 200;

/// Moves before them, from the best point.
pub const TRIAL_BURN: usize = 100;

/// One in so many of the points is used to see whether the folds agree there.
pub const TRIAL_STRIDE: usize = 5;

/// Draws that the mixture of the jumps is fitted to, the most parts it has, and draws for each part and variable.
pub const JUMP_DRAWS: usize = 1500;
pub const JUMP_PARTS: usize = 24;
pub const PART_DRAWS: usize = 15;

/// Rounds in which its parts are moved to the middle of their draws.
pub const JUMP_ROUNDS: usize = 8;

/// Its parts are wider than their draws, in variance: a proposal must cover what it proposes for.
pub const JUMP_SPREAD: f64 = 1.3;

/// With more slow variables, jumps are hardly ever accepted.
pub const JUMP_MOST_SLOW: usize = 12;

/// A chain that needs no more moves than this without jumps does without them.
pub const JUMPLESS_MOVES: usize = 9;

/// Places from which a first chain starts, each the furthest from those before it.
pub const LOOK_PLACES: usize = 10;

/// Half of the draws that jumps are fitted to come from the surrogate heated so many times, so many from each of those places.
pub const JUMP_HEAT: f64 = 2.5;
pub const HOT_DRAWS: usize = 80;

/// Moves before the first heated draw, and between two.
pub const HEATED_BURN: usize = 101;
/// Draws that a first heated chain makes from each of a few places, for the jumps of the next.
pub const HEATED_LOOK: usize = 120;
pub const HEATED_STRIDE: usize = 10;

/// The seed of the trial chain: the fit is a function of the visits alone.
pub const TRIAL_SEED: u64 = 0x70_77_6c_69_6e_65;

/// Bent coordinates are tried where straight ones leave an error above this, and taken where theirs is below this share of it.
pub const BENT_ABOVE: f64 = 0.06;
pub const BENT_SHARE: f64 = 0.8;

/// Points for each number of a bend.
pub const POINTS_PER_BEND: f64 = 3.0;

/// Of more points than this, and than so many for each of its numbers, a bend is fitted to some, evenly through their order: its work grows with
/// points times the square of its numbers, and the rest would change little.
pub const BEND_POINTS: usize = 1000;
pub const BEND_POINTS_EACH: f64 = 8.0;

/// With more slow variables than this, no products of two of them bend a third: there would be too many numbers.
pub const BEND_CROSSED: usize = 5;

/// Up to so many slow variables, all orders of them are tried.
pub const BEND_ORDERS: usize = 3;

/// Rounds in which orders are compared; the best goes on.
pub const BEND_FIRST_ROUNDS: usize = 8;

/// Rounds of its fit, the share by which a round must lower the error to be followed by another, and the error, in log units, from which on
/// it counts as it is and not as its square: far down in a tail no bend is right, and none should be bent for it.
pub const BEND_ROUNDS: usize = 40;
pub const BEND_FALL: f64 = 1e-4;
pub const BEND_CLIP: f64 = 1.0;

/// A small pull of a bend's numbers, as a share of the points.
pub const BEND_RIDGE: f64 = 1e-6;

/// What bends the others is followed out to so many times where it was seen: a tail that leaves the bend would never be reached.
pub const BEND_REACH: f64 = 4.0;

/// Scales change by at most the exponential of this, either way.
pub const BEND_LOG_SCALE: f64 = 9.0;

/// Mixtures of bent normals are tried where everything else leaves an error above this, with up to so many parts and slow variables: beyond, the
/// points say too little of each part.
pub const MIXED_ABOVE: f64 = 0.15;
pub const MIXED_PARTS: usize = 6;
pub const MIXED_MOST_SLOW: usize = 8;

/// A point is missed where the mixture is so many log units below it; a new part needs so many missed points, and so many for each variable.
pub const MISSED: f64 = 1.0;
pub const MISSED_FEWEST: [usize; 2] = [6, 3];

/// A part begins with one of these shares of the missed points, those nearest to the highest of them, and grows so many times.
pub const NEAREST: [f64; 2] = [0.25, 0.1];
pub const GROWN: usize = 4;

/// Where a part has no more than this share of the density, its numbers are not moved by the point.
pub const NO_SHARE: f64 = 1e-6;

/// Rounds of the fit of all parts together, and of the same without a fold, which begins where that ended.
pub const MIXED_ROUNDS: usize = 40;
pub const MIXED_FOLD_ROUNDS: usize = 10;

/// Mixtures that are judged by folds, those that leave least at the points.
pub const MIXED_JUDGED: usize = 4;

/// A mixture of one part more is judged where it lowers the error at the points to this share.
pub const MIXED_FALL: f64 = 0.85;

/// Knots of the map of one variable, and of the only one.
pub const WARP_KNOTS: usize = 9;
pub const WARP_KNOTS_OF_ONE: usize = 24;

/// Rounds of the fit of maps.
pub const WARP_ROUNDS: usize = 60;

/// What a kink of ln g′ by one unit at a knot costs beside the squared error of one log unit at every point: maps are smooth where points do not
/// say otherwise.
pub const WARP_SMOOTH: f64 = 3e-4;

/// Derivatives of maps are within the exponential of this of one over the standard deviation, either way.
pub const WARP_LOG_SCALE: f64 = 5.0;

/// A wall is where so many points without mass lie together beyond all those with mass.
pub const FACE_COMPANY: usize = 3;

/// Points from which a face is looked for, and rounds in which each is tried and the one that is taken is found exactly.
pub const FACE_TRIES: usize = 24;
pub const FACE_ROUNDS: [usize; 2] = [80, 400];

/// A face is good enough where its gap is the widest to these shares of itself: of those that are tried, and of the one that is taken.
pub const FACE_EXACT: [f64; 2] = [0.1, 0.01];

/// Walls are looked for among up to so many slow variables, and points without mass are those so many log units below the bulk.
pub const FACE_MOST_SLOW: usize = 8;
pub const FACE_FALL: f64 = 100.0;

/// Beyond a wall the surrogate is so many log units lower: a chain that is there all the same (a wall put a little too near) may leave.
pub const FACE_DEPTH: f64 = 5.0;

/// The same before it is heated, so that visits hardly go there.
pub const FACE_DEPTH_HEATED: f64 = 12.0;

/// Where the distance from the centre has a function of its own, its knots lie at these quantiles of the distances seen, and at zero.
pub const RADIAL_QUANTILES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Beyond the radius a tail that was seen to fall as a power of the distance is followed with that power, times this (a little too heavy does no
/// harm), and with no less than this above the number of variables: it must have an end.
pub const POWER_SHARE: f64 = 0.95;
pub const POWER_LEAST: f64 = 0.3;

/// Points count as tail from this multiple of the radius on.
pub const TAIL_FROM: f64 = 1.2;
