/* Random numbers for the programs in C: xoshiro256++, ziggurat normals and exponentials of 256 layers with one 64-bit
 * number per draw. */
#ifndef TOWLINE_RANDOM_H
#define TOWLINE_RANDOM_H
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { LAYERS = 256 };

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

static void build_tables(void) {
    build(&normal_table, 3.654152885361008796, 0.004928673233974655, 0x1p52, normal_pdf, normal_inv);
    build(&exp_table, 7.69711747013104972, 0.003949659822581572, 0x1p53, exp_pdf, exp_inv);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
#endif
