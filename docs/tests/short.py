"""`towline.sample`, `resume` and `sample_density` with little to do: pages and notebooks show what a reader should type, and are tested with less."""

#: Draws of each chain and slow evaluations of its warm-up, at most; iterations of `towline paper`.
LEAST = {"draws": 100, "warmup": 150, "iterations": 2000}


def shorten_the_package():
    """Replaces the package's functions, in this interpreter, by ones that cut runs short."""
    import towline

    sample, resume, density = towline.sample, towline.resume, towline.sample_density

    def short_sample(model, chains=None, draws=2000, **more):
        more = {"warmup": LEAST["warmup"], **more, "progress": False}
        return sample(model, chains, draws=min(draws, LEAST["draws"]), **more)

    def short_resume(out, model=None, draws=None, **more):
        return resume(out, model, draws=draws and min(draws, 2 * LEAST["draws"]), **{**more, "progress": False})

    def short_density(prepare, log_density, x0, y0, **options):
        options = {**options, "draws": min(options.get("draws", 2000), LEAST["draws"]), "progress": False}
        return density(prepare, log_density, x0, y0, **options)

    towline.sample, towline.resume, towline.sample_density = short_sample, short_resume, short_density
