/* What users run, in plain C: a warmed-up kernel on the report's tests, for any number of fast variables.
 *
 * A mix of drags in the frame that warm-up chose (the mode with the local curvature, or with the learned one) and in the linear one, then moves of y alone, with the settings that Towline's warm-up
 * chose (read from a file that the benchmark writes). The same searches for modes by differences, the same moves, the same
 * acceptance: step for step the arithmetic of Towline's kernel, in one plain program without a library. What Towline has
 * beyond it and these targets never need (conditionals that are not concave, failures, frames of a target's own) is left out;
 * a search that comes there is counted as lost, and the benchmark refuses a run with lost searches.
 *
 * The number of fast variables is read at run time, as one writes such a program; Towline is compiled for one and for two apart.
 * (With the number known to C's compiler too, this takes four fifths of its time for one and two variables.)
 *
 *   users FILE [steps] [repeats] [seed]
 *
 * prints one line of JSON: the best nanoseconds per step over the repeats, evaluations per step, the nanoseconds of the model's
 * own evaluations, and rates to be compared with Towline's.
 */
#define _POSIX_C_SOURCE 200809L
#include "random.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 16, PACKED = MOST * (MOST + 1) / 2, ANCHORS = 64, PARTS = 4 };

/* ---- settings ---- */

enum { CRANK_NICOLSON, RANDOM_WALK, SLICE, ELLIPSE };

typedef struct {
    double weight, size;
    int kind;
} Part;

typedef struct {
    int count;
    Part part[PARTS];
} Mixture;

static struct {
    int d, n_main, n_safe, extra, anchors, frame;
    double share_safe, step; /* of the safe drag; of the random walk in x */
    Mixture main, safe, alone;
    double x0, m0[MOST], slope[MOST], root[PACKED]; /* the linear frame */
    double metric, place[ANCHORS], offset[ANCHORS][MOST], narrow[PACKED];
} set;

static double number(FILE *file) {
    double value;
    if (fscanf(file, "%lf", &value) != 1) exit(3);
    return value;
}

static void read_mixture(FILE *file, Mixture *mixture) {
    mixture->count = (int)number(file);
    for (int k = 0; k < mixture->count; k++) {
        mixture->part[k].weight = number(file);
        mixture->part[k].kind = (int)number(file);
        mixture->part[k].size = number(file);
    }
}

static void read_settings(const char *name) {
    FILE *file = fopen(name, "r");
    if (!file) exit(3);
    const int d = set.d = (int)number(file);
    set.frame = (int)number(file);
    set.n_main = (int)number(file);
    set.n_safe = (int)number(file);
    set.extra = (int)number(file);
    set.share_safe = number(file);
    set.step = number(file);
    read_mixture(file, &set.main);
    read_mixture(file, &set.safe);
    read_mixture(file, &set.alone);
    set.x0 = number(file);
    for (int k = 0; k < d; k++) set.m0[k] = number(file);
    for (int k = 0; k < d; k++) set.slope[k] = number(file);
    for (int k = 0; k < d * (d + 1) / 2; k++) set.root[k] = number(file);
    for (int k = 0; k < d * (d + 1) / 2; k++) set.narrow[k] = number(file);
    set.metric = number(file);
    set.anchors = (int)number(file);
    for (int a = 0; a < set.anchors; a++) {
        set.place[a] = number(file);
        for (int k = 0; k < d; k++) set.offset[a][k] = number(file);
    }
    fclose(file);
}

/* ---- the target ---- */

typedef struct {
    double x2, centre, stiff;
} Cache;

static uint64_t fast, slow, lost;

static __attribute__((noinline)) Cache prepare(double x) {
    const double w = 1 + x * x;
    slow++;
    return (Cache){x * x, sin(x), 50 * w * w};
}

static inline double log_density(const Cache *c, const double *y) {
    const double r = y[0] - c->centre;
    double steps = 0;
    fast++;
    for (int k = 1; k < set.d; k++) steps += (y[k] - y[k - 1]) * (y[k] - y[k - 1]);
    return -(c->x2 + c->stiff * r * r + 12.5 * steps);
}

/* ---- small matrices ---- */

static inline int row(int i) { return i * (i + 1) / 2; }

static inline double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}

static void apply(const double *rows, const double *v, double *out) {
    for (int i = 0; i < set.d; i++) out[i] = dot(rows + row(i), v, i + 1);
}

static void solve(const double *rows, double *v) {
    for (int i = 0; i < set.d; i++) v[i] = (v[i] - dot(rows + row(i), v, i)) / rows[row(i) + i];
}

static void solve_transposed(const double *rows, double *v) {
    for (int i = set.d - 1; i >= 0; i--) {
        v[i] /= rows[row(i) + i];
        for (int k = 0; k < i; k++) v[k] -= rows[row(i) + k] * v[i];
    }
}

static int cholesky(const double *m, double *rows) {
    const int d = set.d;
    for (int i = 0; i < d; i++) {
        double *below = rows + row(i);
        for (int j = 0; j < i; j++)
            below[j] = (m[i * d + j] - dot(below, rows + row(j), j)) / rows[row(j) + j];
        const double rest = m[i * d + i] - dot(below, below, i);
        if (!(rest > 0 && isfinite(rest))) return 0;
        below[i] = sqrt(rest);
    }
    return 1;
}

/* ---- frames ---- */

enum { LINEAR, LOCAL, LEARNED }; /* L: the linear frame's; found at the mode; that of the conditional's learned width */

typedef struct {
    int there, kind;
    double centre[MOST], lower[PACKED], upper[PACKED], log_det;
} Frame;

typedef struct {
    double x;
    Cache cache;
    Frame frame[2]; /* the Laplace frame and the linear one, where they were needed */
} Place;

static const double *root_of(const Frame *f) { return f->kind == LINEAR ? set.root : set.narrow; }

static void to_y(const Frame *f, const double *z, double *y) {
    const int d = set.d;
    if (f->kind == LOCAL) {
        const double *u = f->upper;
        for (int i = 0; i < d; u += d - i, i++) y[i] = dot(u, z + i, d - i);
    } else {
        apply(root_of(f), z, y);
    }
    for (int i = 0; i < d; i++) y[i] += f->centre[i];
}

static void to_z(const Frame *f, const double *y, double *z) {
    const int d = set.d;
    double v[MOST];
    for (int i = 0; i < d; i++) v[i] = y[i] - f->centre[i];
    if (f->kind == LOCAL) {
        for (int i = 0; i < d; i++) z[i] = 0;
        for (int i = 0; i < d; i++)
            for (int k = 0; k <= i; k++) z[k] += f->lower[row(i) + k] * v[i];
    } else {
        solve(root_of(f), v);
        memcpy(z, v, (size_t)d * sizeof *z);
    }
}

static void linear_centre(double x, double *centre) {
    for (int k = 0; k < set.d; k++) centre[k] = set.m0[k] + set.slope[k] * (x - set.x0);
}

/* ---- the search for a mode, in u: y = centre + narrow u ---- */

typedef struct {
    const Cache *cache;
    const double *centre;
    double at[MOST], height, steps[MOST], first, gradient[MOST], curvature[MOST * MOST];
    double rows[PACKED], step[MOST], decrement;
} Search;

static double height(const Search *s, const double *u) {
    double y[MOST];
    apply(set.narrow, u, y);
    for (int k = 0; k < set.d; k++) y[k] += s->centre[k];
    const double value = log_density(s->cache, y);
    return isnan(value) || value == INFINITY ? -INFINITY : value;
}

static int differences(Search *s, int mixed) {
    const int d = set.d;
    double probe[MOST], above[MOST], below[MOST];
    memcpy(probe, s->at, (size_t)d * sizeof *probe);
    for (int k = 0; k < d; k++) {
        int longer = 0, shorter = 0;
        for (;;) {
            const double h = s->steps[k];
            probe[k] = s->at[k] + h;
            const double up = height(s, probe);
            probe[k] = s->at[k] - h;
            const double down = height(s, probe);
            probe[k] = s->at[k];
            const int nothing = up == -INFINITY || down == -INFINITY;
            const double change = fabs(up - s->height) + fabs(down - s->height);
            if (nothing && shorter < 40) {
                shorter++;
                s->steps[k] = h / 8;
            } else if (nothing) {
                return 0;
            } else if (change < 1e-7 && longer < 5 && shorter == 0) {
                longer++;
                s->steps[k] = fmax(8 * h, s->first);
            } else {
                s->gradient[k] = (up - down) / (2 * h);
                s->curvature[k * d + k] = (2 * s->height - up - down) / (h * h);
                above[k] = up;
                below[k] = down;
                break;
            }
        }
    }
    for (int side = 1; side >= -1; side -= 2) {
        const double *beside = side > 0 ? above : below;
        for (int j = 0; j < d; j++)
            for (int k = 0; k < j; k++) {
                double bend = 0;
                if (mixed) {
                    const double hj = side * s->steps[j], hk = side * s->steps[k];
                    probe[j] = s->at[j] + hj;
                    probe[k] = s->at[k] + hk;
                    const double corner = height(s, probe);
                    probe[j] = s->at[j];
                    probe[k] = s->at[k];
                    bend = beside[j] + beside[k] - corner - s->height;
                    bend = corner > -INFINITY && fabs(bend) > 1e-9 * fabs(s->height) ? bend / (hj * hk) : 0;
                }
                if (side < 0) bend = 0.5 * (s->curvature[j * d + k] + bend);
                s->curvature[j * d + k] = s->curvature[k * d + j] = bend;
            }
        if (d == 1 || !mixed || cholesky(s->curvature, s->rows)) break;
    }
    return 1;
}

/* Up along the step; the gain, or nothing. */
static double advance(Search *s) {
    const int d = set.d;
    double t = 1, best[MOST], trial[MOST];
    int wall = 0;
    for (int tries = 0; tries < 60; tries++) {
        for (int k = 0; k < d; k++) best[k] = s->at[k] + t * s->step[k];
        const double there = height(s, best), gain = there - s->height;
        if (gain > 1e-4 * t * s->decrement) {
            double highest = there;
            if ((t == 1 && gain > 1.1 * 0.5 * s->decrement) || wall)
                for (int more = 0; more < 100; more++) {
                    t *= 2;
                    for (int k = 0; k < d; k++) trial[k] = s->at[k] + t * s->step[k];
                    const double further = height(s, trial);
                    if (further <= highest) break;
                    memcpy(best, trial, (size_t)d * sizeof *best);
                    highest = further;
                }
            const double all = highest - s->height;
            memcpy(s->at, best, (size_t)d * sizeof *best);
            s->height = highest;
            return all;
        }
        wall = there == -INFINITY;
        const double top = 0.5 * t * t * s->decrement / (t * s->decrement - gain);
        t = isfinite(top) ? fmin(fmax(top, 0.05 * t), 0.5 * t) : 0.1 * t;
    }
    return -1;
}

static int uphill(Search *s) {
    static const double far[5] = {2, 8, 30, 120, 500};
    const int d = set.d;
    const double steep = sqrt(dot(s->gradient, s->gradient, d));
    double best[MOST], trial[MOST], highest = s->height;
    int found = 0;
    if (!(steep > 0 && isfinite(steep))) return 0;
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < d; k++) trial[k] = s->at[k] + far[i] * s->gradient[k] / steep;
        const double there = height(s, trial);
        if (there > highest) {
            memcpy(best, trial, (size_t)d * sizeof *best);
            highest = there;
            found = 1;
        } else if (found) {
            break;
        }
    }
    if (!found) return 0;
    memcpy(s->at, best, (size_t)d * sizeof *best);
    s->height = highest;
    return 1;
}

static int newton(Search *s) {
    const int d = set.d;
    int refined = 0, doubtful = 0;
    double gained = 0;
    for (int round = 0; round < 80; round++) {
        if (!differences(s, gained < 100 || round % 4 == 3)) return 0;
        int fitting = 1;
        for (int k = 0; k < d; k++) {
            const double curved = s->curvature[k * d + k];
            if (curved > 1e-6) {
                const double width = 1 / sqrt(curved), h = s->steps[k];
                fitting &= h < 4 * 0.3 * width && h > 0.03 * 0.3 * width;
                s->steps[k] = fmin(fmax(0.3 * width, 1e-3 * h), 8 * h);
            }
        }
        for (int k = 0; k < d; k++)
            if (s->curvature[k * d + k] < 1e-6) return 0;
        if (!cholesky(s->curvature, s->rows)) return 0;
        memcpy(s->step, s->gradient, (size_t)d * sizeof *s->step);
        solve(s->rows, s->step);
        solve_transposed(s->rows, s->step);
        s->decrement = dot(s->gradient, s->step, d);
        if (!isfinite(s->decrement)) return 0;
        doubtful |= round >= 4 || (round == 0 && s->decrement > 25);
        if (s->decrement < 1e-3) {
            if (fitting || refined) {
                if (doubtful && uphill(s)) continue;
                for (int k = 0; k < d; k++) s->at[k] += s->step[k];
                s->height += 0.5 * s->decrement;
                return 1;
            }
            refined = 1;
            continue;
        }
        refined = 0;
        const double gain = advance(s);
        if (gain < 0) {
            if (s->decrement >= 0.1) return 0;
            if (doubtful && uphill(s)) continue;
            return 1;
        }
        gained = gain;
        if (fitting && fabs(gain - 0.5 * s->decrement) < 0.01 && s->decrement < 4 && (!doubtful || d == 1)) return 1;
    }
    return 0;
}

/* Limited-memory BFGS with gradients by differences, the identity at its base. */
enum { MEMORY = 10 };

static int slope_at(Search *s, double *at, double h, double *slope) {
    for (int k = 0; k < set.d; k++) {
        const double here = at[k];
        at[k] = here + h;
        const double up = height(s, at);
        at[k] = here - h;
        const double down = height(s, at);
        at[k] = here;
        slope[k] = (up - down) / (2 * h);
        if (!isfinite(slope[k])) return 0;
    }
    return 1;
}

static int lbfgs(Search *s) {
    const int d = set.d;
    double moved[MEMORY][MOST], turned[MEMORY][MOST], slope[MOST], next_slope[MOST], ahead[MOST], next[MOST], trial[MOST],
        share[MEMORY];
    int past = 0;
    if (!slope_at(s, s->at, s->first, slope)) return 0;
    for (int round = 0; round < 100; round++) {
        memcpy(ahead, slope, (size_t)d * sizeof *ahead);
        for (int i = past - 1; i >= 0; i--) {
            share[i] = dot(moved[i], ahead, d) / dot(moved[i], turned[i], d);
            for (int k = 0; k < d; k++) ahead[k] -= share[i] * turned[i][k];
        }
        for (int i = 0; i < past; i++) {
            const double back = dot(turned[i], ahead, d) / dot(moved[i], turned[i], d);
            for (int k = 0; k < d; k++) ahead[k] += (share[i] - back) * moved[i][k];
        }
        double promise = dot(ahead, slope, d);
        if (promise <= 0) {
            past = 0;
            memcpy(ahead, slope, (size_t)d * sizeof *ahead);
            promise = dot(ahead, slope, d);
        }
        if (promise < 1e-3 * d) return 1;
        double t = 1, there = 0;
        int found = 0;
        for (int tries = 0; tries < 50 && !found; tries++) {
            for (int k = 0; k < d; k++) next[k] = s->at[k] + t * ahead[k];
            there = height(s, next);
            const double gain = there - s->height;
            if (gain > 1e-4 * t * promise) {
                found = 1;
                if (t == 1 && gain > 0.75 * promise)
                    for (int more = 0; more < 60; more++) {
                        t *= 2;
                        for (int k = 0; k < d; k++) trial[k] = s->at[k] + t * ahead[k];
                        const double further = height(s, trial);
                        if (further <= there) break;
                        memcpy(next, trial, (size_t)d * sizeof *next);
                        there = further;
                    }
            } else {
                const double top = 0.5 * t * t * promise / (t * promise - gain);
                t = isfinite(top) ? fmin(fmax(top, 0.05 * t), 0.5 * t) : 0.1 * t;
            }
        }
        if (!found) return promise < 0.1 * d;
        if (!slope_at(s, next, s->first, next_slope)) return 0;
        if (past == MEMORY) {
            memmove(moved[0], moved[1], sizeof moved - sizeof moved[0]);
            memmove(turned[0], turned[1], sizeof turned - sizeof turned[0]);
            past--;
        }
        for (int k = 0; k < d; k++) {
            moved[past][k] = next[k] - s->at[k];
            turned[past][k] = slope[k] - next_slope[k];
        }
        const double both = dot(moved[past], turned[past], d);
        if (both > 1e-10 * sqrt(dot(turned[past], turned[past], d)) * sqrt(dot(moved[past], moved[past], d))) past++;
        memcpy(s->at, next, (size_t)d * sizeof *next);
        memcpy(slope, next_slope, (size_t)d * sizeof *slope);
        s->height = there;
    }
    return 0;
}

/* The frame at the mode of a place. */
static void search(Place *p) {
    const int d = set.d;
    Frame *f = &p->frame[0];
    double centre[MOST];
    Search s;
    linear_centre(p->x, centre);
    const double w = p->x / set.metric;
    int nearest = -1;
    double least = INFINITY;
    for (int a = 0; a < set.anchors; a++) {
        const double gap = set.place[a] - w, far = gap * gap;
        if (far < least) {
            least = far;
            nearest = a;
        }
    }
    if (nearest >= 0)
        for (int k = 0; k < d; k++) centre[k] += set.offset[nearest][k];
    s.cache = &p->cache;
    s.centre = centre;
    s.first = 0.3;
    for (int k = 0; k < d; k++) {
        s.at[k] = 0;
        s.steps[k] = s.first;
    }
    s.height = height(&s, s.at);
    f->there = 1;
    f->log_det = 0;
    f->kind = set.frame;
    if (!(set.frame == LOCAL ? newton(&s) : lbfgs(&s))) {
        lost++;
        f->kind = LEARNED;
    }
    apply(set.narrow, s.at, f->centre);
    for (int k = 0; k < d; k++) f->centre[k] += centre[k];
    if (f->kind == LEARNED) return;
    double *m = s.curvature;
    for (int i = 0; i < d; i++) solve_transposed(set.narrow, m + i * d);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < i; j++) {
            const double keep = m[i * d + j];
            m[i * d + j] = m[j * d + i];
            m[j * d + i] = keep;
        }
    for (int i = 0; i < d; i++) solve_transposed(set.narrow, m + i * d);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < i; j++) m[i * d + j] = m[j * d + i] = 0.5 * (m[i * d + j] + m[j * d + i]);
    if (!cholesky(m, f->lower)) lost++;
    double *u = f->upper;
    for (int i = 0; i < d; u += d - i, i++) {
        const double pivot = f->lower[row(i) + i];
        f->log_det -= log(pivot);
        u[0] = 1 / pivot;
        for (int k = i + 1; k < d; k++)
            u[k - i] = -dot(f->lower + row(k) + i, u, k - i) / f->lower[row(k) + k];
    }
}

static void place_frame(Place *p, int safe) {
    Frame *f = &p->frame[safe];
    if (f->there) return;
    if (!safe) {
        search(p);
        return;
    }
    f->there = 1;
    f->kind = LINEAR;
    f->log_det = 0; /* both ends share it */
    linear_centre(p->x, f->centre);
}

/* ---- moves, at one end or between two ---- */

typedef struct {
    const Cache *from, *to; /* to: nothing at fixed x */
    const Frame *here, *there;
    double wa, wb;
    int shared;
} Density;

typedef struct {
    double a, b;
} Value;

static inline Value value(const Density *q, const double *z) {
    double y[MOST], image[MOST];
    Value v = {0, 0};
    if (q->shared) {
        apply(root_of(q->here), z, image);
        for (int k = 0; k < set.d; k++) y[k] = image[k] + q->here->centre[k];
        v.a = log_density(q->from, y);
        for (int k = 0; k < set.d; k++) y[k] = image[k] + q->there->centre[k];
        v.b = log_density(q->to, y);
        return v;
    }
    to_y(q->here, z, y);
    v.a = log_density(q->from, y);
    if (q->to) {
        to_y(q->there, z, y);
        v.b = log_density(q->to, y);
    }
    return v;
}

static inline double level(const Density *q, Value v) { return q->to ? q->wa * v.a + q->wb * v.b : v.a; }

static inline double half_square(const double *z) { return 0.5 * dot(z, z, set.d); }

static inline double uniform(Rng *r) { return (double)(next(r) >> 11) * 0x1p-53; }

static int pick(const Mixture *mixture, Rng *r) {
    double total = 0;
    for (int k = 0; k < mixture->count; k++) total += mixture->part[k].weight;
    double left = uniform(r) * total;
    int k = 0;
    for (; k < mixture->count - 1; k++) {
        left -= mixture->part[k].weight;
        if (left < 0) break;
    }
    return k;
}

static int move(const Density *q, const Mixture *mixture, double *z, Value *v, Rng *r) {
    const int d = set.d;
    const Part *part = &mixture->part[pick(mixture, r)];
    double to[MOST], noise[MOST];
    switch (part->kind) {
    case CRANK_NICOLSON: {
        const double keep = sqrt(1 - part->size * part->size);
        for (int k = 0; k < d; k++) to[k] = keep * z[k] + part->size * normal(r);
        const Value w = value(q, to);
        const double ratio = (level(q, w) + half_square(to)) - (level(q, *v) + half_square(z));
        if (!(ratio > -exponential(r))) return 0;
        memcpy(z, to, (size_t)d * sizeof *z);
        *v = w;
        return 1;
    }
    case RANDOM_WALK: {
        const double under = level(q, *v) - exponential(r);
        for (int k = 0; k < d; k++) to[k] = z[k] + part->size * normal(r);
        const Value w = value(q, to);
        if (!(level(q, w) > under)) return 0;
        memcpy(z, to, (size_t)d * sizeof *z);
        *v = w;
        return 1;
    }
    case SLICE: {
        const int k = (int)(((unsigned __int128)next(r) * (unsigned)d) >> 64);
        const double start = z[k], width = part->size, under = level(q, *v) - exponential(r);
        double low = start - width * uniform(r), high = low + width;
        int down = (int)(((unsigned __int128)next(r) * 100u) >> 64), up = 99 - down;
        for (; down > 0; down--) {
            z[k] = low;
            if (!(level(q, value(q, z)) > under)) break;
            low -= width;
        }
        for (; up > 0; up--) {
            z[k] = high;
            if (!(level(q, value(q, z)) > under)) break;
            high += width;
        }
        for (;;) {
            const double trial = low + (high - low) * uniform(r);
            if (trial == start || !(low < high)) {
                z[k] = start;
                return 0;
            }
            z[k] = trial;
            const Value w = value(q, z);
            if (level(q, w) > under) {
                *v = w;
                return 1;
            }
            if (trial < start) low = trial;
            else high = trial;
        }
    }
    default: { /* ELLIPSE */
        for (int k = 0; k < d; k++) noise[k] = normal(r);
        const double under = level(q, *v) + half_square(z) - exponential(r), turn = 6.283185307179586;
        double angle = turn * uniform(r), low = angle - turn, high = angle;
        for (;;) {
            if (angle == 0 || !(low < high)) return 0;
            const double c = cos(angle), s = sin(angle);
            for (int k = 0; k < d; k++) to[k] = z[k] * c + noise[k] * s;
            const Value w = value(q, to);
            if (level(q, w) + half_square(to) > under) {
                memcpy(z, to, (size_t)d * sizeof *z);
                *v = w;
                return 1;
            }
            if (angle < 0) low = angle;
            else high = angle;
            angle = low + (high - low) * uniform(r);
        }
    }
    }
}

/* ---- the sampler ---- */

typedef struct {
    Place at;
    double y[MOST], log_density;
    uint64_t steps, accepted;
} Chain;

static __attribute__((noinline)) void step(Chain *chain, Rng *r) {
    double z[MOST] = {0};
    const int safe = uniform(r) < set.share_safe;
    const int n = safe ? set.n_safe : set.n_main;
    const Mixture *inner = safe ? &set.safe : &set.main;
    Place new;
    new.x = chain->at.x + set.step * normal(r);
    new.cache = prepare(new.x);
    new.frame[0].there = new.frame[1].there = 0;
    place_frame(&chain->at, safe);
    place_frame(&new, safe);
    const Frame *here = &chain->at.frame[safe], *there = &new.frame[safe];
    Density q = {&chain->at.cache, &new.cache, here, there, 0, 0, here->kind != LOCAL && here->kind == there->kind};
    to_z(here, chain->y, z);
    double y[MOST];
    to_y(there, z, y);
    Value v = {chain->log_density, log_density(&new.cache, y)};
    double sum = v.b - v.a;
    if (sum > -INFINITY)
        for (int i = 1; i < n; i++) {
            q.wa = (double)(n - i) / n;
            q.wb = (double)i / n;
            move(&q, inner, z, &v, r);
            sum += v.b - v.a;
        }
    if (sum / n + there->log_det - here->log_det > -exponential(r)) {
        to_y(there, z, chain->y);
        chain->log_density = v.b;
        chain->at = new;
        chain->accepted++;
    }
    if (set.extra > 0) {
        place_frame(&chain->at, 0);
        const Frame *f = &chain->at.frame[0];
        const Density alone = {&chain->at.cache, NULL, f, NULL, 1, 0, 0};
        Value w = {chain->log_density, 0};
        int moved = 0;
        to_z(f, chain->y, z);
        for (int i = 0; i < set.extra; i++) moved |= move(&alone, &set.alone, z, &w, r);
        if (moved) {
            to_y(f, z, chain->y);
            chain->log_density = w.a;
        }
    }
    chain->steps++;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s settings [steps] [repeats] [seed]\n", argv[0]);
        return 2;
    }
    read_settings(argv[1]);
    const long steps = argc > 2 ? atol(argv[2]) : 2000;
    const int repeats = argc > 3 ? atoi(argv[3]) : 25;
    Rng rng = seeded(argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
    build_tables();

    static Chain chain;
    chain.at.x = 0;
    chain.at.cache = prepare(0);
    chain.log_density = log_density(&chain.at.cache, chain.y);
    for (long k = 0; k < steps; k++) step(&chain, &rng);
    chain.steps = chain.accepted = fast = slow = lost = 0;

    double best = INFINITY, x2 = 0;
    for (int k = 0; k < repeats; k++) {
        const double start = now();
        for (long i = 0; i < steps; i++) {
            step(&chain, &rng);
            x2 += chain.at.x * chain.at.x;
        }
        best = fmin(best, (now() - start) / (double)steps);
    }
    const uint64_t fast_all = fast, slow_all = slow;

    /* The model's own time, at points that differ. */
    double own_fast = INFINITY, own_slow = INFINITY, kept = 0;
    for (int k = 0; k < repeats; k++) {
        const int many = 20000;
        double y[MOST] = {0};
        double start = now();
        for (int i = 0; i < many; i++) {
            y[0] = 1e-4 * i;
            __asm__ volatile("" : : "r"(y) : "memory");
            kept += log_density(&chain.at.cache, y);
        }
        own_fast = fmin(own_fast, (now() - start) / many);
        start = now();
        for (int i = 0; i < many; i++) kept += prepare(1e-4 * i).stiff;
        own_slow = fmin(own_slow, (now() - start) / many);
    }
    const double all = (double)chain.steps;
    printf("{\"ns_per_step\": %.3f, \"fast_per_step\": %.4f, \"slow_per_step\": %.4f, \"model_ns_fast\": %.3f, "
           "\"model_ns_slow\": %.3f, \"accepted\": %.5f, \"variance\": %.5f, \"lost\": %llu, \"kept\": %d}\n",
           best, (double)fast_all / all, (double)slow_all / all, own_fast, own_slow, (double)chain.accepted / all,
           x2 / all, (unsigned long long)lost, kept > 0);
    return 0;
}
