from benchmarks.peers.a_tree import translated


def test_a_tree_is_told_both_ends_of_an_interval() -> None:
    text = "attr1 between -2 and 9 and attr2 = 3 and attr3 between 0 and 1"
    assert translated(text) == "attr1 >= -2 and attr1 <= 9 and attr2 = 3 and attr3 >= 0 and attr3 <= 1"
