#pragma once
/* What glibc (2.34 and later) can do before it starts a program, and Swift's own module of it leaves out. */
#include <spawn.h>

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
