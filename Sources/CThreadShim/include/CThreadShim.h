#ifndef CTHREADSHIM_H
#define CTHREADSHIM_H

// Declares nothing of its own: linking the target is all there is to it. See CThreadShim.c.

#endif
