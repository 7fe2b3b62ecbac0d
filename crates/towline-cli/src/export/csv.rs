//! One table: a line for each draw, with its chain and number.

use crate::runs;
use anyhow::Result;
use std::fs::File;
use std::path::Path;
use towline::store::RunDir;

/// Writes the table. Every draw of every chain is in it, also where one chain has more than the others.
pub fn write(run: &RunDir, out: &Path) -> Result<()> {
    runs::replace_with(out, |file| table(run, file))
}

fn table(run: &RunDir, out: &File) -> Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let manifest = run.manifest();
    if super::is_weighted(run)? {
        let mut header: Vec<&str> = run.names().collect();
        header.extend(["log_density", "weight"]);
        writer.write_record(&header)?;
        let mut failed = None;
        run.weighted()?.each(|row| {
            if failed.is_none() {
                failed = writer
                    .write_record(row.iter().map(ToString::to_string))
                    .err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        writer.flush()?;
        return Ok(());
    }
    let mut header = vec!["chain", "draw"];
    header.extend(run.names());
    header.extend(manifest.statistics.iter().map(String::as_str));
    writer.write_record(&header)?;
    for chain in 0..run.chains() {
        let (mut draw, mut failed) = (0u64, None);
        run.draws(chain).each(|row| {
            let mut record = vec![chain.to_string(), draw.to_string()];
            record.extend(row.iter().map(ToString::to_string));
            draw += 1;
            if failed.is_none() {
                failed = writer.write_record(&record).err();
            }
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
    }
    writer.flush()?;
    Ok(())
}
