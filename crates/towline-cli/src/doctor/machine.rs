//! The machine and what is installed on it, each as a finding.

use super::Finding;
use std::env;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long another program may take to say its version; Python may have to read many files.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything but sampling itself.
pub fn findings() -> Vec<Finding> {
    let mut all = vec![command(), features(), cores()];
    all.extend(memory());
    all.extend([folder(), terminal(), mpi(), python()]);
    all
}

fn command() -> Finding {
    let place =
        env::current_exe().map_or_else(|_| "unknown".into(), |path| path.display().to_string());
    Finding::ok(
        "towline",
        format!(
            "{} for {} {}, {place}",
            env!("CARGO_PKG_VERSION"),
            env::consts::OS,
            env::consts::ARCH
        ),
    )
}

fn features() -> Finding {
    if cfg!(feature = "parquet") {
        Finding::ok("features", "parquet")
    } else {
        Finding::absent(
            "features",
            "built without parquet",
            "Only for `towline export --to parquet`: cargo install --path crates/towline-cli --features parquet.",
        )
    }
}

fn cores() -> Finding {
    match thread::available_parallelism() {
        Ok(cores) => {
            let threads = match env::var("OMP_NUM_THREADS") {
                Ok(number) => format!("; OMP_NUM_THREADS is {number}"),
                Err(_) => String::new(),
            };
            let chains = match cores.get() {
                1 => "chains take turns on it".to_owned(),
                cores => format!("{} of four chains at a time", cores.min(4)),
            };
            Finding::ok("cores", format!("{cores}: {chains}{threads}"))
        }
        Err(error) => Finding::absent(
            "cores",
            &error.to_string(),
            "Say how many threads to use: --threads.",
        ),
    }
}

/// Where the system has a file that says so (Linux does).
fn memory() -> Option<Finding> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |name: &str| -> Option<f64> {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let gigabytes = |name| Some(kilobytes(name)? / 1_048_576.0);
    Some(Finding::ok(
        "memory",
        format!(
            "{:.1} GiB, {:.1} available",
            gigabytes("MemTotal:")?,
            gigabytes("MemAvailable:")?
        ),
    ))
}

fn folder() -> Finding {
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let name = here.display();
    match tempfile::NamedTempFile::new_in(&here) {
        Ok(_) => Finding::ok("folder", format!("{name} can be written")),
        Err(error) => Finding::bad(
            "folder",
            format!("{name}: {error}"),
            "Runs are written here unless --out names another folder: go to one that you may write.",
        ),
    }
}

fn terminal() -> Finding {
    let kind = match (
        io::stdout().is_terminal(),
        env::var_os("NO_COLOR").is_some(),
    ) {
        (false, _) => "output goes to a file or a pipe: plain lines, no colours".to_owned(),
        (true, colourless) => {
            let (rows, columns) = console::Term::stdout().size();
            let colours = if colourless {
                "no colours (NO_COLOR)"
            } else {
                "colours"
            };
            format!("{columns} columns, {rows} rows, {colours}")
        }
    };
    Finding::ok("terminal", kind)
}

fn mpi() -> Finding {
    const HOW: &str = "Only for chains on several machines: install an MPI (on Debian libopenmpi-dev, openmpi-bin, libclang-dev), \
                       then cargo install --path crates/towline-mpi.";
    let Some(version) = first_line("mpirun", &["--version"]) else {
        return Finding::absent("MPI", "no mpirun", HOW);
    };
    match first_line("towline-mpi", &["--version"]) {
        Some(towline) => Finding::ok("MPI", format!("{version}; {towline}")),
        None => Finding::absent("MPI", &format!("{version}, but no towline-mpi"), HOW),
    }
}

/// Asks for what the package can use, without importing more than names.
const PYTHON: &str = "\
import platform
from importlib import metadata
def version(name):
    try:
        return name + ' ' + metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
names = [version(n) for n in ('towline', 'numpy', 'arviz', 'getdist', 'cobaya', 'mpi4py')]
print(', '.join(['Python ' + platform.python_version()] + [n for n in names if n]))";

fn python() -> Finding {
    let Some(found) = ["python3", "python"]
        .iter()
        .find_map(|name| first_line(name, &["-c", PYTHON]))
    else {
        return Finding::absent(
            "Python",
            "none",
            "Only for models in Python: Python 3.11 or later, then pip install towline's wheel.",
        );
    };
    if found.contains("towline") {
        Finding::ok("Python", found)
    } else {
        Finding::absent(
            "Python",
            &format!("{found}, without the package towline"),
            "Only for models in Python: `make wheels` in a clone, then pip install target/wheels/towline-*.whl.",
        )
    }
}

/// The first line that a program prints, where it is there and ends in time.
fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait().ok()? {
            Some(ended) => break ended,
            None if begun.elapsed() > PATIENCE => {
                // It hangs: nothing is lost, and nothing is known.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => thread::sleep(Duration::from_millis(10)),
        }
    };
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim();
    (ended.success() && !line.is_empty()).then(|| line.to_owned())
}
