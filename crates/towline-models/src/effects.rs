//! Effects on the response scale: what the response would be on average if every row had other covariates.

use crate::error::Error;
use crate::family::Family;
use crate::predict::{Mixture, New, Predictor, RowPrediction, What};

impl Predictor {
    /// The expected response averaged over rows, draw by draw.
    ///
    /// # Errors
    /// Where the rows do not fit the model, or have several classes.
    pub fn average_response(&self, new: &New) -> Result<Vec<f64>, Error> {
        if self.model.family() == Family::Softmax {
            return Err(Error::model(
                "a response of several classes has no average: use `towline predict` for the probability of each",
            ));
        }
        self.each(&|_| {}, |_, cache, y| {
            let predicted = self.model.predict(cache, y, new, What::Row)?;
            let mut sum = 0.0;
            for row in 0..new.rows {
                let mut eta = Mixture::default();
                eta.push(predicted.mean[row], predicted.variance[row]);
                let one = RowPrediction {
                    eta,
                    parameters: vec![cache.parameter()],
                    family: self.model.family(),
                    trials: new.trials.get(row).copied().unwrap_or(1.0),
                };
                sum += one.expected_moments().0;
            }
            Ok(sum / new.rows as f64)
        })
    }
}
