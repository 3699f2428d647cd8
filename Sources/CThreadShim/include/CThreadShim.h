#ifndef CTHREADSHIM_H
#define CTHREADSHIM_H

// This target declares nothing. A program that links it gets the definitions of CThreadShim.c and SwiftMutex.c.

#endif
