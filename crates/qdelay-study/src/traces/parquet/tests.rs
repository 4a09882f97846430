use super::*;
use crate::traces::Library;
use arbtest::arbitrary::Unstructured;
use parquet::basic::GzipLevel;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use qdelay_path::LinkModel;
use std::sync::Arc;

/// Values of a column; those of `levels` that are 1 have one.
enum Values {
    I32(Vec<i32>),
    I64(Vec<i64>),
    I96(Vec<[u32; 3]>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Bytes(Vec<&'static [u8]>),
    Fixed(Vec<&'static [u8]>),
}

/// A column of a row group: its values, and the levels of its rows.
type Filled = (Values, Option<Vec<i16>>);

/// A file of these row groups.
fn file(schema: &str, codec: Compression, groups: &[Vec<Filled>]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, properties).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for (values, levels) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let levels = levels.as_deref();
            let repeated = levels.filter(|levels| levels.contains(&2)).map(|levels| vec![0; levels.len()]);
            let repeated = repeated.as_deref();
            match (column.untyped(), values) {
                (ColumnWriter::Int32ColumnWriter(w), Values::I32(v)) => w.write_batch(v, levels, repeated),
                (ColumnWriter::Int64ColumnWriter(w), Values::I64(v)) => w.write_batch(v, levels, repeated),
                (ColumnWriter::FloatColumnWriter(w), Values::F32(v)) => w.write_batch(v, levels, repeated),
                (ColumnWriter::DoubleColumnWriter(w), Values::F64(v)) => w.write_batch(v, levels, repeated),
                (ColumnWriter::BoolColumnWriter(w), Values::Bool(v)) => w.write_batch(v, levels, repeated),
                (ColumnWriter::Int96ColumnWriter(w), Values::I96(v)) => {
                    let of = |[a, b, c]: [u32; 3]| {
                        let mut value = Int96::new();
                        value.set_data(a, b, c);
                        value
                    };
                    w.write_batch(&v.iter().copied().map(of).collect::<Vec<_>>(), levels, repeated)
                }
                (ColumnWriter::ByteArrayColumnWriter(w), Values::Bytes(v)) => w.write_batch(
                    &v.iter().map(|v| ByteArray::from(v.to_vec())).collect::<Vec<_>>(),
                    levels,
                    repeated,
                ),
                (ColumnWriter::FixedLenByteArrayColumnWriter(w), Values::Fixed(v)) => {
                    let of = |v: &&[u8]| FixedLenByteArray::from(v.to_vec());
                    w.write_batch(&v.iter().map(of).collect::<Vec<_>>(), levels, repeated)
                }
                _ => panic!("values of another type than the column"),
            }
            .unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    out
}

fn read(bytes: &[u8]) -> Result<String, String> {
    let mut found = String::new();
    let read = text(bytes).and_then(|mut text| text.read_to_string(&mut found));
    read.map(|_| found).map_err(|error| error.to_string())
}

const RATES: &str = "message m { required double time; optional double rate; }";

fn rates(codec: Compression) -> Vec<u8> {
    let group = |first: f64| {
        vec![
            (Values::F64(vec![first, first + 1.0, first + 2.0]), None),
            (Values::F64(vec![10.0, 20.5]), Some(vec![1, 0, 1])),
        ]
    };
    file(RATES, codec, &[group(0.0), group(3.0)])
}

#[test]
fn rows_of_all_groups_are_read_whatever_compresses_them() {
    let expected = "\"time\",\"rate\"\n0,10\n1,\"\"\n2,20.5\n3,10\n4,\"\"\n5,20.5\n";
    for codec in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(GzipLevel::default())] {
        assert_eq!(read(&rates(codec)).as_deref(), Ok(expected), "{codec}");
    }
}

#[test]
fn values_of_every_type_are_fields() {
    const SCHEMA: &str = "message m {
        required int32 day (DATE); required int64 at (TIMESTAMP_MICROS); required int64 ns (TIMESTAMP(NANOS,true));
        required int32 clock (TIME_MILLIS); required int96 old; required boolean ok; required float small; required double big;
        required int64 count (UINT_64); required int32 price (DECIMAL(9,2)); required fixed_len_byte_array(3) wide (DECIMAL(6,1));
        required binary name (STRING); required fixed_len_byte_array(2) half (FLOAT16); optional group place { required int32 x; } }";
    // 2024-02-29 is day 19782; 1970-01-01 is Julian day 2440588.
    let row = vec![
        (Values::I32(vec![19_782]), None),
        (Values::I64(vec![1_709_209_800_000_001]), None),
        (Values::I64(vec![1_709_209_800_123_456_789]), None),
        (Values::I32(vec![86_399_999]), None),
        (Values::I96(vec![[7, 0, 2_440_588 + 366]]), None),
        (Values::Bool(vec![true]), None),
        (Values::F32(vec![0.1]), None),
        (Values::F64(vec![1e300]), None),
        (Values::I64(vec![-1]), None),
        (Values::I32(vec![-5]), None),
        (Values::Fixed(vec![&[0xff, 0xff, 0x85]]), None),
        (Values::Bytes(vec![b"say \"a\", b"]), None),
        (Values::Fixed(vec![&[0x00, 0xc1]]), None),
        (Values::I32(vec![9]), Some(vec![1])),
    ];
    let found = read(&file(SCHEMA, Compression::SNAPPY, &[row])).unwrap();
    let (header, values) = found.trim_end().split_once('\n').unwrap();
    assert!(header.starts_with("\"day\",\"at\"") && header.ends_with("\"half\",\"place.x\""), "{header}");
    assert_eq!(
        values,
        "2024-02-29T00:00:00.000000000Z,2024-02-29T12:30:00.000001000Z,2024-02-29T12:30:00.123456789Z,23:59:59.999000000,\
         1971-01-02T00:00:00.000000007Z,true,0.1,1e300,18446744073709551615,-0.05,-12.3,\"say \"\"a\"\", b\",-2.5,9"
    );
}

/// Each encoding and version of pages, against the values that were written.
#[test]
fn pages_of_every_kind_are_decoded() {
    use parquet::basic::Encoding;
    use parquet::file::properties::WriterVersion;
    const SCHEMA: &str =
        "message m { required int64 a; optional int32 b; required boolean c; optional binary d (STRING); }";
    let whole: Vec<i64> = (0..3000_i64).map(|n| (n * n * 7919) % 100_003 - (n << 40)).collect();
    let some: Vec<Option<i32>> = (0..3000).map(|n| (n % 3 != 1).then_some(n * 31 % 1009 - 500)).collect();
    let switches: Vec<bool> = (0..3000).map(|n| n % 5 < 2 || n > 2000).collect();
    let texts: Vec<Option<String>> =
        (0..3000).map(|n| (n % 100 < 60).then(|| format!("t{}", n % 300))).collect();
    let mut expected = "\"a\",\"b\",\"c\",\"d\"\n".to_string();
    for row in 0..3000 {
        let b = some[row].map_or("\"\"".to_string(), |b| b.to_string());
        expected +=
            &format!("{},{b},{},\"{}\"\n", whole[row], switches[row], texts[row].as_deref().unwrap_or(""));
    }
    fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
        values.iter().map(|value| i16::from(value.is_some())).collect()
    }
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for (has_dictionary, encoding) in
            [(true, Encoding::PLAIN), (false, Encoding::PLAIN), (false, Encoding::DELTA_BINARY_PACKED)]
        {
            let mut properties = WriterProperties::builder()
                .set_writer_version(version)
                .set_dictionary_enabled(has_dictionary)
                .set_data_page_row_count_limit(700)
                .set_write_batch_size(100)
                .set_compression(Compression::SNAPPY)
                .set_column_encoding("d".into(), Encoding::PLAIN);
            for name in ["a", "b"] {
                properties = properties.set_column_encoding(name.into(), encoding);
            }
            let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
            let mut out = Vec::new();
            let mut writer =
                SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build())).unwrap();
            let mut group = writer.next_row_group().unwrap();
            for place in 0..4 {
                let mut column = group.next_column().unwrap().unwrap();
                match column.untyped() {
                    ColumnWriter::Int64ColumnWriter(w) => w.write_batch(&whole, None, None),
                    ColumnWriter::Int32ColumnWriter(w) => {
                        let values: Vec<i32> = some.iter().copied().flatten().collect();
                        w.write_batch(&values, Some(&levels(&some)), None)
                    }
                    ColumnWriter::BoolColumnWriter(w) => w.write_batch(&switches, None, None),
                    ColumnWriter::ByteArrayColumnWriter(w) => {
                        let values: Vec<ByteArray> =
                            texts.iter().flatten().map(|text| text.as_str().into()).collect();
                        w.write_batch(&values, Some(&levels(&texts)), None)
                    }
                    _ => panic!("column {place} of another type"),
                }
                .unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
            writer.close().unwrap();
            assert!(read(&out).as_deref() == Ok(&expected), "{version:?} {has_dictionary} {encoding}");
        }
    }
}

/// 90 rows of times 0, 1 and 2 and rates 10, null and 20.5 over and over, written by pyarrow with zstd: pages of versions 1 and 2. Nothing here writes
/// zstd into Parquet.
const ZSTD: [&str; 2] = [
    "504152311504153015364c1506150012000028b52ffd2018950000600000f03f000000000000004001001cc0021500154215 \
     3a2c15b4011510150615061c00000028b52ffd2021a500007003000000b40101021924499209000100262e09150415201532 \
     4c1504150012000028b52ffd2010810000000000000000244000000000008034401500153615482c15b4011510150615061c \
     00000028b52ffd201bd900000d000000196ddbb66ddbb66ddbb66ddb020111aaaaaaaaaaaaaa0a1504193c35001806736368 \
     656d61150400150a2502180474696d6500150a25021804726174650016b401191c192c26001c150a19350006101918047469 \
     6d65150c16b40116b60116b401265a2608292c15041500150200150015101502003c2906192600b40100000026001c150a19 \
     3500061019180472617465150c16b401169a0116be01268a0226bc01292c15041500150200150015101502003c290619263c \
     7800000016d00216b401260816f202002820706172717565742d6370702d6172726f772076657273696f6e2032362e302e31 \
     192c1c00001c000000dc00000050415231",
    "504152311504153015364c1506150012000028b52ffd2018950000600000f03f000000000000004001001cc0021506153a15 \
     325c15b401150015b401151015061500111c000000b4010128b52ffd201a6d000038021924499209000100264e0b15041520 \
     15324c1504150012000028b52ffd2010810000000000000000244000000000008034401506152e152e5c15b401153c15b401 \
     1510151a1500121c000000196ddbb66ddbb66ddbb66ddb020111aaaaaaaaaaaaaa0a1504193c35001806736368656d611504 \
     00150a2502180474696d6500150a25021804726174650016b401191c192c26001c150a193500061019180474696d65150c16 \
     b40116ba0116b801265a2608292c15041500150200150015101502003c2906192600b40100000026001c150a193500061019 \
     180472617465150c16b401169e0116b001268e0226c001292c15041500150200150015101502003c290619263c7800000016 \
     d80216b401260816e802002820706172717565742d6370702d6172726f772076657273696f6e2032362e302e31192c1c0000 \
     1c000000dc00000050415231",
];

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

#[test]
fn pages_in_zstd_are_unpacked() {
    let expected = "\"time\",\"rate\"\n".to_string() + &"0,10\n1,\"\"\n2,20.5\n".repeat(30);
    for file in ZSTD {
        assert_eq!(read(&from_hex(file)).as_deref(), Ok(expected.as_str()));
    }
}

#[test]
fn lists_are_left_out() {
    const SCHEMA: &str = "message m { required int32 a; repeated int32 many; }";
    let group = vec![(Values::I32(vec![1]), None), (Values::I32(vec![4, 5]), Some(vec![1, 1]))];
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut out = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut out, schema, Arc::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    for (values, levels) in &group {
        let mut column = rows.next_column().unwrap().unwrap();
        let (Values::I32(values), ColumnWriter::Int32ColumnWriter(writer)) = (values, column.untyped())
        else {
            panic!()
        };
        writer.write_batch(values, levels.as_deref(), levels.as_ref().map(|_| &[0, 1][..])).unwrap();
        column.close().unwrap();
    }
    rows.close().unwrap();
    writer.close().unwrap();
    assert_eq!(read(&out).as_deref(), Ok("\"a\"\n1\n"));
}

#[test]
fn a_table_in_parquet_is_read_by_the_words_of_csv() {
    let library = Library::new().with_contents("t.parquet", rates(Compression::SNAPPY));
    let read = |format: &str| {
        let name = format!("t.parquet:format=[csv:rate:time=time{format}]");
        library.trace(&name, None, true, None).map(|found| found.link.length().unwrap().as_millis())
    };
    assert_eq!(read(":missing=hold"), Ok(6000));
    // Rows at 0, 2, 3 and 5 s; the last lasts as long as the one before.
    assert_eq!(read(":missing=skip"), Ok(7000));
    assert!(
        read("")
            .unwrap_err()
            .contains("t.parquet: row 2: expected a rate in Mbit/s, 0 or more, found ''; missing=hold")
    );
    let error = library.trace("t.parquet:format=[csv:rat]", None, true, None).unwrap_err();
    assert!(error.ends_with("t.parquet: no column 'rat'; expected one of time, rate"), "{error}");
    assert!(
        library
            .trace("t.parquet", None, true, None)
            .unwrap_err()
            .contains("as in FILE:format=[csv:column=NAME]")
    );
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let bytes = rates(Compression::SNAPPY);
    for end in [4, 40, bytes.len() - 1] {
        let error = read(&bytes[..end]).unwrap_err();
        assert!(error.starts_with("it is a Parquet file and damaged ("), "{error}");
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    const TEXTS: &str = "message m { optional binary name (STRING); required int64 at (TIMESTAMP_MICROS); required boolean ok; }";
    let texts = vec![
        (Values::Bytes(vec![b"a", b"b", b"a"]), Some(vec![1, 0, 1, 1])),
        (Values::I64(vec![1, 2, 3, 4]), None),
        (Values::Bool(vec![true, false, true, true]), None),
    ];
    let valid = [
        rates(Compression::UNCOMPRESSED),
        rates(Compression::SNAPPY),
        rates(Compression::GZIP(GzipLevel::default())),
        file(TEXTS, Compression::UNCOMPRESSED, &[texts]),
        from_hex(ZSTD[0]),
        from_hex(ZSTD[1]),
    ];
    let pieces: &[&[u8]] = &[b"PAR1", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x15\x06", b"\x80\x80\x80\x80\x08"];
    qdelay_testing::fuzz::fuzz(3.0, |u: &mut Unstructured<'_>| {
        let chosen = u.choose(&valid)?.clone();
        let bytes = qdelay_testing::fuzz::mutate(u, chosen, pieces)?;
        if let Err(error) = read(&bytes) {
            assert!(!error.contains('\n'), "{error}");
        }
        Ok(())
    });
}
