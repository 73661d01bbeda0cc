//! Documents of the synthetic law library: provisions, annexes and forms, and their ids.
//!
//! The module is independent of queries, grades and users.

/// Levels of Korean legislation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LawType {
    Act,
    Decree,
    Rules,
}

impl LawType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Act => "법률",
            Self::Decree => "시행령",
            Self::Rules => "시행규칙",
        }
    }

    /// Suffix of the law's name in a document id; empty for the act itself.
    fn suffix(self) -> &'static str {
        match self {
            Self::Act => "",
            Self::Decree | Self::Rules => self.name(),
        }
    }
}

/// Type of a document within a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DocType {
    /// Article, or paragraph of an article.
    Provision,
    /// Table of standards annexed to a decree or rules.
    Annex,
    /// Form that rules prescribe.
    Form,
}

impl DocType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Provision => "조문",
            Self::Annex => "별표",
            Self::Form => "서식",
        }
    }

    /// Type of the document at a position in a law. Annexes and forms take the place of the
    /// paragraphs of a long article: one in five documents of a decree is an annex, two in five of
    /// the rules are annexes or forms.
    fn at(law_type: LawType, paragraph: u32) -> Self {
        match (law_type, paragraph) {
            (LawType::Decree | LawType::Rules, 4) => Self::Annex,
            (LawType::Rules, 3) => Self::Form,
            _ => Self::Provision,
        }
    }
}

/// One searchable document.
#[derive(Debug)]
pub(super) struct Document {
    /// Id: `국토계획법_제21조_제1항`, or without the paragraph; `건축법시행령_별표12`, `건축법시행규칙_별지제12호서식`.
    pub(super) id: String,
    /// Article that a paragraph belongs to, such as `국토계획법_제21조`; for other documents, the id.
    pub(super) group: String,
    pub(super) law_type: LawType,
    pub(super) doc_type: DocType,
    /// Index into [`DOMAINS`](super::vocabulary::DOMAINS).
    pub(super) domain: usize,
}

impl Document {
    /// Document at a position in a law. Paragraph 0 is the whole article.
    pub(super) fn at(
        law: &str,
        law_type: LawType,
        article: u32,
        paragraph: u32,
        domain: usize,
    ) -> Self {
        let doc_type = DocType::at(law_type, paragraph);
        let title = format!("{law}{}", law_type.suffix());
        let group = match doc_type {
            DocType::Provision => format!("{title}_제{article}조"),
            DocType::Annex => format!("{title}_별표{article}"),
            DocType::Form => format!("{title}_별지제{article}호서식"),
        };
        let id = match (doc_type, paragraph) {
            (DocType::Provision, 1..) => format!("{group}_제{paragraph}항"),
            _ => group.clone(),
        };
        Self {
            id,
            group,
            law_type,
            doc_type,
            domain,
        }
    }
}
