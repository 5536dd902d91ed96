"""What the rows of bench/engine.py say of what was measured."""
import unittest

from table import Row, Samples, figure, markdown, summary


def row(**fields):
    return Row("1", "15m", "tokens/s", **fields)


class Verdicts(unittest.TestCase):
    def test_with_a_peer_the_ratio_of_the_medians_is_judged(self):
        one = row(ours=[14, 1, 100], peer=[10, 10, 9], wanted=">= 1.4")
        self.assertEqual((one.ratio(), one.verdict()), (1.4, "met"))
        self.assertEqual(row(ours=[13.9], peer=[10], wanted=">= 1.4").verdict(), "not met")

    def test_where_less_is_better(self):
        self.assertEqual(row(ours=[3.5], peer=[10], wanted="<= 0.35").verdict(), "met")
        self.assertEqual(row(ours=[3.6], peer=[10], wanted="<= 0.35").verdict(), "not met")

    def test_without_a_peer_the_figure_itself_is(self):
        self.assertEqual(row(ours=[1.4, 1.5, 9], wanted="<= 1.5").verdict(), "met")
        self.assertEqual(row(ours=[1.4, 1.6, 9], wanted="<= 1.5").verdict(), "not met")

    def test_nothing_wanted_is_not_judged(self):
        self.assertEqual(row(ours=[1], peer=[2]).verdict(), "")

    def test_what_was_not_measured_is_not_met(self):
        for missing in (row(wanted=">= 1"), row(peer=[1], wanted=">= 1"),
                        row(ours=[1], peer=[0], wanted=">= 1"), row(wanted="a figure")):
            self.assertEqual(missing.verdict(), "no figure")


class Figures(unittest.TestCase):
    def test_are_medians_with_their_spread(self):
        self.assertEqual(figure([3640.4, 3500, 3900.2]), "3,640 [3,500 3,900]")
        self.assertEqual(figure([0.04321, 0.5]), "0.272 [0.0432 0.5]")

    def test_one_has_no_spread_and_none_is_a_dash(self):
        self.assertEqual(figure([12.345]), "12.3")
        self.assertEqual(figure([999.6]), "1,000")
        self.assertEqual(figure([]), "-")

    def test_of_repetitions_are_kept_by_whose_they_are(self):
        samples = Samples()
        samples.add(("a", 1), rate=1, ttft=None)
        samples.add(("a", 1), rate=2)
        samples.add(("a", 2), rate=3)
        self.assertEqual(samples.of(("a", 1), "rate"), [1, 2])
        self.assertEqual(samples.of(("a", 1), "ttft"), [])


class Tables(unittest.TestCase):
    def test_have_as_many_cells_in_each_line(self):
        text = markdown([row(ours=[2], peer=[1], wanted=">= 1", beside="x"), row()])
        lines = text.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertEqual({line.count("|") for line in lines}, {lines[0].count("|")})
        self.assertIn("| 1 | 15m | tokens/s | 2 | 1 | 2.00 | >= 1 | met |", text)

    def test_count_the_verdicts(self):
        met, missed = row(ours=[1], wanted=">= 1"), row(ours=[1], wanted=">= 2")
        self.assertEqual(summary([met, met, missed, row()]), "2 met, 1 not met.")
        self.assertEqual(summary([row()]), "Nothing was judged.")

    def test_warn_where_others_used_the_machine(self):
        busy = row(ours=[1], wanted=">= 1", others=[0.01, 0.30])
        self.assertIn("30 % (!)", markdown([busy]))
        self.assertIn("while 1 of 2 rows", summary([busy, row(others=[0.01])]))
        self.assertNotIn("(!)", markdown([row(others=[0.01])]))

    def test_the_json_has_what_the_table_has(self):
        one = row(ours=[1, 3], peer=[4], wanted=">= 1").as_json()
        self.assertEqual((one["ours"], one["median"], one["peer_median"], one["ratio"],
                          one["verdict"]), ([1, 3], 2, 4, 0.5, "not met"))


if __name__ == "__main__":
    unittest.main()
