import EmbeddedPostgres
import Foundation
import Kafka

/// A worker in a process of its own: this very program, called with `run`.
final class WorkerProcess: Sendable {
    private let process: ChildProcess
    let logFile: URL

    /// - Parameters:
    ///   - program: the path of `receiptd`.
    ///   - command: `run`, or another that does not end by itself.
    ///   - environment: all of its settings.
    ///   - logFile: where its standard error goes, appended.
    init(program: String, command: String = "run", environment: [String: String], logFile: URL) throws {
        self.logFile = logFile
        var start = ChildProcess.Start([program, command], log: logFile.path)
        start.environment = environment
        start.folder = nil
        start.logsOutput = false
        start.endsWithUs = true
        process = try ChildProcess(start)
    }

    var processID: Int32 { process.processID }
    var isRunning: Bool { process.isRunning }

    func kill() { process.send(SIGKILL) }
    func terminate() { process.send(SIGTERM) }
    func send(_ signal: Int32) { process.send(signal) }

    /// Asks it to end, and ends it where it does not within ten seconds. Not to be cancelled: nobody else ends it.
    func stop() async {
        terminate()
        let stopping = Task.detached { [self] in
            for _ in 0..<Self.stopPolls where isRunning { try? await Task.sleep(for: .milliseconds(20)) }
            kill()
            _ = try? await blocking { [self] in wait() }
        }
        await stopping.value
    }

    /// Looks at its end, 20 ms apart.
    private static let stopPolls = 500

    /// Blocks until the process has ended. Its exit code, or the signal's number below zero.
    func wait() -> Int32 { process.wait() }
}
