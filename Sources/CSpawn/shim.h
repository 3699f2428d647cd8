#pragma once
/* Functions of glibc 2.34 and later for posix_spawn, which Swift's Glibc module does not have. */
#include <spawn.h>

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
