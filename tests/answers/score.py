"""Scores answers with the reference packages, and prints the values as JSON.

    score.py < [{"answer": text, "references": [text, …]}, …]

Output: [{measure: value}, …], with the names of rankgauge. References:

rouge-score   ROUGE with its own tokenizer, which keeps a to z and 0 to 9 only, under `rouge_score:ROUGE(…)`, and
              with Unicode words under `ROUGE(…)`.
sacrebleu     BLEU of a sentence and of the corpus (the last element of the output), tokenisation `intl`; chrF.
torchmetrics  ExactMatch and TokenF1, from the functions of its file for SQuAD, without torch.
"""

import ast
import collections
import importlib.metadata
import json
import re
import string
import sys
import unicodedata

import regex
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF


class UnicodeWords:
    """Tokenizer of runs of letters and digits after NFKC and lower-casing. Ideographs are words, as in UAX #29."""

    WORD = regex.compile(
        r"[\p{Han}\p{Hiragana}]|[\p{Katakana}ー]+|(?:(?![\p{Han}\p{Hiragana}\p{Katakana}ー])[^\W_])+"
    )

    def tokenize(self, text):
        return self.WORD.findall(unicodedata.normalize("NFKC", text).lower())


def squad():
    """Functions of torchmetrics for SQuAD. Its module needs torch for one name: `tensor`."""
    file = importlib.metadata.distribution("torchmetrics").locate_file(
        "torchmetrics/functional/text/squad.py"
    )
    names = ["_normalize_text", "_get_tokens", "_compute_f1_score", "_compute_exact_match_score"]
    functions = [
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name in names
    ]
    scope = {"re": re, "string": string, "Counter": collections.Counter, "tensor": float, "Tensor": float}
    exec(compile(ast.Module(functions, []), str(file), "exec"), scope)
    return [scope[name] for name in names]


NORMALIZE, _, F1, EXACT = squad()
ROUGE = ["rouge1", "rouge2", "rougeL"]


def characters(text):
    """Characters as tokens, for the F1 of KorQuAD."""
    return " ".join(NORMALIZE(text).replace(" ", ""))


def character_f1(answer, reference):
    """F1 of the characters. They are no words: the article `a` is one of them."""
    one, other = characters(answer).split(), characters(reference).split()
    if not one or not other:
        return float(one == other)
    common = sum((collections.Counter(one) & collections.Counter(other)).values())
    return 2 * common / (len(one) + len(other))


def scores(answer, references):
    values = {
        "ExactMatch": max(EXACT(answer, it) for it in references),
        "TokenF1": max(F1(answer, it) for it in references),
        "TokenF1(unit=char)": max(character_f1(answer, it) for it in references),
        "BLEU": BLEU(tokenize="intl", effective_order=True).sentence_score(answer, references).score,
        "chrF": CHRF().sentence_score(answer, references).score,
    }
    for prefix, tokenizer in [("rouge_score:", None), ("", UnicodeWords())]:
        scorer = RougeScorer(ROUGE, tokenizer=tokenizer)
        found = scorer.score_multi(references, answer)
        for name in ROUGE:
            values[f"{prefix}ROUGE({name[5:]})"] = found[name].fmeasure
    return values


def corpus(cases):
    most = max(len(case["references"]) for case in cases)
    # None stands for a reference that an answer does not have.
    references = [
        [(case["references"][at : at + 1] or [None])[0] for case in cases] for at in range(most)
    ]
    bleu = BLEU(tokenize="intl").corpus_score([case["answer"] for case in cases], references)
    return {"BLEU": bleu.score}


def main():
    cases = json.load(sys.stdin)
    values = [scores(case["answer"], case["references"]) for case in cases]
    json.dump([*values, corpus(cases)], sys.stdout)


if __name__ == "__main__":
    main()
