#pragma once

/// Gives the memory of the program's and its libraries' code back to the system, which reads it again from their files where it is
/// run. Returns the number of address ranges that were given back; 0 on other systems than Linux.
int receiptd_release_code(void);
