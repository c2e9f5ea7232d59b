"""Tables, options and files beside them that cannot be read, by the name of each case."""

LONG = "item,annotator,label\ns1,ada,no\ns1,bo,yes\ns2,ada,yes\n"
WIDE = "item,rater_1,rater_2\ns1,no,yes\ns2,yes,\n"
FRAGMENTS = "item,annotator,focus,polarity,note\ns1,bo,method,+,easy\ns1,ada,method,-,\ns2,ada,,+,\ns2,cy,result,,\n"


def case(content="", **options):
    """What is read, and with which options."""
    return content, options


TABLES = {
    "empty": case(""),
    "Latin-1": case("item,ada,bo\n1,é,b\n".encode("latin-1")),
    "not ASCII": case("item,ada,bo\n1,é,b\n".encode("latin-1"), encoding="ascii"),
    "UTF-16 without its mark": case(LONG.encode("utf-16-le")),
    "short row": case(LONG + "s3,ada\n"),
    "short row after line breaks in a cell": case('\nitem,annotator,label\n"a\nb\nc",ada,no\ns2,ada\n'),
    "long row": case(LONG + "\ns3,a,no,x\n"),
    "all rows longer": case("item,ada\n1,2,3\n1,2,4\n"),
    "other separator": case("item,ada\ns1;no\n"),
    "open quote": case(LONG + 's3,"ada,no\ns4,bo,no\n'),
    "text after a quote": case(LONG + 's3,"ada"x,no\n'),
    "text after a quote between tabs": case('item\tannotator\tlabel\ttext\na\tx\t"1"2\n'),
    "column twice": case("item,ada,ada\n1,a,b\n"),
    "no header": case("1,1,2\n1,2,2\n"),
    "one column": case("opinion\nyes\nno\n"),
    "blanks": case("a b c\n1 2 3\n"),
    "two characters": case(LONG, separator="::"),
    "brat": case("T1\tPER 0 5\tAda\nT2\tLOC 9 15\tRome\n"),
    "the header again": case(LONG + "Item,Annotator,LABEL\ns3,bo,yes\n"),
    "a key twice": case('[{"item": 1, "annotator": "a",\n "label": "x", "label": "y"}]'),
    "only items": case("item\ns1\n"),
    "two cases": case("item,Item,worker,label\n1,1,a,b\n"),
    "no item": case(LONG + ",bo,no\n"),
    "no annotator": case(LONG + "s3, ,no\n"),
    "an annotator that is missing": case(LONG + "s3,NA,no\n", missing="NA"),
    "no answers": case("item,annotator,label\ns1,ada,\n"),
    "one label": case("item,user,label\n1,a,no\n"),
    "two gold labels": case("item,user,label,gold\n1,a,x,x\n2,a,y,\n1,b,y,y\n"),
    "a list by NumPy": case("item,annotator,label\n1,a,['joy' 'anger']\n1,b,['joy']\n"),
    "patterns of items": case("item,rater1,count\n1,a,2\n"),
    "thousands": case('rater1,rater2,count\na,b,"1,090"\n'),
    "far too many": case("rater1,rater2,count\na,b,99999999999\n"),
    "all counts zero": case("rater1,rater2,count\na,b,0\n"),
    "too many votes": case("item,no,yes\ns1,20000000,1\ns2,0,0\n", format="votes"),
    "a row without an annotator": case("worker,Q1,Q2\nada,a,b\n,b,b\n", transpose=True),
    "an annotator in two rows": case("worker,Q1,Q2\nada,a,b\nada,b,b\n", transpose=True),
}  # fmt: skip

OPTIONS = {
    "unknown column": case(LONG, label="verdict"),
    "nearly a column": case(LONG, item="Item"),
    "one column, two roles": case(LONG, label="annotator"),
    "several items": case(LONG, item=["item"]),
    "two label columns": case(LONG, label=["q1", "q2"]),
    "label undeclared": case(LONG, labels=["no", "x"]),
    "label undeclared that may be a code": case(LONG + "s2,bo,-1\n", labels=["no", "yes"]),
    "labels without order": case(LONG, labels={"no"}),
    "no labels": case(LONG, labels=[]),
    "label declared twice": case(LONG, labels=["no", "yes", "no"]),
    "unknown format": case(LONG, format="wid"),
    "a count in a long table": case("item,annotator,label,times\n1,a,x,3\n1,b,y,2\n", count="times"),
    "a label of a wide table": case(WIDE + "s3,no,no\n", columns="rater_1", label="rater_2"),
    "columns with a typo": case(WIDE, columns=["rater_1", "rater_3"]),
    "columns from 0": case(WIDE, columns="0:2"),
    "an item among the columns": case(WIDE, columns=["item", "rater_1"], item="item"),
    "unknown control": case(LONG, controls={"s9": "no"}),
    "control label": case(LONG, controls={"s1": "x"}),
    "controls in a list": case(LONG, controls=[1]),
    "gold twice": case(LONG, gold="x", gold_file="g.csv"),
    "spellings in one text": case(LONG, same="y=n"),
    "a number as encoding": case(LONG, encoding=5),
    "spellings in two steps": case(LONG, same={"a": "b", "b": "c"}),
    "an encoding of bytes": case(LONG, encoding="hex"),
    "a field of a template with a typo": case(LONG, item="{item}/{annotatr}"),
    "half a template": case(LONG, item="{item}-{label"),
    "a template of an empty field": case("text,token,ada,bo\ns1,0,O,O\ns1,,B,O\n", item="{text}/{token}", columns="3:"),
    "a template that joins": case("item,part,annotator,label\n1/2,3,a,x\n1,2/3,a,y\n", item="{item}/{part}"),
    "unsure with a typo": case(LONG + "s3,bo,skip\n", unsure="skipp"),
    "unsure, and all labels declared": case(LONG, unsure="maybe", labels=["no", "yes"]),
    "subsets": case(LONG, by="item"),
    "votes that name a label": case("item,yes,no\n1,2,3\n", format="votes", label="yes"),
    "a separator in JSON": case('{"item": 1, "annotator": "a", "label": 2}\n', separator=";"),
}  # fmt: skip

KNOWN = {
    "others": case("item,label\ns33,no\ns4,no\n"),
    "no item": case("item,label\n,no\n"),
    "two labels": case("item,label\ns1,no\ns2,no\ns1,yes\n"),
    "no column of items": case("word,label\ns1,no\n"),
    "no column of labels": case("item,opinion\ns1,no\n"),
    "no rows": case("item,label\n"),
    "unsure": case("item,label\ns1,no\n", unsure="no", labels=["no", "yes", "maybe"]),
}

ITEMS = {
    "two rows": case("item,length\ns1,1\ns2,2\ns1,3\n"),
    "no item": case("item,length\ns1,1\n,2\n"),
    "others": case("item,length\nt1,1\nt2,2\n"),
    "a code": case("item,length\ns1,1\ns2,NA\n"),
}

ANNOTATORS = {
    "two rows": case("worker,family\nbo,x\nbo,y\n"),
    "others": case("worker,family\ndi,x\n"),
    "nothing": case("worker\nbo\n"),
}

COUNTS = {
    "more successes": case("item,x,n\na,1,2\nb,3,2\n"),
    "negative": case("item,x,n\na,-1,2\n"),
    "no item": case("item,x,n\n,1,2\n"),
    "item twice": case("item,x,n\na,1,2\nb,1,2\na,0,2\n"),
    "item and count": case("item,x,n,count\na,1,2,3\n"),
    "no trials": case("item,x,n\na,0,0\n"),
    "ambiguous": case("item,x,n,total\na,0,1,1\n"),
    "trials or a count": case("successes,trials,n\n3,5,5\n1,5,5\n"),
}

DIMENSIONS = {
    "one column twice": case(FRAGMENTS, dimensions=["focus", "polarity", "focus"]),
    "one label": case(FRAGMENTS, dimensions=["focus", "note"]),
    "another role": case(FRAGMENTS, dimensions=["focus", "annotator"]),
    "text, which is one name": case(FRAGMENTS, dimensions="focus"),
    "a task": case("id,task,worker,focus,tone\n0,t,w0,x,n\n1,t,w1,y,n\n2,t,w0,x,o\n", dimensions=["focus", "tone"]),
    "labels of none in particular": case(FRAGMENTS, labels=["+", "-"]),
    "labels of no dimension": case(FRAGMENTS, labels={"polarty": ["+", "-"]}),
    "a label twice": case(FRAGMENTS, labels={"polarity": ["+", "-", "+"]}),
}
