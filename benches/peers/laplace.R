# Laplace fits of the bench `laplace.py`: glmmTMB's, and TMB's of a BYM2. Prints the seconds of a fit alone, packages and data being loaded
# and the model compiled before, by the clock and of the processor, and the estimates.
#
# usage: Rscript laplace.R NAME FOLDER [SCALE]    with FOLDER the data, and where a compiled model may be left; SCALE is that of a BYM2
arguments <- commandArgs(TRUE)
name <- arguments[1]
folder <- arguments[2]
file <- function(...) file.path(folder, ...)

mixed <- function(formula, data, family) {
  suppressMessages(library(glmmTMB))
  function() {
    fit <- glmmTMB(formula, data = data, family = family)
    c(fixef(fit)$cond, sapply(VarCorr(fit)$cond, function(v) attr(v, "stddev")))
  }
}

# A soft sum makes the precision of phi full: TMB's Laplace then works with a dense matrix of 3,842, which would not be a fair comparison. So one
# tract is held at zero instead, which leaves the same model up to its intercept, and a sparse precision.
bym2 <- function() {
  suppressMessages(library(TMB))
  rows <- read.csv(file("nyc.csv"))
  edges <- read.csv(file("edges.csv"))
  source_file <- file("bym2.cpp")
  compile(source_file, flags = "-O2 -w")
  dyn.load(dynlib(file("bym2")))
  data <- list(y = rows$y, offset = log(rows$E), from = match(edges[[1]], rows$area) - 1L, to = match(edges[[2]], rows$area) - 1L, scale = as.numeric(arguments[3]))
  start <- list(intercept = 0, log_sd = 0, logit_mix = 0, phi = numeric(nrow(rows)), theta = numeric(nrow(rows)))
  function() {
    held <- list(phi = factor(c(NA, seq_len(nrow(rows) - 1))))
    model <- MakeADFun(data, start, random = c("phi", "theta"), map = held, DLL = "bym2", silent = TRUE)
    fit <- nlminb(model$par, model$fn, model$gr)
    report <- sdreport(model, getJointPrecision = FALSE)
    c(fit$par, sd = exp(fit$par[["log_sd"]]), mix = plogis(fit$par[["logit_mix"]]))
  }
}

fit <- switch(name,
  epil = {
    data <- read.csv(file("epil.csv"))
    data$row <- factor(seq_len(nrow(data)))
    mixed(y ~ log(base / 4) * trt + log(age) + V4 + (1 | subject) + (1 | row), data, poisson)
  },
  salamander = mixed(Mate ~ 0 + Cross + (1 | Female) + (1 | Male), read.csv(file("salamander.csv")), binomial),
  contraception = {
    data <- read.csv(file("contraception.csv"))
    data$livch <- factor(data$livch)
    mixed((use == "Y") ~ age + I(age^2) + urban + livch + (1 | district), data, binomial)
  },
  nyc = bym2(),
  stop("there is no model ", name)
)

# The first fit loads what the others find loaded.
fits <- if (name == "nyc") 2 else 4
times <- lapply(seq_len(fits), function(k) system.time(estimates <<- fit()))[-1]
median_of <- function(what) median(sapply(times, what))
cat("clock", median_of(function(t) t[["elapsed"]]), "\n")
cat("cpu", median_of(function(t) t[["user.self"]] + t[["sys.self"]]), "\n")
cat(paste(names(estimates), signif(estimates, 5)), sep = "\n")
