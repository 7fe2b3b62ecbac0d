# Makes crates/towline-models/tests/data/lme4: a small table, and the model matrices that lme4 makes of it for many formulas.
# Run from the repository's root:  Rscript scripts/lme4_matrices.R
# Needs lme4 (Debian: r-cran-lme4); nothing else. The matrices are R's own (model.matrix) as lme4::lFormula returns them.
invisible(Sys.setlocale("LC_COLLATE", "C"))
suppressMessages({library(lme4); library(splines)})
folder <- "crates/towline-models/tests/data/lme4"

# Deterministic and uneven, without ties in x, with every combination of a and b but unequal counts.
n <- 30
k <- seq_len(n)
table <- data.frame(
  y = round(sin(k * 1.1) + k / 20, 3),
  x = round(sin(k * 2.3) + 0.01 * k, 4),
  z = round(cos(k * 1.9) * 2, 4),
  w = round(1.5 + exp(sin(k * 0.7)), 4),
  a = c("u", "v", "w")[1 + (k * k) %% 3 + (k %% 5 == 0)],
  b = c("p", "q")[1 + (k %/% 2) %% 2],
  d = c("k", "l", "m")[1 + (k %/% 4) %% 3],
  n = c(1, 2, 3, 10)[1 + (k * 3 + k %/% 7) %% 4],
  g = paste0("g", 1 + (k * 7) %% 5),
  h = paste0("h", 1 + k %% 4),
  s = paste0("s", 1 + (k %/% 4) %% 2)
)
write.csv(table, file.path(folder, "table.csv"), row.names = FALSE, quote = FALSE)
table <- read.csv(file.path(folder, "table.csv"), stringsAsFactors = TRUE)

formulas <- c(
  "y ~ x + (1 | g)",
  "y ~ x*z + (1 | g)",
  "y ~ a + (1 | g)",
  "y ~ 0 + a + (1 | g)",
  "y ~ a*b + (x | g)",
  "y ~ a:b + (1 | g)",
  "y ~ a/b + (1 | g)",
  "y ~ a + a:x + (1 | g)",
  "y ~ a:x + (1 | g)",
  "y ~ 0 + a:x + (1 | g)",
  "y ~ (a + b + x)^2 + (1 | g)",
  "y ~ a*b*x - a:b:x + (1 | g)",
  "y ~ b:a + a + (0 + x | g)",
  "y ~ a:b + a:d + (1 | g)",
  "y ~ 0 + a + b + (1 | g)",
  "y ~ 0 + x + x:a + (1 | g)",
  "y ~ a*b - a + (1 | g)",
  "y ~ poly(x, 3) + (1 | g)",
  "y ~ poly(x, 2, raw = TRUE) + (1 | g)",
  "y ~ a*poly(x, 2) + (1 | g)",
  "y ~ ns(x, df = 3) + (1 | g)",
  "y ~ 0 + ns(x, knots = c(-0.5, 0, 0.5), intercept = TRUE) + (1 | g)",
  "y ~ ns(x, knots = c(-0.4, 0.3), Boundary.knots = c(-0.8, 0.9)) + (1 | g)",
  "y ~ bs(x, df = 5) + (1 | g)",
  "y ~ bs(x, knots = c(-0.3, 0.4), degree = 2) + (1 | g)",
  "y ~ C(a, contr.sum) + (1 | g)",
  "y ~ C(factor(n), contr.poly) + (1 | g)",
  "y ~ C(a, contr.helmert)*x + (1 | g)",
  "y ~ C(a, contr.treatment, base = 3) + (1 | g)",
  "y ~ relevel(a, ref = \"v\") + (1 | g)",
  "y ~ relevel(factor(n), 3) + (1 | g)",
  "y ~ factor(n) + log(w, 2) + I(x^2) + (1 | g)",
  "y ~ scale(x) + (scale(x) | g)",
  "y ~ x + (x || g)",
  "y ~ x + (1 | g) + (0 + x | g)",
  "y ~ x + (1 + x + z | g) + (1 | h)",
  "y ~ x + (1 | h/s)",
  "y ~ a + (a | g)",
  "y ~ a + (0 + a | g)",
  "y ~ b + (b || g)",
  "y ~ 1 + (x + z | g:h)",
  "y ~ poly(z, 2) + (poly(z, 2) | h)"
)

# Seventeen digits name a double exactly.
number <- function(v) formatC(v, digits = 17, format = "g", width = 1)
text <- function(v) paste0('"', gsub('"', '\\\\"', v), '"')
list_of <- function(v) paste0("[", paste(v, collapse = ","), "]")
# R's names without spaces and brackets around the intercept, as Towline writes them.
plain <- function(v) gsub(" ", "", sub("^\\(Intercept\\)$", "Intercept", v))

control <- lmerControl(check.nobs.vs.nlev = "ignore", check.nobs.vs.nRE = "ignore", check.nlev.gtr.1 = "ignore",
                       check.scaleX = "ignore")
entries <- sapply(formulas, function(f) {
  parsed <- suppressMessages(suppressWarnings(lFormula(as.formula(f), data = table, control = control)))
  x <- parsed$X
  columns <- apply(x, 2, function(column) list_of(number(column)))
  re <- parsed$reTrms
  assign <- attr(re$flist, "assign")
  terms <- sapply(seq_along(re$Ztlist), function(i) {
    z <- as.matrix(re$Ztlist[[i]])
    rows <- apply(z, 1, function(row) list_of(number(row)))
    sprintf('{"group":%s,"effects":%s,"levels":%s,"zt":%s}', text(names(re$cnms)[i]),
            list_of(text(plain(re$cnms[[i]]))), list_of(text(levels(re$flist[[assign[i]]]))), list_of(rows))
  })
  sprintf('{"formula":%s,\n"names":%s,\n"x":%s,\n"terms":%s}', text(f), list_of(text(plain(colnames(x)))),
          list_of(columns), list_of(terms))
})
about <- sprintf("model matrices by lme4 %s and splines of %s; scripts/lme4_matrices.R makes them",
                 packageVersion("lme4"), R.version.string)
writeLines(sprintf('{"about":%s,\n"models":[\n%s\n]}', text(about), paste(entries, collapse = ",\n")),
           file.path(folder, "matrices.json"))
