//! Text of a `.proto` file: proto2, proto3 and editions. Options, services and extensions are skipped.

use super::file::{Enum, Field, File, Message, Scalar, TypeName};
use crate::decode::binary::MAX_DEPTH;

/// Parses a file.
///
/// # Errors
/// Line and problem of a text that is none.
pub(super) fn parse(text: &str) -> Result<File, String> {
    let mut parser = Parser {
        rest: text,
        line: 1,
        token: Token::End,
        is_implicit: false,
    };
    parser.advance()?;
    parser.file()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'t> {
    /// Name, keyword or number, with dots.
    Word(&'t str),
    /// String without its quotes.
    Quoted(&'t str),
    Symbol(char),
    End,
}

struct Parser<'t> {
    rest: &'t str,
    line: usize,
    token: Token<'t>,
    /// True if a missing value is the default of its type.
    is_implicit: bool,
}

fn is_of_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-' | '+')
}

type Parsed<T> = Result<T, String>;

impl<'t> Parser<'t> {
    fn invalid<T>(&self, expected: &str) -> Parsed<T> {
        let found = match self.token {
            Token::Word(text) | Token::Quoted(text) => text.chars().take(40).collect(),
            Token::Symbol(symbol) => symbol.to_string(),
            Token::End => "the end".to_owned(),
        };
        let line = self.line;
        Err(format!(
            "is no Protobuf schema: line {line}: {expected} is expected before {found}"
        ))
    }

    fn skip(&mut self, bytes: usize) -> &'t str {
        let (skipped, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += skipped.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
        skipped
    }

    /// Reads the next token, and returns the one before it.
    fn advance(&mut self) -> Parsed<Token<'t>> {
        let next = loop {
            let blank = self.rest.len() - self.rest.trim_start().len();
            self.skip(blank);
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    return self.invalid("the end of a comment");
                };
                self.skip(end + 2);
            } else {
                break self.token()?;
            }
        };
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn token(&mut self) -> Parsed<Token<'t>> {
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token::End);
        };
        if matches!(first, '"' | '\'') {
            let mut is_escaped = false;
            let end = self.rest.char_indices().skip(1).find(|(_, character)| {
                let is_end = *character == first && !is_escaped;
                is_escaped = *character == '\\' && !is_escaped;
                is_end
            });
            let Some((end, _)) = end else {
                return self.invalid("the end of a string");
            };
            let quoted = self.skip(end + 1);
            return Ok(Token::Quoted(quoted.get(1..end).unwrap_or_default()));
        }
        if is_of_word(first) {
            let end = self.rest.find(|character| !is_of_word(character));
            let end = end.unwrap_or(self.rest.len());
            return Ok(Token::Word(self.skip(end)));
        }
        self.skip(first.len_utf8());
        Ok(Token::Symbol(first))
    }

    fn word(&mut self, expected: &str) -> Parsed<&'t str> {
        match self.token {
            Token::Word(word) => {
                self.advance()?;
                Ok(word)
            }
            _ => self.invalid(expected),
        }
    }

    fn symbol(&mut self, symbol: char) -> Parsed<()> {
        if self.token == Token::Symbol(symbol) {
            self.advance()?;
            return Ok(());
        }
        self.invalid(&symbol.to_string())
    }

    fn takes(&mut self, symbol: char) -> Parsed<bool> {
        let is_next = self.token == Token::Symbol(symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Skips up to the semicolon, or past the block, that ends a statement.
    fn statement(&mut self) -> Parsed<()> {
        let mut depth = 0_u32;
        loop {
            match self.advance()? {
                Token::Symbol('{' | '[' | '(') => depth += 1,
                Token::Symbol(']' | ')') => depth = depth.saturating_sub(1),
                Token::Symbol('}') => {
                    depth = depth.saturating_sub(1);
                    // An option can have a block as its value, and a semicolon after it.
                    if depth == 0 {
                        self.takes(';')?;
                        return Ok(());
                    }
                }
                Token::Symbol(';') if depth == 0 => return Ok(()),
                Token::End => return self.invalid("the end of a statement"),
                Token::Word(_) | Token::Quoted(_) | Token::Symbol(_) => {}
            }
        }
    }

    fn file(&mut self) -> Parsed<File> {
        let mut file = File::default();
        loop {
            match self.token {
                Token::End => return Ok(file),
                Token::Symbol(';') => {
                    self.advance()?;
                }
                Token::Word("syntax") => {
                    self.advance()?;
                    self.symbol('=')?;
                    self.is_implicit = self.token == Token::Quoted("proto3");
                    self.statement()?;
                }
                Token::Word("package") => {
                    self.advance()?;
                    self.word("a name")?.clone_into(&mut file.package);
                    self.symbol(';')?;
                }
                Token::Word("option") => {
                    if let Some(is_implicit) = self.presence(';')? {
                        self.is_implicit = is_implicit;
                    }
                }
                Token::Word("message") => file.messages.push(self.message(0)?),
                Token::Word("enum") => file.enums.push(self.enumeration()?),
                Token::Word("import" | "service" | "extend" | "edition") => self.statement()?,
                _ => return self.invalid("a definition"),
            }
        }
    }

    /// Skips options up to `end`. Returns the presence that they state: true for an implicit one.
    fn presence(&mut self, end: char) -> Parsed<Option<bool>> {
        let (mut found, mut depth, mut is_presence) = (None, 0_u32, false);
        loop {
            match self.advance()? {
                Token::Symbol(symbol) if symbol == end && depth == 0 => return Ok(found),
                Token::Symbol('{' | '[' | '(') => depth += 1,
                Token::Symbol('}' | ']' | ')') => depth = depth.saturating_sub(1),
                Token::Word(word) if word.ends_with("field_presence") => is_presence = true,
                Token::Word(word) if is_presence => {
                    found = Some(word == "IMPLICIT");
                    is_presence = false;
                }
                Token::End => return self.invalid("the end of options"),
                Token::Word(_) | Token::Quoted(_) | Token::Symbol(_) => {}
            }
        }
    }

    fn enumeration(&mut self) -> Parsed<Enum> {
        self.advance()?;
        let mut it = Enum {
            name: self.word("the name of an enum")?.to_owned(),
            values: Vec::new(),
        };
        self.symbol('{')?;
        while !self.takes('}')? {
            match self.token {
                Token::Word("option" | "reserved") => self.statement()?,
                Token::Symbol(';') => {
                    self.advance()?;
                }
                _ => {
                    let name = self.word("a value of an enum")?;
                    self.symbol('=')?;
                    let number = self.number()?;
                    let number = i32::try_from(number);
                    let Ok(number) = number else {
                        return self.invalid("a number of 32 bits");
                    };
                    it.values.push((number, name.to_owned()));
                    self.statement()?;
                }
            }
        }
        Ok(it)
    }

    fn number(&mut self) -> Parsed<i64> {
        let word = self.word("a number")?;
        let (sign, digits) = match word.strip_prefix('-') {
            Some("") => (-1, self.word("a number")?),
            Some(digits) => (-1, digits),
            None => (1, word),
        };
        let parsed = match digits.get(..2) {
            Some("0x" | "0X") => i64::from_str_radix(digits.get(2..).unwrap_or_default(), 16),
            _ if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8),
            _ => digits.parse(),
        };
        match parsed.ok().and_then(|number| number.checked_mul(sign)) {
            Some(number) => Ok(number),
            None => self.invalid("a number"),
        }
    }

    fn message(&mut self, depth: u32) -> Parsed<Message> {
        self.advance()?;
        let mut it = Message {
            name: self.word("the name of a message")?.to_owned(),
            ..Message::default()
        };
        self.members(&mut it, false, depth)?;
        Ok(it)
    }

    /// Reads the block of a message or of a oneof.
    fn members(&mut self, message: &mut Message, is_oneof: bool, depth: u32) -> Parsed<()> {
        if depth > MAX_DEPTH {
            return self.invalid("a depth that is not larger");
        }
        self.symbol('{')?;
        while !self.takes('}')? {
            // A field can have a type with the name of a statement, but then a name follows it.
            match self.token {
                Token::Symbol(';') => {
                    self.advance()?;
                }
                Token::Word("message") => message.messages.push(self.message(depth + 1)?),
                Token::Word("enum") => message.enums.push(self.enumeration()?),
                Token::Word("oneof") => {
                    self.advance()?;
                    self.word("the name of a oneof")?;
                    self.members(message, true, depth + 1)?;
                }
                Token::Word("option" | "reserved" | "extensions" | "extend") => self.statement()?,
                _ => self.field(message, is_oneof, depth)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, message: &mut Message, is_oneof: bool, depth: u32) -> Parsed<()> {
        let mut word = self.word("a field")?;
        let label = matches!(word, "optional" | "required" | "repeated").then_some(word);
        if label.is_some() {
            word = self.word("a type")?;
        }
        let of = if word == "map" && self.takes('<')? {
            let Some(key) = Scalar::named(self.word("a type")?) else {
                return self.invalid("a scalar type of the keys");
            };
            self.symbol(',')?;
            let value = type_name(self.word("a type")?);
            self.symbol('>')?;
            TypeName::Map(key, Box::new(value))
        } else if word == "group" {
            TypeName::Group
        } else {
            type_name(word)
        };
        let name = self.word("the name of a field")?.to_owned();
        self.symbol('=')?;
        let number = self.number()?;
        let Ok(number) = u32::try_from(number) else {
            return self.invalid("the number of a field");
        };
        let mut is_implicit = self.is_implicit && label.is_none() && !is_oneof;
        if self.takes('[')?
            && let Some(found) = self.presence(']')?
        {
            is_implicit = found && !is_oneof;
        }
        if of == TypeName::Group {
            let mut group = Message {
                name: name.clone(),
                ..Message::default()
            };
            self.members(&mut group, false, depth + 1)?;
            message.messages.push(group);
        } else {
            self.symbol(';')?;
        }
        message.fields.push(Field {
            name,
            number,
            is_repeated: label == Some("repeated"),
            is_implicit,
            of,
        });
        Ok(())
    }
}

fn type_name(word: &str) -> TypeName {
    Scalar::named(word).map_or_else(|| TypeName::Named(word.to_owned()), TypeName::Scalar)
}
