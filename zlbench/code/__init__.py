"""What the compiler produced in the end: identity of the machine code and its exact costs, with no device."""
