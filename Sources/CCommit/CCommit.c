#include "CCommit.h"

// Package.swift sets RECEIPTD_COMMIT from the environment. After a new commit only this file is compiled again.
#ifndef RECEIPTD_COMMIT
#define RECEIPTD_COMMIT
#endif

// `#` makes text of a macro's argument without expanding it. The second macro expands the argument first.
#define TEXT(value) #value
#define TEXT_OF_VALUE(name) TEXT(name)

const char *receiptd_commit(void) { return TEXT_OF_VALUE(RECEIPTD_COMMIT); }
