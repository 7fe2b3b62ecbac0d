// BYM2 as Towline's example of New York has it, for TMB: its Laplace approximation integrates phi and theta out.
#include <TMB.hpp>

template <class Type>
Type objective_function<Type>::operator()() {
  DATA_VECTOR(y);
  DATA_VECTOR(offset);
  DATA_IVECTOR(from);
  DATA_IVECTOR(to);
  DATA_SCALAR(scale);
  PARAMETER(intercept);
  PARAMETER(log_sd);
  PARAMETER(logit_mix);
  PARAMETER_VECTOR(phi);
  PARAMETER_VECTOR(theta);
  Type sd = exp(log_sd), mix = invlogit(logit_mix), minus = 0;
  // The priors of the example, with the Jacobians of the two logarithms.
  minus -= dnorm(intercept, Type(0), Type(1), true);
  minus -= -0.5 * sd * sd + log_sd;
  minus -= 0.5 * log(mix) + 0.5 * log(1 - mix);
  for (int k = 0; k < from.size(); k++) minus += 0.5 * pow(phi(from(k)) - phi(to(k)), 2);
  minus -= dnorm(theta, Type(0), Type(1), true).sum();
  vector<Type> eta = offset + intercept + sd * (sqrt(1 - mix) * theta + sqrt(mix) / scale * phi);
  for (int i = 0; i < y.size(); i++) minus -= dpois(y(i), exp(eta(i)), true);
  return minus;
}
