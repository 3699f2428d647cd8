// Filled by its suite.
