//! What commands that read run directories share: opening one, and choosing parameters.

use crate::paper::figures::canvas::{self, Scene};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use towline::store::RunDir;

/// Opens a run directory.
pub fn open(path: &Path) -> Result<RunDir> {
    Ok(RunDir::open(path)?)
}

/// Replaces a file as a whole: written beside it, then renamed, so that a failure leaves an earlier one as it was. A
/// link in its place is not followed.
pub fn write_beside(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_with(path, |mut file| Ok(file.write_all(bytes)?))
}

/// The same, with whatever writes the new file.
pub fn replace_with(path: &Path, write: impl FnOnce(&File) -> Result<()>) -> Result<()> {
    let attempt = || -> Result<()> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        // A new file of a name that nobody can have planted.
        let file = tempfile::NamedTempFile::new_in(folder)?;
        write(file.as_file())?;
        file.as_file().sync_all()?;
        readable(file.path())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().with_context(|| format!("cannot write {}", path.display()))
}

/// Draws a picture as NAME.svg and NAME.png in a folder, in place of earlier ones once both are drawn.
pub fn save_picture(scene: &impl Scene, folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let beside = tempfile::tempdir_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    let mut written = Vec::new();
    for file in canvas::save(scene, beside.path(), name)? {
        let to = folder.join(file.file_name().unwrap_or_default());
        readable(&file)
            .and_then(|()| std::fs::rename(&file, &to))
            .with_context(|| format!("cannot write {}", to.display()))?;
        written.push(to);
    }
    Ok(written)
}

/// A picture as its files hold it.
#[derive(Debug, Clone)]
pub struct Drawn {
    /// For pages.
    pub svg: String,
    /// For everything else.
    pub png: Vec<u8>,
}

/// Draws a picture for somebody who wants no files.
pub fn drawn(scene: &impl Scene) -> Result<Drawn> {
    let folder = tempfile::tempdir()?;
    canvas::save(scene, folder.path(), "picture")?;
    Ok(Drawn {
        svg: std::fs::read_to_string(folder.path().join("picture.svg"))?,
        png: std::fs::read(folder.path().join("picture.png"))?,
    })
}

/// Temporary files are their owner's alone; results are as readable as any other new file.
pub fn readable(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The names that were asked for (`a,b` or with a star at the end, `f*`), or `None` for all columns.
pub fn choose(run: &RunDir, asked: &[String]) -> Result<Option<Vec<String>>> {
    if asked.is_empty() {
        return Ok(None);
    }
    let known: Vec<&str> = run
        .manifest()
        .columns_in_order()
        .map(|c| c.name.as_str())
        .collect();
    let mut chosen: Vec<String> = Vec::new();
    for one in asked {
        let matches: Vec<&str> = match one.strip_suffix('*') {
            Some(start) => known
                .iter()
                .copied()
                .filter(|n| n.starts_with(start))
                .collect(),
            None => known.iter().copied().filter(|n| n == one).collect(),
        };
        if matches.is_empty() {
            const MOST: usize = 12;
            let more = if known.len() > MOST { ", …" } else { "" };
            let some = known[..known.len().min(MOST)].join(", ");
            bail!(
                "there is no parameter {one} in {}: it has {some}{more}",
                run.path().display()
            );
        }
        for name in matches {
            if !chosen.iter().any(|c| c == name) {
                chosen.push(name.to_owned());
            }
        }
    }
    Ok(Some(chosen))
}

/// A number as a person wants to read it: four digits, no more.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if !(1e-3..1e6).contains(&size) {
        format!("{value:.2e}")
    } else {
        let digits = (3 - size.log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", digits as usize)
    }
}

/// A count with its thousands apart.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    // Rounded first: there is no minute of sixty seconds more.
    let whole = seconds.round() as u64;
    let minutes = (seconds / 60.0).round() as u64;
    match seconds {
        s if s < 59.95 => format!("{s:.1} s"),
        _ if whole < 3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Run directories made up for tests.
#[cfg(test)]
pub mod made_up {
    use std::path::Path;
    use towline::store::{FORMAT, Manifest, Options, Rows, VERSION};
    use towline::{Column, Rng, Role};

    /// A run of two chains with a slow, a fast and a derived column.
    pub fn run(folder: &Path, draws: usize) {
        let mut column = Column::new("sd", Role::Slow);
        column.lower = Some(0.0);
        column.label = Some(r"\sigma".to_owned());
        let columns = vec![
            column,
            Column::new("mean", Role::Fast),
            Column::new("ratio", Role::Derived),
        ];
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            towline: env!("CARGO_PKG_VERSION").to_owned(),
            model: serde_json::json!({"kind": "builtin", "name": "made up </script><b>"}),
            seed: 1,
            chains: 2,
            draws: draws as u64,
            columns,
            statistics: Manifest::STATISTICS.map(str::to_owned).to_vec(),
            latents: Vec::new(),
            latent_every: 1,
            options: Options::default(),
            tuning: None,
        };
        manifest.write(folder).unwrap();
        for chain in 0..2 {
            let mut rng = Rng::stream(8, chain);
            let path = folder.join(format!("chain-{chain}.f64"));
            let mut rows = Rows::open(&path, 7, 0).unwrap();
            let (mut a, mut b) = (0.0, 0.0);
            for _ in 0..draws {
                // One row in two stays where it was, as in a Metropolis chain.
                let moved = rng.uniform() < 0.5;
                if moved {
                    a = 0.9 * a + 0.44 * rng.normal();
                    b = 0.5 * a + rng.normal();
                }
                let log = -0.5 * (a * a + (b - 0.5 * a) * (b - 0.5 * a));
                let (sd, mean) = (f64::exp(a), b);
                rows.append(&[
                    sd,
                    mean,
                    mean / sd,
                    log,
                    f64::from(u8::from(moved)),
                    1.0,
                    12.0,
                ]);
            }
            rows.sync().unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let seen = [0.0, 1.0, -12.3456, 123_456.7, 1e-9, f64::NAN].map(short);
        assert_eq!(seen, ["0", "1.000", "-12.35", "123457", "1.00e-9", "–"]);
        assert_eq!(count(1_234_567), "1,234,567");
        let said = [59.96, 119.7, 3599.6, 3725.0].map(duration);
        assert_eq!(said, ["1 min 0 s", "2 min 0 s", "1 h 0 min", "1 h 2 min"]);
    }

    #[test]
    fn parameters_are_chosen_by_name_or_beginning() {
        let folder = tempfile::tempdir().unwrap();
        made_up::run(folder.path(), 10);
        let run = open(folder.path()).unwrap();
        let ask = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            choose(&run, &names)
        };
        assert_eq!(ask(&[]).unwrap(), None);
        assert_eq!(ask(&["ratio", "s*"]).unwrap().unwrap(), ["ratio", "sd"]);
        let said = ask(&["nope"]).unwrap_err().to_string();
        assert!(said.contains("it has sd, mean, ratio"), "{said}");
    }
}
