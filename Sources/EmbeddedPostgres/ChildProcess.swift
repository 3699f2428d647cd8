import Foundation

/// A program, run from a thread that lives as long as the program does.
///
/// The kernel sends PR_SET_PDEATHSIG when the *thread* that forked ends, not its process, and a thread of Swift's or
/// Dispatch's pools may end any time. Hence a thread for each program, which waits for its end.
final class ChildProcess: Sendable {
    let processID: Int32
    /// The exit status, or -1 for a program that a signal ended.
    let exit: Outcome<Int32>

    /// Appends both output streams to the file `log`.
    init(_ command: [String], log: String) throws {
        let started = Outcome<Result<Int32, any Error>>()
        let exit = Outcome<Int32>()
        Thread {
            let process = Process()
            let ended = DispatchSemaphore(value: 0)
            process.terminationHandler = { _ in ended.signal() }
            do {
                try Self.start(process, command, log: log)
            } catch {
                return started.report(.failure(error))
            }
            started.report(.success(process.processIdentifier))
            ended.wait()
            exit.report(process.terminationReason == .exit ? process.terminationStatus : -1)
        }.start()
        self.exit = exit
        processID = try started.wait().get()
    }

    private static func start(_ process: Process, _ command: [String], log: String) throws {
        // postgres must be able to enter it, whoever it runs as.
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        // No PGHOST, PGOPTIONS and the like.
        process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        process.standardInput = FileHandle.nullDevice
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        defer { try? output.close() }
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        try process.run()
    }

    /// Runs a program to its end.
    static func run(_ command: [String], log: String) throws {
        let process = try ChildProcess(command, log: log)
        let status = process.exit.wait()
        guard status == 0 else {
            throw EmbeddedPostgresError(description: "\(command.last ?? ""): status \(status): \(tail(of: log))")
        }
    }

    /// The last lines of a log.
    static func tail(of log: String) -> String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(5).joined(separator: " | ")
    }
}
