#include "CCommit.h"

// Package.swift defines it from the environment. A new commit compiles this file anew, and nothing else.
#ifndef RECEIPTD_COMMIT
#define RECEIPTD_COMMIT
#endif

// In two steps: the text of the value, and not of the name.
#define TEXT(value) #value
#define TEXT_OF_VALUE(name) TEXT(name)

const char *receiptd_commit(void) { return TEXT_OF_VALUE(RECEIPTD_COMMIT); }
