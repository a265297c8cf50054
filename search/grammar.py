"""The words of English grammar: what a question has others beside is not asked nor marked."""

from typing import Final

# After the stop word list of the Snowball project (snowballstem.org, BSD), as ``analyse`` gives it.
_GRAMMAR = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves what which who whom this that
these those am is are was were be been being have has had having do does did doing would should
could ought im youre hes shes theyre ive youve weve theyve id youd hed theyd ill youll theyll
isnt arent wasnt werent hasnt havent hadnt doesnt dont didnt wont wouldnt shant shouldnt cant
cannot couldnt mustnt lets thats whos whats heres theres whens wheres whys hows a an the and but
if or because as until while of at by for with about against between into through during before
after above below to from up down in out on off over under again further then once here there
when where why how all any both each few more most other some such no nor not only own same so
than too very can will just
"""
GRAMMAR: Final = frozenset(_GRAMMAR.split())
"""Words of English grammar: left out of a question that has others."""
