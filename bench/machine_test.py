"""What bench/machine.py reads of the machine."""
import json
import os
import subprocess
import sys
import unittest

import machine

STAT = "cpu  100 20 30 4000 500 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"


class Machine(unittest.TestCase):
    def test_all_but_idle_and_waiting_is_busy_and_guests_count_once(self):
        self.assertEqual(machine.busy_ticks(STAT), 100 + 20 + 30 + 6 + 7 + 8)

    def test_a_field_is_found_by_the_beginning_of_its_line(self):
        text = "0.00 I version: no\nversion: 1.2 (a: b)\nVmRSS:\t  12 kB\n"
        self.assertEqual(machine.field(text, "version"), "1.2 (a: b)")
        self.assertEqual(machine.field(text, "VmRSS"), "12 kB")
        self.assertEqual(machine.field("A:FILEPATH=/usr/bin/c++", "A:", "="), "/usr/bin/c++")
        self.assertIsNone(machine.field(text, "absent"))

    def test_a_program_that_is_not_there_has_no_version(self):
        self.assertIsNone(machine.first_line("/nowhere/compiler", "--version"))

    def test_the_description_is_json_and_a_sentence(self):
        described = json.loads(json.dumps(machine.description()))
        sentence = machine.sentence(described)
        self.assertIn(f"{os.cpu_count()} cores", sentence)
        self.assertIn("load before the start", sentence)

    def test_what_own_processes_took_is_not_others(self):
        watch = machine.Watch()
        subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
        self.assertGreater(machine.Watch.now()[1], watch.begin[1])
        watch.begin = (10.0, 1.0, 100.0)
        cores = os.cpu_count()
        for now, others in (((16.0, 3.0, 102.0), 2 / cores),  # 6 s, of which 2 s were its own.
                            ((11.0, 3.0, 102.0), 0)):  # The two are not read at one moment.
            watch.now = lambda now=now: now
            self.assertAlmostEqual(watch.others(), others)

    def test_the_memory_of_a_process_and_of_none(self):
        self.assertGreater(machine.resident_kb(os.getpid()), 1000)
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdin.close)
        self.assertIn(child.pid, machine.children(os.getpid()))


if __name__ == "__main__":
    unittest.main()
