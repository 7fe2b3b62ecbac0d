//! All constants of judgement of warm-up, one module for each file that uses them.

/// What the stages take, and what is believed after them.
pub(super) mod stages {
    /// Slow evaluations that a chain's warm-up is said to take: what is asked for is measured against this.
    pub const SLOW_BASE: usize = 400;
    pub const SLOW_EACH: usize = 150;
    /// The search: of each chain that has a start of its own.
    pub const SEARCH: [usize; 2] = [120, 45];
    /// Exploring, all chains together: at most so many, and so many for every slow variable up to eight; beyond that, differences
    /// for a covariance (their number is the square of the variables) twice over. Shapes that are easy to learn take a fraction of it.
    pub const EXPLORE: [usize; 2] = [300, 300];
    /// The same for one slow variable, which has no shape to find: more would only make its far tails exact.
    pub const EXPLORE_ONE: usize = 300;
    /// The window, the trials and the last window, all chains together.
    pub const WINDOW: [usize; 2] = [80, 20];
    pub const TRIALS: [usize; 2] = [100, 10];
    pub const LAST: [usize; 2] = [100, 20];
    /// Many fast variables leave more to learn: what Laplace's estimate misses adds up (unless it is seen to miss little).
    pub const MANY_TIMES: usize = 4;
    /// No chain takes fewer steps in a stage.
    pub const FEWEST: usize = 16;
    /// Every so many steps of the last window are made with the whole kernel, the others with the learned proposal that they teach.
    pub const SAFE_EVERY: usize = 5;
    /// Shares where the frame is wrong in some region: the linear frame does the work.
    pub const DISTRUSTED: [f64; 3] = [0.0, 0.3, 0.7];
    /// So many log units below the best chain's place, a chain has lost its way.
    pub const LOST: f64 = 100.0;
    /// What the curvature at the mode is worth beside draws, in draws for each variable.
    pub const BELIEF: f64 = 2.0;
    /// How many steps of a window are worth one independent draw, roughly: enough not to trust a short window.
    pub const STEPS_PER_DRAW: f64 = 5.0;
}

/// Where the search works, and where other means take its place.
pub(super) mod start {
    /// With more slow variables than this the climb in x takes gradients only: p + 1 squared over two slow
    /// evaluations for each round would be too many.
    pub const MOST_SLOW: usize = 8;
    /// A climb that ends without a top, but so many log units above where it began, is followed by another from there, so many in all.
    pub const STILL_GAINS: f64 = 10.0;
    /// And so is one that came to a top, but from so many log units below.
    pub const FROM_AFAR: f64 = 100.0;
    pub const MOST_CLIMBS: usize = 6;
    /// A search for what is not known ends where so many of its best places, one after another, are known.
    pub const RETURNED: usize = 2;
    /// Where slow points are weighed, a parabola that foretold the height at its top to this many log units is near enough: exploring goes on from
    /// there, and another look at the curvature of six variables takes as many slow evaluations as a batch of visits.
    pub const FORETOLD_OF_WEIGHTS: f64 = 0.1;
    /// With more fast variables than this a conditional's curvature is not found by differences.
    pub const MOST_FAST: usize = 24;
    /// With more than these, without and with gradients, it is not found even once, for the axes of frames: some hundred thousand fast
    /// evaluations, and products with a triangle as large at each later one.
    pub const MOST_COUPLED: usize = 300;
    pub const MOST_COUPLED_GRADIENTS: usize = 600;
    /// Where their squared correlations add up to less than this, widths along the variables are all there is to know.
    pub const UNCOUPLED: f64 = 0.01;
    /// Where those of axes learned at the top add up to more than this a standard deviation away (along so many directions at most), they turn with x, and up to so
    /// many fast variables have a full curvature at each x: a few thousand fast evaluations, or twice as many gradients as there are variables.
    pub const TURNED: f64 = 0.2;
    pub const MOST_LOOKS: usize = 3;
    pub const MOST_LOCAL: usize = 100;
    /// Where more than this share of searches finds no mode that derivatives lead to, modes are looked for at walls.
    pub const WALLED: f64 = 0.3;
    /// And where there is no mass so many widths beside one.
    pub const BESIDE: f64 = 0.3;
}

/// Steps along a covariance that was given.
pub(super) mod known {
    /// Rounds; a covariance that is about right needs two or three.
    pub const ROUNDS: usize = 8;
    /// Differences are taken over so much of a standard deviation.
    pub const STEP: f64 = 0.5;
    /// The slope per variable, squared, at which the top is near enough: exploring goes on from a place a third of a standard deviation
    /// away as well as from the top.
    pub const CLOSE: f64 = 0.1;
    /// In units of the right covariance the curvature is 1; on average over the variables it must be between these.
    pub const CURVATURES: [f64; 2] = [0.25, 4.0];
    /// A round must gain this share of what its slope promises, else its step is shortened, so many times at most.
    pub const GAIN: f64 = 0.1;
    pub const SHORTENED: usize = 6;
}

/// Differences for a covariance of many slow variables.
pub(super) mod curvature {
    /// Newton's steps, each of which costs (p + 1)(p + 2)/2 + p slow evaluations.
    pub const STEPS: usize = 2;
    /// A step this short, in standard deviations squared and for each variable, says that the top is reached.
    pub const SHORT: f64 = 0.1;
    /// Ridges tried, as shares of the mean curvature, where differences do not give a maximum.
    pub const RIDGES: [f64; 6] = [0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0];
    /// The longest step, in units of the widths along the coordinates for each variable.
    pub const LONGEST: f64 = 1e3;
}

/// Visits for the learned proposal.
pub(super) mod explore {
    /// How far below their mean the target's own draws lie where heated ones do, in standard deviations of their log density: the heat is 3.8 for
    /// one slow variable, 3 for two, 2.2 for six and 1.6 for twenty. Less where slow points are weighed, which lie where the target's own draws do:
    /// a chain must find its way back from further out than that.
    pub const DEVIATIONS: f64 = 2.0;
    pub const DEVIATIONS_OF_WEIGHTS: f64 = 1.2;
    /// While exploring, a fit is followed further than was seen: along an arm that bends, rays from the centre lead nowhere.
    pub const FURTHER: f64 = 1.4;
    /// Of the search's visits near the top, so many are kept for the fit, and so many times what a quadratic has numbers.
    pub const SEARCHED: [usize; 2] = [100, 5];
    /// Points of the first batches: a few, and more for every slow variable.
    pub const BATCH_BASE: usize = 8;
    pub const BATCH_EACH: usize = 3;
    /// Later batches are this share of all visits, so that there are few of them.
    pub const BATCH_SHARE: f64 = 0.2;
    /// Fits in several parts that were no better, and bent coordinates that led to where nothing is, are tried again when there are so many times as many visits.
    pub const AGAIN: f64 = 1.5;
    /// Heated draws among which the points of a batch are chosen, for each of them.
    pub const CANDIDATES: usize = 8;
    /// A fit that claims too little by more than the first of these at the last visits, or expects errors above the second, has not learned the
    /// shape, which the user is warned of: chains hardly ever go where it claims too little.
    pub const LARGE_ERRORS: [f64; 2] = [1.0, 0.4];
    /// Errors count up to this many log units.
    pub const WORST_ERROR: f64 = 4.0;
    /// A fit whose error is larger found nothing where it claimed mass: the next begins with the mean and the covariance of what was found before, and not with its.
    pub const NOTHING_THERE: f64 = 3.6;
    /// Visits from which heated chains begin.
    pub const PLACES: usize = 8;
    /// Searches from surprising places far out, and what exploring may spend more after each.
    pub const MOST_SEARCHES: usize = 3;
    pub const MORE: usize = 100;
    /// Chains begin at draws that are this hot: further apart than the target's own.
    pub const START_HEAT: f64 = 2.0;
}

/// When learning ends.
pub(super) mod enough {
    /// A fit that predicts a fresh batch within so many log units (weighted rms) is good enough, for draws and for weights, whatever a better one would save.
    pub const SMALL_ERROR: f64 = 0.25;
    pub const SMALL_ERROR_OF_WEIGHTS: f64 = 0.1;
    /// And one that does not predict it within this is not, whatever a better one would cost.
    pub const LARGEST_ERROR: f64 = 0.4;
    /// Points that few weights need beyond those that their spread asks for, as was seen on emulated spectra: so many times as many.
    pub const FEW_NEED: f64 = 2.5;
    /// Up to so many slow variables a batch is a few points, and weights ask for as much as draws.
    pub const FEW: usize = 3;
    /// Batches in a row that must be predicted so, for draws and for weights.
    pub const IN_A_ROW: usize = 2;
    pub const IN_A_ROW_OF_WEIGHTS: usize = 1;
    /// Draws that warm-up is for, as most people ask for them: four chains of a thousand.
    pub const DRAWS: f64 = 4000.0;
    /// Slow points that are weighed first: enough for a jackknife, and a few more for every slow variable.
    pub const FIRST: usize = 48;
    pub const FIRST_EACH: usize = 2;
    /// A prediction of how many points are needed is off: so much more than it says.
    pub const MARGIN: f64 = 1.15;
    /// Proposals that are rejected for each log unit of the error.
    pub const LOST_EACH: f64 = 0.56;
}

/// Looks far outside.
pub(super) mod probe {
    /// How far out probes go, in standard deviations.
    pub const RADII: [f64; 5] = [6.0, 10.0, 16.0, 26.0, 40.0];
    /// Directions, up to so many for each slow variable and in all; each with its opposite.
    pub const DIRECTIONS_EACH: usize = 2;
    pub const MOST_DIRECTIONS: usize = 8;
    /// And where slow points are weighed, which takes half of what chains do.
    pub const DIRECTIONS_OF_WEIGHTS: usize = 4;
    /// So many log units above the fit, whose tails are heavy already, is a surprise.
    pub const SURPRISE: f64 = 4.0;
    /// And so is a depth for its distance this share of what the nearer probe's was.
    pub const SOFT: f64 = 0.8;
    /// Unless the way up from there, by differences over so many standard deviations, leads back within this cosine of the straight way.
    pub const STEP: f64 = 0.5;
    pub const HOMEWARD: f64 = 0.8;
    /// And it rises all the way, looked at about so many standard deviations apart.
    pub const BETWEEN: f64 = 2.0;
    /// From a place that is only soft within this, since another mode is hardly off the way when it is seen from afar.
    pub const STRAIGHT: f64 = 0.95;
    /// A way up that leads to the side is followed there by one step of a parabola that bends at least so much (one is as
    /// what is known does). Where that gains more than so many times what it promised, it is no tail.
    pub const LEAST_BEND: f64 = 0.25;
    pub const KEPT_PROMISE: f64 = 2.0;
}

/// Several modes of the fast variables, and tempered transitions between them.
pub(super) mod modes {
    /// How far out along each fast variable other modes are looked for, in widths of the frame.
    pub const PROBED: [f64; 4] = [4.0, 8.0, 16.0, 32.0];
    /// Searches for another mode from the highest of those places, and from so many places in random directions at each of the further distances: a mode
    /// need not lie along any variable.
    pub const MOST_CLIMBS: usize = 8;
    pub const ANYWHERE: usize = 6;
    /// Modes nearer than this, in widths, are one to the moves; those with so much less mass, in log units, are none.
    pub const APART: f64 = 5.0;
    pub const NEGLIGIBLE: f64 = 6.0;
    /// Directions within this cosine of each other are one.
    pub const SAME_WAY: f64 = 0.9;
    /// The most directions that transitions go along.
    pub const MOST_DIRECTIONS: usize = 8;
    /// The highest heat lies between these: it makes a normal valley between two modes one log unit deep.
    pub const HEATS: [f64; 2] = [4.0, 200.0];
    /// Heats are so many for the square of the logarithm of the highest, within bounds: what a transition loses is shared among them.
    pub const EACH_LOG: f64 = 2.0;
    pub const FEWEST_HEATS: f64 = 6.0;
    pub const MOST_HEATS: f64 = 40.0;
    /// The random walk's step at heat one.
    pub const STEP: f64 = 2.4;
    /// Transitions with which they are judged, in each chain.
    pub const TRIED: usize = 80;
    /// They are taken up where so many of all chains' changed the mode, which must be this share of those that were tried.
    pub const ENOUGH_CHANGES: f64 = 10.0;
    pub const OFTEN_ENOUGH: f64 = 0.02;
    /// Transitions of a step may cost as much as all else in it, and are made in at least this share of the steps.
    pub const LEAST_SHARE: f64 = 0.2;
}

/// From a mode to where draws are, for targets with frames of their own.
pub(super) mod settle {
    /// A quarter turn of a unit oscillator, after which z is independent of where it was.
    pub const QUARTER: f64 = std::f64::consts::FRAC_PI_2;
    /// The first step: half of that.
    pub const FIRST: f64 = std::f64::consts::FRAC_PI_4;
    /// Trajectories made, at most, and how many accepted ones are enough.
    pub const MOST: usize = 40;
    pub const ENOUGH: usize = 12;
    /// What a rejection and an acceptance do to the step.
    pub const SHORTER: f64 = 0.7;
    pub const LONGER: f64 = 1.1;
    /// Steps shorter than this cost more than they are worth.
    pub const SHORTEST: f64 = 0.01;
    /// Slices, where there are no gradients.
    pub const SLICES: usize = 40;
}

/// Inner moves.
pub(super) mod inner {
    /// The share of a random walk beside the best inner move.
    pub const WALK_SHARE: f64 = 0.25;
    /// The share of slices along coordinates among fast-only moves. Not inside drags: they cost several evaluations each, at both ends
    /// there, and one coordinate's new place corrects little of what a slow move leaves.
    pub const SLICE_SHARE: f64 = 0.2;
    /// The share of slices beside a move of fixed size in a target's own frame.
    pub const OWN_SLICES: f64 = 0.1;
    /// Intervals of nested drags.
    pub const NESTED_N: [usize; 2] = [4, 16];
    /// Steps of quarter turns that are tried.
    pub const TURNS: [usize; 6] = [1, 2, 3, 4, 6, 9];
    /// Moves with which an inner move is judged.
    pub const INNER_MOVES: usize = 60;
}

/// Which settings are tried, and which is preferred.
pub(super) mod trials {
    /// Intervals tried in each frame: in a moving frame little is left to correct, without one much is.
    pub const LAPLACE_N: [usize; 5] = [1, 2, 4, 12, 48];
    /// Many latent variables leave more to correct: each is a little off, and that adds up.
    pub const OWN_N: [usize; 6] = [1, 2, 4, 8, 16, 40];
    pub const LINEAR_N: [usize; 5] = [1, 4, 16, 64, 256];
    /// The longest drag in the linear frame where another frame does the work.
    pub const SAFE_N: usize = 64;
    /// The linear frame must be worth this much more than a searched one to be preferred.
    pub const LINEAR_MARGIN: f64 = 1.5;
    /// And a searched frame that takes more for granted (axes that stay as they are, widths that do) so much more than one that takes less. Single steps promise
    /// too much where it does not fit: on twenty coupled nuisances axes seemed worth 1.15 times the full curvature, and were worth half of it.
    pub const SIMPLER_MARGIN: f64 = 1.25;
    /// After this share of the rounds, settings worth less than this share of the best are tried no more.
    pub const FIRST_ROUNDS: f64 = 0.35;
    pub const HOPELESS: f64 = 0.4;
    /// Long before that, after so many rounds, those go that cost too much even if every step were accepted. Where many variables are
    /// fast, only short drags are tried until then: their prices tell those of the long ones, a single one of which may cost as much as
    /// a hundred draws.
    pub const PRICING_ROUNDS: usize = 4;
    pub const PRICED_N: usize = 4;
    /// A learned proposal must be this much better than the random walk to be worth its risk.
    pub const LEARNED_MARGIN: f64 = 1.1;
    /// What a random walk's effective draws per step cannot exceed, for one slow variable; short trials may say more.
    pub const WALK_CEILING: f64 = 0.4;
    /// Shares of the learned proposal, of the random walk in the best frame, and of the linear frame.
    pub const WITH_LEARNED: [f64; 3] = [0.82, 0.12, 0.06];
    /// The same where so many learned proposals are accepted by a fit that predicts fresh visits: what they leave to the others is little, and those cost as
    /// much.
    pub const WELL_LEARNED: f64 = 0.7;
    pub const WITH_WELL_LEARNED: [f64; 3] = [0.9, 0.07, 0.03];
    pub const WITHOUT_LEARNED: [f64; 3] = [0.0, 0.85, 0.15];
    /// A target that knows its own frames is trusted further, and the linear frame of many variables is a poor one. (With 0.22 for the
    /// random walk, as long as the learned proposal left it the long tails of scales, the worst parameters of six data sets had 2 to 20 % fewer effective draws, and fewer
    /// in their tails.)
    pub const OWN_WITH_LEARNED: [f64; 3] = [0.87, 0.10, 0.03];
    pub const OWN_WITHOUT_LEARNED: [f64; 3] = [0.0, 0.95, 0.05];
    /// Where the linear frame wins, the safe moves are in the best searched frame: far from the centre, where the linear one no longer
    /// fits, a chain would stay for thousands of steps, and so hardly ever be there. They may cost as much as the
    /// others together, and their share of the steps lies between these: a chain in a tail waits for one of them.
    pub const SEARCHED_SHARES: [f64; 2] = [0.02, 0.3];
    /// Trials of a target's own frame within this share of the best are as good: the cheapest of them is taken.
    pub const WITHIN_NOISE: f64 = 0.97;
    /// Of other frames those within this share: taken is the one with the most effective draws for their cost and for their number, since a chain that is
    /// refused stays longer than single steps show (on twenty coupled nuisances 48 intervals seemed worth no more than 4, and were worth a fifth more).
    pub const NEARLY_AS_GOOD: f64 = 0.9;
    /// A best acceptance below this says that something is wrong, not that the target is hard.
    pub const HARDLY_ANY: f64 = 0.01;
    /// Drags up to this length are taken instead of shorter ones where they cost at most this much of them.
    pub const CORRECTING_N: usize = 4;
    pub const NEXT_TO_NOTHING: f64 = 1.05;
    /// The share of a step's cost that fast-only moves may add.
    pub const EXTRA_SHARE: f64 = 0.25;
    /// With so many fast variables slices along them are made beside those in the frame: each has its turn every other step, unless that costs more than
    /// this share of a step, at some six evaluations for a slice. (An amplitude that came within a thousandth of its wall stayed there for thirty steps of 500 moves in a frame of
    /// twenty variables.)
    pub const FEWEST_ALONG: usize = 3;
    pub const ALONG_SHARE: f64 = 0.05;
    pub const SLICE_EVALUATIONS: f64 = 6.0;
    /// Where many variables are fast, so much more is allowed, until y forgets this many times as fast as x.
    pub const MOST_EXTRA_SHARE: f64 = 1.0;
    pub const AS_FAST_AS_X: f64 = 1.5;
}

/// Fast-only moves after each slow one.
pub(super) mod extra {
    /// Places further out at which each chain measures: on twenty coupled nuisances what it takes to forget differs tenfold from place to place.
    pub const PLACES: usize = 3;
    /// What the measurement may cost at each place, in slow evaluations; and its moves at least and at most.
    pub const WORTH_SLOW: f64 = 10.0;
    pub const FEWEST: usize = 128;
    pub const MOST: usize = 8192;
    /// It ends early once it has seen so many of the longest autocorrelation times.
    pub const TIMES: f64 = 40.0;
    /// Batches whose means tell the autocorrelation time.
    pub const BATCHES: usize = 32;
    /// The largest share of the variance that their means are taken to have: the time is then six batches, and more was hardly seen.
    pub const MOST_LEFT: f64 = 0.9;
    /// Of many fast variables, about so many are watched.
    pub const MOST_WATCHED: usize = 100;
    /// y should forget this many times as fast as x, or nearly everything at each step: then x alone limits the run.
    pub const AS_FAST_AS_X: f64 = 1.5;
    pub const NEARLY_ALL: f64 = 0.9;
    /// No more moves than this after a slow step.
    pub const MOST_EXTRA: usize = 4000;
}

/// Whether a setting keeps what its single steps promise.
pub(super) mod persistence {
    /// So many times the promised time between effective draws, the chain should have forgotten where it was: a
    /// correlation of e⁻⁸ is promised.
    pub const TIMES: f64 = 4.0;
    /// Lags that fit into a walk.
    pub const LAGS: usize = 3;
    /// Where a walk has moved as far as this share of two independent draws, its promise is kept.
    pub const FORGOTTEN: f64 = 0.85;
    /// Walks no longer than this.
    pub const LONGEST: usize = 5000;
    /// Of many fast variables, about so many are watched.
    pub const MOST_WATCHED: usize = 200;
}

/// What evaluations cost.
pub(super) mod prices {
    /// What a slow evaluation is taken to cost, in fast ones, unless the clock says otherwise by an order of magnitude.
    pub const DEFAULT_RATIO: f64 = 1000.0;
    /// The same where the target finds its frames by itself (a latent Gaussian model): the search is part of it. With the mode foretold
    /// that is a factorisation and a few solves, and a fast evaluation with its gradient is two solves: on fields some ten. (On New York's
    /// tracts it was taken for 100, which cost almost half of the effective draws in a second.)
    pub const DEFAULT_OWN_RATIO: f64 = 10.0;
    /// Ratios are rounded to the default times a power of this: a measurement within a factor of ten of the default keeps it, so
    /// that a busy machine (which slows both kinds of evaluation) chooses as an idle one does.
    pub const COARSE: f64 = 100.0;
    /// No ratio is below this. A slow evaluation includes fast ones, so that a ratio about one is as good as measured by noise: with a step there,
    /// the report's first test, whose slow evaluation is a sine, came out on either side of it.
    pub const LEAST_RATIO: f64 = 10.0;
    /// Calls of the medium computation that are timed.
    pub const MEDIUM_CALLS: usize = 3;
    /// Evaluations by a refined cache that are timed together.
    pub const FINE_CALLS: usize = 16;
}

/// Covariances of many variables.
pub(super) mod moments {
    /// With more fast variables than this only their variances are learned from draws, not their
    /// covariances: a covariance needs several draws for every variable, and warm-up has a few hundred.
    pub const MOST_COUPLED: usize = 100;
}

/// Corrections of the estimated marginal.
pub(super) mod tilt {
    /// What a tilt and a bend, over a standard deviation, are taken to be beforehand: standard deviations in log units.
    pub const TILT: f64 = 3.0;
    pub const BEND: f64 = 0.5;
    /// The correction has to explain so much for each of its numbers (in variances of what it leaves), or is left alone.
    pub const SIGNIFICANT: f64 = 3.0;
    /// Beyond this many standard deviations nothing was seen, and the correction goes on as a tangent.
    pub const REACH: f64 = 3.0;
}

/// The walk.
pub(super) mod walker {
    /// Slow evaluations of a search from a surprising place.
    pub const SEARCH_BUDGET: usize = 80;
    /// Where so many proposals of the learned kind are accepted, Laplace's estimate of the marginal misses too little to be taught more.
    pub const SUFFICES: f64 = 0.7;
}
