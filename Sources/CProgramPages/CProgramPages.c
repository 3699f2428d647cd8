#define _GNU_SOURCE
#include "CProgramPages.h"

#ifdef __linux__
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/// Whether the loader wrote addresses into the code: those are in no file.
static int has_changed_code(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + segment->p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_TEXTREL) return 1;
            if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL)) return 1;
        }
    }
    return 0;
}

// The loader holds its lock meanwhile: no library comes or goes, so that a range is what it was found to be.
static int release(struct dl_phdr_info *object, size_t size, void *count) {
    (void)size;
    if (has_changed_code(object)) return 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || (segment->p_flags & PF_W)) continue;
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        // Whole pages only: the first and the last may be shared with what was written.
        uintptr_t first = (start + page - 1) & ~(page - 1), end = (start + segment->p_filesz) & ~(page - 1);
        if (first < end && madvise((void *)first, end - first, MADV_DONTNEED) == 0) ++*(int *)count;
    }
    return 0;
}

int receiptd_release_code(void) {
    int count = 0;
    dl_iterate_phdr(release, &count);
    return count;
}

#else

int receiptd_release_code(void) { return 0; }

#endif
