"""Messages written for Python, in the words of the command line."""

from __future__ import annotations

import re

# Only what a reader would have to type is put differently: y_proba[3] stays the fourth report.
_OPTIONS = (
    (
        r"give each its own, y_true=\{'([^']*)': '([^']*)', '([^']*)': '([^']*)', \.\.\.\}",
        r"give each its own, --labels \1=\2 \3=\4",
    ),
    (r"\by_true gives\b", "--labels gives"),
    (r"\by_true and y_proba both name", "--label and --proba both name"),
    (r"\by_true names the column", "--label names the column"),
    (r"\by_proba names the column", "--proba names the column"),
    (r"\bsample_weight names the column", "--weight names the column"),
    (r"(?<![-\w])by names the column", "--by names the column"),
    (r"\by_true is not given, (.*) for it\b", r"the labels are not given (--label), \1 for them"),
    (
        r"\by_proba is not given, (.*) for it\b",
        r"the predictions are not given (--proba), \1 for them",
    ),
    (r"\by_true could be (.*): say which", r"the labels could be \1: say which with --label"),
    (r"\by_proba could be (.*): say which", r"the predictions could be \1: say which with --proba"),
    (
        r"\by_proba could be (.*) If it is: answer='([^']*)', gold='([^']*)', y_proba='([^']*)'; "
        r"if not: y_proba='[^']*'",
        r"the predictions could be \1 If it is: --answer \2 --gold \3 --proba \4; if not: "
        r"--proba \4",
    ),
    (r"y_proba='([^']*)', from_logits=True", r"--proba \1 --from-logits"),
    (r"(?<![-\w])columns names the column", "--label or --groups names the column"),
    (r"\bmultilabel\(y_true, y_proba\)", "report --multilabel"),
    (r"from_logits=True", "--from-logits"),
    (r"from_logprobs=True", "--from-logprobs"),
    (r"leave out from_logprobs\b", "leave out --from-logprobs"),
    (r"if they are percentages, divide by 100", "if they are percentages, pass --percent"),
    (r"divide them by 100, or pass percent=True", "pass --percent"),
    (r"while percent is True", "under --percent"),
    (r"leave out percent\b", "leave out --percent"),
    (r"say which: words=\{'likely': 0\.7, \.\.\.\}", "say which: --words likely=0.7,..."),
    (r"which words does not have", "which --words does not have"),
    (r"\banswer names the column", "--answer names the column"),
    (r"\bgold names the column", "--gold names the column"),
    (r"\banswer is given without gold", "--answer is given without --gold"),
    (r"\bgold is given without answer", "--gold is given without --answer"),
    (r"\banswer and gold (say|are)", r"--answer and --gold \1"),
    (r"missing='drop'", "--missing drop"),
    (r"\bpass again=True", "pass --again"),
    (r"\bat_most=\{'(\w+)': (\.\.\.|[\d.]+)\}", r"--max \1=\2"),
    (r"\bat_least=\{'(\w+)': (\.\.\.|[\d.]+)\}", r"--min \1=\2"),
    (r"\bmax_(increase|decrease)=\{'(\w+)': (\.\.\.|[\d.]+)\}", r"--max-\1 \2=\3"),
    (r"\bpaired=False", "--unpaired"),
    (r"\bown_labels=True", "--own-labels"),
    (r"^scale_on\b", "--scale-on"),
    (r"^(every|start|stop) (?=must be|is )", r"--\1 "),
    (r"classes=\[negative, positive\]", "--classes NEGATIVE,POSITIVE"),
    (r"classes=\[\.\.\.\]", "--classes A,B,..."),
    (r"y_proba=\[\.\.\.\]", "--proba A,B,..."),
    (r"with exact=False", "with --one-pass"),
    (r"\bformat='([\w-]+)'", r"--format \1"),
    (r"\bfilter='([^']*)'", r"--filter \1"),
    (r"y_true='([^']*)', y_proba='([^']*)'", r"--label \1 --proba \2"),
    (r"\by_proba='(SCORER[^']*)'", r"--proba \1"),
    (r"\bformat=(?=[,\s]|$)", "--format"),
    (r"\bmeasures=(?=[,\s]|$)", "--measures"),
    (r"\bintervals='all'", "--all-intervals"),
    (r"\bby='([^']*)'", r"--by \1"),
    (
        r"; without votes= losses and distances have no noise floor",
        "; their number of votes is not known (--votes COLUMN), so that losses and distances have "
        "no noise floor",
    ),
    (r"say with votes= of how many, or", "say with --votes COLUMN of how many, or"),
    (r"give the counts of both classes as \(n, 2\)", "give those of both with --counts A,B"),
    (
        r"Give the counts of both classes, y_true of the shape \(n, 2\)",
        "Give the counts of both classes with --counts A,B, or leave out --stream",
    ),
    (
        r"give the counts of both classes, y_true of the shape \(n, 2\)",
        "give the counts of both classes with --counts A,B",
    ),
    (r"\bGive votes=, the number", "Give --votes COLUMN, the number"),
    (r"\bvotes=(?=[\s,.:;)]|$)", "--votes"),
    (r"\bcounts and (y_true|votes|item|annotator) both say", r"--counts and --\1 both say"),
    (r"--counts and --y_true", "--counts and --label"),
    (r"so leave out (votes|item|annotator)$", r"so leave out --\1"),
    (r"so leave out y_true$", "so leave out --label"),
    (r"\bannotator is given without item\b", "--annotator is given without --item"),
    (r"\bitem says that each row is one vote", "--item says that each row is one vote"),
    (r"one vote: leave out votes$", "one vote: leave out --votes"),
    (r"or leave out annotator=", "or leave out --annotator"),
    (r"(?<![-\w])(votes|item|annotator) names the column", r"--\1 names the column"),
    (r"are labels \(y_true\), with votes for", "are labels (--label), with --votes for"),
    (r"load them with \S+ and use evaluate", "give fewer rows, or leave out --stream"),
    (r"bins=Quantile\(m=(\d+), ties='together'\)", r"--bins quantile:\1"),
    (r"files need bins that are", "rows that are not kept in memory need bins that are"),
    (r"a count, EqualWidth or Edges\.", "a count or edges."),
    # The command has neither such rules nor such cells.
    (r"; approximate=True takes some from [\d,]+ cells", ""),
    (r"(?<=drop it from )measures(, or (a rule for all|approximate=).*|$)", "--measures"),
)


def in_options(message: str) -> str:
    """The message with options where it has arguments."""
    for pattern, words in _OPTIONS:
        message = re.sub(pattern, words, message)
    return message
