"""The screen: which operators does a change touch? One pair an operator, verdict from IR and machine code."""
