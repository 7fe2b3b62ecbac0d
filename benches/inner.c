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
#include "random.h"
#include <stdio.h>

enum { N = 500 };

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
    build_tables();

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
