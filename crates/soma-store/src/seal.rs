//! A checksum of a Parquet file inside the file.
//!
//! The footer has a text `soma-seal:` and eight digits: the CRC-32 of all bytes of the file, with
//! these digits as zeros. So the file is self-checking, independently of other files, and a damaged
//! file is rejected before any of it is decoded.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

const MARK: &str = "soma-seal:";
const DIGITS: usize = 8;

/// The placeholder text in the footer of a file to be sealed.
pub(crate) fn blank() -> String {
    format!("{MARK}{}", "0".repeat(DIGITS))
}

/// A writer that computes the CRC-32 of what it passes on.
pub(crate) struct Hashed<W> {
    inner: W,
    crc: crc32fast::Hasher,
}

impl<W: Write> Hashed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Hashed { inner, crc: crc32fast::Hasher::new() }
    }

    /// The checksum of all bytes written.
    pub(crate) fn finish(mut self) -> io::Result<u32> {
        self.inner.flush()?;
        Ok(self.crc.finalize())
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.crc.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Seals a file with a [`blank`] seal and this checksum.
pub(crate) fn close(file: &mut File, crc: u32) -> io::Result<()> {
    let place =
        place(file)?.ok_or_else(|| io::Error::other("the footer has no room for a seal"))?;
    file.seek(SeekFrom::Start(place))?;
    file.write_all(format!("{crc:08x}").as_bytes())
}

/// Whether the file matches its seal.
pub(crate) fn holds(file: &mut File) -> io::Result<bool> {
    let Some(place) = place(file)? else { return Ok(false) };
    file.rewind()?;
    let mut hashed = Hashed::new(io::sink());
    io::copy(&mut Read::by_ref(file).take(place), &mut hashed)?;
    let mut digits = [0; DIGITS];
    file.read_exact(&mut digits)?;
    hashed.write_all(&[b'0'; DIGITS])?;
    io::copy(file, &mut hashed)?;
    Ok(digits == *format!("{:08x}", hashed.finish()?).as_bytes())
}

/// The position of the digits of the seal.
fn place(file: &mut File) -> io::Result<Option<u64>> {
    const END: u64 = 8;
    let length = file.seek(SeekFrom::End(0))?;
    if length < END {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(length - END))?;
    let mut end = [0; END as usize];
    file.read_exact(&mut end)?;
    let footer = u64::from(u32::from_le_bytes([end[0], end[1], end[2], end[3]]));
    if &end[4..] != b"PAR1" || footer > length - END {
        return Ok(None);
    }
    let start = length - END - footer;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; footer as usize];
    match file.read_exact(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let found = bytes.windows(MARK.len() + DIGITS).rposition(|w| w.starts_with(MARK.as_bytes()));
    Ok(found.map(|at| start + (at + MARK.len()) as u64))
}
