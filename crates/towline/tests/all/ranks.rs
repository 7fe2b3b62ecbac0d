//! Runs of several processes, which are threads here and write to each other through channels: whatever their number,
//! the draws are those of one process; and whoever fails, nobody waits for ever.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use towline::run::{Ended, Post, Ranks, Run, Settings};
use towline::store::RunDir;
use towline::{Column, Cost, Error, Model, ModelError, Rng, Role, Target};

const CHAINS: usize = 5;

/// A slow and a fast variable, and one reported as a latent; fails after so many evaluations.
struct Wavy {
    evaluations: AtomicU64,
    most: u64,
}

fn wavy(most: u64) -> Arc<Wavy> {
    Arc::new(Wavy {
        evaluations: AtomicU64::new(0),
        most,
    })
}

impl Target for Wavy {
    type Cache = [f64; 2];

    fn prepare(&self, x: &[f64]) -> Result<Option<[f64; 2]>, ModelError> {
        if self.evaluations.fetch_add(1, Ordering::Relaxed) >= self.most {
            return Err("the table ends here".into());
        }
        Ok(Some([x[0], x[0].sin()]))
    }

    fn log_density(&self, &[x, sin]: &[f64; 2], y: &[f64]) -> f64 {
        -x * x - 20.0 * (y[0] - sin).powi(2)
    }
}

impl Model for Wavy {
    fn columns(&self) -> Vec<Column> {
        vec![
            Column::new("x", Role::Slow),
            Column::new("y", Role::Fast),
            Column::new("v", Role::Latent),
        ]
    }

    fn report(&self, x: &[f64], y: &[f64], _: &[f64; 2], row: &mut [f64]) {
        row.copy_from_slice(&[x[0], y[0], y[0] * y[0]]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![rng.normal()], vec![rng.normal()]))
    }
}

type Mail = (usize, Vec<u8>);

/// Letters through channels. Those of rank 0 may take their time to the last rank: only letters from one rank to
/// another keep their order.
struct Channels {
    rank: usize,
    late: Duration,
    held: Vec<(Instant, Mail)>,
    to: Vec<Sender<Mail>>,
    inbox: Receiver<Mail>,
}

impl Post for Channels {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.to.len()
    }

    fn carry(&mut self, letters: Vec<Mail>) -> Result<Vec<Mail>, Error> {
        for (to, bytes) in letters {
            // Whoever has gone reads no more.
            let _ = self.to[to].send((self.rank, bytes));
        }
        let last = self.rank + 1 == self.to.len();
        let (slow, mut arrived): (Vec<Mail>, Vec<Mail>) =
            self.inbox.try_iter().partition(|mail| last && mail.0 == 0);
        let due = Instant::now() + self.late;
        self.held.extend(slow.into_iter().map(|mail| (due, mail)));
        let ready = self.held.partition_point(|held| held.0 <= Instant::now());
        arrived.extend(self.held.drain(..ready).map(|held| held.1));
        Ok(arrived)
    }
}

fn posts(ranks: usize) -> Vec<Channels> {
    let (to, inboxes): (Vec<_>, Vec<_>) = (0..ranks).map(|_| channel()).unzip();
    inboxes
        .into_iter()
        .enumerate()
        .map(|(rank, inbox)| Channels {
            rank,
            late: Duration::from_millis(5),
            held: Vec::new(),
            to: to.clone(),
            inbox,
        })
        .collect()
}

/// What each of so many ranks answers, each on a thread; a hang fails.
fn each<A: Send + 'static>(
    ranks: usize,
    work: impl Fn(&mut Ranks) -> Result<A, Error> + Send + Sync + 'static,
) -> Vec<Result<A, Error>> {
    let (tell, told) = channel();
    let work = Arc::new(work);
    for post in posts(ranks) {
        let (tell, work) = (tell.clone(), Arc::clone(&work));
        std::thread::spawn(move || {
            let mut ranks = Ranks::new(Box::new(post));
            let answer = work(&mut ranks);
            let why = answer.as_ref().err().map(ToString::to_string);
            ranks.farewell(why).unwrap();
            tell.send((ranks.rank(), answer)).unwrap();
        });
    }
    let mut answers: Vec<_> = (0..ranks)
        .map(|_| told.recv_timeout(Duration::from_secs(60)).expect("a hang"))
        .collect();
    answers.sort_by_key(|(rank, _)| *rank);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn settings(draws: u64) -> Settings {
    Settings {
        chains: CHAINS,
        draws,
        cost: Cost::Ratio(50.0),
        checkpoint_every: Some(Duration::from_millis(5)),
        ..Settings::default()
    }
}

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    ["chain", "latents"]
        .iter()
        .flat_map(|name| (0..CHAINS).map(move |k| format!("{name}-{k}.f64")))
        .map(|name| fs::read(folder.join(name)).unwrap())
        .collect()
}

fn create(
    ranks: &mut Ranks,
    model: &Arc<Wavy>,
    folder: &Path,
    draws: u64,
    stop: Arc<AtomicBool>,
) -> Result<Ended, Error> {
    let make = || Run::create(folder, Arc::clone(model), "wavy".into(), settings(draws));
    Run::among(ranks, model, make)?.go_among(ranks, stop, &mut |_| ())
}

fn go_on(ranks: &mut Ranks, folder: &Path) -> Result<Ended, Error> {
    let model = wavy(u64::MAX);
    let make = || Run::open(folder, Arc::clone(&model));
    Run::among(ranks, &model, make)?.go_among(ranks, Arc::default(), &mut |_| ())
}

fn whole(folder: &Path, draws: u64) -> Vec<Vec<u8>> {
    let run = Run::create(folder, wavy(u64::MAX), "wavy".into(), settings(draws)).unwrap();
    run.go(Arc::default(), &mut |_| ()).unwrap();
    bytes(folder)
}

#[test]
fn draws_are_the_same_whatever_the_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&folder.path().join("whole"), 300);
    for ranks in [2, 3, 5, 7] {
        let place = folder.path().join(ranks.to_string());
        let here = place.clone();
        let endings = each(ranks, move |ranks| {
            create(ranks, &wavy(u64::MAX), &here, 300, Arc::default())
        });
        for ended in endings {
            assert_eq!(ended.unwrap(), Ended::Finished);
        }
        assert!(bytes(&place) == expected, "{ranks} ranks");
        for entry in fs::read_dir(&place).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with("lock-"), "{name} was left behind");
        }
    }
}

#[test]
fn a_rank_whose_model_fails_ends_all_and_another_number_of_ranks_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&folder.path().join("whole"), 3000);
    // In warm-up, where the others wait for what it brings, and later, where they do not.
    for most in [20, 2500] {
        let place = folder.path().join(most.to_string());
        let here = place.clone();
        let mut endings = each(3, move |ranks| {
            let most = if ranks.rank() == 1 { most } else { u64::MAX };
            create(ranks, &wavy(most), &here, 3000, Arc::default())
        });
        let said = endings.remove(0).unwrap_err().to_string();
        assert!(
            said.contains("the table ends here") && said.contains("rank 1"),
            "{said}"
        );
        assert!(RunDir::open(&place).unwrap().common_rows() < 3000);
        let here = place.clone();
        for ended in each(2, move |ranks| go_on(ranks, &here)) {
            assert_eq!(ended.unwrap(), Ended::Finished);
        }
        assert!(bytes(&place) == expected, "after {most}");
    }
}

#[test]
fn stop_said_to_one_rank_stops_all() {
    let folder = tempfile::tempdir().unwrap();
    let expected = whole(&folder.path().join("whole"), 20_000);
    let place = folder.path().join("broken");
    let here = place.clone();
    let endings = each(3, move |ranks| {
        let stop = Arc::new(AtomicBool::new(false));
        if ranks.rank() == 2 {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, Ordering::Relaxed);
            });
        }
        create(ranks, &wavy(u64::MAX), &here, 20_000, stop)
    });
    assert_eq!(*endings[0].as_ref().unwrap(), Ended::Stopped);
    Run::open(&place, wavy(u64::MAX))
        .unwrap()
        .go(Arc::default(), &mut |_| ())
        .unwrap();
    assert!(bytes(&place) == expected);
}

#[test]
fn a_rank_that_cannot_take_part_ends_all_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    let here = place.clone();
    let mut endings = each(3, move |ranks| {
        if ranks.rank() == 2 {
            return Err(Error::Post("no data on this machine".to_owned()));
        }
        create(ranks, &wavy(u64::MAX), &here, 100, Arc::default())
    });
    let said = endings.remove(0).unwrap_err().to_string();
    assert!(said.contains("no data on this machine"), "{said}");
    assert!(!place.join("manifest.json").exists());
}

#[test]
fn a_leader_that_cannot_begin_ends_all() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_path_buf();
    let endings = each(3, move |ranks| go_on(ranks, &place));
    let said: Vec<String> = endings
        .into_iter()
        .map(|ended| ended.unwrap_err().to_string())
        .collect();
    assert!(
        said.iter().all(|s| s.contains("not a run directory")),
        "{said:?}"
    );
}

#[test]
fn a_rank_that_outlives_its_leader_keeps_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    whole(&place, 20);
    let (here, barrier) = (place.clone(), Arc::new(Barrier::new(2)));
    let endings = each(2, move |ranks| {
        let model = wavy(u64::MAX);
        let run = Run::among(ranks, &model, || Run::open(&here, Arc::clone(&model)))?;
        if ranks.leads() {
            drop(run);
            barrier.wait();
            let refused = Run::open(&here, model);
            barrier.wait();
            return refused.map(|_| ());
        }
        barrier.wait();
        barrier.wait();
        Ok(())
    });
    assert!(
        matches!(endings[0], Err(Error::Locked { .. })),
        "{endings:?}"
    );
    Run::open(&place, wavy(u64::MAX)).unwrap();
}
