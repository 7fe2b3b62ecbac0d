//! `make estimates`: replicated estimates by weights on targets with known moments and constants; names as
//! arguments for some of them, `--replicates=N`, `--columns` for the scores of every column.

use std::error::Error;
use towline_gallery::estimates;

/// Replicates of each target.
const REPLICATES: u64 = 40;
/// Points of each estimate.
const POINTS: [usize; 3] = [50, 100, 400];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut replicates, mut names, mut columns) = (REPLICATES, Vec::new(), false);
    for argument in std::env::args().skip(1) {
        if argument == "--columns" {
            columns = true;
            continue;
        }
        match argument.strip_prefix("--replicates=") {
            Some(count) => replicates = count.parse()?,
            None => names.push(argument),
        }
    }
    for known in estimates::all() {
        if !names.is_empty() && !names.contains(&known.target.name) {
            continue;
        }
        for one in estimates::replicate(&known, replicates, &POINTS)? {
            println!(
                "{:10} {:>2}+{} {:>4} points: rms z means {:.2}, squares {:.2}, sds {:.2}, ln Z {:.2}; worst {:.1}; learned from {:.0}, sd ln w {:.3}, worth {:.2} draws/slow, poor {}",
                known.target.name,
                known.target.slow,
                known.target.fast,
                one.points,
                one.rms[0],
                one.rms[1],
                one.rms[2],
                one.rms[3],
                one.worst,
                one.learned,
                one.spread,
                one.worth,
                one.poor,
            );
            for (name, mean, rms) in one.scores.iter().filter(|_| columns) {
                println!("    {name:12} mean z {mean:+.2}, rms {rms:.2}");
            }
        }
    }
    Ok(())
}
