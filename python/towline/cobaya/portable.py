"""An evaluator in another process: not its caches and codes are sent there, but the input from which all is built again."""

from cobaya.log import LoggedError


def pack(evaluator):
    """What pickle needs of an evaluator."""
    import dill

    try:
        # Functions in an input are often lambdas, or live in a script: more than pickle can carry.
        packed = dill.dumps(evaluator.model.info(), recurse=True)
    except Exception as problem:
        raise LoggedError(
            evaluator.model.log,
            "This input cannot be given to other processes (%s). Use `parallel: serial`, or run it under mpirun.",
            problem,
        ) from problem
    return unpack, (type(evaluator), packed, evaluator.speeds, evaluator.temperature)


def unpack(kind, packed, speeds, temperature):
    """The evaluator, built again."""
    import dill
    from cobaya.model import get_model

    model = get_model(dill.loads(packed))
    evaluator = kind(model, speeds, temperature)
    model.set_cache_size(evaluator.cache_size)
    return evaluator
