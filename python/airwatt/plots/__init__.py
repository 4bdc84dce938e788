"""Pictures. Each module draws one kind from documents and tables; matplotlib is imported only with them."""
