//! Columns of a Parquet file: their types, and writing them.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::seal;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Unsigned integers, without nulls.
    Whole,
    /// Numbers, without nulls.
    Number,
    /// Numbers, with nulls.
    MaybeNumber,
    /// Strings, without nulls.
    Text,
}

impl Kind {
    fn column(self, name: &str) -> Result<Type> {
        let (physical, logical) = match self {
            Kind::Whole => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Kind::Number | Kind::MaybeNumber => (Physical::DOUBLE, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = match self {
            Kind::MaybeNumber => Repetition::OPTIONAL,
            _ => Repetition::REQUIRED,
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    }
}

/// A table with these columns.
pub(crate) fn schema<'a>(columns: impl Iterator<Item = (&'a str, Kind)>) -> Result<TypePtr> {
    let fields: Vec<TypePtr> =
        columns.map(|(name, kind)| kind.column(name).map(Arc::new)).collect::<Result<_>>()?;
    Type::group_type_builder("table").with_fields(fields).build().map(Arc::new)
}

/// The values of a column.
pub(crate) enum Values<'a> {
    /// Unsigned integers.
    Whole(Vec<u64>),
    /// Numbers.
    Numbers(&'a [f64]),
    /// Numbers; those that are not finite are written as null.
    MaybeNumbers(Vec<f64>),
    /// Strings.
    Texts(Vec<&'a str>),
}

impl Values<'_> {
    fn write(self, column: &mut SerializedColumnWriter) -> Result<()> {
        match self {
            Values::Whole(values) => {
                // Parquet stores the bits of an unsigned integer in a signed one.
                let values: Vec<i64> = values.into_iter().map(|x| x as i64).collect();
                column.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Values::Numbers(values) => {
                column.typed::<DoubleType>().write_batch(values, None, None)?;
            }
            Values::MaybeNumbers(values) => {
                let levels: Vec<i16> = values.iter().map(|x| i16::from(x.is_finite())).collect();
                let known: Vec<f64> = values.into_iter().filter(|x| x.is_finite()).collect();
                column.typed::<DoubleType>().write_batch(&known, Some(&levels), None)?;
            }
            Values::Texts(texts) => {
                let texts: Vec<ByteArray> = texts.into_iter().map(ByteArray::from).collect();
                column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
            }
        }
        Ok(())
    }
}

/// Writes a file of one row group, with a seal and these metadata in its footer.
pub(crate) fn write<'a>(
    file: &mut File,
    schema: TypePtr,
    notes: Vec<KeyValue>,
    columns: impl Iterator<Item = Values<'a>>,
) -> std::io::Result<()> {
    let blank = KeyValue::new("soma.seal".to_string(), seal::blank());
    let notes = notes.into_iter().chain([blank]).collect();
    let settings = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(notes))
        .build();
    let mut hashed = seal::Hashed::new(BufWriter::new(&mut *file));
    let mut writer = SerializedFileWriter::new(&mut hashed, schema, Arc::new(settings))?;
    let mut rows = writer.next_row_group()?;
    for values in columns {
        let mut column = rows.next_column()?.ok_or_else(|| std::io::Error::other("no column"))?;
        values.write(&mut column)?;
        column.close()?;
    }
    rows.close()?;
    writer.close()?;
    let crc = hashed.finish()?;
    seal::close(file, crc)
}
