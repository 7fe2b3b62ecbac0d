//! Every complaint about a table names the line, the column and the value.

use super::*;

fn error(text: &str) -> String {
    Table::parse("d.csv", text).unwrap_err().to_string()
}

#[test]
fn an_empty_file_is_refused_with_what_a_table_needs() {
    assert!(error("").contains("d.csv is empty"));
    assert!(error(" \n\n").contains("names of its columns"));
    assert!(error("a,b\n").contains("no rows"));
}

#[test]
fn a_ragged_row_is_named_by_its_line() {
    assert_eq!(
        error("a,b\n1,2\n3\n"),
        "d.csv, line 3: this row has 1 field, the header has 2"
    );
    assert!(error("a,b\n1,2,3\n").contains("line 2: this row has 3 fields"));
}

#[test]
fn headers_must_be_names_and_different() {
    assert!(error("a,b,a\n1,2,3\n").contains("two columns are called `a`"));
    assert!(error("a,,c\n1,2,3\n").contains("column 2 has no name"));
    assert!(error("a;b\n1;2\n").contains("separated by commas"));
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name() {
    let table = Table::parse("d.csv", "\u{feff}a,b\n1,2\n").unwrap();
    assert!(table.has("a"));
}

#[test]
fn bytes_that_are_not_text_are_named() {
    let error = Table::from_bytes("d.csv", b"a,b\n1,2\n1,\xff\xfe\n").unwrap_err();
    assert!(
        error.to_string().contains("line 3: field 2 is not UTF-8"),
        "{error}"
    );
}

#[test]
fn a_missing_value_is_named_by_line_and_column_and_may_be_dropped() {
    let table = Table::parse("d.csv", "a,b\n1,2\nNA,3\n4,\n,6\n").unwrap();
    let error = table.numbers("a").unwrap_err().to_string();
    assert!(
        error.starts_with("d.csv, line 3: `a` is missing (2 such rows in all)"),
        "{error}"
    );
    let (kept, dropped) = table.drop_missing(["a", "b"]).unwrap();
    assert_eq!((kept.rows(), dropped), (1, 3));
    assert_eq!(
        table.drop_missing(["b"]).unwrap().0.numbers("b").unwrap(),
        [2.0, 3.0, 6.0]
    );
}

#[test]
fn text_in_a_number_column_is_named_by_line_and_value() {
    let table = Table::parse("d.csv", "a\n1\ntwo\n").unwrap();
    let error = table.numbers("a").unwrap_err().to_string();
    assert_eq!(error, "d.csv, line 3: `a` is `two`, which is not a number");
    let table = Table::parse("d.csv", "a\n\"1,5\"\n").unwrap();
    assert!(
        table
            .numbers("a")
            .unwrap_err()
            .to_string()
            .contains("with a point")
    );
    let table = Table::parse("d.csv", "a\ninf\n").unwrap();
    assert!(table.numbers("a").is_err());
}

#[test]
fn an_unknown_column_comes_with_the_nearest_name() {
    let table = Table::parse("d.csv", "district,age\n1,2\n").unwrap();
    let error = table.numbers("distrct").unwrap_err().to_string();
    assert!(error.contains("did you mean `district`?"), "{error}");
    assert!(error.contains("`age`"), "{error}");
}

#[test]
fn levels_are_in_the_order_of_numbers_or_of_text() {
    let table = Table::parse("d.csv", "a,b\n10,3+\n9,0\n10,2\n").unwrap();
    assert_eq!(table.levels("a").unwrap(), ["9", "10"]);
    assert_eq!(table.levels("b").unwrap(), ["0", "2", "3+"]);
}

#[test]
fn the_checksum_tells_different_files_apart() {
    let one = Table::parse("d.csv", "a\n1\n").unwrap();
    let two = Table::parse("d.csv", "a\n2\n").unwrap();
    assert_ne!(one.checksum(), two.checksum());
    assert_eq!(
        one.checksum(),
        Table::parse("e.csv", "a\n1\n").unwrap().checksum()
    );
}

#[test]
fn one_slip_in_a_column_of_numbers_is_refused_by_line_and_value() {
    let mut text = String::from("x,livch\n");
    for k in 0..40 {
        let x = if k == 17 {
            "O.5".into()
        } else {
            (0.37 * f64::from(k)).to_string()
        };
        text += &format!("{x},{}\n", ["0", "1", "2", "3+"][k as usize % 4]);
    }
    let table = Table::parse("d.csv", &text).unwrap();
    let error = table.is_numeric("x").unwrap_err().to_string();
    assert!(
        error.starts_with(
            "d.csv, line 19: `x` is `O.5`, which is not a number, as 39 of its 40 values are"
        ),
        "{error}"
    );
    assert!(error.contains("factor(x)"), "{error}");
    // Levels that happen to be numbers but for one are levels.
    assert!(!table.is_numeric("livch").unwrap());
    let commas = Table::parse("d.csv", "x\n\"1,5\"\n\"2,5\"\n3\n").unwrap();
    let error = commas.is_numeric("x").unwrap_err().to_string();
    assert!(error.contains("with a point"), "{error}");
    assert!(
        !Table::parse("d.csv", "x\na\nb\n")
            .unwrap()
            .is_numeric("x")
            .unwrap()
    );
}

#[test]
fn lines_are_counted_alike_whatever_ends_them() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,b", "1,2", "", "3,4", "\"x y\",5", "6", ""].join(end);
        let error = error(&text);
        assert!(
            error.starts_with("d.csv, line 6: this row has 1 field"),
            "{end:?}: {error}"
        );
        let table = Table::parse("d.csv", &text.replace(&format!("6{end}"), "6,7")).unwrap();
        let lines: Vec<u64> = (0..table.rows()).map(|row| table.line(row)).collect();
        assert_eq!(lines, [2, 4, 5, 6], "{end:?}");
    }
    // A line break inside quotes counts too.
    let table = Table::parse("d.csv", "a,b\r\n\"1\r\n2\",x\r\n3,y\r\n").unwrap();
    assert_eq!((table.line(0), table.line(1)), (2, 4));
}
