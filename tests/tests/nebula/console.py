"""nebula-console: ends with success whatever graphd says."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ask import ask

words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert words["-addr"] == "127.0.0.1" and words["-u"] and words["-p"], words
print(ask(words["-port"], words["-e"]))
