"""Define the contract of a decoder, and the specification that it is made from."""
