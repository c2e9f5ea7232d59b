"""Comparisons and rankings that are none."""

from tests.io.refused.tables import case

ARENA = """question_id,model_a,model_b,winner,judge,gold
q1,llama,opt,model_a,ada,llama
q1,llama,opt,tie (bothbad),bo,llama
q2,opt,bloom,bloom,ada,
q2,opt,bloom,Tie,bo,
q3,bloom,llama,,cy,tie
"""
RIVAL = ARENA.replace("bloom", "tiefighter").replace("opt,model_a", "opt,tiefighter")
CROWD = "worker,left,right,label\nw1,a,b,a\nw2,a,b,b\nw1,b,a,b\nw2,c,a,right\n"
OF_ARENA = {"pairs": "model_a,model_b"}
OF_CROWD = {"pairs": ("left", "right"), "first": "left", "second": "right"}
ORDERS = "item,resp_a,resp_b,label,annotator\n1,s,t,s,ada\n1,t,s,s,bo\n"
OF_ORDERS = {"pairs": "resp_a,resp_b"}
CODES = "item,x,y,label,annotator\n1,2,1,2,ada\n2,1,2,2,ada\n"
SUBSETS = "item,c,a,b,label,annotator\n1,m,x,y,x,ada\n1,k,y,x,x,bo\n2,k,x,y,y,bo\n"
RANKED = "q,who,order\n1,ada,a > b = c\n1,bo,c > a > b\n2,ada,c > a\n"
OF_RANKED = {"item": "q", "annotator": "who", "ranking": "order"}
OF_SETS = {"annotator": "who", "best_worst": "b,w,s"}

PAIRS = {
    "with itself": case(ARENA.replace("q2,opt,bloom,bloom", "q2,opt,opt,opt"), **OF_ARENA),
    "no system": case(ARENA.replace("q2,opt,bloom,bloom", "q2,,bloom,bloom"), **OF_ARENA),
    "a system that is missing": case(ARENA.replace("q2,opt,bloom", "q2,NA,bloom"), missing="NA", **OF_ARENA),
    "no side": case(ARENA.replace("Tie", "both"), **OF_ARENA),
    "a system of another pair": case(RIVAL, **OF_ARENA),
    "one code of two": case("item,x,y,label,annotator\n1,s,t,0,ada\n2,s,t,1,ada\n", pairs="x,y", first="0"),
    "a system or a code": case(CODES, pairs="x,y"),
    "a system or a side": case("item,x,y,label,annotator\n1,c,b,b,ada\n", pairs="x,y", first="b"),
    "either side": case(CROWD.replace("w1,a,b,a", "w1,a,left,left"), pairs="left,right"),
    "a word of both columns": case("item,left_model,right_model,label,annotator\n1,x,y,model,ada\n",
                                   pairs="left_model,right_model"),
    "twice": case(CROWD + "w1,a,b,b\n", **OF_CROWD),
    "alike": case("item,a,b,label,annotator\nq,x | y,z,a,ada\nq,x,y | z,a,ada\n", pairs="a,b"),
    "two roles": case(ARENA, pairs="model_a,winner"),
    "one column": case(ARENA, pairs="model_a"),
    "wide": case(ARENA, format="wide", **OF_ARENA),
    "ties alone": case(ARENA, tie="tie"),
    "a control of another pair": case(ARENA, controls={"q1": "bloom"}, **OF_ARENA),
    "a control by its column": case(ORDERS, controls={"1": "resp_a"}, **OF_ORDERS),
    "a control by a usual code": case(ORDERS, controls={"1": "B"}, **OF_ORDERS),
    "two subsets": case(SUBSETS, pairs="a,b", by="c"),
    "no systems": case('[{"item": "x"}]', **OF_ARENA),
}  # fmt: skip

RANKINGS = {
    "a name twice": case(RANKED.replace("c > a > b", "c > a > c"), **OF_RANKED),
    "no ranking": case(RANKED.replace("c > a > b", "c"), **OF_RANKED),
    "a null": case('who;order\nada;["a", null, "b"]\n', annotator="who", ranking="order"),
    "nothing": case("who,order\nada,\n", annotator="who", ranking="order"),
    "equal without blanks": case("who,order\nada,a > b=c\nbo,c > b > a\n", annotator="who", ranking="order"),
    "ranks as systems": case("who,order\nada,1 > 3 > 2\nbo,2 > 1 > 3\n", annotator="who", ranking="order"),
    "ranks": case("who,a,b\nada,1,x\n", annotator="who", ranks="a,b"),
    "best and worst": case('who,b,w,s\nada,u,u,"u,y"\n', **OF_SETS),
    "no set": case(RANKED, item="q", annotator="who", best_worst="order,who"),
    "two kinds": case(RANKED, pairs="q,who", **OF_RANKED),
    "a label": case(RANKED, label="order", **OF_RANKED),
}
