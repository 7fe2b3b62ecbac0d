//! Lines on a terminal that are written over, and of which nothing is left at the end.

use std::io::{self, Write};

/// The lines that stand there now. The cursor waits at the beginning of the line below them, where a terminal that shows Ctrl-C
/// as ^C puts it without breaking any line: the next writing takes it away.
#[derive(Debug, Default)]
pub struct Lines {
    height: usize,
}

impl Lines {
    /// Writes these instead of those before, cut to a terminal of so many rows and columns.
    pub fn write(
        &mut self,
        out: &mut impl Write,
        lines: &[String],
        (rows, columns): (u16, u16),
    ) -> io::Result<()> {
        // The last row is the cursor's; a line that fills the last column would wait to be broken.
        let most = usize::from(rows).saturating_sub(1);
        let width = usize::from(columns).saturating_sub(1);
        let mut text = self.above();
        // The last line speaks for all: it stays where not all have room.
        let left_out = lines.len().saturating_sub(most);
        for line in &lines[left_out..] {
            text += &format!("\x1b[2K{}\n", console::truncate_str(line, width, "…"));
        }
        self.height = lines.len() - left_out;
        out.write_all((text + "\x1b[J").as_bytes())?;
        out.flush()
    }

    /// Takes them away.
    pub fn clear(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all((self.above() + "\x1b[J").as_bytes())?;
        self.height = 0;
        out.flush()
    }

    /// To the beginning of the first of them.
    fn above(&self) -> String {
        match self.height {
            0 => "\r".to_owned(),
            height => format!("\r\x1b[{height}A"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: (u16, u16) = (6, 20);

    /// What a terminal of twenty columns shows of what is written to it; of its commands, those that are used here.
    #[derive(Default)]
    struct Screen {
        rows: Vec<Vec<char>>,
        at: (usize, usize),
    }

    impl Screen {
        fn put(&mut self, letter: char) {
            if self.at.1 == usize::from(SIZE.1) {
                self.at = (self.at.0 + 1, 0);
            }
            let (row, column) = self.at;
            self.rows.resize(self.rows.len().max(row + 1), Vec::new());
            let line = &mut self.rows[row];
            line.resize(line.len().max(column + 1), ' ');
            line[column] = letter;
            self.at.1 += 1;
        }

        fn command(&mut self, count: usize, which: char) {
            let (row, column) = self.at;
            match which {
                'A' => self.at.0 = row.checked_sub(count).expect("above the screen"),
                'K' => self.rows.get_mut(row).into_iter().for_each(Vec::clear),
                'J' => {
                    self.rows.truncate(row + 1);
                    let rest = self.rows.get_mut(row).into_iter();
                    rest.for_each(|line| line.truncate(column));
                }
                other => panic!("unknown command {other}"),
            }
        }

        fn shown(&self) -> Vec<String> {
            let line = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_owned();
            let mut lines: Vec<String> = self.rows.iter().map(line).collect();
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            lines
        }
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
            let mut letters = text.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\r' => self.at.1 = 0,
                    '\n' => self.at = (self.at.0 + 1, 0),
                    '\x1b' => {
                        assert_eq!(letters.next(), Some('['));
                        let mut count = String::new();
                        let which = loop {
                            match letters.next() {
                                Some(digit) if digit.is_ascii_digit() => count.push(digit),
                                Some(other) => break other,
                                None => panic!("a command without an end"),
                            }
                        };
                        self.command(count.parse().unwrap_or(0), which);
                    }
                    plain => self.put(plain),
                }
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines(text: &[&str]) -> Vec<String> {
        text.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn nothing_is_left_of_them_after_ctrl_c_was_shown_among_them() {
        let mut screen = Screen::default();
        let mut shown = Lines::default();
        screen.write_all(b"a model\n").unwrap();
        let long = "chain 0 and far more than a terminal has columns";
        shown
            .write(&mut screen, &lines(&[long, "all"]), SIZE)
            .unwrap();
        assert_eq!(screen.shown(), ["a model", "chain 0 and far mo…", "all"]);
        screen.write_all(b"^C").unwrap();
        shown
            .write(&mut screen, &lines(&["chain 0", "all of it"]), SIZE)
            .unwrap();
        assert_eq!(screen.shown(), ["a model", "chain 0", "all of it"]);
        screen.write_all(b"^C").unwrap();
        shown.clear(&mut screen).unwrap();
        screen.write_all(b"stopped\n").unwrap();
        assert_eq!(screen.shown(), ["a model", "stopped"]);
    }

    #[test]
    fn a_terminal_of_few_rows_shows_the_last_lines() {
        let mut screen = Screen::default();
        let mut shown = Lines::default();
        let many = lines(&["0", "1", "2", "3", "4", "5", "6", "all"]);
        shown.write(&mut screen, &many, SIZE).unwrap();
        shown.write(&mut screen, &many, SIZE).unwrap();
        assert_eq!(screen.shown(), ["3", "4", "5", "6", "all"]);
    }
}
