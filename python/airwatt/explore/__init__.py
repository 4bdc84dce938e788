"""`airwatt explore`: the page of a report served on this machine, with sliders.

`controls` makes sliders of a scenario's keys, `answers` asks the models, `simulation` is a process that simulates and
can be interrupted, `server` puts them behind a page. Nothing is reachable from another machine, nor without the token
that is in the address.
"""
