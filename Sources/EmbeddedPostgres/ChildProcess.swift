import CSpawn
import Foundation

/// A program that was started from its own thread, which lives as long as the program.
///
/// The kernel sends PR_SET_PDEATHSIG when the *thread* that forked ends, even if the thread's process lives on. A
/// thread of Swift's or Dispatch's pools may end at any time. So each program has its own thread, which waits for the
/// program's end.
///
/// This class does not use Foundation's `Process`, which has two faults:
/// - `run` reads up to 256 bytes beyond its list of this process's open files, and crashes if no memory follows. The
///   crash needs more than a thousand open files (swift-corelibs-foundation issue 5472, in Swift 6.3).
/// - It learns of a program's end through a socket, which every program that starts at the same instant inherits. So a
///   short program may seem to run as long as a server that started beside it.
package final class ChildProcess: Sendable {
    package let processID: Int32
    /// The exit status, or the negative number of the signal that ended the program.
    let exit: Outcome<Int32>

    /// The parameters for starting a program.
    package struct Start: Sendable {
        package enum Output: Sendable, Equatable {
            /// Appends the output to the log.
            case log
            case discarded
            /// Writes the output to a new file, or replaces the file's content.
            case file(String)
        }

        package var command: [String]
        /// The whole environment of the program. It has none of libpq's variables, such as PGHOST and PGOPTIONS.
        package var environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        /// The file to which standard error is appended.
        package var log: String
        /// The working directory; nil for this process's directory. The user that runs postgres must be able to enter
        /// this directory.
        package var folder: String? = "/"
        /// The file of standard input; nil for an empty input.
        package var input: String?
        /// The destination of standard output.
        package var output = Output.log
        /// True to kill the program if this process exits first.
        package var endsWithUs = false

        package init(_ command: [String], log: String) {
            self.command = command
            self.log = log
        }
    }

    package init(_ start: Start) throws {
        let started = Outcome<Result<Int32, EmbeddedPostgresError>>()
        let exit = Outcome<Int32>()
        Thread {
            var processID: pid_t = 0
            let code = Self.spawn(start, &processID)
            guard code == 0 else {
                let reason = String(cString: strerror(code))
                return started.report(
                    .failure(EmbeddedPostgresError(description: "cannot start \(start.command.first ?? ""): \(reason)"))
                )
            }
            let name = "process \(processID)"
            if start.endsWithUs { ExitCleanup.set(.init(process: processID, signal: SIGKILL), for: name) }
            started.report(.success(processID))
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
            if start.endsWithUs { ExitCleanup.set(nil, for: name) }
            // wait(2): the low seven bits are the signal, and the next byte is the status.
            exit.report(status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F))
        }.start()
        self.exit = exit
        processID = try started.wait().get()
    }

    package var isRunning: Bool { exit.current == nil }

    /// Sends a signal. Does nothing if the program has ended, because another process may have its id by now.
    package func send(_ signal: Int32) {
        if isRunning { kill(processID, signal) }
    }

    /// Blocks the thread until the program has ended. Returns its exit status, or the negative number of the signal
    /// that ended it.
    package func wait() -> Int32 { exit.wait() }

    /// - Returns: 0, or the `errno` of the step that failed.
    private static func spawn(_ start: Start, _ processID: inout pid_t) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let folder = start.folder { posix_spawn_file_actions_addchdir_np(&actions, folder) }
        posix_spawn_file_actions_addopen(&actions, 0, start.input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 2, start.log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        switch start.output {
        case .log: posix_spawn_file_actions_adddup2(&actions, 2, 1)
        case .discarded: posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        case .file(let path):
            posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        }
        // Without this, the program would inherit this process's open files, such as a listening socket.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program has its own process group, so that Ctrl-C reaches only this process. The program inherits no
        // ignored or blocked signals.
        var all = sigset_t()
        var none = sigset_t()
        sigfillset(&all)
        sigemptyset(&none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var arguments = start.command.map { strdup($0) } + [nil]
        var environment = start.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        guard let program = arguments.first.flatMap({ $0 }) else { return EINVAL }
        return posix_spawn(&processID, program, &actions, &attributes, &arguments, &environment)
    }

    /// Runs a program to its end. Throws unless its exit status is 0.
    static func run(_ command: [String], log: String) throws {
        let process = try ChildProcess(Start(command, log: log))
        let status = process.wait()
        guard status == 0 else {
            throw EmbeddedPostgresError(description: "\(command.last ?? ""): status \(status): \(tail(of: log))")
        }
    }

    static func tail(of log: String) -> String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: " | ")
    }
}
