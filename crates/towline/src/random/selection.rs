//! Choosing between two states without a jump.
//!
//! Whether a proposal is accepted cannot be predicted, and a wrong guess costs more than the rest of a
//! cheap inner step. `std::hint::select_unpredictable` ought to be enough, and is on machines that choose
//! between floating-point registers by a flag. x86-64 has no such instruction: when the condition
//! is used more than once the compiler makes a jump of it after all. There the comparison's own mask is
//! used instead.

/// The outcome of a comparison `new > level`, to be used on several numbers.
#[cfg(target_arch = "x86_64")]
pub(crate) use masked::Choice;
/// The outcome of a comparison `new > level`, to be used on several numbers.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::Choice;

/// What can be chosen so.
pub(crate) trait Choose: Copy {
    /// `new` if the choice fell on it, else `old`.
    fn choose(choice: Choice, new: Self, old: Self) -> Self;
}

impl Choose for f64 {
    #[inline(always)]
    fn choose(choice: Choice, new: f64, old: f64) -> f64 {
        choice.of(new, old)
    }
}

impl<const D: usize> Choose for [f64; D] {
    #[inline(always)]
    fn choose(choice: Choice, new: Self, old: Self) -> Self {
        core::array::from_fn(|k| choice.of(new[k], old[k]))
    }
}

// The one place with `unsafe`: intrinsics are unsafe only because a machine might lack them, and SSE2 is
// part of every x86-64.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod masked {
    use core::arch::x86_64::*;

    /// All ones in the low half where the comparison held, else all zeros.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Choice(__m128d);

    impl Choice {
        /// Whether `new > level`; not where either is NaN.
        #[inline(always)]
        pub fn greater(new: f64, level: f64) -> Self {
            // SAFETY: SSE2 is part of x86-64.
            Self(unsafe { _mm_cmpgt_sd(_mm_set_sd(new), _mm_set_sd(level)) })
        }

        /// Whether the new is chosen.
        #[inline(always)]
        pub fn is_new(self) -> bool {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { _mm_movemask_pd(self.0) & 1 != 0 }
        }

        /// `new` or `old`.
        #[inline(always)]
        pub fn of(self, new: f64, old: f64) -> f64 {
            // SAFETY: SSE2 is part of x86-64, and SSE4.1 is used only in a build that requires it.
            unsafe {
                let (new, old) = (_mm_set_sd(new), _mm_set_sd(old));
                #[cfg(target_feature = "sse4.1")]
                let chosen = _mm_blendv_pd(old, new, self.0);
                #[cfg(not(target_feature = "sse4.1"))]
                let chosen = _mm_or_pd(_mm_and_pd(self.0, new), _mm_andnot_pd(self.0, old));
                _mm_cvtsd_f64(chosen)
            }
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    /// Whether the comparison held.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Choice(bool);

    impl Choice {
        /// Whether `new > level`; not where either is NaN.
        #[inline(always)]
        pub fn greater(new: f64, level: f64) -> Self {
            Self(new > level)
        }

        /// Whether the new is chosen.
        #[inline(always)]
        pub fn is_new(self) -> bool {
            self.0
        }

        /// `new` or `old`.
        #[inline(always)]
        pub fn of(self, new: f64, old: f64) -> f64 {
            core::hint::select_unpredictable(self.0, new, old)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [f64; 9] = [
        f64::NEG_INFINITY,
        -1.5,
        -0.0,
        0.0,
        f64::MIN_POSITIVE,
        1.0,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];

    #[test]
    fn a_choice_is_the_comparison_and_returns_the_very_bits_it_was_given() {
        for new in NUMBERS {
            for level in NUMBERS {
                let (here, anywhere) = (
                    Choice::greater(new, level),
                    portable::Choice::greater(new, level),
                );
                assert_eq!(here.is_new(), new > level, "{new} > {level}");
                assert_eq!(anywhere.is_new(), new > level, "{new} > {level}");
                for a in NUMBERS {
                    for b in NUMBERS {
                        let expected = if new > level { a } else { b }.to_bits();
                        assert_eq!(f64::choose(here, a, b).to_bits(), expected);
                        assert_eq!(anywhere.of(a, b).to_bits(), expected);
                    }
                }
            }
        }
    }
}
