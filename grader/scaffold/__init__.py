"""What `solmark new` writes: a small complete assignment of each kind, which passes `solmark check`.

Texts hold `@ID@`, `@TRACK@`, `@SLUG@` and `@TOPIC@`, which `make` replaces.
"""
