//! One table in Parquet: chain and draw as integers, everything else as doubles, a row group for each chain.

use anyhow::{Result, anyhow};
use parquet::data_type::{DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use parquet::{basic::Repetition, basic::Type as Physical};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use towline::store::RunDir;

/// Writes the table.
pub fn write(run: &RunDir, out: &Path) -> Result<()> {
    crate::runs::replace_with(out, |file| table(run, file.try_clone()?))
}

fn table(run: &RunDir, out: File) -> Result<()> {
    let field = |name: &str, kind: Physical| {
        Type::primitive_type_builder(name, kind)
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map(Arc::new)
    };
    let manifest = run.manifest();
    let names = run
        .names()
        .chain(manifest.statistics.iter().map(String::as_str));
    let mut fields = vec![
        field("chain", Physical::INT64)?,
        field("draw", Physical::INT64)?,
    ];
    for name in names {
        fields.push(field(name, Physical::DOUBLE)?);
    }
    let schema = Type::group_type_builder("draws")
        .with_fields(fields)
        .build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
    for chain in 0..run.chains() {
        let draws = run.draws(chain);
        let places: Vec<usize> = (0..draws.width()).collect();
        let columns = draws.columns(&places)?;
        let mut group = file.next_row_group()?;
        whole(&mut group, &vec![chain as i64; draws.rows()])?;
        whole(&mut group, &(0..draws.rows() as i64).collect::<Vec<_>>())?;
        for column in &columns {
            let mut writer = next(&mut group)?;
            writer
                .typed::<DoubleType>()
                .write_batch(column, None, None)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

fn whole(group: &mut SerializedRowGroupWriter<'_, File>, values: &[i64]) -> Result<()> {
    let mut writer = next(group)?;
    writer
        .typed::<Int64Type>()
        .write_batch(values, None, None)?;
    writer.close()?;
    Ok(())
}

fn next<'a>(
    group: &'a mut SerializedRowGroupWriter<'_, File>,
) -> Result<parquet::file::writer::SerializedColumnWriter<'a>> {
    group
        .next_column()?
        .ok_or_else(|| anyhow!("the table has fewer columns than its schema"))
}
