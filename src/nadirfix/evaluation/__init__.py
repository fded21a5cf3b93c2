"""How good the answers are: measures, test sets, and studies of whole test sets."""
