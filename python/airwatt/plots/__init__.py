"""Pictures. Each module draws one kind from documents and tables; matplotlib is imported only with them.

Pictures of advice, of reproductions and of validations stand with what they draw: this package knows none of them.
"""
