//! Attribute names of the conventions OpenInference, OpenTelemetry GenAI and Langfuse.

/// Field of a document in a flattened list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DocumentField {
    /// `document.id`.
    Id,
    /// `document.score`.
    Score,
    /// `document.content`.
    Content,
    /// `document.metadata`.
    Metadata,
    /// Any other field.
    Other,
}

/// Flattened list of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentList {
    /// `retrieval.documents`.
    Retrieved,
    /// `reranker.output_documents`.
    Reranked,
}

/// Field of the document at `position` (from 0) of a flattened list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DocumentKey {
    pub(super) list: DocumentList,
    pub(super) position: u32,
    pub(super) field: DocumentField,
}

impl DocumentKey {
    /// Parses `retrieval.documents.N.document.FIELD` or the same below `reranker.output_documents`.
    pub(super) fn parse(key: &[u8]) -> Option<Self> {
        let (list, rest) = if let Some(rest) = key.strip_prefix(b"retrieval.documents.") {
            (DocumentList::Retrieved, rest)
        } else {
            let rest = key.strip_prefix(b"reranker.output_documents.")?;
            (DocumentList::Reranked, rest)
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, field) = rest.split_at_checked(digits)?;
        if digits.is_empty() || digits.len() > 9 || (digits[0] == b'0' && digits.len() > 1) {
            return None;
        }
        let position = digits
            .iter()
            .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        let field = match field.strip_prefix(b".document.")? {
            b"id" => DocumentField::Id,
            b"score" => DocumentField::Score,
            b"content" => DocumentField::Content,
            b"metadata" => DocumentField::Metadata,
            _ => DocumentField::Other,
        };
        Some(Self {
            list,
            position,
            field,
        })
    }
}

/// Declares attributes with their names.
macro_rules! attributes {
    ($($(#[$doc:meta])* $attribute:ident = $name:literal;)*) => {
        /// Attribute that the mapping reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Attribute {
            $($(#[$doc])* $attribute),*
        }

        impl Attribute {
            /// Number of attributes.
            pub(super) const COUNT: usize = [$($name),*].len();

            /// Returns the attribute with this name.
            #[inline]
            pub(super) fn parse(key: &[u8]) -> Option<Self> {
                const NAMES: &[(&[u8], Attribute)] = &[$(($name.as_bytes(), Attribute::$attribute)),*];
                let found = NAMES.iter().find(|(name, _)| *name == key);
                found.map(|(_, attribute)| *attribute)
            }

            /// Name.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Self::$attribute => $name),*
                }
            }
        }
    };
}

attributes! {
    /// Kind of an OpenInference span.
    SpanKind = "openinference.span.kind";
    /// Input of an OpenInference span.
    Input = "input.value";
    /// Media type of the input.
    InputType = "input.mime_type";
    /// Text of the first message that an OpenInference span of a model returned.
    LlmOutputMessage = "llm.output_messages.0.message.content";
    /// Messages that a GenAI span returned.
    GenAiOutputMessages = "gen_ai.output.messages";
    /// Output of an OpenInference span.
    Output = "output.value";
    /// Query of a reranker.
    RerankerQuery = "reranker.query";
    /// Retrieved documents, as a whole: an empty list.
    RetrievedDocuments = "retrieval.documents";
    /// Reranked documents, as a whole: an empty list.
    RerankedDocuments = "reranker.output_documents";
    /// Metadata of an OpenInference span, a JSON object.
    Metadata = "metadata";
    /// Session.
    SessionId = "session.id";
    /// User.
    UserId = "user.id";
    /// Type of the error.
    ErrorType = "error.type";
    /// Tokens of the prompt.
    PromptTokens = "llm.token_count.prompt";
    /// Tokens of the completion.
    CompletionTokens = "llm.token_count.completion";
    /// Tokens read from a cache.
    CacheReadTokens = "llm.token_count.prompt_details.cache_read";
    /// Tokens spent on reasoning.
    ReasoningTokens = "llm.token_count.completion_details.reasoning";
    /// Cost in US dollars.
    LlmCost = "llm.cost.total";
    /// Language model.
    LlmModel = "llm.model_name";
    /// Embedding model.
    EmbeddingModel = "embedding.model_name";
    /// Reranking model.
    RerankerModel = "reranker.model_name";
    /// Provider of the model.
    LlmProvider = "llm.provider";
    /// Operation of a GenAI span.
    Operation = "gen_ai.operation.name";
    /// Query of a GenAI retrieval.
    GenAiQuery = "gen_ai.retrieval.query.text";
    /// Documents of a GenAI retrieval.
    GenAiDocuments = "gen_ai.retrieval.documents";
    /// Data source of a GenAI retrieval.
    DataSource = "gen_ai.data_source.id";
    /// Conversation.
    Conversation = "gen_ai.conversation.id";
    /// Tokens of the input.
    GenAiInputTokens = "gen_ai.usage.input_tokens";
    /// Tokens of the output.
    GenAiOutputTokens = "gen_ai.usage.output_tokens";
    /// Tokens read from a cache.
    GenAiCacheReadTokens = "gen_ai.usage.cache_read.input_tokens";
    /// Tokens spent on reasoning.
    GenAiReasoningTokens = "gen_ai.usage.reasoning.output_tokens";
    /// Requested model.
    RequestModel = "gen_ai.request.model";
    /// Model that answered.
    ResponseModel = "gen_ai.response.model";
    /// Provider of the model.
    GenAiProvider = "gen_ai.provider.name";
    /// Type of a Langfuse observation.
    Observation = "langfuse.observation.type";
    /// Input of a Langfuse observation.
    LangfuseInput = "langfuse.observation.input";
    /// Output of a Langfuse observation.
    LangfuseOutput = "langfuse.observation.output";
    /// Tokens of a Langfuse observation, a JSON object.
    LangfuseUsage = "langfuse.observation.usage_details";
    /// Cost of a Langfuse observation, a JSON object.
    LangfuseCost = "langfuse.observation.cost_details";
    /// Model of a Langfuse observation.
    LangfuseModel = "langfuse.observation.model.name";
}
