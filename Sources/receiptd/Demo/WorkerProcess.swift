import Foundation
import Synchronization

/// A worker in a process of its own: this very program, called with `run`.
///
/// `@unchecked Sendable`: Foundation's `Process` is thread-safe for what is called here (terminate, isRunning, waits).
final class WorkerProcess: @unchecked Sendable {
    private let process = Process()
    let logFile: URL

    /// - Parameters:
    ///   - program: the path of `receiptd`.
    ///   - environment: all of the worker's settings.
    ///   - logFile: where its standard error goes, appended.
    init(program: String, environment: [String: String], logFile: URL) throws {
        self.logFile = logFile
        if !FileManager.default.fileExists(atPath: logFile.path) {
            _ = FileManager.default.createFile(atPath: logFile.path, contents: nil)
        }
        let log = try FileHandle(forWritingTo: logFile)
        try log.seekToEnd()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["run"]
        process.environment = environment
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        process.standardError = log
        try process.run()
    }

    var processID: Int32 { process.processIdentifier }
    var isRunning: Bool { process.isRunning }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    func send(_ signal: Int32) {
        Foundation.kill(process.processIdentifier, signal)
    }

    func terminate() {
        Foundation.kill(process.processIdentifier, SIGTERM)
    }

    /// Blocks until the process has ended. Its exit code, or the signal's number below zero.
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }
}
