"""The page of `specht select`, on numbers made up for it."""

from __future__ import annotations

import pytest
from toy_select import entry, result, tree_of

from specht.commands.select.page import answer, loss_header, loss_rows, matrix_rows, select_page, subtitle
from specht.report import Report, render
from specht.trees import facts


def html_of(data):
    return render(Report(**vars(select_page(data)), reproduce="specht select", made_with={"seed": "0"}))


def test_tables_say_what_was_measured():
    found = facts(tree_of())
    assert subtitle(found) == "T=50 q=3 d=5, codes of dimension 64   adam at 0.01, 2000 steps, 3 seeds"
    assert loss_header(found) == ["test", "stochastic codes", "fixed codes", "answering zero"]
    assert loss_rows(found) == [
        ["as trained", "0.01 ± 0.01", "0.009 ± 0.01", "0.833"],
        ["T = 75", "0.015 ± 0.01", "0.2 ± 0.01", "0.833"],
        ["T = 100", "0.03 ± 0.01", "0.3 ± 0.01", "0.833"],
        ["q = 8", "0.02 ± 0.01", "0.04 ± 0.01", "0.312"],
    ]
    assert matrix_rows(found)[0] == ["stochastic", "0.9900", "0.9800", "0.1 %"]


def test_the_answer_tells_what_is_learnt_and_how_far():
    learnt, fixed, width = answer(facts(tree_of()))
    assert learnt == "With stochastic codes attention learns the task: 1.2 % of the loss of answering zero, and 3.6 % at length 100."
    assert "fixed codes attention learns the task: 1.1 % of the loss of answering zero, and 36.0 % at length 100." in fixed
    assert "needs 245 units in its first layer" in width
    assert "this attention got there with a width of 69." in width
    slow = answer(facts(tree_of(train=[entry(0.5, 0.5, step=10)], lengths=[])))
    assert slow[0] == "With stochastic codes attention has not learnt the task: 60.0 % of the loss of answering zero."
    assert "this attention" not in slow[-1]


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
def test_pages_hold_their_figures(optimiser):
    theory = {"codes": "stochastic", "steps": [0, 100, 2000], "loss": [0.83, 0.1, 0.01], "stderr": None} if optimiser == "sgd" else None
    text = html_of(tree_of(start=0.0 if optimiser == "sgd" else 0.1, optimiser=optimiser, theory=theory))
    assert ("Inverse loss" in text) == (optimiser == "sgd")
    assert ("exact dynamics" in text) == (optimiser == "sgd")
    assert ("W at the start" in text) == (optimiser == "adam")
    for words in ("Sparse token selection", "Other lengths", "W at the end", "V at the end", "answering zero"):
        assert words in text


def test_one_seed_and_one_kind_of_codes():
    train = [{"step": step, "one-hot": loss, "stderr": {"one-hot": None}} for step, loss in ((0, 0.8), (10, 0.2))]
    matrices = {"one-hot": result()["matrices"]["fixed"]}
    changes = {"codes": ["one-hot"], "lengths": [], "supports": [], "seeds": 1, "code": None, "attention_width": None}
    data = tree_of(train=train, matrices=matrices, **changes)
    text, found = html_of(data), facts(data)
    assert "One seed, so without errors." in text
    assert "Other lengths" not in text
    assert loss_rows(found) == [["as trained", "0.2", "0.833"]]
    assert answer(found)[-1].endswith("of the loss of answering zero.")
