"""The pages of the reference, each made from the code that it describes. `make reference` writes them."""
