"""Published experiments, run again: what they show, what they need, what comes out, and whether it is what was printed.

A *document* is a module with a `DOCUMENT`; `catalogue.DOCUMENTS` lists them. A document has *reproductions*, one a
table, figure or printed number. Each says in our words what it shows, which *points* it needs (a scenario with
overrides), how its values come from the runs of these points, which claims they are held against, and how they are
drawn. Points of everything that is asked for are collected first; what several figures share runs once.

What of a document is a table is data: `publication.toml` in its package has its names, its configuration, its grid and
the printed numbers (`data`). What compares curves, counts on paper or draws is code beside it. So it is for `ba_ta`,
`e2tcp` and `e2tcp_gateway`; the theses on fairness and on energy of TCP, whose claims are nearly all comparisons, are
code throughout.

To add a document: a package here with a `publication.toml` and a `DOCUMENT`, and its name in `catalogue.DOCUMENTS`.

Left out: tuning. A document's configuration is fixed in one place for all of its figures, and a claim that does not
hold under it is printed as missed.
"""
