//! Writes a picture as PNG: eight bits for red, green and blue, and nothing else, which is all that figures need.

/// The file that shows these pixels, row by row from the top.
pub fn encode(pixels: &[u8], (width, height): (u32, u32)) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits, colour without transparency, and the only compression, filters and order that there are.
    chunk(&mut file, b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat());
    let rows = filtered(pixels, 3 * width as usize);
    chunk(
        &mut file,
        b"IDAT",
        &miniz_oxide::deflate::compress_to_vec_zlib(&rows, LEVEL),
    );
    chunk(&mut file, b"IEND", &[]);
    file
}

/// From 0 to 10; beyond this figures hardly become smaller.
const LEVEL: u8 = 6;

/// Each row as its difference from the one above ("up", number 2): zero on plain ground, which compresses best.
fn filtered(pixels: &[u8], width: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(pixels.len() + pixels.len() / width.max(1));
    let mut above = vec![0; width];
    for row in pixels.chunks(width.max(1)) {
        out.push(2);
        out.extend(
            row.iter()
                .zip(&above)
                .map(|(now, up)| now.wrapping_sub(*up)),
        );
        above.copy_from_slice(row);
    }
    out
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let begin = file.len();
    file.extend(kind);
    file.extend(data);
    let check = crc(&file[begin..]);
    file.extend(check.to_be_bytes());
}

/// The cyclic redundancy check that PNG prescribes (that of zip and Ethernet), bit by bit: it is a small part of the work.
fn crc(bytes: &[u8]) -> u32 {
    let step = |rest: u32, _| (rest >> 1) ^ (0xedb8_8320 * (rest & 1));
    !bytes
        .iter()
        .fold(!0, |rest, byte| (0..8).fold(rest ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_the_standard_one() {
        // The value that every description of this check gives.
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        // And that of the empty chunk at the end of every PNG.
        assert_eq!(crc(b"IEND"), 0xae42_6082);
    }

    #[test]
    fn pixels_come_back_out_of_the_file() {
        let (width, height) = (5, 3);
        let pixels: Vec<u8> = (0..width * height * 3)
            .map(|k| (k * k % 251) as u8)
            .collect();
        let file = encode(&pixels, (width, height));
        let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (width, height));
        // Eight bytes of signature, twelve around the header's thirteen; then the one chunk of data.
        let at = 8 + 12 + 13;
        assert_eq!(&file[at + 4..at + 8], b"IDAT");
        let data = &file[at + 8..at + 8 + number(at) as usize];
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(data).unwrap();
        let mut above = vec![0u8; 3 * width as usize];
        let mut seen: Vec<u8> = Vec::new();
        for row in rows.chunks(1 + 3 * width as usize) {
            assert_eq!(row[0], 2);
            for (up, difference) in above.iter_mut().zip(&row[1..]) {
                *up = up.wrapping_add(*difference);
            }
            seen.extend_from_slice(&above);
        }
        assert_eq!(seen, pixels);
    }
}
