"""Every word that zlbench prints in capitals or in its tables, by kind; `zlbench.markers` puts them together."""
