/* The inner loop of a drag in plain C: the yardstick for Towline's own loop.
 *
 * The paper's test 1, E = x^2 + 50 (1+x^2)^2 (y - sin x)^2, log density -E, dragged with
 * n = 500 intervals (499 inner Metropolis moves per outer step), slow proposal sd 1, y proposal
 * sd 0.2. It is a complete and correct sampler, in one scalar loop in the fastest form we know:
 * xoshiro256++, ziggurat normals and exponentials of 256 layers with one 64-bit number per draw,
 * acceptance by comparing the log density with a level Exp(1) below the old one (neither exp nor log),
 * and a branch-free choice between the old state and the new.
 *
 * Build it with
 *   gcc -O2 -march=native -ffp-contract=fast -fno-math-errno -fno-tree-slp-vectorize inner.c -o inner -lm
 * the fastest of those tried (gcc 12.2, AMD Zen 3; ns per inner step, best of many):
 *   8.5  -O2 with the flags above
 *   8.7  the same without -fno-tree-slp-vectorize
 *   9.1  the same with -ffp-contract=off (what Rust compiles to, if the model has no mul_add)
 *  10.2  -O2 without -march=native
 *  14.1  -O3, with or without -fno-tree-slp-vectorize: gcc makes a jump of the choice between the states
 * What the form gave, at the best flags: choosing by integer masks 12.2; by ?: (vblendvpd) 9.8; and
 * comparing with a level instead of a ratio, so that the proposal's density is the last to arrive, 8.5.
 *
 *   inner [outer steps = 20000] [repeats = 25] [seed = 1]
 *
 * prints one line of JSON: the best nanoseconds per inner step over the repeats (with
 * everything else that an outer step does), their median, and the rejection rates over all repeats, to
 * be compared with 52.22 % outer and 63.98 % inner. On a busy machine take many short repeats (100 400).
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { N = 500, LAYERS = 256 };

/* ---- xoshiro256++ ---- */

typedef struct {
    uint64_t s[4];
} Rng;

static inline uint64_t rotl(uint64_t v, int k) { return (v << k) | (v >> (64 - k)); }

static inline uint64_t next(Rng *r) {
    uint64_t *s = r->s;
    const uint64_t out = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return out;
}

static Rng seeded(uint64_t seed) { /* splitmix64 */
    Rng r;
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        r.s[i] = z ^ (z >> 31);
    }
    return r;
}

static inline double open01(Rng *r) { return ((double)(next(r) >> 12) + 0.5) * 0x1p-52; }

/* ---- ziggurats ----
 * Layer i spans |x| < x[i] and densities f[i] to f[i+1]; x[1] = R, layer 0 is the base with the
 * tail, x[256] = 0. The low 8 bits of a draw choose the layer, the high 53 the place in it:
 * j * w[i] lies inside the next layer, and so surely under the curve, when |j| < k[i]. */

typedef struct {
    struct {
        int64_t k;
        double w;
    } in[LAYERS];
    double f[LAYERS + 1], r;
} Ziggurat;

static Ziggurat normal_table, exp_table;

static double normal_pdf(double x) { return exp(-0.5 * x * x); }
static double normal_inv(double f) { return sqrt(-2 * log(f)); }
static double exp_pdf(double x) { return exp(-x); }
static double exp_inv(double f) { return -log(f); }

/* r and v: where the tail begins and the area of a layer; scale: |j| is below it. */
static void build(Ziggurat *z, double r, double v, double scale, double (*pdf)(double),
                  double (*inv)(double)) {
    double x[LAYERS + 1];
    x[0] = v / pdf(r);
    x[1] = r;
    for (int i = 2; i < LAYERS; i++) x[i] = inv(pdf(x[i - 1]) + v / x[i - 1]);
    x[LAYERS] = 0;
    for (int i = 0; i < LAYERS; i++) {
        z->in[i].w = x[i] / scale;
        z->in[i].k = (int64_t)(x[i + 1] / x[i] * scale);
    }
    for (int i = 0; i <= LAYERS; i++) z->f[i] = pdf(x[i]);
    z->r = r;
}

static __attribute__((noinline, cold)) double normal_edge(Rng *r, int64_t j, unsigned i) {
    for (;;) {
        double x = (double)j * normal_table.in[i].w;
        if (llabs(j) < normal_table.in[i].k) return x;
        if (i == 0) {
            double a, b;
            do {
                a = -log(open01(r)) / normal_table.r;
                b = -log(open01(r));
            } while (2 * b < a * a);
            return j < 0 ? -normal_table.r - a : normal_table.r + a;
        }
        const double *f = normal_table.f;
        if (f[i] + (f[i + 1] - f[i]) * open01(r) < normal_pdf(x)) return x;
        uint64_t u = next(r);
        i = u & 255;
        j = (int64_t)u >> 11;
    }
}

static __attribute__((noinline, cold)) double exp_edge(Rng *r, int64_t j, unsigned i) {
    for (;;) {
        double x = (double)j * exp_table.in[i].w;
        if (j < exp_table.in[i].k) return x;
        if (i == 0) return exp_table.r - log(open01(r));
        const double *f = exp_table.f;
        if (f[i] + (f[i + 1] - f[i]) * open01(r) < exp_pdf(x)) return x;
        uint64_t u = next(r);
        i = u & 255;
        j = (int64_t)(u >> 11);
    }
}

/* The generator passes through these edges by value, so that in the loop it lives in registers. */
static inline double normal(Rng *r) {
    const uint64_t u = next(r);
    const unsigned i = u & 255;
    const int64_t j = (int64_t)u >> 11;
    if (__builtin_expect(llabs(j) < normal_table.in[i].k, 1)) return (double)j * normal_table.in[i].w;
    Rng copy = *r;
    const double x = normal_edge(&copy, j, i);
    *r = copy;
    return x;
}

static inline double exponential(Rng *r) {
    const uint64_t u = next(r);
    const unsigned i = u & 255;
    const int64_t j = (int64_t)(u >> 11);
    if (__builtin_expect(j < exp_table.in[i].k, 1)) return (double)j * exp_table.in[i].w;
    Rng copy = *r;
    const double x = exp_edge(&copy, j, i);
    *r = copy;
    return x;
}

/* ---- the target ---- */

typedef struct {
    double x2, centre, stiff;
} Cache;

static Cache prepare(double x) {
    const double w = 1 + x * x;
    return (Cache){x * x, sin(x), 50 * w * w};
}

static inline double log_density(const Cache *c, double y) {
    const double r = y - c->centre;
    return -(c->x2 + c->stiff * r * r);
}

/* ---- the sampler ---- */

typedef struct {
    double x, y;
    Cache cache;
    uint64_t steps, outer_rejected, inner_rejected;
} Chain;

static __attribute__((noinline)) void run(Chain *chain, Rng *generator, long steps) {
    Rng rng = *generator;
    const double sd_slow = 1.0, sd_fast = 0.2, inv_n = 1.0 / N;
    for (long step = 0; step < steps; step++) {
        const double x = chain->x + sd_slow * normal(&rng);
        const Cache from = chain->cache, to = prepare(x);
        double y = chain->y, a = log_density(&from, y), b = log_density(&to, y), sum = b - a;
        uint64_t accepted = 0;
        for (int i = 1; i < N; i++) {
            const double wa = (N - i) * inv_n, wb = i * inv_n;
            const double yn = y + sd_fast * normal(&rng);
            const double an = log_density(&from, yn), bn = log_density(&to, yn);
            const int yes = (wa * an + wb * bn) > (wa * a + wb * b) - exponential(&rng);
            y = yes ? yn : y;
            a = yes ? an : a;
            b = yes ? bn : b;
            sum += b - a;
            accepted += (uint64_t)yes;
        }
        if (sum * inv_n > -exponential(&rng)) {
            chain->x = x;
            chain->y = y;
            chain->cache = to;
        } else {
            chain->outer_rejected++;
        }
        chain->inner_rejected += N - 1 - accepted;
        chain->steps++;
    }
    *generator = rng;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

int main(int argc, char **argv) {
    const long steps = argc > 1 ? atol(argv[1]) : 20000;
    const int repeats = argc > 2 ? atoi(argv[2]) : 25;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (steps < 1 || repeats < 1) {
        fprintf(stderr, "usage: %s [outer steps] [repeats] [seed]\n", argv[0]);
        return 2;
    }
    build(&normal_table, 3.654152885361008796, 0.004928673233974655, 0x1p52, normal_pdf, normal_inv);
    build(&exp_table, 7.69711747013104972, 0.003949659822581572, 0x1p53, exp_pdf, exp_inv);

    Rng rng = seeded(seed);
    Chain chain = {.x = 0, .y = 0, .cache = prepare(0)};
    run(&chain, &rng, 100); /* warm the caches, forget the start */
    chain.steps = chain.outer_rejected = chain.inner_rejected = 0;

    double *ns = malloc((size_t)repeats * sizeof *ns), x2 = 0;
    for (int k = 0; k < repeats; k++) {
        const double start = now();
        run(&chain, &rng, steps);
        ns[k] = (now() - start) / ((double)steps * (N - 1));
        x2 += chain.x * chain.x;
    }
    qsort(ns, (size_t)repeats, sizeof *ns, ascending);
    printf("{\"program\": \"inner.c\", \"n\": %d, \"outer_steps\": %ld, \"repeats\": %d, \"seed\": %llu, "
           "\"ns_per_inner_step\": %.3f, \"ns_median\": %.3f, "
           "\"outer_rejection\": %.6f, \"inner_rejection\": %.6f}\n",
           N, steps, repeats, (unsigned long long)seed, ns[0], ns[repeats / 2],
           (double)chain.outer_rejected / (double)chain.steps,
           (double)chain.inner_rejected / ((double)chain.steps * (N - 1)));
    free(ns);
    return x2 < 0; /* keeps the chain alive for the optimiser */
}
